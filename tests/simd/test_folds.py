"""Folds of integers and truths, on every instruction set: rows and columns shorter and longer than a vector, the last one in part."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from .instruction_sets import ISAS, check, telling

MODES = [OpResolverType.AUTO, OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
LENGTHS = [1, 2, 3, 5, 7, 8, 9, 12, 16, 17, 31, 33, 40, 64, 65, 100, 127, 200, 300]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]


def draw(rng, op, dtype):
    """Up to four axes, some of them reduced."""
    shape = [int(n) for n in rng.choice(LENGTHS, rng.integers(1, 5))]
    while np.prod(shape) > 40000:
        shape[int(rng.integers(len(shape)))] = 2
    axes = np.int32(rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)])
    x, y = Tensor(shape, dtype), Tensor([n for d, n in enumerate(shape) if d not in axes], dtype)
    if dtype in ("int8", "uint8", "int16"):
        x.scale = y.scale = 0.05
        x.zero_point = y.zero_point = 0 if dtype == "int16" else 3
        if op in ("SUM", "MEAN"):
            y.scale = 0.3
    if dtype == "bool":
        values = rng.random(shape) < rng.choice([0.01, 0.5, 0.99])
    else:
        span = np.iinfo(dtype)
        values = rng.integers(span.min, span.max, shape, dtype=dtype, endpoint=True)
    return Model.single(op, [x, Tensor.constant(axes)], [y], keep_dims=False).to_bytes(), [values]


@pytest.mark.parametrize("mode", MODES, ids=["delegate", "reference", "optimized"])
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *((op, dtype) for op in ("REDUCE_MAX", "REDUCE_MIN") for dtype in INTEGERS),
        *(("MEAN", dtype) for dtype in INTEGERS),
        *(("SUM", dtype) for dtype in INTEGERS if dtype != "int16"),
        *(("REDUCE_PROD", dtype) for dtype in ("int32", "int64")),
        ("REDUCE_ANY", "bool"),
        ("REDUCE_ALL", "bool"),
    ],
)
def test_folds(op, dtype, mode):
    for seed in range(KERNEL_CASES):
        blob, feeds = draw(np.random.default_rng(seed), op, dtype)
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds, experimental_op_resolver_type=mode)
