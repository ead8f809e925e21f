"""Folds of matrices of integers as arithmetic/reduction.pxd defines them, which have no order.

    table.folds.columns[FOLD_OF_S32][FOLD_MAX](x, rows, n, a)    # a[c] = fold of a[c] and x[r][c], row after row, for n columns
    table.folds.rows[FOLD_OF_S8][FOLD_MIN](x, rows, n, a)        # a[r] = fold of a[r] and x[r][c]
    table.folds.sum_columns_s16(x, rows, n, a)                   # int32 accumulators; of sum_columns_s32 int64
    table.folds.sum_lanes_s8(x, steps)                           # arithmetic/xnnpack/quantized_reduction.pxd's sum_lanes

Indexed by FoldType and the first four of reduction.Folding; NULL where there is no kernel: sums and products of what is narrower than int32.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport LaneSum

cdef enum:                       # FoldType
    FOLD_OF_S8 = 0
    FOLD_OF_U8 = 1
    FOLD_OF_S16 = 2
    FOLD_OF_S32 = 3
    FOLD_OF_S64 = 4
    FOLD_TYPES = 5

cdef enum:
    FOLDINGS = 4

ctypedef void (*FoldKernel)(const void* x, int64_t rows, int64_t n, void* a) noexcept nogil

cdef struct FoldKernels:
    FoldKernel[FOLD_TYPES][FOLDINGS] rows
    FoldKernel[FOLD_TYPES][FOLDINGS] columns
    FoldKernel sum_rows_s16
    FoldKernel sum_columns_s16
    FoldKernel sum_rows_s32
    FoldKernel sum_columns_s32
    LaneSum sum_lanes_s8
