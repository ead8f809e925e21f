# Includes what loops.pxi has made of a multiplier.
from libc.stdint cimport int16_t, int32_t, int64_t

from tflm_cy.arithmetic.addition cimport Sum16
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.optimized.addition cimport BlockSum16
from tflm_cy.simd.elementwise_i16 cimport ElementwiseI16Kernels

cdef extern from "elementwise_i16.h" nogil:
    ctypedef struct Operand16:
        int up
        int down
        Bytes8 scale
    void sum_words(const Operand16* a, const Operand16* b, int32_t sign, const Bytes8* out, const int16_t* at_a, const int16_t* at_b,
                   int16_t* y, int64_t n) noexcept


cdef void sum_16_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    cdef const Sum16* t = <const Sum16*>params
    cdef Bytes8 out = bytes8_of(&t.out, 0, t.range.low, t.range.high, True)
    cdef Operand16 first, second
    first.up = second.up = 15
    first.down = second.down = 0
    first.scale = bytes8_of(&t.a, 0, 0, 0, True)
    second.scale = bytes8_of(&t.b, 0, 0, 0, True)
    sum_words(&first, &second, t.b_sign, &out, <const int16_t*>a, <const int16_t*>b, <int16_t*>y, n)


cdef Operand16 operand_in_block16(Multiplier m) noexcept nogil:
    """As arithmetic.optimized.addition's operand_in_block, which shifts first."""
    cdef Operand16 o
    cdef ReadyRescale product
    cdef int left = 15 + m.shift
    product.value = m.value if left < 32 else 0
    product.half = product.ones = product.right = 0
    o.up = min(left, 31) if left >= 0 else 0
    o.down = min(-left, 31) if left < 0 else 0
    o.scale = bytes8_of(&product, 0, 0, 0, True)
    return o


cdef void sum_16_blocks_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    """n is the whole tensor."""
    cdef const BlockSum16* t = <const BlockSum16*>params
    cdef Bytes8 out = bytes8_of(&t.tail.out, 0, t.tail.range.low, t.tail.range.high, True)
    cdef Operand16 first = operand_in_block16(t.a)
    cdef Operand16 second = operand_in_block16(t.b)
    cdef int64_t body = n - n % 16
    sum_words(&first, &second, 1, &out, <const int16_t*>a, <const int16_t*>b, <int16_t*>y, body)
    sum_16_loop(&t.tail, <const int16_t*>a + body, <const int16_t*>b + body, <int16_t*>y + body, n - body)


cdef void fill_elementwise_i16(ElementwiseI16Kernels* table) noexcept:
    table.sum = sum_16_loop
    table.sum_in_blocks = sum_16_blocks_loop
