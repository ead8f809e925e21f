"""RESHAPE, SQUEEZE, EXPAND_DIMS."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import interpret, run, same

TYPES = ["float32", "float16", "int8", "uint8", "int16", "int32", "uint32", "int64", "float64", "bool", "complex64"]
NAN = np.frombuffer(b"\x01\x02\xa0\x7f\x00\x00\x00\x80\x00\x00\x80\xff\x01\x00\x00\x00", np.float32)


def sample(shape, dtype):
    return (
        (np.arange(np.prod(shape)) % 2 if dtype == "bool" else np.arange(np.prod(shape))).astype(dtype).reshape(shape)
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("source", ["option", "constant", "run time"])
def test_reshape_takes_its_shape_from_three_places(dtype, source):
    x, shape = sample((2, 3, 4), dtype), np.array([4, -1], np.int32)
    inputs = [(x, dtype)] + {"option": [], "constant": [shape], "run time": [(shape, "int32")]}[source]
    [y] = run("RESHAPE", inputs, [Tensor([1], dtype)], new_shape=[4, 6])
    same(y, x.reshape(4, 6))


def test_reshape_keeps_payloads_zeros_and_denormals():
    [y] = run("RESHAPE", [(NAN, "float32")], [Tensor([1], "float32")], new_shape=[2, -1])
    same(y, NAN.reshape(2, 2))


def test_an_option_of_zero_is_a_scalar():
    [y] = run("RESHAPE", [(np.ones(1, np.float32), "float32")], [Tensor([1], "float32")], new_shape=[0])
    assert y.shape == ()


def test_a_stretched_dimension_beside_zeros_is_the_quotient_without_them():
    [y] = run("RESHAPE", [(np.zeros((0, 3), np.int8), "int8")], [Tensor([1], "int8")], new_shape=[-1, 0])
    assert y.shape == (3, 0)
    [y] = run("RESHAPE", [(np.zeros((0, 3), np.int8), "int8")], [Tensor([1], "int8")], new_shape=[2, -1])
    assert y.shape == (2, 0)


def test_a_constant_is_reshaped_before_the_first_invoke():
    x = sample((6,), "int16")
    interpreter = interpret("RESHAPE", [x, np.array([2, 3], np.int32)], [Tensor([1], "int16")])
    same(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), x.reshape(2, 3))


@pytest.mark.parametrize("constant", [True, False])
def test_reshape_moves_strings(constant):
    x = np.array([b"a", b"", b"long one", b"d"], object)
    given = Tensor.constant(x, "string") if constant else (x, "string")
    [y] = run("RESHAPE", [given, np.array([2, -1], np.int32)], [Tensor([1], "string")])
    assert y.tolist() == x.reshape(2, 2).tolist()


@pytest.mark.parametrize("shape", [[5], [-1, -1], [-2, -3], [2, 2147483647, 2147483647, 2147483647], [-1, 5]])
@pytest.mark.parametrize("when", ["prepare", "invoke"])
def test_reshape_refuses_other_numbers_of_elements(shape, when):
    shape = np.array(shape, np.int32)
    given = (shape, "int32") if when == "invoke" else shape
    with pytest.raises(RuntimeError, match=r"num_input_elements|stretch_dim|negative"):
        run("RESHAPE", [(np.zeros(6, np.int8), "int8"), given], [Tensor([1], "int8")])


def test_reshape_refuses_wider_elements():
    with pytest.raises(RuntimeError, match="cannot become"):
        run("RESHAPE", [(np.zeros(6, np.int8), "int8")], [Tensor([1], "float32")], new_shape=[6])


def test_a_run_time_shape_may_change_between_invokes():
    interpreter = interpret(
        "RESHAPE", [(sample((6,), "int32"), "int32"), (np.array([2, 3], np.int32), "int32")], [Tensor([1], "int32")]
    )
    shapes, output = interpreter.get_input_details()[1]["index"], interpreter.get_output_details()[0]["index"]
    for shape in ([3, 2], [-1, 6], [6, 1]):
        interpreter.set_tensor(shapes, np.array(shape, np.int32))
        interpreter.invoke()
        same(interpreter.get_tensor(output), np.arange(6, dtype=np.int32).reshape(shape))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("axes", "want"), [([], (3, 2)), ([0], (3, 1, 2)), ([-2], (1, 3, 2)), ([0, 2, -4], (3, 2))])
def test_squeeze(dtype, axes, want):
    x = sample((1, 3, 1, 2), dtype)
    [y] = run("SQUEEZE", [(x, dtype)], [Tensor([1], dtype)], squeeze_dims=axes)
    same(y, x.reshape(want))


@pytest.mark.parametrize("axes", [[1], [4], [-5], [0] * 9])
def test_squeeze_refuses(axes):
    """Too many axes already when the interpreter is constructed."""
    with pytest.raises(ValueError if len(axes) > 8 else RuntimeError, match=r"SQUEEZE|squeezed"):
        run("SQUEEZE", [(np.zeros((1, 3, 1, 2), np.int8), "int8")], [Tensor([1], "int8")], squeeze_dims=axes)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("kind", ["int32", "int64", "run time"])
def test_expand_dims(dtype, axis, kind):
    x = sample((2, 3), dtype)
    given = (np.array(axis, np.int32), "int32") if kind == "run time" else np.array([axis], kind)
    [y] = run("EXPAND_DIMS", [(x, dtype), given], [Tensor([1], dtype)])
    same(y, np.expand_dims(x, axis))


@pytest.mark.parametrize("axis", [3, -4, 2**31 - 1])
@pytest.mark.parametrize("when", ["prepare", "invoke"])
def test_expand_dims_refuses(axis, when):
    axis = np.array([axis], np.int32)
    with pytest.raises(RuntimeError, match="axis"):
        run(
            "EXPAND_DIMS",
            [(np.zeros((2, 3), np.int8), "int8"), (axis, "int32") if when == "invoke" else axis],
            [Tensor([1], "int8")],
        )


def test_expand_dims_wants_equal_quantization():
    x = (np.zeros((2, 3), np.int8), Tensor([2, 3], "int8", scale=0.5))
    with pytest.raises(RuntimeError, match=r"params\.scale"):
        run("EXPAND_DIMS", [x, np.array([0], np.int32)], [Tensor([1], "int8", scale=0.25)])
