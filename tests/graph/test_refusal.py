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
