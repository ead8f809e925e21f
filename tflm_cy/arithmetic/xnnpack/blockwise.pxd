"""Dynamic range with int4 weights that have a scale for every `size` values of a row (blockwise): FULLY_CONNECTED only.

    fill_sums(&b, w, n, k, stride, sums); multiply_blockwise(x, m, w, n, k, stride, &b, &out, q, y)

The scales enter as float32 whose lower 16 bits are cut off. A row's sum is that of its blocks, as floats, and starts with what the zero
point of x makes of the weights, so that the order decides the bits. There are two:

| CPU | x counts from | a block adds | the end |
| --- | --- | --- | --- |
| AVX-512 with VNNI | -128 | one sum | product and sum round separately |
| others | 0 | four sums, of the values 2l and 2l + 1 of each eight, in lanes of their own | (l0 + l1) + (l2 + l3); fused |

Source: XNNPACK's qd8-f32-qb4w kernels, bytes checked against TensorFlow 2.21.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.half cimport bits_f32, f32_bits
from tflm_cy.arithmetic.xnnpack.dynamic_range cimport Scaling, fmaf, quantize_row

cdef enum:
    PACKED = 16                  # weights whose sum is scaled at once

cdef struct Blocks:
    ptrdiff_t size               # a multiple of 32
    const float* scales          # [n, k / size], cut
    const float* sums            # [n], by fill_sums
    bint vnni


cdef inline float cut(float scale) noexcept nogil:
    return bits_f32(f32_bits(scale) >> 16 << 16)


cdef inline void fill_sums(const Blocks* b, const int8_t* w, ptrdiff_t n, ptrdiff_t k, ptrdiff_t stride, float* sums) noexcept nogil:
    """Less the scaled sum of each row of weights."""
    cdef ptrdiff_t blocks = k / b.size
    cdef ptrdiff_t c, i, j
    cdef int32_t total
    for c in range(n):
        sums[c] = 0
        for i in range(0, k, 16):
            total = 0
            for j in range(PACKED):
                total += w[c * stride + i + j]
            sums[c] = sums[c] - <float>total * b.scales[c * blocks + i / b.size]


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
        inverse = quantize_row(x + i * k, k, out.lanes, &zero_point, q)
        for c in range(n):
            if b.vnni:
                v = blocks_vnni(b, q, zero_point, w + c * stride, b.scales + c * blocks, k, b.sums[c]) * inverse + out.bias[c]
            else:
                v = fmaf(blocks_avx2(b, q, zero_point, w + c * stride, b.scales + c * blocks, k, b.sums[c]), inverse, out.bias[c])
            v = v if v > out.low else out.low
            y[i * n + c] = v if v < out.high else out.high
