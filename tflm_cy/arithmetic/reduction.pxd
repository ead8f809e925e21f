"""Folding a tensor along some of its axes: sum, product, maximum, minimum, any, all; and how quantized sums become outputs.

A shape is first brought to a short form: axes of length 1 go, neighbours that are both reduced or both kept become one. Then rows of the
last axis follow each other in memory; a row is either folded into one accumulator or added element by element to a row of accumulators.
Both keep the order in which an accumulator sees its inputs (row-major over the input), which decides the bits of a float sum.

Source: LiteRT:tflite/kernels/{reduce.cc,internal/reference/reduce.h}.
"""
from libc.math cimport pow
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tflm_cy.arithmetic.fixed_point cimport multiply, multiply_wide, quantize_multiplier, wrap32
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.nan_order cimport add_first, add_runs, mul_first, mul_runs

cdef enum:
    MAX_AXES = 16

cdef enum Folding:
    FOLD_SUM = 0
    FOLD_PROD = 1
    FOLD_MAX = 2
    FOLD_MIN = 3
    FOLD_ANY = 4
    FOLD_ALL = 5

cdef struct FoldShape:
    int32_t rank                     # of the short form, at least 1
    int64_t[MAX_AXES] dims
    int64_t[MAX_AXES] strides        # of the accumulators; 0 along reduced axes
    int64_t outputs                  # number of accumulators
    int64_t inputs                   # number of elements; 0 when any axis is empty
    int64_t folded                   # elements per accumulator
    bint whole                       # every axis of the original shape is reduced

ctypedef fused element:
    float
    int32_t
    int64_t
    uint8_t
    int8_t
    int16_t

ctypedef fused narrow:
    uint8_t
    int8_t
    int16_t


cdef inline FoldShape fold_shape(int32_t rank, const int32_t* dims, uint32_t reduced) noexcept nogil:
    """`reduced` has bit d set when axis d is reduced."""
    cdef FoldShape s
    cdef int64_t stride = 1
    cdef bint reduce, previous = False
    cdef int d
    s.rank = 0
    s.outputs = s.inputs = s.folded = 1
    s.whole = True
    for d in range(rank):
        reduce = (reduced >> d) & 1
        s.inputs *= dims[d]
        s.whole = s.whole and reduce
        if reduce:
            s.folded *= dims[d]
        else:
            s.outputs *= dims[d]
        if dims[d] == 1:
            continue
        if s.rank > 0 and reduce == previous:
            s.dims[s.rank - 1] *= dims[d]
            continue
        s.dims[s.rank] = dims[d]
        s.strides[s.rank] = 0 if reduce else 1
        s.rank += 1
        previous = reduce
    if s.rank == 0:
        s.rank = 1
        s.dims[0] = 1
        s.strides[0] = 1
    for d in range(s.rank - 1, -1, -1):
        if s.strides[d]:
            s.strides[d] = stride
            stride *= s.dims[d]
    return s


cdef inline element fold_two(int folding, element a, element x) noexcept nogil:
    """The accumulator first, of two NaN, too. NaN never replaces it in a maximum or minimum; integers wrap."""
    if folding == FOLD_MAX:
        return x if x > a else a
    if folding == FOLD_MIN:
        return x if x < a else a
    if folding == FOLD_ANY:
        return <element>((x != 0) | (a != 0))
    if folding == FOLD_ALL:
        return <element>((x != 0) & (a != 0))
    if element is float:
        return add_first(a, x) if folding == FOLD_SUM else mul_first(a, x)
    else:
        return <element>(<uint64_t>a + <uint64_t>x) if folding == FOLD_SUM else <element>(<uint64_t>a * <uint64_t>x)


cdef inline element fold_into_one(int folding, element one, const element* x, int64_t n) noexcept nogil:
    """The foldings are literals here, so that each has a loop without branches."""
    cdef int64_t i
    if folding == FOLD_SUM:
        for i in range(n):
            one = fold_two(FOLD_SUM, one, x[i])
    elif folding == FOLD_PROD:
        for i in range(n):
            one = fold_two(FOLD_PROD, one, x[i])
    elif folding == FOLD_MAX:
        for i in range(n):
            one = fold_two(FOLD_MAX, one, x[i])
    elif folding == FOLD_MIN:
        for i in range(n):
            one = fold_two(FOLD_MIN, one, x[i])
    elif folding == FOLD_ANY:
        for i in range(n):
            one = fold_two(FOLD_ANY, one, x[i])
    else:
        for i in range(n):
            one = fold_two(FOLD_ALL, one, x[i])
    return one


