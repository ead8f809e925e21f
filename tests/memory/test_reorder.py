"""The order of operators: the least peak over all valid orders, and what an order must respect."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory.reorder import peak_of, reorder

BRANCHES = {
    "sizes": [10, 100, 100, 10, 10, 20],
    "reads": [[0], [0], [1], [2], [3, 4]],
    "writes": [[1], [2], [3], [4], [5]],
    "inputs": [0],
    "outputs": [5],
}


@st.composite
def graphs(draw):
    """Graphs in which every operator reads what exists; some without inputs, some with scratch, some bound."""
    count = draw(st.integers(1, 6))
    sizes = [draw(st.integers(0, 60)) for _ in range(draw(st.integers(0, 2)))]
    inputs = list(range(len(sizes)))
    reads, writes = [], []
    for _ in range(count):
        known = range(len(sizes))
        reads.append(draw(st.lists(st.sampled_from(known), max_size=2)) if known else [])
        made = [len(sizes) + i for i in range(draw(st.sampled_from([1, 1, 1, 2])))]
        sizes += [draw(st.integers(0, 60)) for _ in made]
        writes.append(made)
    outputs = draw(st.lists(st.sampled_from(range(len(sizes))), max_size=2))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
    return {
        "sizes": sizes,
        "reads": reads,
        "writes": writes,
        "inputs": inputs,
        "outputs": outputs,
        "scratch": [draw(st.sampled_from([0, 0, 30])) for _ in range(count)],
        "before": draw(st.lists(pairs, max_size=2)) if count > 1 else [],
        "keep_inputs": draw(st.booleans()),
    }


def peak_by_enumeration(order, graph):
    """The largest sum of the buffers that are alive at one operator, from first and last uses."""
    place = {k: position for position, k in enumerate(order)}
    users = {}
    for k, (read, written) in enumerate(zip(graph["reads"], graph["writes"], strict=True)):
        for t in {*read, *written}:
            users.setdefault(t, []).append(place[k])
    count, peak = len(order), 0
    for now in range(max(count, 1)):
        alive = 0
        for t, size in enumerate(graph["sizes"]):
            first, last = min(users.get(t, [count])), max(users.get(t, [-1]))
            if t in graph["inputs"]:
                first = 0
                last = count if graph["keep_inputs"] else last
            last = count if t in graph["outputs"] else last
            alive += size if first <= now <= last else 0
        peak = max(peak, alive + (graph["scratch"][order[now]] if count else 0))
    return peak


def valid_orders(graph):
    count = len(graph["reads"])
    maker = {t: k for k, made in enumerate(graph["writes"]) for t in made}
    pairs = {(maker[t], k) for k, read in enumerate(graph["reads"]) for t in read if t in maker} | set(graph["before"])
    for order in permutations(range(count)):
        place = {k: position for position, k in enumerate(order)}
        if all(place[a] < place[b] for a, b in pairs):
            yield order


@settings(max_examples=examples(200), deadline=None)
@given(graphs())
def test_equals_the_least_peak_over_all_orders(graph):
    best = reorder(**graph)
    peaks = {order: peak_by_enumeration(order, graph) for order in valid_orders(graph)}
    assert best.proven
    assert best.order in peaks
    assert best.peak == min(peaks.values()) == peaks[best.order] == peak_of(best.order, **graph)


def test_two_branches_one_after_the_other():
    assert peak_of(range(5), **BRANCHES) == 210
    best = reorder(**BRANCHES)
    assert (best.order, best.peak, best.proven) == ((0, 2, 1, 3, 4), 120, True)


def test_the_given_order_is_kept_without_a_gain():
    best = reorder([8, 8, 8], [[0], [1]], [[1], [2]], inputs=[0], outputs=[2])
    assert best == ((0, 1), 16, True, 0)


def test_pairs_that_must_not_change_places():
    order = reorder(**BRANCHES, before=[(3, 4), (0, 1)]).order
    assert order.index(0) < order.index(1)
    assert order == (0, 2, 1, 3, 4)
    with pytest.raises(ValueError, match="operator 2 is to come before 1"):
        reorder(**BRANCHES, before=[(2, 1)])


def test_reads_stay_between_the_same_writes():
    """Operator 2 writes buffer 1 anew: it must not come before the one that reads the old bytes."""
    graph = {"sizes": [8, 8, 100, 8], "reads": [[0], [1], [0], [1, 2]], "writes": [[1], [2], [1], [3]], "inputs": [0]}
    with pytest.raises(ValueError, match="operator 2 comes before one that it needs"):
        peak_of((0, 2, 1, 3), **graph)
    assert reorder(**graph).order == (0, 1, 2, 3)


def test_a_source_waits_for_its_first_reader():
    sizes = [10, 1000, 50, 10, 10]
    reads, writes = [[], [0], [2], [3, 1]], [[1], [2], [3], [4]]
    best = reorder(sizes, reads, writes, inputs=[0], outputs=[4])
    assert (best.order, best.peak) == ((1, 2, 0, 3), 1020)


def test_a_source_with_scratch_may_have_to_run_early():
    graph = {"sizes": [1, 0, 0, 0], "reads": [[], [], [0, 1], []], "writes": [[0], [1], [2], [3]]}
    best = reorder(**graph, scratch=[0, 30, 0, 0], before=[(0, 3)])
    assert best.order.index(1) < best.order.index(0)
    assert (best.peak, best.proven) == (30, True)


def test_overlaps_choose_another_last_reader():
    """Buffer 1 is read twice; whichever reader comes last may overwrite it, only operator 2 can."""
    sizes = [10, 100, 10, 100, 10]
    reads, writes = [[0], [1], [1], [2, 3]], [[1], [3], [2], [4]]
    overlaps = {(3, 1): 0}
    plain = reorder(sizes, reads, writes, inputs=[0], outputs=[4])
    guided = reorder(sizes, reads, writes, inputs=[0], outputs=[4], overlaps=overlaps)
    assert plain.order == (0, 1, 2, 3) and plain.proven
    assert (guided.order, guided.peak, guided.proven) == ((0, 2, 1, 3), 120, False)


def test_too_many_sets():
    best = reorder(**BRANCHES, states=1)
    assert (best.order, best.peak, best.proven) == ((0, 1, 2, 3, 4), 210, False)


def test_bad_arguments():
    with pytest.raises(ValueError, match="one entry per operator"):
        reorder([8], [[0]], [])
    with pytest.raises(ValueError, match="negative"):
        reorder([-8], [[0]], [[]])
    with pytest.raises(ValueError, match="every operator once"):
        peak_of((0, 0), [8], [[0], [0]], [[], []])


def test_scratch_runs_while_little_is_alive():
    """An operator that needs scratch does not wait for its reader: before anything else is alive it costs least."""
    graph = {
        "sizes": [0, 1, 0, 0],
        "reads": [[], [], [1, 2]],
        "writes": [[1], [2], [3]],
        "inputs": [0],
        "scratch": [0, 30, 0],
    }
    assert reorder(**graph)[:3] == ((1, 0, 2), 30, True)
