"""The least safe distance is safe, nothing below it is; the judge that replays the walk agrees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import Plan, Problem
from tflm_cy.memory.access import NOTHING, check_accesses, distance
from tflm_cy.memory.check import check
from tflm_cy.memory.overlap import overlap

WALKS = st.lists(st.integers(0, 12) | st.just(NOTHING), max_size=13)


def survives(lowest, output_element, input_element, shift):
    """Write element after element into one memory; every read must find the byte that the input had."""
    inputs, outputs = 13 * input_element, len(lowest) * output_element
    memory = np.full(outputs + inputs + shift, -1)
    memory[shift : shift + inputs] = np.arange(inputs)
    for k, low in enumerate(lowest):
        if low != NOTHING:
            for byte in range(low * input_element, inputs):
                if memory[shift + byte] != byte:
                    return False
        memory[k * output_element : (k + 1) * output_element] = -1
    return True


@settings(max_examples=examples(300), deadline=None)
@given(WALKS, st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.integers(0, 60))
def test_exactly_the_shifts_from_the_distance_on_are_safe(lowest, output_element, input_element, shift):
    least = distance(lowest, output_element, input_element)
    assert survives(lowest, output_element, input_element, shift) == (shift >= least)


@settings(max_examples=examples(300), deadline=None)
@given(WALKS, st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.integers(0, 60))
def test_the_judge_replays_what_happens(lowest, output_element, input_element, shift):
    sizes = [len(lowest) * output_element, 13 * input_element]
    plan = Plan([0, shift], max(sizes[0], shift + sizes[1]))
    problem = Problem(sizes, [1, 0], [1, 1], alignment=1, relaxed=[(0, 1, 0)])
    try:
        check_accesses(problem, plan, {(0, 1): (lowest, output_element, input_element)})
        accepted = True
    except ValueError:
        accepted = False
    assert accepted == survives(lowest, output_element, input_element, shift)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(WALKS.filter(len), min_size=1, max_size=5))
def test_plans_of_chains_survive_and_distances_cut_by_16_bytes_do_not_always(walks):
    """A chain of operators with elements of 16 bytes: overlap plans pass both judges; one byte of trust less fails."""
    sizes = [13 * 16, *[len(walk) * 16 for walk in walks]]
    walks = [
        [low if low == NOTHING else min(low, size // 16 - 1) for low in walk]
        for walk, size in zip(walks, sizes[:-1], strict=True)
    ]
    first = list(range(len(sizes)))
    last = [*range(1, len(sizes)), len(sizes) - 1]
    accesses = {(k + 1, k): (walk, 16, 16) for k, walk in enumerate(walks)}
    rows = [(o, i, distance(*walk)) for (o, i), walk in accesses.items()]
    problem = Problem(sizes, first, last, relaxed=rows)
    plan = overlap(problem)
    check(problem, plan)
    check_accesses(problem, plan, accesses)
    cut = overlap(Problem(sizes, first, last, relaxed=[(o, i, d - 16 if d else 0) for o, i, d in rows]))
    if cut.high_water_mark < plan.proven_lower_bound:
        with pytest.raises(ValueError, match="overlap"):
            check(problem, cut)
        with pytest.raises(ValueError, match="overwrites"):
            check_accesses(problem, cut, accesses)


@pytest.mark.parametrize("kind", [np.array, list, tuple, lambda values: np.array(values, np.int32), iter])
def test_arrays_and_iterables(kind):
    assert distance(kind([0, 0, 0, 1]), 1, 1) == 2
    assert distance(kind([]), 1, 1) == 0


def test_widening_and_narrowing():
    assert distance(range(100), 4, 1) == 99 * 3
    assert distance(range(100), 1, 4) == 0


def test_an_overlap_that_nobody_explains():
    problem = Problem([16, 16], [0, 0], [1, 1])
    check_accesses(problem, Plan([0, 16], 32), {})
    with pytest.raises(ValueError, match="nothing tells how"):
        check_accesses(problem, Plan([0, 0], 16), {})


@pytest.mark.parametrize(
    "walk, message", [(([-1], 1, 1), "element -1"), (([0], 0, 1), "elements of 0"), (([1 << 50], 1, 1), "element 1125")]
)
def test_bad_walks(walk, message):
    with pytest.raises(ValueError, match=message):
        distance(*walk)
