"""Block: aligned, zeroed, kept alive by its views."""

import ctypes
import gc
import sys

import numpy as np
import pytest

from tflm_cy.memory import Block

from .sizes import HUGE, SIZE_MAX


@pytest.mark.parametrize("alignment", [1, 16, 64, 4096])
@pytest.mark.parametrize("size", [0, 1, 100, 70000])
def test_aligned_and_zeroed(size, alignment):
    blocks = [Block(size, alignment) for _ in range(5)]
    for block in blocks:
        assert block.size == len(block) == size
        assert block.address and block.address % alignment == 0
        assert bytes(block) == bytes(size)


def test_memory_is_zero_after_a_dirty_block_was_freed():
    for _ in range(20):
        block = Block(5000)
        assert bytes(block) == bytes(5000)
        ctypes.memset(block.address, 0xAB, 5000)


def test_a_view_shows_the_memory_and_keeps_it():
    block = Block(64)
    view = np.frombuffer(block, np.int32)
    ctypes.memset(block.address, 1, 64)
    del block
    gc.collect()
    assert (view == 0x01010101).all()


def test_views_are_counted():
    block = Block(64)
    first, second = memoryview(block), np.frombuffer(block, np.uint8)
    assert block.exports == 2
    first.release()
    assert block.exports == 1
    del second
    assert block.exports == 0


@pytest.mark.parametrize("alignment", [0, 3, 48, 1 << 31])
def test_an_alignment_that_is_no_power_of_two_is_refused(alignment):
    with pytest.raises(ValueError, match="power of two"):
        Block(16, alignment)


@pytest.mark.parametrize("size", [HUGE, SIZE_MAX])
def test_too_much_memory_is_a_memory_error_with_the_size(size):
    with pytest.raises(MemoryError, match=str(size)):
        Block(size)


def test_a_block_is_made_once():
    block = Block(16)
    with pytest.raises(RuntimeError):
        block.__init__(1 << 20)
    assert block.size == 16


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_large_block_does_not_touch_its_pages():
    with open("/proc/self/statm") as file:
        before = int(file.read().split()[1])
    block = Block(1 << 28)
    with open("/proc/self/statm") as file:
        assert int(file.read().split()[1]) - before < 1000, "256 MB are 65536 pages"
    assert block.size == 1 << 28


def test_over_a_callers_buffer():
    buffer = bytearray(100)
    block = Block.over(memoryview(buffer)[10:])
    assert block.size == 90
    ctypes.memset(block.address, 7, 1)
    assert buffer[10] == 7
    with pytest.raises(BufferError):
        buffer.extend(b"x" * 1000)
    del block
    buffer.extend(b"x" * 1000)


@pytest.mark.parametrize("buffer", [b"constant", "text", memoryview(bytearray(8))[::2]])
def test_over_what_is_no_writable_buffer(buffer):
    with pytest.raises((BufferError, TypeError)):
        Block.over(buffer)


def test_over_a_read_only_array():
    array = np.zeros(8)
    array.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        Block.over(array)
