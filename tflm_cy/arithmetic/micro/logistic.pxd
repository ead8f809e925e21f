"""LOGISTIC and TANH on int8 as TFLM computes them: in fixed point, the argument in Q4.27; TensorFlow Lite has tables made of floats.

The result is a fraction of 2^31, rounded half away from zero to steps of 1 / 256 (zero point -128) or 1 / 128 (zero point 0).
Arguments at or beyond the ends of Q4.27 have the largest or least result.

Source: tensorflow/tflite-micro:tensorflow/lite/kernels/internal/reference/integer_ops/{logistic,tanh}.h; gemmlowp:fixedpoint/fixedpoint.h.
"""
from libc.math cimport floor
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.fixed_point cimport multiply, quantize_multiplier, round_shift
from tflm_cy.arithmetic.gemmlowp cimport ONE_32, exp_on_negative, one_minus_over_one_plus_x, one_over_one_plus_x
from tflm_cy.arithmetic.multipliers cimport Multiplier

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


cdef inline int32_t logistic_s8(int32_t x, const Argument* params) noexcept nogil:
    cdef int32_t d = x - params.zero_point
    cdef int32_t a, y
    if d <= -params.radius:
        return -128
    if d >= params.radius:
        return 127
    a = multiply(d, params.m.value, params.m.shift)
    if a == 0:
        y = 1 << 30
    else:
        y = one_over_one_plus_x(exp_on_negative(-a if a > 0 else a, 4))
        if a < 0:
            y = ONE_32 - y
    return max(-128, min(round_shift(y, 23) - 128, 127))


cdef inline int32_t tanh_s8(int32_t x, const Argument* params) noexcept nogil:
    cdef int32_t d = x - params.zero_point
    cdef int32_t a, y
    if d <= -params.radius:
        return -128
    if d >= params.radius:
        return 127
    a = multiply(d, params.m.value, params.m.shift)
    y = 0
    if a != 0:
        y = one_minus_over_one_plus_x(exp_on_negative(-a if a > 0 else a, 5))     # of twice the argument: Q5.26
        if a < 0:
            y = -y
    return max(-128, min(round_shift(y, 24), 127))
