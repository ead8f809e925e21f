"""Makes wheels for Linux with zig (pip install ziglang), for this Python, and tests each where it can run.

    python -m tools.wheels --list
    python -m tools.wheels                                            # all
    python -m tools.wheels manylinux_aarch64 --python "manylinux_aarch64=qemu-aarch64 -L ROOT ROOT/usr/bin/python3.11"

A wheel is made in a copy of the checkout. It is looked at: its size, which libraries it needs, which versions of glibc's
functions (and by auditwheel, where that is installed). Then it is installed into an environment that has only Python and
numpy, and runs the demo, and the tests that `--tests` names. What another machine or C library is needed for runs by the command that
`--python` gives.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools import zig
from tools.compilers import ROOT
from tools.copies import copy_sources, share_translated
from tools.cross import link_headers

LARGEST = 4_000_000
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libc.so", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
LIBRARIES |= {"ld-linux.so.2", "ld-linux-armhf.so.3"}
TESTED_WITH = ["tests", "compat", "benchmarks", "pyproject.toml"]  # what tests of the wheel import beside it


@dataclass(frozen=True)
class Platform:
    """What a wheel is for."""

    tag: str
    target: str  # of zig
    triple: str  # as in the names of extension modules

    @property
    def machine(self) -> str:
        """The processor, as sysconfig.get_platform() ends."""
        return re.split(r"linux_\d+_\d+_", self.tag)[1]

    @property
    def suffix(self) -> str:
        """The ending of an extension module's name."""
        return f".{sys.implementation.cache_tag}-{self.triple}.so"

    @property
    def is_musl(self) -> bool:
        """Whether the C library is musl, not glibc."""
        return self.triple.endswith("musl")


PLATFORMS = {
    "manylinux_x86_64": Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17", "x86_64-linux-gnu"),
    "manylinux_aarch64": Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17", "aarch64-linux-gnu"),
    "musllinux_x86_64": Platform("musllinux_1_2_x86_64", "x86_64-linux-musl", "x86_64-linux-musl"),
    "musllinux_aarch64": Platform("musllinux_1_2_aarch64", "aarch64-linux-musl", "aarch64-linux-musl"),
    "manylinux_i686": Platform("manylinux_2_17_i686", "x86-linux-gnu.2.17", "i386-linux-gnu"),
    "manylinux_armv7l": Platform("manylinux_2_17_armv7l", "arm-linux-gnueabihf.2.17", "arm-linux-gnueabihf"),
}


class WheelError(Exception):
    """A wheel that is not made, or not as it must be."""


def build(platform: Platform, into: Path, jobs: int) -> Path:
    """Return the wheel."""
    copy = ROOT / "build" / "wheels" / platform.tag
    copy.mkdir(parents=True, exist_ok=True)
    copy_sources(ROOT, copy)
    share_translated(ROOT, copy)
    headers = copy / "build" / "headers"
    shutil.rmtree(headers, ignore_errors=True)
    headers.parent.mkdir(exist_ok=True)
    link_headers(headers, platform.target)
    shutil.rmtree(copy / "dist", ignore_errors=True)
    compiler = " ".join(zig.compiler(platform.target))
    environment = {
        **os.environ,
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": f"-I{headers}",
        "_PYTHON_HOST_PLATFORM": f"linux-{platform.machine}",
        "SETUPTOOLS_EXT_SUFFIX": platform.suffix,
    }
    command = [sys.executable, "setup.py", "build_ext", f"-j{jobs}", "bdist_wheel", "--plat-name", platform.tag]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelError(f"{platform.tag} is not built:\n{(done.stdout + done.stderr)[-3000:]}")
    [wheel] = (copy / "dist").glob("*.whl")
    into.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(wheel, into))


