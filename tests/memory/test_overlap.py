"""The overlap planner: the judge accepts its plans, none is worse than optimal, what it proves holds."""

import pytest
from hypothesis import assume, given, settings

from tests.draws import examples
from tflm_cy.memory import Plan, Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.optimal import optimal
from tflm_cy.memory.overlap import kept, overlap

from .exact import least_height
from .problems import chains, relaxed_problems, rolling_problems


def accepts(problem, plan):
    try:
        check(problem, plan)
    except ValueError:
        return False
    return True


@settings(max_examples=examples(200), deadline=None)
@given(chains(most=6))
def test_operators_in_sequence_equal_the_least_height_over_all_orders(problem):
    plan = overlap(problem)
    check(problem, plan)
    assert plan.high_water_mark == plan.proven_lower_bound == (least_height(problem) or 0)


@settings(max_examples=examples(200), deadline=None)
@given(relaxed_problems(most=6, fixed=True))
def test_any_rows_give_valid_plans_and_true_bounds(problem):
    assume(accepts(problem, greedy(problem)))
    plan = overlap(problem)
    check(problem, plan)
    ends = [offset for offset in problem.fixed_offsets or () if offset != -1]
    least = max([least_height(problem) or 0, *ends])
    assert plan.proven_lower_bound <= least <= plan.high_water_mark <= optimal(problem).high_water_mark


def test_a_fixed_buffer_without_bytes_counts_as_height():
    problem = Problem([0, 16, 0, 0], [0, 0, -1, 0], [1, 1, -1, 1], alignment=1, fixed_offsets=[-1, -1, 17, 2])
    for planner in (optimal, overlap):
        plan = planner(problem)
        check(problem, plan)
        assert (plan.high_water_mark, plan.proven_lower_bound) == (17, 17)


@settings(max_examples=examples(100), deadline=None)
@given(relaxed_problems(most=50))
def test_large_problems(problem):
    plan = overlap(problem, budget=500)
    check(problem, plan)
    assert plan.high_water_mark <= optimal(problem, budget=500).high_water_mark <= greedy(problem).high_water_mark
    assert plan.offsets == overlap(problem, budget=500).offsets


@settings(max_examples=examples(100), deadline=None)
@given(chains(most=20))
def test_inputs_that_are_kept(problem):
    assume(len(problem))
    plan = overlap(problem, keep_inputs=[0], budget=2000)
    check(problem, plan)
    check(kept(problem, [0]), plan)
    low, high = plan.offsets[0], plan.offsets[0] + problem.sizes[0]
    for offset, size, last in zip(plan.offsets[1:], problem.sizes[1:], problem.last_use[1:], strict=True):
        assert last < problem.first_use[0] or not size or offset + size <= low or high <= offset or not problem.sizes[0]


def test_a_chain_of_two():
    """The second operator eats its input from 16 bytes above its own start."""
    problem = Problem([64, 64, 16], [0, 1, 2], [1, 2, 2], relaxed=[(1, 0, 16), (2, 1, 0)])
    plan = overlap(problem)
    assert (plan.high_water_mark, plan.proven_lower_bound) == (80, 80)
    assert optimal(problem).high_water_mark == 128
    assert overlap(problem, keep_inputs=[0]).high_water_mark == 128


def test_the_judge_rejects_a_plan_made_with_smaller_distances():
    sizes, first, last = [64, 64, 64], [0, 1, 2], [1, 2, 2]
    problem = Problem(sizes, first, last, relaxed=[(1, 0, 32), (2, 1, 32)])
    cut = overlap(Problem(sizes, first, last, relaxed=[(1, 0, 16), (2, 1, 16)]))
    assert overlap(problem).high_water_mark == 128 > cut.high_water_mark
    with pytest.raises(ValueError, match="buffers 0 and 1 are alive together and overlap"):
        check(problem, cut)


def test_scratch_is_never_overlapped():
    problem = Problem([64, 64, 32], [0, 1, 1], [1, 1, 1], relaxed=[(1, 0, 0)])
    plan = overlap(problem)
    check(problem, plan)
    assert plan.high_water_mark == plan.proven_lower_bound == 96


def test_an_input_of_two_outputs_of_which_one_may_overlap():
    problem = Problem([64, 32, 32], [0, 1, 1], [1, 2, 2], relaxed=[(1, 0, 0)])
    plan = overlap(problem)
    check(problem, plan)
    assert plan.high_water_mark == plan.proven_lower_bound == 96
    problem = Problem([64, 32, 32], [0, 1, 1], [1, 2, 2], relaxed=[(1, 0, 0), (2, 0, -64)])
    assert overlap(problem).high_water_mark == 64


def test_any_overlap_is_permitted_by_a_distance_of_minus_the_input():
    problem = Problem([64, 96], [0, 1], [1, 1], relaxed=[(1, 0, -64)])
    assert overlap(problem).high_water_mark == overlap(problem).proven_lower_bound == 96


