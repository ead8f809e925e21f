"""Eigen's sum of a row on aarch64: arithmetic/optimized/reduction.pxd's `row_sum_f32` with four lanes, and the largest value of a row.

Source: Eigen:src/Core/Redux.h, arch/NEON/PacketMath.h.
"""
from libc.stdint cimport int64_t

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
            total = total + p[i]
        return total
    for l in range(4):
        a[l] = p[start + l]
        b[l] = p[start + 4 + l] if blocks > 1 else 0
    for i in range(start + 8, start + 4 * (blocks & ~<int64_t>1), 8):
        for l in range(4):
            a[l] = a[l] + p[i + l]
            b[l] = b[l] + p[i + 4 + l]
    for l in range(4):
        if blocks > 1:
            a[l] = a[l] + b[l]
            if blocks & 1:
                a[l] = a[l] + p[start + 4 * (blocks - 1) + l]
    total = (a[0] + a[1]) + (a[2] + a[3])
    for i in range(start):
        total = total + p[i]
    for i in range(start + 4 * blocks, n):
        total = total + p[i]
    return total


cdef inline float largest_neon(const float* x, int64_t depth, int64_t start) noexcept nogil:
    """A NaN in the whole blocks of four from element `start` on comes out, elsewhere it is left out unless it is the first element of a row without
    such blocks."""
    cdef int64_t blocks, i
    cdef float top
    start = min(start, depth)
    blocks = (depth - start) / 4
    top = x[start] if blocks > 0 else x[0]
    for i in range(start, start + 4 * blocks):
        if x[i] != x[i]:
            return x[i]
        top = x[i] if x[i] > top else top
    for i in range(depth):
        if i < start or i >= start + 4 * blocks:
            top = x[i] if x[i] > top else top
    return top
