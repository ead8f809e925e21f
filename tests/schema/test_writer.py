"""Copies with other metadata or another order: the rest stays as it is, and the file is one that all readers take."""

import numpy as np
import pytest

from compat.builder import Model, Tensor, read_model
from tests.schema.flat import build
from tflm_cy import Interpreter
from tflm_cy.schema import model as schema
from tflm_cy.schema.reader import read
from tflm_cy.schema.writer import MainGraph, rewritten


def two_operators():
    model = Model()
    main = model.subgraph("main")
    x, a, b = Tensor([4], "float32", name="x"), Tensor([4], "float32"), Tensor([4], "float32")
    main.op("NEG", [x], [a])
    main.op("MUL", [x, Tensor.constant(np.float32([1, 2, 3, 4]))], [b])
    model.signature("serving_default", inputs={"x": x}, outputs={"a": a, "b": b})
    model.metadata("old", b"1")
    model.metadata("kept", b"2")
    return schema.Model.from_buffer(model.to_bytes())


def outputs(content):
    interpreter = Interpreter(model_content=content)
    return interpreter.get_signature_runner()(x=np.float32([1, -2, 3, -4]))


def test_metadata_is_added_and_replaced():
    model = two_operators()
    content = rewritten(model, {"old": b"x" * 77, "new": b"\0\1\2"})
    found = schema.Model.from_buffer(content).metadata
    assert {name: bytes(data) for name, data in found.items()} == {"kept": b"2", "old": b"x" * 77, "new": b"\0\1\2"}


def test_the_rest_stays():
    model = two_operators()
    before, after = read_model(bytes(model)), read_model(rewritten(model, {"new": b"y"}))
    for field in before.keys() - {"metadata", "buffers"}:
        assert str(after[field]) == str(before[field]), field
    assert str(after["buffers"][: len(before["buffers"])]) == str(before["buffers"])
    content = rewritten(model, {"new": b"y"})
    assert content.endswith(bytes(model)) and (len(content) - model.nbytes) % 64 == 0
    wanted = outputs(bytes(model))
    assert all(np.array_equal(value, wanted[name]) for name, value in outputs(content).items())


def test_again_and_again():
    model = two_operators()
    for k in range(5):
        model = schema.Model.from_buffer(rewritten(model, {"plan": bytes([k]) * (k + 1)}))
    assert bytes(model.metadata["plan"]) == bytes([4]) * 5 and len(model.metadata) == 3


def empty(buffers):
    return build({"version": 3, "subgraphs": [{"tensors": [], "operators": []}], "buffers": buffers})


def test_a_model_with_next_to_nothing():
    bare = schema.Model.from_buffer(empty([{}]))
    assert bytes(schema.Model.from_buffer(rewritten(bare, {"a": b"b"})).metadata["a"]) == b"b"
    assert rewritten(bare) == bytes(bare)


def test_positions_that_count_from_the_start_move_along():
    inside = empty([{}, {"offset": 2048, "size": 5}])
    content = inside + bytes(2048 - len(inside)) + b"hello"
    copy = rewritten(schema.Model.from_buffer(content), {"a": b"b"})
    buffer = read(schema.Model.from_buffer(copy)).buffers[1]
    assert copy[buffer.offset : buffer.offset + buffer.size] == b"hello"


def test_operators_in_another_order():
    model = two_operators()
    content = rewritten(model, orders={0: [1, 0]})
    assert [d["op_name"] for d in Interpreter(model_content=content)._get_ops_details()] == ["MUL", "NEG"]
    wanted = outputs(bytes(model))
    assert all(np.array_equal(value, wanted[name]) for name, value in outputs(content).items())
    assert rewritten(schema.Model.from_buffer(content), orders={0: [1, 0]}) == bytes(model)


@pytest.mark.parametrize("orders", [{0: [0]}, {0: [0, 0]}, {0: [1, 2]}, {1: [0]}])
def test_no_order(orders):
    with pytest.raises(ValueError, match=r"permutation|no subgraph"):
        rewritten(two_operators(), orders=orders)


def test_a_copy_of_all_tables_has_all_fields():
    """Options whose names end like a union's type, strings, unions, vectors of every width."""
    model = Model()
    main = model.subgraph("main")
    x, y, z = Tensor([1, 4], "float32", name="x"), Tensor([1], "int32"), Tensor([1, 4], "int32")
    main.op("ARG_MAX", [x, Tensor.constant(np.array(1, np.int32))], [y], output_type="INT32")
    main.op("CAST", [x], [z], in_data_type="FLOAT32", out_data_type="INT32")
    main.op(
        "MyOp",
        [z],
        [Tensor([4], "int8", scale=[0.1, 0.2, 0.3, 0.4], zero_point=[1, 2, 3, 4])],
        custom_options=b"options",
    )
    model.signature("serving_default", inputs={"x": x}, outputs={"y": y})
    model.metadata("kept", b"1")
    given = schema.Model.from_buffer(model.to_bytes())
    graph = read(given).subgraphs[0]
    copy = rewritten(given, {"new": b"2"}, main=MainGraph(graph.tensors, graph.operators))
    assert len(copy) < given.nbytes + 200
    before, after = read_model(bytes(given)), read_model(copy)
    for field in before.keys() - {"metadata", "buffers"}:
        assert str(after[field]) == str(before[field]), field
    assert [entry["name"] for entry in after["metadata"]] == ["kept", "new"]
    assert bytes(schema.Model.from_buffer(copy).metadata["new"]) == b"2"
