"""float32 matrix products on aarch64, where another library than Eigen multiplies: each row of values times all rows of weights.

A sum is one chain of fused multiply-adds over k, from +0 on. Its kernel has blocks of eight rows of weights and eight rows of values, and loads
ahead: from k = 8 values on, only in the first quarter of a block are they added in order. In the others the last whole group of four values,
b .. b + 3, is added as b + 1, b + 2, b + 3, b (`value_of_step`).

Where there is one row of values, four rows of weights or more and k >= 4, there are four sums, value k going to sum k % 4; the last k % 4
values go to the last sums, the others getting a product with 0; then (s0 + s1) + (s2 + s3). What is added and clamped comes after.

Of several NaN the sum's comes out, then the weight's, with four sums the value's (`nan_of_chain`, `nan_of_lanes`).

Source: ruy:ruy/kernel_arm64.cc (KernelFloatNeon); LiteRT:tflite/kernels/cpu_backend_gemm_custom_gemv.h.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.machine cimport fmaf
from tflm_cy.arithmetic.nan_order cimport add_first, fused_first

cdef enum:
    ABREAST = 8                  # chains that do not wait for each other: a block's rows of weights


cdef inline bint is_lane_product(ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t values) noexcept nogil:
    """`values`: rows of values."""
    return values == 1 and rows >= 4 and depth >= 4


cdef inline bint in_order(ptrdiff_t row, ptrdiff_t value) noexcept nogil:
    """Row `row` of the weights and row `value` of the values, counted from the first of the matrices."""
    return (row | value) & 4 == 0


cdef inline ptrdiff_t last_group(ptrdiff_t depth) noexcept nogil:
    """The first value of the last whole group of four; `depth` where all values are added in order."""
    return depth - depth % 4 - 4 if depth >= 8 else depth


cdef inline ptrdiff_t value_of_step(ptrdiff_t step, ptrdiff_t depth) noexcept nogil:
    """Which value is added in a step, where it is not in order."""
    cdef ptrdiff_t last = last_group(depth)
    if step < last or step > last + 3:
        return step
    return last if step == last + 3 else step + 1


cdef inline float nan_of_chain(const float* w, ptrdiff_t depth, const float* x, bint ordered) noexcept nogil:
    cdef float total = 0
    cdef ptrdiff_t step, k
    for step in range(depth):
        k = step if ordered else value_of_step(step, depth)
        total = fused_first(total, w[k], x[k])
    return total


cdef inline void chain_products(const float* w, ptrdiff_t rows, ptrdiff_t depth, const float* x, ptrdiff_t value, float* sums) noexcept nogil:
    """Of row `value` of the values, x, and all rows of weights."""
    cdef float[ABREAST] s
    cdef ptrdiff_t o, step, i, now, early, late
    for o in range(0, rows, 8):               # ABREAST
        now = min(rows - o, <ptrdiff_t>ABREAST)
        for i in range(ABREAST):
            s[i] = 0
        for step in range(depth):
            late = value_of_step(step, depth)
            early = step if in_order(0, value) else late
            for i in range(min(now, <ptrdiff_t>4)):
                s[i] = fmaf(w[i * depth + early], x[early], s[i])
            for i in range(4, now):
                s[i] = fmaf(w[i * depth + late], x[late], s[i])
        for i in range(now):
            sums[o + i] = s[i] if s[i] == s[i] else nan_of_chain(w + i * depth, depth, x, in_order(o + i, value))
        w += now * depth


cdef inline float nan_of_lanes(const float* w, ptrdiff_t depth, const float* x) noexcept nogil:
    cdef float[4] s = [0, 0, 0, 0]
    cdef ptrdiff_t rest = depth % 4
    cdef ptrdiff_t i
    for i in range(depth - rest):
        s[i & 3] = fused_first(s[i & 3], x[i], w[i])
    for i in range(4 if rest > 0 else 0):
        s[i] = fused_first(s[i], x[depth - 4 + i] if i >= 4 - rest else <float>0, w[depth - 4 + i])
    return add_first(add_first(s[0], s[1]), add_first(s[2], s[3]))


cdef inline void lane_products(const float* w, ptrdiff_t rows, ptrdiff_t depth, const float* x, float* sums) noexcept nogil:
    """depth >= 4."""
    cdef float[4] s
    cdef ptrdiff_t rest = depth % 4
    cdef ptrdiff_t o, k, i
    for o in range(rows):
        s[0] = s[1] = s[2] = s[3] = 0
        for k in range(0, depth - rest, 4):
            for i in range(4):
                s[i] = fmaf(x[k + i], w[k + i], s[i])
        if rest > 0:
            for i in range(4):
                s[i] = fmaf(x[depth - 4 + i] if i >= 4 - rest else 0, w[depth - 4 + i], s[i])
        sums[o] = (s[0] + s[1]) + (s[2] + s[3])
        if sums[o] != sums[o]:
            sums[o] = nan_of_lanes(w, depth, x)
        w += depth
