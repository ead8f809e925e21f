"""Booleans whose bytes are not 0 and 1, such as masks of 255.

C++ knows two values of a boolean, so that what happens to other bytes is the choice of TensorFlow's compiler: some operators look whether a
byte is 0, some at its lowest bit, some compute with the byte. Here is what they do (observed on TensorFlow 2.21 and TFLM), where it is not what is
done with bytes of 0 and 1.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.arg_reduction cimport MOST_COLUMNS
from tflm_cy.arithmetic.combine cimport ADD, MAXIMUM, MINIMUM, MULTIPLY
from tflm_cy.arithmetic.reduction cimport FOLD_ALL, MAX_AXES, FoldShape, advance


cdef inline bint has_odd_truths(const void* x, int64_t n) noexcept nogil:
    """Whether a byte is neither 0 nor 1."""
    cdef const uint8_t* values = <const uint8_t*>x
    cdef uint8_t bits = 0
    cdef int64_t i
    for i in range(n):
        bits |= values[i]
    return bits > 1


# ---- CAST
cdef inline void load_truths(const uint8_t* x, int64_t* block, int64_t n) noexcept nogil:
    """For floating point and complex numbers; integers take the byte."""
    cdef int64_t i
    for i in range(n):
        block[i] = x[i] != 0


cdef inline void truths_to_f32(const uint8_t* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>(x[i] != 0)


# ---- EQUAL, NOT_EQUAL
cdef inline void equal_truths(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = (a[i] != 0) == (b[i] != 0)


cdef inline void unequal_truths(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = (a[i] != 0) != (b[i] != 0)


cdef inline void differing_bits(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    """TFLM's NOT_EQUAL; its EQUAL compares bytes."""
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] ^ b[i]


# ---- ARG_MAX, ARG_MIN
cdef inline void arg_truths(const uint8_t* x, int64_t size, int64_t stride, int columns, bint largest, int32_t* index) noexcept nogil:
    """As arg_reduction's `arg_columns`; of the best so far the lowest bit is kept."""
    cdef uint8_t[MOST_COLUMNS] best
    cdef uint8_t value
    cdef int64_t i
    cdef int c
    for c in range(columns):
        best[c] = x[c] & 1
        index[c] = 0
    for i in range(1, size):
        for c in range(columns):
            value = x[i * stride + c]
            if value > best[c] if largest else value < best[c]:
                best[c] = value & 1
                index[c] = <int32_t>i


# ---- reductions of the reference kernels (TFLM's, too), and of the optimized REDUCE_ANY where the last axis stays
cdef inline void fold_odd_truths(int folding, bint whole, const FoldShape* s, const uint8_t* x, uint8_t* y) noexcept nogil:
    """Bit by bit; `whole`: all elements into one, of which the first counts as a truth, and later the lowest bit."""
    cdef int64_t[MAX_AXES] index
    cdef uint8_t one = x[0]
    cdef int64_t i, out = 0
    cdef int d
    if whole:
        for i in range(1, s.inputs):
            one = <uint8_t>(one != 0) if folding == FOLD_ALL or i == 1 else one & 1
            one = one & x[i] if folding == FOLD_ALL else one | x[i]
        y[0] = one
        return
    for i in range(s.outputs):
        y[i] = folding == FOLD_ALL
    for d in range(MAX_AXES):
        index[d] = 0
    for i in range(s.inputs):
        y[out] = y[out] & x[i] if folding == FOLD_ALL else y[out] | x[i]
        out = advance(s, s.rank, index, out)


# ---- STABLEHLO's operators and scatters, SCATTER_ND
cdef inline void combine_truths(int op, const uint8_t* a, ptrdiff_t a_step, const uint8_t* b, ptrdiff_t b_step, uint8_t* y, ptrdiff_t y_step,
                                int64_t n) noexcept nogil:
    """STABLEHLO_ADD, MAXIMUM: bit by bit; MULTIPLY, MINIMUM, AND: whether neither is 0."""
    cdef int64_t i
    if op == ADD or op == MAXIMUM:
        for i in range(n):
            y[i * y_step] = a[i * a_step] | b[i * b_step]
    else:
        for i in range(n):
            y[i * y_step] = (a[i * a_step] != 0) & (b[i * b_step] != 0)


cdef inline void scatter_truth(int op, const uint8_t* a, ptrdiff_t a_step, const uint8_t* b, ptrdiff_t b_step, uint8_t* y, ptrdiff_t y_step,
                               int64_t n) noexcept nogil:
    """STABLEHLO_SCATTER: an update b of the value a."""
    cdef int64_t i
    cdef uint8_t value, update
    for i in range(n):
        value, update = a[i * a_step], b[i * b_step]
        if op == ADD:
            update |= value
        elif op == MULTIPLY:
            update = update if value != 0 else 0
        elif op == MAXIMUM:
            update = max(value, update)
        elif op == MINIMUM:
            update = min(value, update)
        y[i * y_step] = update


cdef inline void add_truths(int op, const uint8_t* a, ptrdiff_t a_step, const uint8_t* b, ptrdiff_t b_step, uint8_t* y, ptrdiff_t y_step,
                            int64_t n) noexcept nogil:
    """SCATTER_ND: whether the sum of the bytes is 0."""
    cdef int64_t i
    for i in range(n):
        y[i * y_step] = <uint8_t>(a[i * a_step] + b[i * b_step]) != 0
