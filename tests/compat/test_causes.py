"""Causes that deviations name, in cases that have them and in their neighbours that do not."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.case import Case
from compat.causes import (
    assigns_another_shape,
    has_few_dilations,
    has_more_than_six_dimensions,
    lacks_room_for_sums,
    makes_of_nothing,
    merges_an_extremum,
    multiplies_nothing,
    multiplies_otherwise_when_shaped,
    overwrites_what_is_read_again,
    transforms_signs,
    unpacks_constants,
)
from compat.deviation import Deviation
from compat.placeholders import called


def reduced(op, held, fed, axes, kept=None, dtype="int8"):
    """A case of one reduction: its input's shape in the file, what is fed, and the output's shape in the file."""
    x, y = Tensor(held, dtype, scale=0.5), Tensor(kept or [1] * len(held), dtype, scale=0.5)
    model = Model.single(op, [x, Tensor.constant(np.array(axes, np.int32))], [y], 2, keep_dims=True)
    return Case(op, dtype, "made by hand", 0, model.to_bytes(), [[np.zeros(fed, dtype)]])


@pytest.mark.parametrize(
    "held, fed, axes, wanted",
    [
        ([2, 1, 3], [2, 1, 3], [1], True),
        ([2, 1, 1], [2, 1, 1], [-1, 1], True),
        ([2, 1, 3], [2, 1, 3], [1, 2], False),
        ([2, 2, 3], [2, 1, 3], [1], True),
        ([2, 2, 3], [2, 2, 3], [0], False),
    ],
)
def test_axes_of_one_multiply_nothing(held, fed, axes, wanted):
    assert multiplies_nothing(reduced("REDUCE_PROD", held, fed, axes)) == wanted


def test_other_reductions_may():
    assert not multiplies_nothing(reduced("SUM", [2, 1, 3], [2, 1, 3], [1]))


@pytest.mark.parametrize(
    "held, fed, axes, kept, wanted",
    [
        ([1, 4, 3], [5, 4, 3], [1], [5, 1, 3], True),  # the file's output is as large as the later one
        ([1, 4, 3], [5, 4, 3], [1], [1, 1, 3], False),  # the output grows
        ([5, 4, 3], [5, 4, 3], [1], [5, 1, 3], False),  # nothing grows
        ([1, 0, 3], [1, 4, 3], [1], [1, 1, 3], True),  # there was nothing to add
        ([1, 4, 3], [5, 4, 3], [0], [1, 4, 3], False),  # as many sums
    ],
)
def test_room_of_the_first_allocation(held, fed, axes, kept, wanted):
    assert lacks_room_for_sums(reduced("SUM", held, fed, axes, kept)) == wanted


@pytest.mark.parametrize(
    "fed, axes, wanted",
    [([2, 0, 3], [1], True), ([0, 4, 3], [1], False), ([0, 4, 3], [0, 1], True), ([2, 4, 3], [1], False)],
)
def test_an_output_is_made_of_nothing(fed, axes, wanted):
    assert makes_of_nothing("MEAN", "SUM")(reduced("MEAN", [2, 4, 3], fed, axes)) == wanted


@pytest.mark.parametrize("held, wanted", [([1, 3], True), ([2, 3], False)])
def test_what_is_assigned_has_another_shape(held, wanted):
    handle, x, y = Tensor([1], "resource"), Tensor(held, "float32"), Tensor([2, 3], "float32")
    model = Model()
    graph = model.subgraph()
    graph.op("VAR_HANDLE", [], [handle], container="", shared_name="v")
    graph.op("ASSIGN_VARIABLE", [handle, x], [])
    graph.op("READ_VARIABLE", [handle], [y])
    feeds = [[np.zeros([2, 3], np.float32)]]
    assert assigns_another_shape(Case("GRAPH", "float32", "by hand", 0, model.to_bytes(), feeds)) == wanted


def graph_of(*nodes, inputs, outputs):
    """A case of (operator, operands, result, options) in order; the numbers of tensors name them."""
    model = Model()
    graph = model.subgraph()
    for op, operands, result, options in nodes:
        graph.op(op, operands, [result], **options)
    graph.inputs, graph.outputs = inputs, outputs
    return Case("GRAPH", "float32", "by hand", 0, model.to_bytes(), [[np.zeros([2, 8], np.float32)]])


@pytest.mark.parametrize("again, wanted", [(True, True), (False, False)])
def test_a_view_is_overwritten_where_another_one_is_read_later(again, wanted):
    """LOGISTIC -> RESHAPE -> RESHAPE -> MUL, and a RESHAPE of the first view behind it or in front of it."""
    x, a, b, c, y, z = (Tensor([2, 8], "float32") for _ in range(6))
    late = ("RESHAPE", [b], z, {"new_shape": [2, 8]})
    nodes = [
        ("LOGISTIC", [x], a, {}),
        ("RESHAPE", [a], b, {"new_shape": [2, 8]}),
        ("RESHAPE", [b], c, {"new_shape": [2, 8]}),
        ("MUL", [c, Tensor.constant(np.ones(1, np.float32))], y, {}),
    ]
    nodes.append(late) if again else nodes.append(("NEG", [y], z, {}))
    tail = Tensor([2, 8], "float32")
    nodes.append(("ABS", [y], tail, {}))
    case = graph_of(*nodes, inputs=[x], outputs=[z, tail])
    assert overwrites_what_is_read_again(case) == wanted


def test_signs_that_are_transformed():
    x, s, y = Tensor([8, 8], "float32"), Tensor([8, 8], "float32"), Tensor([8, 5], "complex64")
    size = Tensor.constant(np.array([8, 8], np.int32))
    assert transforms_signs(graph_of(("SIGN", [x], s, {}), ("RFFT2D", [s, size], y, {}), inputs=[x], outputs=[y]))
    assert not transforms_signs(graph_of(("SIN", [x], s, {}), ("RFFT2D", [s, size], y, {}), inputs=[x], outputs=[y]))


def test_constants_that_are_unpacked():
    x, y = Tensor([2, 8], "float16"), Tensor([2, 8], "float32")
    constant = Tensor.constant(np.ones([2, 8], np.float16))
    assert unpacks_constants(graph_of(("DEQUANTIZE", [constant], y, {}), inputs=[], outputs=[y]))
    assert not unpacks_constants(graph_of(("DEQUANTIZE", [x], y, {}), inputs=[x], outputs=[y]))


@pytest.mark.parametrize("kind, wanted", [("rank", True), ("taller", False)])
def test_what_a_program_resizes_to(kind, wanted):
    x, y = Tensor([1] * 6, "float32"), Tensor([1] * 6, "float32")
    case = graph_of(("ABS", [x], y, {}), inputs=[x], outputs=[y])
    case.feeds[0][0] = np.zeros([1] * 6, np.float32)
    case.program = (("resize_tensor_input", 0, kind),)
    assert has_more_than_six_dimensions(case) == has_few_dilations(case) == wanted


def test_an_output_that_differs_is_computed_by_an_operator():
    x, a, b = (Tensor([2, 8], "float32") for _ in range(3))
    case = graph_of(("SIN", [x], a, {}), ("COS", [a], b, {}), inputs=[x], outputs=[a, b])
    entry = Deviation("*", "invoke ?, output ?: *", "", computed_by="COS")
    assert entry.fits("GRAPH/float32/by hand#0", "invoke 0, output 1: 3 <> 4", "AUTO", case)
    assert not entry.fits("GRAPH/float32/by hand#0", "invoke 0, output 0: 3 <> 4", "AUTO", case)


def test_a_node_that_is_refused_is_computed_by_an_operator():
    x, a, b = (Tensor([2, 8], "float32") for _ in range(3))
    case = graph_of(("SIN", [x], a, {}), ("COS", [a], b, {}), inputs=[x], outputs=[b])
    entry = Deviation("*", "ok  <>  raised *", "", computed_by="SIN")
    refused = "ok  <>  raised RuntimeError in allocate_tensors: no. Node number {} failed to prepare."
    taken = "ok  <>  raised RuntimeError in invoke: no. Node number 2 (TfLiteXNNPackDelegate) failed to invoke. It runs COS (node {})."
    for text in (refused.format("{} (COS)"), taken):
        assert entry.fits("GRAPH/float32/by hand#0", text.format(1), "AUTO", case)
        assert not entry.fits("GRAPH/float32/by hand#0", text.format(0), "AUTO", case)


@pytest.mark.parametrize("kept, wanted", [([5, 1, 3], True), ([1, 1, 3], False)])
def test_a_cause_is_looked_for_in_the_branch(kept, wanted):
    case = reduced("SUM", [5, 4, 3], [5, 4, 3], [1], kept)
    entry = Deviation("*", "*", "", cause=lacks_room_for_sums)
    assert not entry.fits(case.id, "invoke 0, output 0: 1 <> 2", "AUTO", case)
    assert entry.fits(case.id, "invoke 0, output 0: 1 <> 2", "AUTO", called(case, "IF")) == wanted


@pytest.mark.parametrize("window, wanted", [("AVERAGE_POOL_2D", True), ("L2_POOL_2D", False)])
def test_an_extremum_behind_a_window(window, wanted):
    x, a, b, c = (Tensor([1, 2, 2, 1], "float32") for _ in range(4))
    one = Tensor.constant(np.ones(1, np.float32))
    pool = (window, [x], a, {"filter_height": 1, "filter_width": 1, "stride_h": 1, "stride_w": 1})
    case = graph_of(pool, ("RELU", [x], b, {}), ("MINIMUM", [a, one], c, {}), inputs=[x], outputs=[b, c])
    assert merges_an_extremum(case) == wanted


@pytest.mark.parametrize("fed, wanted", [(3, False), (1, True)])
def test_an_image_that_gets_other_channels(fed, wanted):
    x, y = Tensor([1, 2, 2, 3], "float32"), Tensor([1, 2, 2, 3], "float32")
    w = Tensor.constant(np.ones([1, 1, 1, 3], np.int8), scale=0.1)
    model = Model.single("DEPTHWISE_CONV_2D", [x, w], [y], stride_h=1, stride_w=1, depth_multiplier=1)
    case = Case("GRAPH", "dynamic_range", "made", 0, model.to_bytes(), [[np.ones([1, 2, 2, fed], np.float32)]])
    assert multiplies_otherwise_when_shaped(case) == wanted
