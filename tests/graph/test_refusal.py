"""Types that a kernel refuses only when it runs: the model is allocated, what does not reach the node runs."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter


def interpreter(model):
    found = Interpreter(model_content=model.to_bytes())
    found.allocate_tensors()
    return found


@pytest.mark.parametrize(
    ("op", "count", "text"),
    [
        ("ADD", 2, "unsupported by op Add"),
        ("SUB", 2, "output type"),
        ("MUL", 2, "Mul only supports"),
        ("DIV", 2, "Div only supports"),
        ("SQUARED_DIFFERENCE", 2, "SquaredDifference only supports"),
        ("MAXIMUM", 2, "not supported by Maximum"),
        ("NEG", 1, "Neg only currently supports"),
        ("EXP", 1, "not supported by Exp"),
        ("RELU", 1, "Only float32"),
        ("TANH", 1, "Only float32"),
        ("LOGISTIC", 1, "Only float32"),
        ("ELU", 1, "Only float32"),
        ("LOG_SOFTMAX", 1, "Only float32"),
    ],
)
def test_the_node_fails_when_it_is_invoked(op, count, text):
    dtype = "uint16" if op == "MUL" else "complex64"
    model = Model.single(op, [Tensor([2, 3], dtype) for _ in range(count)], [Tensor([2, 3], dtype)])
    found = interpreter(model)
    assert found.get_output_details()[0]["shape"].tolist() == [2, 3]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"{text}.*{op}"):
            found.invoke()


def constant(*values, dtype=np.int32):
    return Tensor.constant(np.array(values, dtype))


IMAGE = [1, 4, 4, 2]
NOTHING = Tensor.constant(np.zeros((4, 2), np.int32))  # no padding
EDGES = Tensor.constant(np.zeros((2, 2), np.int32))
# operator, its type, inputs behind the first, shape of the output, what TensorFlow says, options
WITH_CONSTANTS = [
    ("ADD_N", "int64", [Tensor(IMAGE, "int64")], IMAGE, "AddN only supports", {}),
    ("ZEROS_LIKE", "int8", [], IMAGE, "ZerosLike only currently supports", {}),
    ("RESIZE_BILINEAR", "int32", [constant(8, 8)], [1, 8, 8, 2], "requires float", {}),
    ("RESIZE_NEAREST_NEIGHBOR", "bool", [constant(8, 8)], [1, 8, 8, 2], "requires float", {}),
    ("SOFTMAX", "int32", [], IMAGE, "Only float32, uint8_t", {"beta": 1.0}),
    ("TILE", "float16", [constant(1, 1, 1, 2)], [1, 4, 4, 4], "not supported by tile", {}),
    ("PAD", "float64", [NOTHING], IMAGE, "currently not supported by Pad", {}),
    ("MIRROR_PAD", "bool", [NOTHING], IMAGE, "MIRROR_PAD", {}),
    ("TRANSPOSE", "uint32", [constant(0, 2, 1, 3)], IMAGE, "currently not supported by Transpose", {}),
    (
        "SLICE",
        "uint16",
        [constant(0, 0, 0, 0), constant(1, 2, 2, 2)],
        [1, 2, 2, 2],
        "currently not supported by Slice",
        {},
    ),
    ("SPACE_TO_BATCH_ND", "bool", [constant(2, 2), EDGES], [4, 2, 2, 2], "not supported by SpaceToBatch", {}),
    ("STABLEHLO_ADD", "complex64", [Tensor(IMAGE, "complex64")], IMAGE, "Data Type: COMPLEX64", {}),
    ("BITWISE_XOR", "int4", [Tensor(IMAGE, "int4")], IMAGE, "BitwiseXor currently only supports", {}),
    ("ADD", "int4", [Tensor(IMAGE, "int4")], IMAGE, "Type INT4 is unsupported by op Add", {}),
    ("EQUAL", "complex64", [Tensor(IMAGE, "complex64")], IMAGE, "Does not support type COMPLEX64", {}),
]


@pytest.mark.parametrize(
    ("op", "dtype", "others", "shape", "text", "options"), WITH_CONSTANTS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_the_output_has_its_shape_and_the_interpreter_stays_usable(op, dtype, others, shape, text, options):
    """Allocated, refused as often as it is invoked; the input keeps what was set."""
    found = interpreter(
        Model.single(
            op, [Tensor(IMAGE, dtype), *others], [Tensor(IMAGE, "bool" if op == "EQUAL" else dtype)], **options
        )
    )
    assert found.get_output_details()[0]["shape"].tolist() == shape
    x = np.ones(IMAGE, found.get_input_details()[0]["dtype"])
    found.set_tensor(0, x)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"{text}.*{op}.*failed to invoke"):
            found.invoke()
    assert found.get_tensor(0).tobytes() == x.tobytes()
    found.allocate_tensors()


@pytest.mark.parametrize("known", [True, False])
def test_a_size_that_only_comes_while_invoking(known):
    """The type is refused before the size is looked at; a TILE of constants is computed, and refused, when it is prepared."""
    size = constant(8, 8) if known else Tensor([2], "int32")
    found = interpreter(Model.single("RESIZE_BILINEAR", [Tensor(IMAGE, "int32"), size], [Tensor(IMAGE, "int32")]))
    with pytest.raises(RuntimeError, match=r"requires float.*failed to invoke"):
        found.invoke()
    whole = Model.single("TILE", [constant(1.0, dtype=np.float64), constant(2)], [Tensor([2], "float64")])
    with pytest.raises(RuntimeError, match=r"not supported by tile.*failed to prepare"):
        interpreter(whole)


def test_a_resize_reaches_the_output_all_the_same():
    found = interpreter(Model.single("NEG", [Tensor([2], "bool")], [Tensor([2], "bool")]))
    found.resize_tensor_input(0, [5])
    found.allocate_tensors()
    assert found.get_output_details()[0]["shape"].tolist() == [5]


def test_a_branch_that_is_not_taken_may_hold_such_a_node():
    model = Model()
    main, well, ill = (model.subgraph(name) for name in ("main", "well", "ill"))
    condition, x, y = Tensor([], "bool"), Tensor([2], "uint16"), Tensor([2], "uint16")
    main.op("IF", [condition, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    main.inputs, main.outputs = [condition, x], [y]
    for graph, op in ((well, "BITWISE_XOR"), (ill, "MAXIMUM")):
        a, b = Tensor([2], "uint16"), Tensor([2], "uint16")
        graph.op(op, [a, a], [b])
        graph.inputs, graph.outputs = [a], [b]
    found = interpreter(model)
    found.set_tensor(found.get_input_details()[1]["index"], np.array([3, 4], np.uint16))
    found.set_tensor(found.get_input_details()[0]["index"], np.array(True))
    found.invoke()
    assert found.get_tensor(found.get_output_details()[0]["index"]).tolist() == [0, 0]
    found.set_tensor(found.get_input_details()[0]["index"], np.array(False))
    with pytest.raises(RuntimeError, match="not supported by Maximum"):
        found.invoke()
