"""Folds of integer tensors by the vector kernels (simd/folds.pxd), where there are such; else by the definitions.

    fold_integers(&kernels().folds, &shape, FOLD_MAX, FOLD_OF_S8, <const int8_t*>x.data, <int8_t*>y.data)
    fold_type(&kernels().folds, &shape, FOLD_ANY, x.type, x.data, y.data)     # of any type, also of truths
    sum_integers(kernels(), &shape, <const int8_t*>x.data, sums)    # in int32, into accumulators that are already set
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.copy_runs cimport fill
from tflm_cy.arithmetic.reduction cimport (
    FOLD_ALL, FOLD_ANY, FOLD_MAX, FOLD_MIN, MAX_AXES, FoldShape, advance, element, fold, fold_tensor, narrow, neutral, sum_narrow, sum_s32,
)
from tflm_cy.arithmetic.truths cimport fold_odd_truths, has_odd_truths
from tflm_cy.graph.tensor cimport BOOL, INT8, INT16, INT32, INT64
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.simd.folds cimport (
    FOLD_OF_S8, FOLD_OF_S16, FOLD_OF_S32, FOLD_OF_S64, FOLD_OF_U8, FoldKernel, FoldKernels,
)
from tflm_cy.simd.kernels cimport Kernels

cdef enum:
    PIECE = 4096                 # booleans of a row between two looks whether they have decided
    WIDE = 256                   # short rows are folded several at once, in so many accumulators
    HALVED = 32                  # bytes of accumulators, above which they are halved
    FEW = 16                     # values that are not worth a call


cdef inline void fold_columns(FoldKernel kernel, const element* x, int64_t rows, int64_t n, element* a) noexcept nogil:
    """Short rows, of which some fill a longer one, go several at once; the longer one is then folded in halves, with the rows that are left."""
    cdef element[WIDE] wide
    cdef int64_t per = 1
    while 2 * per * n <= WIDE and 4 * per <= rows:
        per *= 2
    if per > 1:
        memcpy(wide, x, per * n * sizeof(element))
        kernel(x + per * n, rows / per - 1, per * n, wide)
        x += rows / per * per * n
        rows %= per
        while per > 1 and per * n * <int64_t>sizeof(element) > HALVED:
            per /= 2
            kernel(wide + per * n, 1, per * n, wide)
            if rows >= per:
                kernel(x, 1, per * n, wide)
                x += per * n
                rows -= per
        kernel(wide, per, n, a)
    kernel(x, rows, n, a)


cdef inline void fold_matrices(const FoldKernels* fast, const FoldShape* s, int folding, int kind, const element* x, element* y) noexcept nogil:
    """As arithmetic.reduction's `fold`, by kernels."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef int64_t rows = s.dims[s.rank - 2] if s.rank > 1 else 1
    cdef int64_t matrix, out = 0
    if n * rows <= FEW:
        fold(folding, s, x, y)
        return
    memset(index, 0, sizeof(index))
    for matrix in range(s.inputs / (n * rows)):
        if s.strides[s.rank - 1] == 0:
            fast.rows[kind][folding](x, rows, n, y + out)
        else:
            fold_columns(fast.columns[kind][folding], x, rows, n, y + out)
        x += n * rows
        out = advance(s, s.rank - 2, index, out)


cdef inline void fold_integers(const FoldKernels* fast, const FoldShape* s, int folding, int kind, const element* x, element* y) noexcept nogil:
    """As arithmetic.reduction's `fold_tensor`."""
    cdef element start = neutral(folding, <element>0)
    if s.folded == 1:
        copy_bytes(y, x, s.inputs * sizeof(element))
    elif s.inputs == 0 or fast.rows[kind][folding] == NULL:
        fold_tensor(folding, s, x, y)
    else:
        fill(<char*>y, s.outputs * sizeof(element), <const char*>&start, sizeof(element))
        fold_matrices(fast, s, folding, kind, x, y)


cdef inline void fold_truths(const FoldKernels* fast, const FoldShape* s, int folding, const uint8_t* x, uint8_t* y) noexcept nogil:
    """Any of them is the largest, all of them the smallest; a long row ends with the piece that decides."""
    cdef int order = FOLD_MAX if folding == FOLD_ANY else FOLD_MIN
    cdef int64_t i, done
    if s.inputs == 0 or fast.rows[FOLD_OF_U8][order] == NULL:
        fold_tensor(folding, s, x, y)
        return
    if s.folded == 1:
        for i in range(s.inputs):
            y[i] = x[i] != 0
        return
    memset(y, folding == FOLD_ALL, s.outputs)
    if s.whole:
        done = 0
        while done < s.inputs and (y[0] != 0) == (folding == FOLD_ALL):
            fast.rows[FOLD_OF_U8][order](x + done, 1, min(<int64_t>PIECE, s.inputs - done), y)
            done += PIECE
    else:
        fold_matrices(fast, s, order, FOLD_OF_U8, x, y)
    for i in range(s.outputs):
        y[i] = y[i] != 0