def test_a_row_between_buffers_that_share_more_than_a_step():
    problem = Problem([64, 64], [0, 0], [2, 2], relaxed=[(1, 0, 0)])
    plan = overlap(problem)
    check(problem, plan)
    assert (plan.high_water_mark, plan.proven_lower_bound) == (64, 64)
    problem = Problem([64, 64, 16], [0, 1, 1], [2, 1, 2], relaxed=[(1, 0, 16)])
    plan = overlap(problem)
    check(problem, plan)
    assert (plan.high_water_mark, plan.proven_lower_bound) == (96, 96)


def test_an_output_that_begins_inside_of_its_input():
    """Rows 2 and 3 of the input are needed, so that a small output may lie anywhere over rows 0 and 1."""
    problem = Problem([64, 16, 16], [0, 1, 2], [3, 3, 3], relaxed=[(1, 0, -16), (2, 0, -16)])
    plan = overlap(problem)
    check(problem, plan)
    assert (plan.high_water_mark, plan.proven_lower_bound) == (64, 64)


@settings(max_examples=examples(200), deadline=None)
@given(rolling_problems())
def test_inputs_that_are_read_in_parts(drawn):
    """The rows are the judge's to doubt: it gets what is read, byte by byte, and the kernels' own rows."""
    problem, kernel_problem, reads = drawn
    plan = overlap(problem, budget=300)
    check(problem, plan)
    check(kernel_problem, plan, reads)
    assert plan.proven_lower_bound <= plan.high_water_mark <= optimal(problem, budget=300).high_water_mark
    assert plan.offsets == overlap(problem, budget=300).offsets


@settings(max_examples=examples(100), deadline=None)
@given(rolling_problems(most=6))
def test_bounds_of_inputs_that_are_read_in_parts(drawn):
    problem, _, _ = drawn
    assert overlap(problem).proven_lower_bound <= (least_height(problem) or 0)


@settings(max_examples=examples(200), deadline=None)
@given(rolling_problems(to_end=True))
def test_the_judge_refuses_a_distance_of_16_bytes_less(drawn):
    """Wherever a plan lies as near to what is read as a row permits, 16 bytes nearer are too near."""
    problem, kernel_problem, reads = drawn
    plan = overlap(problem, budget=300)
    for output, source, d in problem.relaxed:
        near = plan.offsets[source] - plan.offsets[output] == d and 16 - d < problem.sizes[source]
        if not near:
            continue
        offsets = [offset + 16 * (i == output) for i, offset in enumerate(plan.offsets)]
        height = max(o + s for o, s in zip(offsets, problem.sizes, strict=True))
        for judged in (problem, kernel_problem):
            with pytest.raises(ValueError, match=r"overlap|destroys"):
                check(judged, Plan(offsets, height), reads if judged is kernel_problem else ())


def test_the_output_at_the_place_of_its_input_comes_first_in_the_order():
    """Distance 0: both at the same offset is possible only if the output is placed before the input."""
    problem = Problem([32, 32, 32, 32], [0, 1, 2, 3], [1, 2, 3, 3], relaxed=[(1, 0, 0), (2, 1, 0), (3, 2, 0)])
    plan = overlap(problem)
    assert plan.offsets == (0, 0, 0, 0) and plan.proven_lower_bound == 32


def test_without_rows_it_is_optimal():
    problem = Problem([48, 64, 64, 32], [0, 1, 3, 0], [0, 3, 3, 2])
    assert overlap(problem).offsets == optimal(problem).offsets


def test_an_offline_plan_with_permitted_overlaps():
    problem = Problem([64, 64, 32], [0, 1, 1], [1, 1, 1], [16, 0, -1], relaxed=[(1, 0, 16)])
    plan = overlap(problem)
    check(problem, plan)
    assert (plan.offsets, plan.high_water_mark) == ((16, 0, 80), 112)


def test_fixed_offsets_leave_nothing_to_search():
    """An offline plan with an input that is read in parts: every buffer has its offset, and a lower plan is thinkable."""
    problem = Problem([64, 16, 16], [0, 1, 2], [3, 3, 3], [0, 64, 80], relaxed=[(1, 0, -16), (2, 0, -16)])
    plan = overlap(problem)
    assert plan.offsets == (0, 64, 80)
    some = Problem([64, 16, 16], [0, 1, 2], [3, 3, 3], [0, 64, -1], relaxed=[(1, 0, -16), (2, 0, -16)])
    check(some, overlap(some))


def test_bad_arguments():
    with pytest.raises(TypeError):
        overlap(None)
    with pytest.raises(ValueError, match="buffer 3 is to be kept"):
        overlap(Problem([16], [0], [0]), keep_inputs=[3])
    assert overlap(Problem([], [], [])).offsets == Plan([], 0).offsets
