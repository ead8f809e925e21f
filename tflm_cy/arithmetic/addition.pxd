"""ADD, SUB and SQUARED_DIFFERENCE on arrays of equal length; `broadcast` brings operands into that form.

The quantized kernels bring both operands to twice the larger scale, with spare low bits, before they add. On 8 bits that step is a table of
256 entries per operand, made in prepare; a subtraction is an addition whose second table is negated (in wrapping arithmetic the same).
Source: LiteRT:tflite/kernels/internal/reference/{add,sub}.h and squared_difference.cc.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tflm_cy.arithmetic.fixed_point cimport (
    Range32, Range64, RangeF, clamp32, clamp_f32, high_product, round_shift, round_shift_in_block,
)
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Multiplier, Rescale
from tflm_cy.arithmetic.nan_order cimport add_runs
from tflm_cy.arithmetic.rescale cimport rescale

cdef enum:
    CLAMPED_AT_ONCE = 1024       # values that stay in the cache

ctypedef fused Whole:
    int16_t
    int32_t
    int64_t

cdef struct Sum8:                # int8 and uint8, tables by byte
    int32_t a[256]
    int32_t b[256]
    Rescale out
    int32_t zero_point
    Range32 range

cdef struct Sum16:               # int16, any scales; b_sign -1: subtract
    Rescale a
    Rescale b
    Rescale out
    int32_t b_sign
    Range32 range

cdef struct FourSum8:            # of SUB, for a multiplier above 1: blocks of four
    Sum8 sum
    Multiplier out

cdef struct FourSum16:
    Sum16 sum
    Multiplier out

cdef struct Shifted16:           # int16, scales that are powers of two
    int32_t a_shift
    int32_t b_shift
    int32_t b_sign
    Range32 range


ctypedef void (*RunsF32)(const float* a, const float* b, float* y, int64_t n) noexcept nogil       # of nan_order.pxd


cdef inline void clamped_runs_f32(RunsF32 runs, const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """Sums or products whose order of NaN is told, then their limits, while they are in the cache."""
    cdef RangeF range_ = (<const RangeF*>params)[0]
    cdef int64_t i, some
    while n > 0:
        some = min(n, <int64_t>CLAMPED_AT_ONCE)
        runs(a, b, y, some)
        for i in range(some):
            y[i] = clamp_f32(y[i], range_.low, range_.high)
        a, b, y, n = a + some, b + some, y + some, n - some


cdef inline void add_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """On aarch64 a's NaN comes out before b's; on x86-64 a vector kernel says so."""
    cdef RangeF range_ = (<const RangeF*>params)[0]
    cdef int64_t i
    if AARCH64:
        clamped_runs_f32(add_runs, params, a, b, y, n)
        return
    for i in range(n):
        y[i] = clamp_f32(a[i] + b[i], range_.low, range_.high)


cdef inline void sub_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef RangeF range_ = (<const RangeF*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = clamp_f32(a[i] - b[i], range_.low, range_.high)


cdef inline Whole clamp_whole(Whole x, Whole low, Whole high) noexcept nogil:
    if x < low:
        x = low
    return high if x > high else x


cdef inline void add_whole(const void* params, const Whole* a, const Whole* b, Whole* y, int64_t n) noexcept nogil:
    """Wraps, then clamps."""
    cdef Whole low = <Whole>(<const Range64*>params).low
    cdef Whole high = <Whole>(<const Range64*>params).high
    cdef int64_t i
    for i in range(n):
        y[i] = clamp_whole(<Whole>(<uint64_t>a[i] + <uint64_t>b[i]), low, high)


cdef inline void sub_whole(const void* params, const Whole* a, const Whole* b, Whole* y, int64_t n) noexcept nogil:
    cdef Whole low = <Whole>(<const Range64*>params).low
    cdef Whole high = <Whole>(<const Range64*>params).high
    cdef int64_t i
    for i in range(n):
        y[i] = clamp_whole(<Whole>(<uint64_t>a[i] - <uint64_t>b[i]), low, high)


cdef inline int32_t wide_operand(int32_t x, int32_t zero_point, int left, Rescale scale) noexcept nogil:
    """An operand at twice the larger scale, shifted left by `left` bits."""
    return rescale(<int32_t>((<uint32_t>x - <uint32_t>zero_point) << left), scale)


cdef inline void sum_8(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef const Sum8* s = <const Sum8*>params
    cdef Rescale out = s.out
    cdef int32_t zero_point = s.zero_point
    cdef int32_t low = s.range.low
    cdef int32_t high = s.range.high
    cdef int32_t total
    cdef int64_t i
    for i in range(n):
        total = <int32_t>(<uint32_t>s.a[a[i]] + <uint32_t>s.b[b[i]])
        y[i] = <uint8_t>clamp32(<int32_t>(<uint32_t>rescale(total, out) + <uint32_t>zero_point), low, high)


cdef inline void sum_s16(const void* params, const int16_t* a, const int16_t* b, int16_t* y, int64_t n) noexcept nogil:
    """Zero points are 0; 15 spare bits."""
    cdef Sum16 s = (<const Sum16*>params)[0]
    cdef uint32_t first, second
    cdef int64_t i
    for i in range(n):
        first = <uint32_t>rescale(<int32_t>a[i] * 32768, s.a)
        second = <uint32_t>rescale(<int32_t>b[i] * 32768, s.b) * <uint32_t>s.b_sign
        y[i] = <int16_t>clamp32(rescale(<int32_t>(first + second), s.out), s.range.low, s.range.high)


cdef inline int32_t multiply_shifting_right(int32_t x, Multiplier m, bint in_block) noexcept nogil:
    """A multiplier above 1, as if it were below: the count of the right shift is negative."""
    cdef int32_t high = high_product(x, m.value)
    return round_shift_in_block(high, -m.shift) if in_block else round_shift(high, -m.shift)


cdef inline int32_t multiply_8_shifting_right(int32_t x, Multiplier m, bint in_block) noexcept nogil:
    """The blocks of 8-bit values make their mask of the rest by a shift of 64 bits, here beyond their end."""
    if in_block and m.shift > 32:
        return 1 if high_product(x, m.value) >= 0 else -1
    return multiply_shifting_right(x, m, in_block)


cdef inline void sub_8_in_fours(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    """n is the whole tensor."""
    cdef const FourSum8* four = <const FourSum8*>params
    cdef const Sum8* s = &four.sum
    cdef int64_t body = n - n % 4
    cdef int32_t total
    cdef int64_t i
    for i in range(n):
        total = <int32_t>(<uint32_t>s.a[a[i]] + <uint32_t>s.b[b[i]])
        total = <int32_t>(<uint32_t>multiply_8_shifting_right(total, four.out, i < body) + <uint32_t>s.zero_point)
        y[i] = <uint8_t>clamp32(total, s.range.low, s.range.high)


cdef inline void sub_s16_in_fours(const void* params, const int16_t* a, const int16_t* b, int16_t* y, int64_t n) noexcept nogil:
    """n is the whole tensor."""
    cdef const FourSum16* four = <const FourSum16*>params
    cdef Sum16 s = four.sum
    cdef int64_t body = n - n % 4
    cdef uint32_t total
    cdef int64_t i
    for i in range(n):
        total = <uint32_t>rescale(<int32_t>a[i] * 32768, s.a) - <uint32_t>rescale(<int32_t>b[i] * 32768, s.b)
        y[i] = <int16_t>clamp32(multiply_shifting_right(<int32_t>total, four.out, i < body), s.range.low, s.range.high)


cdef inline void sum_shifted_s16(const void* params, const int16_t* a, const int16_t* b, int16_t* y, int64_t n) noexcept nogil:
    """One operand has the output's scale, the other a smaller power of two; the sum saturates at int16, which the limits do not leave."""
    cdef Shifted16 s = (<const Shifted16*>params)[0]
    cdef int32_t flip = -<int32_t>(s.b_sign < 0)
    cdef int32_t a_half = (1 << s.a_shift) >> 1
    cdef int32_t b_half = (1 << s.b_shift) >> 1
    cdef int32_t a_less = -<int32_t>(s.a_shift > 0)
    cdef int32_t b_less = -<int32_t>(s.b_shift > 0)
    cdef int32_t total
    cdef int64_t i
    for i in range(n):                           # round_shift: half of the divisor is added, 1 less to what is negative
        total = (a[i] + a_half + ((a[i] >> 15) & a_less)) >> s.a_shift
        total += (((b[i] + b_half + ((b[i] >> 15) & b_less)) >> s.b_shift) ^ flip) - flip
        y[i] = <int16_t>clamp32(total, s.range.low, s.range.high)


