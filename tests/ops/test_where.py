"""WHERE and TOPK_V2."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same


@pytest.mark.parametrize("dtype", ["bool", "float32", "int8", "uint8", "int32", "uint32", "int64"])
@pytest.mark.parametrize("constant", [True, False])
def test_where(dtype, constant):
    x = (np.random.default_rng(5).integers(0, 2, (2, 3, 4)) * 3).astype(dtype)
    [y] = run("WHERE", [x if constant else (x, dtype)], [Tensor([1], "int64")])
    same(y, np.argwhere(x).astype(np.int64))


@pytest.mark.parametrize("shape", [(1,), (500,), (30, 17), (3, 1, 50), (2, 3, 4, 5), (2, 2, 2, 2, 9)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_where_of_other_shapes(shape, share):
    x = np.random.default_rng(len(shape)).random(shape) < share
    [y] = run("WHERE", [(x, "bool")], [Tensor([1], "int64")])
    same(y, np.argwhere(x).astype(np.int64))


def test_nan_is_true_and_minus_zero_is_not():
    x = np.array([np.nan, -0.0, 0.0, 1e-45, -np.inf], np.float32)
    [y] = run("WHERE", [(x, "float32")], [Tensor([1], "int64")])
    assert y.tolist() == [[0], [3], [4]]


def test_where_refuses_a_scalar():
    with pytest.raises(RuntimeError, match="rank > 0"):
        run("WHERE", [(np.array(True), "bool")], [Tensor([1], "int64")])


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("k", [0, 1, 3, 17, 40])
@pytest.mark.parametrize("index", ["int32", "int16"])
def test_topk(dtype, k, index):
    x = np.random.default_rng(6).integers(0, 15, (3, 2, 40)).astype(dtype)
    [values, indices] = run("TOPK_V2", [(x, dtype), np.array(k, index)], [Tensor([1], dtype), Tensor([1], index)])
    order = np.argsort(-x.astype(np.int64), -1, kind="stable")[..., :k]
    same(indices, order.astype(index))
    same(values, np.take_along_axis(x, order, -1))


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int32", "int64"])
@pytest.mark.parametrize("n", [17, 256, 1000])
def test_topk_of_long_rows(dtype, n):
    """Which are sorted, unless few of their values are wanted."""
    rng = np.random.default_rng(n)
    if dtype == "float32":
        x = (rng.integers(-9, 9, (2, n)) / 4).astype(dtype) * rng.choice([-1, 1], (2, n)).astype(dtype)  # both zeros
    else:
        span = np.iinfo(dtype)
        x = rng.integers(span.min, span.max, (2, n), dtype=dtype, endpoint=True)
        x[:, rng.integers(0, n, n // 2)] = [[span.min], [span.max]]
    for k in (3, n // 2, n):
        [values, indices] = run(
            "TOPK_V2", [(x, dtype), np.array(k, np.int32)], [Tensor([1], dtype), Tensor([1], "int32")]
        )
        order = np.array(
            [sorted(range(n), key=lambda i, row=row: (-int(row[i] * 4), i))[:k] for row in x.astype(object)]
        )
        same(indices, order.astype(np.int32))
        same(values, np.take_along_axis(x, order, -1))


def test_topk_of_nan_is_the_sorts():
    """A NaN equals everything, so that no order of the values gives TensorFlow's result: that of its sort's comparisons does."""
    x = (np.arange(20) * 7 % 20).astype(np.float32)
    x[9] = np.nan
    outputs = [Tensor([1], "float32"), Tensor([1], "int32")]
    [_, indices] = run("TOPK_V2", [(x, "float32"), np.array(20, np.int32)], outputs)
    assert indices.tolist() == [7, 12, 0, 9, 17, 14, 11, 8, 5, 2, 19, 16, 13, 10, 4, 1, 18, 15, 6, 3]


def test_topk_with_k_at_run_time():
    x = np.array([3, 9, 9, 1], np.float32)
    [values, indices] = run(
        "TOPK_V2", [(x, "float32"), (np.array(2, np.int32), "int32")], [Tensor([1], "float32"), Tensor([1], "int32")]
    )
    assert (values.tolist(), indices.tolist()) == ([9, 9], [1, 2])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("k", [5, -1])
def test_topk_refuses(k, constant):
    k = np.array(k, np.int32)
    with pytest.raises(RuntimeError, match="TopK k"):
        run(
            "TOPK_V2",
            [(np.zeros(4, np.int8), "int8"), k if constant else (k, "int32")],
            [Tensor([1], "int8"), Tensor([1], "int32")],
        )