def audit(wheel: Path, platform: Platform) -> str:
    """Return what the library needs; WheelError where that is too much."""
    if wheel.stat().st_size > LARGEST:
        raise WheelError(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {LARGEST}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as file:
        [library] = [name for name in file.namelist() if name.endswith(".so")]
        if not library.endswith(platform.suffix):
            raise WheelError(f"{library} does not end with {platform.suffix}")
        path = file.extract(library, folder)
        shown = subprocess.run(["readelf", "-W", "-d", "-V", path], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", shown))
    versions = sorted({tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", shown)})
    if needed - LIBRARIES:
        raise WheelError(f"{library} needs {', '.join(sorted(needed - LIBRARIES))}")
    if versions and (platform.is_musl or versions[-1] > (2, 17)):
        raise WheelError(f"{library} needs glibc {'.'.join(map(str, versions[-1]))}")
    newest = f", glibc {'.'.join(map(str, versions[-1]))}" if versions else ""
    return f"{wheel.stat().st_size / 1e6:.1f} MB, {' '.join(sorted(needed))}{newest}{_auditwheel(wheel, platform)}"


def _auditwheel(wheel: Path, platform: Platform) -> str:
    command = shutil.which("auditwheel")
    if command is None or platform.is_musl:  # on a system with glibc it knows wheels for glibc
        return ""
    shown = subprocess.run([command, "show", str(wheel)], capture_output=True, text=True, check=True).stdout
    tags = re.findall(r'"((?:many|musl)?linux_\w+)"', " ".join(shown.split()))
    if not any(tag in (platform.tag, f"manylinux2014_{platform.machine}") for tag in tags):
        raise WheelError(f"auditwheel says {tags}")
    return f", auditwheel {tags[0]}"


def test(wheel: Path, platform: Platform, python: str | None, tests: list[str]) -> str:
    """Run the demo, and tests, where the wheel, numpy and Python are all there is; return their last lines, or why nothing is run.

    `python` is the command of a Python of that platform which has numpy, and pytest if there are tests.
    """
    with tempfile.TemporaryDirectory() as folder:
        if python:
            command, places = shlex.split(python), [os.path.join(folder, "wheel")]
            subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), places[0]], check=True)
        elif platform.triple == sysconfig.get_config_var("MULTIARCH"):
            subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
            command, places = [f"{folder}/venv/bin/python"], []
            subprocess.run(
                [*command, "-m", "pip", "install", "-q", str(wheel), *(["pytest"] if tests else [])], check=True
            )
        else:
            return "not run: no --python for it"
        os.mkdir(f"{folder}/here")
        results = [_run([*command, "-m", "tflm_cy", "demo"], f"{folder}/here", places)]
        if tests:
            for name in TESTED_WITH:
                (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, f"{folder}/here/{name}")
            results.append(_run([*command, "-m", "pytest", "-p", "no:cacheprovider", *tests], f"{folder}/here", places))
    return ", ".join(results)


def _run(command: list[str], folder: str, places: list[str]) -> str:
    """Run a command; return the last line that it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = [
        line for line in done.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)
    ] or done.stdout.splitlines()
    if done.returncode:
        raise WheelError(f"{' '.join(command)} fails:\n{(done.stdout + done.stderr)[-4000:]}")
    return lines[-1].strip("= ") if lines else "nothing is printed"


def main(arguments=None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PLATFORMS)} (default: all)")
    parser.add_argument("--list", action="store_true", help="name what can be made, and make nothing")
    parser.add_argument("--into", type=Path, default=ROOT / "wheelhouse")
    parser.add_argument(
        "--python",
        metavar="NAME=COMMAND",
        action="append",
        default=[],
        help="a Python with numpy, for another platform",
    )
    parser.add_argument("--tests", nargs="+", default=[], help="what pytest runs with the wheel, beside the demo")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="compilations at once")
    args = parser.parse_args(arguments)
    unknown = set(args.names) - set(PLATFORMS)
    if unknown:
        parser.error(f"no such platform: {', '.join(sorted(unknown))}")
    chosen = {name: PLATFORMS[name] for name in args.names or PLATFORMS}
    pythons = dict(pair.partition("=")[::2] for pair in args.python)
    if args.list:
        for name, platform in chosen.items():
            print(f"{name}: {sys.implementation.cache_tag}, {platform.tag}, by {platform.target}")
        return 0
    errors = []
    print("| wheel | looked at | tested |\n| --- | --- | --- |", flush=True)
    for name, platform in chosen.items():
        wheel = _attempt(errors, build, platform, args.into, args.j)
        looked_at = tested = "failed"
        if wheel is not None:  # a wheel that is too large is tested, too
            looked_at = _attempt(errors, audit, wheel, platform) or "failed"
            tested = _attempt(errors, test, wheel, platform, pythons.get(name), args.tests) or "failed"
        print(f"| {wheel.name if wheel else platform.tag} | {looked_at} | {tested} |", flush=True)
    print(*errors, sep="\n", file=sys.stderr)
    return int(bool(errors))


def _attempt(errors: list[str], step, *arguments):
    """Return what a step returns; None, and what it says in `errors`, where it fails."""
    try:
        return step(*arguments)
    except WheelError as error:
        errors.append(str(error))
        return None


if __name__ == "__main__":
    sys.exit(main())
