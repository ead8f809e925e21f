"""Anything under AddressSanitizer and UndefinedBehaviorSanitizer, or under ThreadSanitizer, in one command.

    python -m compat.fuzz.sanitized --into DIR                                   # build into DIR, run the corpus and the tests
    python -m compat.fuzz.sanitized --into DIR python -m compat.fuzz --models M --edits 500 --seconds 120
    python -m compat.fuzz.sanitized --into OTHER --thread                        # data races of the pool: tests with several threads

The checkout is copied to DIR and built there (TFLM_CY_SANITIZE=1, or thread; some minutes), once: a second call builds what has
changed. The command runs in DIR with gcc's libasan or libtsan loaded first. Its exit code is this one's.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tools.copies import copy_sources, share_translated

ROOT = Path(__file__).resolve().parents[2]
FUZZ = "-m compat.fuzz --models compat/fuzz/corpus --truncations 20 --flips 60 --edits 60 --seconds 120"
TESTS = "-m pytest -q -x tests/ops tests/graph tests/schema tests/delegates tests/interpreter"
# Without those that measure: threads are not worth waking at the speed of an instrumented build.
THREADS = "-m pytest -q tests/threads -k"
MEASURED = "not test_nodes_are_shared and not test_columns_of_one_row and not test_slow_workers"
DEFAULT = {"1": [FUZZ.split(), TESTS.split()], "thread": [[*THREADS.split(), MEASURED]]}


def environment(into, kind="1"):
    """Of a process under the sanitizers."""
    name = "libtsan.so" if kind == "thread" else "libasan.so"
    library = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return {
        **os.environ,
        "PYTHONPATH": str(into),
        "LD_PRELOAD": library,
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:handle_segv=1",
        "TSAN_OPTIONS": f"exitcode=66:die_after_fork=0:log_path={into / 'race'}",
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m compat.fuzz.sanitized", description=__doc__.splitlines()[0])
    parser.add_argument("--into", required=True, type=Path, help="directory of the build")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="compilers at once")
    parser.add_argument("--thread", action="store_true", help="ThreadSanitizer (default: AddressSanitizer and UBSan)")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="what to run (default: the corpus, then tests; tests with threads)"
    )
    args = parser.parse_args(arguments)
    into, kind = args.into.resolve(), "thread" if args.thread else "1"
    into.mkdir(parents=True, exist_ok=True)
    copy_sources(ROOT, into)
    share_translated(ROOT, into)
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", f"-j{args.j}"]
    subprocess.run(build, cwd=into, env={**os.environ, "TFLM_CY_SANITIZE": kind}, check=True)
    for command in [args.command] if args.command else [[sys.executable, *words] for words in DEFAULT[kind]]:
        for found in into.glob("race.*"):
            found.unlink()
        code = subprocess.run(command, cwd=into, env=environment(into, kind)).returncode
        races = [found.read_text() for found in sorted(into.glob("race.*"))]  # pytest would keep what is printed
        print(*races, sep="\n", end="")
        if code or races:
            return code or 66
    return 0


if __name__ == "__main__":
    sys.exit(main())
