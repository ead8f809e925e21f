"""The greedy planner against a transcription of TFLM's procedure, bubble sort included."""

import pytest
from hypothesis import given, settings

from tests.draws import examples
from tflm_cy.memory import Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy, greedy_by_area

from .problems import problems, rounded_sizes, together


def placing_order(sizes, fixed):
    """Fixed buffers by index; the others from the last to the first, bubble-sorted by size with a strict `<`."""
    others = [i for i in reversed(range(len(sizes))) if fixed[i] == -1]
    swapped = True
    while swapped:
        swapped = False
        for k in range(1, len(others)):
            if sizes[others[k - 1]] < sizes[others[k]]:
                others[k - 1], others[k] = others[k], others[k - 1]
                swapped = True
    return [i for i in range(len(sizes)) if fixed[i] != -1] + others


def transcription(problem):
    sizes = rounded_sizes(problem)
    fixed = problem.fixed_offsets or [-1] * len(problem)
    offsets, chain = {}, []
    for i in placing_order(sizes, fixed):
        if fixed[i] != -1:
            offset = fixed[i]
        else:
            offset = 0
            for j in chain:
                if together(problem, i, j):
                    if offsets[j] - offset >= sizes[i]:
                        break
                    offset = max(offset, offsets[j] + sizes[j])
        offsets[i] = offset
        before = [j for j in chain if offsets[j] <= offset]
        chain = [*before, i, *chain[len(before) :]]
    height = max((offsets[i] + sizes[i] for i in offsets), default=0)
    return tuple(offsets[i] for i in range(len(problem))), height


@settings(max_examples=examples(100), deadline=None)
@given(problems())
def test_equals_the_transcription(problem):
    plan = greedy(problem)
    assert (plan.offsets, plan.high_water_mark) == transcription(problem)


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=80, fixed=False))
def test_the_judge_accepts_its_plans(problem):
    check(problem, greedy(problem))
    check(problem, greedy_by_area(problem))


def test_by_area_what_lives_longest_comes_first():
    """The small buffer that is always there lies at the bottom, not between two that take turns."""
    problem = Problem([3, 4, 4], [0, 0, 1], [1, 0, 1], alignment=1)
    assert greedy(problem).offsets == (4, 0, 0)
    assert greedy_by_area(problem).offsets == (0, 3, 3)


@pytest.mark.parametrize("alignment, offsets, height", [(1, (0, 100, 0), 180), (16, (0, 112, 0), 192)])
def test_three_buffers_in_a_chain(alignment, offsets, height):
    plan = greedy(Problem([100, 80, 50], [0, 1, 2], [1, 2, 3], alignment=alignment))
    assert (plan.offsets, plan.high_water_mark) == (offsets, height)


def test_three_buffers_of_which_the_last_two_follow_each_other():
    plan = greedy(Problem([100, 80, 50], [0, 2, 0], [1, 3, 3], alignment=1))
    assert (plan.offsets, plan.high_water_mark) == ((0, 0, 100), 150)


def test_among_equal_sizes_the_highest_index_is_placed_first():
    assert greedy(Problem([32, 32, 32], [0, 0, 0], [1, 1, 1])).offsets == (64, 32, 0)


def test_sizes_are_equal_when_they_are_equal_after_rounding():
    assert greedy(Problem([20, 17], [0, 0], [0, 0], alignment=16)).offsets == (32, 0)


def test_the_first_gap_and_not_the_best():
    problem = Problem([64, 16, 16, 16], [0] * 4, [0] * 4, [-1, 128, 176, -1], 16)
    assert greedy(problem).offsets == (0, 128, 176, 64)


def test_unused_buffers_share_no_memory_with_each_other_but_with_all_others():
    assert greedy(Problem([16, 16, 64], [-1, -1, 0], [-1, -1, 5])).offsets == (16, 0, 0)


def test_fixed_offsets_are_obeyed_unseen():
    plan = greedy(Problem([32, 32, 32], [0, 0, 0], [1, 1, 1], [5, 5, -1]))
    assert plan.offsets == (5, 5, 37)
    assert plan.high_water_mark == 69


def test_nothing_to_plan():
    plan = greedy(Problem([], [], []))
    assert plan.offsets == () and plan.high_water_mark == plan.proven_lower_bound == 0


def test_sizes_beyond_32_bits():
    plan = greedy(Problem([1 << 40, 1 << 41], [0, 0], [0, 0]))
    assert plan.offsets == (1 << 41, 0) and plan.high_water_mark == 3 << 40


@pytest.mark.parametrize("argument", [None, 7, [1, 2]])
def test_only_problems_are_planned(argument):
    with pytest.raises(TypeError):
        greedy(argument)