cdef inline void squared_difference_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = (a[i] - b[i]) * (a[i] - b[i])


cdef inline void squared_difference_s32(const void* params, const int32_t* a, const int32_t* b, int32_t* y, int64_t n) noexcept nogil:
    cdef uint32_t d
    cdef int64_t i
    for i in range(n):
        d = <uint32_t>a[i] - <uint32_t>b[i]
        y[i] = <int32_t>(d * d)


cdef inline void squared_difference_s16(const void* params, const int16_t* a, const int16_t* b, int16_t* y, int64_t n) noexcept nogil:
    """Zero points are 0; no spare bits."""
    cdef const Sum16* s = <const Sum16*>params
    cdef uint32_t d
    cdef int64_t i
    for i in range(n):
        d = <uint32_t>rescale(a[i], s.a) - <uint32_t>rescale(b[i], s.b)
        y[i] = <int16_t>clamp32(rescale(<int32_t>(d * d), s.out), s.range.low, s.range.high)


cdef inline void squared_difference_8(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    """int8 only: the tables of `sum_8` with 7 spare bits, b's negated."""
    cdef const Sum8* s = <const Sum8*>params
    cdef Rescale out = s.out
    cdef uint32_t d
    cdef int64_t i
    for i in range(n):
        d = <uint32_t>s.a[a[i]] + <uint32_t>s.b[b[i]]
        y[i] = <uint8_t>clamp32(<int32_t>(<uint32_t>rescale(<int32_t>(d * d), out) + <uint32_t>s.zero_point), s.range.low, s.range.high)
