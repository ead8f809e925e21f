"""Rows added up, multiplied or compared by the segment that each belongs to.

A row of `width` values joins row segments[i] of the output; a negative segment is left out. Integers wrap.
Source: LiteRT:tflite/kernels/{segment_sum,unsorted_segment}.cc.
"""
from libc.float cimport FLT_MAX
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.combine cimport ADD, MAXIMUM, MINIMUM, MULTIPLY, Combine
from tflm_cy.arithmetic.nan_order cimport add_first, mul_first

cdef extern from *:
    """
    #include "x86.h"
    X86_TWICE(tflm_cy_plus_zero, (const float *x, float *y, int64_t n), (x, y, n), {
      _Pragma("GCC unroll 2") for (int64_t i = 0; i < n; i++) y[i] = x[i] + 0.0f;
    })
    """
    void plus_zero "tflm_cy_plus_zero"(const float* x, float* y, int64_t n) noexcept nogil     # -0 becomes 0, NaN quiet

cdef enum Joining:
    JOIN_SUM = 0
    JOIN_PRODUCT = 1
    JOIN_LARGEST = 2
    JOIN_SMALLEST = 3
    JOIN_BEFORE = 4              # a sum over segments in order, whose new value is the first operand: of two NaN it comes out

cdef enum:
    SHORT_ROW = 8                # values

ctypedef fused Joined:
    float
    int32_t


cdef inline Joined neutral(int joining, Joined like) noexcept nogil:
    """What a segment without rows holds."""
    if Joined is float:
        return 0 if joining in (JOIN_SUM, JOIN_BEFORE) else 1 if joining == JOIN_PRODUCT else -FLT_MAX if joining == JOIN_LARGEST else FLT_MAX
    else:
        return 0 if joining in (JOIN_SUM, JOIN_BEFORE) else 1 if joining == JOIN_PRODUCT else INT32_MIN if joining == JOIN_LARGEST else INT32_MAX


cdef inline Joined joined(int joining, Joined a, Joined b) noexcept nogil:
    if joining == JOIN_LARGEST:
        return b if a < b else a
    if joining == JOIN_SMALLEST:
        return b if b < a else a
    if Joined is float:
        if joining == JOIN_BEFORE:
            return add_first(b, a)
        return add_first(a, b) if joining == JOIN_SUM else mul_first(a, b)
    else:
        return <int32_t>(<uint32_t>a * <uint32_t>b if joining == JOIN_PRODUCT else <uint32_t>a + <uint32_t>b)


cdef inline void join_row(Combine combine, int joining, Joined* row, const Joined* x, int64_t width) noexcept nogil:
    cdef int op = MAXIMUM if joining == JOIN_LARGEST else MINIMUM if joining == JOIN_SMALLEST else MULTIPLY if joining == JOIN_PRODUCT else ADD
    if Joined is float and joining == JOIN_BEFORE:
        combine(ADD, x, 1, row, 1, row, 1, width)
    else:
        combine(op, row, 1, x, 1, row, 1, width)


cdef inline void join_values(int joining, const Joined* x, const int32_t* segments, int64_t rows, Joined* y) noexcept nogil:
    """Rows of one value."""
    cdef int64_t i
    for i in range(rows):
        if segments[i] >= 0:
            y[segments[i]] = joined(joining, y[segments[i]], x[i])


cdef inline void join_short_rows(
    int joining, const Joined* x, const int32_t* segments, int64_t rows, int64_t width, Joined* y,
) noexcept nogil:
    """With a literal `joining` its loop has no branch for it."""
    cdef int64_t i, j
    cdef Joined* row
    if width == 1:
        join_values(joining, x, segments, rows, y)
        return
    for i in range(rows):
        row = y + segments[i] * width
        for j in range(width if segments[i] >= 0 else 0):
            row[j] = joined(joining, row[j], x[i * width + j])


cdef inline void join_sorted_rows(Combine combine, const Joined* x, const int32_t* segments, int64_t rows, int64_t width, Joined* y) noexcept nogil:
    """Of JOIN_BEFORE, whose segments follow each other without a gap: the first row of each is added to 0 and needs no output to be set before."""
    cdef int64_t i
    cdef Joined* row
    for i in range(rows):
        row = y + segments[i] * width
        if i > 0 and segments[i] == segments[i - 1]:
            join_row(combine, JOIN_BEFORE, row, x + i * width, width)
        else:
            if Joined is float:
                plus_zero(x + i * width, row, width)
            else:
                memcpy(row, x + i * width, width * sizeof(Joined))


cdef inline void join_segments(
    Combine combine, int joining, const Joined* x, const int32_t* segments, int64_t rows, int64_t width, Joined* y, int64_t y_count,
) noexcept nogil:
    """combine: the loop of the type."""
    cdef int64_t i
    cdef Joined start = neutral(joining, <Joined>0)
    if joining == JOIN_BEFORE and width >= SHORT_ROW:
        join_sorted_rows(combine, x, segments, rows, width, y)
        return
    for i in range(y_count):
        y[i] = start
    if width < SHORT_ROW:
        if joining == JOIN_SUM:
            join_short_rows(JOIN_SUM, x, segments, rows, width, y)
        elif joining == JOIN_PRODUCT:
            join_short_rows(JOIN_PRODUCT, x, segments, rows, width, y)
        elif joining == JOIN_LARGEST:
            join_short_rows(JOIN_LARGEST, x, segments, rows, width, y)
        elif joining == JOIN_SMALLEST:
            join_short_rows(JOIN_SMALLEST, x, segments, rows, width, y)
        else:
            join_short_rows(JOIN_BEFORE, x, segments, rows, width, y)
        return
    for i in range(rows):
        if segments[i] < 0:
            continue
        join_row(combine, joining, y + segments[i] * width, x + i * width, width)
