"""The optimal planner: valid, never worse than greedy, the same everywhere, and optimal when it says so."""

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.optimal import fit, optimal

from .exact import least_height
from .problems import problems
from .shared_problems import CAPACITY, NAMES, shared_problem


def accepts(problem, plan):
    try:
        check(problem, plan)
    except ValueError:
        return False
    return True


@settings(max_examples=examples(200), deadline=None)
@given(problems(most=6))
def test_equals_the_least_height_over_all_orders(problem):
    plan = optimal(problem)
    if accepts(problem, greedy(problem)):
        check(problem, plan)
        ends = [offset for offset in problem.fixed_offsets or () if offset != -1]
        assert plan.high_water_mark == plan.proven_lower_bound == max([least_height(problem) or 0, *ends])


@settings(max_examples=examples(200), deadline=None)
@given(problems(most=60))
def test_valid_and_never_worse_than_greedy(problem):
    plan, incumbent = optimal(problem, budget=500), greedy(problem)
    assert plan.high_water_mark <= incumbent.high_water_mark
    assert plan.offsets == optimal(problem, budget=500).offsets
    if accepts(problem, incumbent):
        check(problem, plan)
    elif plan.offsets != incumbent.offsets:
        raise AssertionError("fixed offsets in conflict are greedy's")


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=40, fixed=False), st.integers(0, 3))
def test_what_is_proven_for_one_budget_is_not_bettered_by_another(problem, more):
    few, many = optimal(problem, budget=50), optimal(problem, budget=50 * 10**more)
    assert few.proven_lower_bound <= many.high_water_mark <= few.high_water_mark


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=25, fixed=False))
def test_a_capacity(problem):
    best = optimal(problem)
    if best.proven_lower_bound == best.high_water_mark:
        plan = fit(problem, best.high_water_mark)
        check(problem, plan)
        assert plan.high_water_mark == best.high_water_mark
        assert best.high_water_mark == 0 or fit(problem, best.high_water_mark - 1) is None


def test_no_budget_is_greedy():
    problem = Problem([48, 64, 64, 32], [0, 1, 3, 0], [0, 3, 3, 2])
    assert optimal(problem, budget=0).offsets == greedy(problem).offsets
    assert optimal(problem, budget=0).proven_lower_bound == 128
    assert fit(problem, 128, budget=0) is None


def test_a_limit_in_time_ends_the_search():
    """A problem that takes longer: 60 buffers of many sizes, drawn once."""
    sizes = [(i * 7919) % 997 + 1 for i in range(300)]
    first = [(i * 104729) % 211 for i in range(300)]
    last = [f + (i * 1299709) % 37 for i, f in enumerate(first)]
    problem = Problem(sizes, first, last, alignment=1)
    start = time.perf_counter()
    plan = optimal(problem, budget=10**9, seconds=0.1)
    assert time.perf_counter() - start < 5
    check(problem, plan)


def test_fixed_offsets_are_obeyed():
    problem = Problem([64, 64, 32], [0, 0, 0], [1, 1, 1], [-1, 96, -1])
    plan = optimal(problem)
    check(problem, plan)
    assert (plan.offsets[1], plan.high_water_mark, plan.proven_lower_bound) == (96, 160, 160)


@pytest.mark.parametrize("fixed", [[5, -1, -1], [0, 16, -1]])
def test_fixed_offsets_that_no_search_can_serve(fixed):
    problem = Problem([64, 64, 32], [0, 0, 0], [1, 1, 1], fixed)
    assert optimal(problem).offsets == greedy(problem).offsets
    assert fit(problem, 1 << 20).offsets == greedy(problem).offsets
    assert fit(problem, 16) is None


def test_more_buffers_than_the_search_takes():
    problem = Problem([16] * 5000, range(5000), range(1, 5001))
    plan = optimal(problem)
    check(problem, plan)
    assert plan.high_water_mark == plan.proven_lower_bound == 32


def test_sizes_beyond_the_units():
    problem = Problem([(1 << 40) + 1, 1 << 40], [0, 0], [0, 0], alignment=1)
    assert optimal(problem).high_water_mark == (2 << 40) + 1
    assert optimal(Problem([1 << 50, 1 << 51], [0, 0], [0, 0])).proven_lower_bound == 3 << 50


def test_times_of_any_size():
    far = 1 << 62
    assert optimal(Problem([16, 32, 16], [-far, 0, far], [0, far, far])).high_water_mark == 48


@pytest.mark.parametrize("argument", [None, 7, [1, 2]])
def test_only_problems_are_planned(argument):
    with pytest.raises(TypeError):
        optimal(argument)
    with pytest.raises(TypeError):
        fit(argument, 1)


def test_the_published_problems_fit_their_capacity():
    total = 0.0
    for name in NAMES:
        problem = shared_problem(name)
        start = time.process_time()
        plan = fit(problem, CAPACITY)
        total += time.process_time() - start
        check(problem, plan)
        assert plan.high_water_mark <= CAPACITY
    assert total < 2


@pytest.mark.parametrize("name", "ABCEFGHIK")
def test_the_published_problems_are_minimised_and_proven(name):
    problem = shared_problem(name)
    plan = optimal(problem)
    check(problem, plan)
    assert plan.high_water_mark == plan.proven_lower_bound == (1_039_360 if name == "C" else CAPACITY)


THOROUGH = pytest.mark.skipif(
    "TFLM_CY_EXAMPLES" not in os.environ, reason="seconds each: set TFLM_CY_EXAMPLES to run it"
)


@pytest.mark.parametrize(
    "name, bound, budget, height",
    [
        ("D", 986_112, 200_000, 1_036_288),
        ("J", 989_184, 200_000, 1_032_192),
        pytest.param("D", 986_112, 1_000_000, 1_006_592, marks=THOROUGH),
        pytest.param("J", 989_184, 8_000_000, 1_007_616, marks=THOROUGH),
    ],
)
def test_the_published_problems_with_a_gap(name, bound, budget, height):
    problem = shared_problem(name)
    plan = optimal(problem, budget)
    check(problem, plan)
    assert bound == plan.proven_lower_bound < plan.high_water_mark <= height