cdef inline void fold_into_row(int folding, element* a, const element* x, int64_t n) noexcept nogil:
    cdef int64_t i
    if folding == FOLD_SUM:
        for i in range(n):
            a[i] = fold_two(FOLD_SUM, a[i], x[i])
    elif folding == FOLD_PROD:
        for i in range(n):
            a[i] = fold_two(FOLD_PROD, a[i], x[i])
    elif folding == FOLD_MAX:
        for i in range(n):
            a[i] = fold_two(FOLD_MAX, a[i], x[i])
    elif folding == FOLD_MIN:
        for i in range(n):
            a[i] = fold_two(FOLD_MIN, a[i], x[i])
    elif folding == FOLD_ANY:
        for i in range(n):
            a[i] = fold_two(FOLD_ANY, a[i], x[i])
    else:
        for i in range(n):
            a[i] = fold_two(FOLD_ALL, a[i], x[i])


cdef inline void fold_row(int folding, element* a, const element* x, int64_t n, bint into_one) noexcept nogil:
    if into_one:
        a[0] = fold_into_one(folding, a[0], x, n)
        return
    if element is float:
        if folding == FOLD_SUM:
            add_runs(a, x, a, n)
            return
        if folding == FOLD_PROD:
            mul_runs(a, x, a, n)
            return
    fold_into_row(folding, a, x, n)


cdef inline void fold_matrix(int folding, element* a, const element* x, int64_t rows, int64_t n, bint into_one) noexcept nogil:
    """into_one: each of the rows into an accumulator of its own; else all of them into one row of accumulators."""
    cdef int64_t r
    for r in range(rows):
        fold_row(folding, a + r if into_one else a, x + r * n, n, into_one)


cdef inline int64_t advance(const FoldShape* s, int axes, int64_t* index, int64_t out) noexcept nogil:
    """The accumulator of the next row, or matrix; `index` counts so many axes in front of it."""
    cdef int d
    for d in range(axes - 1, -1, -1):
        index[d] += 1
        out += s.strides[d]
        if index[d] < s.dims[d]:
            return out
        out -= s.strides[d] * s.dims[d]
        index[d] = 0
    return out


cdef inline void fold(int folding, const FoldShape* s, const element* x, element* a) noexcept nogil:
    """Into accumulators that are already set. Of the last two axes one is reduced and one is kept."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef int64_t rows = s.dims[s.rank - 2] if s.rank > 1 else 1
    cdef bint into_one = s.strides[s.rank - 1] == 0
    cdef int64_t matrix, out = 0
    cdef int d
    if s.inputs == 0:
        return
    for d in range(MAX_AXES):
        index[d] = 0
    for matrix in range(s.inputs / (n * rows)):
        fold_matrix(folding, a + out, x, rows, n, into_one)
        x += n * rows
        out = advance(s, s.rank - 2, index, out)


cdef inline element neutral(int folding, element like) noexcept nogil:
    """What an accumulator starts with; `like` only chooses the type."""
    if folding == FOLD_PROD or folding == FOLD_ALL:
        return 1
    if folding != FOLD_MAX and folding != FOLD_MIN:
        return 0
    if element is float:
        return <float>-3.4028234663852886e38 if folding == FOLD_MAX else <float>3.4028234663852886e38
    elif element is int32_t:
        return INT32_MIN if folding == FOLD_MAX else INT32_MAX
    elif element is int64_t:
        return INT64_MIN if folding == FOLD_MAX else INT64_MAX
    elif element is uint8_t:
        return 0 if folding == FOLD_MAX else 255
    elif element is int8_t:
        return -128 if folding == FOLD_MAX else 127
    else:
        return -32768 if folding == FOLD_MAX else 32767


cdef inline void fold_tensor(int folding, const FoldShape* s, const element* x, element* y) noexcept nogil:
    """A reduction over all axes starts with its first element, any other with the neutral one: the sum of [-0.0] is -0.0 in the one
    case and 0.0 in the other, and a NaN that comes first stays the maximum.
    """
    cdef element start = neutral(folding, <element>0)
    cdef int64_t i
    if s.whole and s.inputs > 0:
        y[0] = x[0]
        fold_matrix(folding, y, x + 1, 1, s.inputs - 1, True)
        return
    for i in range(s.outputs):
        y[i] = start
    fold(folding, s, x, y)


cdef inline void sum_narrow(const FoldShape* s, const narrow* x, int32_t* a) noexcept nogil:
    """Sums of 8- and 16-bit integers in int32, into accumulators that are already set."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef bint into_one = s.strides[s.rank - 1] == 0
    cdef int64_t row, i, out = 0
    cdef uint32_t total
    cdef uint32_t* u = <uint32_t*>a
    cdef int d
    if s.inputs == 0:
        return
    for d in range(MAX_AXES):
        index[d] = 0
    for row in range(s.inputs / n):
        if into_one:
            total = 0
            for i in range(n):
                total += <uint32_t><int32_t>x[i]
            u[out] += total
        else:
            for i in range(n):
                u[out + i] += <uint32_t><int32_t>x[i]
        x += n
        out = advance(s, s.rank - 1, index, out)


