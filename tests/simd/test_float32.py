"""float32 kernels: every instruction set against the scalar definition, on random nodes.

TFLM_CY_KERNEL_CASES=2000 pytest tests/simd/test_float32.py
"""

import numpy as np
import pytest

from tests.draws import KERNEL_CASES
from tests.machine import delegated

from .float32 import DRAWS, share
from .instruction_sets import ISAS, check, telling

pytestmark = delegated


@pytest.mark.parametrize("op", DRAWS)
def test_floats(op, monkeypatch):
    monkeypatch.setenv("TFLM_CY_L1D", "32768")  # whose eight ways rows can collide in, whatever this CPU has
    for seed in range(share(op, KERNEL_CASES)):
        blob, feeds = DRAWS[op](np.random.default_rng(seed))
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds)
