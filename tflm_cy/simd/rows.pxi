from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.hybrid cimport quantize_asymmetric, quantize_symmetric
from tflm_cy.arithmetic.hybrid_scaling cimport scale_rows
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale

cdef extern from "gemv_i16.h" nogil:
    void multiply_rows16(
        const int16_t* x, ptrdiff_t x_step, ptrdiff_t count, const int8_t* w, ptrdiff_t w_step, ptrdiff_t rows, ptrdiff_t n, bint minimum,
        int32_t* sums, ptrdiff_t sum_step) noexcept

cdef extern from "gemv_eigen.h" nogil:
    void multiply_vector_eigen(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, float* y) noexcept
    void accumulate_rows_lanes(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, const float* start, float* y) noexcept
    bint multiply_panels_eigen(const float* w, const float* x, float* y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t block) noexcept
    void logistic_eigen(float* v, ptrdiff_t n) noexcept
    void tanh_eigen(float* v, ptrdiff_t n) noexcept


cdef void quantize_row_for_isa(const float* v, ptrdiff_t n, bint asymmetric, int16_t* q, RowScale* s) noexcept nogil:
    """The definition, compiled for this instruction set."""
    if asymmetric:
        quantize_asymmetric(v, n, q, s)
    else:
        quantize_symmetric(v, n, q, s)


cdef void scale_rows_for_isa(
    const void* params, ptrdiff_t group, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, unsigned char* y, ptrdiff_t y_row,
) noexcept nogil:
    """The definition, too."""
    scale_rows(params, group, sums, sum_row, rows, y, y_row)


cdef void narrow_row(const int16_t* q, ptrdiff_t n, int8_t* y) noexcept nogil:
    cdef ptrdiff_t i
    for i in range(n):
        y[i] = <int8_t>q[i]


cdef void fill_rows(RowKernels* table) noexcept:
    table.multiply = multiply_rows16
    table.quantize = quantize_row_for_isa
    table.add_dots = accumulate_rows_lanes
    table.multiply_vector = multiply_vector_eigen
    table.multiply_panels = multiply_panels_eigen
    table.logistic = logistic_eigen
    table.tanh = tanh_eigen
    table.scale_rows = scale_rows_for_isa
    table.narrow = narrow_row
