"""L2 normalisation of rows (float32, int8, uint8) and local response normalisation (float32).

Source: LiteRT:tflite/kernels/internal/reference/{l2normalization.h,integer_ops/l2normalization.h,reference_ops.h}.
"""
from libc.math cimport fma, pow, sqrtf
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport high_product, round_shift, wrap32
from tflm_cy.arithmetic.gemmlowp cimport inverse_sqrt
from tflm_cy.arithmetic.machine cimport AARCH64, fmaf, plus_product
from tflm_cy.arithmetic.nan_order cimport add_first, mul_first

ctypedef fused input8:
    int8_t
    uint8_t


cdef inline void l2_normalize_row_f32(const float* x, float* y, int64_t depth) noexcept nogil:
    """x / max(sqrt(sum of squares), 1e-6), the sum sequential; on aarch64 the last depth % 8 squares are fused with it.

    Of two NaN the later comes out, on aarch64 the earlier.
    """
    cdef float squares = 0
    cdef int64_t body = depth - depth % 8 if AARCH64 else depth
    cdef int64_t c
    for c in range(body):
        squares = add_first(squares, x[c] * x[c]) if AARCH64 else add_first(x[c] * x[c], squares)
    for c in range(body, depth):
        squares = fmaf(x[c], x[c], squares)
    divide_by_root(x, y, depth, squares)


cdef inline void divide_by_root(const float* x, float* y, int64_t depth, float squares) noexcept nogil:
    cdef float norm = sqrtf(squares)
    cdef int64_t c
    if norm < <float>1e-6:
        norm = <float>1e-6
    for c in range(depth):
        y[c] = x[c] / norm


cdef inline void l2_normalize_rows_f32(const float* x, float* y, int64_t rows, int64_t depth) noexcept nogil:
    """Four rows side by side: each sum waits for itself only."""
    cdef float a, b, c, d
    cdef int64_t i
    while rows >= 4 and not AARCH64:
        a = b = c = d = 0
        for i in range(depth):
            a = add_first(x[i] * x[i], a)
            b = add_first(x[depth + i] * x[depth + i], b)
            c = add_first(x[2 * depth + i] * x[2 * depth + i], c)
            d = add_first(x[3 * depth + i] * x[3 * depth + i], d)
        divide_by_root(x, y, depth, a)
        divide_by_root(x + depth, y + depth, depth, b)
        divide_by_root(x + 2 * depth, y + 2 * depth, depth, c)
        divide_by_root(x + 3 * depth, y + 3 * depth, depth, d)
        x, y, rows = x + 4 * depth, y + 4 * depth, rows - 4
    while rows > 0:
        l2_normalize_row_f32(x, y, depth)
        x, y, rows = x + depth, y + depth, rows - 1


cdef inline int32_t short_product(int32_t x, double value) noexcept nogil:
    """`high_product` of less than 2^16 and value * 2^31, by doubles, of which there are vectors."""
    return <int32_t>(<double>x * value + 65536.5) - 65536


cdef inline void l2_normalize_row_8(const input8* x, input8* y, int64_t depth, int32_t zero_point) noexcept nogil:
    """The output's scale is 1/128, its zero point 0 or 128. uint8: 128 is applied before the multiplier, not as a shift after it."""
    cdef uint32_t squares = 0
    cdef int32_t value, factor, shift, left, right
    cdef int32_t lowest = -128 if input8 is int8_t else 0
    cdef int32_t middle = 0 if input8 is int8_t else 128
    cdef double real
    cdef int64_t c
    for c in range(depth):
        value = x[c] - zero_point
        squares += <uint32_t>(value * value)
    inverse_sqrt(<int32_t>squares, &factor, &shift)
    left = 7 if input8 is uint8_t else max(shift + 7, 0)
    right = -shift if input8 is uint8_t else max(-(shift + 7), 0)
    if -128 <= zero_point <= 255 and left <= 7:
        real = <double>factor / 2147483648.0
        for c in range(depth):
            value = round_shift(short_product((x[c] - zero_point) * (1 << left), real), right) + middle
            y[c] = <input8>max(lowest, min(value, lowest + 255))
        return
    for c in range(depth):
        value = round_shift(high_product(wrap32((<int64_t>x[c] - zero_point) << (left & 31)), factor), right) + middle
        y[c] = <input8>max(lowest, min(value, lowest + 255))


cdef inline void local_response_row_f32(const float* x, float* y, int64_t depth, int64_t radius, double bias, double alpha,
                                        double beta) noexcept nogil:
    """The window of channel c is [c - radius, c + radius): its upper end is exclusive. The power is a double's, whose NaN comes out before the
    value's, on aarch64 behind it.
    """
    cdef float squares, power
    cdef double sum
    cdef int64_t c, k
    for c in range(depth):
        squares = 0
        for k in range(max(c - radius, 0), min(c + radius, depth)):
            squares = plus_product(squares, x[k], x[k]) if AARCH64 else add_first(x[k] * x[k], squares)
        sum = fma(alpha, squares, bias) if AARCH64 else bias + alpha * squares
        power = <float>pow(sum, -beta)
        y[c] = mul_first(x[c], power) if AARCH64 else mul_first(power, x[c])
