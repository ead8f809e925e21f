"""gemmlowp's fixed-point functions: exponential, reciprocal, logarithm, logistic and tanh on raw int32 and int16.

A value with m integer bits is raw * 2^(m - 31) in 32 bits and raw * 2^(m - 15) in 16; Q5.26 has m = 5. A product is the rounded high half
(`high_product`, `high_product16`); every step rounds, so the order of the steps is part of the definition. The 16-bit constants are the
32-bit ones rounded to their upper half.

Source: gemmlowp's fixedpoint.h as LiteRT:tflite/kernels/internal/{common.h,quantization_util.cc} uses it.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, int16_t, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport high_product, round_shift

cdef enum:
    ONE_32 = 2147483647              # 1 in Q0.31, as near as it gets
    ONE_16 = 32767
    EXP_MINUS_EIGHTH = 1895147668    # exp(-1/8) in Q0.31
    THIRD = 715827883                # 1/3
    SQRT_HALF = 1518500250
    LOG_2 = 1488522236               # ln 2


cdef inline int32_t saturate32(int64_t x) noexcept nogil:
    if x < INT32_MIN:
        return INT32_MIN
    return INT32_MAX if x > INT32_MAX else <int32_t>x


cdef inline int32_t saturate16(int32_t x) noexcept nogil:
    if x < -32768:
        return -32768
    return 32767 if x > 32767 else x


cdef inline int32_t rescale32(int32_t x, int n) noexcept nogil:
    """x * 2^n: saturating to the left, rounding half away from zero to the right; -31 <= n <= 31."""
    return saturate32(<int64_t>x * (<int64_t>1 << n)) if n >= 0 else round_shift(x, -n)


cdef inline int leading_zeros(uint32_t x) noexcept nogil:
    cdef int n = 0
    if x == 0:
        return 32
    while not x & 0x80000000u:
        x <<= 1
        n += 1
    return n


cdef inline int32_t exp_factor(int32_t y, int32_t rest, int bits, int exponent, int32_t factor) noexcept nogil:
    return high_product(y, factor) if bits > exponent and (<uint32_t>rest >> (31 - bits + exponent)) & 1 else y


cdef inline int32_t exp_on_negative(int32_t a, int bits) noexcept nogil:
    """exp of a <= 0 with `bits` integer bits (4 or 5), as Q0.31: a polynomial on the last quarter, times a constant for every bit above."""
    cdef int32_t quarter = 1 << (29 - bits)
    cdef int32_t m = (a & (quarter - 1)) - quarter
    cdef int32_t rest = m - a
    cdef int32_t x = rescale32(m, bits) + (1 << 28)
    cdef int32_t x2 = high_product(x, x)
    cdef int32_t x3 = high_product(x2, x)
    cdef int32_t x4 = high_product(x2, x2)
    cdef int32_t t = round_shift(high_product(round_shift(x4, 2) + x3, THIRD) + x2, 1)
    cdef int32_t y = EXP_MINUS_EIGHTH + high_product(EXP_MINUS_EIGHTH, x + t)
    if a == 0:
        return ONE_32
    y = exp_factor(y, rest, bits, -2, 1672461947)
    y = exp_factor(y, rest, bits, -1, 1302514674)
    y = exp_factor(y, rest, bits, 0, 790015084)
    y = exp_factor(y, rest, bits, 1, 290630308)
    y = exp_factor(y, rest, bits, 2, 39332535)
    y = exp_factor(y, rest, bits, 3, 720401)
    return exp_factor(y, rest, bits, 4, 242)


cdef inline int32_t newton(int32_t a) noexcept nogil:
    """Half of 2 / (1 + a) in Q2.29, a in [0, 1) in Q0.31: three steps of Newton's iteration."""
    cdef int32_t half = <int32_t>((<int64_t>a + ONE_32 + 1) >> 1)
    cdef int32_t x = 1515870810 + high_product(half, -1010580540)
    cdef int k
    for k in range(3):
        x = <int32_t>(<uint32_t>x + <uint32_t>rescale32(high_product(x, (1 << 29) - high_product(half, x)), 2))
    return x