cdef inline void sum_s32(const FoldShape* s, const int32_t* x, int64_t* a) noexcept nogil:
    """Sums of int32 in int64."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t total
    cdef int64_t n = s.dims[s.rank - 1]
    cdef bint into_one = s.strides[s.rank - 1] == 0
    cdef int64_t row, i, out = 0
    cdef int d
    if s.inputs == 0:
        return
    for d in range(MAX_AXES):
        index[d] = 0
    for row in range(s.inputs / n):
        if into_one:
            total = 0
            for i in range(n):
                total += x[i]
            a[out] += total
        else:
            for i in range(n):
                a[out + i] += x[i]
        x += n
        out = advance(s, s.rank - 1, index, out)


cdef inline Multiplier mean_multiplier(Multiplier m, int64_t n) noexcept nogil:
    """The division by n folded into the multiplier, as far as the shift's range allows."""
    cdef int32_t bits = 0
    while n >> (bits + 1):
        bits += 1
    bits = min(bits, 32, 31 + m.shift)
    m.value = <int32_t>((<int64_t>m.value << bits) / n)
    m.shift -= bits
    return m


cdef inline void requantize_sums(const int32_t* a, narrow* y, int64_t outputs, Multiplier m, int64_t folded, int32_t x_zero_point,
                                 int32_t y_zero_point) noexcept nogil:
    cdef int32_t low = 0 if narrow is uint8_t else (-128 if narrow is int8_t else -32768)
    cdef int32_t high = 255 if narrow is uint8_t else (127 if narrow is int8_t else 32767)
    cdef int32_t value
    cdef int64_t i
    for i in range(outputs):
        value = wrap32(<int64_t>multiply(wrap32(a[i] - x_zero_point * folded), m.value, m.shift) + y_zero_point)
        y[i] = <narrow>max(low, min(value, high))


cdef inline Multiplier product_multiplier(float x_scale, float y_scale, int64_t folded) noexcept nogil:
    return quantize_multiplier(<double>x_scale / pow(<double>y_scale, 1.0 / <double>folded))


cdef inline void product_narrow(const FoldShape* s, const narrow* x, narrow* y, int32_t* a, Multiplier m, int32_t x_zero_point,
                                int32_t y_zero_point) noexcept nogil:
    """Every partial product is rescaled by x_scale / y_scale^(1/n), and the last once more."""
    cdef int32_t low = 0 if narrow is uint8_t else (-128 if narrow is int8_t else -32768)
    cdef int32_t high = 255 if narrow is uint8_t else (127 if narrow is int8_t else 32767)
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef bint into_one = s.strides[s.rank - 1] == 0
    cdef int64_t row, i, k, out = 0
    cdef int32_t value
    cdef bint first
    cdef int d
    for d in range(MAX_AXES):
        index[d] = 0
    for row in range(s.inputs / n):
        first = True
        for d in range(s.rank - 1):
            first = first and (s.strides[d] != 0 or index[d] == 0)
        for i in range(n):
            k = out if into_one else out + i
            if first and (i == 0 or not into_one):
                a[k] = x[i] - x_zero_point
            else:
                a[k] = multiply_wide(<int64_t>a[k] * (x[i] - x_zero_point), m.value, m.shift)
        x += n
        out = advance(s, s.rank - 1, index, out)
    for i in range(s.outputs):
        value = wrap32(<int64_t>multiply_wide(a[i], m.value, m.shift) + y_zero_point)
        y[i] = <narrow>max(low, min(value, high))
