"""Where TensorFlow's default mode gives garbage, reads memory that nobody wrote or dies: right values or a clear error here."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter


def f32(*shape):
    return Tensor(list(shape), "float32")


def allocated(model):
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    return interpreter


def value_of(interpreter, position=0):
    return interpreter.get_tensor(interpreter.get_output_details()[position]["index"])


def test_an_unpacked_constant_that_is_an_output():
    w16 = np.float16([[1, 2], [3, 4]])
    x, w, y = f32(1, 2), f32(2, 2), f32(1, 2)
    model = Model()
    main = model.subgraph("main")
    main.op("DEQUANTIZE", [Tensor.constant(w16)], [w])
    main.op("FULLY_CONNECTED", [x, w, Tensor.constant(np.zeros(2, np.float32))], [y])
    main.outputs = [w, y]
    interpreter = allocated(model)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.float32([[1, 1]]))
    interpreter.invoke()
    assert value_of(interpreter, 0).tolist() == w16.tolist()
    assert value_of(interpreter, 1).tolist() == [[3, 7]]


def test_a_partition_of_unpacked_constants_runs():
    model = Model.single("DEQUANTIZE", [Tensor.constant(np.float16([1, 2, 3]))], [f32(3)])
    interpreter = allocated(model)
    interpreter.invoke()
    assert value_of(interpreter).tolist() == [1, 2, 3]


@pytest.mark.parametrize("op", ["NEG", "ABS", "EXP", "RELU", "SQRT"])
def test_resizing_to_rank_7(op):
    interpreter = allocated(Model.single(op, [f32(2, 5)], [f32(2, 5)]))
    interpreter.resize_tensor_input(0, [1, 2, 1, 5, 1, 1, 1])
    with pytest.raises(RuntimeError, match="more than 6 dimensions"):
        interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [3, 2])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.ones((3, 2), np.float32))
    interpreter.invoke()
    assert value_of(interpreter).shape == (3, 2)


@pytest.mark.parametrize("scale", [0.0, -1.0, 1e-40, np.inf, np.nan])
def test_quantize_to_a_scale_that_is_none(scale):
    model = Model.single("QUANTIZE", [f32(4)], [Tensor([4], "int8", scale=np.float32(scale), zero_point=0)])
    interpreter = Interpreter(model_content=model.to_bytes())
    with pytest.raises(RuntimeError, match="QUANTIZE"):
        interpreter.allocate_tensors()


@pytest.mark.parametrize("op", ["ADD", "SUB"])
def test_8_bits_without_quantization(op):
    x, y, z = (Tensor([4], "int8") for _ in range(3))
    interpreter = Interpreter(model_content=Model.single(op, [x, y], [z]).to_bytes())
    with pytest.raises(RuntimeError, match=op):
        interpreter.allocate_tensors()


def test_unpooling_with_indices_outside_of_their_windows():
    options = np.int32([1, 2, 2, 2, 2, 0]).tobytes()
    x, i, y = f32(1, 2, 2, 1), f32(1, 2, 2, 1), f32(1, 4, 4, 1)
    model = Model()
    model.subgraph("main").op("MaxUnpooling2D", [x, i], [y], custom_options=options)
    interpreter = allocated(model)
    interpreter.set_tensor(0, np.ones((1, 2, 2, 1), np.float32))
    interpreter.set_tensor(1, np.full((1, 2, 2, 1), 9, np.int32).view(np.float32))
    with pytest.raises(RuntimeError, match="MaxUnpooling2D"):
        interpreter.invoke()


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_an_image_resized_below_its_filter(op):
    weights = np.ones((1, 3, 3, 1), np.float32)
    x, y = f32(1, 5, 5, 1), f32(1, 3, 3, 1)
    inputs = [x, Tensor.constant(weights), Tensor.constant(np.zeros(1, np.float32))]
    more = {"depth_multiplier": 1} if op.startswith("DEPTH") else {}
    interpreter = allocated(Model.single(op, inputs, [y], padding="VALID", stride_w=1, stride_h=1, **more))
    interpreter.resize_tensor_input(0, [1, 1, 1, 1])
    with pytest.raises(RuntimeError, match="failed to prepare"):
        interpreter.allocate_tensors()
