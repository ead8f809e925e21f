"""Folds of float32 and where the largest value is, on every instruction set: NaN, infinities and both zeros at any place."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from .float32 import values
from .instruction_sets import ISAS, check, telling

MODES = [OpResolverType.AUTO, OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
modes = pytest.mark.parametrize("mode", MODES, ids=["delegate", "reference", "optimized"])


def draw_fold(rng, op):
    """Up to four axes, some of them reduced; rows shorter and longer than a vector."""
    shape = [int(n) for n in rng.choice([1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 40, 70], rng.integers(1, 5))]
    while np.prod(shape) > 40000:
        shape[int(rng.integers(len(shape)))] = 2
    axes = np.int32(rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)])
    kept = [n for d, n in enumerate(shape) if d not in axes]
    model = Model(op)
    graph = model.subgraph("main")
    x = graph.tensor(Tensor(shape, "float32"))
    graph.op(op, [x, Tensor.constant(axes)], [Tensor(kept, "float32")], keep_dims=False)
    graph.inputs = [x]
    return model.to_bytes(), [values(rng, shape)]


def draw_arg(rng, op):
    shape = [int(rng.integers(1, 6)), int(rng.choice([1, 3, 7, 8, 9, 15, 16, 17, 33, 100]))]
    model = Model(op)
    graph = model.subgraph("main")
    x = graph.tensor(Tensor(shape, "float32"))
    kind = str(rng.choice(["int32", "int64"]))
    graph.op(op, [x, Tensor.constant(np.int32(1))], [Tensor(shape[:1], kind)], output_type=kind.upper())
    graph.inputs = [x]
    return model.to_bytes(), [values(rng, shape)]


@modes
@pytest.mark.parametrize("op", ["SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"])
def test_folds(op, mode):
    for seed in range(KERNEL_CASES):
        blob, feeds = draw_fold(np.random.default_rng(seed), op)
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds, experimental_op_resolver_type=mode)


@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
def test_places(op):
    for seed in range(3 * KERNEL_CASES):
        blob, feeds = draw_arg(np.random.default_rng(seed), op)
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds)
