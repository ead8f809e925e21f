"""float32 sums, sums of squares and SOFTMAX of the xnnpack arithmetic on aarch64; shapes, maxima and minima are those of reduction.pxd.

- A row: sixteen sums, value i to sum i % 16, also of whole fours that are left over; (s[12 + j] + s[4 + j]) + (s[j] + s[8 + j]); then
  lanes 2 apart, two values left over, lanes 1 apart, the last value.
- A column: from +0 on, the rows in rising order; behind whole blocks of 16 channels each seventh value is the first operand. Sums of several runs
  of rows are added in rising order, the new one being the first operand but in whole fours behind those blocks.
- SOFTMAX: four sums, value i to sum i % 4; (s0 + s1) + (s2 + s3), then the sum of two values left over, then the last value.

Squares are fused with their sum, but for the last one to three values of a row, and so is the product with the scale of a row's sum.

Source: XNNPACK's f32-rsum, f32-rsum2, f32-rdsum, f32-rdsum2 and f32-raddstoreexpminusmax microkernels for NEON.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.machine cimport fmaf
from tflm_cy.arithmetic.nan_order cimport add_first, add_runs
from tflm_cy.arithmetic.xnnpack.lanes cimport add8, f32x8, fma8, load8, load_part8, mul8, splat8, store8, store_part8
from tflm_cy.arithmetic.xnnpack.reduction cimport MAXIMUM, ReduceShape, row_extreme
from tflm_cy.arithmetic.xnnpack.unary_neon cimport exp_minus8_neon


cdef inline void terms(float* sums, const float* x, int64_t n, bint square) noexcept nogil:
    cdef int64_t j
    if not square:
        add_runs(sums, x, sums, n)
        return
    for j in range(n):
        sums[j] = fmaf(x[j], x[j], sums[j])


cdef inline float last_term(float sum, float x, bint square) noexcept nogil:
    return add_first(sum, x * x if square else x)


cdef inline float row_sum_neon(const float* x, int64_t n, bint square) noexcept nogil:
    cdef float[16] s
    cdef int64_t i = 0
    cdef int64_t j
    for j in range(16):
        s[j] = 0
    while i + 16 <= n:
        terms(s, x + i, 16, square)
        i += 16
    for j in range(0, (n - i) / 4 * 4, 4):
        terms(s + j, x + i + j, 4, square)
    x += n / 4 * 4
    for j in range(4):
        s[j] = add_first(add_first(s[12 + j], s[4 + j]), add_first(s[j], s[8 + j]))
    s[0] = add_first(s[0], s[2])
    s[1] = add_first(s[1], s[3])
    if n & 2:
        s[0] = last_term(s[0], x[0], square)
        s[1] = last_term(s[1], x[1], square)
        x += 2
    s[0] = add_first(s[0], s[1])
    return last_term(s[0], x[0], square) if n & 1 else s[0]


cdef inline void sum_rows_neon(const ReduceShape* s, const float* x, float scale, bint square, float* y) noexcept nogil:
    """The last axis is reduced."""
    cdef int64_t a, b, c, i, j
    cdef const float* run
    for a in range(s.dims[0]):
        for b in range(s.dims[2]):
            for c in range(s.dims[4]):
                y[0] = 0
                for i in range(s.dims[1]):
                    for j in range(s.dims[3]):
                        run = x + a * s.strides[0] + i * s.strides[1] + b * s.strides[2] + j * s.strides[3] + c * s.strides[4]
                        y[0] = fmaf(row_sum_neon(run, s.dims[5], square), scale, y[0])
                y += 1


cdef inline f32x8 column_sum_neon(const float* x, int64_t n, int64_t stride, int64_t lanes, bint sevens, bint square) noexcept nogil:
    """Of n values each of eight (or fewer) channels; sevens: each seventh value is the first operand."""
    cdef f32x8 t = splat8(0)
    cdef f32x8 v
    cdef int64_t i
    for i in range(n):
        v = load8(x) if lanes >= 8 else load_part8(x, lanes)
        if square:
            t = fma8(v, v, t)
        else:
            t = add8(v, t) if sevens and i % 7 == 0 else add8(t, v)
        x += stride
    return t


cdef inline f32x8 add_column(f32x8 total, f32x8 column, int64_t kept) noexcept nogil:
    """Of two NaN the total's comes out in the first `kept` lanes, the column's in the others."""
    cdef float[16] lanes
    if kept >= 8:
        return add8(total, column)
    store8(lanes + 8, add8(column, total))
    if kept > 0:
        store8(lanes, add8(total, column))
        memcpy(lanes + 8, lanes, kept * sizeof(float))
    return load8(lanes + 8)


cdef inline void sum_columns_neon(const ReduceShape* s, const float* x, float scale, bint square, float* y) noexcept nogil:
    """The last axis is kept."""
    cdef int64_t a, b, c, k, j
    cdef int64_t channels = s.dims[5]
    cdef int64_t blocks = channels - channels % 16
    cdef int64_t fours = channels - channels % 4
    cdef const float* run
    cdef f32x8 acc, column
    for a in range(s.dims[1]):
        for b in range(s.dims[3]):
            for c in range(0, channels, 8):
                acc = splat8(0)
                for k in range(s.dims[0]):
                    for j in range(s.dims[2]):
                        run = x + k * s.strides[0] + a * s.strides[1] + j * s.strides[2] + b * s.strides[3] + c
                        column = column_sum_neon(run, s.dims[4], s.strides[4], channels - c, c >= blocks, square)
                        acc = add_column(acc, mul8(column, splat8(scale)), 0 if c < blocks else fours - c)
                if channels - c >= 8:
                    store8(y + c, acc)
                else:
                    store_part8(y + c, acc, channels - c)
            y += channels


# ---- SOFTMAX
cdef inline void softmax_row_neon(const float* x, int64_t n, float* y) noexcept nogil:
    cdef f32x8 m = splat8(row_extreme(MAXIMUM, x, n, -INFINITY, False))
    cdef float scale
    cdef int64_t i
    for i in range(0, n, 8):
        if i + 8 <= n:
            store8(y + i, exp_minus8_neon(load8(x + i) - m))
        else:
            store_part8(y + i, exp_minus8_neon(load_part8(x + i, n - i) - m), n - i)
    scale = <float>1 / sum_of_exponentials(y, n)
    for i in range(0, n, 8):
        if i + 8 <= n:
            store8(y + i, mul8(splat8(scale), load8(y + i)))
        else:
            store_part8(y + i, mul8(splat8(scale), load_part8(y + i, n - i)), n - i)


cdef inline float sum_of_exponentials(const float* e, int64_t n) noexcept nogil:
    cdef float[4] s = [0, 0, 0, 0]
    cdef float total
    cdef int64_t i = 0
    while i + 4 <= n:
        add_runs(s, e + i, s, 4)
        i += 4
    total = add_first(add_first(s[0], s[1]), add_first(s[2], s[3]))
    if n & 2:
        total = add_first(total, add_first(e[i], e[i + 1]))
        i += 2
    return add_first(total, e[i]) if n & 1 else total
