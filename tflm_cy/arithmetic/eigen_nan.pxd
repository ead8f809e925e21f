"""Which NaN comes out of Eigen's matrix products (eigen.pxd), where several are summed: sign and payload, as TensorFlow's build has them.

    if y[r] != y[r]:
        y[r] = nan_of_row(a, v, k, last, wide_tail, a_first)       # a: the row of the matrix, v: the vector

Of two NaN the first operand of an instruction stays, and which operand that is the compiler chose for each step: the orders below were
read off from the results of all pairs of NaN, with TensorFlow 2.21 on x86-64. Only what is NaN is computed again, in that order.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.nan_order cimport add_first, mul_first

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    /* Whether each NaN among the operands is the one that x86-64 makes itself, of infinities and zeros: then so is each sum that is NaN. */
    static inline int tflm_cy_own_nans(const float *a, const float *v, ptrdiff_t k) {
    #if defined(__x86_64__)
      int others = 0;
      for (ptrdiff_t i = 0; i < k; i++) {
        int32_t x, y;
        memcpy(&x, a + i, 4);
        memcpy(&y, v + i, 4);
        others |= ((x & 0x7FFFFFFF) > 0x7F800000) & (x != (int32_t)0xFFC00000);
        others |= ((y & 0x7FFFFFFF) > 0x7F800000) & (y != (int32_t)0xFFC00000);
      }
      return !others;
    #else
      (void)a, (void)v, (void)k;
      return 0;
    #endif
    }
    static inline float tflm_cy_own_nan(void) { const uint32_t x = 0xFFC00000; float y; memcpy(&y, &x, 4); return y; }
    """
    bint own_nans "tflm_cy_own_nans"(const float* a, const float* v, ptrdiff_t k) noexcept nogil
    float own_nan "tflm_cy_own_nan"() noexcept nogil


cdef inline float joined(float a, float b, bint last) noexcept nogil:
    return add_first(b, a) if last else add_first(a, b)


cdef inline float fold8_joined(const float* low, const float* high, bint last) noexcept nogil:
    cdef float[4] s
    cdef int l
    for l in range(4):
        s[l] = joined(low[l], high[l], last)
    return joined(joined(s[0], s[2], last), joined(s[1], s[3], last), last)


cdef inline float nan_of_row(const float* a, const float* v, ptrdiff_t k, bint last, bint wide_tail, bint a_first) noexcept nogil:
    """row_f32 where a NaN comes out: of several the first in the order of the sum, or the last. v's comes out of a product, but a's, with
    a_first, of the last ones of a wide tail.
    """
    cdef float[8] lanes = [0, 0, 0, 0, 0, 0, 0, 0]
    cdef float[4] extra
    cdef ptrdiff_t i, t
    cdef float total
    cdef int l
    if own_nans(a, v, k):
        return own_nan()
    for i in range(k - k % 8):
        lanes[i & 7] = joined(lanes[i & 7], mul_first(v[i], a[i]), last)
    total = fold8_joined(lanes, lanes + 4, last)
    i = k - k % 8
    if wide_tail and k - i >= 4:
        for l in range(4):
            extra[l] = mul_first(v[i + l], a[i + l])
        total = add_first(total, add_first(add_first(extra[0], extra[2]), add_first(extra[1], extra[3])))
        i += 4
    for t in range(i, k):
        total = joined(total, mul_first(a[t], v[t]) if wide_tail and a_first else mul_first(v[t], a[t]), last)
    return total


