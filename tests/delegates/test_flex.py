"""TensorFlow's operators in a model: what is said without TensorFlow, and what their options must hold.

That they give TensorFlow's bytes is shown by `python -m compat.flex`.
"""

import contextlib

import numpy as np
import pytest
import tflm_cy.delegates.flex as flex
from flatbuffers import flexbuffers

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, InterpreterWithCustomOps
from tflm_cy.schema.flexbuffer import strings


def options(*parts):
    builder = flexbuffers.Builder()
    with builder.Vector():
        for part in parts:
            builder.Blob(part) if isinstance(part, bytes) else builder.String(part)
    return bytes(builder.Finish())


def model(custom_options=None):
    x, a, y = Tensor([2, 3], "float32"), Tensor([2, 3], "float32"), Tensor([2, 3], "float32")
    made = Model()
    main = made.subgraph("main")
    main.op("NEG", [x], [a])
    main.op("FlexErf", [a], [y], custom_options=custom_options)
    main.outputs = [y]
    return made.to_bytes()


@pytest.fixture
def without_tensorflow(monkeypatch):
    monkeypatch.setattr(flex, "installed", lambda: False)


def test_without_tensorflow_the_operator_and_the_ways_out_are_named(without_tensorflow):
    interpreter = Interpreter(model_content=model())
    assert [op["op_name"] for op in interpreter._get_ops_details()] == ["NEG", "FlexErf"]
    with pytest.raises(
        RuntimeError, match=r"Select TensorFlow op\(s\).*FlexErf.*tflm-cy\[flex\].*Node number 1 \(FlexErf\)"
    ):
        interpreter.allocate_tensors()


def test_without_tensorflow_operators_of_all_subgraphs_are_named(without_tensorflow):
    made = Model()
    main, condition, body = (made.subgraph(name) for name in ("main", "condition", "body"))
    k, a = Tensor([1], "int32"), Tensor([], "variant")
    condition.inputs = [condition.tensor(k), condition.tensor(a)]
    condition.outputs = condition.op("LESS", [k, Tensor.constant(np.array([3], np.int32))], [Tensor([1], "bool")])
    k, a = Tensor([1], "int32"), Tensor([], "variant")
    body.inputs = [body.tensor(k), body.tensor(a)]
    body.outputs = [k, *body.op("FlexTensorListSetItem", [a, k], [Tensor([], "variant")])]
    k, x = Tensor([1], "int32"), Tensor([2], "float32")
    lists = main.op("FlexTensorListReserve", [x], [Tensor([], "variant")])
    outputs = [Tensor([1], "int32"), Tensor([], "variant")]
    _, a = main.op("WHILE", [k, *lists], outputs, cond_subgraph_index=condition, body_subgraph_index=body)
    main.outputs = main.op("FlexTensorListStack", [a], [Tensor([2], "float32")])
    main.inputs = [k, x]
    names = "FlexTensorListReserve, FlexTensorListStack, FlexTensorListSetItem are run by TensorFlow"
    with pytest.raises(RuntimeError, match=rf"Select TensorFlow op\(s\).*{names}.*tflm-cy\[flex\].*Node number 0"):
        Interpreter(model_content=made.to_bytes()).allocate_tensors()


def test_what_the_user_has_registered_is_not_missing(without_tensorflow):
    made = Model()
    main, then, other = (made.subgraph(name) for name in ("main", "then", "else"))
    for graph, op in ((then, "FlexTan"), (other, "NEG")):
        given = Tensor([2], "float32")
        graph.inputs = [graph.tensor(given)]
        graph.outputs = graph.op(op, [given], [Tensor([2], "float32")])
    choice, x = Tensor([1], "bool"), Tensor([2], "float32")
    a = main.op("FlexErf", [x], [Tensor([2], "float32")])
    main.outputs = main.op(
        "IF", [choice, *a], [Tensor([2], "float32")], then_subgraph_index=then, else_subgraph_index=other
    )
    main.inputs = [choice, x]
    interpreter = InterpreterWithCustomOps(
        [lambda resolver: resolver.register_custom_op("FlexErf", None, lambda node: None)],
        model_content=made.to_bytes(),
    )
    with pytest.raises(
        RuntimeError, match=r": FlexTan is run by TensorFlow.*\(FlexTan\) failed to prepare.*\(IF\) failed to prepare"
    ):
        interpreter.allocate_tensors()


def test_an_operator_of_the_user_comes_first(without_tensorflow):
    interpreter = InterpreterWithCustomOps(
        [lambda resolver: resolver.register_custom_op("FlexErf", None, lambda node: node.outputs[0].fill(3))],
        model_content=model(),
    )
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == np.full((2, 3), 3).tolist()


def test_a_delegate_of_the_user_may_take_it(without_tensorflow):
    class Mine:
        def supports(self, node):
            return node.op_name == "FlexErf"

        def build(self, subset):
            return lambda inputs, outputs: np.multiply(inputs[0], 2, out=outputs[0])

    interpreter = Interpreter(model_content=model(), experimental_delegates=[Mine()])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.ones((2, 3), np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == np.full((2, 3), -2).tolist()


@pytest.mark.parametrize("parts", [(), ("Erf",), ("Erf", b"\x0a\x01n\xff"), ("a" * 300, "ü" * 50)])
def test_strings_of_a_vector(parts):
    assert strings(options(*parts)) == [part if isinstance(part, bytes) else part.encode() for part in parts]


def test_strings_that_are_none():
    builder = flexbuffers.Builder()
    builder.Int(3)
    number = bytes(builder.Finish())
    builder = flexbuffers.Builder()
    with builder.Vector():
        builder.Int(3)
    good = options("Erf", b"12345678")
    for bad in (b"", b"1", number, bytes(builder.Finish()), *(good[i:] for i in range(1, len(good)))):
        with pytest.raises(ValueError, match="custom options"):
            strings(bad)


def test_hostile_strings_end():
    good = bytearray(options("Erf", b"12345678"))
    for at in range(len(good)):
        for value in (0, 1, 3, 127, 128, 255):
            bad = bytearray(good)
            bad[at] = value
            with contextlib.suppress(ValueError):
                strings(bad)
