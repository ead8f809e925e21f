"""Builds with every C compiler that is installed, each in a copy of the checkout, and runs the tests there.

    python -m tools.compilers                                         # all tests with all compilers
    python -m tools.compilers clang zig --tests tests/simd tests/ops
    python -m tools.compilers --tests none                            # compile only

Looks for gcc, clang, gcc-10, clang-14 and so on, and for zig (pip install ziglang). Prints a table; exit code 1 when a
build or a test fails, or when a compiler warns (-Wall -Wextra).
"""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools import zig
from tools.copies import copy_sources, share_translated

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["gcc", "clang", *(f"gcc-{n}" for n in range(10, 17)), *(f"clang-{n}" for n in range(14, 23))]
WARNING = re.compile(r"^(\S+?):\d+:(?:\d+:)? warning: .*$", re.M)


def installed() -> dict[str, str]:
    """Return name -> command, each compiler once."""
    found, seen = {}, set()
    for name in NAMES:
        path = shutil.which(name)
        if path and (version := said_version(path)) not in seen:
            seen.add(version)
            found[name] = path
    with contextlib.suppress(zig.NoZigError):
        found["zig"] = " ".join(
            zig.compiler("x86_64-linux-gnu" if os.uname().machine == "x86_64" else "aarch64-linux-gnu")
        )
    return found


def said_version(path: str) -> str:
    """Return what a compiler says of itself but its name: the same for gcc and gcc-12, also behind a wrapper."""
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return said.partition(" ")[2]


def build(copy: Path, command: str, jobs: int) -> tuple[str | None, list[str], float]:
    """Compile a copy of the checkout; return the end of the output if that fails, warnings, seconds."""
    copy.mkdir(parents=True, exist_ok=True)
    copy_sources(ROOT, copy)
    share_translated(ROOT, copy)
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace", f"-j{jobs}"],
        cwd=copy,
        env={**os.environ, "CC": command},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    (copy / "build.log").write_text(output)
    warnings = [match.group(0) for match in WARNING.finditer(output)]
    return (output[-2000:] if done.returncode else None), warnings, time.monotonic() - begun


def test(copy: Path, tests: list[str]) -> tuple[int, str]:
    """Run tests in a copy; return pytest's exit code and its last line."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *tests],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    (copy / "test.log").write_text(done.stdout + done.stderr)
    lines = [line for line in done.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    return done.returncode, lines[-1].strip("= ") if lines else done.stdout[-200:]


def main(arguments=None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tools.compilers", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of compilers (default: all that are installed)")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="what pytest runs; none: compile only")
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "compilers", help="folder of the copies")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="compilations at once")
    args = parser.parse_args(arguments)
    found = installed()
    missing = [name for name in args.names if name not in found]
    if missing:
        parser.error(f"not installed: {', '.join(missing)}; installed: {', '.join(found)}")
    failed = False
    print("| compiler | version | build | warnings | tests |\n| --- | --- | ---: | ---: | --- |", flush=True)
    for name in args.names or found:
        copy = args.into / name
        version = subprocess.run(
            [*found[name].split(), "--version"], capture_output=True, text=True, check=False
        ).stdout
        error, warnings, seconds = build(copy, found[name], args.j)
        code, tested = (
            (1, "not run") if error else (0, "not asked for") if args.tests == ["none"] else test(copy, args.tests)
        )
        failed |= bool(error or code or warnings)
        built = "failed" if error else f"{seconds:.0f} s"
        print(f"| {name} | {version.splitlines()[0]} | {built} | {len(warnings)} | {tested} |", flush=True)
        for line in [*sorted(set(warnings))[:10], *([error] if error else [])]:
            print(line, file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
