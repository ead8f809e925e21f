"""Folds of float32 matrices as arithmetic/reduction.pxd and arithmetic/optimized/reduction.pxd define them.

    table.reductions.columns[FOLD_SUM](x, rows, step, n, a)      # a[c] = fold of a[c] and x[r * step + c], row after row, for n columns
    table.reductions.rows[LARGEST](x, rows, step, n, a)          # a[r] = fold of a[r] and x[r * step + c]; n >= 1

`columns` and `rows` are indexed by FloatFold. Sums and products of rows have an order, so they have no vectors.
"""
from libc.stdint cimport int64_t

cdef enum:                       # FloatFold; the first four have the numbers of reduction.Folding
    COLUMN_SUM = 0
    COLUMN_PRODUCT = 1
    LARGEST = 2                  # the accumulator stays where a value is not greater
    SMALLEST = 3
    LARGEST_LAST = 4             # the value comes where the accumulator is not greater
    SMALLEST_LAST = 5
    FLOAT_FOLDS = 6

ctypedef void (*FloatFoldKernel)(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept nogil
ctypedef int64_t (*ExtremesKernel)(const float* x, int64_t rows, int64_t step, int64_t n, bint largest, float* y) noexcept nogil
ctypedef int64_t (*SoftmaxRows)(const float* x, int64_t rows, int64_t n, float* y) noexcept nogil
ctypedef void (*ScaledSums)(const float* x, int64_t rows, int64_t step, int64_t n, float scale, float* y) noexcept nogil

cdef struct ReductionKernels:
    FloatFoldKernel[FLOAT_FOLDS] columns
    FloatFoldKernel[FLOAT_FOLDS] rows            # NULL: no vectors
    # where the largest (smallest) value of each row is, as arithmetic/arg_reduction.pxd's arg_row_f32; wide: y is int64, else int32
    void (*arg_rows)(const float* x, int64_t rows, int64_t n, bint largest, bint wide, void* y) noexcept nogil
    # y[r] = the largest (smallest) of x[r * step + c], c < n; how many rows, up to one where the order decides: with a NaN, or zeros of both signs
    ExtremesKernel extremes
    # y[r] += the sum of x[r * step + c] * scale, as arithmetic/xnnpack/reduction.pxd's sum_rows with the same `wide`, but for NaN's bits
    ScaledSums[2] scaled_sums                    # [wide]; NULL: no vectors
    # rows of n values as arithmetic/xnnpack/softmax.pxd's softmax_row with the same `wide`; how many, up to one with a NaN or an infinite largest value
    SoftmaxRows[2] softmax                       # [wide]; NULL: no vectors
