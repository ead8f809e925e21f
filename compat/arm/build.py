"""The checkout, compiled for aarch64 in a copy of its own: objects and generated tables of this machine stay untouched.

    build(root)          # incremental; raises BuildError with the end of the compiler's output

Sources are copied where they differ, with their times, so that only what changed is compiled. Cython runs here, gcc-aarch64-linux-gnu
compiles, and the headers and the build settings are those of the root's Python.
"""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
COMPILER = "aarch64-linux-gnu-gcc"
# setup.py must believe that it runs on the other machine.
_SETUP = """
import platform, runpy, sys
platform.machine = lambda: "aarch64"
sys.argv = ["setup.py", "build_ext", "--inplace", "-j{jobs}"]
runpy.run_path("setup.py", run_name="__main__")
"""


class BuildError(Exception):
    """Nothing was compiled."""


def build(root, jobs=1):
    """Compile the checkout below root.product."""
    if shutil.which(COMPILER) is None:
        raise BuildError(f"{COMPILER} is not installed (Debian: gcc-aarch64-linux-gnu)")
    if sys.version_info[:2] != root.python_version():
        mine, theirs = (".".join(map(str, version)) for version in (sys.version_info[:2], root.python_version()))
        raise BuildError(f"this is Python {mine}, the root has {theirs}: setuptools can only build for its own version")
    copy_sources(CHECKOUT, root.product)
    done = subprocess.run(
        ["nice", sys.executable, "-c", _SETUP.format(jobs=jobs)],
        cwd=root.product,
        env=build_environment(root),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"building for aarch64 failed:\n{(done.stdout + done.stderr)[-3000:]}")


def build_environment(root):
    """Variables that make setuptools compile for the root's Python."""
    [settings] = root.system.glob("usr/lib/python3.*/_sysconfigdata__aarch64-linux-gnu.py")
    include = root.system / "usr" / "include"
    return {
        **os.environ,
        "CC": COMPILER,
        "LDSHARED": f"{COMPILER} -shared",
        "CFLAGS": f"-I{include / root.interpreter.name} -I{include}",
        "PYTHONPATH": str(_settings_alone(root, settings)),
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "_PYTHON_SYSCONFIGDATA_NAME": settings.stem,
    }


def _settings_alone(root, settings):
    """A folder with the build settings and nothing else: beside them lies the other machine's standard library."""
    folder = root.folder / "settings"
    folder.mkdir(exist_ok=True)
    shutil.copy2(settings, folder)
    return folder


def copy_sources(checkout, copy):
    """Make `copy` hold the files of the checkout that git knows or would add; what is compiled there stays."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=checkout,
        capture_output=True,
        check=True,
    )
    names = {name for name in listed.stdout.decode().split("\0") if name and (checkout / name).is_file()}
    for name in names:
        source, target = checkout / name, copy / name
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            os.utime(target)
    _remove_others(copy, names)


def _remove_others(copy, names):
    """Files of an older checkout: a module that has been renamed would be linked twice."""
    for folder in ("tflm_cy", "compat", "tests"):
        for path in (copy / folder).rglob("*"):
            generated = path.suffix in (".c", ".so", ".pyc") or path.name == "index.py"
            if path.is_file() and not generated and path.relative_to(copy).as_posix() not in names:
                path.unlink()
    for path in (copy / "tflm_cy").rglob("*.c"):
        if not path.with_suffix(".pyx").exists() and path.relative_to(copy).as_posix() not in names:
            path.unlink()
