"""Vector kernels for what the hybrid and the recurrent definitions do with rows: the same bytes, faster.

A definition that takes a `const RowKernels*` computes by itself where it is NULL. Products of floats say only that an output is NaN, not which one: the
definition computes such an output again.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

cdef struct RowScale:            # of a quantized row: real value = scale * (quantized - zero_point)
    float scale
    int32_t zero_point

# sums[j * sum_step + r] = x[j] . w[r] modulo 2^32 for `count` rows of values and `rows` rows of weights; minimum: hybrid.pxd's sign errors are added
ctypedef void (*MultiplyRows)(
    const int16_t* x, ptrdiff_t x_step, ptrdiff_t count, const int8_t* w, ptrdiff_t w_step, ptrdiff_t rows, ptrdiff_t n, bint minimum,
    int32_t* sums, ptrdiff_t sum_step,
) noexcept nogil

cdef struct RowKernels:
    MultiplyRows multiply
    void (*quantize)(const float* v, ptrdiff_t n, bint asymmetric, int16_t* q, RowScale* s) noexcept nogil       # hybrid.pxd
    void (*add_dots)(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, const float* start, float* y) noexcept nogil
    void (*multiply_vector)(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, float* y) noexcept nogil      # eigen.pxd
    bint (*multiply_panels)(
        const float* w, const float* x, float* y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t block) noexcept nogil
    void (*logistic)(float* v, ptrdiff_t n) noexcept nogil
    void (*tanh)(float* v, ptrdiff_t n) noexcept nogil
    void (*scale_rows)(                              # hybrid_scaling.pxd
        const void* params, ptrdiff_t group, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, unsigned char* y, ptrdiff_t y_row,
    ) noexcept nogil
    void (*narrow)(const int16_t* q, ptrdiff_t n, int8_t* y) noexcept nogil                # to int8, which holds the values