cdef inline int32_t one_over_one_plus_x(int32_t a) noexcept nogil:
    """1 / (1 + a) for a in [0, 1) in Q0.31."""
    return rescale32(newton(a), 1)


cdef inline int32_t one_minus_over_one_plus_x(int32_t a) noexcept nogil:
    """(1 - a) / (1 + a) for a in [0, 1) in Q0.31."""
    return rescale32(newton(a) - (1 << 29), 2)


cdef inline int32_t reciprocal(int32_t x, int integer_bits, int* bits_over_unit) noexcept nogil:
    """1 / x as Q0.31 with a power of two beside it, x > 0 with `integer_bits` integer bits."""
    cdef int head = leading_zeros(<uint32_t>x)
    bits_over_unit[0] = integer_bits - head
    return one_over_one_plus_x(<int32_t>((<uint32_t>x << (head & 31)) - (<uint32_t>1 << 31)))


cdef inline void inverse_sqrt(int32_t x, int32_t* value, int32_t* shift) noexcept nogil:
    """1 / sqrt(x) of an integer as a multiplier of `fixed_point.multiply`: five steps of Newton's iteration in Q3.28."""
    cdef int32_t right = 11
    cdef int32_t pairs, half, y, cube
    cdef int k
    value[0] = ONE_32
    shift[0] = 0
    if x <= 1:
        return
    while x >= 1 << 29:
        x //= 4
        right += 1
    pairs = (leading_zeros(<uint32_t>x) - 1) / 2 - 1
    right -= pairs
    x <<= 2 * pairs
    half = round_shift(x >> 1, 1)
    y = 1 << 28
    for k in range(5):
        cube = rescale32(high_product(high_product(y, y), y), 6)
        y = rescale32(high_product((1 << 28) + (1 << 27), y) - high_product(half, cube), 3)
    y = high_product(y, SQRT_HALF)
    if right < 0:
        y <<= -right
        right = 0
    value[0] = y
    shift[0] = -right


cdef inline int32_t log_at_least_one(int32_t x) noexcept nogil:
    """ln of x >= 1 in Q12.19, as Q5.26. Two octaves' reductions are tried; the better one is taken by their minimum and maximum. A negative x,
    a sum that has wrapped, has no bit to spare: both are the smallest number.
    """
    cdef int head = leading_zeros(<uint32_t>x)
    cdef int32_t quarter = round_shift(1 << 29, 6)
    cdef int32_t r_a = rescale32(high_product(rescale32(x, head - 1) if x >= 0 else INT32_MIN, SQRT_HALF), 1)
    cdef int32_t z_a = saturate32(<int64_t>rescale32(12 - head, 25) + quarter)
    cdef int head_b = leading_zeros(<uint32_t>high_product(x, SQRT_HALF)) - 1
    cdef int32_t r_b = rescale32(x, head_b) if x >= 0 else INT32_MIN
    cdef int32_t z_b = saturate32(<int64_t>rescale32(12 - head_b, 25) - quarter)
    cdef int32_t r = min(r_a, r_b)
    cdef int32_t z = max(z_a, z_b)
    cdef int32_t p = <int32_t>((<int64_t>r + 1805811301 + 1) >> 1)
    cdef int32_t q = <int32_t>(2 * (<uint32_t>r - 1805811301u))
    cdef int32_t q2 = high_product(q, q)
    cdef int32_t numerator = wrapping_sum(high_product(q, r), high_product(high_product(q, q2), 117049297))
    cdef int32_t denominator = wrapping_sum(
        high_product(p, wrapping_sum(1057819769, wrapping_sum(q, high_product(127690142, q2)))), high_product(638450708, q))
    cdef int32_t tail = high_product(round_shift(numerator, 6), one_over_one_plus_x(denominator))
    return rescale32(wrapping_sum(high_product(z, LOG_2), tail), 1)


