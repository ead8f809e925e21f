"""Pools of bytes by the vector kernels, window by window: the bytes of arithmetic/pool_2d.pxd's `pool_2d`.

    largest_rows(&kernels().elementwise_i8, &shape, is_signed, x, first, end, y)      # output rows first .. end - 1, counted over all images
    if not average_rows(...): ...                                                     # a window has no tap inside
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.pool_2d cimport Pool2D, Taps, average_sums, tap_count, taps_at
from tflm_cy.simd.elementwise_i8 cimport ElementwiseI8Kernels

cdef enum:
    MOST_SUMS = 512              # channels whose sums lie on the stack


cdef inline void largest_rows(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, const uint8_t* x, int64_t first, int64_t end, uint8_t* y,
) noexcept nogil:
    cdef int32_t nothing = min(max(-128 if is_signed else 0, p.low), p.high)
    cdef int64_t pixel = p.channels
    cdef int64_t line = p.width * pixel
    cdef int64_t row
    cdef int32_t oh, ow
    cdef const uint8_t* image
    cdef Taps t
    if p.channels == 0:
        return
    y += first * p.out_width * p.channels
    for row in range(first, end):
        oh = <int32_t>(row % p.out_height)
        image = x + row / p.out_height * p.height * line
        for ow in range(p.out_width):
            t = taps_at(p, oh, ow)
            if tap_count(t) == 0:
                memset(y, nothing, p.channels)
            else:
                fast.largest(
                    image + t.top * line + t.left * pixel, t.bottom - t.top, line, t.right - t.left, p.channels, is_signed, p.low, p.high, y)
            y += p.channels


cdef inline bint average_rows(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, const uint8_t* x, int64_t first, int64_t end, uint8_t* y,
) noexcept nogil:
    """Of up to MOST_SUMS channels; a window's rows are summed up at once."""
    cdef int32_t[MOST_SUMS] sums
    cdef int64_t pixel = p.channels
    cdef int64_t line = p.width * pixel
    cdef int64_t row
    cdef int32_t oh, ow, ih
    cdef const uint8_t* image
    cdef Taps t
    if p.channels == 0:
        return True
    y += first * p.out_width * p.channels
    for row in range(first, end):
        oh = <int32_t>(row % p.out_height)
        image = x + row / p.out_height * p.height * line
        for ow in range(p.out_width):
            t = taps_at(p, oh, ow)
            if tap_count(t) == 0:
                return False
            memset(sums, 0, p.channels * sizeof(int32_t))
            for ih in range(t.top, t.bottom):
                fast.sum_rows(image + ih * line + t.left * pixel, t.right - t.left, p.channels, is_signed, sums)
            if is_signed:
                average_sums(p, sums, tap_count(t), p.channels, <int8_t*>y)
            else:
                average_sums(p, sums, tap_count(t), p.channels, y)
            y += p.channels
    return True
