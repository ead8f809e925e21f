"""TFLM's clock: closed intervals, inputs that die, nested graphs, what nobody uses."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import branches, loaded
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.lifetimes import Lifetimes


def lives(model, scratch=()):
    graph = view(loaded(model))
    found = Lifetimes(graph, scratch)
    return [tuple(found.tensors[place]) for place in graph.tensor_places], found


def test_a_graph_with_branches():
    tensors, found = lives(branches(), [(0, 2), (0, 2)])
    #                   x       a       wide    axis     mean    b       y       nobody    variable
    expected = [(0, 2), (1, 4), (2, 3), (-1, 3), (3, 5), (4, 5), (5, 5), (-1, -1), (-1, -1)]
    assert tensors == expected
    assert found.scratch == [[3, 3], [3, 3]]
    assert [(time, node.op) for time, node in found.node_times] == [
        *((1, "ADD"), (2, "CONCATENATION"), (3, "MEAN"), (4, "ADD"), (5, "ADD"))
    ]


def test_an_early_output_lives_to_the_end():
    model = Model()
    main = model.subgraph("main")
    x, y, z = (Tensor([4], "float32") for _ in range(3))
    main.op("NEG", [x], [y])
    main.op("NEG", [y], [z])
    main.op("ABS", [z], [Tensor([4], "float32")])
    main.outputs = [y, main.tensors[-1]]
    assert lives(model)[0] == [(0, 1), (1, 3), (2, 3), (3, 3)]


def test_children_run_on_the_same_clock():
    model = Model()
    main, then, other = model.subgraph("main"), model.subgraph("then"), model.subgraph("else")
    for graph, count in ((then, 2), (other, 1)):
        t = Tensor([4], "float32")
        for _ in range(count):
            [t] = graph.op("NEG", [t], [Tensor([4], "float32")])
    condition, x, y = Tensor([1], "bool"), Tensor([4], "float32"), Tensor([4], "float32")
    main.op("IF", [condition, x], [y], then_subgraph_index=then, else_subgraph_index=other)
    main.op("ABS", [y], [Tensor([4], "float32")])
    tensors, found = lives(model, [(0, 0)])
    # node 0 begins at 1; "then" at 2, its nodes at 3 and 4; "else" at 5, its node at 6; node 0 ends at 6
    assert tensors[:4] == [(0, 6), (0, 6), (1, 7), (7, 7)]
    assert tensors[4:] == [(2, 3), (3, 4), (4, 4), (5, 6), (6, 6)]
    assert found.scratch == [[1, 6]]


def test_a_graph_that_runs_itself_is_refused():
    model = Model()
    main, body = model.subgraph("main"), model.subgraph("body")
    x, y = Tensor([1], "float32"), Tensor([1], "float32")
    main.op("WHILE", [x], [y], cond_subgraph_index=body, body_subgraph_index=body)
    a, b = Tensor([1], "float32"), Tensor([1], "float32")
    body.op("WHILE", [a], [b], cond_subgraph_index=body, body_subgraph_index=body)
    with pytest.raises(ValueError, match="subgraph 1 runs itself"):
        lives(model)


def test_a_constant_is_no_tensor_that_lives():
    x = Tensor([2, 3], "float32")
    axis = Tensor.constant(np.array([1], np.int32))
    tensors, _ = lives(Model.single("MEAN", [x, axis], [Tensor([2, 1], "float32")], keep_dims=True))
    assert tensors == [(0, 1), (-1, 1), (1, 1)]
