"""The linear planner: every buffer has its own place."""

import pytest
from hypothesis import given, settings

from tests.draws import examples
from tflm_cy.memory import Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear

from .problems import problems, rounded_sizes


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False))
def test_places_follow_each_other_in_index_order(problem):
    plan = linear(problem)
    sizes = rounded_sizes(problem)
    assert plan.offsets == tuple(sum(sizes[:i]) for i in range(len(sizes)))
    assert plan.high_water_mark == sum(sizes)


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False))
def test_valid_and_never_lower_than_greedy(problem):
    plan = linear(problem)
    check(problem, plan)
    assert plan.high_water_mark >= greedy(problem).high_water_mark


def test_fixed_offsets_are_refused():
    with pytest.raises(ValueError, match="buffer 1 has a fixed offset"):
        linear(Problem([16, 16], [0, 0], [0, 0], [-1, 32]))


def test_only_problems_are_planned():
    with pytest.raises(TypeError):
        linear(None)
