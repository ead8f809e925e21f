"""Vector kernels for what the hybrid and the recurrent definitions do with rows: the same bytes, faster.

A definition that takes a `const RowKernels*` computes by itself where it is NULL. Products of floats say only that an output is NaN, not which one: the
definition computes such an output again.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t

cdef struct RowScale:            # of a quantized row: real value = scale * (quantized - zero_point)
    float scale
    int32_t zero_point

cdef struct RowRange:            # of a part of a row
    float low
    float high
    bint nan                     # some value is NaN, and nothing is known of the others

cdef struct RowSteps:            # how values are quantized (hybrid.pxd)
    float inverse
    int32_t low
    bint plain
    bint zero                    # all of them become 0

# sums[j * sum_step + r] = x[j] . w[r] modulo 2^32 for `count` rows of values and `rows` rows of weights; minimum: hybrid.pxd's sign errors are added
ctypedef void (*MultiplyRows)(
    const int16_t* x, ptrdiff_t x_step, ptrdiff_t count, const int8_t* w, ptrdiff_t w_step, ptrdiff_t rows, ptrdiff_t n, bint minimum,
    int32_t* sums, ptrdiff_t sum_step,
) noexcept nogil

# sums[j * sum_step + c] = x[j][start .. start + n] . w[c]: of `depth` values; `start` is even, and so is n but at the end; whole vectors are written
ctypedef void (*MultiplyColumns)(
    const int16_t* const* x, ptrdiff_t count, const int8_t* packed, ptrdiff_t columns, ptrdiff_t depth, ptrdiff_t start, ptrdiff_t n,
    int32_t* sums, ptrdiff_t sum_step,
) noexcept nogil

# sums[c] = x[0][c] * w[c][0] + x[1][c] * w[c][1] ..: of `taps` rows of values; whole vectors are read and written
ctypedef void (*MultiplyTaps)(const int16_t* const* x, ptrdiff_t taps, const int8_t* packed, ptrdiff_t columns, int32_t* sums) noexcept nogil

# constants: per column one of each of RescaleConstants, each kind `step` from the one before (simd/columns_i16.h says what becomes of them)
ctypedef void (*RescaleColumns)(
    const int64_t* constants, ptrdiff_t step, bint wide, int32_t low, int32_t high, const int32_t* sums, ptrdiff_t n, int16_t* y,
) noexcept nogil

ctypedef void (*HalfFunction)(const uint16_t* x, uint16_t* y, ptrdiff_t n) noexcept nogil

cdef enum:
    COLUMN_BLOCK = 16            # packed columns are filled up to so many, and at most so many are a vector

cdef enum RescaleConstants:
    RESCALE_VALUE = 0
    RESCALE_ADDED = 1
    RESCALE_SHIFT = 2
    RESCALE_BIAS = 3
    RESCALE_LEFT = 4
    RESCALE_LOST = 5
    RESCALE_CONSTANTS = 6        # how many there are

cdef struct RowKernels:
    MultiplyRows multiply
    void (*quantize)(const float* v, ptrdiff_t n, bint asymmetric, int16_t* q, RowScale* s) noexcept nogil       # hybrid.pxd
    void (*find_range)(const float* v, ptrdiff_t n, RowRange* range) noexcept nogil
    void (*quantize_part)(const float* v, ptrdiff_t n, const RowScale* s, const RowSteps* steps, int16_t* q) noexcept nogil
    void (*add_dots)(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, const float* start, float* y) noexcept nogil
    void (*multiply_vector)(const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, float* y) noexcept nogil      # eigen.pxd
    bint (*multiply_panels)(
        const float* w, const float* x, float* y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t block) noexcept nogil
    void (*logistic)(const float* x, float* y, ptrdiff_t n) noexcept nogil            # y may be x
    void (*tanh)(const float* x, float* y, ptrdiff_t n) noexcept nogil
    void (*gelu)(const float* x, float* y, ptrdiff_t n) noexcept nogil                # gelu.pxd
    void (*scale_rows)(                              # hybrid_scaling.pxd
        const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows,
        unsigned char* y, ptrdiff_t y_row,
    ) noexcept nogil
    void (*narrow)(const int16_t* q, ptrdiff_t n, int8_t* y) noexcept nogil                # to int8, which holds the values
    # Each byte of rows of n so many times; what lies between the rows of y gets any values.
    void (*repeat)(
        const unsigned char* x, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t times, unsigned char* y, ptrdiff_t y_row) noexcept nogil
    void (*exp_scaled)(const float* x, float* y, ptrdiff_t n, float top, float beta) noexcept nogil     # eigen.pxd: exp((x - top) * beta)
    float (*row_sum)(const float* p, ptrdiff_t n, ptrdiff_t start) noexcept nogil      # optimized/reduction.pxd: n - start >= 8; NaN: any
    void (*scale_row)(float* y, ptrdiff_t n, float scale) noexcept nogil                               # y * scale
    void (*subtract_row)(const float* x, float* y, ptrdiff_t n, float a, float b) noexcept nogil       # x - a - b
    bint (*row_largest)(const float* x, ptrdiff_t n, float* largest) noexcept nogil    # False: a short row, NaN, or zero is the largest
    void (*power)(const float* x, float* y, ptrdiff_t n, float exponent) noexcept nogil                # optimized/power.pxd; y is not x
    HalfFunction logistic_half                       # optimized/activation.pxd, of float16; NULL: no vectors
    HalfFunction tanh_half                           # without a tail of libm's
    void (*add_scaled_products)(                     # transpose_conv.pxd
        const int16_t* q, int32_t zero_point, ptrdiff_t n, const int8_t* turned, ptrdiff_t oc, const float* scales, float scale, float* sums,
        ptrdiff_t columns,
    ) noexcept nogil
    # int16 values with int8 weights whose columns lie side by side: conv.pxd's sums modulo 2^32, and rescale_sums of them (ops/kernels/columns_i16.pxd)
    void (*pack_columns)(                            # w[c * w_step + k * k_step]
        const int8_t* w, ptrdiff_t w_step, ptrdiff_t k_step, ptrdiff_t columns, ptrdiff_t depth, int8_t* packed) noexcept nogil
    MultiplyColumns multiply_columns
    MultiplyTaps multiply_taps
    RescaleColumns rescale_columns
