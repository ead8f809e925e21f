"""ArenaPair: the tail in one buffer, head and temporaries in the other."""

import pytest

from tflm_cy.memory import ArenaExhausted, ArenaPair


def inside(address, buffer):
    return buffer.address <= address <= buffer.address + buffer.size


def test_each_section_in_its_buffer():
    arena = ArenaPair(1024, 2048)
    head, tail, temporary = arena.head(512), arena.tail(64), arena.temp(100)
    persistent, other = arena.persistent.head_block, arena.head_block
    assert inside(head, other) and inside(temporary, other) and inside(tail, persistent)
    assert arena.size == 1024 + 2048
    assert (arena.head_size, arena.tail_used, arena.temp_used) == (512, 64, 100)
    assert arena.persistent.head_size == arena.non_persistent.tail_used == 0


def test_one_side_full_does_not_matter_to_the_other():
    arena = ArenaPair(256, 256)
    arena.head(256)
    arena.tail(256, 1)
    for call, section in [(lambda: arena.tail(1, 1), "tail"), (lambda: arena.temp(1, 1), "temp")]:
        with pytest.raises(ArenaExhausted) as caught:
            call()
        assert caught.value.section == section
        assert caught.value.sufficient == 256 + 16


def test_both_buffers_are_pinned():
    buffers = [bytearray(64), bytearray(64)]
    arena = ArenaPair(*buffers)
    for buffer in buffers:
        with pytest.raises(BufferError):
            buffer.clear()
    del arena
    for buffer in buffers:
        buffer.clear()


def test_the_loss_of_an_unaligned_buffer():
    arena = ArenaPair(64, memoryview(bytearray(256))[1:])
    assert arena.alignment_loss == -(arena.head_block.address) % 16
