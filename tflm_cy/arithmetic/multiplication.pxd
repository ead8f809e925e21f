"""MUL, DIV, FLOOR_DIV, FLOOR_MOD and POW on arrays of equal length; `broadcast` brings operands into that form.

Divisors are checked before: no kernel here sees an integer 0 to divide by.
Source: LiteRT:tflite/kernels/internal/reference/{mul,div}.h, floor_{div,mod}.cc, pow.cc; QuantizedDiv by gemmlowp's Newton reciprocal.
"""
from libc.math cimport floor, floorf, fmodf, pow, powf
from libc.stdint cimport INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tflm_cy.arithmetic.addition cimport clamped_runs_f32
from tflm_cy.arithmetic.fixed_point cimport Range32, Range64, RangeF, clamp32, clamp_f32, high_product, round_shift
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.nan_order cimport mul_runs
from tflm_cy.arithmetic.rescale cimport rescale
from tflm_cy.arithmetic.rounding cimport cut32, cut32_f64

cdef enum:
    POWERS = 256                 # bases whose power is taken at a time

ctypedef fused Factor:
    int16_t
    int32_t
    uint32_t
    int64_t

ctypedef fused Quantized:
    int8_t
    uint8_t
    int16_t

ctypedef fused Divided:
    int8_t
    int16_t
    int32_t
    int64_t

cdef struct Product:             # quantized MUL
    Rescale rescale
    int32_t a_zero_point
    int32_t b_zero_point
    int32_t y_zero_point
    Range32 range

cdef struct Quotient:            # quantized DIV
    int32_t value
    int32_t shift
    int32_t a_zero_point
    int32_t b_zero_point
    int32_t y_zero_point
    Range32 range

cdef struct Divisor:             # of a quantized DIV: -1 below 0, its leading zeros, its inverse
    int32_t sign
    int32_t head
    int32_t inverse

cdef extern from *:
    int count_leading_zeros "__builtin_clz"(uint32_t x) noexcept nogil        # x is not 0


cdef inline void mul_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """As add_f32."""
    cdef RangeF range_ = (<const RangeF*>params)[0]
    cdef int64_t i
    if AARCH64:
        clamped_runs_f32(mul_runs, params, a, b, y, n)
        return
    for i in range(n):
        y[i] = clamp_f32(a[i] * b[i], range_.low, range_.high)


cdef extern from *:
    """
    static inline void tflm_cy_mul_c64(const float *a, const float *b, float *y) {
        const float _Complex p = __builtin_complex(a[0], a[1]) * __builtin_complex(b[0], b[1]);
        y[0] = __real__ p;
        y[1] = __imag__ p;
    }
    /* Blocks of products without a NaN, in loops that the compiler makes vectors of; y may be a or b. */
    static inline void tflm_cy_mul_runs_c64(const float *a, const float *b, float *y, int64_t n) {
        enum { BLOCK = 8 };
        for (; n >= BLOCK; n -= BLOCK, a += 2 * BLOCK, b += 2 * BLOCK, y += 2 * BLOCK) {
            float real[BLOCK], imaginary[BLOCK];
            int odd = 0;
            for (int i = 0; i < BLOCK; i++) {
                real[i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
                imaginary[i] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
            }
            for (int i = 0; i < BLOCK; i++) odd |= (real[i] != real[i]) | (imaginary[i] != imaginary[i]);
            for (int i = 0; i < BLOCK; i++) {
                if (odd) tflm_cy_mul_c64(a + 2 * i, b + 2 * i, y + 2 * i);
                else y[2 * i] = real[i], y[2 * i + 1] = imaginary[i];
            }
        }
        for (; n > 0; n--, a += 2, b += 2, y += 2) tflm_cy_mul_c64(a, b, y);
    }
    """
    void tflm_cy_mul_runs_c64(const float* a, const float* b, float* y, int64_t n) noexcept nogil


