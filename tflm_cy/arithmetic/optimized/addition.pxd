"""ADD on 8 and 16 bits as the vector code of the optimized kernels: whole blocks of a run bring the operands to their common scale in
another way than the tail, which does it as the reference.

A run is what the vector code sees at once: everything when the shapes are equal, else the innermost stretch of the broadcast.

| | blocks | an operand (x less its zero point, m * 2^e its multiplier, 20 spare bits) |
| --- | --- | --- |
| int8, both operands move in the run | 16 | high_product(x << (20 + e), m): shifted before the product |
| uint8, or one operand is one value | 8 | high_product(x << 20, m) >> -e: the shift rounds down |
| int16, equal shapes | 16 | as int8, with 15 spare bits |

On aarch64 float32 sums are clamped by FMAX in whole blocks of four, which gives 0 for -0 where the limit is 0.

8-bit blocks narrow the scaled sum to int16 before the zero point is added, cutting off what does not fit.
Source: LiteRT:tflite/kernels/internal/optimized/{optimized_ops.h,integer_ops/add.h}.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.addition cimport Sum8, Sum16, add_f32, sub_f32, sum_s16
from tflm_cy.arithmetic.broadcast cimport Broadcast
from tflm_cy.arithmetic.fixed_point cimport RangeF, clamp32, high_product
from tflm_cy.arithmetic.multipliers cimport Multiplier, Rescale
from tflm_cy.arithmetic.rescale cimport rescale

cdef struct BlockSum8:
    Sum8 tail                    # and all that the forms share
    int32_t a[256]
    int32_t b[256]
    int64_t run
    int64_t block
    bint signed


cdef struct BlockSum16:
    Sum16 tail                   # first: what sum_s16 takes
    Multiplier a
    Multiplier b


cdef struct RunRange:
    RangeF range                 # first: what add_f32 takes
    int64_t run
    bint a_repeats


cdef inline int32_t operand_in_block(int32_t x, Multiplier m, int spare, bint shifts_first) noexcept nogil:
    cdef int left = spare + m.shift if shifts_first else spare
    cdef int32_t shifted
    if left >= 0:
        shifted = <int32_t>(<uint32_t>x << min(left, 31)) if left < 32 else 0
    else:
        shifted = x >> min(-left, 31)
    shifted = high_product(shifted, m.value)
    return shifted if shifts_first else shifted >> min(-m.shift, 31) if m.shift < 0 else <int32_t>(<uint32_t>shifted << m.shift)


cdef inline void sum_s16_in_blocks(const void* params, const int16_t* a, const int16_t* b, int16_t* y, int64_t n) noexcept nogil:
    """ADD; n is the whole tensor."""
    cdef const BlockSum16* s = <const BlockSum16*>params
    cdef int64_t body = n - n % 16
    cdef int64_t i
    cdef uint32_t total
    for i in range(body):
        total = <uint32_t>operand_in_block(a[i], s.a, 15, True) + <uint32_t>operand_in_block(b[i], s.b, 15, True)
        y[i] = <int16_t>clamp32(rescale(<int32_t>total, s.tail.out), s.tail.range.low, s.tail.range.high)
    sum_s16(params, a + body, b + body, y + body, n - body)


cdef inline bint five_fold(const Broadcast* plan) noexcept nogil:
    """Whether the vector code handles a broadcast: at most five stretches, and each operand repeats in one at most."""
    cdef bint a_repeated = plan.a_repeats
    cdef bint b_repeated = plan.b_repeats
    cdef int d
    for d in range(plan.loops - 1, -1, -1):
        if plan.a_step[d] == 0:
            if a_repeated:
                return False
            a_repeated = True
        elif plan.b_step[d] == 0:
            if b_repeated:
                return False
            b_repeated = True
    return True


cdef inline void sum_8_in_blocks(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    """n: a part of a run that is whole blocks long, the rest of one, or whole runs."""
    cdef const BlockSum8* s = <const BlockSum8*>params
    cdef Rescale out = s.tail.out
    cdef int32_t zero_point = s.tail.zero_point
    cdef int32_t low = s.tail.range.low
    cdef int32_t high = s.tail.range.high
    cdef int32_t lowest = -128 if s.signed else 0
    cdef int32_t highest = 127 if s.signed else 255
    cdef int32_t total
    cdef int64_t start, end, body, i
    start = 0
    while start < n:
        end = min(start + s.run, n)
        body = end - (end - start) % s.block
        for i in range(start, body):
            total = <int32_t>(<uint32_t>s.a[a[i]] + <uint32_t>s.b[b[i]])
            total = clamp32(<int16_t>(rescale(total, out) + zero_point), lowest, highest)
            y[i] = <uint8_t>clamp32(total, low, high)
        for i in range(body, end):
            total = <int32_t>(<uint32_t>s.tail.a[a[i]] + <uint32_t>s.tail.b[b[i]])
            y[i] = <uint8_t>clamp32(<int32_t>(<uint32_t>rescale(total, out) + <uint32_t>zero_point), low, high)
        start = end


cdef inline RunRange run_range(const Broadcast* plan, RangeF range) noexcept nogil:
    cdef RunRange r
    r.range = range
    r.run = max(plan.inner, 1)
    r.a_repeats = plan.a_repeats
    return r


cdef inline void positive_zeros(const RunRange* r, float* y, int64_t n) noexcept nogil:
    """0 for -0, in whole blocks of four of each run; n as in `sum_8_in_blocks`."""
    cdef int64_t start = 0
    cdef int64_t end, i
    while start < n:
        end = min(start + r.run, n)
        for i in range(start, end - (end - start) % 4):
            y[i] = y[i] if y[i] != 0 else 0
        start = end


cdef inline void add_f32_neon(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """With a lower limit of 0."""
    add_f32(params, a, b, y, n)
    positive_zeros(<const RunRange*>params, y, n)


cdef inline void sub_f32_neon(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    sub_f32(params, a, b, y, n)
    positive_zeros(<const RunRange*>params, y, n)
