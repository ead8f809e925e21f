"""Tensors that SLICE reads in parts: the rows of the planner, and the judge's own count of what is read."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import activation, loaded
from tests.micro.test_safe_overlaps import least_safe, node_of, rounded
from tflm_cy.memory.check import check
from tflm_cy.memory.problem import Plan
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import check_reads, relies_on_kernels
from tflm_cy.micro.partial_reads import counted_reads, partial_rows
from tflm_cy.micro.planners import plan_overlaps
from tflm_cy.micro.safe_overlaps import distance, relaxed_rows


def cut(main, image, begin, size):
    """SLICE of an image; the piece."""
    piece = activation(*size)
    constants = [Tensor.constant(np.array(values, np.int32)) for values in (begin, size)]
    main.op("SLICE", [image, *constants], [piece])
    return piece


def two_bands():
    """An image of 8 x 4 x 16 bytes, cut into an upper and a lower band, each of which goes on to an output of 256 bytes."""
    model = Model()
    main = model.subgraph("main")
    image = activation(1, 8, 4, 16)
    done = []
    for row in (0, 4):
        piece, out = cut(main, image, [0, row, 0, 0], [1, 4, 4, 16]), activation(1, 4, 4, 16)
        main.op("RELU", [piece], [out])
        done.append(out)
    main.inputs, main.outputs = [image], done
    return demand(loaded(model))


def names(asked):
    return {buffer.place[1]: i for i, buffer in enumerate(asked.buffers)}


def test_what_is_read():
    asked = two_bands()
    image = names(asked)[0]
    assert counted_reads(asked) == [(image, 1, 0, 256), (image, 3, 256, 512)]


def test_rows_for_any_kernels_and_for_kernels_that_read_ahead():
    asked = two_bands()
    at = names(asked)
    image, upper, result, lower = (at[t] for t in (0, 3, 4, 7))
    strict = partial_rows(asked)
    # the first piece is written while the upper half is read: it may not lie over it. The rest has 256 free bytes.
    assert (upper, image) not in strict
    assert strict[result, image] == strict[lower, image] == 0
    rows = {(o, i): d for o, i, d in relaxed_rows(asked)}
    assert rows[upper, image] == 0 and rows[lower, image] == -256


def test_a_plan_with_parts_is_lower_and_judged():
    asked = two_bands()
    for strict, head in ((True, 768), (False, 512)):
        plan, rows = plan_overlaps(asked, strict=strict)
        assert plan.high_water_mark == head
        check(asked.problem(rows), plan)
        check_reads(asked, plan, rows)
        assert relies_on_kernels(asked, plan) is not strict


def test_the_judge_does_not_believe_the_rows():
    """A row that permits everything: what is read decides."""
    asked = two_bands()
    at = names(asked)
    result, image = at[4], at[0]
    offsets = list(Plan([1024 * i for i in range(len(asked.buffers))], 0).offsets)
    rows = [(result, image, -(1 << 20))]
    for start, refused in ((0, False), (16, True)):
        offsets[result] = offsets[image] + start
        height = max(o + b.size for o, b in zip(offsets, asked.buffers, strict=True))
        plan = Plan(offsets, height)
        check(asked.problem(rows), plan)
        if refused:
            with pytest.raises(ValueError, match="destroys what is read of buffer"):
                check_reads(asked, plan, rows)
        else:
            check_reads(asked, plan, rows)


@pytest.mark.parametrize(
    "begin, size", [((0, 2, 0, 0), (1, 3, 5, 4)), ((0, 1, 2, 0), (1, 4, 3, 4)), ((0, 0, 0, 1), (1, 6, 5, 2))]
)
def test_the_distance_of_slice(begin, size):
    """By trying, where the input lies above; below it the part may begin where it stands in the input."""
    image, piece = activation(1, 6, 5, 4), activation(*size)
    constants = [Tensor.constant(np.array(values, np.int32)) for values in (begin, size)]
    node = node_of(Model.single("SLICE", [image, *constants], [piece]))
    numbers = np.arange(120).reshape(1, 6, 5, 4)[tuple(slice(b, b + s) for b, s in zip(begin, size, strict=True))]
    d = distance(node, 0)
    assert max(d, 0) == rounded(least_safe([[k] for k in numbers.reshape(-1)], numbers.size))
    assert d <= rounded(-int(numbers.min())) + 16


def test_outputs_and_kept_tensors_have_no_parts():
    model = Model()
    main = model.subgraph("main")
    image = activation(1, 8, 4, 16)
    piece = cut(main, image, [0, 0, 0, 0], [1, 4, 4, 16])
    main.inputs, main.outputs = [image], [piece, image]
    assert counted_reads(demand(loaded(model))) == []
