"""Eigen's sum of a row on aarch64: arithmetic/optimized/reduction.pxd's `row_sum_f32` with four lanes, and the largest value of a row.

Source: Eigen:src/Core/Redux.h, arch/NEON/PacketMath.h.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.nan_order cimport add_first, add_runs, max_first

cdef enum:
    NEON_LANES = 4


cdef inline int64_t aligned_start_neon(int64_t row, int64_t depth) noexcept nogil:
    """The first element on 16 bytes of a row of a tensor that begins on 64."""
    return -(row * depth) & 3


cdef inline float row_sum_neon(const float* p, int64_t n, int64_t start) noexcept nogil:
    """Two accumulators of four lanes from element `start` on, the blocks in turn; then the elements before, then those behind. n >= 1."""
    cdef float[4] a
    cdef float[4] b
    cdef int64_t blocks, i
    cdef float total
    cdef int l
    start = min(start, n)
    blocks = (n - start) / 4
    if blocks == 0:
        total = p[0]
        for i in range(1, n):
            total = add_first(total, p[i])
        return total
    for l in range(4):
        a[l] = p[start + l]
        b[l] = p[start + 4 + l] if blocks > 1 else 0
    for i in range(start + 8, start + 4 * (blocks & ~<int64_t>1), 8):
        add_runs(a, p + i, a, 4)
        add_runs(b, p + i + 4, b, 4)
    if blocks > 1:
        add_runs(b, a, a, 4)       # of two NaN the second accumulator's
        if blocks & 1:
            add_runs(a, p + start + 4 * (blocks - 1), a, 4)
    total = add_first(add_first(a[0], a[1]), add_first(a[2], a[3]))
    for i in range(start):
        total = add_first(total, p[i])
    for i in range(start + 4 * blocks, n):
        total = add_first(total, p[i])
    return total


cdef inline float largest_neon(const float* x, int64_t depth, int64_t start) noexcept nogil:
    """In the lanes of `row_sum_neon`, where NaN stays; elsewhere it is left out unless it is the first element of a row without whole blocks."""
    cdef float[8] lanes
    cdef int64_t blocks, i
    cdef float top = x[0]
    cdef int l
    start = min(start, depth)
    blocks = (depth - start) / 4
    if blocks > 0:
        for l in range(4):
            lanes[l] = x[start + l]
            lanes[4 + l] = x[start + 4 + l] if blocks > 1 else 0
        for i in range(start + 8, start + 4 * (blocks & ~<int64_t>1), 8):
            for l in range(8):
                lanes[l] = max_first(lanes[l], x[i + l])
        for l in range(4 if blocks > 1 else 0):
            lanes[l] = max_first(lanes[l], lanes[4 + l])
            if blocks & 1:
                lanes[l] = max_first(lanes[l], x[start + 4 * (blocks - 1) + l])
        top = max_first(max_first(lanes[0], lanes[1]), max_first(lanes[2], lanes[3]))
    for i in range(depth):
        if i < start or i >= start + 4 * blocks:
            top = x[i] if x[i] > top else top
    return top
