"""Compiles every C file for other systems, with zig (pip install ziglang); prints one table.

    python -m tools.cross                                     # all targets
    python -m tools.cross aarch64-macos --optimize            # with the flags that a wheel is built with

"compiled" says: zig's clang makes an object of every C file, with the system's own headers and the flags of setup.py (without --optimize
at -O0, which checks the same and takes a fifth of the time). Nothing is linked or run. Python's headers are this machine's, with a
`pyconfig.h` that has the target's sizes. What Cython has not made yet, or made of older sources, is made first.
"""

import argparse
import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import flags, zig
from tools.records import Records

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {  # target -> platform, as sysconfig.get_platform() says it there
    "x86_64-linux-gnu": "linux-x86_64",
    "x86_64-linux-musl": "linux-x86_64",
    "aarch64-linux-gnu": "linux-aarch64",
    "aarch64-linux-musl": "linux-aarch64",
    "x86-linux-gnu": "linux-i686",
    "arm-linux-gnueabihf": "linux-armv7l",
    "aarch64-macos": "macosx-11.0-arm64",
    "x86_64-macos": "macosx-11.0-x86_64",
    "x86_64-windows-gnu": "win-amd64",
}
SIZES = {
    "VOID_P": 8,
    "LONG": 8,
    "SIZE_T": 8,
    "UINTPTR_T": 8,
    "TIME_T": 8,
    "PTHREAD_T": 8,
    "WCHAR_T": 4,
    "OFF_T": 8,
    "LONG_DOUBLE": 16,
}
SMALLER = {  # where a target's C has other sizes
    "x86-": {"VOID_P": 4, "LONG": 4, "SIZE_T": 4, "UINTPTR_T": 4, "TIME_T": 4, "PTHREAD_T": 4, "LONG_DOUBLE": 12},
    "arm-": {"VOID_P": 4, "LONG": 4, "SIZE_T": 4, "UINTPTR_T": 4, "TIME_T": 4, "PTHREAD_T": 4, "LONG_DOUBLE": 8},
    "aarch64-macos": {"LONG_DOUBLE": 8},
    "x86_64-windows": {"LONG": 4, "WCHAR_T": 2, "OFF_T": 4, "PTHREAD_T": 4},
}
WINDOWS = """
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define HAVE_DECLSPEC_DLL
#define WITH_THREAD 1
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_WCHAR_H 1
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_HKEY 8
#define SIZEOF_PID_T 4
#define SIZEOF_FPOS_T 8
#define Py_ENABLE_SHARED 1
#include <basetsd.h>
typedef SSIZE_T Py_ssize_t_of_windows;
#define HAVE_SSIZE_T 1
"""


def pyconfig(target: str) -> str:
    """Return the text of `pyconfig.h` for a target."""
    sizes = dict(SIZES)
    for prefix, other in SMALLER.items():
        sizes.update(other if target.startswith(prefix) else {})
    if "windows" in target:
        return WINDOWS + "".join(f"#define SIZEOF_{name} {size}\n" for name, size in sizes.items())
    text = Path(sysconfig.get_config_h_filename()).read_text()
    for name, size in sizes.items():
        text = re.sub(rf"^#define SIZEOF_{name} .*$", f"#define SIZEOF_{name} {size}", text, flags=re.M)
    if "macos" in target:
        text += "#undef HAVE_CRYPT_H\n#undef HAVE_STD_ATOMIC_LINUX\n"
    return text


def link_headers(folder: Path, target: str) -> None:
    """Put Python's headers into a folder, with another `pyconfig.h`: Python.h takes the one that lies beside it."""
    folder.mkdir()
    for path in Path(sysconfig.get_path("include")).iterdir():
        if path.name != "pyconfig.h":
            (folder / path.name).symlink_to(path)
    (folder / "pyconfig.h").write_text(pyconfig(target))


def settings(platform: str) -> dict:
    """What setup.py defines, for a platform."""
    os.environ["_PYTHON_HOST_PLATFORM"] = platform
    return runpy.run_path(str(ROOT / "setup.py"), run_name="setup")


def translate(targets: Iterable[str], jobs: int) -> None:
    """Make C for the first time, or anew, of what the targets compile: a build here makes none for other processors."""
    records = Records(Path("build/records.json"))
    try:
        for target in targets:
            setup = settings(TARGETS[target])
            setup["write_tables"]()
            setup["translate"](setup["modules"](), records, jobs)
    finally:
        records.save()


def sources(platform: str, compiler: flags.Compiler) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """C files and the flags that each wants, as setup.py says it for a platform; the flags of all."""
    setup = settings(platform)
    missing = compiler.lacks(setup["MACHINE"])
    if missing:
        print(f"without kernels for {', '.join(missing)}:", file=sys.stderr)
    wanted = [
        (str(source.with_suffix(".c")), setup["flags_of"](source))
        for source in setup["modules"]()
        if flags.asked(source).get("target") not in missing
    ]
    without = [f"-DTFLM_CY_WITHOUT_{name.upper()}" for name in missing]
    return wanted, [*compiler.of_machine(setup["MACHINE"]), *without, *(f"-I{folder}" for folder in setup["HEADERS"])]


def check(target: str, folder: Path, optimize: bool, jobs: int) -> list[tuple[str, int, str]]:
    """Compile all files; return of each its name, the exit code and the output."""
    headers = folder / "headers"
    link_headers(headers, target)
    compiler = flags.Compiler(zig.compiler(target), [])
    wanted, of_all = sources(TARGETS[target], compiler)
    common = [*flags.REQUIRED, *compiler.taken([*flags.COMPILE, *flags.WARNINGS]), f"-I{headers}", *of_all]

    def compiled(entry):
        c, flags_of = entry
        mode = [] if optimize else ["-O0", "-fno-sanitize=undefined"]
        position = [] if "windows" in target else ["-fPIC"]
        made = ["-c", c, "-o", str(folder / f"{Path(c).stem}.o")]
        command = [
            *compiler.compile_command,
            *common,
            *compiler.taken(flags_of),
            f"-I{os.path.dirname(c)}",
            *position,
            *mode,
            *made,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return c, done.returncode, done.stderr

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(compiled, wanted))


def main(arguments=None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tools.cross", description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--optimize", action="store_true", help="with the flags of a wheel, not -O0")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="compilations at once")
    args = parser.parse_args(arguments)
    unknown = set(args.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    os.chdir(ROOT)
    translate(args.targets or TARGETS, args.j)
    failed = False
    print("| target | C files | compiled | warnings |\n| --- | ---: | ---: | ---: |", flush=True)
    for target in args.targets or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            done = check(target, Path(folder), args.optimize, args.j)
        failing = [(c, output) for c, code, output in done if code]
        warnings = {line for _, code, output in done if not code for line in output.splitlines() if "warning:" in line}
        print(f"| {target} | {len(done)} | {len(done) - len(failing)} | {len(warnings)} |", flush=True)
        failed |= bool(failing)
        for c, output in failing[:5]:
            print(f"{c}:\n{output[:1500]}", file=sys.stderr)
        for line in sorted(warnings)[:10]:
            print(line, file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
