"""Offsets that are given: obeyed as they are, the rest around them as TFLM's greedy planner does."""

import pytest
from hypothesis import given as any_of
from hypothesis import settings

from tests.draws import examples
from tflm_cy.memory import Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear
from tflm_cy.memory.offline_plan import offline_plan

from .problems import problems


@settings(max_examples=examples(200), deadline=None)
@any_of(problems())
def test_minus_one_is_planned_as_greedy_does(problem):
    free = Problem(problem.sizes, problem.first_use, problem.last_use, None, problem.alignment)
    fixed = problem.fixed_offsets or [-1] * len(problem)
    assert offline_plan(free, fixed).offsets == offline_plan(problem).offsets == greedy(problem).offsets


@settings(max_examples=examples(200), deadline=None)
@any_of(problems(fixed=False))
def test_a_whole_plan_is_taken_as_it_is(problem):
    plan = linear(problem)
    again = offline_plan(problem, plan.offsets)
    assert (again.offsets, again.high_water_mark) == (plan.offsets, plan.high_water_mark)
    check(problem, again)


def test_overlaps_are_obeyed_unseen():
    plan = offline_plan(Problem([32, 32, 32], [0, 0, 0], [1, 1, 1]), [5, 5, -1])
    assert (plan.offsets, plan.high_water_mark) == ((5, 5, 37), 69)


def test_an_offset_per_buffer():
    with pytest.raises(ValueError, match="1 entries for 2 sizes"):
        offline_plan(Problem([1, 2], [0, 0], [0, 0]), [0])
    with pytest.raises(TypeError):
        offline_plan(None)
