"""float16 functions of one value, as XNNPACK computes them on x86-64: the same bytes on every generation of CPU. half_neon.pxd has aarch64's.

    map_half(exp_half, limits, x, y, n)

There are two kinds. EXP, SIN, COS and GELU are polynomials in float16: every step is taken in float32 and rounded to float16, a
multiply-add once after its sum. The others are computed in float32 and rounded at the end; HARD_SWISH after each of its three steps.
A denormal float16 is a normal float32, so that no denormal counts as zero here.

CPUs of aarch64 that have float16 arithmetic take the same polynomials in it (`fp16`): multiply-adds are fused, and denormals count as zero.

SQRT(x) = -0 for a negative x, SQRT(-0) = NaN, RSQRT(0) = inf, EXP(NaN) = 0, RELU(NaN) = 0, -0 -> +0: other corners than the float32 functions have.
Every function is compared with TensorFlow on all 65,536 values (compat/cases/activation.py).

Source: XNNPACK's microkernels f16-v* (scalar, f16c, sse2) of January 2026; constants are theirs, to be rounded to float16 first.
"""
from libc.math cimport INFINITY, ceilf, copysignf, fabs, floorf, rintf
from libc.stdint cimport int16_t, int64_t, uint16_t

from tflm_cy.arithmetic.half cimport bits_f32, f32_bits, f32_to_half, half_to_f32
from tflm_cy.arithmetic.xnnpack.generation cimport rsqrtps

cdef struct HalfLimits:          # of a clamp
    float low
    float high

cdef struct GeluTerms:           # of a rational function, odd above and even below
    float a1
    float a3
    float a5
    float b2
    float b4

ctypedef uint16_t (*HalfFunction)(HalfLimits limits, uint16_t x) noexcept nogil

cdef extern from *:
    """
    static const double tflm_cy_smallest_normal_half = 0x1p-14;
    """
    const double SMALLEST_NORMAL "tflm_cy_smallest_normal_half"


