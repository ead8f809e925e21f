"""float32 functions of one value as XNNPACK approximates them, LANES (lanes.pxd) values at a time.

    map8(tanh8, &parameters, x, y, n)

Every function is written once, over lanes; `Parameters` holds what an operator brings along. All polynomials are Horner schemes of fused
multiply-adds. Where the generations differ there are two functions: `_avx2` and `_avx512`.

SQRT(inf) = NaN, RSQRT(0) = NaN, EXP(NaN) = 0, GELU(-inf) = NaN: these are approximations, not libm.

Source: XNNPACK's microkernels f32-v*; constants are theirs (beside each its hexadecimal form where it is not a short decimal).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.xnnpack.generation cimport rsqrt14, rsqrtps
from tflm_cy.arithmetic.xnnpack.lanes cimport (
    LANES, bits8, ceil8, equal8, f32x8, floats8, floor8, fma8, i32x8, less8, load8, load_part8, lookup8, lookup_four8, max8, min8, mul8, nearest8,
    select8, select_by_sign8, splat8, store8, store_part8,
)

cdef extern from *:
    """
    /* 2^(i/32) for i = 0 .. 31, as bits */
    static const int32_t tflm_cy_exp2_32[32] = {
      0x3F800000, 0x3F82CD87, 0x3F85AAC3, 0x3F88980F, 0x3F8B95C2, 0x3F8EA43A, 0x3F91C3D3, 0x3F94F4F0, 0x3F9837F0, 0x3F9B8D3A, 0x3F9EF532,
      0x3FA27043, 0x3FA5FED7, 0x3FA9A15B, 0x3FAD583F, 0x3FB123F6, 0x3FB504F3, 0x3FB8FBAF, 0x3FBD08A4, 0x3FC12C4D, 0x3FC5672A, 0x3FC9B9BE,
      0x3FCE248C, 0x3FD2A81E, 0x3FD744FD, 0x3FDBFBB8, 0x3FE0CCDF, 0x3FE5B907, 0x3FEAC0C7, 0x3FEFE4BA, 0x3FF5257D, 0x3FFA83B3};
    /* 2^(i/4) for i = 0 .. 3 less i << 21, so that adding i << 21 to an exponent's bits makes it whole again; a vector's width of them */
    static const int32_t tflm_cy_exp2_4[8] = {0x3F800000, 0x3F7837F0, 0x3F7504F3, 0x3F7744FD, 0x3F800000, 0x3F7837F0, 0x3F7504F3, 0x3F7744FD};
    """
    const int32_t* EXP2_32 "tflm_cy_exp2_32"
    const int32_t* EXP2_4 "tflm_cy_exp2_4"

cdef struct Parameters:
    float low                    # clamp
    float high
    float slope                  # LEAKY_RELU, ELU's alpha

ctypedef f32x8 (*Function8)(const Parameters* p, f32x8 x) noexcept nogil


cdef inline void map8(Function8 function, const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    """The parameters are copied: y might be where they are, and they would be read again for each vector."""
    cdef Parameters own = p[0]
    cdef int64_t i = 0
    while i + LANES <= n:
        store8(y + i, function(&own, load8(x + i)))
        i += LANES
    if i < n:
        store_part8(y + i, function(&own, load_part8(x + i, n - i)), n - i)


cdef inline void map_ahead8(Function8 function, const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    """As map8, four vectors at a time, for long functions: each operation waits for the one before, and the processor sees the next vector only
    when it is near. The caller must be compiled so that the four are interleaved (`SCHEDULED`)."""
    cdef Parameters own = p[0]
    cdef int64_t i = 0
    cdef int64_t m
    cdef f32x8 a, b, c, d
    while i + 4 * LANES <= n:
        a = load8(x + i)
        b = load8(x + i + LANES)
        c = load8(x + i + 2 * LANES)
        d = load8(x + i + 3 * LANES)
        a = function(&own, a)
        b = function(&own, b)
        c = function(&own, c)
        d = function(&own, d)
        store8(y + i, a)
        store8(y + i + LANES, b)
        store8(y + i + 2 * LANES, c)
        store8(y + i + 3 * LANES, d)
        i += 4 * LANES
    while i < n:
        m = LANES if n - i > LANES else n - i
        store_part8(y + i, function(&own, load_part8(x + i, m)), m)
        i += m


cdef inline f32x8 horner8(f32x8 p, f32x8 x, float c) noexcept nogil:
    return fma8(p, x, splat8(c))


# ---- exact ones
cdef inline f32x8 clamp8(f32x8 x, f32x8 low, f32x8 high) noexcept nogil:
    """NaN stays NaN, a low of 0 leaves -0."""
    return min8(high, max8(low, x))


cdef inline f32x8 relu8(const Parameters* p, f32x8 x) noexcept nogil:
    """RELU, RELU6, RELU_N1_TO_1."""
    return clamp8(x, splat8(p.low), splat8(p.high))


cdef inline f32x8 abs8(const Parameters* p, f32x8 x) noexcept nogil:
    """Keeps denormals."""
    return floats8(bits8(x) & 0x7FFFFFFF)


cdef inline f32x8 neg8(const Parameters* p, f32x8 x) noexcept nogil:
    """0 - x: +0 stays +0."""
    return splat8(0) - x


cdef inline f32x8 square8(const Parameters* p, f32x8 x) noexcept nogil:
    return x * x


cdef inline f32x8 round_down8(const Parameters* p, f32x8 x) noexcept nogil:
    return floor8(x)


cdef inline f32x8 round_up8(const Parameters* p, f32x8 x) noexcept nogil:
    return ceil8(x)


cdef inline f32x8 round_nearest8(const Parameters* p, f32x8 x) noexcept nogil:
    return nearest8(x)


cdef inline f32x8 hard_swish8(const Parameters* p, f32x8 x) noexcept nogil:
    cdef f32x8 gate = fma8(x, splat8(<float>0.1666666716337204), splat8(<float>0.5))     # 0x1.555556p-3
    return min8(max8(gate, splat8(0)), splat8(1)) * x


cdef inline f32x8 leaky8_avx512(const Parameters* p, f32x8 x) noexcept nogil:
    """Values that do not take the slope stay as they are, denormals too."""
    return select8(less8(x, splat8(0)), mul8(x, splat8(p.slope)), x)


cdef inline f32x8 leaky8_avx2(const Parameters* p, f32x8 x) noexcept nogil:
    """The sign bit decides: -0, negative denormals and NaN take the slope."""
    return select_by_sign8(x, mul8(x, splat8(p.slope)), x)


# ---- exponentials
cdef inline f32x8 exp_poly8(f32x8 t, f32x8 s) noexcept nogil:
    """s * e^t by a polynomial of degree 5: SOFTMAX, LOGISTIC of AVX2."""
    cdef f32x8 p = splat8(<float>0.008289290592074394)           # 0x1.0F9F9Cp-7
    p = horner8(p, t, <float>0.04189782217144966)                # 0x1.573A1Ap-5
    p = horner8(p, t, <float>0.16667652130126953)                # 0x1.555A80p-3
    p = horner8(p, t, <float>0.4999915063381195)                 # 0x1.FFFDC6p-2
    p = horner8(p, t, <float>0.9999997019767761)                 # 0x1.FFFFF6p-1
    return fma8(t * s, p, s)


cdef inline f32x8 exp8(const Parameters* p, f32x8 x) noexcept nogil:
    """2^k * P(r) / Q(r); NaN becomes -127 by the first clamp, and 2^-127 is 0."""
    cdef f32x8 z = min8(max8(x * splat8(<float>1.44269504089), splat8(-127)), splat8(128))
    cdef f32x8 magic = splat8(12582912)                          # 1.5 * 2^23: rounds to whole numbers
    cdef f32x8 k = (magic + z) - magic
    cdef f32x8 r = z - k
    cdef f32x8 e = floats8(bits8(k + splat8(8388735)) << 23)     # 2^23 + 127
    cdef f32x8 a = splat8(<float>5.5380910635e-03)
    cdef f32x8 b = splat8(<float>2.3986088112e-02)
    a = horner8(a, r, <float>7.2068706155e-02)
    a = horner8(a, r, <float>4.1594290733e-01)
    a = horner8(a, r, 1)
    b = horner8(b, r, <float>-2.7720427513e-01)
    b = horner8(b, r, 1)
    return e * (a / b)


cdef inline f32x8 scale_down8(f32x8 a, f32x8 n) noexcept nogil:
    """VSCALEFPS as LOGISTIC needs it: a * 2^floor(n) for n <= 0 and a of magnitude 1, or anything with n far below -126.

    Results below 2^-126 are flushed; infinite a stays, unless n is -inf: then NaN gives 0.
    """
    cdef f32x8 whole = floor8(n)
    cdef f32x8 power = floats8(bits8(max8(whole, splat8(-126)) + splat8(8388735)) << 23)
    cdef f32x8 infinity = floats8(splat_bits8(0x7F800000))
    cdef f32x8 y = select8(less8(whole, splat8(-126)), a * splat8(0), a * power)
    cdef i32x8 infinite = equal8(floats8(bits8(a) & 0x7FFFFFFF), infinity)
    y = select8(infinite, a, y)
    y = select8(equal8(a, a), y, a)
    return select8(equal8(n, splat8(0) - infinity), splat8(0), y)


cdef inline i32x8 splat_bits8(int32_t v) noexcept nogil:
    return (bits8(splat8(0)) & 0) + v


cdef inline f32x8 sigmoid_of_negative8(f32x8 x, f32x8 f) noexcept nogil:
    """f is the function of -|x|; for the others it is 1 - f."""
    return select_by_sign8(x, f, splat8(1) - f)


cdef inline f32x8 logistic8_avx512(const Parameters* p, f32x8 x) noexcept nogil:
    """A table of 2^(i/32) and degree 2. NaN for finite |x| from about 5.74e26 on."""
    cdef f32x8 z = negative8(x)
    cdef f32x8 magic = splat8(393216)                            # 1.5 * 2^18: rounds to multiples of 1/32
    cdef f32x8 n = fma8(z, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 l = floats8(lookup8(EXP2_32, bits8(n) & 31))
    cdef f32x8 t, q, e
    n = n - magic
    t = fma8(n, splat8(<float>-0.6931471824645996), z)           # -0x1.62E430p-1
    t = fma8(n, splat8(<float>1.9046542121259336e-09), t)        # 0x1.05C61p-29
    q = fma8(t, splat8(<float>0.5), splat8(<float>1.0000146627426147))
    q = fma8(t * l, q, l)
    e = scale_down8(q, n)
    return sigmoid_of_negative8(x, e / (e + splat8(1)))


cdef inline f32x8 logistic8_avx2(const Parameters* p, f32x8 x) noexcept nogil:
    """Degree 5; 0 and 1 beyond 87.34."""
    cdef f32x8 z = negative8(x)
    cdef f32x8 magic = splat8(12583039)                          # 0x1.8000FEp23
    cdef f32x8 n = fma8(z, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 s = floats8(bits8(n) << 23)
    cdef f32x8 e
    n = n - magic
    e = exp_poly8(fma8(n, splat8(<float>-0.6931471824645996), z), s)
    return sigmoid_of_negative8(x, select8(less8(z, splat8(<float>-87.33654022216797)), splat8(0), e / (e + splat8(1))))


cdef inline f32x8 negative8(f32x8 x) noexcept nogil:
    return floats8(bits8(x) | <int32_t>0x80000000)


cdef inline f32x8 elu8_avx512(const Parameters* p, f32x8 x) noexcept nogil:
    """p.slope is 1: as a value that the compiler does not know the product flushes denormals."""
    cdef f32x8 alpha = splat8(p.slope)
    cdef f32x8 kept = x * alpha
    cdef f32x8 z = max8(splat8(<float>-17.32868003845215), kept)
    cdef f32x8 magic = splat8(12583039)                          # 0x1.8000FEp23
    cdef f32x8 n = fma8(z, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 s = floats8(bits8(n) << 23)
    cdef f32x8 t, q
    n = n - magic
    t = fma8(n, splat8(<float>-0.6931471824645996), z)           # -0x1.62E430p-1
    q = splat8(<float>0.0013864520005881786)                     # 0x1.6B7338p-10
    q = horner8(q, t, <float>0.008366531692445278)               # 0x1.12278Ep-7
    q = horner8(q, t, <float>0.041667502373456955)               # 0x1.555716p-5
    q = horner8(q, t, <float>0.1666654348373413)                 # 0x1.5554B0p-3
    q = horner8(q, t, <float>0.4999999701976776)                 # 0x1.FFFFFEp-2
    return select8(less8(x, splat8(0)), expm1_from8(q, t, s, alpha), kept)


cdef inline f32x8 elu8_avx2(const Parameters* p, f32x8 x) noexcept nogil:
    """A table of 2^(i/4) and degree 4; the sign bit decides."""
    cdef f32x8 alpha = splat8(p.slope)
    cdef f32x8 kept = x * alpha
    cdef f32x8 z = max8(splat8(<float>-17.32868003845215), kept)
    cdef f32x8 magic = splat8(3145728)                           # 1.5 * 2^21: rounds to multiples of 1/4
    cdef f32x8 n = fma8(z, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 s = floats8(lookup_four8(EXP2_4, bits8(n)) + (bits8(n) << 21))
    cdef f32x8 t, q
    n = n - magic
    t = fma8(n, splat8(<float>-0.6931471824645996), z)
    q = splat8(<float>0.04166393354535103)                       # 0x1.554F9Ap-5
    q = horner8(q, t, <float>0.1667184978723526)                 # 0x1.557082p-3
    q = horner8(q, t, <float>0.5000000596046448)                 # 0x1.000002p-1
    return select_by_sign8(x, expm1_from8(q, t, s, alpha), kept)


cdef inline f32x8 expm1_from8(f32x8 q, f32x8 t, f32x8 s, f32x8 alpha) noexcept nogil:
    """alpha * (s * e^t - 1) with e^t = 1 + t + q * t * t; alpha is 1."""
    q = q * t
    t = t * s
    return fma8(fma8(q, t, t), alpha, fma8(s, alpha, -alpha))


# ---- rational functions
cdef inline f32x8 tanh8(const Parameters* p, f32x8 x) noexcept nogil:
    """Odd over even polynomial of degrees 9 and 8; 1 at the clamp."""
    cdef f32x8 z = max8(splat8(<float>-7.9807181358e+00), min8(splat8(<float>7.9807181358e+00), x))
    cdef f32x8 s = z * z
    cdef f32x8 a = splat8(<float>1.4248920266e-08)
    cdef f32x8 b = splat8(<float>8.1365948290e-07)
    a = horner8(a, s, <float>2.1235626264e-05)
    a = horner8(a, s, <float>3.5330520477e-03)
    a = horner8(a, s, <float>1.3412411511e-01)
    a = horner8(a, s, 1)
    b = horner8(b, s, <float>3.3472978976e-04)
    b = horner8(b, s, <float>2.6018999517e-02)
    b = horner8(b, s, <float>4.6745735407e-01)
    b = horner8(b, s, 1)
    return z * a / b


cdef inline f32x8 turn8(f32x8 x) noexcept nogil:
    """Less the nearest multiple of 2 pi, which is taken in two parts."""
    cdef f32x8 k = nearest8(x * splat8(<float>0.15915494))
    return fma8(k, splat8(<float>-1.9353072e-3), fma8(k, splat8(<float>-6.28125), x))


cdef inline f32x8 sin_folded8(f32x8 x) noexcept nogil:
    """sin(x) within one turn: folded to -pi/2 .. pi/2, then degrees 5 and 4."""
    cdef f32x8 pi = splat8(<float>3.1415927)
    cdef f32x8 s, a, b
    x = min8(x, pi - x)
    x = max8(x, (splat8(0) - pi) - x)
    x = min8(x, pi - x)
    s = x * x
    a = fma8(s, splat8(<float>3.2340581529e-03), splat8(<float>-1.3314664364e-01))
    a = x * horner8(a, s, 1)
    b = fma8(s, splat8(<float>4.8770775902e-04), splat8(<float>3.3519912511e-02))
    return a / horner8(b, s, 1)


cdef inline f32x8 sin8(const Parameters* p, f32x8 x) noexcept nogil:
    return sin_folded8(turn8(x))


cdef inline f32x8 cos8(const Parameters* p, f32x8 x) noexcept nogil:
    return sin_folded8(splat8(<float>1.5707964) - turn8(x))


cdef inline f32x8 gelu8(const Parameters* p, f32x8 x) noexcept nogil:
    """x / 2 * (1 + r(x)) with r close to erf(x / sqrt(2))."""
    cdef f32x8 z = max8(splat8(<float>-5.1638283730e+00), min8(splat8(<float>5.1638283730e+00), x))
    cdef f32x8 s = z * z
    cdef f32x8 a = splat8(<float>4.5835321316e-08)
    cdef f32x8 b = splat8(<float>1.1988805682e-06)
    a = horner8(a, s, <float>1.2609783880e-05)
    a = horner8(a, s, <float>3.2973114867e-04)
    a = horner8(a, s, <float>9.3065137044e-03)
    a = horner8(a, s, <float>6.6972173750e-02)
    a = horner8(a, s, <float>7.9788452387e-01)
    b = horner8(b, s, <float>7.2267655923e-05)
    b = horner8(b, s, <float>1.8622842617e-03)
    b = horner8(b, s, <float>2.8431978077e-02)
    b = horner8(b, s, <float>2.5060352683e-01)
    b = horner8(b, s, 1)
    return (x * splat8(<float>0.5)) * (z * a / b + splat8(1))


cdef inline f32x8 gelu_tanh8(const Parameters* p, f32x8 x) noexcept nogil:
    """GELU with approximate = true: another r(x)."""
    cdef f32x8 z = max8(splat8(<float>-4.84974098e+00), min8(splat8(<float>4.84974098e+00), x))
    cdef f32x8 s = z * z
    cdef f32x8 a = splat8(<float>4.9544411240e-08)
    cdef f32x8 b = splat8(<float>1.3433452750e-06)
    a = horner8(a, s, <float>1.4302649106e-05)
    a = horner8(a, s, <float>2.6887017884e-04)
    a = horner8(a, s, <float>7.2898347862e-03)
    a = horner8(a, s, <float>6.0803253204e-02)
    a = horner8(a, s, <float>7.9788458347e-01)
    b = horner8(b, s, <float>7.6477612311e-05)
    b = horner8(b, s, <float>1.3060354395e-03)
    b = horner8(b, s, <float>2.4381054565e-02)
    b = horner8(b, s, <float>2.4369759858e-01)
    b = horner8(b, s, 1)
    return (x * splat8(<float>0.5)) * (z * a / b + splat8(1))


# ---- roots: the CPU's approximation and one Newton step, every operation rounded
cdef enum:
    ROOTS = 256                  # values whose approximations are taken at once

ctypedef void (*Approximation)(const float* x, float* y, ptrdiff_t n) noexcept nogil


cdef inline f32x8 newton8(f32x8 x, f32x8 y) noexcept nogil:
    return y - (x * (y * y) - splat8(1)) * (splat8(<float>0.5) * y)


cdef inline f32x8 root8(bint inverse, f32x8 v, f32x8 first) noexcept nogil:
    """1 / sqrt(v) when inverse, else v times that, from a first approximation."""
    cdef f32x8 r = newton8(v, first)
    if inverse:
        return select8(equal8(v, floats8(splat_bits8(0x7F800000))), splat8(0), r)
    return v * select8(equal8(v, splat8(0)), splat8(0), r)


cdef inline void roots8(Approximation approximate, bint inverse, const float* x, float* y, int64_t n) noexcept nogil:
    cdef float[ROOTS] first
    cdef int64_t done = 0
    cdef int64_t now, i
    while done < n:
        now = min(n - done, <int64_t>ROOTS)
        approximate(x + done, first, now)
        i = 0
        while i + LANES <= now:
            store8(y + done + i, root8(inverse, load8(x + done + i), load8(first + i)))
            i += LANES
        if i < now:
            store_part8(y + done + i, root8(inverse, load_part8(x + done + i, now - i), load8(first + i)), now - i)
        done += now


cdef inline void sqrt_f32_avx512(const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    roots8(rsqrt14, False, x, y, n)


cdef inline void sqrt_f32_avx2(const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    roots8(rsqrtps, False, x, y, n)


cdef inline void rsqrt_f32_avx512(const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    roots8(rsqrt14, True, x, y, n)


cdef inline void rsqrt_f32_avx2(const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    roots8(rsqrtps, True, x, y, n)
