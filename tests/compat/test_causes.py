"""Causes that deviations name, in cases that have them and in their neighbours that do not."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.case import Case
from compat.causes import lacks_room_for_sums, multiplies_nothing


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
