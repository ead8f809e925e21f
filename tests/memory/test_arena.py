"""What every arena promises, on each of them."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import Arena, ArenaPair, GrowingArena, RecordingArena, SharedArena, SingleArena

from .sizes import HUGE, SIZE_MAX

MAKERS = {
    "growing": GrowingArena,
    "growing without slack": lambda: GrowingArena(alignment=16, slack=0),
    "single": lambda: SingleArena(1 << 20),
    "single in the middle of a buffer": lambda: SingleArena(memoryview(bytearray(b"\xab" * (1 << 20)))[3:]),
    "recording": lambda: RecordingArena(SingleArena(1 << 20)),
    "recording a growing one": lambda: RecordingArena(GrowingArena()),
    "pair": lambda: ArenaPair(1 << 20, bytearray(1 << 20)),
    "shared": lambda: SharedArena(SingleArena(1 << 20)).tenant(),
    "recording a shared pair": lambda: RecordingArena(SharedArena(ArenaPair(1 << 20, 1 << 20)).tenant()),
}


@pytest.fixture(params=MAKERS)
def arena(request):
    return MAKERS[request.param]()


def test_the_interface_itself_allocates_nothing():
    arena = Arena()
    for call in (lambda: arena.tail(1), lambda: arena.temp(1), lambda: arena.head(1), arena.mark, arena.reset_temp):
        with pytest.raises(NotImplementedError):
            call()


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from(sorted(MAKERS)),
    st.lists(st.tuples(st.integers(0, 9000), st.sampled_from([1, 2, 8, 16, 64, 256])), max_size=40),
)
def test_tail_objects_are_aligned_zeroed_and_disjoint(maker, requests):
    arena = MAKERS[maker]()
    placed = []
    for size, alignment in requests:
        before = arena.tail_used
        address = arena.tail(size, alignment)
        assert address and address % alignment == 0
        assert ctypes.string_at(address, size) == bytes(size)
        assert arena.tail_used >= before + size
        for other, length in placed:
            assert address + size <= other or other + length <= address
        ctypes.memset(address, 0xCD, size)
        placed.append((address, size))


def test_a_request_for_nothing_has_an_address(arena):
    assert arena.tail(0)
    temporary = arena.temp(0)
    assert temporary
    arena.release(temporary)
    arena.reset_temp()
    assert arena.head(0)
    assert arena.used_bytes == 0


@pytest.mark.parametrize("alignment", [0, 3, 24])
def test_alignments_are_powers_of_two(arena, alignment):
    for allocate in (arena.tail, arena.temp):
        with pytest.raises(ValueError, match="power of two"):
            allocate(8, alignment)
    assert arena.used_bytes == 0


def test_absurd_sizes_raise_and_change_nothing(arena):
    arena.head(64)
    arena.tail(10)
    before = arena.used_bytes
    for size in (2 * HUGE, SIZE_MAX, SIZE_MAX - 63):
        for allocate in (arena.tail, arena.temp, arena.head):
            with pytest.raises(MemoryError):
                allocate(size)
    assert arena.used_bytes == before


def test_the_head_is_zeroed_and_seen_through_its_block(arena):
    address = arena.head(1000)
    assert arena.head_address == address and address % arena.alignment == 0
    assert ctypes.string_at(address, 1000 + arena.slack)[:1000] == bytes(1000)
    block = arena.head_block
    view = np.frombuffer(block, np.uint8, 1000, address - block.address)
    ctypes.memset(address + 999, 5, 1)
    assert view[999] == 5 and view[:999].sum() == 0


def test_a_head_that_fits_stays_where_it_is(arena):
    address = arena.head(1000)
    block = arena.head_block
    ctypes.memset(address, 9, 1000)
    for size in (10, 1000):
        assert arena.head(size) == address
        assert arena.head_size == size
    assert arena.head_block is block
    assert ctypes.string_at(address, 1) == b"\x09"


def test_a_temporary_must_be_released_before_the_reset(arena):
    first, second = arena.temp(10), arena.temp(20)
    assert arena.temp_used >= 30
    arena.release(first)
    with pytest.raises(RuntimeError, match="1 temporaries"):
        arena.reset_temp()
    arena.release(second)
    arena.reset_temp()
    assert arena.temp_used == 0


def test_releasing_what_is_no_temporary_is_found(arena):
    with pytest.raises(RuntimeError, match="none is in use"):
        arena.release(4096)
    address = arena.temp(10)
    arena.release(address + 16)
    with pytest.raises(RuntimeError, match="no temporary in use"):
        arena.reset_temp()


def test_the_head_waits_for_the_temporaries(arena):
    arena.head(64)
    address = arena.temp(10)
    with pytest.raises(RuntimeError, match="temporaries"):
        arena.head(128)
    arena.release(address)
    with pytest.raises(RuntimeError, match="temporaries"):
        arena.head(128)
    arena.reset_temp()
    arena.head(128)
    assert arena.head_size == 128


def test_temporaries_do_not_touch_each_other(arena):
    arena.head(100)
    sizes = [1, 100, 0, 5000, 3, 20000]
    addresses = [arena.temp(size, 32) for size in sizes]
    for value, (address, size) in enumerate(zip(addresses, sizes, strict=True)):
        assert address % 32 == 0
        ctypes.memset(address, value + 1, size)
    for value, (address, size) in enumerate(zip(addresses, sizes, strict=True)):
        assert ctypes.string_at(address, size) == bytes([value + 1]) * size


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from(sorted(MAKERS)),
    st.lists(st.integers(0, 20000), max_size=8),
    st.lists(st.integers(0, 20000), max_size=8),
)
def test_rewinding_keeps_what_came_before_and_zeroes_what_comes_after(maker, before, after):
    arena = MAKERS[maker]()
    kept = [(arena.tail(size), size) for size in before]
    for address, size in kept:
        ctypes.memset(address, 0x11, size)
    mark, used = arena.mark(), arena.tail_used
    rounds = []
    for _ in range(4):
        arena.rewind(mark)
        assert arena.tail_used == used
        for size in after:
            address = arena.tail(size)
            assert ctypes.string_at(address, size) == bytes(size)
            ctypes.memset(address, 0x22, size)
        rounds.append(arena.tail_used)
        for address, size in kept:
            assert ctypes.string_at(address, size) == b"\x11" * size
    assert len(set(rounds)) == 1, "a repeated prepare takes the same bytes"


def test_rewinding_drops_temporaries_of_a_prepare_that_failed(arena):
    mark = arena.mark()
    arena.temp(100)
    arena.rewind(mark)
    assert arena.temp_used == 0
    arena.reset_temp()
    arena.head(16)


def test_a_mark_behind_the_tail_is_refused(arena):
    arena.tail(10)
    with pytest.raises(ValueError, match="mark"):
        arena.rewind(arena.mark() + 1)
    assert arena.tail_used >= 10


def test_used_bytes_is_the_sum_of_the_sections(arena):
    arena.head(160)
    arena.tail(30, 1)
    arena.temp(16)
    assert arena.used_bytes == arena.head_size + arena.tail_used + arena.temp_used >= 160 + 30 + 16
