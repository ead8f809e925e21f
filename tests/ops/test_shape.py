"""SHAPE, RANK, BROADCAST_ARGS."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import interpret, run, same


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 4)])
@pytest.mark.parametrize("out_type", ["int32", "int64"])
def test_shape_and_rank(shape, out_type):
    x = (np.zeros(shape, np.int8), "int8")
    if shape:
        [y] = run("SHAPE", [x], [Tensor([1], out_type)], out_type=out_type.upper())
        same(y, np.array(shape, out_type))
    [y] = run("RANK", [x], [Tensor([], "int32")])
    same(y, np.array(len(shape), np.int32))


def test_shape_follows_a_resize():
    interpreter = interpret("SHAPE", [(np.zeros((2, 3), np.int8), "int8")], [Tensor([1], "int32")], out_type="INT32")
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [4, 3, 1])
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist() == [4, 3, 1]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("a", "b", "want"),
    [([2, 1, 3], [4, 1], [2, 4, 3]), ([1], [5, 6], [5, 6]), ([2, 3], [2, 3], [2, 3]), ([0], [1], [0]), ([4], [], [4])],
)
@pytest.mark.parametrize("constant", [True, False])
def test_broadcast_args(dtype, a, b, want, constant):
    inputs = [np.array(a, dtype) if constant else (np.array(a, dtype), dtype), np.array(b, dtype)]
    [y] = run("BROADCAST_ARGS", inputs, [Tensor([1], dtype)])
    same(y, np.array(want, dtype))


@pytest.mark.parametrize("constant", [True, False])
def test_shapes_that_do_not_broadcast(constant):
    a, b = np.array([2, 3], np.int32), np.array([4], np.int32)
    with pytest.raises(RuntimeError, match="broadcast"):
        run("BROADCAST_ARGS", [a if constant else (a, "int32"), b], [Tensor([1], "int32")])
