from libc.math cimport roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from tflm_cy.arithmetic.hybrid_quantization cimport find_range, quantize_asymmetric, quantize_part, quantize_symmetric
from tflm_cy.arithmetic.hybrid_scaling cimport scale_rows
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.optimized.power cimport eigen_power
from tflm_cy.arithmetic.transpose_conv cimport add_scaled_products
from tflm_cy.arithmetic.row_kernels cimport HalfFunction, RowKernels, RowRange, RowScale, RowSteps

cdef extern from "gemv_i16.h" nogil:
    void multiply_rows16(
        const int16_t* x, ptrdiff_t x_step, ptrdiff_t count, const int8_t* w, ptrdiff_t w_step, ptrdiff_t rows, ptrdiff_t n, bint minimum,
        int32_t* sums, ptrdiff_t sum_step) noexcept
    void add_scaled_products16(
        const int16_t* x, int32_t zero_point, ptrdiff_t n, const int8_t* w, ptrdiff_t step, const float* scales, float scale, float* sums,
        ptrdiff_t columns) noexcept

cdef extern from "columns_i16.h" nogil:
    void pack_columns16(const int8_t* w, ptrdiff_t w_step, ptrdiff_t k_step, ptrdiff_t columns, ptrdiff_t depth, int8_t* packed) noexcept
    void multiply_columns16(
        const int16_t* const* x, ptrdiff_t count, const int8_t* packed, ptrdiff_t columns, ptrdiff_t depth, ptrdiff_t start, ptrdiff_t n,
        int32_t* sums, ptrdiff_t sum_step) noexcept
    void multiply_taps16(const int16_t* const* x, ptrdiff_t taps, const int8_t* packed, ptrdiff_t columns, int32_t* sums) noexcept
    void rescale_columns16(
        const int64_t* constants, ptrdiff_t step, bint wide, int32_t low, int32_t high, const int32_t* sums, ptrdiff_t n, int16_t* y) noexcept

cdef extern from "gemv_eigen.h" nogil:
    void multiply_vector_eigen(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, float* y) noexcept
    void accumulate_rows_lanes(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, const float* start, float* y) noexcept
    bint multiply_panels_eigen(const float* w, const float* x, float* y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t block) noexcept

cdef extern from "repeat_bytes.h" nogil:
    void repeat_rows(const unsigned char* x, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t times, unsigned char* y, ptrdiff_t y_row) noexcept

cdef extern from "functions_eigen.h" nogil:
    void logistic_eigen(const float* x, float* y, ptrdiff_t n) noexcept
    void tanh_eigen(const float* x, float* y, ptrdiff_t n) noexcept
    void gelu_eigen(const float* x, float* y, ptrdiff_t n) noexcept
    void exp_scaled_eigen(const float* x, float* y, ptrdiff_t n, float top, float beta) noexcept
    void scale_row_eigen(float* y, ptrdiff_t n, float scale) noexcept
    void subtract_row_eigen(const float* x, float* y, ptrdiff_t n, float a, float b) noexcept
    float row_sum_eigen(const float* p, ptrdiff_t n, ptrdiff_t start) noexcept
    bint row_largest_eigen(const float* x, ptrdiff_t n, float* largest) noexcept
    bint power_eigen(const float* x, float* y, float exponent) noexcept
    HalfFunction logistic_half_eigen
    HalfFunction tanh_half_eigen
    enum:
        VL


cdef void quantize_row_for_isa(const float* v, ptrdiff_t n, bint asymmetric, int16_t* q, RowScale* s) noexcept nogil:
    """The definition, compiled for this instruction set."""
    if asymmetric:
        quantize_asymmetric(v, n, q, s)
    else:
        quantize_symmetric(v, n, q, s)


cdef void find_range_for_isa(const float* v, ptrdiff_t n, RowRange* r) noexcept nogil:
    find_range(v, n, r)


cdef void quantize_part_for_isa(const float* v, ptrdiff_t n, const RowScale* s, const RowSteps* steps, int16_t* q) noexcept nogil:
    quantize_part(v, n, s, steps, q)


cdef void scale_rows_for_isa(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, unsigned char* y,
    ptrdiff_t y_row,
) noexcept nogil:
    """The definition, too."""
    scale_rows(params, group, first, n, sums, sum_row, rows, y, y_row)


cdef void add_scaled_products_for_isa(
    const int16_t* q, int32_t zero_point, ptrdiff_t n, const int8_t* turned, ptrdiff_t oc, const float* scales, float scale, float* sums,
    ptrdiff_t columns,
) noexcept nogil:
    if AARCH64:
        add_scaled_products(q, zero_point, n, turned, oc, scales, scale, sums, columns)
    else:
        add_scaled_products16(q, zero_point, n, turned, oc, scales, scale, sums, columns)


cdef void narrow_row(const int16_t* q, ptrdiff_t n, int8_t* y) noexcept nogil:
    cdef ptrdiff_t i
    for i in range(n):
        y[i] = <int8_t>q[i]


cdef bint largest_of_row(const float* x, ptrdiff_t n, float* largest) noexcept nogil:
    return n >= VL and row_largest_eigen(x, n, largest)


cdef void power_row(const float* x, float* y, ptrdiff_t n, float exponent) noexcept nogil:
    cdef bint fractional = roundf(exponent) != exponent
    cdef ptrdiff_t i = 0
    cdef ptrdiff_t j
    while i < n:
        if fractional and i + VL <= n and power_eigen(x + i, y + i, exponent):
            i += VL
            continue
        for j in range(i, min(i + VL, n)):
            y[j] = eigen_power(x[j], exponent)
        i += VL


cdef void fill_rows(RowKernels* table) noexcept:
    table.multiply = multiply_rows16
    table.quantize = quantize_row_for_isa
    table.find_range = find_range_for_isa
    table.quantize_part = quantize_part_for_isa
    table.add_dots = accumulate_rows_lanes
    table.multiply_vector = multiply_vector_eigen
    table.multiply_panels = multiply_panels_eigen
    table.logistic = logistic_eigen
    table.tanh = tanh_eigen
    table.gelu = gelu_eigen
    table.scale_rows = scale_rows_for_isa
    table.narrow = narrow_row
    table.repeat = repeat_rows
    table.add_scaled_products = add_scaled_products_for_isa
    table.exp_scaled = exp_scaled_eigen
    table.row_sum = row_sum_eigen
    table.scale_row = scale_row_eigen
    table.subtract_row = subtract_row_eigen
    table.row_largest = largest_of_row
    table.power = power_row
    table.logistic_half = logistic_half_eigen
    table.tanh_half = tanh_half_eigen
    table.pack_columns = pack_columns16
    table.multiply_columns = multiply_columns16
    table.multiply_taps = multiply_taps16
    table.rescale_columns = rescale_columns16