cdef inline void mul_c64(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """C's complex product: infinities are recovered where both parts would be NaN."""
    tflm_cy_mul_runs_c64(a, b, y, n)


cdef inline void div_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef RangeF range_ = (<const RangeF*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = clamp_f32(a[i] / b[i], range_.low, range_.high)


cdef inline void mul_whole(const void* params, const Factor* a, const Factor* b, Factor* y, int64_t n) noexcept nogil:
    """Wraps, then clamps."""
    cdef Factor low = <Factor>(<const Range64*>params).low
    cdef Factor high = <Factor>(<const Range64*>params).high
    cdef Factor product
    cdef int64_t i
    for i in range(n):
        product = <Factor>(<uint64_t>a[i] * <uint64_t>b[i])
        if product < low:
            product = low
        y[i] = high if product > high else product


cdef inline void mul_q(const void* params, const Quantized* a, const Quantized* b, Quantized* y, int64_t n) noexcept nogil:
    cdef Product p = (<const Product*>params)[0]
    cdef int32_t product
    cdef int64_t i
    for i in range(n):
        product = <int32_t>((<uint32_t><int32_t>a[i] - <uint32_t>p.a_zero_point) * (<uint32_t><int32_t>b[i] - <uint32_t>p.b_zero_point))
        y[i] = <Quantized>clamp32(<int32_t>(<uint32_t>rescale(product, p.rescale) + <uint32_t>p.y_zero_point), p.range.low, p.range.high)


cdef inline int32_t quotient_s32(int32_t a, int32_t b) noexcept nogil:
    """a / b towards 0; INT32_MIN / -1 wraps. By doubles, in which the quotient of two int32 rounds to no other whole number.

    That quotient alone fits no int32: x86's conversion answers INT32_MIN, aarch64's would saturate.
    """
    cdef double quotient = <double>a / <double>b
    return <int32_t><int64_t>quotient if AARCH64 else cut32_f64(quotient)


cdef inline void div_s32(const void* params, const int32_t* a, const int32_t* b, int32_t* y, int64_t n) noexcept nogil:
    cdef int32_t low = <int32_t>(<const Range64*>params).low
    cdef int32_t high = <int32_t>(<const Range64*>params).high
    cdef int64_t i
    for i in range(n):
        y[i] = clamp32(quotient_s32(a[i], b[i]), low, high)


cdef inline int leading_zeros_32(uint32_t x) noexcept nogil:
    return 32 if x == 0 else count_leading_zeros(x)


cdef inline int32_t saturated(int64_t x) noexcept nogil:
    return <int32_t>(-2147483648 if x < -2147483648 else 2147483647 if x > 2147483647 else x)


cdef inline int32_t reciprocal(int32_t x) noexcept nogil:
    """1 / (1 + x) for x in [0, 1) as Q0.31: three Newton steps from 48/17 - 32/17 * (1 + x) / 2, in Q2.29."""
    cdef int32_t half = <int32_t>((<int64_t>x + 2147483647 + 1) >> 1)
    cdef int32_t r = 1515870810 + high_product(half, -1010580540)
    cdef int step
    for step in range(3):
        r = r + saturated(<int64_t>high_product(r, (1 << 29) - high_product(half, r)) << 2)
    return saturated(<int64_t>r << 1)


cdef inline Divisor divisor(int32_t b, const Quotient* q) noexcept nogil:
    cdef Divisor d
    b = <int32_t>(<uint32_t>b - <uint32_t>q.b_zero_point)
    d.sign = b >> 31
    b = <int32_t>((<uint32_t>b ^ <uint32_t>d.sign) - <uint32_t>d.sign)
    d.head = leading_zeros_32(<uint32_t>b)
    d.inverse = reciprocal(<int32_t>((<uint32_t>b << (d.head & 31)) - <uint32_t>0x80000000))
    return d


cdef inline int32_t quotient(int32_t a, Divisor d, const Quotient* q) noexcept nogil:
    """A right shift beyond 31 (a tiny quotient) takes the shift mod 32, as on x86: the result saturates."""
    cdef int a_head
    cdef int32_t r
    a = <int32_t>(<uint32_t>a - <uint32_t>q.a_zero_point)
    a = <int32_t>((<uint32_t>a ^ <uint32_t>d.sign) - <uint32_t>d.sign)
    a_head = leading_zeros_32(<uint32_t>(a ^ (a >> 31))) - 1     # leading bits equal to the sign, which is not counted
    r = high_product(high_product(<int32_t>(<uint32_t>a << (a_head & 31)), d.inverse), q.value)
    r = round_shift(r, -(q.shift - (31 - d.head) - a_head))
    return clamp32(<int32_t>(<uint32_t>r + <uint32_t>q.y_zero_point), q.range.low, q.range.high)


cdef inline void div_q(const void* params, const Quantized* a, const Quantized* b, Quantized* y, int64_t n) noexcept nogil:
    """Of many bytes each divisor is inverted once."""
    cdef Quotient q = (<const Quotient*>params)[0]
    cdef Divisor divisors[256]
    cdef int64_t i
    cdef int byte
    if sizeof(Quantized) == 1 and n >= 256:
        for byte in range(256):
            divisors[byte] = divisor(<Quantized>byte, &q)
        for i in range(n):
            y[i] = <Quantized>quotient(a[i], divisors[<uint8_t>b[i]], &q)
        return
    for i in range(n):
        y[i] = <Quantized>quotient(a[i], divisor(b[i], &q), &q)


cdef inline void floor_div_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>floor(<double>a[i] / <double>b[i])


cdef inline int32_t low_bits(double x) noexcept nogil:
    """(int32_t)x as x86 converts."""
    if x >= 2147483648.0 or x <= -2147483649.0 or x != x:
        return INT32_MIN
    return <int32_t>x


cdef inline void floor_div_whole(const void* params, const Divided* a, const Divided* b, Divided* y, int64_t n) noexcept nogil:
    """Through the double quotient; not for int64. Of 16 bits float32 has enough: what is no whole number differs from one by 2^-15 of itself."""
    cdef int64_t i
    for i in range(n):
        if sizeof(Divided) <= 2:
            y[i] = <Divided>cut32(floorf(<float>a[i] / <float>b[i]))
        else:
            y[i] = <Divided>cut32_f64(floor(<double>a[i] / <double>b[i]))


cdef inline void floor_div_blocks(const void* params, const Divided* a, const Divided* b, Divided* y, int64_t n) noexcept nogil:
    """8 and 16 bits of two tensors of one shape: the one quotient that does not fit, of the lowest value and -1, saturates in whole blocks of 8."""
    cdef int64_t whole = n - n % 8
    cdef int64_t i
    floor_div_whole(params, a, b, y, n)
    for i in range(whole):
        y[i] = <Divided>-(a[i] + 1) if (b[i] == -1) & (a[i] < 0) & (a[i] == y[i]) else y[i]


cdef inline void floor_mod_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """fmodf, moved to the divisor's sign."""
    cdef float r
    cdef int64_t i
    for i in range(n):
        r = fmodf(a[i], b[i])
        y[i] = r + b[i] if r != 0 and (b[i] < 0) != (r < 0) else r


cdef inline void floor_mod_whole(const void* params, const Divided* a, const Divided* b, Divided* y, int64_t n) noexcept nogil:
    """By quotients in floating point, cut, as `floor_div_whole`; those of int64 are the machine's."""
    cdef Divided r, moved
    cdef int64_t i
    for i in range(n):
        if sizeof(Divided) <= 2:
            r = <Divided>(a[i] - <int32_t>cut32(<float>a[i] / <float>b[i]) * b[i])
        elif sizeof(Divided) == 4:
            r = <Divided>(<uint32_t>a[i] - <uint32_t>quotient_s32(<int32_t>a[i], <int32_t>b[i]) * <uint32_t>b[i])
        else:
            r = 0 if b[i] == -1 else a[i] % b[i]             # the lowest value % -1 would trap
        moved = <Divided>-<Divided>((r != 0) & ((b[i] < 0) != (r < 0)))
        y[i] = <Divided>(r + (b[i] & moved))


cdef inline void pow_f32(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = powf(a[i], b[i])


cdef inline void pow_s32(const void* params, const int32_t* a, const int32_t* b, int32_t* y, int64_t n) noexcept nogil:
    """Through double; what does not fit is INT32_MIN."""
    cdef int64_t i
    for i in range(n):
        y[i] = low_bits(pow(<double>a[i], <double>b[i]))


cdef inline void power_by_products_s32(const int32_t* a, int32_t exponent, int32_t* y, int64_t n) noexcept nogil:
    """One exponent of at least 1 for all bases: products that wrap. All bases of a block are squared at a time."""
    cdef uint32_t[POWERS] square
    cdef uint32_t[POWERS] product
    cdef int64_t i, m
    cdef int64_t done = 0
    cdef int32_t e
    while done < n:
        m = min(n - done, <int64_t>POWERS)
        for i in range(m):
            square[i] = <uint32_t>a[done + i]
            product[i] = square[i] if exponent & 1 else 1
        e = exponent >> 1
        while e > 0:
            for i in range(m):
                square[i] *= square[i]
            if e & 1:
                for i in range(m):
                    product[i] *= square[i]
            e >>= 1
        for i in range(m):
            y[done + i] = <int32_t>product[i]
        done += m


cdef inline void power_by_products_f32(const float* a, int32_t exponent, float* y, int64_t n) noexcept nogil:
    """x^e as the square of x^(e / 2), times x when e is odd; every product is clamped to the finite numbers."""
    cdef float limit = <float>3.4028234663852886e38
    cdef float power
    cdef int top = 0
    cdef int bit
    cdef int64_t i
    while exponent >> (top + 1):
        top += 1
    for i in range(n):
        power = a[i]
        for bit in range(top - 1, -1, -1):
            power = clamp_f32(power * power, -limit, limit)
            if (exponent >> bit) & 1:
                power = clamp_f32(a[i] * power, -limit, limit)
        y[i] = power


cdef inline void mul_s16_s8(const void* params, const int16_t* a, const int16_t* b, int8_t* y, int64_t n) noexcept nogil:
    """int16 fractions to int8: the rounded product's upper byte, whatever the scales."""
    cdef Product p = (<const Product*>params)[0]
    cdef int32_t ab, high
    cdef int64_t i
    for i in range(n):
        ab = <int32_t>a[i] * <int32_t>b[i]
        high = 32767 if a[i] == -32768 and b[i] == -32768 else (ab + (16384 if ab >= 0 else 1 - 16384)) / 32768
        y[i] = <int8_t>(p.y_zero_point + clamp32(round_shift(high, 8), p.range.low - p.y_zero_point, p.range.high - p.y_zero_point))
