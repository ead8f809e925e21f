"""Folds of float32 tensors by the vector kernels (simd/reductions.pxd), where there are such; else by the definitions.

    fold_floats(&kernels().reductions, &shape, FOLD_MAX, optimized, x, y)
    sum_floats(&kernels().reductions, &shape, x, y)

Source of `fold_by_threads`: LiteRT:tflite/kernels/reduce.cc (ReduceAllDims).
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.optimized.reduction cimport first_accumulator, fold_from_first_f32
from tflm_cy.arithmetic.reduction cimport FOLD_MAX, FOLD_MIN, FOLD_SUM, MAX_AXES, FoldShape, advance, fold, fold_tensor, fold_two, neutral
from tflm_cy.simd.reductions cimport LARGEST, LARGEST_LAST, FloatFoldKernel, ReductionKernels

cdef enum:
    PIECE = 2048                 # columns of long rows that are folded together
    LEAST_OF_THREAD = 1024       # values, where TensorFlow folds all by several threads


cdef inline FloatFoldKernel float_kernel(const ReductionKernels* fast, const FoldShape* s, int folding, bint last) noexcept nogil:
    """Of a fold whose largest and smallest take the first of equal values or the last; NULL: none."""
    cdef int number = folding + (LARGEST_LAST - LARGEST if last and (folding == FOLD_MAX or folding == FOLD_MIN) else 0)
    if s.inputs == 0 or folding > FOLD_MIN:
        return NULL
    return fast.rows[number] if s.strides[s.rank - 1] == 0 else fast.columns[number]


cdef inline void fold_by(FloatFoldKernel kernel, const FoldShape* s, const float* x, float* y) noexcept nogil:
    """As arithmetic.reduction's `fold`, by a kernel."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef int64_t rows = s.dims[s.rank - 2] if s.rank > 1 else 1
    cdef int64_t matrix, out = 0
    cdef int d
    for d in range(MAX_AXES):
        index[d] = 0
    for matrix in range(s.inputs / (n * rows)):
        kernel(x, rows, n, n, y + out)
        x += n * rows
        out = advance(s, s.rank - 2, index, out)


cdef inline void sum_floats(const ReductionKernels* fast, const FoldShape* s, const float* x, float* y) noexcept nogil:
    """Into accumulators that are already set."""
    cdef FloatFoldKernel kernel = float_kernel(fast, s, FOLD_SUM, False)
    if kernel != NULL:
        fold_by(kernel, s, x, y)
    else:
        fold(FOLD_SUM, s, x, y)


cdef inline void fold_floats(
    const ReductionKernels* fast, const FoldShape* s, int folding, bint optimized, const float* x, float* y,
) noexcept nogil:
    """As arithmetic.reduction's `fold_tensor`, or the optimized arithmetic's `fold_from_first_f32`."""
    cdef FloatFoldKernel kernel = float_kernel(fast, s, folding, optimized)
    cdef float first
    cdef int64_t i, n
    if kernel == NULL and optimized:
        fold_from_first_f32(folding, s, x, y)
    elif kernel == NULL:
        fold_tensor(folding, s, x, y)
    elif s.whole and not optimized:
        y[0] = x[0]
        kernel(x + 1, 1, 0, s.inputs - 1, y)
    else:
        first = first_accumulator(folding, False) if optimized else neutral(folding, <float>0)
        n = s.dims[s.rank - 1]
        # each accumulator meets one matrix alone: it is set when its piece begins
        if n >= PIECE and s.strides[s.rank - 1] != 0 and (s.rank == 2 or s.rank == 3 and s.strides[0] != 0):
            for i in range(s.dims[0] if s.rank == 3 else 1):
                fold_long_rows(kernel, s.dims[s.rank - 2], n, first, x + i * s.dims[1] * n, y + i * n)
            return
        for i in range(s.outputs):
            y[i] = first
        fold_by(kernel, s, x, y)


cdef inline void fold_by_threads(const ReductionKernels* fast, const FoldShape* s, int folding, int threads, const float* x, float* y) noexcept nogil:
    """As the reference with so many threads: of many values that become one each thread folds a stretch, from the neutral value on; then the stretches'
    folds are folded."""
    cdef FoldShape part = s[0]
    cdef int64_t first = 0
    cdef float one = 0
    cdef int i
    if not s.whole or threads <= 1 or s.inputs // threads < LEAST_OF_THREAD:
        fold_floats(fast, s, folding, False, x, y)
        return
    part.rank, part.strides[0], part.whole = 1, 0, False
    for i in range(threads):
        part.dims[0] = part.inputs = part.folded = (s.inputs - first) // (threads - i)
        fold_floats(fast, &part, folding, False, x + first, &one)
        y[0] = one if i == 0 else fold_two(folding, y[0], one)
        first += part.inputs


cdef inline void fold_long_rows(FloatFoldKernel kernel, int64_t rows, int64_t n, float first, const float* x, float* y) noexcept nogil:
    """A piece of all rows after the other: the accumulators stay in the cache."""
    cdef int64_t piece, at, i, some
    for piece in range((n + PIECE - 1) // PIECE):
        at = piece * PIECE
        some = min(n - at, <int64_t>PIECE)
        for i in range(at, at + some):
            y[i] = first
        kernel(x + at, rows, n, some, y + at)