cdef inline int32_t wrapping_sum(int32_t a, int32_t b) noexcept nogil:
    return <int32_t>(<uint32_t>a + <uint32_t>b)


cdef inline int32_t high_product16(int32_t a, int32_t b) noexcept nogil:
    """SaturatingRoundingDoublingHighMul on int16 values: a * b / 2^15, rounded half away from zero."""
    cdef int32_t ab = a * b
    if a == -32768 and b == -32768:
        return 32767
    return (ab + ((1 << 14) if ab >= 0 else 1 - (1 << 14))) / (1 << 15)


cdef inline int32_t rescale16(int32_t x, int n) noexcept nogil:
    """x * 2^n of an int16 value, -15 <= n <= 15."""
    return saturate16(x * (1 << n)) if n >= 0 else round_shift(x, -n)


cdef inline int32_t upper_half(int32_t constant) noexcept nogil:
    """A 32-bit constant in 16 bits."""
    return <int32_t>((<int64_t>constant + (1 << 15)) >> 16)


cdef inline int32_t exp_factor16(int32_t y, int32_t rest, int bits, int exponent, int32_t factor) noexcept nogil:
    if bits > exponent and rest & (1 << (15 - bits + exponent)):
        return high_product16(y, upper_half(factor))
    return y


cdef inline int32_t exp_on_negative16(int32_t a, int bits) noexcept nogil:
    """exp of a <= 0 with `bits` integer bits (0 .. 13), as Q0.15."""
    cdef int32_t quarter = 1 << (13 - bits)
    cdef int32_t m = (a & (quarter - 1)) - quarter
    cdef int32_t rest = m - a
    cdef int32_t x = rescale16(m, bits) + (1 << 12)
    cdef int32_t x2 = high_product16(x, x)
    cdef int32_t x3 = high_product16(x2, x)
    cdef int32_t x4 = high_product16(x2, x2)
    cdef int32_t t = rescale16(high_product16(rescale16(x4, -2) + x3, upper_half(THIRD)) + x2, -1)
    cdef int32_t y = saturate16(upper_half(EXP_MINUS_EIGHTH) + high_product16(upper_half(EXP_MINUS_EIGHTH), x + t))
    if a == 0:
        return ONE_16
    y = exp_factor16(y, rest, bits, -2, 1672461947)
    y = exp_factor16(y, rest, bits, -1, 1302514674)
    y = exp_factor16(y, rest, bits, 0, 790015084)
    y = exp_factor16(y, rest, bits, 1, 290630308)
    y = exp_factor16(y, rest, bits, 2, 39332535)
    y = exp_factor16(y, rest, bits, 3, 720401)
    y = exp_factor16(y, rest, bits, 4, 242)
    if bits > 5 and a < -(1 << (20 - bits)):
        return 0
    return y


cdef inline int32_t newton16(int32_t a) noexcept nogil:
    """Half of 2 / (1 + a) in Q2.13, a in [0, 1] in Q0.15."""
    cdef int32_t half = (a + ONE_16 + 1) >> 1
    cdef int32_t x = upper_half(1515870810) + high_product16(half, upper_half(-1010580540))
    cdef int k
    for k in range(3):
        x = x + rescale16(high_product16(x, (1 << 13) - high_product16(half, x)), 2)
    return x


cdef inline int16_t logistic_s16(int32_t a, int bits) noexcept nogil:
    """Logistic of an int16 with `bits` integer bits, as Q0.15."""
    cdef int32_t y
    if a == 0:
        return 1 << 14
    y = rescale16(newton16(exp_on_negative16(a if a < 0 else -a, bits)), 1)
    return <int16_t>(y if a > 0 else ONE_16 - y)


cdef inline int16_t tanh_s16(int32_t a, int bits) noexcept nogil:
    """tanh of an int16 with `bits` integer bits, as Q0.15."""
    cdef int32_t y
    if a == 0:
        return 0
    y = rescale16(newton16(exp_on_negative16(a if a < 0 else -a, bits + 1)) - (1 << 13), 2)
    return <int16_t>(-y if a < 0 else y)
