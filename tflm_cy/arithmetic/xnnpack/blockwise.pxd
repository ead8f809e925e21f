"""Dynamic range with int4 weights that have a scale for every `size` values of a row (blockwise): FULLY_CONNECTED only.

    fill_sums(&b, w, n, k, stride, sums); multiply_blockwise(x, m, w, n, k, stride, &b, &out, q, y)

The scales enter as float32 whose lower 16 bits are cut off. A row's sum is that of its blocks, as floats, and what the zero point of x makes
of the weights, so that the order decides the bits:

| `order` | CPU | x counts from | a block adds | the zero point's part | the end |
| --- | --- | --- | --- | --- | --- |
| ONE_SUM_VNNI | AVX-512 with VNNI | -128 | one sum | first | product and sum round separately |
| FOUR_SUMS | others of x86-64 | 0 | four sums, of the values 2l and 2l + 1 of each eight, in lanes of their own | first | (l0 + l1) + (l2 + l3); fused |
| ONE_SUM | aarch64 | 0 | one sum | first | fused |
| PACKED_4, PACKED_8 | aarch64 with dot products, with matrix products of bytes | 0 | one sum | last, fused | product and sum round separately |

Source: XNNPACK's qd8-f32-qb4w kernels and KleidiAI's kai_matmul_clamp_f32_qai8dxp_qsi4c32p, bytes checked against TensorFlow 2.21.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.half cimport bits_f32, f32_bits
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Scaling
from tflm_cy.arithmetic.xnnpack.dynamic_range cimport PACKED_4, PACKED_8, fmaf, larger, quantize_row, smaller

cdef enum:
    SUMMED = 16                  # weights whose sum is scaled at once

cdef enum BlockOrder:            # or PACKED_4, PACKED_8
    FOUR_SUMS
    ONE_SUM_VNNI
    ONE_SUM

cdef struct Blocks:
    ptrdiff_t size               # a multiple of 32
    const float* scales          # [n, k / size], cut
    const float* sums            # [n], by fill_sums
    int order


cdef inline float cut(float scale) noexcept nogil:
    return bits_f32(f32_bits(scale) >> 16 << 16)


cdef inline bint is_packed(const Blocks* b) noexcept nogil:
    return AARCH64 and (b.order == PACKED_4 or b.order == PACKED_8)


cdef inline void fill_sums(const Blocks* b, const int8_t* w, ptrdiff_t n, ptrdiff_t k, ptrdiff_t stride, float* sums) noexcept nogil:
    """Less the scaled sum of each row of weights."""
    cdef ptrdiff_t blocks = k / b.size
    cdef ptrdiff_t c, i, j
    cdef int32_t total
    for c in range(n):
        sums[c] = 0
        if is_packed(b):
            sums[c] = packed_sum(b, w + c * stride, b.scales + c * blocks, k)
            continue
        for i in range(0, k, 16):
            total = 0
            for j in range(SUMMED):
                total += w[c * stride + i + j]
            sums[c] = sums[c] - <float>total * b.scales[c * blocks + i / b.size]


cdef inline float packed_sum(const Blocks* b, const int8_t* w, const float* scales, ptrdiff_t k) noexcept nogil:
    """fill_sums of one row: a group of each half of 32 weights is scaled at once."""
    cdef ptrdiff_t group = 4 if b.order == PACKED_4 else 8
    cdef float sum = 0
    cdef int32_t total
    cdef ptrdiff_t i, g, j
    for i in range(0, k, 32):
        for g in range(16 / group):
            total = 0
            for j in range(i + g * group, i + (g + 1) * group):
                total += w[j] + w[j + 16]
            sum = fmaf(-<float>total, scales[i / b.size], sum)
    return sum


cdef inline float blocks_vnni(
    const Blocks* b, const int16_t* q, int32_t zero_point, const int8_t* w, const float* scales, ptrdiff_t k, float sum,
) noexcept nogil:
    """q: less the zero point."""
    cdef ptrdiff_t blocks = k / b.size
    cdef ptrdiff_t at, i
    cdef float a = sum * <float>(zero_point + 128)
    cdef int32_t products, weights
    for at in range(blocks):
        products = 0
        weights = 0
        for i in range(at * b.size, (at + 1) * b.size):
            products += <int32_t>q[i] * <int32_t>w[i]
            weights += w[i]
        a = fmaf(<float>(16 * (products + (zero_point + 128) * weights)), scales[at] * <float>0.0625, a)
    return a


cdef inline float blocks_avx2(
    const Blocks* b, const int16_t* q, int32_t zero_point, const int8_t* w, const float* scales, ptrdiff_t k, float sum,
) noexcept nogil:
    cdef ptrdiff_t blocks = k / b.size
    cdef float[4] lanes
    cdef int32_t[4] products
    cdef ptrdiff_t at, i
    cdef int l
    lanes[0] = sum * <float>zero_point
    for l in range(1, 4):
        lanes[l] = <float>0.0 * <float>zero_point
    for at in range(blocks):
        for l in range(4):
            products[l] = 0
        for i in range(at * b.size, (at + 1) * b.size, 8):
            for l in range(4):
                products[l] += (q[i + 2 * l] + zero_point) * w[i + 2 * l] + (q[i + 2 * l + 1] + zero_point) * w[i + 2 * l + 1]
        for l in range(4):
            lanes[l] = fmaf(<float>(16 * products[l]), scales[at] * <float>0.0625, lanes[l])
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


cdef inline float blocks_neon(
    const Blocks* b, const int16_t* q, int32_t zero_point, const int8_t* w, const float* scales, ptrdiff_t k, float sum,
) noexcept nogil:
    cdef float a = 0 if is_packed(b) else sum * <float>zero_point
    cdef ptrdiff_t at, i
    cdef int32_t products
    for at in range(k / b.size):
        products = 0
        for i in range(at * b.size, (at + 1) * b.size):
            products += (q[i] + zero_point) * w[i]
        a = fmaf(<float>products, scales[at], a)
    return fmaf(sum, <float>zero_point, a) if is_packed(b) else a


cdef inline float clamped(float v, const Scaling* out) noexcept nogil:
    """NaN becomes the lower limit, on aarch64 it stays."""
    if AARCH64:
        return larger(out.low, smaller(out.high, v))
    v = v if v > out.low else out.low
    return v if v < out.high else out.high


cdef inline void multiply_blockwise(
    const float* x, ptrdiff_t m, const int8_t* w, ptrdiff_t n, ptrdiff_t k, ptrdiff_t stride, const Blocks* b, const Scaling* out,
    int16_t* q, float* y,
) noexcept nogil:
    """q: k values. The scales of `out` are not used."""
    cdef ptrdiff_t blocks = k / b.size
    cdef int32_t zero_point
    cdef float inverse, v
    cdef ptrdiff_t i, c
    for i in range(m):
        inverse = quantize_row(x + i * k, k, out.rows, &zero_point, q)
        for c in range(n):
            if AARCH64:
                v = blocks_neon(b, q, zero_point, w + c * stride, b.scales + c * blocks, k, b.sums[c])
                v = v * inverse + out.bias[c] if is_packed(b) else fmaf(v, inverse, out.bias[c])
            elif b.order == ONE_SUM_VNNI:
                v = blocks_vnni(b, q, zero_point, w + c * stride, b.scales + c * blocks, k, b.sums[c]) * inverse + out.bias[c]
            else:
                v = fmaf(blocks_avx2(b, q, zero_point, w + c * stride, b.scales + c * blocks, k, b.sums[c]), inverse, out.bias[c])
            y[i * n + c] = clamped(v, out)
