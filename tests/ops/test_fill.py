"""FILL, ZEROS_LIKE, RANGE, ONE_HOT, MATRIX_DIAG, MATRIX_SET_DIAG."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import interpret, run, same


def given(value, constant, dtype="int32"):
    value = np.array(value, dtype)
    return value if constant else (value, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float16", "float32", "bool"])
@pytest.mark.parametrize("shape", [[], [3], [2, 5, 33], [1, 4099]])
@pytest.mark.parametrize("constant", [True, False])
def test_fill(dtype, shape, constant):
    [y] = run(
        "FILL",
        [given(shape, constant, "int64"), given(1 if dtype == "bool" else 77, False, dtype)],
        [Tensor([1], dtype)],
    )
    same(y, np.full(shape, 1 if dtype == "bool" else 77, dtype))


@pytest.mark.parametrize("constant", [True, False])
def test_fill_with_a_string(constant):
    value = Tensor.constant(np.array(b"abc", object), "string", shape=[])
    [y] = run("FILL", [given([2, 2], constant), value], [Tensor([1], "string")])
    assert y.tolist() == [[b"abc"] * 2] * 2


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape", [[-1], [2**31], [2**31 - 1] * 3])
def test_fill_refuses(shape, constant):
    with pytest.raises(RuntimeError, match=r"Fill|overflowed"):
        run("FILL", [given(shape, constant, "int64"), given(1, True)], [Tensor([1], "int32")])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_zeros_like(dtype):
    [y] = run("ZEROS_LIKE", [(np.ones((2, 3), dtype), dtype)], [Tensor([1], dtype)])
    same(y, np.zeros((2, 3), dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 10, 3), (5, -5, -4), (2, 2, 1), (-3, 4, 7)])
@pytest.mark.parametrize("constant", [True, False])
def test_range_of_integers(dtype, start, limit, delta, constant):
    [y] = run(
        "RANGE",
        [given(v, constant or i == 2, dtype) for i, v in enumerate((start, limit, delta))],
        [Tensor([1], dtype)],
    )
    same(y, np.arange(start, limit, delta, dtype))


@pytest.mark.parametrize("constant", [True, False])
def test_range_of_floats_adds_delta_step_by_step(constant):
    start, delta, want = np.float32(0.1), np.float32(0.7), []
    for _ in range(50):
        want.append(start if not want else want[-1] + delta)
    limit = want[-1] + delta / 2
    [y] = run("RANGE", [given(v, constant, "float32") for v in (0.1, limit, 0.7)], [Tensor([1], "float32")])
    same(y, np.array(want, np.float32))


def test_a_constant_range_is_known_before_the_first_invoke():
    interpreter = interpret("RANGE", [given(v, True) for v in (0, 3, 1)], [Tensor([1], "int32")])
    same(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), np.arange(3, dtype=np.int32))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int32", (0, 3, 0)),
        ("int32", (0, 3, -1)),
        ("float32", (0, 3, np.nan)),
        ("float32", (0, np.inf, 1)),
        ("int64", (-(2**63), 2**63 - 1, 1)),
        ("float32", (0, 1, 1e-30)),
    ],
)
def test_range_refuses(dtype, values, constant):
    with pytest.raises(RuntimeError, match=r"delta|RANGE"):
        run("RANGE", [given(v, constant, dtype) for v in values], [Tensor([1], dtype)])


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("constant", [True, False])
def test_one_hot(dtype, axis, constant):
    indices = np.array([[0, 2], [-1, 3], [1, 7]], np.int32)
    inputs = [(indices, "int32"), given(3, constant), given(1, True, dtype), given(0, False, dtype)]
    [y] = run("ONE_HOT", inputs, [Tensor([1], dtype)], axis=axis)
    want = (indices[..., None] == np.arange(3)).astype(dtype)
    same(y, np.moveaxis(want, -1, axis))


@pytest.mark.parametrize("constant", [True, False])
def test_one_hot_refuses(constant):
    for depth, axis in ((-1, -1), (3, 2), (3, -2)):
        inputs = [(np.zeros(2, np.int32), "int32"), given(depth, constant), given(1, True), given(0, True)]
        with pytest.raises(RuntimeError, match=r"axis|depth"):
            run("ONE_HOT", inputs, [Tensor([1], "int32")], axis=axis)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16", "int32", "int64"])
def test_matrix_diagonals(dtype):
    diagonal = np.arange(1, 7).astype(dtype).reshape(2, 3)
    [y] = run("MATRIX_DIAG", [(diagonal, dtype)], [Tensor([1], dtype)])
    same(y, diagonal[..., None] * np.eye(3, dtype=dtype))
    x = np.arange(24).astype(dtype).reshape(2, 3, 4)
    [y] = run("MATRIX_SET_DIAG", [(x, dtype), (diagonal, dtype)], [Tensor([1], dtype)])
    x = x.copy()
    x[:, range(3), range(3)] = diagonal
    same(y, x)


def test_matrix_set_diag_refuses_short_diagonals():
    with pytest.raises(RuntimeError, match="diagonals"):
        run(
            "MATRIX_SET_DIAG",
            [(np.zeros((2, 2), np.int8), "int8"), (np.zeros(1, np.int8), "int8")],
            [Tensor([1], "int8")],
        )
