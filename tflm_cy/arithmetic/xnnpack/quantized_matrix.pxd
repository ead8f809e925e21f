"""Matrix products on int8 and uint8 in XNNPACK's arithmetic, and of float32 rows quantized on the way (dynamic range).

    multiply_8(x, x_zero_point, m, w, w_zero_point, n, k, stride, &out, rows, sums, y)     # y[m, n] = x[m, k] . w[n, k]
    multiply_dynamic(x, m, w, n, k, stride, &out, rows, sums, y)
    multiply_int2(x, m, w, n, k, stride, &out, rows, sums, y)                              # dynamic, int2 weights

Weights of 2 bits have a kernel of their own: it sums q * (w + 2) with int32, takes 2 * sum(q) off as floats, and rounds each product and
sum (`apart`); on aarch64 with dot products the last of both is fused.

w[j] starts at w + j * stride, with zeros behind its k values when the stride is longer; `rows` is room for two rows of `stride` int16
values, `sums` for two of n.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.multipliers cimport Requantize, Scaling
from tflm_cy.arithmetic.product_s16 cimport (
    LONGEST_8BIT, accumulate_one, accumulate_two, shift_values, subtract_weight_zero, sum_values, weight8,
)
from tflm_cy.arithmetic.xnnpack.dynamic_range cimport fmaf, quantize_row, scale_sums
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8
from tflm_cy.arithmetic.xnnpack.requantize_products cimport requantize_products


cdef inline void clear_ends(int16_t* rows, ptrdiff_t k, ptrdiff_t stride) noexcept nogil:
    cdef ptrdiff_t i
    for i in range(k, stride):
        rows[i] = 0
        rows[stride + i] = 0


cdef inline void sum_rows(const int16_t* rows, int count, const weight8* w, ptrdiff_t n, ptrdiff_t stride, int64_t* sums) noexcept nogil:
    """Of one or two rows."""
    cdef ptrdiff_t j
    for j in range(count * n):
        sums[j] = 0
    if count == 2:
        accumulate_two(rows, rows + stride, w, n, stride, stride, LONGEST_8BIT, sums, sums + n)
    else:
        accumulate_one(rows, w, n, stride, stride, LONGEST_8BIT, sums)


cdef inline void multiply_8(
    const byte8* x, int32_t x_zero_point, ptrdiff_t m, const weight8* w, int32_t w_zero_point, ptrdiff_t n, ptrdiff_t k, ptrdiff_t stride,
    const Requantize* out, int16_t* rows, int64_t* sums, byte8* y,
) noexcept nogil:
    cdef ptrdiff_t i = 0
    cdef int count, j
    clear_ends(rows, k, stride)
    while i < m:
        count = 2 if i + 2 <= m else 1
        for j in range(count):
            shift_values(x + (i + j) * k, k, x_zero_point, rows + j * stride)
        sum_rows(rows, count, w, n, stride, sums)
        for j in range(count):
            subtract_weight_zero(rows + j * stride, k, w_zero_point, n, sums + j * n)
            requantize_products(sums + j * n, out, n, y + (i + j) * n)
        i += count


cdef inline void multiply_dynamic(
    const float* x, ptrdiff_t m, const int8_t* w, ptrdiff_t n, ptrdiff_t k, ptrdiff_t stride, const Scaling* out, int16_t* rows,
    int64_t* sums, float* y,
) noexcept nogil:
    """Each row of x is quantized on its own."""
    cdef float[2] inverse
    cdef int32_t zero_point
    cdef ptrdiff_t i = 0
    cdef int count, j
    clear_ends(rows, k, stride)
    while i < m:
        count = 2 if i + 2 <= m else 1
        for j in range(count):
            inverse[j] = quantize_row(x + (i + j) * k, k, out.rows, &zero_point, rows + j * stride)
        sum_rows(rows, count, w, n, stride, sums)
        for j in range(count):
            scale_sums(sums + j * n, inverse[j], out, n, y + (i + j) * n)
        i += count


cdef inline void scale_int2(const int64_t* sums, int32_t row_sum, float inverse, const Scaling* out, ptrdiff_t n, float* y) noexcept nogil:
    """row_sum: of the quantized values with their zero point."""
    cdef float less = <float>2.0 * <float>row_sum
    cdef ptrdiff_t c
    cdef float v
    for c in range(n):
        v = <float><int32_t>(<uint32_t>sums[c] + 2 * <uint32_t>row_sum) - less
        v = v * inverse * out.scales[c] + out.bias[c] if out.apart else fmaf(v * inverse, out.scales[c], out.bias[c])
        v = v if v > out.low else out.low
        y[c] = v if v < out.high else out.high


cdef inline void multiply_int2(
    const float* x, ptrdiff_t m, const int8_t* w, ptrdiff_t n, ptrdiff_t k, ptrdiff_t stride, const Scaling* out, int16_t* rows,
    int64_t* sums, float* y,
) noexcept nogil:
    cdef int32_t zero_point
    cdef float inverse
    cdef ptrdiff_t i
    clear_ends(rows, k, stride)
    for i in range(m):
        inverse = quantize_row(x + i * k, k, out.rows, &zero_point, rows)
        sum_rows(rows, 1, w, n, stride, sums)
        scale_int2(sums, <int32_t>(sum_values(rows, k) + k * zero_point), inverse, out, n, y + i * n)
