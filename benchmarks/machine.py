"""Where the figures come from: CPU, memory, load, system, versions."""

import importlib.metadata
import os
import platform
import sys
import time
from pathlib import Path


def facts(sides):
    """Plain values, ready for JSON."""
    from tflm_cy.simd import table

    info = _read("/proc/cpuinfo")
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "cpu": _field(info, "model name") or platform.processor() or platform.machine(),
        "cpu_flags": [flag for flag in _field(info, "flags").split() if flag.startswith(("avx", "fma", "sse4", "amx"))],
        "kernels": table.name(),
        "cpus": os.cpu_count(),
        "cpus_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_bytes": int((_field(_read("/proc/meminfo"), "MemTotal") or "0 kB").split()[0]) * 1024,
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "numpy": importlib.metadata.version("numpy"),
        "sides": {side.name: side.version() for side in sides},
    }


def summary(found):
    """One line for people, and a second one when the machine is too busy for its figures to mean much."""
    sides = ", ".join(f"{name} {version}".strip() for name, version in found["sides"].items())
    load = found["load"]
    line = f"{found['cpu']}, {found['cpus_allowed']} CPUs, Python {found['python']}, numpy {found['numpy']}; {sides}"
    # The measuring process itself is not running yet.
    if load and load[0] > 0.5:
        line += f"\nThe machine is busy (load {load[0]:.1f} before the start): ratios wobble, times say little."
    return line


def _read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _field(text, name):
    """The first value of a "name : value" line."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
