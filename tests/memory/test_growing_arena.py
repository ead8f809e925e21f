"""GrowingArena: chunks, blocks of the head, slack."""

import ctypes
import gc
import mmap
import tracemalloc

import numpy as np
import pytest

from tflm_cy.memory import GrowingArena

from .sizes import HUGE


def test_a_head_that_grows_is_a_new_block_and_the_old_one_lives_with_its_views():
    arena = GrowingArena()
    address = arena.head(256)
    view = np.frombuffer(arena.head_block, np.uint8, 256)
    view_of_memory = view[:]
    ctypes.memset(address, 3, 256)
    assert arena.head(1 << 16) != address
    assert arena.head_block.address == arena.head_address
    assert bytes(arena.head_block)[: 1 << 16] == bytes(1 << 16)
    del view
    gc.collect()
    assert (view_of_memory == 3).all()


def test_the_old_head_is_freed_with_its_last_view():
    tracemalloc.start()
    try:
        arena = GrowingArena()
        arena.head(1 << 20)
        view = np.frombuffer(arena.head_block, np.uint8)
        arena.head(2 << 20)
        with_view = tracemalloc.get_traced_memory()[0]
        del view
        without = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert with_view - without >= 1 << 20


def test_memory_is_given_back_when_the_arena_dies():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(10):
            arena = GrowingArena()
            for size in (10, 5000, 100000, 3):
                arena.tail(size)
                arena.release(arena.temp(size))
            arena.reset_temp()
            arena.head(1 << 16)
            del arena
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 4096


def test_repeated_prepares_take_no_more_memory():
    arena = GrowingArena()
    arena.tail(3000)
    mark = arena.mark()

    def prepare():
        arena.rewind(mark)
        for size in (2000, 5000, 9000, 40000, 100):
            arena.tail(size)
            arena.release(arena.temp(size))
        arena.reset_temp()

    tracemalloc.start()
    try:
        prepare()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            prepare()
        last = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert last - first < 256


def test_a_small_model_costs_one_small_chunk():
    tracemalloc.start()
    try:
        arena = GrowingArena()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(30):
            arena.tail(100)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert arena.tail_used >= 3000
    assert 3000 < after - before < 8192


def test_the_slack_behind_the_head_belongs_to_the_block():
    arena = GrowingArena(slack=64)
    address = arena.head(100)
    block = arena.head_block
    assert block.address + block.size >= address + 100 + 64


def test_every_chunk_and_the_head_have_room_for_the_slack():
    def traced(slack):
        tracemalloc.start()
        try:
            arena = GrowingArena(slack=slack)
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(3):  # each in a chunk of its own
                arena.tail(1 << 20)
            arena.head(1000)
            return tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()

    assert abs(traced(1 << 16) - traced(0) - 4 * (1 << 16)) < 4096


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


def test_what_a_large_chunk_has_not_used_is_given_back_and_the_rest_stays():
    """Behind the first two MiB chunks are large; a huge page that is written in part is counted in part."""
    arena = GrowingArena()
    arena.tail(3 << 20)
    large = arena.tail(5 << 20)
    assert arena.tail(1 << 20) == large + (5 << 20)
    before = resident()
    ctypes.memset(large, 7, 6 << 20)
    arena.head(1000)
    assert resident() - before < (6 << 20) + (1 << 18)
    behind = arena.tail(1 << 20)
    ctypes.memset(behind, 9, 1 << 20)
    assert ctypes.string_at(large, 7 << 20) == b"\7" * (6 << 20) + b"\11" * (1 << 20)


def test_what_is_written_when_the_plan_is_known_begins_no_huge_page():
    """A page of 2 MiB that is touched is there as a whole."""
    arena = GrowingArena()
    arena.tail(3 << 20)
    large = arena.tail(1 << 16)
    arena.head(1000)
    before = resident()
    ctypes.memset(large, 7, 1 << 16)
    assert resident() - before < 1 << 18


def test_an_alignment_above_the_arenas_own():
    arena = GrowingArena(alignment=16)
    for _ in range(5):
        assert arena.tail(100, 4096) % 4096 == 0


def test_bad_parameters():
    with pytest.raises(ValueError, match="power of two"):
        GrowingArena(alignment=48)
    with pytest.raises(ValueError, match="slack"):
        GrowingArena(slack=1 << 30)


def test_a_head_that_cannot_be_had_leaves_the_old_one():
    arena = GrowingArena()
    address = arena.head(100)
    with pytest.raises(MemoryError, match="block"):
        arena.head(HUGE // 2 if HUGE > 2**32 else HUGE)
    assert arena.head_address == address and arena.head_size == 100
