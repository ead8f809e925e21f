"""What TFLM_DECODE makes of a compressed constant, value by value. Values are moved as they are, whatever they mean.

| method | encoded | behind the ancillary tensor's 16 bytes |
| --- | --- | --- |
| look-up tables | an index of 1 to 7 bits per value | a table per channel, `stride` values from one to the next |
| pruning | a bit per value: it is given | those that are given, in their order; others are their channel's zero point |
| Huffman | codes | entries of 16 or 32 bits: tables of codes |

Bits are counted from the highest of each byte. A code is looked up by its first `first_bits` bits. An entry with its highest bit is a value,
and the four bits below say how many of the bits looked at belong to the code. Another one leads to a table: the four bits and one more are
looked at next, and the rest is how far that table lies behind this entry.

All of these return 0, or why they stopped: nothing is read outside of what they are given. With y == NULL they look, and write nothing.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/{decode_state_lut,decode_state_prune,decode_state_huffman}.cc.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

ctypedef fused Word:             # a value's bytes
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum Shortage:
    SHORT_ENCODED = -1           # the encoded tensor ends before the last value
    SHORT_TABLES = -2            # what it says leads behind the tables

cdef struct Channels:            # value i belongs to channel i / run % channels
    int64_t count
    int64_t channels
    int64_t run                  # values of one channel that follow each other


cdef inline uint32_t bits_at(const uint8_t* stream, uint64_t first, int width) noexcept nogil:
    """At most 8 bits, from bit `first` on."""
    cdef const uint8_t* byte = stream + (first >> 3)
    cdef int end = <int>(first & 7) + width
    cdef uint32_t two = <uint32_t>byte[0] << 8
    if end > 8:
        two |= byte[1]
    return (two >> (16 - end)) & ((<uint32_t>1 << width) - 1)


cdef inline int look_up(
    const Channels* c, const uint8_t* indices, int width, int64_t stride, const uint8_t* tables, size_t table_bytes, Word* y,
) noexcept nogil:
    """`indices` has `width` bits for each value."""
    cdef uint64_t length = table_bytes / sizeof(Word)
    cdef uint64_t bit = 0, at
    cdef int64_t channel = 0, i = 0, k
    while i < c.count:
        for k in range(c.run):
            at = <uint64_t>(channel * stride) + bits_at(indices, bit, width)
            if at >= length:
                return SHORT_TABLES
            if y != NULL:
                memcpy(&y[i], tables + at * sizeof(Word), sizeof(Word))
            bit += width
            i += 1
        channel = channel + 1 if channel + 1 < c.channels else 0
    return 0


cdef inline int fill_in(
    const Channels* c, const uint8_t* given, const int32_t* zero_points, const uint8_t* values, size_t value_bytes, Word* y,
) noexcept nogil:
    """`given` has a bit for each value; zero points are those of int8 (NULL: all are 0)."""
    cdef uint64_t left = value_bytes / sizeof(Word)
    cdef int64_t channel = 0, i = 0, k
    cdef Word zero
    while i < c.count:
        zero = <Word>(zero_points[channel] if zero_points != NULL else 0)
        for k in range(c.run):
            if bits_at(given, i, 1):
                if left == 0:
                    return SHORT_TABLES
                if y != NULL:
                    memcpy(&y[i], values, sizeof(Word))
                values += sizeof(Word)
                left -= 1
            elif y != NULL:
                y[i] = zero
            i += 1
        channel = channel + 1 if channel + 1 < c.channels else 0
    return 0


cdef inline uint32_t code_bits(const uint8_t* codes, size_t readable, uint64_t first, int width) noexcept nogil:
    """At most 16 bits, from bit `first` on; zeros where nothing can be read."""
    cdef uint64_t byte = first >> 3
    cdef uint32_t three = 0
    cdef int i
    for i in range(3):
        three = three << 8 | (codes[byte + i] if byte + i < readable else 0)
    return (three >> (24 - <int>(first & 7) - width)) & ((<uint32_t>1 << width) - 1)


cdef inline uint32_t entry(const uint8_t* tables, uint64_t at, bint wide) noexcept nogil:
    """A 16-bit entry is read as one of 32 bits."""
    cdef uint32_t long_entry
    cdef uint16_t short_entry
    if wide:
        memcpy(&long_entry, tables + 4 * at, 4)
        return long_entry
    memcpy(&short_entry, tables + 2 * at, 2)
    return <uint32_t>(short_entry & 0xF800) << 16 | (short_entry & 0x7FF)


cdef inline int expand_codes(
    int64_t count, const uint8_t* codes, size_t code_bytes, size_t readable, int first_bits, bint wide, const uint8_t* tables, size_t table_bytes,
    Word* y,
) noexcept nogil:
    """`codes` may be looked at as far as they are readable, but no code ends behind `code_bytes`."""
    cdef uint64_t length = table_bytes / (4 if wide else 2)
    cdef uint64_t bit = 0, at, end = 8 * <uint64_t>code_bytes
    cdef uint32_t found
    cdef int64_t i
    cdef int looked, used
    for i in range(count):
        looked = first_bits
        at = code_bits(codes, readable, bit, looked)
        while True:
            bit += looked
            if at >= length:
                return SHORT_TABLES
            found = entry(tables, at, wide)
            used = <int>(found >> 27 & 15)
            if found >> 31:
                break
            if bit > end:
                return SHORT_ENCODED
            looked = used + 1
            at += <uint64_t>(found & 0x7FFFFFF) + code_bits(codes, readable, bit, looked)
        if looked > used:
            bit -= looked - used
        if bit > end:
            return SHORT_ENCODED
        if y != NULL:
            y[i] = <Word>found
    return 0
