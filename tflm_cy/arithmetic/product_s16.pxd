"""Integer products of a row of int16 values (8-bit activations less their zero point, or int16 activations) with rows of 8-bit weights.

Integer sums may be taken in any order, so the inner loops are plain: the compiler turns eight products and their pairwise sums into one
instruction, and four rows of weights share what is loaded of x.

    accumulate_one(x, w, rows, stride, n, longest, sums)         # sums[r] += x . w[r]; w[r] starts at w + r * stride

`longest` is how many products fit an int32 sum: LONGEST_8BIT when |x| <= 255, LONGEST_16BIT for any int16. Sums are int64, exact;
kernels whose accumulator is an int32 in TensorFlow cut it to 32 bits afterwards, which is what wrapping at each step gives.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

cdef enum:
    LONGEST_8BIT = 32768         # 2^15 products below 2^16
    LONGEST_16BIT = 256          # 2^8 products up to 2^15 * 2^8 (uint8 weights)

ctypedef fused weight8:          # values of 8 bits; int16_t holds them unpacked, for the price of memory a product in half the time
    int8_t
    uint8_t
    int16_t

ctypedef fused activation:
    int8_t
    uint8_t
    int16_t


cdef inline void shift_values(const activation* x, ptrdiff_t n, int32_t zero_point, int16_t* out) noexcept nogil:
    """out = x - zero_point; int16 activations have none."""
    cdef ptrdiff_t i
    for i in range(n):
        out[i] = <int16_t>(<int16_t>x[i] - <int16_t>zero_point)


cdef inline int64_t sum_values(const int16_t* x, ptrdiff_t n) noexcept nogil:
    cdef ptrdiff_t i
    cdef int64_t total = 0
    for i in range(n):
        total += x[i]
    return total


cdef inline void four_rows_two(
    const int16_t* x, const int16_t* y, const weight8* w, ptrdiff_t stride, ptrdiff_t n, int32_t* a, int32_t* b,
) noexcept nogil:
    """Two rows of values with four rows of weights."""
    cdef const weight8* w1 = w + stride
    cdef const weight8* w2 = w + 2 * stride
    cdef const weight8* w3 = w + 3 * stride
    cdef int32_t a0 = 0
    cdef int32_t a1 = 0
    cdef int32_t a2 = 0
    cdef int32_t a3 = 0
    cdef int32_t b0 = 0
    cdef int32_t b1 = 0
    cdef int32_t b2 = 0
    cdef int32_t b3 = 0
    cdef ptrdiff_t i
    for i in range(n):
        a0 += <int32_t>x[i] * <int32_t><int16_t>w[i]
        a1 += <int32_t>x[i] * <int32_t><int16_t>w1[i]
        a2 += <int32_t>x[i] * <int32_t><int16_t>w2[i]
        a3 += <int32_t>x[i] * <int32_t><int16_t>w3[i]
        b0 += <int32_t>y[i] * <int32_t><int16_t>w[i]
        b1 += <int32_t>y[i] * <int32_t><int16_t>w1[i]
        b2 += <int32_t>y[i] * <int32_t><int16_t>w2[i]
        b3 += <int32_t>y[i] * <int32_t><int16_t>w3[i]
    a[0] = a0
    a[1] = a1
    a[2] = a2
    a[3] = a3
    b[0] = b0
    b[1] = b1
    b[2] = b2
    b[3] = b3


cdef inline void four_rows(const int16_t* x, const weight8* w, ptrdiff_t stride, ptrdiff_t n, int32_t* a) noexcept nogil:
    """One row of values with four rows of weights."""
    cdef const weight8* w1 = w + stride
    cdef const weight8* w2 = w + 2 * stride
    cdef const weight8* w3 = w + 3 * stride
    cdef int32_t a0 = 0
    cdef int32_t a1 = 0
    cdef int32_t a2 = 0
    cdef int32_t a3 = 0
    cdef ptrdiff_t i
    for i in range(n):
        a0 += <int32_t>x[i] * <int32_t><int16_t>w[i]
        a1 += <int32_t>x[i] * <int32_t><int16_t>w1[i]
        a2 += <int32_t>x[i] * <int32_t><int16_t>w2[i]
        a3 += <int32_t>x[i] * <int32_t><int16_t>w3[i]
    a[0] = a0
    a[1] = a1
    a[2] = a2
    a[3] = a3


cdef inline int32_t one_row(const int16_t* x, const weight8* w, ptrdiff_t n) noexcept nogil:
    cdef int32_t a = 0
    cdef ptrdiff_t i
    for i in range(n):
        a += <int32_t>x[i] * <int32_t><int16_t>w[i]
    return a


cdef inline void accumulate_one(
    const int16_t* x, const weight8* w, ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t longest, int64_t* sums,
) noexcept nogil:
    """sums[r] += x . w[r]."""
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t length, r
    cdef int32_t[4] a
    while first < n:
        length = n - first if n - first < longest else longest
        r = 0
        while r + 4 <= rows:
            four_rows(x + first, w + r * stride + first, stride, length, a)
            sums[r] += a[0]
            sums[r + 1] += a[1]
            sums[r + 2] += a[2]
            sums[r + 3] += a[3]
            r += 4
        while r < rows:
            sums[r] += one_row(x + first, w + r * stride + first, length)
            r += 1
        first += length


cdef inline void accumulate_two(
    const int16_t* x, const int16_t* x2, const weight8* w, ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t longest,
    int64_t* sums, int64_t* sums2,
) noexcept nogil:
    """As accumulate_one for two rows of values."""
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t length, r
    cdef int32_t[4] a
    cdef int32_t[4] b
    while first < n:
        length = n - first if n - first < longest else longest
        r = 0
        while r + 4 <= rows:
            four_rows_two(x + first, x2 + first, w + r * stride + first, stride, length, a, b)
            sums[r] += a[0]
            sums[r + 1] += a[1]
            sums[r + 2] += a[2]
            sums[r + 3] += a[3]
            sums2[r] += b[0]
            sums2[r + 1] += b[1]
            sums2[r + 2] += b[2]
            sums2[r + 3] += b[3]
            r += 4
        while r < rows:
            sums[r] += one_row(x + first, w + r * stride + first, length)
            sums2[r] += one_row(x2 + first, w + r * stride + first, length)
            r += 1
        first += length


cdef inline void subtract_weight_zero(const int16_t* patch, ptrdiff_t depth, int32_t w_zero_point, ptrdiff_t oc, int64_t* sums) noexcept nogil:
    """From x . w to x . (w - zero point)."""
    cdef int64_t less
    cdef ptrdiff_t c
    if w_zero_point == 0:
        return
    less = sum_values(patch, depth) * w_zero_point
    for c in range(oc):
        sums[c] -= less
