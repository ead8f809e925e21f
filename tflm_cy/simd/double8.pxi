# See double8.h.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.arithmetic.fully_connected cimport DoubleRescale
from tflm_cy.simd.double8 cimport Double8Kernels

cdef extern from "double8.h" nogil:
    ctypedef struct Double8Limits:
        bint is_signed
        vi zero
        vi low
        vi high
    void double8_row(const Double8Limits* k, const double* scales, const int32_t* sums, ptrdiff_t n, uint8_t* y) noexcept


cdef void finish_double8(
    const void* how, ptrdiff_t group, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y, ptrdiff_t y_row,
) noexcept nogil:
    cdef const DoubleRescale* out = <const DoubleRescale*>how
    cdef Double8Limits k
    cdef ptrdiff_t r
    k.is_signed = out.low < 0           # without negative values both types have the same bytes
    k.zero = vi_set1(out.zero_point)
    k.low = vi_set1(out.low)
    k.high = vi_set1(out.high)
    for r in range(rows):
        double8_row(&k, out.scales, sums + r * sum_row, out.columns, y + r * y_row)


cdef void fill_double8(Double8Kernels* table) noexcept:
    table.finish = finish_double8
