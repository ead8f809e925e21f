"""RSQRT on int16 as TFLM computes it: by the inverse root of each value, as on int8, not by a table.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/elementwise.cc.
"""
from libc.stdint cimport int16_t, int32_t, int64_t

from tflm_cy.arithmetic.fixed_point cimport clamp32, multiply
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.unary cimport inverse_sqrt_multiplier


cdef inline void rsqrt_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    """`params`: a Multiplier. Zero has the largest result. `y` may be `x`."""
    cdef Multiplier m = (<const Multiplier*>params)[0]
    cdef int32_t root, shift
    cdef int64_t i
    for i in range(n):
        if x[i] <= 0:
            y[i] = 32767
        else:
            shift = 0
            root = inverse_sqrt_multiplier(x[i], &shift)
            y[i] = <int16_t>clamp32(multiply(multiply(1, root, shift + 20), m.value, m.shift - 20), -32768, 32767)
