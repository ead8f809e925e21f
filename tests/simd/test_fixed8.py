"""8-bit products outside of XNNPACK's arithmetic: every instruction set against the scalar definition, on random nodes.

TFLM_CY_KERNEL_CASES=2000 pytest tests/simd        # more than the default of 40 per family, type, mode and instruction set
"""

import os

import numpy as np
import pytest

from tflm_cy.experimental import OpResolverType

from .instruction_sets import ISAS, check
from .products8 import DRAWS

MODES = [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
CASES = int(os.environ.get("TFLM_CY_KERNEL_CASES", 40))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", DRAWS)
def test_fixed_point_products(op, dtype, mode, isa):
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        blob, feeds = DRAWS[op](rng, dtype)
        try:
            check(isa, blob, feeds, experimental_op_resolver_type=mode)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from None
