"""RecordingArena: what is counted, what is forgotten, and that nothing else changes."""

import pytest

from tflm_cy.memory import GrowingArena, RecordingArena, SingleArena
from tflm_cy.memory.recording import KINDS


def test_requested_used_and_count_per_kind():
    arena = RecordingArena(SingleArena(1024))
    arena.tail(20, 16, KINDS.index("tensor"))
    arena.tail(20, 16, KINDS.index("tensor"))
    arena.tail(7, 1, KINDS.index("variable"))
    assert arena.records == {
        "tensor": {"requested": 40, "used": 64, "count": 2},
        "variable": {"requested": 7, "used": 7, "count": 1},
    }
    assert sum(record["used"] for record in arena.records.values()) == arena.tail_used


def test_every_kind_has_a_name():
    arena = RecordingArena(GrowingArena())
    for kind in range(len(KINDS)):
        arena.tail(kind + 1, 1, kind)
    assert list(arena.records) == list(KINDS)
    assert [record["requested"] for record in arena.records.values()] == list(range(1, len(KINDS) + 1))


@pytest.mark.parametrize("kind", [-1, 99])
def test_an_unknown_kind_counts_as_other(kind):
    arena = RecordingArena(GrowingArena())
    arena.tail(8, 8, kind)
    assert list(arena.records) == ["other"]


def test_what_fails_is_not_counted():
    arena = RecordingArena(SingleArena(128))
    with pytest.raises(MemoryError):
        arena.tail(1000)
    assert arena.records == {}


def test_a_rewind_forgets_what_came_after_the_mark():
    arena = RecordingArena(GrowingArena())
    arena.tail(10, 1, KINDS.index("node"))
    arena.tail(0, 1, KINDS.index("node"))
    mark = arena.mark()
    for _ in range(3):
        arena.rewind(mark)
        arena.tail(0, 1, KINDS.index("op data"))
        arena.tail(50, 1, KINDS.index("op data"))
    assert arena.records["node"]["count"] == 2
    assert arena.records["op data"] == {"requested": 50, "used": 50, "count": 2}
    arena.rewind(0)
    assert arena.records == {} and arena.tail_used == 0


def test_the_inner_arena_is_used_as_if_alone():
    plain, inner = SingleArena(4096), SingleArena(4096)
    recorded = RecordingArena(inner)
    for arena in (plain, recorded):
        arena.head(100)
        arena.tail(33, 16)
        arena.release(arena.temp(50))
    assert recorded.used_bytes == plain.used_bytes == inner.used_bytes
    assert recorded.head_block is inner.head_block
    assert recorded.alignment == inner.alignment and recorded.slack == inner.slack
    assert recorded.inner is inner


def test_the_peak_of_temporaries_survives_the_reset():
    arena = RecordingArena(SingleArena(4096))
    addresses = [arena.temp(100, 1), arena.temp(200, 1)]
    for address in addresses:
        arena.release(address)
    arena.reset_temp()
    arena.release(arena.temp(50, 1))
    assert arena.temp_peak == 300


def test_the_table_adds_up():
    arena = RecordingArena(SingleArena(4096))
    arena.tail(20, 16, KINDS.index("op data"))
    arena.tail(10, 16, KINDS.index("quantization"))
    arena.head(64)
    numbers = {line[:18].strip(): [int(word) for word in line[18:].split()] for line in arena.table().splitlines()[1:]}
    assert numbers == {
        "op data": [20, 32, 1],
        "quantization": [10, 16, 1],
        "tail": [30, 48, 2],
        "head": [64, 64],
        "total": [94, 112],
    }


def test_there_is_nothing_to_record_without_an_arena():
    with pytest.raises(TypeError):
        RecordingArena(None)
