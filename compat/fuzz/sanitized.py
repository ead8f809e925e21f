"""Anything under AddressSanitizer and UndefinedBehaviorSanitizer, in one command.

    python -m compat.fuzz.sanitized --into DIR                                   # build into DIR, run the corpus and the tests
    python -m compat.fuzz.sanitized --into DIR python -m compat.fuzz --models M --edits 500 --seconds 120

The checkout is copied to DIR and built there (TFLM_CY_SANITIZE=1; some minutes), once: a second call builds what has changed. The
command runs in DIR with gcc's libasan loaded first. Its exit code is this one's.
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
DEFAULT = [[sys.executable, *command.split()] for command in (FUZZ, TESTS)]


def environment(into):
    """Of a process under the sanitizers."""
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return {
        **os.environ,
        "PYTHONPATH": str(into),
        "LD_PRELOAD": library,
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:handle_segv=1",
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m compat.fuzz.sanitized", description=__doc__.splitlines()[0])
    parser.add_argument("--into", required=True, type=Path, help="directory of the build")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="compilers at once")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run (default: the corpus, then tests)")
    args = parser.parse_args(arguments)
    into = args.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    copy_sources(ROOT, into)
    share_translated(ROOT, into)
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", f"-j{args.j}"]
    subprocess.run(build, cwd=into, env={**os.environ, "TFLM_CY_SANITIZE": "1"}, check=True)
    for command in [args.command] if args.command else DEFAULT:
        code = subprocess.run(command, cwd=into, env=environment(into)).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
