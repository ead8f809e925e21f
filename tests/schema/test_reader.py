"""Tables read from Python by name, against what the builder wrote."""

import numpy as np
import pytest

from compat.builder import Model, Tensor, read_model
from tests.schema.flat import build
from tflm_cy.schema import model as schema
from tflm_cy.schema.layouts import TABLES
from tflm_cy.schema.reader import absent, read, slots


def root_of(content):
    return read(schema.Model.from_buffer(content))


def one_convolution():
    x, y = Tensor([1, 4, 4, 2], "int8", scale=0.5, zero_point=-3, name="x"), Tensor([1, 4, 4, 3], "int8", scale=0.25)
    weights = Tensor.constant(np.arange(54).reshape(3, 3, 3, 2).astype(np.int8), scale=[0.1, 0.2, 0.3], axis=0)
    model = Model.single("CONV_2D", [x, weights, None], [y], stride_h=2, padding="VALID")
    model.metadata("note", b"abc")
    return model.to_bytes()


def test_every_kind_of_field():
    root = root_of(one_convolution())
    graph = root.subgraphs[0]
    [node] = graph.operators
    assert root.version == 3 and isinstance(root.description, str)
    assert [t.shape for t in graph.tensors] == [(1, 4, 4, 2), (3, 3, 3, 2), (1, 4, 4, 3)]
    assert graph.tensors[0].name == "x" and graph.tensors[0].is_variable is False
    assert graph.tensors[0].quantization.zero_point == (-3,)
    assert np.float32(graph.tensors[1].quantization.scale).tolist() == np.float32([0.1, 0.2, 0.3]).tolist()
    assert bytes(root.buffers[graph.tensors[1].buffer].data) == bytes(range(54))
    assert node.inputs == (0, 1, -1) and node.outputs == (2,)
    assert node.builtin_options.kind == "Conv2DOptions"
    assert (node.builtin_options.stride_h, node.builtin_options.padding) == (2, 1)
    assert node.builtin_options_2 is None and len(node.custom_options) == 0
    assert [(m.name, bytes(root.buffers[m.buffer].data)) for m in root.metadata] == [("note", b"abc")]


def test_what_is_left_out():
    root = root_of(build({"version": 3, "subgraphs": [{"tensors": [{}]}], "buffers": [{}]}))
    [tensor] = root.subgraphs[0].tensors
    assert (tensor.shape, tensor.name, tensor.type, tensor.quantization, tensor.variant_tensors) == (
        (),
        "",
        0,
        None,
        [],
    )
    nothing = absent("SoftmaxOptions")
    assert nothing.beta == 0.0 and not nothing.field_position("beta")
    with pytest.raises(AttributeError, match="SoftmaxOptions has no field gamma"):
        nothing.gamma  # noqa: B018


def test_all_fields_of_all_tables_read_as_left_out():
    for name in TABLES:
        for field in slots(name):
            assert not getattr(absent(name), field)


def test_agrees_with_another_reader():
    content = one_convolution()
    other, root = read_model(content), root_of(content)
    shapes = [tuple(t["shape"]) for t in other["subgraphs"][0]["tensors"]]
    assert shapes == [t.shape for t in root.subgraphs[0].tensors]
