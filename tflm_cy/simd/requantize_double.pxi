# See requantize_double.h.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.arithmetic.fully_connected cimport DoubleRescale
from tflm_cy.simd.requantize_double cimport RequantizeDoubleKernels

cdef extern from "requantize_double.h" nogil:
    ctypedef struct RequantizeDoubleLimits:
        bint is_signed
        vi zero
        vi low
        vi high
    void requantize_double_row(const RequantizeDoubleLimits* k, const double* scales, const int32_t* sums, ptrdiff_t n, uint8_t* y) noexcept


cdef void finish_requantize_double(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y,
    ptrdiff_t y_row,
) noexcept nogil:
    cdef const DoubleRescale* out = <const DoubleRescale*>params
    cdef RequantizeDoubleLimits k
    cdef ptrdiff_t r
    k.is_signed = out.low < 0           # without negative values both types have the same bytes
    k.zero = vi_set1(out.zero_point)
    k.low = vi_set1(out.low)
    k.high = vi_set1(out.high)
    for r in range(rows):
        requantize_double_row(&k, out.scales + first, sums + r * sum_row, n, y + r * y_row)


cdef void fill_requantize_double(RequantizeDoubleKernels* table) noexcept:
    table.finish = finish_requantize_double
