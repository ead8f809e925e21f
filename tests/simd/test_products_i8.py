"""Products with 8-bit weights: every instruction set against the scalar definition, on random nodes.

TFLM_CY_KERNEL_CASES=2000 pytest tests/simd
"""

import numpy as np
import pytest

from tests.draws import KERNEL_CASES
from tests.machine import delegated

from .instruction_sets import ISAS, check, telling
from .products_i8 import DRAWS

pytestmark = delegated


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("op", DRAWS)
def test_products(op, dtype):
    if op.startswith("DEPTHWISE_CONV_2D") and dtype == "float32":
        pytest.skip("the delegate has no such node")
    for seed in range(KERNEL_CASES):
        rng = np.random.default_rng(seed)
        blob, feeds = DRAWS[op](rng, dtype)
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds)
