"""Which float32 matrix kernels an Arm core gets."""

import pytest

from tflm_cy.ops import arm_cores
from tflm_cy.ops.arm_cores import APPLE, PAIRS, PAIRS_OF_A73, PLAIN, WIDE, product_kernels, rounds_twice
from tflm_cy.platform import cores
from tflm_cy.platform.cores import fastest_core, read_cores

CPUINFO = """processor\t: 0
BogoMIPS\t: 48.00
Features\t: fp asimd evtstrm aes
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x2
CPU part\t: 0xd05
CPU revision\t: 0

processor\t: 1
CPU implementer\t: 0x41
CPU part\t: 0xd40

Hardware\t: a board
"""


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("TFLM_CY_XNNPACK", raising=False)


def test_cores_are_read_in_their_order(monkeypatch):
    monkeypatch.setattr(cores, "highest_frequency", {"0": 1_800_000, "1": 2_400_000}.get)
    assert read_cores(CPUINFO) == [(1_800_000, 0x41, 0xD05), (2_400_000, 0x41, 0xD40)]
    assert read_cores("model name\t: an x86\n") == []


@pytest.mark.parametrize(
    ("core", "kernels"),
    [
        ((0x41, 0xD03), PAIRS),
        ((0x41, 0xD09), PAIRS_OF_A73),
        ((0x41, 0xD40), PLAIN),
        ((0x41, 0xD82), WIDE),
        ((0, 0), PLAIN),  # nothing is told
        ((0x41, 0xFFF), PLAIN),  # newer than the table
    ],
)
def test_the_core_decides(monkeypatch, core, kernels):
    monkeypatch.setattr(arm_cores, "fastest_core", lambda: core)
    assert product_kernels(0) == kernels
    assert rounds_twice() == (core == (0x41, 0xD03))


@pytest.mark.parametrize(("name", "kernels"), [("neon", PAIRS), ("dotprod", PAIRS), ("i8mm", PLAIN)])
def test_the_variable_decides_before_the_core(monkeypatch, name, kernels):
    monkeypatch.setenv("TFLM_CY_XNNPACK", name)
    monkeypatch.setattr(arm_cores, "fastest_core", lambda: (0x41, 0xD82))
    assert product_kernels(("neon", "dotprod", "i8mm").index(name)) == kernels


def test_apple_has_kernels_of_its_own(monkeypatch):
    monkeypatch.setattr(cores.sys, "platform", "darwin")
    monkeypatch.setattr(arm_cores, "fastest_core", fastest_core.__wrapped__)
    assert product_kernels(1) == APPLE
