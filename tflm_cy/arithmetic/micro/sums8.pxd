"""Sums of int8 by TFLM's rules, in steps of 2^-20 of the output's: ADD_N and CUMSUM. TensorFlow Lite has neither.

Source: tflite-micro:tensorflow/lite/kernels/internal/reference/{add_n,cumsum}.h; bytes checked against the tflite_micro package.
"""
from libc.stdint cimport int8_t, int32_t, int64_t

from tflm_cy.arithmetic.fixed_point cimport clamp32, multiply, quantize_multiplier, wrap32
from tflm_cy.arithmetic.multipliers cimport Multiplier

cdef enum:
    STEPS = 20                       # binary digits behind the point

cdef struct Sums8:
    int32_t zero_point               # of the inputs
    int32_t output_zero_point
    Multiplier given                 # of an input's value
    Multiplier result


cdef inline Sums8 sums8(float scale, int32_t zero_point, float output_scale, int32_t output_zero_point) noexcept nogil:
    cdef Sums8 s
    cdef double twice = 2.0 * <double>scale
    s.zero_point = zero_point
    s.output_zero_point = output_zero_point
    s.given = quantize_multiplier(<double>scale / twice)
    s.result = quantize_multiplier(twice / (<double>(1 << STEPS) * <double>output_scale))
    return s


cdef inline int32_t fine(const Sums8* s, int32_t x) noexcept nogil:
    """A value in fine steps."""
    return multiply(wrap32(<int64_t>(x - s.zero_point) << STEPS), s.given.value, s.given.shift)


cdef inline int8_t coarse(const Sums8* s, int32_t total) noexcept nogil:
    return <int8_t>clamp32(wrap32(<int64_t>multiply(total, s.result.value, s.result.shift) + s.output_zero_point), -128, 127)


cdef inline void cumulate8(
    const Sums8* s, const int8_t* x, int8_t* y, int64_t outer, int64_t size, int64_t inner, bint exclusive, bint reverse,
) noexcept nogil:
    """Over [outer, size, inner], each sum from what 0 is in fine steps."""
    cdef int64_t o, k, i, at
    cdef int32_t total, before
    for o in range(outer):
        for k in range(inner):
            total = fine(s, 0)
            for i in range(size):
                at = (o * size + (size - 1 - i if reverse else i)) * inner + k
                before = total
                total = wrap32(<int64_t>total + fine(s, x[at]))
                y[at] = coarse(s, before if exclusive else total)
