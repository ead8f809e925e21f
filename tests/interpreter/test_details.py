"""Details dictionaries: keys and their order, types, values."""

import numpy as np

from compat.builder import Model, Sparsity, Tensor
from tests.machine import delegated
from tflm_cy import Interpreter, OpResolverType

KEYS = [
    "name",
    "index",
    "shape",
    "shape_signature",
    "dtype",
    "quantization",
    "quantization_parameters",
    "sparsity_parameters",
]


def quantized():
    x = Tensor([1, 4, 4, 3], "int8", scale=0.1, zero_point=-1)
    w = Tensor.constant(np.zeros((2, 1, 1, 3), np.int8), scale=[0.25, 0.125], axis=0)
    b = Tensor.constant(np.zeros(2, np.int32), scale=[0.025, 0.0125])
    y = Tensor([1, 4, 4, 2], "int8", scale=1.0, zero_point=5)
    return Interpreter(model_content=Model.single("CONV_2D", [x, w, b], [y], 3, stride_w=1, stride_h=1).to_bytes())


def test_keys_and_types():
    details = quantized().get_input_details()[0]
    assert list(details) == KEYS
    assert details["dtype"] is np.int8
    assert details["shape"].dtype == np.int32 and details["shape"].tolist() == [1, 4, 4, 3]
    assert details["quantization"] == (0.10000000149011612, -1)
    parameters = details["quantization_parameters"]
    assert list(parameters) == ["scales", "zero_points", "quantized_dimension", "block_size"]
    assert parameters["scales"].dtype == np.float32 and parameters["zero_points"].dtype == np.int32
    assert details["sparsity_parameters"] == {}


def test_per_channel_has_no_single_quantization():
    details = quantized().get_tensor_details()[1]
    assert details["quantization"] == (0.0, 0)
    assert details["quantization_parameters"]["scales"].tolist() == [0.25, 0.125]


def test_every_call_gives_new_objects():
    interpreter = quantized()
    interpreter.get_input_details()[0]["shape"][0] = 9
    assert interpreter.get_input_details()[0]["shape"].tolist() == [1, 4, 4, 3]


def test_the_signature_shape_stays_when_resized():
    x = Tensor([1, 4], "float32", shape_signature=[-1, 4])
    y = Tensor([1, 4], "float32", shape_signature=[-1, 4])
    interpreter = Interpreter(model_content=Model.single("NEG", [x], [y]).to_bytes())
    interpreter.resize_tensor_input(0, [5, 4], strict=True)
    interpreter.allocate_tensors()
    details = interpreter.get_output_details()[0]
    assert details["shape"].tolist() == [5, 4] and details["shape_signature"].tolist() == [-1, 4]


def test_a_scalar_has_an_empty_shape_and_reads_as_a_scalar():
    x, y = Tensor([], "float32"), Tensor([], "float32")
    interpreter = Interpreter(model_content=Model.single("NEG", [x], [y]).to_bytes())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32(3))
    interpreter.invoke()
    assert interpreter.get_input_details()[0]["shape"].shape == (0,)
    assert type(interpreter.get_tensor(1)) is np.float32 and interpreter.get_tensor(1) == -3


def test_int4_is_unpacked():
    x, y = Tensor([4], "float32"), Tensor([4], "float32")
    model = Model.single("NEG", [x], [y])
    model.subgraphs[0].tensor(Tensor.constant(np.array([1, -8, 7], np.int8), "int4", scale=0.1))
    interpreter = Interpreter(model_content=model.to_bytes())
    assert interpreter.get_tensor(2).tolist() == [1, -8, 7]


def test_sparsity_is_described():
    x, y = Tensor([4], "float32"), Tensor([4], "float32")
    model = Model.single("NEG", [x], [y])
    sparsity = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 2], [1, 0])])
    model.subgraphs[0].tensor(Tensor([2, 2], "float32", data=np.array([7, 8], np.float32), sparsity=sparsity))
    details = Interpreter(model_content=model.to_bytes()).get_tensor_details()[2]
    described = details["sparsity_parameters"]
    assert described["traversal_order"].tolist() == [0, 1]
    assert described["dim_metadata"][0] == {"format": 0, "dense_size": 2}
    assert described["dim_metadata"][1]["array_indices"].tolist() == [1, 0]


