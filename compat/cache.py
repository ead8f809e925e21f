"""Outcomes of released runtimes, kept on disk: the same case on the same version, mode, threads and CPU.

Kept under `$XDG_CACHE_HOME/tflm_cy_compat` (or ~/.cache); deleting the folder is always safe. Crashes and hangs are
kept too, they cost most. A side without distributions (this package) is never cached.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import threading
import zlib
from functools import cache
from importlib import metadata
from pathlib import Path

from .outcome import Outcome
from .sides import load_side

FORMAT = 5  # of what is kept: another number makes all that was kept before unfindable


def cache_folder():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tflm_cy_compat"


@cache
def cpu_flags():
    """What of the machine kernels are chosen by: the flags of its first CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


# Run by a side's own Python when that is not ours.
_FIND_VERSION = """
from importlib import metadata
for name in {names!r}:
    try:
        print(name, metadata.version(name))
        break
    except metadata.PackageNotFoundError:
        pass
"""


@cache
def side_version(side, python=None):
    """The version of a side's package, as "name version"; None when it is not installed or not released."""
    names = load_side(side).DISTRIBUTIONS
    if python and python != sys.executable:
        code = _FIND_VERSION.format(names=names)
        found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
        return found or None
    for name in names:
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return None


class OutcomeCache:
    """Outcomes of one side; does nothing when the side is not cacheable or `enabled` is False."""

    def __init__(self, side, enabled=True, python=None):
        version = side_version(side, python) if enabled else None
        machine = [
            cpu_flags(),
            platform.machine(),
            *([str(python)] if python else []),
        ]  # another Python may emulate another CPU
        self._prefix = version and "|".join([str(FORMAT), side, version, *machine])

    def _file(self, case_digest, mode, threads):
        name = hashlib.sha256(f"{self._prefix}|{mode}|{threads}|{case_digest}".encode()).hexdigest()
        return cache_folder() / name[:2] / name[2:]

    def get(self, case_digest, mode, threads=1):
        if not self._prefix:
            return None
        try:
            return Outcome.from_json(json.loads(zlib.decompress(self._file(case_digest, mode, threads).read_bytes())))
        except (OSError, ValueError, zlib.error, TypeError, KeyError):
            return None

    def put(self, case_digest, mode, outcome, threads=1):
        if not self._prefix:
            return
        file = self._file(case_digest, mode, threads)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        partial.write_bytes(zlib.compress(json.dumps(outcome.to_json()).encode(), 1))
        partial.replace(file)
