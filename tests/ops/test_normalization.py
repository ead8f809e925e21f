"""L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION."""

import numpy as np
import pytest

from compat.builder import Tensor

from .successive import REFUSED, outputs, same


def test_l2_normalization_of_floats():
    x = np.random.default_rng(1).standard_normal((3, 13)).astype(np.float32)
    x[1] = 0
    norms = []
    for row in x:
        total = np.float32(0)
        for value in row:
            total = np.float32(total + value * value)
        norms.append(max(np.sqrt(total), np.float32(1e-6)))
    tensor = Tensor(x.shape, "float32")
    got = outputs("L2_NORMALIZATION", [tensor], [Tensor(x.shape, "float32")], [[x]])[0]
    same(got, x / np.array(norms, np.float32)[:, None])


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", 0), ("uint8", 128)])
def test_l2_normalization_of_integers_is_near_the_real_one(dtype, zero_point):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(2).integers(limits.min, limits.max + 1, (5, 9)).astype(dtype)
    tensor = Tensor(x.shape, dtype, scale=0.3, zero_point=7)
    got = outputs(
        "L2_NORMALIZATION", [tensor], [Tensor(x.shape, dtype, scale=1 / 128, zero_point=zero_point)], [[x]], 2
    )[0]
    real = x.astype(float) - 7
    want = np.minimum(real / np.sqrt((real * real).sum(1, keepdims=True)), 127 / 128)
    assert np.abs((got.astype(float) - zero_point) / 128 - want).max() <= 1 / 128


def test_local_response_window_ends_before_its_upper_end():
    """Radius 1: channel c sees c - 1 and c, not c + 1. Squares of 1, 2, 4 give 1, 5, 20."""
    x = np.array([1, 2, 4], np.float32).reshape(1, 1, 1, 3)
    tensors = [Tensor(x.shape, "float32") for _ in range(2)]
    options = {"radius": 1, "bias": 0.0, "alpha": 1.0, "beta": 1.0}
    got = outputs("LOCAL_RESPONSE_NORMALIZATION", tensors[:1], tensors[1:], [[x]], **options)[0]
    same(got.ravel(), [1, 2 * np.float32(1 / 5), 4 * np.float32(1 / 20)], np.float32)


@pytest.mark.parametrize(
    ("op", "x", "y"),
    [
        ("L2_NORMALIZATION", Tensor([2, 3], "int8", scale=0.1), Tensor([2, 3], "int8", scale=1 / 64)),
        ("L2_NORMALIZATION", Tensor([2, 3], "int16", scale=0.1), Tensor([2, 3], "int16", scale=1 / 128)),
        ("L2_NORMALIZATION", Tensor([], "float32"), Tensor([], "float32")),
        ("LOCAL_RESPONSE_NORMALIZATION", Tensor([2, 3], "float32"), Tensor([2, 3], "float32")),
        (
            "LOCAL_RESPONSE_NORMALIZATION",
            Tensor([1, 1, 2, 3], "int8", scale=1.0),
            Tensor([1, 1, 2, 3], "int8", scale=1.0),
        ),
    ],
)
def test_refusals(op, x, y):
    with pytest.raises(REFUSED):
        outputs(op, [x], [y], [[np.zeros(x.shape, x.dtype)]])
