"""ArenaPlanner: the documented examples, shares, the persistent arena, partial planning."""

import pytest

from tflm_cy.memory import ArenaPlanner, PlannedNode
from tflm_cy.memory.arena_planner import NOT_IN_ARENA, PERSISTENT, READ_WRITE


def documented(inputs, nodes, arenas=None, **options):
    """The documents' graphs: tensor i has 3 (i + 1) bytes, on 4; their order is the older one, node by node."""
    planner = ArenaPlanner(
        [3 * (i + 1) for i in range(6)],
        [PlannedNode(*node) for node in nodes],
        inputs,
        outputs=[3],
        arenas=arenas,
        alignment=4,
        by_size=False,
        **options,
    )
    planner.plan()
    planner.execute()
    return planner


def after(planner, t):
    return -(-(planner.offsets[t] + planner.sizes[t]) // 4) * 4


def test_simple_graph_inputs_preserved():
    planner = documented([0, 1], [([0, 1], [2]), ([2, 0], [4, 5]), ([4, 5], [3])])
    offsets = planner.offsets
    assert offsets[0] == 0
    assert offsets[1] == after(planner, 0)
    assert offsets[2] == after(planner, 1)
    assert offsets[4] == after(planner, 2)
    assert offsets[5] == after(planner, 4)
    assert offsets[3] == after(planner, 1)


def test_simple_graph_with_optionals():
    nodes = [([0, 1], [2]), ([2, 0], [4, 5]), ([4, -1, 5], [3])]
    planner = documented([0, -1, 1], nodes, preserve_inputs=False)
    offsets = planner.offsets
    assert offsets[0] == 0
    assert offsets[1] == after(planner, 0)
    assert offsets[2] == after(planner, 1)
    assert offsets[4] == after(planner, 2)
    assert offsets[5] == after(planner, 4)
    assert offsets[3] == 0


def test_simple_graph_with_persistent_tensor():
    arenas = [READ_WRITE, PERSISTENT, *[READ_WRITE] * 4]
    nodes = [([0, 1], [2]), ([2, 0], [4], [5]), ([4, -1], [3])]
    planner = documented([0, -1, 1], nodes, arenas, preserve_inputs=False)
    offsets = planner.offsets
    assert offsets[0] == planner.persistent_offsets[1] == 0
    assert 1 not in offsets
    assert offsets[2] == after(planner, 0)
    assert offsets[5] == after(planner, 2)
    assert offsets[4] == after(planner, 5)
    assert offsets[3] == 0


def planned(sizes, nodes, inputs=(0,), outputs=(), **options):
    planner = ArenaPlanner(sizes, [PlannedNode(*node) for node in nodes], inputs, outputs, alignment=1, **options)
    planner.plan()
    planner.execute()
    return planner


def test_the_largest_first_but_for_what_lives_throughout():
    planner = planned([10, 20, 30, 5], [([0], [1]), ([1], [2]), ([2], [3])], outputs=[3])
    assert planner.offsets == {0: 0, 1: 40, 2: 10, 3: 40}


def test_equal_outputs_of_one_node_lie_in_the_order_of_an_unordered_set():
    planner = planned([8, 16, 16, 16], [([0], [1, 2, 3]), ([1, 2, 3], [])])
    assert planner.offsets == {0: 0, 1: 40, 2: 24, 3: 8}


def test_inputs_and_outputs_are_never_released_and_what_nobody_reads_neither():
    planner = planned([8, 8, 8, 8], [([0], [1, 2]), ([1], [3]), ([3], [])], outputs=[1])
    assert planner.first_node == [0, 0, 0, 1]
    assert planner.last_node == [2**31 - 1, 2**31 - 1, 2**31 - 1, 2]


def test_unchanged_data_is_shared_along_a_chain():
    keep = ((0,), True)
    nodes = [([0], [1]), ([1], [2], (), *keep), ([2], [3], (), *keep), ([3, 1], [4]), ([4], [5])]
    planner = planned([8, 8, 8, 8, 8, 8], nodes, outputs=[5])
    assert planner.root == {2: 1, 3: 1}
    assert planner.offsets[1] == planner.offsets[2] == planner.offsets[3]
    assert planner.last_node[1] == 3


@pytest.mark.parametrize(
    "sizes, reads, shares",
    [([8, 8, 8, 8], [1], True), ([8, 8, 12, 8], [1], False), ([8, 4, 4, 8], [1], False), ([8, 8, 8, 8], [1, 1], False)],
)
def test_changed_data_is_shared_by_a_last_reader_of_equal_size(sizes, reads, shares):
    nodes = [([0], [1]), (reads, [2], (), (0, 1), False), ([2], [3])]
    assert (planned(sizes, nodes, outputs=[3]).root == {2: 1}) == shares


def test_graph_inputs_and_outputs_share_nothing():
    assert planned([8, 8], [([0], [1], (), (0,), True)], outputs=[]).root == {}
    assert planned([8, 8, 8], [([0], [1]), ([1], [2], (), (0,), True)], outputs=[2]).root == {}


def test_preserve_all_releases_and_shares_nothing():
    nodes = [([0], [1]), ([1], [2], (), (0,), True), ([2], [3])]
    planner = planned([8, 8, 8, 8], nodes, outputs=[3], preserve_all=True)
    assert sorted(planner.offsets.values()) == [0, 8, 16, 24]


def test_variables_and_constants():
    arenas = [READ_WRITE, PERSISTENT, NOT_IN_ARENA, READ_WRITE, PERSISTENT]
    planner = planned([8, 8, 100, 8, 8], [([0, 1, 2], [3])], outputs=[3], variables=[1, 4], arenas=arenas)
    assert planner.persistent_offsets == {1: 0, 4: 8}
    assert set(planner.offsets) == {0, 3}


def test_tensors_without_bytes_have_no_memory():
    assert planned([8, 0, 8], [([0], [1]), ([1], [2])], outputs=[2]).offsets == {0: 0, 2: 8}


def test_a_range_of_nodes_at_a_time():
    """What comes later lies around what is still alive; a tensor that has grown is placed again."""
    nodes = [PlannedNode([0], [1]), PlannedNode([1], [2]), PlannedNode([2], [3]), PlannedNode([3], [4])]
    planner = ArenaPlanner([8, 16, 4, 32, 8], nodes, [0], [4], alignment=1)
    planner.plan()
    planner.execute(0, 1)
    assert planner.offsets == {0: 0, 1: 8, 2: 24}
    planner.execute(2, 3)
    assert planner.offsets == {0: 0, 1: 8, 2: 24, 3: 28, 4: 8}
    planner.reset_after(1)
    assert planner.offsets == {0: 0, 1: 8, 2: 24}
    planner.sizes[3] = 12
    planner.execute(2, 3)
    assert planner.offsets == {0: 0, 1: 8, 2: 24, 3: 8, 4: 20}


def test_an_arena_per_tensor():
    with pytest.raises(ValueError, match="1 arenas for 2 tensors"):
        ArenaPlanner([8, 8], [], [0], [], arenas=[0])
