# Sums and products of bytes go by whole vectors; pools and resizing are the definitions, which the compiler makes vectors of.
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.addition cimport Sum8 as TableSum8
from tflm_cy.arithmetic.multiplication cimport Product
from tflm_cy.arithmetic.multipliers cimport Rescale as ReadyRescale
from tflm_cy.arithmetic.optimized.addition cimport BlockSum8
from tflm_cy.arithmetic.optimized.multiplication cimport BlockProduct
from tflm_cy.arithmetic.optimized.resize cimport bilinear_weighted, double_f32
from tflm_cy.arithmetic.pool_2d cimport AVERAGE, MAXIMUM, pool_2d
from tflm_cy.arithmetic.resize cimport bilinear_f32
from tflm_cy.arithmetic.shapes cimport Pool2D, Resize
from tflm_cy.arithmetic.signatures cimport BinaryKernel
from tflm_cy.simd.loops cimport LoopKernels, PoolLoop, ResizeLoop

cdef extern from "loops.h" nogil:
    ctypedef struct Bytes8:
        int64_t value
        int64_t half
        int shift
        bint away
        int32_t zero_point
        int32_t low
        int32_t high
        int narrows
        bint cuts
        int32_t lowest
        int32_t highest
    void prelu_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void maximum_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void minimum_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void leaky_loop(const void* params, const void* x, void* y, int64_t n) noexcept
    void relu_loop(const void* params, const void* x, void* y, int64_t n) noexcept
    void clip_loop(const void* params, const void* x, void* y, int64_t n) noexcept
    void bytes8_sum(
        const Bytes8* s, const int32_t* table_a, const int32_t* table_b, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept
    void bytes8_product_s8(
        const Bytes8* s, int32_t a_zero, int32_t b_zero, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept
    void bytes8_product_u8(
        const Bytes8* s, int32_t a_zero, int32_t b_zero, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept


cdef bint fits_bytes8(const ReadyRescale* r) noexcept nogil:
    """No left shift, a positive multiplier, and one of the two roundings."""
    return r.left == 0 and 0 < r.value <= 0x7FFFFFFF and 0 <= r.right <= 31 and (r.ones == 0 or r.ones == -1) and r.half == (
        <int64_t>1 << r.right) >> 1


cdef Bytes8 bytes8_of(const ReadyRescale* r, int32_t zero_point, int32_t low, int32_t high, bint is_signed) noexcept nogil:
    cdef Bytes8 s
    s.value = r.value
    s.half = r.half
    s.shift = 31 + r.right
    s.away = r.ones != 0
    s.zero_point = zero_point
    s.low = low
    s.high = high
    s.narrows = 0
    s.cuts = False
    s.lowest = -128 if is_signed else 0
    s.highest = 127 if is_signed else 255
    return s


cdef void sum_8_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    cdef const TableSum8* t = <const TableSum8*>params
    cdef Bytes8 s = bytes8_of(&t.out, t.zero_point, t.range.low, t.range.high, False)
    bytes8_sum(&s, t.a, t.b, <const uint8_t*>a, <const uint8_t*>b, <uint8_t*>y, n)


cdef void sum_8_blocks_loop(const void* params, const void* at_a, const void* at_b, void* at_y, int64_t n) noexcept nogil:
    """The blocks of a run, then its tail."""
    cdef const BlockSum8* t = <const BlockSum8*>params
    cdef Bytes8 tail = bytes8_of(&t.tail.out, t.tail.zero_point, t.tail.range.low, t.tail.range.high, t.signed)
    cdef Bytes8 body = tail
    cdef const uint8_t* a = <const uint8_t*>at_a
    cdef const uint8_t* b = <const uint8_t*>at_b
    cdef uint8_t* y = <uint8_t*>at_y
    cdef int64_t run, blocks
    body.narrows = 1
    while n > 0:
        run = t.run if t.run < n else n
        blocks = run - run % t.block
        if blocks > 0:
            bytes8_sum(&body, t.a, t.b, a, b, y, blocks)
        if blocks < run:
            bytes8_sum(&tail, t.tail.a, t.tail.b, a + blocks, b + blocks, y + blocks, run - blocks)
        a += run
        b += run
        y += run
        n -= run


cdef inline void product_8(const Bytes8* s, const Product* p, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, bint is_signed) noexcept nogil:
    if is_signed:
        bytes8_product_s8(s, p.a_zero_point, p.b_zero_point, a, b, y, n)
    else:
        bytes8_product_u8(s, p.a_zero_point, p.b_zero_point, a, b, y, n)


cdef inline void products_8(const Product* p, const void* a, const void* b, void* y, int64_t n, bint is_signed) noexcept nogil:
    cdef Bytes8 s = bytes8_of(&p.rescale, p.y_zero_point, p.range.low, p.range.high, is_signed)
    product_8(&s, p, <const uint8_t*>a, <const uint8_t*>b, <uint8_t*>y, n, is_signed)


cdef inline void products_8_in_blocks(
    const BlockProduct* t, const void* at_a, const void* at_b, void* at_y, int64_t n, bint is_signed,
) noexcept nogil:
    cdef const Product* p = &t.product
    cdef Bytes8 tail = bytes8_of(&p.rescale, p.y_zero_point, p.range.low, p.range.high, is_signed)
    cdef Bytes8 body = tail
    cdef const uint8_t* a = <const uint8_t*>at_a
    cdef const uint8_t* b = <const uint8_t*>at_b
    cdef uint8_t* y = <uint8_t*>at_y
    cdef int64_t run, blocks
    body.narrows = 2
    body.cuts = t.cuts
    while n > 0:
        run = t.run if t.run < n else n
        blocks = run - run % t.block
        if blocks > 0:
            product_8(&body, p, a, b, y, blocks, is_signed)
        if blocks < run:
            product_8(&tail, p, a + blocks, b + blocks, y + blocks, run - blocks, is_signed)
        a += run
        b += run
        y += run
        n -= run


cdef void mul_s8_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    products_8(<const Product*>params, a, b, y, n, True)


cdef void mul_u8_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    products_8(<const Product*>params, a, b, y, n, False)


cdef void mul_s8_blocks_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    products_8_in_blocks(<const BlockProduct*>params, a, b, y, n, True)


cdef void mul_u8_blocks_loop(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil:
    products_8_in_blocks(<const BlockProduct*>params, a, b, y, n, False)


cdef int average_f32_loop(const Pool2D* p, const void* x, void* y) noexcept nogil:
    return pool_2d(p, AVERAGE, <const float*>x, <float*>y)


cdef int average_s8_loop(const Pool2D* p, const void* x, void* y) noexcept nogil:
    return pool_2d(p, AVERAGE, <const int8_t*>x, <int8_t*>y)


cdef int average_u8_loop(const Pool2D* p, const void* x, void* y) noexcept nogil:
    return pool_2d(p, AVERAGE, <const uint8_t*>x, <uint8_t*>y)


cdef int max_f32_loop(const Pool2D* p, const void* x, void* y) noexcept nogil:
    return pool_2d(p, MAXIMUM, <const float*>x, <float*>y)


cdef int max_s8_loop(const Pool2D* p, const void* x, void* y) noexcept nogil:
    return pool_2d(p, MAXIMUM, <const int8_t*>x, <int8_t*>y)


cdef int max_u8_loop(const Pool2D* p, const void* x, void* y) noexcept nogil:
    return pool_2d(p, MAXIMUM, <const uint8_t*>x, <uint8_t*>y)


cdef void bilinear_f32_loop(const Resize* r, const void* x, void* y) noexcept nogil:
    bilinear_f32(r, <const float*>x, <float*>y)


cdef void weighted_f32_loop(const Resize* r, const void* x, void* y) noexcept nogil:
    bilinear_weighted(r, <const float*>x, <float*>y)


cdef void double_f32_loop(const Resize* r, const void* x, void* y) noexcept nogil:
    double_f32(r, <const float*>x, <float*>y)


cdef void fill_loops(LoopKernels* table) noexcept:
    table.prelu = prelu_loop
    table.maximum = maximum_loop
    table.minimum = minimum_loop
    table.relu = relu_loop
    table.clip = clip_loop
    table.leaky_relu = leaky_loop
    table.fits = fits_bytes8
    table.sum_8 = sum_8_loop
    table.sum_8_in_blocks = sum_8_blocks_loop
    table.mul_8 = [mul_s8_loop, mul_u8_loop]
    table.mul_8_in_blocks = [mul_s8_blocks_loop, mul_u8_blocks_loop]
    table.average_pool = [average_f32_loop, average_s8_loop, average_u8_loop]
    table.max_pool = [max_f32_loop, max_s8_loop, max_u8_loop]
    table.bilinear = bilinear_f32_loop
    table.bilinear_optimized = weighted_f32_loop
    table.double_f32 = double_f32_loop
