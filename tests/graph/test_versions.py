"""Tensors that several nodes write: each node reads what was written last in front of it, and what is read afterwards is the last value."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

X = np.array([[1.5, -2.0, 3.0], [-0.25, 4.0, -1.0]], np.float32)
Y = np.array([[-2.0, -3.0, 0.5], [1.0, -1.0, 2.0]], np.float32)
EVERY_MODE = pytest.mark.parametrize("mode", ["AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"])
KEPT = pytest.mark.parametrize("keep", [False, True])


def opened(nodes, outputs, mode="AUTO", keep=False):
    """Tensors are named by letters; x and y are the inputs."""
    model = Model()
    main = model.subgraph("main")
    tensors = {name: Tensor(list(X.shape), "float32", name=name) for name in "xytuvz"}
    for op, inputs, output in nodes:
        main.op(op, [tensors[name] for name in inputs], [tensors[output]])
    main.inputs = [tensors["x"], tensors["y"]]
    main.outputs = [tensors[name] for name in outputs]
    interpreter = Interpreter(
        model_content=model.to_bytes(),
        experimental_op_resolver_type=OpResolverType[mode],
        experimental_preserve_all_tensors=keep,
    )
    interpreter.allocate_tensors()
    return interpreter


def run(interpreter, x=X, y=Y):
    for details, value in zip(interpreter.get_input_details(), (x, y), strict=True):
        interpreter.set_tensor(details["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


@EVERY_MODE
@KEPT
def test_nodes_between_two_writes_read_the_first(mode, keep):
    nodes = [("ADD", "xy", "t"), ("MUL", "ty", "u"), ("ABS", "t", "t"), ("SUB", "tu", "z"), ("NEG", "t", "t")]
    interpreter = opened(nodes, "zt", mode, keep)
    for _ in range(2):
        z, t = run(interpreter)
        np.testing.assert_array_equal(z, abs(X + Y) - (X + Y) * Y)
        np.testing.assert_array_equal(t, -abs(X + Y))


@EVERY_MODE
def test_the_same_node_twice(mode):
    interpreter = opened([("ADD", "xy", "t"), ("ADD", "xy", "t"), ("ABS", "t", "z")], "z", mode)
    np.testing.assert_array_equal(run(interpreter)[0], abs(X + Y))


@EVERY_MODE
def test_another_shape(mode):
    interpreter = opened([("ADD", "xy", "t"), ("ABS", "t", "t"), ("MUL", "tt", "t")], "t", mode)
    for details in interpreter.get_input_details():
        interpreter.resize_tensor_input(details["index"], [5, 3])
    interpreter.allocate_tensors()
    x, y = np.tile(X, (3, 1))[:5], np.tile(Y, (3, 1))[:5]
    np.testing.assert_array_equal(run(interpreter, x, y)[0], (x + y) ** 2)


def test_details_name_the_tensors_of_the_file():
    nodes = [("ADD", "xy", "t"), ("ABS", "t", "t"), ("NEG", "t", "z")]
    interpreter = opened(nodes, "z", "BUILTIN_REF")
    names = {details["index"]: details["name"] for details in interpreter.get_tensor_details()}
    assert sorted(names.values()) == ["t", "x", "y", "z"]
    shown = [
        [[names[t] for t in node[side]] for side in ("inputs", "outputs")] for node in interpreter._get_ops_details()
    ]
    assert shown == [[["x", "y"], ["t"]], [["t"], ["t"]], [["t"], ["z"]]]
    assert all(details["shape"].tolist() == [2, 3] for details in interpreter.get_tensor_details())


def test_an_intermediate_value_is_the_last_one():
    interpreter = opened([("ADD", "xy", "t"), ("ABS", "t", "t"), ("NEG", "t", "z")], "z", "BUILTIN_REF")
    run(interpreter)
    t = next(d["index"] for d in interpreter.get_tensor_details() if d["name"] == "t")
    np.testing.assert_array_equal(interpreter.get_tensor(t), abs(X + Y))


def test_an_input_is_written_by_the_caller_alone():
    with pytest.raises(RuntimeError, match="writes to tensor 0, which the caller writes"):
        opened([("ABS", "x", "x"), ("ADD", "xy", "z")], "z")
