"""TILE and BROADCAST_TO."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, feed, outputs_of

from .one_operator import run, same


def given(value, constant, dtype="int32"):
    value = np.array(value, dtype)
    return value if constant else (value, dtype)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("multiples", [[1, 1, 1], [2, 3, 1], [1, 1, 4], [3, 1, 1]])
@pytest.mark.parametrize("constant", [True, False])
def test_tile(dtype, multiples, constant):
    x = (np.arange(12) % (2 if dtype == "bool" else 99)).astype(dtype).reshape(2, 3, 2)
    [y] = run("TILE", [(x, dtype), given(multiples, constant, "int64")], [Tensor([1], dtype)])
    same(y, np.tile(x, multiples))


def test_tile_of_a_scalar_and_of_constants():
    [y] = run("TILE", [(np.array(7, np.int32), "int32"), given([], True)], [Tensor([1], "int32")])
    same(y, np.array(7, np.int32))
    [y] = run("TILE", [np.array([1, 2], np.int32), given([2], True)], [Tensor([1], "int32")])
    same(y, np.array([1, 2, 1, 2], np.int32))


@pytest.mark.parametrize("constant", [True, False])
def test_tile_of_strings(constant):
    x = np.array([[b"a", b"bc"], [b"", b"def"]], object)
    [y] = run("TILE", [(x, "string"), given([2, 3], constant)], [Tensor([1], "string")])
    assert y.tolist() == np.tile(x, (2, 3)).tolist()


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("multiples", [[-1, 1], [2**30, 2**30]])
def test_tile_refuses(multiples, constant):
    with pytest.raises(RuntimeError, match=r"Multipliers|TILE|too large"):
        run("TILE", [(np.zeros((2, 3), np.int8), "int8"), given(multiples, constant)], [Tensor([1], "int8")])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "int64", "uint16", "complex128"])
@pytest.mark.parametrize(
    ("shape", "to"),
    [
        ((3, 1), (3, 4)),
        ((1,), (2, 3)),
        ((), (2, 2)),
        ((2, 1, 3), (4, 2, 5, 3)),
        ((1, 3, 1), (2, 3, 2)),
        ((2, 3), (2, 3)),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_broadcast_to(dtype, shape, to, constant):
    x = (np.arange(np.prod(shape)) % 2).astype(dtype).reshape(shape)
    [y] = run("BROADCAST_TO", [(x, dtype), given(to, constant)], [Tensor([1], dtype)], version=2)
    same(y, np.broadcast_to(x, to))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("to", [(3,), (4, 3), (2, 4), (2, -1), (1,) * 9, (2, 2**31 - 1, 2**31 - 1, 2, 3)])
def test_broadcast_to_refuses(to, constant):
    with pytest.raises(RuntimeError, match=r"BROADCAST_TO|BroadcastTo|broadcastable"):
        run(
            "BROADCAST_TO", [(np.zeros((2, 3), np.int8), "int8"), given(to, constant)], [Tensor([1], "int8")], version=2
        )


@pytest.mark.parametrize("to", [np.array([[2, 3]], np.int32), np.ones(9, np.int32)])
def test_a_shape_that_is_no_vector_is_refused_when_it_is_read(to):
    x, shape, y = Tensor([2, 3], "int8"), Tensor(list(to.shape), "int32"), Tensor([1], "int8")
    interpreter = allocated(Model.single("BROADCAST_TO", [x, shape], [y], version=2))
    feed(interpreter, np.zeros((2, 3), np.int8), to)
    with pytest.raises(RuntimeError, match="its shape must be a vector"):
        interpreter.invoke()
    interpreter.resize_tensor_input(1, [2])
    interpreter.allocate_tensors()
    feed(interpreter, np.ones((2, 3), np.int8), np.array([2, 3], np.int32))
    interpreter.invoke()
    same(outputs_of(interpreter)[0], np.ones((2, 3), np.int8))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
def test_rows_of_one_value_of_all_lengths(dtype):
    """Rows begin on any address."""
    for n in (1, 15, 67, 131, 331, 1001):
        x = np.arange(1, 8).reshape(7, 1).astype(dtype)
        [y] = run("BROADCAST_TO", [(x, dtype), given([7, n], True)], [Tensor([1], dtype)], version=2)
        same(y, np.broadcast_to(x, (7, n)))