cdef inline void fold_any_bits(const FoldKernels* fast, const FoldShape* s, const uint8_t* x, uint8_t* y) noexcept nogil:
    """Any of truths, bit by bit where a byte is neither 0 nor 1: the largest ones tell."""
    cdef int order = FOLD_MAX
    if s.inputs > 0 and fast.rows[FOLD_OF_U8][order] != NULL:
        memset(y, 0, s.outputs)
        fold_matrices(fast, s, order, FOLD_OF_U8, x, y)
        if not has_odd_truths(y, s.outputs):
            return
    fold_odd_truths(FOLD_ANY, False, s, x, y)


cdef inline void fold_type(const FoldKernels* fast, const FoldShape* s, int folding, int type, const void* x, void* y) noexcept nogil:
    if type == BOOL:
        fold_truths(fast, s, folding, <const uint8_t*>x, <uint8_t*>y)
    elif type == INT32:
        fold_integers(fast, s, folding, FOLD_OF_S32, <const int32_t*>x, <int32_t*>y)
    elif type == INT64:
        fold_integers(fast, s, folding, FOLD_OF_S64, <const int64_t*>x, <int64_t*>y)
    elif type == INT8:
        fold_integers(fast, s, folding, FOLD_OF_S8, <const int8_t*>x, <int8_t*>y)
    elif type == INT16:
        fold_integers(fast, s, folding, FOLD_OF_S16, <const int16_t*>x, <int16_t*>y)
    else:
        fold_integers(fast, s, folding, FOLD_OF_U8, <const uint8_t*>x, <uint8_t*>y)


cdef inline void sum_columns(const Kernels* fast, const narrow* x, int64_t rows, int64_t n, int32_t* sums) noexcept nogil:
    """Short rows go several at once, as in `fold_columns`."""
    cdef int32_t[WIDE] wide
    cdef int64_t per = WIDE / n
    cdef int64_t groups = 0
    cdef int64_t i, c
    while per * n >= 2 * HALVED and rows / per < 32:
        per /= 2
    if per >= 2:
        groups = rows / per
    if groups >= 4:
        memset(wide, 0, per * n * sizeof(int32_t))
        sum_long_columns(fast, x, groups, per * n, wide)
        for i in range(per):
            for c in range(n):
                sums[c] = <int32_t>(<uint32_t>sums[c] + <uint32_t>wide[i * n + c])
        x += groups * per * n
        rows -= groups * per
    if rows > 0:
        sum_long_columns(fast, x, rows, n, sums)


cdef inline void sum_long_columns(const Kernels* fast, const narrow* x, int64_t rows, int64_t n, int32_t* sums) noexcept nogil:
    if narrow is int16_t:
        fast.folds.sum_columns_s16(x, rows, n, sums)
    else:
        fast.elementwise_i8.sum_rows(<const uint8_t*>x, rows, n, narrow is int8_t, sums)


cdef inline void sum_integers(const Kernels* fast, const FoldShape* s, const narrow* x, int32_t* sums) noexcept nogil:
    """As arithmetic.reduction's `sum_narrow`."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef int64_t rows = s.dims[s.rank - 2] if s.rank > 1 else 1
    cdef bint into_one = s.strides[s.rank - 1] == 0
    cdef int64_t matrix, out = 0
    if s.inputs == 0 or fast.folds.sum_rows_s16 == NULL:
        sum_narrow(s, x, sums)
        return
    memset(index, 0, sizeof(index))
    for matrix in range(s.inputs / (n * rows)):
        if not into_one:
            sum_columns(fast, x, rows, n, sums + out)
        elif narrow is int16_t:
            fast.folds.sum_rows_s16(x, rows, n, sums + out)
        else:
            fast.elementwise_i8.sum_each_row(<const uint8_t*>x, rows, n, narrow is int8_t, sums + out)
        x += n * rows
        out = advance(s, s.rank - 2, index, out)


cdef inline void sum_words(const FoldKernels* fast, const FoldShape* s, const int32_t* x, int64_t* sums) noexcept nogil:
    """As arithmetic.reduction's `sum_s32`."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef int64_t rows = s.dims[s.rank - 2] if s.rank > 1 else 1
    cdef FoldKernel kernel = fast.sum_rows_s32 if s.strides[s.rank - 1] == 0 else fast.sum_columns_s32
    cdef int64_t matrix, out = 0
    if s.inputs == 0 or kernel == NULL:
        sum_s32(s, x, sums)
        return
    memset(index, 0, sizeof(index))
    for matrix in range(s.inputs / (n * rows)):
        kernel(x, rows, n, sums + out)
        x += n * rows
        out = advance(s, s.rank - 2, index, out)
