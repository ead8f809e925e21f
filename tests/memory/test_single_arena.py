"""SingleArena: TFLM's pointers and collision rules over one buffer, against a model of them in plain arithmetic."""

import ctypes
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import ArenaExhausted, SingleArena

from .sizes import SIZE_MAX


def on_boundary(size, shift=0, alignment=16):
    """A writable buffer of `size` bytes whose address is `shift` bytes behind a multiple of `alignment`."""
    memory = np.zeros(size + 2 * alignment, np.uint8)
    start = -memory.ctypes.data % alignment + shift
    return memory[start : start + size]


@pytest.mark.parametrize("shift", [0, 1, 9, 15])
def test_the_start_is_rounded_up_and_the_loss_reported(shift):
    arena = SingleArena(on_boundary(200, shift))
    assert arena.alignment_loss == -shift % 16
    assert arena.size == 200
    assert arena.free_bytes == 200 - arena.alignment_loss
    assert arena.head_address % 16 == 0


@pytest.mark.parametrize("size", range(192, 208))
def test_the_end_is_not_rounded_so_the_first_object_depends_on_the_size(size):
    arena = SingleArena(on_boundary(size))
    arena.tail(32, 16)
    assert arena.tail_used == 32 + size % 16
    arena.tail(32, 16)
    assert arena.tail_used == 64 + size % 16


def test_a_buffer_shorter_than_its_loss():
    with pytest.raises(ArenaExhausted):
        SingleArena(on_boundary(5, 1))
    assert SingleArena(on_boundary(0)).free_bytes == 0


def test_the_callers_buffer_is_used_and_pinned():
    buffer = bytearray(256)
    arena = SingleArena(buffer)
    ctypes.memset(arena.head(16), 0x5A, 16)
    assert buffer.count(0x5A) == 16
    with pytest.raises(BufferError):
        buffer.clear()
    view = np.frombuffer(arena.head_block, np.uint8)
    del arena
    with pytest.raises(BufferError):
        buffer.clear()
    del view
    buffer.clear()


@pytest.mark.parametrize("buffer", [b"read only", 3.5, None, memoryview(bytearray(64))[::2]])
def test_what_is_no_writable_buffer(buffer):
    with pytest.raises((BufferError, TypeError)):
        SingleArena(buffer)


def test_the_tail_is_zeroed_though_the_buffer_is_not():
    buffer = on_boundary(256)
    buffer[:] = 0xEE
    arena = SingleArena(buffer)
    assert ctypes.string_at(arena.tail(100), 100) == bytes(100)
    assert ctypes.string_at(arena.head(100), 100) == bytes(100)


def test_the_tail_stops_at_the_head():
    arena = SingleArena(on_boundary(256))
    arena.head(100)
    with pytest.raises(ArenaExhausted) as caught:
        arena.tail(157, 1)
    assert (caught.value.section, caught.value.asked, caught.value.left) == ("tail", 157, 156)
    assert "157 bytes asked in the tail, 156 left, 1 missing" in str(caught.value)
    arena.tail(156, 1)
    assert arena.free_bytes == 0


def test_padding_that_does_not_fit_is_exhaustion_too():
    arena = SingleArena(on_boundary(250))
    arena.head(241)
    with pytest.raises(ArenaExhausted, match="tail"):
        arena.tail(8, 16)
    arena.tail(8, 2)


def test_the_tail_does_not_run_into_a_temporary_in_use():
    arena = SingleArena(on_boundary(256))
    temporary = arena.temp(128)
    with pytest.raises(ArenaExhausted, match="tail"):
        arena.tail(129, 1)
    arena.release(temporary)
    arena.tail(129, 1)  # as in TFLM: a released temporary is nobody's memory
    with pytest.raises(ArenaExhausted, match="temp"):
        arena.temp(0, 1)
    arena.reset_temp()
    arena.temp(127, 1)


def test_a_temporary_stops_at_the_tail():
    arena = SingleArena(on_boundary(256))
    arena.tail(64, 1)
    arena.head(10)
    with pytest.raises(ArenaExhausted) as caught:
        arena.temp(177, 16)
    assert (caught.value.section, caught.value.left) == ("temp", 256 - 64 - 16)
    arena.temp(176, 16)


def test_the_head_stops_at_the_tail():
    arena = SingleArena(on_boundary(256))
    arena.tail(56, 1)
    with pytest.raises(ArenaExhausted) as caught:
        arena.head(201)
    assert (caught.value.section, caught.value.asked, caught.value.left) == ("head", 201, 200)
    arena.head(200)


