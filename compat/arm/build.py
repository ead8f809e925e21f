"""The checkout, compiled for a root's machine in a copy of its own: objects and generated tables of this machine stay untouched.

    build(root)          # incremental; raises BuildError with the end of the compiler's output

Sources are copied where they differ, with their times, so that only what changed is compiled. Cython runs here, a cross
compiler compiles, and the headers and the build settings are those of the root's Python.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.copies import copy_sources, share_translated

CHECKOUT = Path(__file__).resolve().parents[2]
# setup.py must believe that it runs on the other machine.
_SETUP = """
import platform, runpy, sys
platform.machine = lambda: "{machine}"
sys.argv = ["setup.py", "build_ext", "--inplace", "-j{jobs}"]
runpy.run_path("setup.py", run_name="__main__")
"""


class BuildError(Exception):
    """Nothing was compiled."""


def build(root, jobs=1):
    """Compile the checkout below root.product."""
    if shutil.which(root.machine.compiler) is None:
        package = f"gcc-{root.machine.compiler.removesuffix('-gcc')}"
        raise BuildError(f"{root.machine.compiler} is not installed (Debian: {package})")
    if sys.version_info[:2] != root.python_version():
        mine, theirs = (".".join(map(str, version)) for version in (sys.version_info[:2], root.python_version()))
        raise BuildError(f"this is Python {mine}, the root has {theirs}: setuptools can only build for its own version")
    copy_sources(CHECKOUT, root.product)
    share_translated(CHECKOUT, root.product)
    done = subprocess.run(
        [sys.executable, "-c", _SETUP.format(machine=root.machine.name, jobs=jobs)],
        cwd=root.product,
        env=build_environment(root),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"building for {root.machine.name} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def build_environment(root):
    """Variables that make setuptools compile for the root's Python."""
    settings, compiler = root.settings(), root.machine.compiler
    include = root.system / "usr" / "include"
    return {
        **os.environ,
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": f"-I{include / root.interpreter.name} -I{include}",
        "PYTHONPATH": str(_settings_alone(root, settings)),
        "_PYTHON_HOST_PLATFORM": f"linux-{root.machine.name}",
        "_PYTHON_SYSCONFIGDATA_NAME": settings.stem,
    }


def _settings_alone(root, settings):
    """A folder with the build settings and nothing else: beside them lies the other machine's standard library."""
    folder = root.folder / "settings"
    folder.mkdir(exist_ok=True)
    shutil.copy2(settings, folder)
    return folder
