"""Eigen's functions of float32 and float16 in the optimized arithmetic: every instruction set against the scalar definition, all bits.

TFLM_CY_KERNEL_CASES=1000 pytest tests/simd/test_functions_eigen.py

Values are drawn by their bits, so that NaN of all payloads, infinities and subnormal numbers are among them, or where the functions bend.
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.cases.special_values import scattered
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from .instruction_sets import ISAS, check, telling

MODE = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
isas = pytest.mark.parametrize("isa", ISAS)


def floats(rng, shape):
    """Any bits, or everyday values with special ones among them."""
    if rng.random() < 0.4:
        return rng.integers(0, 2**32, shape, np.uint32).view(np.float32)
    x = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3)).astype(np.float32)
    return scattered(rng, x) if rng.random() < 0.5 else x


def shape_of(rng):
    return [int(n) for n in rng.integers(1, [4, 9, 70])]


def draw_unary(op):
    def draw(rng):
        shape = shape_of(rng)
        x = floats(rng, shape)
        return Model.single(op, [Tensor(shape, "float32")], [Tensor(shape, "float32")], 1).to_bytes(), x

    return draw


def draw_softmax(rng):
    shape = [int(rng.integers(1, 5)), int(rng.choice([1, 3, 7, 8, 9, 15, 16, 17, 31, 40, 64, 300]))]
    beta = float(rng.choice([1.0, 0.5, -2.0, 3.7]))
    x, y = Tensor(shape, "float32"), Tensor(shape, "float32")
    return Model.single("SOFTMAX", [x], [y], 1, beta=beta).to_bytes(), floats(rng, shape)


def draw_log_softmax(rng):
    shape = [int(rng.integers(1, 5)), int(rng.choice([1, 3, 7, 8, 9, 15, 16, 17, 31, 40, 64, 300]))]
    return Model.single("LOG_SOFTMAX", [Tensor(shape, "float32")], [Tensor(shape, "float32")], 1).to_bytes(), floats(
        rng, shape
    )


def draw_local_response(rng):
    shape = [1, *shape_of(rng)]
    options = {
        "radius": int(rng.integers(0, 6)),
        "bias": float(rng.choice([1.0, 0.0, 2.5, -1.0])),
        "alpha": float(rng.choice([1.0, 1e-4, 0.3])),
        "beta": float(rng.choice([0.75, 0.5, 1.0, 0.3, 2.0, 3.0, -0.6, 9.0])),
    }
    x, y = Tensor(shape, "float32"), Tensor(shape, "float32")
    return Model.single("LOCAL_RESPONSE_NORMALIZATION", [x], [y], 1, **options).to_bytes(), floats(rng, shape)


DRAWS = {
    "LOGISTIC": draw_unary("LOGISTIC"),
    "TANH": draw_unary("TANH"),
    "GELU": draw_unary("GELU"),
    "SOFTMAX": draw_softmax,
    "LOG_SOFTMAX": draw_log_softmax,
    "LOCAL_RESPONSE_NORMALIZATION": draw_local_response,
}


@isas
@pytest.mark.parametrize("op", DRAWS)
def test_float32(op, isa):
    for seed in range(KERNEL_CASES):
        blob, feed = DRAWS[op](np.random.default_rng(seed))
        with telling(f"seed {seed}"):
            check(isa, blob, [feed], experimental_op_resolver_type=MODE)


@isas
@pytest.mark.parametrize("op", ["LOGISTIC", "TANH"])
def test_every_float16(op, isa):
    """And tails of all lengths."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    for n in (2**16, *range(1, 35)):
        x = Tensor([n], "float16")
        blob = Model.single(op, [x], [Tensor([n], "float16")], 3).to_bytes()
        with telling(f"{n} values"):
            check(isa, blob, [every[-n:]], experimental_op_resolver_type=MODE)


@isas
def test_powers(isa):
    """Sums of squares at every exponent, by way of LOCAL_RESPONSE_NORMALIZATION of windows of one channel."""
    rng = np.random.default_rng(1)
    x = np.exp2(rng.uniform(-80, 80, [1, 1, 40, 40])).astype(np.float32)
    for beta in (0.75, 0.1, -0.4, 1.7, 31.5):
        blob = Model.single(
            "LOCAL_RESPONSE_NORMALIZATION",
            [Tensor(x.shape, "float32")],
            [Tensor(x.shape, "float32")],
            1,
            radius=0,
            bias=0.0,
            alpha=1.0,
            beta=beta,
        ).to_bytes()
        with telling(f"beta {beta}"):
            check(isa, blob, [x], experimental_op_resolver_type=MODE)