def sparse_constant(**sparsity):
    x, y = Tensor([4], "float32"), Tensor([4], "float32")
    model = Model.single("NEG", [x], [y])
    described = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 2], [1, 0])], **sparsity)
    model.subgraphs[0].tensor(Tensor([2, 2], "float32", data=np.array([7, 8], np.float32), sparsity=described))
    return Interpreter(model_content=model.to_bytes()).get_tensor_details()[2]["sparsity_parameters"]


def test_a_block_map_is_described_where_the_file_has_one():
    described = sparse_constant(block_map=[])
    assert list(described) == ["traversal_order", "block_map", "dim_metadata"]
    assert described["block_map"].dtype == np.int32 and described["block_map"].shape == (0,)


def test_a_string_tensor_that_is_written_loses_its_signature():
    texts = [Tensor([2], "string", shape_signature=[-1]) for _ in range(2)]
    model = Model.single("EQUAL", texts, [Tensor([2], "bool", shape_signature=[-1])], 4)
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    assert [d["shape_signature"].tolist() for d in interpreter.get_input_details()] == [[-1], [-1]]
    interpreter.set_tensor(0, np.array([b"a", b"b"], object))
    assert [d["shape_signature"].tolist() for d in interpreter.get_input_details()] == [[2], [-1]]
    interpreter.resize_tensor_input(0, [2])
    interpreter.allocate_tensors()
    assert interpreter.get_input_details()[0]["shape_signature"].tolist() == [2]


def test_kernels_name_tensors_and_repeat_scales():
    x, y = Tensor([2, 2], "float32"), Tensor([2, 2], "float32")
    sparsity = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 2], [1, 0])])
    stored = Tensor([2, 2], "float32", data=np.array([7, 8], np.float32), sparsity=sparsity)
    dense = Tensor([2, 2], "float32", name="w")
    model = Model()
    graph = model.subgraph()
    graph.op("DENSIFY", [stored], [dense])
    graph.op("ADD", [x, dense], [y])
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    assert "w" in [d["name"] for d in interpreter.get_tensor_details()]
    interpreter.allocate_tensors()
    assert "Densify_output" in [d["name"] for d in interpreter.get_tensor_details()]


@delegated
def test_a_filter_shows_its_scale_per_channel_though_nobody_reads_its_node():
    """The default delegate has seen the node; after another allocation the scales are still shown."""
    x, y = Tensor([2, 4], "float32"), Tensor([2, 4], "float32")
    image, window = Tensor([1, 4, 4, 3], "float32"), Tensor([1, 4, 4, 5], "float32")
    w = Tensor.constant(np.ones((6, 4), np.int8), scale=0.25, name="w")
    filters = Tensor.constant(np.ones((5, 1, 1, 3), np.int8), scale=0.5, name="filters")
    model = Model()
    graph = model.subgraph()
    graph.op("FULLY_CONNECTED", [x, w, None], [Tensor([2, 6], "float32")])
    graph.op("CONV_2D", [image, filters, Tensor.constant(np.zeros(5, np.float32))], [window], stride_w=1, stride_h=1)
    graph.op("NEG", [x], [y])
    graph.outputs = [y]
    interpreter = Interpreter(model_content=model.to_bytes())

    def scales():
        parameters = {d["name"]: d["quantization_parameters"] for d in interpreter.get_tensor_details()}
        return [parameters[name]["scales"].tolist() for name in ("w", "filters")]

    assert scales() == [[0.25], [0.5]]
    for rows in (2, 3):
        interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [rows, 4])
        interpreter.allocate_tensors()
        assert scales() == [[0.25] * 6, [0.5] * 5]


def test_operators_are_described():
    details = quantized()._get_ops_details()
    assert [(d["index"], d["op_name"], d["inputs"].tolist(), d["outputs"].tolist()) for d in details] == [
        (0, "CONV_2D", [0, 1, 2], [3])
    ]


def test_a_name_ends_at_its_first_zero_byte():
    x, y = Tensor([2], "float32", name="in\0put"), Tensor([2], "float32", name="\0")
    interpreter = Interpreter(model_content=Model.single("NEG", [x], [y]).to_bytes())
    assert [details["name"] for details in interpreter.get_tensor_details()] == ["in", ""]
