"""The compiler of the package ziglang: clang with headers and libraries of many systems, which compiles for all of them.

>>> compiler("x86_64-linux-musl")[-3:]          # doctest: +SKIP
['cc', '-target', 'x86_64-linux-musl']
"""

import importlib.util
import shutil
from pathlib import Path


class NoZigError(Exception):
    """It is not installed."""


def compiler(target: str) -> list[str]:
    """Return the command of a C compiler for a target (`aarch64-linux-gnu`, with a version of glibc `aarch64-linux-gnu.2.17`)."""
    spec = importlib.util.find_spec("ziglang")
    zig = Path(spec.origin).parent / "zig" if spec else shutil.which("zig")
    if not zig:
        raise NoZigError("no zig: pip install ziglang")
    return [str(zig), "cc", "-target", target]
