"""Problem and Plan: data in, data out, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.draws import examples
from tflm_cy.memory import Plan, Problem
from tflm_cy.memory.greedy import greedy

from .problems import problems, rounded_sizes


def test_attributes_are_what_was_given():
    problem = Problem(
        [10, 0, 30], [0, -1, 2], [4, -1, 2], [-1, 16, -1], 16, relaxed=[(2, 0, 5)], order=[(0, 1, 2, 3)] * 3
    )
    assert len(problem) == problem.count == 3
    assert problem.sizes == (10, 0, 30)
    assert problem.first_use == (0, -1, 2)
    assert problem.last_use == (4, -1, 2)
    assert problem.fixed_offsets == (-1, 16, -1)
    assert problem.alignment == 16
    assert problem.relaxed == ((2, 0, 5),)
    assert problem.order == ((0, 1, 2, 3),) * 3


def test_defaults():
    problem = Problem([1], [0], [0])
    assert problem.alignment == 16
    assert problem.fixed_offsets is None and problem.order is None and problem.relaxed == ()


def test_arrays_and_generators_serve_as_well():
    array = np.array([5, 6, 7], np.int32)
    problem = Problem(array, (i for i in range(3)), array.astype(np.int64), np.array([-1, 0, -1]))
    assert problem.sizes == problem.last_use == (5, 6, 7)
    assert problem.fixed_offsets == (-1, 0, -1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"sizes": [1, -2]}, "buffer 1 has a negative size: -2"),
        ({"first_use": [0, 9]}, "buffer 1 is used last at 1, but first at 9"),
        ({"first_use": [0]}, "first_use has 1 entries for 2 sizes"),
        ({"last_use": [1, 1, 1]}, "last_use has 3 entries for 2 sizes"),
        ({"fixed_offsets": [0]}, "fixed_offsets has 1 entries for 2 sizes"),
        ({"fixed_offsets": [0, -2]}, "buffer 1 has the fixed offset -2"),
        ({"fixed_offsets": [0, 2**63 - 1]}, "buffer 1 has the fixed offset"),
        ({"alignment": 0}, "alignment must lie between"),
        ({"alignment": -16}, "alignment must lie between"),
        ({"sizes": [2**62, 2**62]}, "more than 2\\*\\*62 bytes"),
        ({"sizes": [1, 2**63]}, "does not fit in 64 bits"),
        ({"relaxed": [(0, 2, 0)]}, "relaxed row 0 names the buffers 0 and 2 of 2"),
        ({"relaxed": [(0, 1, 0), (1, 1, 0)]}, "relaxed row 1"),
        ({"relaxed": [(0, 1)]}, "a row has 2 entries, 3 were expected"),
        ({"relaxed": [(0, 1, 2**63 - 1)]}, "distance"),
        ({"order": [(0, 0, 0, 0)]}, "order has 1 rows for 2 sizes"),
        ({"order": [(0, 0, 0)] * 2}, "a row has 3 entries, 4 were expected"),
    ],
)
def test_what_is_no_problem(arguments, message):
    with pytest.raises(ValueError, match=message):
        Problem(**{**{"sizes": [1, 2], "first_use": [0, 0], "last_use": [1, 1]}, **arguments})


@pytest.mark.parametrize("sizes", [[1.5], ["a"], [None], 7])
def test_what_is_no_integer(sizes):
    with pytest.raises(TypeError):
        Problem(sizes, [0], [0])


def test_a_sequence_that_grows_while_it_is_read():
    class Growing:
        def __index__(self):
            sizes.append(1)
            return 1

    sizes = [Growing(), 1]
    problem = Problem(sizes, [0, 0, 0], [0, 0, 0])
    assert problem.sizes == (1, 1, 1)


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False))
def test_the_lower_bound_is_the_most_bytes_alive_at_one_time(problem):
    sizes = rounded_sizes(problem)
    alive = {time: 0 for first in problem.first_use for time in (first,)}
    for time in alive:
        for size, first, last in zip(sizes, problem.first_use, problem.last_use, strict=True):
            alive[time] += size if first <= time <= last else 0
    plan = greedy(problem)
    assert plan.proven_lower_bound == max(alive.values(), default=0) <= plan.high_water_mark


def test_the_lower_bound_knows_relaxed_rows_and_fixed_offsets():
    times = {"first_use": [0, 0], "last_use": [1, 1]}
    assert greedy(Problem([32, 48], **times)).proven_lower_bound == 80
    assert greedy(Problem([32, 48], **times, relaxed=[(1, 0, 0)])).proven_lower_bound == 48
    assert greedy(Problem([32, 48], **times, fixed_offsets=[160, -1])).proven_lower_bound == 192


def test_a_plan_that_is_given():
    plan = Plan(np.array([0, 16]), 32, 16)
    assert plan.offsets == (0, 16) and len(plan) == 2
    assert plan.high_water_mark == 32 and plan.proven_lower_bound == 16
    with pytest.raises(ValueError, match="negative"):
        Plan([0], 16, -1)
    with pytest.raises(ValueError, match="64 bits"):
        Plan([2**64], 16)
    with pytest.raises(TypeError):
        Plan([0.5], 16)


def test_neither_can_be_changed():
    problem, plan = Problem([1], [0], [0]), Plan([0], 16)
    for thing, name in [(problem, "alignment"), (problem, "sizes"), (plan, "high_water_mark"), (plan, "offsets")]:
        with pytest.raises(AttributeError):
            setattr(thing, name, 4)