cdef inline void map_half(HalfFunction function, HalfLimits limits, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = function(limits, x[i])


# ---- exact ones
cdef inline uint16_t abs_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return x & 0x7FFF


cdef inline uint16_t neg_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """The sign bit, of zeros and NaN too."""
    return x ^ 0x8000


cdef inline uint16_t square_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(half_to_f32(x) * half_to_f32(x))


cdef inline uint16_t floor_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(floorf(half_to_f32(x)))


cdef inline uint16_t ceil_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(ceilf(half_to_f32(x)))


cdef inline uint16_t round_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """Ties to even."""
    return f32_to_half(rintf(half_to_f32(x)))


cdef inline uint16_t clamp_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """NaN becomes the lower limit, and so does a zero of the other sign."""
    cdef float v = half_to_f32(x)
    v = v if v > limits.low else limits.low
    return f32_to_half(v if v < limits.high else limits.high)


# ---- roots: RSQRTPS has twelve bits, float16 eleven
cdef inline float inverse_root(uint16_t x) noexcept nogil:
    cdef float v = half_to_f32(x)
    cdef float r
    rsqrtps(&v, &r, 1)
    return r


cdef inline uint16_t rsqrt_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(inverse_root(x))


cdef inline uint16_t sqrt_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """x / sqrt(x), times 0 where that root is infinite or NaN."""
    cdef float r = inverse_root(x)
    return f32_to_half(half_to_f32(x) * (r if r < INFINITY else 0))


# ---- float16 arithmetic: float32 values that are float16 numbers
cdef inline float rounded(double v, bint fp16) noexcept nogil:
    """With fp16 what lies below the normal numbers is 0 before it is rounded, and the double is rounded once."""
    cdef float f = <float>v
    if fp16:
        if fabs(v) < SMALLEST_NORMAL:
            return copysignf(0, f)
        if <double>f != v and v == v:            # to odd, so that rounding again does not show
            f = bits_f32(f32_bits(f) - (fabs(f) > fabs(v)) | 1)
    return half_to_f32(f32_to_half(f))


cdef inline float plus_product(float c, float p, float x, bint fp16) noexcept nogil:
    """c + p * x: the product of two float16 is exact in float32, and the sum with a float16 in float64."""
    return rounded(<double>p * x + c, True) if fp16 else rounded(p * x + c, False)


cdef inline float polynomial(float x, float p, float c, bint fp16) noexcept nogil:
    """p * x + c."""
    return plus_product(rounded(c, fp16), p, x, fp16)


cdef inline uint16_t hard_swish_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """x / 6 * clamp(x + 3, 0, 6); the clamp compares the patterns as integers, so that NaN gives 6 or 0 by its sign."""
    cdef float v = half_to_f32(x)
    cdef int16_t gate = <int16_t>f32_to_half(v + 3)
    gate = gate if gate > 0 else 0
    gate = gate if gate < 0x4600 else 0x4600
    return f32_to_half(half_to_f32(<uint16_t>gate) * rounded(v * rounded(<float>0.16662598, False), False))


cdef inline float exp_of(float x, bint fp16) noexcept nogil:
    """2^z * p(r), z + r = x * log2(e) between -15 and 16; z is rounded by adding 1.5 * 2^10."""
    cdef float v = rounded(x * rounded(<float>1.4423828, fp16), fp16)
    cdef float z, r, p
    if v == v or not fp16:                   # NaN stays there
        v = v if v > -15 else -15
        v = v if v < 16 else 16
    z = rounded(rounded(v + 1536, fp16) - 1536, fp16)
    r = rounded(v - z, fp16)
    p = polynomial(r, rounded(<float>0.05517578, fp16), <float>0.24255371, fp16)
    p = polynomial(r, p, <float>0.6933594, fp16)
    p = polynomial(r, p, 1, fp16)
    return rounded(half_to_f32(<uint16_t>(f32_to_half(z + 1039) << 10)) * p, fp16)


cdef inline float odd_wave(float x, bint fp16) noexcept nogil:
    """sin(x) for |x| <= 3 pi / 2: folded into a quarter, then x * (1 + a x^2) / (1 + b x^2)."""
    cdef float pi = rounded(<float>3.140625, fp16)
    cdef float other, x2, p
    other = rounded(pi - x, fp16)
    x = x if x < other else other
    other = rounded(-pi - x, fp16)
    x = x if x > other else other
    other = rounded(pi - x, fp16)
    x = x if x < other else other
    x2 = rounded(x * x, fp16)
    p = rounded(x * polynomial(x2, rounded(<float>-0.11200523376, fp16), 1, fp16), fp16)
    return rounded(p / polynomial(x2, rounded(<float>0.055543992668, fp16), 1, fp16), fp16)


cdef inline float reduced_angle(float x, bint fp16) noexcept nogil:
    """x less its whole turns, 2 pi being 6.25 + 0.033172607."""
    cdef float turns = rounded(rintf(rounded(x * rounded(<float>0.15917969, fp16), fp16)), fp16)
    x = plus_product(x, -<float>6.25, turns, fp16)
    return plus_product(x, -rounded(<float>0.033172607, fp16), turns, fp16)


cdef inline float sin_of(float x, bint fp16) noexcept nogil:
    return odd_wave(reduced_angle(x, fp16), fp16)


cdef inline float cos_of(float x, bint fp16) noexcept nogil:
    return odd_wave(rounded(rounded(<float>1.5703125, fp16) - reduced_angle(x, fp16), fp16), fp16)


cdef inline float gelu_by(const GeluTerms* t, float x, float limit, bint fp16) noexcept nogil:
    """x / 2 * (1 + r(x)), r = x (a1 + a3 x^2 + a5 x^4) / (1 + b2 x^2 + b4 x^4) of x clamped to where r is +-1."""
    cdef float c = rounded(limit, fp16)
    cdef float x2, p, q
    c = c if c < x else x
    c = -rounded(limit, fp16) if -rounded(limit, fp16) > c else c
    x2 = rounded(c * c, fp16)
    p = polynomial(x2, rounded(t.a5, fp16), t.a3, fp16)
    p = rounded(c * polynomial(x2, p, t.a1, fp16), fp16)
    q = polynomial(x2, rounded(t.b4, fp16), t.b2, fp16)
    q = polynomial(x2, q, 1, fp16)
    return rounded(rounded(x * <float>0.5, fp16) * rounded(rounded(p / q, fp16) + 1, fp16), fp16)


cdef inline float gelu_of(float x, bint fp16) noexcept nogil:
    cdef GeluTerms t = GeluTerms(
        <float>0.79763203859, <float>0.1539786756, <float>0.0045998394489, <float>0.35756936669, <float>0.042862996459)
    return gelu_by(&t, x, <float>3.5 if fp16 else <float>3.2890625, fp16)


cdef inline float gelu_tanh_of(float x, bint fp16) noexcept nogil:
    cdef GeluTerms t = GeluTerms(
        <float>0.79763704538, <float>0.14811584353, <float>0.0043507730588, <float>0.35130375624, <float>0.040821321309)
    return gelu_by(&t, x, <float>3.263671875 if fp16 else <float>3.26953125, fp16)


cdef inline uint16_t exp_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(exp_of(half_to_f32(x), False))


cdef inline uint16_t sin_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(sin_of(half_to_f32(x), False))


cdef inline uint16_t cos_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(cos_of(half_to_f32(x), False))


cdef inline uint16_t gelu_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(gelu_of(half_to_f32(x), False))


cdef inline uint16_t gelu_tanh_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(gelu_tanh_of(half_to_f32(x), False))
