"""Where TensorFlow's default mode gives garbage, reads memory that nobody wrote or dies: right values or a clear error here.

docs/deviations.md lists these hazards; `test_the_page_lists_what_is_tested` holds the list against the tests (that of variables is in
graph/test_control_flow.py).
"""

from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tests.machine import delegated
from tflm_cy import Interpreter, OpResolverType

pytestmark = delegated


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
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match=r"does not fit the 1x1 image.*failed to invoke"):
        interpreter.invoke()


@pytest.mark.parametrize("dtype", ["float32", "int8", "hybrid"])
def test_sparse_weights_of_fully_connected(dtype):
    dense = np.array([[0, 2, 0, 0], [1, 0, 0, -3], [0, 0, 0, 5]], np.float32)
    stored, segments, indices = [2, 1, -3, 5], [0, 1, 3, 4], [1, 0, 3, 3]
    weights = Tensor.constant(
        np.array(stored, "float32" if dtype == "float32" else "int8"),
        shape=dense.shape,
        sparsity=Sparsity([0, 1], [("dense", 3), ("csr", segments, indices)]),
    )
    x, y = (Tensor([2, n], "int8" if dtype == "int8" else "float32") for n in (4, 3))
    if dtype != "float32":
        weights.scale, weights.zero_point = np.float32(1), 0
    if dtype == "int8":
        x.scale = y.scale = np.float32(1)
        x.zero_point = y.zero_point = 0
    values = np.array([[1, 2, 3, 4], [-4, 0, 0, 4]], x.dtype)
    interpreter = allocated(Model.single("FULLY_CONNECTED", [x, weights], [y]))
    assert interpreter.delegate_nodes()
    interpreter.set_tensor(0, values)
    interpreter.invoke()
    wanted = values.astype(np.float32) @ dense.T
    wanted = np.clip(wanted, -128, 127) if dtype == "int8" else wanted
    np.testing.assert_allclose(value_of(interpreter), wanted, atol=0.2 if dtype == "hybrid" else 0)


def test_sparse_weights_of_another_operator_are_refused():
    weights = Tensor.constant(
        np.float32([1, 1]),
        shape=[1, 2, 2, 1],
        sparsity=Sparsity([0, 1, 2, 3], [("dense", 1), ("csr", [0, 1], [0]), ("dense", 2), ("dense", 1)]),
    )
    inputs = [f32(1, 3, 3, 1), weights, Tensor.constant(np.zeros(1, np.float32))]
    model = Model.single("CONV_2D", inputs, [f32(1, 2, 2, 1)], padding="VALID", stride_w=1, stride_h=1)
    with pytest.raises(RuntimeError, match="sparse"):
        allocated(model)


@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
def test_a_pooling_keeps_its_padding_before_a_clamp(op):
    x, y, z = f32(1, 5, 5, 1), f32(1, 3, 3, 1), f32(1, 3, 3, 1)
    model = Model()
    main = model.subgraph("main")
    main.op("MAX_POOL_2D", [x], [y], padding="SAME", stride_w=2, stride_h=2, filter_width=2, filter_height=2)
    main.op(op, [y, Tensor.constant(np.float32(12))], [z])
    interpreter = allocated(model)
    values = np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1)
    interpreter.set_tensor(0, values)
    interpreter.invoke()
    pooled = np.array([[6, 8, 9], [16, 18, 19], [21, 23, 24]])
    wanted = np.maximum(pooled, 12) if op == "MAXIMUM" else np.minimum(pooled, 12)
    assert value_of(interpreter)[0, :, :, 0].tolist() == wanted.tolist()


def test_blockwise_int8_of_an_elementwise_operator():
    """Without a scale of its own there is nothing to multiply with."""
    x, y, z = (Tensor([2, 32], "int8") for _ in range(3))
    x.scale = y.scale = z.scale = np.zeros(0, np.float32)
    with pytest.raises((ValueError, RuntimeError), match="ADD"):
        allocated(Model.single("ADD", [x, y], [z]))


