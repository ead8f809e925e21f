from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.arg_reduction cimport arg_row_f32
from tflm_cy.simd.reductions cimport LARGEST, LARGEST_LAST, SMALLEST, SMALLEST_LAST, ReductionKernels, ScaledSums, SoftmaxRows

cdef extern from "reductions.h" nogil:
    void sum_columns(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void product_columns(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void largest_columns(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void smallest_columns(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void largest_last_columns(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void smallest_last_columns(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void largest_rows(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void smallest_rows(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void largest_last_rows(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    void smallest_last_rows(const float* x, int64_t rows, int64_t step, int64_t n, float* a) noexcept
    int64_t extremes_of(const float* x, int64_t rows, int64_t step, int64_t n, bint largest, float* y) noexcept
    ScaledSums scaled_sums_of
    SoftmaxRows softmax_rows_of
    bint SUMS_ARE_WIDE
    bint find_extreme(const float* x, int64_t n, bint largest, int64_t* at) noexcept


cdef enum:
    SHORT_ROW32 = 8              # values, below which a row has no whole vector


cdef inline bint find_in_short_row(const float* x, int64_t n, float sign, int64_t* at) noexcept nogil:
    """The first of the largest values times a sign, without branches; False: one is NaN."""
    cdef float best = sign * x[0]
    cdef int nan = best != best
    cdef int64_t index = 0
    cdef int64_t i
    cdef float v
    for i in range(1, n):
        v = sign * x[i]
        nan |= v != v
        index ^= (index ^ i) & -<int64_t>(v > best)          # a compiler may make a branch of a choice
        best = v if v > best else best
    at[0] = index
    return nan == 0


cdef inline bint find_in_row(const float* x, int64_t n, bint largest, int64_t* at) noexcept nogil:
    cdef float sign = 1 if largest else -1
    if n == 2:
        return find_in_short_row(x, 2, sign, at)
    if n == 3:
        return find_in_short_row(x, 3, sign, at)
    if n < SHORT_ROW32:
        return find_in_short_row(x, n, sign, at)
    return find_extreme(x, n, largest, at)


cdef void arg_rows_f32(const float* x, int64_t rows, int64_t n, bint largest, bint wide, void* y) noexcept nogil:
    cdef int64_t r
    cdef int64_t at = 0
    for r in range(rows):
        if not find_in_row(x + r * n, n, largest, &at):
            at = arg_row_f32(x + r * n, n, largest)
        if wide:
            (<int64_t*>y)[r] = at
        else:
            (<int32_t*>y)[r] = <int32_t>at


cdef void fill_reductions(ReductionKernels* table) noexcept:
    table.columns = [sum_columns, product_columns, largest_columns, smallest_columns, largest_last_columns, smallest_last_columns]
    table.rows[LARGEST] = largest_rows
    table.rows[SMALLEST] = smallest_rows
    table.rows[LARGEST_LAST] = largest_last_rows
    table.rows[SMALLEST_LAST] = smallest_last_rows
    table.extremes = extremes_of
    table.scaled_sums[SUMS_ARE_WIDE] = scaled_sums_of
    table.softmax[SUMS_ARE_WIDE] = softmax_rows_of
    table.arg_rows = arg_rows_f32
