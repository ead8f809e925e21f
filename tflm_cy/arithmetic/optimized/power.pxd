"""Eigen's power of float32 values with one exponent for all, as its packets compute it: without fused multiply-add but, on aarch64, in polynomials.

x^y = 2^(y * log2(x)): log2 of the mantissa and the product with y are kept as sums of two floats (`Pair`), whose exact products are made
by splitting each factor in halves (Veltkamp, Dekker). Whole exponents from -3 to 7 are repeated products instead.

Source: Eigen's src/Core/arch/Default/GenericPacketMathFunctions.h.
"""
from libc.math cimport INFINITY, NAN, fabsf, floorf, frexpf, ldexpf, roundf, truncf
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport eigen_exp
from tflm_cy.arithmetic.machine cimport product_plus

cdef struct Pair:                # high + low, low at most half a unit of high's last place
    float high
    float low


cdef inline Pair sum_ordered(float x, float y) noexcept nogil:
    """Exact when |x| >= |y|."""
    cdef Pair s
    s.high = x + y
    s.low = y - (s.high - x)
    return s


cdef inline Pair split(float x) noexcept nogil:
    cdef Pair s
    cdef float gamma = <float>4097 * x
    s.high = (x - gamma) + gamma
    s.low = x - s.high
    return s


cdef inline Pair product(float x, float y) noexcept nogil:
    cdef Pair a = split(x)
    cdef Pair b = split(y)
    cdef Pair p
    p.high = x * y
    p.low = a.high * b.high - p.high
    p.low = a.high * b.low + p.low
    p.low = a.low * b.high + p.low
    p.low = a.low * b.low + p.low
    return p


cdef inline Pair times(Pair x, float y) noexcept nogil:
    cdef Pair c = product(x.high, y)
    cdef Pair t = sum_ordered(c.high, x.low * y)
    return sum_ordered(t.high, t.low + c.low)


cdef inline Pair plus(Pair x, Pair y) noexcept nogil:
    """|x| >= |y|."""
    cdef Pair r = sum_ordered(x.high, y.high)
    return sum_ordered(r.high, (y.low + r.low) + x.low)


cdef inline Pair pair_of(double value) noexcept nogil:
    cdef Pair p
    p.high = <float>value
    p.low = <float>(value - <double>p.high)
    return p


cdef inline Pair log2_of_mantissa(float z) noexcept nogil:
    """z between the square roots of 1/2 and 2."""
    cdef float x = z - <float>1
    cdef float p = <float>9.7010828554630279541015625e-02
    cdef Pair s
    p = product_plus(p, x, <float>-1.6896486282348632812500000e-01)
    p = product_plus(p, x, <float>1.7200836539268493652343750e-01)
    p = product_plus(p, x, <float>-1.7892272770404815673828125e-01)
    p = product_plus(p, x, <float>2.0505344867706298828125000e-01)
    p = product_plus(p, x, <float>-2.4046677350997924804687500e-01)
    p = product_plus(p, x, <float>2.8857553005218505859375000e-01)
    p = product_plus(p, x, <float>-3.6067414283752441406250000e-01)
    p = product_plus(p, x, <float>4.8089790344238281250000000e-01)
    s = plus(pair_of(-7.2134751588268664068692714863573201000690460205078125e-01), product(x, p))
    s = plus(pair_of(1.442695041742110273474963832995854318141937255859375e+00), times(s, x))
    return times(s, x)


cdef inline float round_away(float x) noexcept nogil:
    return truncf(x + (<float>-0.49999997 if x < 0 else <float>0.49999997))


cdef inline float positive_power(float x, float y) noexcept nogil:
    """x > 0 and finite."""
    cdef int exponent = 0
    cdef float m = frexpf(x, &exponent)
    cdef float whole, rest, more
    cdef Pair f
    if m < <float>0.70710678118654752440:
        m = <float>2 * m
        exponent -= 1
    f = plus(product(<float>exponent, y), times(log2_of_mantissa(m), y))
    whole = round_away(f.high)
    rest = f.high - whole + f.low
    more = round_away(rest)
    f = product(<float>0.693147180559945309417232121458, rest - more)
    rest = eigen_exp(f.high) * (<float>1 + f.low)
    whole = whole + more
    return ldexpf(rest, <int>max(<float>-400, min(whole, <float>400)))


cdef inline float power_by_squares(float x, float y) noexcept nogil:
    cdef float result = <float>1
    cdef int n = <int>fabsf(y)
    if n == 0:
        return 1
    if y < 0:
        x = <float>1 / x
    while n > 1:
        if n & 1:
            result = result * x
        x = x * x
        n >>= 1
    return result * x


cdef inline float whole_power(float x, float y) noexcept nogil:
    """A whole exponent outside of -3 .. 7."""
    cdef float a = fabsf(x)
    cdef bint odd = floorf(y * <float>0.5) != y * <float>0.5
    cdef float p
    if x != x:
        return NAN
    if x == 1:
        return 1
    if a == 0 or a == INFINITY:
        p = INFINITY if (y < 0) == (a == 0) else <float>0
    elif fabsf(y) >= <float>744261120.0:         # (1 + epsilon)^y leaves the floats
        return 1 if a == 1 else INFINITY if (y < 0) != (a > 1) else <float>0
    else:
        p = positive_power(a, y)
    return -p if odd and (x < 0 or 1 / x < 0) else p


cdef inline float fractional_power(float x, float y) noexcept nogil:
    cdef uint32_t ones = 0xFFFFFFFFu
    cdef float p
    if x == 0:
        return INFINITY if y < 0 else <float>0
    if x < 0 or x != x:
        memcpy(&p, &ones, 4)
        return p if x < 0 else x
    if x == INFINITY:
        return INFINITY if y > 0 else <float>0
    return 1 if x == 1 else positive_power(x, y)


cdef inline float eigen_power(float x, float y) noexcept nogil:
    """y is finite."""
    if roundf(y) != y:
        return fractional_power(x, y)
    return power_by_squares(x, y) if -3 <= y <= 7 else whole_power(x, y)
