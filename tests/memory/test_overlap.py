"""The overlap planner: the judge accepts its plans, none is worse than optimal, what it proves holds."""

from hypothesis import given, settings

from tflm_cy.memory.check import check
from tflm_cy.memory.optimal import optimal
from tflm_cy.memory.overlap import overlap

from .exact import least_height
from .problems import relaxed_problems
from .volume import examples


@settings(max_examples=examples(300))
@given(relaxed_problems(most=6))
def test_equals_the_least_height_over_all_orders(problem):
    plan = overlap(problem)
    check(problem, plan)
    least = least_height(problem) or 0
    assert plan.proven_lower_bound <= least <= plan.high_water_mark
    if plan.proven_lower_bound != plan.high_water_mark:
        print("open", problem.relaxed)
    assert plan.high_water_mark <= optimal(problem).high_water_mark
