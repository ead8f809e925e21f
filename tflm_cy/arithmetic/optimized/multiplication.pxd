"""MUL on 8 bits as the vector code of the optimized kernels: the bytes are the reference's unless a scaled product leaves int16.

Whole blocks of a run (see `addition.pxd`) narrow the scaled product to int16, then add the zero point, which wraps. int8: blocks of 16;
uint8: of 8, and with one operand that stands still what does not fit is cut off instead of saturated.

Source: LiteRT:tflite/kernels/internal/optimized/{optimized_ops.h,integer_ops/mul.h}.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp32
from tflm_cy.arithmetic.multiplication cimport Product, mul_f32, mul_q
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.optimized.addition cimport RunRange, positive_zeros
from tflm_cy.arithmetic.rescale cimport rescale

ctypedef fused Byte:
    int8_t
    uint8_t

cdef struct BlockProduct:
    Product product              # first: what mul_q takes
    Rescale rescale              # of the blocks
    int64_t run
    int64_t block
    bint cuts


cdef inline void mul_8_in_blocks(const void* params, const Byte* a, const Byte* b, Byte* y, int64_t n) noexcept nogil:
    """n: as in `sum_8_in_blocks`."""
    cdef const BlockProduct* s = <const BlockProduct*>params
    cdef Product p = s.product
    cdef int32_t lowest = -128 if Byte is int8_t else 0
    cdef int32_t highest = 127 if Byte is int8_t else 255
    cdef int64_t start, end, body, i
    cdef int32_t v
    start = 0
    while start < n:
        end = min(start + s.run, n)
        body = end - (end - start) % s.block
        for i in range(start, body):
            v = rescale((<int32_t>a[i] - p.a_zero_point) * (<int32_t>b[i] - p.b_zero_point), s.rescale)
            v = <int16_t>v if s.cuts else clamp32(v, -32768, 32767)
            v = clamp32(<int16_t><uint32_t>(v + p.y_zero_point), lowest, highest)
            y[i] = <Byte>clamp32(v, p.range.low, p.range.high)
        mul_q(params, a + body, b + body, y + body, end - body)
        start = end


cdef inline void mul_f32_neon(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """As add_f32_neon. The NaN of an operand that is one value during a run, which is a, comes out behind the whole blocks of four only."""
    cdef const RunRange* r = <const RunRange*>params
    cdef int64_t start = 0
    cdef int64_t body
    if r.a_repeats:
        while start < n:
            body = min(r.run, n - start)
            body -= body % 4
            mul_f32(params, b + start, a + start, y + start, body)
            start += body
            body = min(r.run, n - start + body) - body
            mul_f32(params, a + start, b + start, y + start, body)
            start += body
    else:
        mul_f32(params, a, b, y, n)
    if r.range.low == 0:
        positive_zeros(r, y, n)
