"""Functions of float16 values on every instruction set: all patterns, and lengths that end within a vector."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import delegated

from .instruction_sets import ISAS, check

pytestmark = delegated
PATTERNS = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FUNCTIONS = {
    **{
        key: {}
        for key in ("ABS", "CEIL", "COS", "EXP", "FLOOR", "HARD_SWISH", "NEG", "RELU", "RELU6", "RELU_N1_TO_1", "ROUND")
    },
    **{key: {} for key in ("RSQRT", "SIN", "SQRT", "SQUARE")},
    "GELU": {"approximate": False},
    "GELU approximate": {"approximate": True},
}


@pytest.mark.parametrize("n", [1, 7, 17, 65536 - 5])
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_patterns(function, isa, n):
    model = Model(function)
    graph = model.subgraph("main")
    x = graph.tensor(Tensor([n], "float16"))
    graph.op(function.partition(" ")[0], [x], [Tensor([n], "float16")], **FUNCTIONS[function])
    graph.inputs = [x]
    check(isa, model.to_bytes(), [PATTERNS[-n:]])
