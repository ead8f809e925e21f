"""Quantizing and dequantizing as the vector code of the optimized kernels: whole blocks of values one way, the tail another.

| | whole blocks | tail |
| --- | --- | --- |
| float32 to 8 or 16 bits, blocks of 8 | x * (float)(1 / scale), ties to even | (double)x / scale, halves away from zero |
| 8 bits to 8 bits, blocks of 16 | halves of the last shift up | halves away from zero |
| 4, 8, 16 bits to float32, blocks of 8 | (float)q * scale + (float)(-zero_point * scale) | (float)((double)scale * (q - zero_point)) |

What int32 cannot hold becomes what it is in the reference before the (wrapping) addition of the zero point. On aarch64 the product and the
sum of a block to float32 are fused.
Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h.
"""
from libc.math cimport fabsf
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.conversion cimport Affine, Narrow, add_wrapping, cut32, dequantize_bytes
from tflm_cy.arithmetic.fixed_point cimport clamp32
from tflm_cy.arithmetic.fully_connected cimport round_away
from tflm_cy.arithmetic.machine cimport product_plus

cdef enum:
    FLOAT_BLOCK = 8
    BYTE_BLOCK = 16

cdef struct SplitBytes:          # results by byte
    uint8_t body[256]
    uint8_t tail[256]

cdef struct SplitFloats:
    float body[256]
    float tail[256]


cdef inline float ties_to_even(float x) noexcept nogil:
    """rintf: beyond 2^22 only what is whole or does not matter is left, below it the addition rounds."""
    cdef float shifted = (x + <float>12582912.0) - <float>12582912.0
    return shifted if fabsf(x) < <float>4194304.0 else x


cdef inline void quantize_split(const void* params, const float* x, Narrow* y, int64_t n) noexcept nogil:
    cdef Affine q = (<const Affine*>params)[0]
    cdef float inverse = <float>(1.0 / <double>q.scale)
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = <Narrow>clamp32(add_wrapping(cut32(ties_to_even(x[i] * inverse)), q.zero_point), q.low, q.high)
    for i in range(body, n):
        y[i] = <Narrow>clamp32(add_wrapping(round_away(<double>x[i] / <double>q.scale), q.zero_point), q.low, q.high)


cdef inline void lookup_split(const void* params, const uint8_t* x, uint8_t* y, int64_t n) noexcept nogil:
    cdef const SplitBytes* table = <const SplitBytes*>params
    cdef int64_t body = n - n % BYTE_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = table.body[x[i]]
    for i in range(body, n):
        y[i] = table.tail[x[i]]


cdef inline float dequantized_in_block(int32_t q, float scale, int32_t zero_point) noexcept nogil:
    return product_plus(<float>q, scale, <float>(<double>-zero_point * <double>scale))


cdef inline void dequantize_split_bytes(const void* params, const Narrow* x, float* y, int64_t n) noexcept nogil:
    cdef Affine q = (<const Affine*>params)[0]
    cdef float bias = <float>(<double>-q.zero_point * <double>q.scale)
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = product_plus(<float><int32_t>x[i], q.scale, bias)
    dequantize_bytes(params, x + body, y + body, n - body)


cdef inline void dequantize_split_s16(const void* params, const int16_t* x, float* y, int64_t n) noexcept nogil:
    """The zero point is 0, which a block adds: to a zero below zero, and to what a scale that is no number makes of it."""
    cdef float scale = (<const Affine*>params).scale
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = dequantized_in_block(x[i], scale, 0)
    for i in range(body, n):
        y[i] = <float>(<double>scale * <double>x[i])


cdef inline void dequantize_split_4(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    """Two values a byte; `params` has the results by pattern."""
    cdef const SplitFloats* table = <const SplitFloats*>params
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = table.body[(x[i >> 1] >> (4 * (i & 1))) & 15]
    for i in range(body, n):
        y[i] = table.tail[(x[i >> 1] >> (4 * (i & 1))) & 15]