def test_exhaustion_is_a_memory_error():
    assert issubclass(ArenaExhausted, MemoryError)


def test_a_head_that_grows_is_zeroed_where_it_is_new():
    arena = SingleArena(on_boundary(512))
    address = arena.head(32)
    ctypes.memset(address, 1, 32)
    temporary = arena.temp(64, 1)
    ctypes.memset(temporary, 2, 64)
    arena.release(temporary)
    arena.reset_temp()
    arena.head(96)
    assert ctypes.string_at(address, 96) == b"\x01" * 32 + bytes(64)


STEPS = st.one_of(
    st.tuples(st.just("tail"), st.integers(0, 120), st.sampled_from([1, 4, 8, 16])),
    st.tuples(st.just("temp"), st.integers(0, 120), st.sampled_from([1, 4, 8, 16])),
    st.tuples(st.just("head"), st.integers(0, 300), st.just(1)),
    st.tuples(st.just("release"), st.just(0), st.just(1)),
    st.tuples(st.just("reset"), st.just(0), st.just(1)),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 600), st.integers(0, 15), st.lists(STEPS, max_size=30))
def test_against_the_rules_in_plain_arithmetic(size, shift, steps):
    buffer = on_boundary(size, shift)
    start = buffer.ctypes.data
    bottom = start + -start % 16
    if bottom > start + size:
        return
    arena = SingleArena(buffer)
    head = temp = bottom
    tail = start + size
    in_use = []
    for what, amount, alignment in steps:
        if what == "tail":
            address = (tail - amount) // alignment * alignment
            if address < (temp if in_use else head):
                with pytest.raises(ArenaExhausted):
                    arena.tail(amount, alignment)
            else:
                assert arena.tail(amount, alignment) == address
                tail = address
        elif what == "temp":
            address = -(-temp // alignment) * alignment
            if tail - address < amount:
                with pytest.raises(ArenaExhausted):
                    arena.temp(amount, alignment)
            else:
                assert arena.temp(amount, alignment) == address
                temp = address + amount
                in_use.append(address)
        elif what == "head":
            if temp != head:
                with pytest.raises(RuntimeError):
                    arena.head(amount)
            elif bottom + amount > tail:
                with pytest.raises(ArenaExhausted):
                    arena.head(amount)
            else:
                assert arena.head(amount) == bottom
                head = temp = bottom + amount
        elif what == "release":
            if in_use:
                arena.release(in_use.pop())
        elif in_use:
            with pytest.raises(RuntimeError):
                arena.reset_temp()
        else:
            arena.reset_temp()
            temp = head
        assert arena.head_size == head - bottom
        assert arena.temp_used == temp - head
        assert arena.tail_used == start + size - tail


def replay(size, requests):
    """Make the same requests in an arena of this size."""
    arena = SingleArena(on_boundary(size))
    for what, amount, alignment in requests:
        if what == "head":
            arena.reset_temp()
            arena.head(amount)
        else:
            address = getattr(arena, what)(amount, alignment)
            if what == "temp":
                arena.release(address)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["tail", "temp", "head"]), st.integers(0, 300), st.sampled_from([1, 4, 16])),
        max_size=12,
    )
)
def test_the_smallest_sufficient_arena(requests):
    """Whatever runs out names a size that suffices so far; 16 bytes less do not."""
    size, tries = 64, 0
    while True:
        try:
            replay(size, requests)
            break
        except ArenaExhausted as error:
            assert error.sufficient > size and (error.sufficient - size) % 16 == 0
            with pytest.raises(ArenaExhausted):
                replay(error.sufficient - 16, requests)
            size, tries = error.sufficient, tries + 1
    assert tries <= len(requests)


def test_what_an_exhausted_arena_says():
    arena = SingleArena(on_boundary(128))
    arena.head(100)
    with pytest.raises(ArenaExhausted) as caught:
        arena.tail(40)
    error = caught.value
    assert (error.section, error.asked, error.left, error.sufficient) == ("tail", 40, 28, 160)
    assert str(error) == (
        "arena exhausted: 40 bytes asked in the tail, 28 left, 12 missing; the smallest sufficient arena has 160 bytes"
    )
    again = pickle.loads(pickle.dumps(error))
    assert (again.section, again.sufficient, str(again)) == ("tail", 160, str(error))


def test_a_request_of_any_size_fails_in_order():
    arena = SingleArena(on_boundary(128))
    for call in (arena.tail, arena.temp, arena.head):
        with pytest.raises(ArenaExhausted) as caught:
            call(SIZE_MAX)
        assert caught.value.sufficient > SIZE_MAX - 127
