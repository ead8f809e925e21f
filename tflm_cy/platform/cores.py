"""Which Arm core this machine has, by the numbers that Arm gives to makers and makers to their cores.

implementer, part = fastest_core()           # (0x41, 0xD08): a Cortex-A72
"""

import functools
import re
import sys
from pathlib import Path

APPLE_CORE = (0x61, 0)  # of any kind: macOS does not tell which


@functools.cache
def fastest_core():
    """(implementer, part) of the core with the highest frequency, the first of equal ones; (0, 0) where nothing is told."""
    if sys.platform == "darwin":
        return APPLE_CORE
    try:
        listed = Path("/proc/cpuinfo").read_text()
    except OSError:
        return 0, 0
    return max(read_cores(listed), key=lambda core: core[0], default=(0, 0, 0))[1:]


def read_cores(cpuinfo):
    """[(frequency, implementer, part)] of the text of /proc/cpuinfo, in its order."""
    cores = []
    for block in cpuinfo.split("\n\n"):
        found = dict(re.findall(r"^(processor|CPU implementer|CPU part)\s*:\s*(\w+)", block, re.M))
        if "CPU implementer" in found and "CPU part" in found:
            numbers = int(found["CPU implementer"], 16), int(found["CPU part"], 16)
            cores.append((highest_frequency(found.get("processor")), *numbers))
    return cores


def highest_frequency(processor):
    """In kHz; 0 where Linux does not tell."""
    try:
        return int(Path(f"/sys/devices/system/cpu/cpu{processor}/cpufreq/cpuinfo_max_freq").read_text())
    except (OSError, ValueError):
        return 0
