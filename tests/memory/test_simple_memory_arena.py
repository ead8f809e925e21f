"""SimpleMemoryArena: TensorFlow's documented example, and the best gap as a plain search finds it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import SimpleMemoryArena
from tflm_cy.memory.simple_memory_arena import NEVER


def test_the_documented_example():
    arena = SimpleMemoryArena(alignment=32)
    offsets = [arena.allocate(2047) for _ in range(3)]
    arena.deallocate(0)
    offsets += [arena.allocate(1023), arena.allocate(2047)]
    arena.deallocate(1)
    offsets.append(arena.allocate(1023))
    assert offsets == [0, 2048, 4096, 0, 6144, 1024]
    assert arena.high_water_mark == 6144 + 2047


def test_the_documented_example_after_clear():
    arena = SimpleMemoryArena(alignment=32)
    for _ in range(2):
        assert [arena.allocate(2047) for _ in range(3)] == [0, 2048, 4096]
        arena.clear()
        assert arena.high_water_mark == 0


def test_three_buffers_need_150_bytes():
    arena = SimpleMemoryArena()
    assert [arena.allocate(*block) for block in [(100, 0, 1), (80, 2, 3), (50, 1, 2)]] == [0, 0, 100]
    assert arena.high_water_mark == 150


def test_the_best_gap_and_not_the_first():
    arena = SimpleMemoryArena()
    arena.restore([(100, 10, 0, 9), (140, 10, 0, 9)])
    assert arena.allocate(30) == 110
    assert arena.allocate(30) == 0


def test_a_gap_without_waste_ends_the_search():
    arena = SimpleMemoryArena()
    arena.restore([(30, 10, 0, 9), (70, 10, 0, 9)])
    assert arena.allocate(30) == 0


def test_the_waste_of_the_best_gap_counts_from_the_unaligned_end():
    """The first gap wastes 6 + 58 bytes, the second 10: it is taken though the first, aligned, wastes only 6."""
    arena = SimpleMemoryArena(alignment=64)
    arena.restore([(0, 70, 0, 9), (134 + 64, 58, 0, 9), (330, 10, 0, 9)])
    assert arena.allocate(64) == 256


def test_purging():
    arena = SimpleMemoryArena()
    arena.allocate(10, 0, 3)
    arena.allocate(10, 2, 5)
    arena.purge_before(4)
    assert arena.allocate(10, 0, NEVER) == 0
    arena.purge_after(1)
    assert arena.allocate(20, 0, NEVER) == 10


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 6), st.integers(0, 6)), max_size=25))
def test_blocks_alive_together_are_apart_and_aligned(requests):
    arena, placed = SimpleMemoryArena(16), []
    for size, first, length in requests:
        offset = arena.allocate(size, first, first + length)
        assert offset % 16 == 0
        for other, other_size, start, stop in placed:
            if size and other_size and first <= stop and start <= first + length:
                assert offset + size <= other or other + other_size <= offset
        placed.append((offset, size, first, first + length))
    assert arena.high_water_mark == max((offset + size for offset, size, *_ in placed), default=0)


def test_bad_arguments():
    with pytest.raises(ValueError, match="alignment"):
        SimpleMemoryArena(0)
    with pytest.raises(ValueError, match="-1 bytes"):
        SimpleMemoryArena().allocate(-1)