cdef inline float nan_of_dot(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    """dot_f32 where a NaN comes out: the later accumulator's before the earlier one's, of the tail the last."""
    cdef float[32] lanes
    cdef ptrdiff_t blocks = k / 8
    cdef ptrdiff_t i, t
    cdef float total
    cdef int l
    if blocks == 0:
        total = mul_first(v[0], a[0])
        for i in range(1, k):
            total = add_first(mul_first(v[i], a[i]), total)
        return total
    for t in range(blocks):
        for l in range(8):
            total = mul_first(v[8 * t + l], a[8 * t + l])
            lanes[(t & 3) * 8 + l] = total if t < 4 else add_first(lanes[(t & 3) * 8 + l], total)
    for t in range(min(blocks, 4) - 1, 0, -1):
        for l in range(8):
            lanes[(t - 1) * 8 + l] = add_first(lanes[t * 8 + l], lanes[(t - 1) * 8 + l])
    total = fold8_joined(lanes, lanes + 4, False)
    for i in range(8 * blocks, k):
        total = add_first(mul_first(v[i], a[i]), total)
    return total


cdef inline float nan_of_small(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    """small_product where a NaN comes out: of several the first, and a's of a product."""
    cdef float[8] lanes
    cdef ptrdiff_t i
    cdef float total
    cdef int l
    if k < 8:
        total = mul_first(a[0], v[0])
        for i in range(1, k):
            total = add_first(total, mul_first(a[i], v[i]))
        return total
    for l in range(8):
        lanes[l] = mul_first(a[l], v[l])
        if k >= 16:
            lanes[l] = add_first(lanes[l], mul_first(a[8 + l], v[8 + l]))
    total = fold8_joined(lanes, lanes + 4, False)
    for i in range(k - k % 8, k):
        total = add_first(total, mul_first(a[i], v[i]))
    return total


cdef inline float nan_in_order(const float* a, const float* v, ptrdiff_t k, bint last, bint a_first) noexcept nogil:
    cdef float total = 0
    cdef ptrdiff_t i
    for i in range(k):
        total = joined(total, mul_first(a[i], v[i]) if a_first else mul_first(v[i], a[i]), last)
    return total


cdef inline float nan_of_sixteens(const float* a, const float* v, ptrdiff_t k, int column, bint second) noexcept nogil:
    """The whole blocks of k of the two middle columns of four take the last NaN; of a product v's, in the second register of eight a's."""
    cdef ptrdiff_t whole = k - k % 8
    cdef float total = 0
    cdef ptrdiff_t i
    for i in range(whole):
        total = joined(total, mul_first(a[i], v[i]) if second else mul_first(v[i], a[i]), column == 1 or column == 2)
    for i in range(whole, k):
        total = add_first(total, mul_first(a[i], v[i]))
    return total


cdef inline float nan_of_register(const float* a, const float* v, ptrdiff_t k, int column) noexcept nogil:
    """sum_even_odd of a register of eight: the last NaN, but of odd steps of the last two columns the first; a's of a product."""
    cdef float[2] sums = [0, 0]
    cdef ptrdiff_t whole = k - k % 8
    cdef ptrdiff_t i
    for i in range(whole):
        sums[i & 1] = joined(sums[i & 1], mul_first(a[i], v[i]), not i & 1 or column < 2)
    sums[0] = add_first(sums[1], sums[0])
    for i in range(whole, k):
        sums[0] = add_first(sums[0], mul_first(a[i], v[i]) if column == 0 else mul_first(v[i], a[i]))
    return sums[0]


cdef inline float nan_of_fours(const float* a, const float* v, ptrdiff_t k, int column) noexcept nogil:
    """sum_even_odd of a register of four: which of two NaN is its first operand is different in each of the steps that are unrolled."""
    cdef float[2] sums = [0, 0]
    cdef ptrdiff_t whole = k - k % 8
    cdef ptrdiff_t i
    cdef float product
    cdef int t
    cdef bint last
    for i in range(whole):
        t = i & 7
        product = mul_first(v[i], a[i]) if t & 3 == 2 else mul_first(a[i], v[i])
        if t & 1:
            last = column < 2 and (t & 3 == 1) == (column == 0)
        else:
            last = column != 3 or t & 3 == 0
        sums[t & 1] = joined(sums[t & 1], product, last)
    sums[0] = add_first(sums[1], sums[0])
    for i in range(whole, k):
        sums[0] = add_first(sums[0], mul_first(a[i], v[i]) if column == 0 else mul_first(v[i], a[i]))
    return sums[0]


cdef inline float nan_of_eights(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    """sum_by_eight: the first NaN, a's of a product."""
    cdef float[8] lanes = [0, 0, 0, 0, 0, 0, 0, 0]
    cdef ptrdiff_t full = k - k % 8
    cdef ptrdiff_t i
    cdef float low, high
    for i in range(full):
        lanes[i & 7] = add_first(lanes[i & 7], mul_first(a[i], v[i]))
    low = add_first(add_first(lanes[0], lanes[2]), add_first(lanes[4], lanes[6]))
    high = add_first(add_first(lanes[1], lanes[3]), add_first(lanes[5], lanes[7]))
    for i in range(full, k - k % 2, 2):
        low = add_first(low, mul_first(a[i], v[i]))
        high = add_first(high, mul_first(a[i + 1], v[i + 1]))
    low = add_first(low, high)
    return add_first(low, mul_first(a[k - 1], v[k - 1])) if k % 2 else low


cdef inline float nan_of_panel(
    const float* a, const float* v, ptrdiff_t k, ptrdiff_t block, ptrdiff_t i, ptrdiff_t n, ptrdiff_t j, ptrdiff_t m,
) noexcept nogil:
    """Output i of n, j of m, where a NaN comes out. Which of several it is follows from the registers that Eigen's kernels were given."""
    cdef bint behind = j >= m - m % 4
    cdef float total = 0
    cdef float part
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t length
    if own_nans(a, v, k):
        return own_nan()
    while start < k:
        length = min(block, k - start)
        if behind:
            part = nan_in_order(a + start, v + start, length, i >= n - n % 4, i >= n - n % 4)
        elif i < n - n % 16:
            part = nan_of_sixteens(a + start, v + start, length, <int>(j & 3), i & 8 != 0)
        elif i < n - n % 8:
            part = nan_of_register(a + start, v + start, length, <int>(j & 3))
        elif i < n - n % 4:
            part = nan_of_fours(a + start, v + start, length, <int>(j & 3))
        else:
            part = nan_of_eights(a + start, v + start, length)
        total = add_first(total, part)
        start += length
    return total
