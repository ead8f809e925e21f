"""compat.memories: few graphs here, and that what is wrong is found."""

from compat.memories import _keyed, first_fit, judged, main, random_graph, replay
from tests.draws import examples
from tflm_cy.micro import two_memories
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.two_memories import Item, divide


def test_few_graphs(capsys):
    assert main(["--graphs", str(examples(4))]) == 0
    assert "0 wrong" in capsys.readouterr().out


def test_tensors_over_each_other_are_found():
    asked = demand(random_graph(1), "cortex-m7")
    lost, moved = replay(asked, {keyed.place_key: 0 for keyed in _keyed(asked)}, {}, 0)
    assert "not there any more" in lost and moved == sum(two_memories.traffic(asked))


def test_a_count_that_is_wrong_is_found(monkeypatch):
    graph = random_graph(2)
    counts = dict.fromkeys(("choices", "fewer than first fit", "as many", "proven least", "followed by TFLM"), 0)
    assert not list(judged(graph, "cortex-m7", counts)) and counts["choices"] == 8
    told = two_memories.divide
    monkeypatch.setattr(
        "compat.memories.divide", lambda *a, **k: two_memories.Division(**{**vars(told(*a, **k)), "moved": -1})
    )
    assert any("-1 were said" in fault for fault in judged(graph, "cortex-m7", counts))


def test_first_fit():
    items = [
        Item(str(k), (0, k), size, first, last, size, "tensor")
        for k, (size, first, last) in enumerate([(64, 0, 1), (32, 1, 2), (32, 2, 3), (16, 0, 0)])
    ]
    assert first_fit(items, 64) == 32 + 16  # the first one keeps the second and the last out
    assert first_fit(items, 96) == 0


def test_the_choice_is_for_the_demand():
    asked = demand(random_graph(3), "cortex-m7")
    found = divide(asked, 1024, 1 << 30)
    assert len(found.items) >= len(asked.buffers)
