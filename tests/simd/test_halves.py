"""float16 to float32 on every instruction set: all patterns, and lengths that end within a vector."""

import numpy as np
import pytest

from compat.builder import Model, Tensor

from .instruction_sets import ISAS, check

PATTERNS = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize("n", [1, 7, 17, 33, 65536 - 5, 65536])
@pytest.mark.parametrize("isa", ISAS)
def test_all_patterns(isa, n):
    model = Model("halves")
    graph = model.subgraph("main")
    x = graph.tensor(Tensor([n], "float16"))
    graph.op("DEQUANTIZE", [x], [Tensor([n], "float32")], version=3)
    graph.inputs = [x]
    check(isa, model.to_bytes(), [PATTERNS[-n:]])
