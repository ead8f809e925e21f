"""float16 functions of one value, as XNNPACK computes them on x86-64: the same bytes on every generation of CPU.

    map_half(exp_half, limits, x, y, n)

There are two kinds. EXP, SIN, COS and GELU are polynomials in float16: every step is taken in float32 and rounded to float16, a
multiply-add once after its sum. The others are computed in float32 and rounded at the end; HARD_SWISH after each of its three steps.
A denormal float16 is a normal float32, so that no denormal counts as zero here.

SQRT(x) = -0 for a negative x, SQRT(-0) = NaN, RSQRT(0) = inf, EXP(NaN) = 0, RELU(NaN) = 0, -0 -> +0: other corners than the float32 functions have.
Every function is compared with TensorFlow on all 65,536 values (compat/cases/activation.py).

Source: XNNPACK's microkernels f16-v* (scalar, f16c, sse2) of January 2026; constants are theirs, to be rounded to float16 first.
"""
from libc.math cimport INFINITY, ceilf, floorf, rintf
from libc.stdint cimport int16_t, int64_t, uint16_t

from tflm_cy.arithmetic.half cimport f32_to_half, half_to_f32
from tflm_cy.arithmetic.xnnpack.generation cimport rsqrtps

cdef struct HalfLimits:          # of a clamp
    float low
    float high

ctypedef uint16_t (*HalfFunction)(HalfLimits limits, uint16_t x) noexcept nogil


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
cdef inline float rounded(float v) noexcept nogil:
    return half_to_f32(f32_to_half(v))


cdef inline float polynomial(float x, float p, float c) noexcept nogil:
    """p * x + c: the product of two float16 is exact in float32."""
    return rounded(p * x + rounded(c))


cdef inline uint16_t hard_swish_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """x / 6 * clamp(x + 3, 0, 6); the clamp compares the patterns as integers, so that NaN gives 6 or 0 by its sign."""
    cdef float v = half_to_f32(x)
    cdef int16_t gate = <int16_t>f32_to_half(v + 3)
    gate = gate if gate > 0 else 0
    gate = gate if gate < 0x4600 else 0x4600
    return f32_to_half(half_to_f32(<uint16_t>gate) * rounded(v * rounded(<float>0.16662598)))


cdef inline uint16_t exp_half(HalfLimits limits, uint16_t x) noexcept nogil:
    """2^z * p(r), z + r = x * log2(e) between -15 and 16; z is rounded by adding 1.5 * 2^10."""
    cdef float v = rounded(half_to_f32(x) * rounded(<float>1.4423828))
    cdef float z, r, p
    v = v if v > -15 else -15
    v = v if v < 16 else 16
    z = rounded(rounded(v + 1536) - 1536)
    r = rounded(v - z)
    p = polynomial(r, rounded(<float>0.05517578), <float>0.24255371)
    p = polynomial(r, p, <float>0.6933594)
    p = polynomial(r, p, 1)
    return f32_to_half(half_to_f32(<uint16_t>(f32_to_half(z + 1039) << 10)) * p)


cdef inline uint16_t odd_wave(float x) noexcept nogil:
    """sin(x) for |x| <= 3 pi / 2: folded into a quarter, then x * (1 + a x^2) / (1 + b x^2)."""
    cdef float pi = rounded(<float>3.140625)
    cdef float other, x2, p
    other = rounded(pi - x)
    x = x if x < other else other
    other = rounded(-pi - x)
    x = x if x > other else other
    other = rounded(pi - x)
    x = x if x < other else other
    x2 = rounded(x * x)
    p = rounded(x * polynomial(x2, rounded(<float>-0.11200523376), 1))
    return f32_to_half(p / polynomial(x2, rounded(<float>0.055543992668), 1))


cdef inline float reduced_angle(uint16_t x) noexcept nogil:
    """x less its whole turns, 2 pi being 6.25 + 0.033172607."""
    cdef float v = half_to_f32(x)
    cdef float turns = rounded(rintf(rounded(v * rounded(<float>0.15917969))))
    v = rounded(v - turns * <float>6.25)
    return rounded(v - turns * rounded(<float>0.033172607))


cdef inline uint16_t sin_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return odd_wave(reduced_angle(x))


cdef inline uint16_t cos_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return odd_wave(rounded(rounded(<float>1.5703125) - reduced_angle(x)))


cdef inline uint16_t gelu_of(uint16_t x, float limit, float a1, float a3, float a5, float b2, float b4) noexcept nogil:
    """x / 2 * (1 + r(x)), r = x (a1 + a3 x^2 + a5 x^4) / (1 + b2 x^2 + b4 x^4) of x clamped to where r is +-1."""
    cdef float v = half_to_f32(x)
    cdef float c = rounded(limit)
    cdef float x2, p, q
    c = c if c < v else v
    c = -rounded(limit) if -rounded(limit) > c else c
    x2 = rounded(c * c)
    p = polynomial(x2, rounded(a5), a3)
    p = rounded(c * polynomial(x2, p, a1))
    q = polynomial(x2, rounded(b4), b2)
    q = polynomial(x2, q, 1)
    return f32_to_half(rounded(v * <float>0.5) * rounded(rounded(p / q) + 1))


cdef inline uint16_t gelu_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return gelu_of(
        x, <float>3.2890625, <float>0.79763203859, <float>0.1539786756, <float>0.0045998394489, <float>0.35756936669, <float>0.042862996459,
    )


cdef inline uint16_t gelu_tanh_half(HalfLimits limits, uint16_t x) noexcept nogil:
    return gelu_of(
        x, <float>3.26953125, <float>0.79763704538, <float>0.14811584353, <float>0.0043507730588, <float>0.35130375624, <float>0.040821321309,
    )
