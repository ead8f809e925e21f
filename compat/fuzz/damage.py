"""Bytes cut off and bytes changed.

    truncated(content, 17, 200)                     # the 17th of 200 places, evenly spread
    flipped(content, structure(content), rng)       # one byte, or a few

Every second flip hits the structure: all bytes that are not the contents of a buffer, so that options, shapes, types,
indices and offsets are hit even where a file consists of weights.
"""

import struct

import numpy as np

# What damage in practice and attacks have in common: ends of ranges, signs, small steps.
TELLING = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)


def truncated(content, number, count):
    """The first part of a file; cuts lie evenly between nothing and all."""
    return content[: len(content) * number // count]


def structure(content):
    """Positions of the bytes that are not inside a buffer's data, as (start, end) pairs."""
    spans, at = [], 0
    for start, end in sorted(_buffers(content)):
        if start > at:
            spans.append((at, start))
        at = max(at, end)
    return [*spans, (at, len(content))] if at < len(content) else spans


def _buffers(content):
    """(start, end) of the data of every buffer, by the vtables of an undamaged file."""

    def field(table, slot):
        vtable = table - struct.unpack_from("<i", content, table)[0]
        if 4 + 2 * slot >= struct.unpack_from("<H", content, vtable)[0]:
            return None
        offset = struct.unpack_from("<H", content, vtable + 4 + 2 * slot)[0]
        return table + offset if offset else None

    def follow(at):
        return at + struct.unpack_from("<I", content, at)[0]

    vector = field(follow(0), 4)
    if vector is None:
        return
    vector = follow(vector)
    for i in range(struct.unpack_from("<I", content, vector)[0]):
        buffer = follow(vector + 4 + 4 * i)
        data = field(buffer, 0)
        if data is not None:
            data = follow(data)
            yield data + 4, data + 4 + struct.unpack_from("<I", content, data)[0]
        offset, size = field(buffer, 1), field(buffer, 2)
        if offset is not None and size is not None:
            start = struct.unpack_from("<Q", content, offset)[0]
            yield start, start + struct.unpack_from("<Q", content, size)[0]


def flipped(content, spans, rng, in_structure):
    """A copy with one to four bytes changed, anywhere or within the spans."""
    damaged = bytearray(content)
    if not in_structure:
        damaged[rng.integers(len(damaged))] ^= int(rng.integers(1, 256))
        return bytes(damaged)
    lengths = np.array([end - start for start, end in spans])
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        start, end = spans[rng.choice(len(spans), p=lengths / lengths.sum())]
        at = int(rng.integers(start, end))
        old = damaged[at]
        while damaged[at] == old:
            damaged[at] = int(rng.choice(TELLING)) if rng.random() < 0.5 else int(rng.integers(256))
    return bytes(damaged)
