"""Softmax from 8 bits to 8 bits as the optimized kernels compute it on aarch64: on integers.

    fill_exponentials_16(table, x.scale, beta)
    softmax_rows_16(table, x, y, rows, depth, y.scale, y.zero_point)

Exponentials are whole numbers of 16 bits, and a row's are rescaled by 1 / sum in fixed point.

Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h (SoftmaxInt8LUT).
"""
from libc.math cimport expf
from libc.stdint cimport int8_t, int32_t, int64_t, uint16_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp32, multiply, quantize_multiplier
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.rounding cimport add_wrapping
from tflm_cy.arithmetic.softmax cimport input8, row_maximum


cdef inline void fill_exponentials_16(uint16_t* table, float scale, float beta) noexcept nogil:
    cdef double v
    cdef int d
    for d in range(256):
        v = <double>(expf(scale * beta * <float>-d) * <float>65535) + 0.5
        table[d] = <uint16_t>(65535 if v >= 65535 else <int32_t>v if v > 0 else 0)


cdef inline void rescale_exponentials(const uint16_t* values, int64_t n, Multiplier m, int32_t y_zero_point, input8* y) noexcept nogil:
    cdef int32_t lowest = -128 if input8 is int8_t else 0
    cdef int64_t i
    for i in range(n):
        y[i] = <input8>clamp32(add_wrapping(multiply(values[i], m.value, m.shift), y_zero_point), lowest, lowest + 255)


cdef inline void softmax_rows_16(
    const uint16_t* table, const input8* x, input8* y, int64_t rows, int64_t depth, float y_scale, int32_t y_zero_point,
) noexcept nogil:
    """Each distance from the maximum is computed once."""
    cdef input8[256] outputs
    cdef uint32_t total
    cdef int32_t top
    cdef int64_t c
    while rows > 0:
        top = row_maximum(x, depth)
        total = 0
        for c in range(depth):
            total += table[top - x[c]]
        rescale_exponentials(
            table, 256, quantize_multiplier(<double>(<float>1 / (<float><int32_t>total * y_scale))), y_zero_point, outputs)
        for c in range(depth):
            y[c] = outputs[top - x[c]]
        x += depth
        y += depth
        rows -= 1
