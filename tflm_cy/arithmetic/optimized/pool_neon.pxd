"""Pools of float32 as the optimized kernels compute them on aarch64, where they differ from pool_2d.pxd's: which NaN of a window comes out.

A pixel has blocks of four channels, which begin where four floats of the output begin on 16 bytes. In the blocks a maximum is NaN if a tap is,
beside them NaN is left out. Of several NaN in a sum the last one comes out in the blocks, beside them the first one.

Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h; Eigen:src/Core/arch/NEON/PacketMath.h.
"""
from libc.math cimport sqrtf
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.nan_order cimport add_first, max_first
from tflm_cy.arithmetic.optimized.reduction_neon cimport aligned_start_neon
from tflm_cy.arithmetic.pool_2d cimport Taps, tap_count, taps_at
from tflm_cy.arithmetic.shapes cimport Pool2D


cdef inline int64_t end_of_blocks(int64_t depth, int64_t start) noexcept nogil:
    return start + (depth - start) // 4 * 4 if start < depth else start


cdef inline void largest_of_taps(const float* x, int64_t depth, int64_t start, float* y) noexcept nogil:
    """y: the largest of the taps before."""
    cdef int64_t end = end_of_blocks(depth, start)
    cdef int64_t c
    for c in range(depth):
        if start <= c < end:
            y[c] = max_first(y[c], x[c])
        elif y[c] < x[c]:
            y[c] = x[c]


cdef inline void max_pool_f32_neon(const Pool2D* p, const float* x, float* y) noexcept nogil:
    cdef int64_t pixel = 0
    cdef int64_t start
    cdef int32_t n, oh, ow, ih, iw, c
    cdef Taps t
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                start = aligned_start_neon(pixel, p.channels)
                for c in range(p.channels):
                    y[c] = <float>-3.4028234663852886e38
                for ih in range(t.top, t.bottom):
                    for iw in range(t.left, t.right):
                        largest_of_taps(x + ((<int64_t>n * p.height + ih) * p.width + iw) * p.channels, p.channels, start, y)
                for c in range(p.channels):
                    y[c] = clamp_f32(y[c], p.low_f, p.high_f)
                y += p.channels
                pixel += 1


cdef inline void sum_of_taps(const float* x, int64_t depth, int64_t start, bint squares, float* y) noexcept nogil:
    """y: the sum of the taps before."""
    cdef int64_t end = end_of_blocks(depth, start)
    cdef float v
    cdef int64_t c
    for c in range(depth):
        v = x[c] * x[c] if squares else x[c]
        y[c] = add_first(v, y[c]) if start <= c < end else add_first(y[c], v)


cdef inline void sum_pool_f32_neon(const Pool2D* p, bint squares, const float* x, float* y) noexcept nogil:
    """AVERAGE_POOL_2D; with squares L2_POOL_2D."""
    cdef int64_t pixel = 0
    cdef int64_t start
    cdef int32_t n, oh, ow, ih, iw, c
    cdef float taps
    cdef Taps t
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                taps = <float>tap_count(t)
                start = aligned_start_neon(pixel, p.channels)
                for c in range(p.channels):
                    y[c] = 0
                for ih in range(t.top, t.bottom):
                    for iw in range(t.left, t.right):
                        sum_of_taps(
                            x + ((<int64_t>n * p.height + ih) * p.width + iw) * p.channels, p.channels, start, squares, y)
                for c in range(p.channels):
                    y[c] = clamp_f32(sqrtf(y[c] * (<float>1 / taps)) if squares else y[c] / taps, p.low_f, p.high_f)
                y += p.channels
                pixel += 1
