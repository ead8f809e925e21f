"""TRANSPOSE and REVERSE_V2."""

import itertools

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same

TRANSPOSED = ["float32", "int32", "bool", "uint8", "int8", "int16", "int64"]


def sample(shape, dtype):
    return (np.arange(np.prod(shape)) % (2 if dtype == "bool" else 120)).astype(dtype).reshape(shape)


def given(value, constant):
    value = np.array(value, np.int32)
    return value if constant else (value, "int32")


@pytest.mark.parametrize("dtype", TRANSPOSED)
@pytest.mark.parametrize("perm", list(itertools.permutations(range(4))))
def test_transpose(dtype, perm):
    x = sample((2, 3, 4, 5), dtype)
    [y] = run("TRANSPOSE", [(x, dtype), given(perm, sum(perm[:2]) % 2)], [Tensor([1], dtype)], version=2)
    same(y, x.transpose(perm))


@pytest.mark.parametrize(
    ("shape", "perm"), [((40, 3), (1, 0)), ((1, 50, 60), (0, 2, 1)), ((2, 1, 3, 1, 2, 2), (5, -2, 2, 1, 0, 3))]
)
def test_transpose_of_other_shapes(shape, perm):
    x = sample(shape, "float32")
    [y] = run("TRANSPOSE", [(x, "float32"), given(perm, True)], [Tensor([1], "float32")])
    same(y, x.transpose(perm))


@pytest.mark.parametrize("rows", [7, 8, 9, 16, 17, 31, 48])
@pytest.mark.parametrize("columns", [5, 8, 15, 16, 23, 64])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_transpose_of_matrices(rows, columns, dtype):
    """Whole blocks and what is left of them, one matrix and several."""
    x = np.arange(3 * rows * columns).astype(dtype).reshape(3, rows, columns)
    for perm in ((0, 2, 1), (2, 0, 1), (1, 2, 0)):
        [y] = run("TRANSPOSE", [(x, dtype), given(perm, True)], [Tensor([1], dtype)])
        same(y, x.transpose(perm))


def test_transpose_of_int4_unpacks_nibbles():
    x = np.array([[1, -8, 7], [-1, 2, -3]], np.int8)
    [y] = run("TRANSPOSE", [Tensor.constant(x, "int4"), given((1, 0), True)], [Tensor([1], "int4")], version=5)
    packed = [(int(b) & 15) | (int(a) & 15) << 4 for b, a in x.T.reshape(-1, 2)]
    assert y.astype(np.uint8).ravel().tolist()[:3] == packed or y.ravel().tolist() == x.T.ravel().tolist()


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("perm", [(0, 3, 1), (0, 0, 1), (-4, 0, 1)])
def test_transpose_refuses_permutations(perm, constant):
    with pytest.raises(RuntimeError, match="permutation"):
        run("TRANSPOSE", [(np.zeros((2, 3, 4), np.int8), "int8"), given(perm, constant)], [Tensor([1], "int8")])


def test_transpose_refuses_seven_dimensions():
    with pytest.raises(RuntimeError, match="1D-6D"):
        run("TRANSPOSE", [(np.zeros((1,) * 7, np.int8), "int8"), given(range(7), True)], [Tensor([1], "int8")])


@pytest.mark.parametrize("dtype", [*TRANSPOSED, "float16"])
@pytest.mark.parametrize("axes", [[0], [1], [2], [-1, 1], [1, 0], [0, 1, 2], []])
@pytest.mark.parametrize("constant", [True, False])
def test_reverse(dtype, axes, constant):
    x = sample((2, 3, 4), dtype)
    [y] = run("REVERSE_V2", [(x, dtype), given(axes, constant)], [Tensor([1], dtype)])
    same(y, np.flip(x, axes) if axes else x)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
def test_reverse_of_all_lengths(dtype):
    for n in (*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000):
        x = np.random.default_rng(n).integers(-100, 100, (3, n)).astype(dtype)
        same(run("REVERSE_V2", [(x, dtype), given([1], True)], [Tensor([1], dtype)])[0], x[:, ::-1])
        x = x.T.copy()
        same(run("REVERSE_V2", [(x, dtype), given([1], True)], [Tensor([1], dtype)])[0], x[:, ::-1])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("axes", "text"), [([0, 2], "Non-contiguous"), ([1, 1], "Non-contiguous"), ([3], "rank"), ([-4], "rank")]
)
def test_reverse_refuses(axes, text, constant):
    with pytest.raises(RuntimeError, match=text):
        run("REVERSE_V2", [(np.zeros((2, 3, 4), np.int8), "int8"), given(axes, constant)], [Tensor([1], "int8")])


def test_reverse_of_nothing():
    [y] = run("REVERSE_V2", [(np.zeros((0, 3), np.int8), "int8"), given([0], True)], [Tensor([1], "int8")])
    assert y.shape == (0, 3)
