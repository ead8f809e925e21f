"""Sums of int16 on every instruction set against the scalar definition, in all modes; scales of any quotient, lengths with a tail."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from .instruction_sets import ISAS, check, telling

MODES = [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]


def draw_sum(rng, op):
    shape = [int(rng.integers(1, 8)), int(rng.choice([1, 5, 15, 16, 17, 40, 100]))]
    other = [1, shape[1]] if rng.random() < 0.3 else shape
    scales = [float(np.float32(10.0 ** rng.uniform(-5, -1))) for _ in range(2)]
    scales.append(float(np.float32(max(scales) * 10.0 ** rng.uniform(0, 2))))
    model = Model(op)
    graph = model.subgraph("main")
    a, b = (
        graph.tensor(Tensor(n, "int16", scale=scale, zero_point=0))
        for n, scale in zip((shape, other), scales, strict=False)
    )
    graph.op(op, [a, b], [Tensor(shape, "int16", scale=scales[2], zero_point=0)], pot_scale_int16=False)
    graph.inputs = [a, b]
    return model.to_bytes(), [rng.integers(-32768, 32768, n).astype(np.int16) for n in (shape, other)]


@pytest.mark.parametrize("mode", MODES, ids=["reference", "optimized"])
@pytest.mark.parametrize("op", ["ADD", "SUB"])
def test_sums(op, mode):
    for seed in range(KERNEL_CASES):
        blob, feeds = draw_sum(np.random.default_rng(seed), op)
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds, experimental_op_resolver_type=mode)
