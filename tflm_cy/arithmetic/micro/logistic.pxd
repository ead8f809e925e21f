"""LOGISTIC and TANH on int8 as TFLM computes them: in fixed point, the argument in Q4.27; TensorFlow Lite has tables made of floats.

The result is a fraction of 2^31, rounded half away from zero to steps of 1 / 256 (zero point -128) or 1 / 128 (zero point 0).
Arguments at or beyond the ends of Q4.27 have the largest or least result.

Source: tensorflow/tflite-micro:tensorflow/lite/kernels/internal/reference/integer_ops/{logistic,tanh}.h; gemmlowp:fixedpoint/fixedpoint.h.
"""
from libc.math cimport floor
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport Multiplier, high_product, multiply, quantize_multiplier, round_shift
from tflm_cy.arithmetic.gemmlowp cimport (
    EXP_MINUS_EIGHTH, ONE_32, THIRD, exp_factor, exp_on_negative, one_over_one_plus_x, rescale32,
)

cdef struct Argument:            # from a quantized value to Q4.27
    Multiplier m
    int32_t radius               # values from here on are beyond the ends
    int32_t zero_point


cdef inline Argument argument_of(float scale, int32_t zero_point) noexcept nogil:
    cdef Argument a
    a.m = quantize_multiplier(<double>scale * (1 << 27))
    a.radius = <int32_t>floor(15.0 * (1 << 27) / <double>(<int64_t>1 << (a.m.shift if a.m.shift > 0 else 0)))
    a.zero_point = zero_point
    return a


cdef inline int32_t exp_on_negative_q4(int32_t a) noexcept nogil:
    """`gemmlowp.exp_on_negative` for Q4.27."""
    cdef int32_t quarter = 1 << 25
    cdef int32_t m = (a & (quarter - 1)) - quarter
    cdef int32_t rest = m - a
    cdef int32_t x = rescale32(m, 4) + (1 << 28)
    cdef int32_t x2 = high_product(x, x)
    cdef int32_t x3 = high_product(x2, x)
    cdef int32_t x4 = high_product(x2, x2)
    cdef int32_t t = round_shift(high_product(round_shift(x4, 2) + x3, THIRD) + x2, 1)
    cdef int32_t y = EXP_MINUS_EIGHTH + high_product(EXP_MINUS_EIGHTH, x + t)
    if a == 0:
        return ONE_32
    y = exp_factor(y, rest, 25, 1672461947)
    y = exp_factor(y, rest, 26, 1302514674)
    y = exp_factor(y, rest, 27, 790015084)
    y = exp_factor(y, rest, 28, 290630308)
    y = exp_factor(y, rest, 29, 39332535)
    return exp_factor(y, rest, 30, 720401)


cdef inline int32_t one_minus_over_one_plus_x(int32_t a) noexcept nogil:
    """(1 - a) / (1 + a) for a in [0, 1) in Q0.31, as `gemmlowp.one_over_one_plus_x`."""
    cdef int32_t half = <int32_t>((<int64_t>a + ONE_32 + 1) >> 1)
    cdef int32_t x = 1515870810 + high_product(half, -1010580540)
    cdef int _step
    for _step in range(3):
        x = <int32_t>(<uint32_t>x + <uint32_t>rescale32(high_product(x, (1 << 29) - high_product(half, x)), 2))
    return rescale32(x - (1 << 29), 2)


cdef inline int32_t logistic_s8(int32_t x, const Argument* how) noexcept nogil:
    cdef int32_t d = x - how.zero_point
    cdef int32_t a, y
    if d <= -how.radius:
        return -128
    if d >= how.radius:
        return 127
    a = multiply(d, how.m.value, how.m.shift)
    if a == 0:
        y = 1 << 30
    else:
        y = one_over_one_plus_x(exp_on_negative_q4(-a if a > 0 else a))
        if a < 0:
            y = ONE_32 - y
    return max(-128, min(round_shift(y, 23) - 128, 127))


cdef inline int32_t tanh_s8(int32_t x, const Argument* how) noexcept nogil:
    cdef int32_t d = x - how.zero_point
    cdef int32_t a, y
    if d <= -how.radius:
        return -128
    if d >= how.radius:
        return 127
    a = multiply(d, how.m.value, how.m.shift)
    y = 0
    if a != 0:
        y = one_minus_over_one_plus_x(exp_on_negative(-a if a > 0 else a))     # of twice the argument: Q5.26
        if a < 0:
            y = -y
    return max(-128, min(round_shift(y, 24), 127))
