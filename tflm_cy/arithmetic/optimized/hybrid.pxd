"""FULLY_CONNECTED of float activations with int4 weights as the optimized kernel does it for rows of an even length of 32 and more.

Weights are moved up by 7, and what that adds to a sum is taken off beforehand:

    y = ((float)(-7 * sum(q)) * scale) * w_scale + bias
    y = y + ((float)(q . (w + 7)) * scale) * w_scale

On aarch64 the bias is fused, and so is what is added to it of a single row of values, and of the last rows % 4 weights of several.

With blockwise scales (`fully_connected_blocks4`) the row of values is quantized with a zero point, and no activation follows.

Otherwise always symmetric, rounded half away from zero throughout. TensorFlow packs the moved weights two to a byte without cutting them to 4 bits
first, so that a weight of -8, which has no place among 0 .. 14, becomes 15 and makes 15 of a neighbour, too (`move_weights`).
Source: LiteRT:tflite/kernels/{fully_connected.cc,internal/optimized/4bit/{sse,neon}_fully_connected.cc}.
"""
from libc.math cimport fabsf, roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint16_t

from tflm_cy.arithmetic.half cimport half_to_f32
from tflm_cy.arithmetic.hybrid cimport DOTS, dot_s16_s8, multiply_rows_hybrid
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product, product_plus
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale
from tflm_cy.arithmetic.lookup cimport truncate

cdef enum:
    INT4_OFFSET = 7
    INT4_LEAST_ROWS = 4
    INT4_LEAST_DEPTH = 32


cdef inline bint moves_weights(ptrdiff_t rows, ptrdiff_t depth) noexcept nogil:
    return rows >= INT4_LEAST_ROWS and depth >= INT4_LEAST_DEPTH and depth % 2 == 0


cdef inline void move_weights(const int8_t* w, ptrdiff_t rows, ptrdiff_t depth, int8_t* moved) noexcept nogil:
    """Weights i and i + 16 of a block of 32 share a byte, i in the upper half: a -8 at i + 16 fills it all. On x86-64 a -8 at an even pair
    i / 2 of a whole block also fills the lower half of the byte of i + 2."""
    cdef ptrdiff_t r, start, i, length
    for i in range(rows * depth):
        moved[i] = <int8_t>((w[i] + INT4_OFFSET) & 15)
    for r in range(rows):
        for start in range(r * depth, (r + 1) * depth, 32):
            length = min(<ptrdiff_t>32, (r + 1) * depth - start)
            for i in range(start, start + length - 16):
                if w[i + 16] == -8:
                    moved[i] = 15
            if length < 32 or AARCH64:
                continue
            for i in range(start, start + 14):
                if w[i] == -8 and (i - start) / 2 % 2 == 0:
                    moved[i + 18] = 15


cdef inline float widest_neon(const float* x, ptrdiff_t n) noexcept nogil:
    """The largest magnitude. A NaN in the full blocks of four stays: the last of a lane, of the lanes the first."""
    cdef float[4] lanes = [0, 0, 0, 0]
    cdef ptrdiff_t blocks = n - n % 4
    cdef ptrdiff_t i
    cdef float v, top
    for i in range(blocks):
        v = fabsf(x[i])
        if v != v or lanes[i & 3] < v:
            lanes[i & 3] = v
    for i in range(2):
        lanes[i] = lanes[2 * i] if lanes[2 * i] != lanes[2 * i] or lanes[2 * i + 1] < lanes[2 * i] else lanes[2 * i + 1]
    top = lanes[0] if lanes[0] != lanes[0] or lanes[1] < lanes[0] else lanes[1]
    for i in range(blocks, n):
        top = fabsf(x[i]) if top < fabsf(x[i]) else top
    return top


cdef inline float quantize_row(const float* x, ptrdiff_t n, int16_t* q) noexcept nogil:
    """To [-127, 127]; returns the scale. What is no number becomes 0."""
    cdef float top = 0
    cdef float inverse
    cdef ptrdiff_t i
    if AARCH64:
        top = widest_neon(x, n)
    else:
        for i in range(n):
            top = fabsf(x[i]) if top < fabsf(x[i]) else top
    if top == 0:
        top = 127
    inverse = <float>(127.0 / <double>top)
    for i in range(n):
        q[i] = <int8_t>truncate(roundf(x[i] * inverse))
    return <float>(<double>top / 127.0)


cdef inline void sum_blocks4(
    const int8_t* w, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t block, const uint16_t* scales, float* offsets,
) noexcept nogil:
    """What a zero point of 1 adds to each row's sum; what does not fill a last block does not count."""
    cdef ptrdiff_t blocks = depth / block
    cdef ptrdiff_t o, b, i
    cdef int32_t weights
    for o in range(rows):
        offsets[o] = 0
        for b in range(blocks):
            weights = 0
            for i in range(b * block, (b + 1) * block):
                weights += w[o * depth + i]
            offsets[o] = offsets[o] + half_to_f32(scales[o * blocks + b]) * <float>weights


cdef inline void fully_connected_blocks4(
    const int8_t* w, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t block, const uint16_t* scales, const float* offsets, const int16_t* q,
    const RowScale* x, const float* bias, const RowKernels* fast, float* y,
) noexcept nogil:
    """One row of values with weights that share a float16 scale per block. offsets: sum_blocks4."""
    cdef int32_t[DOTS] products
    cdef float[DOTS] totals
    cdef ptrdiff_t blocks = depth / block
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t n, b, r
    while first < rows:
        n = min(<ptrdiff_t>DOTS, rows - first)
        for r in range(n):
            totals[r] = 0
        for b in range(blocks):
            if fast != NULL:
                fast.multiply(q + b * block, 0, 1, w + first * depth + b * block, depth, n, block, False, products, 0)
            for r in range(n):
                if fast == NULL:
                    products[r] = dot_s16_s8(q + b * block, w + (first + r) * depth + b * block, block)
                totals[r] = totals[r] + <float>products[r] * half_to_f32(scales[(first + r) * blocks + b])
        for r in range(n):
            totals[r] = (totals[r] - <float>x.zero_point * offsets[first + r]) * x.scale
            y[first + r] = totals[r] if bias == NULL else totals[r] + bias[first + r]
        first += n


cdef inline void fully_connected_moved(
    const int8_t* moved, ptrdiff_t rows, ptrdiff_t depth, const int16_t* q, float scale, const float* row_scales, float one_scale,
    const float* bias, bint single, const RowKernels* fast, float* y,
) noexcept nogil:
    """One row of values, the only one if `single`; row_scales: NULL when all rows have one_scale."""
    cdef int32_t[DOTS] dots
    cdef int32_t total = 0
    cdef float offset, product, w_scale
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t o, i, n
    for i in range(depth):
        total += q[i]
    offset = <float>(total * -INT4_OFFSET) * scale
    while first < rows:
        n = min(<ptrdiff_t>DOTS, rows - first)
        if fast != NULL:
            fast.multiply(q, 0, 1, moved + first * depth, depth, n, depth, False, dots, 0)
        else:
            multiply_rows_hybrid(moved + first * depth, n, depth, q, False, dots)
        for o in range(first, first + n):
            w_scale = row_scales[o] if row_scales != NULL else one_scale
            y[o] = product_plus(offset, w_scale, bias[o])
            product = <float>dots[o - first] * scale
            y[o] = plus_product(y[o], product, w_scale) if single or o >= rows - rows % 4 else y[o] + product * w_scale
        first += n
