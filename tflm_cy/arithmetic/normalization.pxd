"""L2 normalisation of rows (float32, int8, uint8) and local response normalisation (float32).

Source: LiteRT:tflite/kernels/internal/reference/{l2normalization.h,integer_ops/l2normalization.h,reference_ops.h}.
"""
from libc.math cimport fma, pow, sqrtf
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport high_product, multiply, round_shift, wrap32
from tflm_cy.arithmetic.gemmlowp cimport inverse_sqrt
from tflm_cy.arithmetic.machine cimport AARCH64, fmaf, plus_product
from tflm_cy.arithmetic.nan_order cimport add_first, mul_first


cdef inline void l2_normalize_row_f32(const float* x, float* y, int64_t depth) noexcept nogil:
    """x / max(sqrt(sum of squares), 1e-6), the sum sequential; on aarch64 the last depth % 8 squares are fused with it.

    Of two NaN the later comes out, on aarch64 the earlier.
    """
    cdef float norm = 0
    cdef int64_t body = depth - depth % 8 if AARCH64 else depth
    cdef int64_t c
    for c in range(body):
        norm = add_first(norm, x[c] * x[c]) if AARCH64 else add_first(x[c] * x[c], norm)
    for c in range(body, depth):
        norm = fmaf(x[c], x[c], norm)
    norm = sqrtf(norm)
    if norm < <float>1e-6:
        norm = <float>1e-6
    for c in range(depth):
        y[c] = x[c] / norm


cdef inline void l2_normalize_row_s8(const int8_t* x, int8_t* y, int64_t depth, int32_t zero_point) noexcept nogil:
    """The output's scale is 1/128, its zero point 0."""
    cdef uint32_t squares = 0
    cdef int32_t value, factor, shift
    cdef int64_t c
    for c in range(depth):
        value = x[c] - zero_point
        squares += <uint32_t>(value * value)
    inverse_sqrt(<int32_t>squares, &factor, &shift)
    for c in range(depth):
        value = multiply(x[c] - zero_point, factor, shift + 7)
        y[c] = <int8_t>max(-128, min(value, 127))


cdef inline void l2_normalize_row_u8(const uint8_t* x, uint8_t* y, int64_t depth, int32_t zero_point) noexcept nogil:
    """The output's scale is 1/128, its zero point 128; 128 is applied before the multiplier, not as a shift after it."""
    cdef uint32_t squares = 0
    cdef int32_t value, factor, shift
    cdef int64_t c
    for c in range(depth):
        value = x[c] - zero_point
        squares += <uint32_t>(value * value)
    inverse_sqrt(<int32_t>squares, &factor, &shift)
    for c in range(depth):
        value = 128 + round_shift(high_product(wrap32(128 * <int64_t>(x[c] - zero_point)), factor), -shift)
        y[c] = <uint8_t>max(0, min(value, 255))


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
