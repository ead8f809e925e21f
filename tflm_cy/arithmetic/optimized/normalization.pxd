"""Where the optimized kernels divide by Eigen's approximate inverse: L2 pooling and local response normalisation.

`inverse` refines what the CPU approximates by one step of Newton's iteration, on aarch64 by two, fused, in its vectors.
Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h; Eigen:src/Core/{MathFunctionsImpl.h,arch/AVX/MathFunctions.h}.
"""
from libc.math cimport powf, sqrtf
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first, mul_runs
from tflm_cy.arithmetic.optimized.power cimport eigen_power
from tflm_cy.arithmetic.pool_2d cimport CHANNEL_BLOCK, Taps, add_last, tap_count, taps_at
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.shapes cimport Pool2D

cdef enum:
    FACTORS = 256                # powers that are computed at once

cdef extern from "reciprocal.h" nogil:
    float tflm_cy_reciprocal(float x)
    int64_t inverses "tflm_cy_inverses"(float* y, int64_t n, bint of_roots)         # `inverse` of each, in whole vectors: of how many


cdef inline float inverse(float a) noexcept nogil:
    """Zeros and infinities, for which the step is NaN, get the approximation."""
    cdef float x = tflm_cy_reciprocal(a)
    cdef float rest
    if AARCH64:
        return x
    rest = <float>1 - a * x
    return x + x * rest if rest == rest else x


cdef inline void l2_pool_f32_eigen(const Pool2D* p, const float* x, float* y) noexcept nogil:
    """sqrt(sum of squares * inverse(count)), the sum in the order (row, column)."""
    cdef float[CHANNEL_BLOCK] acc
    cdef const float* tap
    cdef int32_t n, oh, ow, ih, iw, c, c0, block
    cdef float low = p.low_f
    cdef float high = p.high_f
    cdef float per_tap
    cdef bint begun
    cdef Taps t
    if p.channels == 0:
        return
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                per_tap = <float>1 / <float>tap_count(t) if AARCH64 else inverse(<float>tap_count(t))
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    begun = False
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        for iw in range(t.left, t.right):
                            if begun:
                                for c in range(block):
                                    acc[c] = add_last(acc[c], tap[c] * tap[c])
                            else:
                                for c in range(block):
                                    acc[c] = tap[c] * tap[c]
                                begun = True
                            tap += p.channels
                    for c in range(0 if begun else block):
                        acc[c] = 0
                    for c in range(block):
                        y[c] = clamp_f32(sqrtf(acc[c] * per_tap), low, high)
                    y += block


cdef inline float scaled_square(const float* x, int64_t depth, int64_t c, float alpha) noexcept nogil:
    return x[c] * x[c] * alpha if 0 <= c < depth else <float>0


cdef inline void local_response_scales(
    const float* x, float* y, int64_t depth, int64_t radius, float bias, float alpha,
) noexcept nogil:
    """y[c] = bias + the sum over c - radius .. c + radius, which slides: what leaves the window is subtracted from the sum."""
    cdef float total = 0
    cdef int64_t c
    for c in range(min(radius, depth)):
        total = add_first(total, scaled_square(x, depth, c, alpha))
    for c in range(depth):
        total = add_first(total, scaled_square(x, depth, c + radius, alpha))
        y[c] = bias + total
        total = total - scaled_square(x, depth, c - radius, alpha)


cdef inline void local_response_factors(float* y, int64_t n, float beta, const RowKernels* fast) noexcept nogil:
    """y = y^-beta in place: inverses for a beta of 1 and 0.5. Behind aarch64's vectors quotients, and powers of the C library."""
    cdef float[FACTORS] powers
    cdef int64_t c, block
    if AARCH64 and (beta == 1 or beta == <float>0.5):
        for c in range(inverses(y, n, beta != 1), n):
            y[c] = <float>1 / (y[c] if beta == 1 else sqrtf(y[c]))
        return
    if beta == 1 or beta == <float>0.5:
        for c in range(inverses(y, n, beta != 1) if fast != NULL else 0, n):
            y[c] = inverse(y[c] if beta == 1 else sqrtf(y[c]))
        return
    if AARCH64:
        for c in range(n - n % 4, n):
            y[c] = powf(y[c], -beta)
        n -= n % 4
    if fast == NULL:
        for c in range(n):
            y[c] = eigen_power(y[c], -beta)
        return
    while n > 0:
        block = min(n, <int64_t>FACTORS)
        fast.power(y, powers, block, -beta)
        memcpy(y, powers, block * sizeof(float))
        y += block
        n -= block


cdef inline void local_response_eigen(
    const float* x, float* y, int64_t rows, int64_t depth, int64_t radius, float bias, float alpha, float beta, const RowKernels* fast=NULL,
) noexcept nogil:
    """Of two NaNs an inverse stays before the value, the value before another power, and before both beyond the last whole block of eight of the
    whole tensor. On aarch64 the value stays before both but behind the last whole block of four, where another power stays before it.
    """
    cdef int64_t row
    cdef int64_t n = rows * depth
    cdef bint inverted = beta == 1 or beta == <float>0.5
    cdef int64_t body = (n if inverted else n - n % 4) if AARCH64 else (n - n % 8 if inverted else 0)
    for row in range(rows):
        local_response_scales(x + row * depth, y + row * depth, depth, radius, bias, alpha)
    local_response_factors(y, n, beta, fast)
    if AARCH64:
        mul_runs(x, y, y, body)
        mul_runs(y + body, x + body, y + body, n - body)
        return
    mul_runs(y, x, y, body)
    mul_runs(x + body, y + body, y + body, n - body)
