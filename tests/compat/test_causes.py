"""Causes that deviations name, in cases that have them and in their neighbours that do not."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.case import Case
from compat.causes import assigns_another_shape, lacks_room_for_sums, makes_of_nothing, multiplies_nothing


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
