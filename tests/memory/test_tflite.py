"""TensorFlow Lite's planner on the contract: equal to ArenaPlanner where no memory is shared, accepted by the judge."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import ArenaPlanner, PlannedNode, Problem
from tflm_cy.memory.arena_planner import PERSISTENT, READ_WRITE
from tflm_cy.memory.check import check
from tflm_cy.memory.libstdcxx import IntSet, std_sort
from tflm_cy.memory.tflite import tflite

from .problems import problems


@settings(max_examples=examples(200), deadline=None)
@given(problems(most=40, fixed=False))
def test_the_judge_accepts_its_plans(problem):
    check(problem, tflite(problem))


@st.composite
def graphs(draw):
    """A random graph without shares, planned by ArenaPlanner."""
    sizes, arenas = [], []

    def tensor(arena=READ_WRITE):
        sizes.append(draw(st.sampled_from([0, 4, 64, 64, 64, 100]) | st.integers(0, 300)))
        arenas.append(arena)
        return len(sizes) - 1

    inputs = [tensor() for _ in range(draw(st.integers(1, 3)))]
    variables = [tensor(PERSISTENT) for _ in range(draw(st.integers(0, 2)))]
    known, nodes = inputs + variables, []
    for _ in range(draw(st.integers(1, 8))):
        read = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        made = [tensor() for _ in range(draw(st.sampled_from([1, 1, 2, 20])))]
        extra = [tensor(draw(st.sampled_from([READ_WRITE, PERSISTENT]))) for _ in range(draw(st.integers(0, 2)))]
        nodes.append(PlannedNode(read, made, extra))
        known += made
    outputs = draw(st.lists(st.sampled_from(known), max_size=2))
    return ArenaPlanner(sizes, nodes, inputs, outputs, variables, arenas)


@settings(max_examples=examples(100), deadline=None)
@given(graphs())
def test_equals_the_arena_planner(planner):
    planner.plan()
    planner.execute()
    temporary = {t: k for k, node in enumerate(planner.nodes) for t in node.temporaries}
    listed = [*planner.variables, *planner.inputs, *[t for node in planner.nodes for t in node.outputs], *temporary]
    problem = Problem(
        [planner.sizes[t] for t in listed],
        [planner.first_node[t] for t in listed],
        [planner.last_node[t] for t in listed],
        alignment=64,
        order=[(t, planner.first_node[t], temporary.get(t, -1), planner.arenas[t]) for t in listed],
    )
    plan = tflite(problem)
    check(problem, plan)
    behind = -(-planner.arena_bytes // 64) * 64
    for t, offset in zip(listed, plan.offsets, strict=True):
        if planner.sizes[t]:
            expected = planner.offsets.get(t)
            assert offset == (behind + planner.persistent_offsets[t] if expected is None else expected)


def test_three_buffers_need_150_bytes():
    plan = tflite(Problem([100, 80, 50], [0, 2, 1], [1, 3, 2], alignment=1))
    assert (plan.offsets, plan.high_water_mark) == ((0, 0, 100), 150)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"fixed_offsets": [-1, 0]}, "buffer 1 has a fixed offset"),
        ({"order": [(0, 0, -1, 0), (1, 0, -1, 2)]}, "buffer 1 lies in arena 2"),
        ({"order": [(0, 0, -1, 0), (0, 0, -1, 0)]}, "buffers 0 and 1 have the same tensor index"),
    ],
)
def test_what_it_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        tflite(Problem([16, 16], [0, 0], [1, 1], **options))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=80))
def test_the_sort_sorts(elements):
    assert [key for key, _ in std_sort(list(elements), lambda a, b: a[0] < b[0])] == sorted(k for k, _ in elements)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=16))
def test_the_sort_is_stable_up_to_16_elements(elements):
    assert std_sort(list(elements), lambda a, b: a[0] < b[0]) == sorted(elements, key=lambda element: element[0])


def test_the_order_of_a_set():
    numbers = IntSet()
    for n in [*range(10), 5]:
        numbers.add(n)
    assert numbers.order == list(range(9, -1, -1))
    for n in range(10, 14):
        numbers.add(n)
    assert numbers.order == [13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