def test_a_node_that_cannot_be_created_is_named():
    x = Tensor([1, 2], "int8", scale=np.float32(0.5), zero_point=3)
    y = Tensor([2, 1], "int8", scale=np.float32(0.25), zero_point=3)
    interpreter = Interpreter(
        model_content=Model.single("TRANSPOSE", [x, Tensor.constant(np.int32([1, 0]))], [y]).to_bytes()
    )
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=r"quantization parameters.*TRANSPOSE|TRANSPOSE.*quantization parameters"
        ):
            interpreter.allocate_tensors()


def test_attention_with_fewer_values_than_keys():
    q, k, v = f32(2, 4, 3, 8), f32(2, 6, 1, 8), f32(1, 6, 1, 8)
    model = Model()
    model.subgraph("main").op("odml.scaled_dot_product_attention", [q, k, v], [f32(2, 4, 3, 8)])
    with pytest.raises(RuntimeError, match="attention: values"):
        allocated(model)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_filter_as_large_as_its_image_with_threads(threads):
    inputs = [
        f32(1, 2, 2, 1),
        Tensor.constant(np.ones((2, 2, 2, 1), np.float32)),
        Tensor.constant(np.zeros(2, np.float32)),
    ]
    model = Model.single("CONV_2D", inputs, [f32(1, 2, 2, 2)], padding="SAME", stride_w=1, stride_h=1)
    interpreter = Interpreter(
        model_content=model.to_bytes(),
        num_threads=threads,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([1, 2, 3, 4]).reshape(1, 2, 2, 1))
    interpreter.invoke()
    assert value_of(interpreter)[0, :, :, 1].tolist() == [[10, 6], [7, 4]]


# the first words of each line of the page's table -> the tests of this file (or another) that show it
HAZARDS = {
    "an output that DEQUANTIZE makes": "test_an_unpacked_constant_that_is_an_output",
    "READ_VARIABLE before any ASSIGN_VARIABLE": "graph/test_control_flow.py",
    "an element-wise operator resized to rank 7": "test_resizing_to_rank_7",
    "QUANTIZE to a scale": "test_quantize_to_a_scale_that_is_none",
    "MaxUnpooling2D with indices": "test_unpooling_with_indices_outside_of_their_windows",
    "ADD, SUB on 8 bits without quantization": "test_8_bits_without_quantization",
    "sparse weights of FULLY_CONNECTED": "test_sparse_weights_of_fully_connected",
    "a partition that holds nothing but unpacked constants": "test_a_partition_of_unpacked_constants_runs",
    "a pooling with SAME padding before MAXIMUM": "test_a_pooling_keeps_its_padding_before_a_clamp",
    "a node that the delegate takes but cannot create": "test_a_node_that_cannot_be_created_is_named",
    "attention with one head of keys": "test_attention_with_fewer_values_than_keys",
    "CONV_2D with a filter as large as its image": "test_a_filter_as_large_as_its_image_with_threads",
    "an image resized below its filter": "test_an_image_resized_below_its_filter",
}


def test_a_filter_of_another_type_is_refused_though_nobody_reads_its_node():
    """TensorFlow's delegate takes the node and cannot create it."""
    size, filters = np.int32([1, 2, 2, 1]), np.ones([1, 1, 1, 1], np.uint8)
    x, y = f32(1, 2, 2, 1), f32(1, 2, 2, 1)
    model = Model()
    main = model.subgraph("main")
    main.op(
        "TRANSPOSE_CONV", [Tensor.constant(size), Tensor.constant(filters, scale=0.5), x], [y], stride_w=1, stride_h=1
    )
    main.inputs, main.outputs = [x], []
    with pytest.raises(RuntimeError, match="different types"):
        allocated(model)


def test_the_page_lists_what_is_tested():
    page = (Path(__file__).parents[2] / "docs/deviations.md").read_text()
    table = page.split("## Where TensorFlow's default mode is dangerous")[1].split("\n\n")[1]
    rows = [line.removeprefix("| ") for line in table.splitlines()[2:]]
    assert len(rows) == len(HAZARDS)
    for row in rows:
        [test] = [test for start, test in HAZARDS.items() if row.startswith(start)]
        assert test in globals() or (Path(__file__).parents[1] / test).is_file()
