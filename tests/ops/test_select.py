"""SELECT and SELECT_V2."""

import numpy as np
import pytest

from compat.builder import Tensor

from .evaluate import REFUSED, evaluate, same_bytes

RNG = np.random.default_rng(4)
TYPES = [np.float32, np.float16, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, bool]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["SELECT", "SELECT_V2"])
def test_equal_shapes(name, dtype):
    c = RNG.integers(0, 2, (3, 5)).astype(bool)
    x, z = RNG.integers(0, 2, (2, 3, 5)).astype(dtype)
    assert same_bytes(evaluate(name, [c, x, z], dtype), np.where(c, x, z))


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 1), (1, 4), (2, 3, 4)),
        ((), (2, 3), (3,)),
        ((2, 3), (), ()),
        ((1, 2, 1, 2), (3, 1, 2, 1), (2,)),
        ((0, 2), (2,), ()),
    ],
)
def test_select_v2_broadcasts_three_operands(shapes):
    c, x, z = (RNG.integers(-9, 9, shape) for shape in shapes)
    c, x, z = np.asarray(c > 0), np.asarray(x, np.int32), np.asarray(z, np.int32)
    assert same_bytes(evaluate("SELECT_V2", [c, x, z], np.int32), np.where(c, x, z))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int64])
def test_rows_of_all_lengths(dtype):
    rows = np.array([True, False, False, True])
    for n in (1, 2, 31, 64, 257, 1030):
        x, z = RNG.integers(0, 99, (2, 4, n)).astype(dtype)
        want = np.where(rows[:, None], x, z)
        assert same_bytes(evaluate("SELECT", [rows, x, z], Tensor([4, n], dtype)), want)
        assert same_bytes(
            evaluate("SELECT_V2", [rows[:, None], x, z[:1, :1]], dtype), np.where(rows[:, None], x, z[0, 0])
        )


def test_select_by_row_and_by_one_value():
    x, z = RNG.integers(0, 99, (2, 3, 2, 2)).astype(np.int16)
    rows = np.array([True, False, True])
    assert same_bytes(evaluate("SELECT", [rows, x, z], Tensor([3, 2, 2], "int16")), np.where(rows[:, None, None], x, z))
    assert same_bytes(evaluate("SELECT", [np.array(False), x, z], Tensor([3, 2, 2], "int16")), z)


def test_refusals():
    c, x = np.ones(2, bool), np.ones((3, 2), np.float32)
    with pytest.raises(REFUSED, match="has_low_rank_input_condition"):
        evaluate("SELECT", [c, x, x], np.float32)
    with pytest.raises(REFUSED, match="HaveSameShapes"):
        evaluate("SELECT", [np.ones(3, bool), x, x[:, :1]], Tensor([3, 2], "float32"))
    with pytest.raises(REFUSED, match="are not broadcastable"):
        evaluate("SELECT_V2", [np.ones(5, bool), x, x], Tensor([3, 2], "float32"))
    with pytest.raises(REFUSED, match="must be BOOL"):
        evaluate("SELECT_V2", [x, x, x], np.float32)
