"""Matrices transposed, blocks of eight rows and columns at a time: each byte of both sides is met while its line is in the cache.

    transpose_bytes(x, x_row, columns, rows, y, y_row)     # y[q][c] = x[c][q], elements of one byte; rows lie x_row and y_row bytes apart
    transpose_words(...), transpose_dwords(...), transpose_qwords(...)     # of two, four and eight bytes

As signatures.pxd's `TransposeBlocks` wants them: `columns` rows of x, `rows` elements in each. A block of bytes is transposed in eight words, by
exchanging its halves, then the halves of these, then neighbours.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    BLOCK = 8


cdef inline void exchange(uint64_t* a, uint64_t* b, int shift, uint64_t mask) noexcept nogil:
    """The high parts of a and the low parts of b change places."""
    cdef uint64_t t = (a[0] >> shift ^ b[0]) & mask
    b[0] ^= t
    a[0] ^= t << shift


cdef inline void transpose_block_8(const uint8_t* x, int64_t x_row, uint8_t* y, int64_t y_row) noexcept nogil:
    """8 x 8 bytes, little-endian words."""
    cdef uint64_t[BLOCK] r
    cdef int i
    for i in range(BLOCK):
        memcpy(&r[i], x + i * x_row, 8)
    for i in range(4):
        exchange(&r[i], &r[i + 4], 32, <uint64_t>0x00000000FFFFFFFF)
    for i in range(2):
        exchange(&r[i], &r[i + 2], 16, <uint64_t>0x0000FFFF0000FFFF)
        exchange(&r[i + 4], &r[i + 6], 16, <uint64_t>0x0000FFFF0000FFFF)
    for i in range(0, BLOCK, 2):
        exchange(&r[i], &r[i + 1], 8, <uint64_t>0x00FF00FF00FF00FF)
    for i in range(BLOCK):
        memcpy(y + i * y_row, &r[i], 8)


cdef inline void transpose_bytes(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept nogil:
    cdef int64_t c = 0
    cdef int64_t q, i
    while c + BLOCK <= columns:
        q = 0
        while q + BLOCK <= rows:
            transpose_block_8(x + c * x_row + q, x_row, y + q * y_row + c, y_row)
            q += BLOCK
        for q in range(q, rows):
            for i in range(c, c + BLOCK):
                y[q * y_row + i] = x[i * x_row + q]
        c += BLOCK
    for q in range(rows):
        for i in range(c, columns):
            y[q * y_row + i] = x[i * x_row + q]


cdef inline void transpose_elements(
    const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row, int64_t size,
) noexcept nogil:
    """The size is a constant where this is called."""
    cdef int64_t c, q, i
    for c in range(0, columns, 8):
        for q in range(rows):
            for i in range(c, min(c + BLOCK, columns)):
                memcpy(y + q * y_row + size * i, x + i * x_row + size * q, size)


cdef inline void transpose_words(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept nogil:
    transpose_elements(x, x_row, columns, rows, y, y_row, 2)


cdef inline void transpose_dwords(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept nogil:
    transpose_elements(x, x_row, columns, rows, y, y_row, 4)


cdef inline void transpose_qwords(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept nogil:
    transpose_elements(x, x_row, columns, rows, y, y_row, 8)
