"""MAX_POOL_2D of float32 as the optimized kernel computes it on aarch64, where it differs from pool_2d.pxd's: a NaN in the window comes out.

It does in a pixel's blocks of four channels, which begin where four floats of the output begin on 16 bytes; beside them NaN is left out.

Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h; Eigen:src/Core/arch/NEON/PacketMath.h.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.nan_order cimport max_first
from tflm_cy.arithmetic.optimized.reduction_neon cimport aligned_start_neon
from tflm_cy.arithmetic.pool_2d cimport Taps, taps_at
from tflm_cy.arithmetic.shapes cimport Pool2D


cdef inline void largest_of_taps(const float* x, int64_t depth, int64_t start, float* y) noexcept nogil:
    """y: the largest of the taps before."""
    cdef int64_t end = start + (depth - start) // 4 * 4 if start < depth else start
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
