"""The machine that tests run on: definitions, and so expected bytes, differ (tflm_cy/ops/machine_definitions.py).

want = [0, 9] if AARCH64 else [1, 9]

compiler_for("the library that counts")       # its command, or the test is skipped
take_product_rules(monkeypatch, "one", 0, 0)  # float32 products as on some Arm core

@delegated                # of the default delegate alone
@of_x86_64                # the expected bytes are spelled out for x86-64; `python -m compat.arm` compares aarch64's with TensorFlow
@wide_sizes               # of sizes that 64 bits hold
def test_...
"""

import os
import platform
import shutil
import sys

import pytest

from tflm_cy.ops import generation

AARCH64 = platform.machine() in ("aarch64", "arm64")
WIDE = sys.maxsize > 1 << 32
of_x86_64 = pytest.mark.skipif(
    AARCH64 or not WIDE, reason="what is expected here is x86-64's order of sums, or which NaN stays there"
)
wide_sizes = pytest.mark.skipif(not WIDE, reason="32 bits do not hold these sizes: they are refused earlier")


# For nodes of the default delegate, or expectations that are its own.
delegated = pytest.mark.skipif(not generation.supported(), reason="this CPU has no default delegate")


def take_product_rules(monkeypatch, row, positions, width):
    """Until the test ends float32 products are those of a core with these rules: see tflm_cy/ops/arm_cores.py.

    With ("one", 0, 0) all have one chain.
    """
    from tflm_cy.ops.xnnpack import definitions  # only where the default delegate is

    monkeypatch.setattr(definitions, "product_kernels", lambda least: (row, positions, width))


def compiler_for(what):
    """The C compiler for this machine, also where it is emulated; without one the test is skipped."""
    found = shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc")
    if found is None:
        pytest.skip(f"no C compiler to build {what} with")
    return found
