"""SPLIT, SPLIT_V, UNPACK."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same

TYPES = ["float32", "uint8", "int8", "int16", "int32", "int64"]


def outputs(n, dtype):
    return [Tensor([1], dtype) for _ in range(n)]


def given(value, constant, dtype="int32"):
    value = np.array(value, dtype)
    return value if constant else (value, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("constant", [True, False])
def test_split(dtype, axis, constant):
    x = np.arange(6 * 4 * 2).astype(dtype).reshape(6, 4, 2)
    got = run("SPLIT", [given(axis, constant), (x, dtype)], outputs(2, dtype), num_splits=2)
    for y, want in zip(got, np.split(x, 2, axis), strict=True):
        same(y, want)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("axis", "n", "text"), [(0, 4, "even split"), (3, 2, "axis"), (-4, 2, "axis")])
def test_split_refuses(axis, n, text, constant):
    with pytest.raises(RuntimeError, match=text):
        run("SPLIT", [given(axis, constant), (np.zeros((6, 4, 2), np.int8), "int8")], outputs(n, "int8"), num_splits=n)


def test_split_wants_as_many_outputs_as_its_option_says():
    with pytest.raises(RuntimeError, match="NumOutputs"):
        run("SPLIT", [given(0, True), (np.zeros(6, np.int8), "int8")], outputs(2, "int8"), num_splits=3)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("axis", "sizes"), [(0, [1, 3, 2]), (0, [0, -1, 2]), (-2, [3, 0, 1]), (2, [-1, 1, 1])])
@pytest.mark.parametrize("constant", [True, False])
def test_split_v(dtype, axis, sizes, constant):
    x = np.arange(6 * 4 * 2).astype(dtype).reshape(6, 4, 2)
    got = run(
        "SPLIT_V", [(x, dtype), given(sizes, constant, "int64"), given(axis, constant)], outputs(3, dtype), num_splits=3
    )
    rest = x.shape[axis] - sum(s for s in sizes if s > 0)
    ends = np.cumsum([rest if s == -1 else s for s in sizes])[:-1]
    for y, want in zip(got, np.split(x, ends, axis), strict=True):
        same(y, want)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("sizes", "axis", "text"),
    [
        ([3, 4], 0, "sum"),
        ([7, -1], 0, "sum"),
        ([-1, -1], 0, "more than one"),
        ([-2, 8], 0, "negative"),
        ([3, 3], 1, "axis"),
    ],
)
def test_split_v_refuses(sizes, axis, text, constant):
    with pytest.raises(RuntimeError, match=text):
        run(
            "SPLIT_V",
            [(np.zeros(6, np.int8), "int8"), given(sizes, constant), given(axis, constant)],
            outputs(2, "int8"),
            num_splits=2,
        )


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "int8", "int16", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unpack(dtype, axis):
    x = (np.arange(24) % (2 if dtype == "bool" else 99)).astype(dtype).reshape(2, 3, 4)
    n = x.shape[axis]
    got = run("UNPACK", [(x, dtype)], outputs(n, dtype), axis=axis, num=n)
    for i, y in enumerate(got):
        same(y, np.take(x, i, axis))


@pytest.mark.parametrize(
    ("shape", "axis", "n", "dtype"),
    [((2, 3), 2, 3, "int8"), ((2, 3), 0, 3, "int8"), ((2, 0), 0, 2, "int8"), ((2, 3), 0, 2, "int64")],
)
def test_unpack_refuses(shape, axis, n, dtype):
    with pytest.raises(RuntimeError, match="UNPACK"):
        run("UNPACK", [(np.zeros(shape, dtype), dtype)], outputs(n, dtype), axis=axis, num=n)
