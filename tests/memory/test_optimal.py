"""The optimal planner: valid, never worse than greedy, optimal when it says so."""

from hypothesis import given, settings

from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.optimal import optimal

from .exact import least_height
from .problems import problems
from .volume import examples


def valid_offline_plan(problem):
    try:
        check(problem, greedy(problem))
    except ValueError:
        return False
    return True


@settings(max_examples=examples(200))
@given(problems(most=6))
def test_equals_the_least_height_over_all_orders(problem):
    if valid_offline_plan(problem):
        plan = optimal(problem)
        check(problem, plan)
        ends = [offset + 0 for offset in problem.fixed_offsets or () if offset != -1]
        assert plan.high_water_mark == plan.proven_lower_bound == max([least_height(problem) or 0, *ends])
