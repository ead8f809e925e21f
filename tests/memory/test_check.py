"""The judge: it accepts exactly the valid plans, as a map of bytes and times defines them."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import Plan, Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear

from .problems import problems, rounded_sizes, together


def height(problem, offsets):
    return max((offset + size for offset, size in zip(offsets, rounded_sizes(problem), strict=True)), default=0)


def verdict(problem, plan):
    try:
        check(problem, plan)
    except ValueError:
        return False
    return True


def owned_once(problem, offsets):
    """Whether every byte has one owner at every time."""
    owners = set()
    for size, first, last, offset in zip(problem.sizes, problem.first_use, problem.last_use, offsets, strict=True):
        cells = {(time, byte) for time in range(first, last + 1) for byte in range(offset, offset + size)}
        if owners & cells:
            return False
        owners |= cells
    return True


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=6, fixed=False, alignments=(1, 4)), st.data())
def test_equals_a_map_of_bytes_and_times(problem, data):
    offset = st.integers(0, 120).map(lambda n: n * problem.alignment)
    offsets = data.draw(st.lists(offset, min_size=len(problem), max_size=len(problem)))
    assert verdict(problem, Plan(offsets, height(problem, offsets))) == owned_once(problem, offsets)


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False), st.sampled_from([greedy, linear]), st.data())
def test_a_buffer_moved_onto_one_that_lives_with_it(problem, planner, data):
    pairs = [
        (i, j)
        for i in range(len(problem))
        for j in range(len(problem))
        if i != j and problem.sizes[i] and problem.sizes[j] and together(problem, i, j)
    ]
    assume(pairs)
    i, j = data.draw(st.sampled_from(pairs))
    offsets = list(planner(problem).offsets)
    inside = data.draw(st.integers(0, (problem.sizes[j] - 1) // problem.alignment)) * problem.alignment
    offsets[i] = offsets[j] + inside
    with pytest.raises(ValueError, match="alive together and overlap"):
        check(problem, Plan(offsets, height(problem, offsets)))


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False, alignments=(3, 16, 64)), st.data())
def test_a_buffer_off_its_alignment(problem, data):
    assume(len(problem))
    offsets = list(linear(problem).offsets)
    offsets[-1] += data.draw(st.integers(1, problem.alignment - 1))
    with pytest.raises(ValueError, match="not aligned"):
        check(problem, Plan(offsets, height(problem, offsets)))


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False), st.integers(-100, 100))
def test_a_high_water_mark_that_is_not_the_highest_end(problem, wrong):
    plan = greedy(problem)
    claimed = plan.high_water_mark + wrong
    assert verdict(problem, Plan(plan.offsets, claimed)) == (wrong == 0)


@settings(max_examples=examples(100), deadline=None)
@given(problems(most=12))
def test_fixed_offsets_decide(problem):
    plan = greedy(problem)
    assert verdict(problem, plan) == owned_once(problem, plan.offsets)
    fixed = problem.fixed_offsets
    if fixed:
        i = next(k for k, offset in enumerate(fixed) if offset != -1)
        offsets = list(plan.offsets)
        offsets[i] = height(problem, offsets) + problem.alignment
        free = Problem(problem.sizes, problem.first_use, problem.last_use, None, problem.alignment)
        moved = Plan(offsets, height(problem, offsets))
        if verdict(free, moved):
            with pytest.raises(ValueError, match=f"buffer {i} lies at {offsets[i]}, but its offset is fixed"):
                check(problem, moved)


def test_the_first_violation_is_named():
    problem = Problem([16, 32, 16], [0, 1, 5], [1, 2, 6])
    with pytest.raises(ValueError, match=r"buffers 0 and 1 .* \[16, 32\) at times 0..1, \[0, 32\) at times 1..2"):
        check(problem, Plan([16, 0, 0], 32))


@pytest.mark.parametrize("offset, message", [(-16, "before the head"), (1 << 62, None), ((1 << 62) + 16, "beyond")])
def test_offsets_out_of_bounds(offset, message):
    problem = Problem([16], [0], [0])
    plan = Plan([offset], offset + 16)
    if message is None:
        check(problem, plan)
    else:
        with pytest.raises(ValueError, match=message):
            check(problem, plan)


def test_a_plan_of_another_length():
    with pytest.raises(ValueError, match="1 offsets for 2 buffers"):
        check(Problem([1, 2], [0, 0], [0, 0]), Plan([0], 16))


def test_a_false_proof():
    problem = Problem([16], [0], [0])
    check(problem, Plan([0], 16, 16))
    with pytest.raises(ValueError, match="nothing below 32"):
        check(problem, Plan([0], 16, 32))


def test_empty_buffers_are_nowhere():
    check(Problem([0, 16, 0], [0, 0, 0], [1, 1, 1]), Plan([0, 0, 0], 16))


@pytest.mark.parametrize("distance", [-64, -16, 0, 16, 32, 48])
@pytest.mark.parametrize("output_at", range(0, 112, 16))
@pytest.mark.parametrize("input_at", range(0, 112, 16))
def test_relaxed_rows_permit_what_keeps_the_distance(distance, output_at, input_at):
    problem = Problem([64, 48], [1, 0], [2, 1], relaxed=[(0, 1, distance)])
    disjoint = output_at + 64 <= input_at or input_at + 48 <= output_at
    plan = Plan([output_at, input_at], height(problem, [output_at, input_at]))
    assert verdict(problem, plan) == (disjoint or input_at - output_at >= distance)


def test_of_two_rows_for_one_pair_both_must_hold():
    problem = Problem([64, 64], [1, 0], [2, 1], relaxed=[(0, 1, 0), (0, 1, 32)])
    assert not verdict(problem, Plan([0, 16], 80))
    assert verdict(problem, Plan([0, 32], 96))


def test_a_relaxed_row_covers_its_own_pair_only():
    problem = Problem([64, 64, 64], [1, 0, 0], [2, 1, 1], relaxed=[(0, 1, 0)])
    assert verdict(problem, Plan([0, 0, 64], 128))
    assert not verdict(problem, Plan([0, 64, 0], 128))


@pytest.mark.parametrize("arguments", [(None, None), (Problem([], [], []), None), (None, Plan([], 0))])
def test_nothing_to_judge(arguments):
    with pytest.raises(TypeError):
        check(*arguments)
