"""float16 functions of one value, as XNNPACK computes them on aarch64.

| | `wide`: on CPUs without float16 arithmetic | `fp16`: with it |
| --- | --- | --- |
| steps | in float32, GELU's in float64, rounded to float16 at the end | in float16, multiply-adds fused |
| EXP, SIN, COS, GELU | the C library's functions | the polynomials of half.pxd |
| denormals | are numbers | are zeros, of x and of each step |
| NaN | loses its payload; stays as it is in a clamp | becomes quiet |

HARD_SWISH rounds x + 3 to float16 first, RSQRT begins with the CPU's approximation where it has one for float16.

Source: XNNPACK's reference kernels, and its microkernels f16-v* for NEON with float16 arithmetic; bytes checked on all 65,536 values
against TensorFlow 2.21 (compat/cases/activation.py).
"""
from libc.math cimport ceilf, erf, floorf, rintf, sqrtf, tanh
from libc.stdint cimport uint16_t

from tflm_cy.arithmetic.half cimport cast_to_half, f32_to_half, half_to_f32
from tflm_cy.arithmetic.xnnpack.generation cimport rsqrte
from tflm_cy.arithmetic.xnnpack.half cimport HalfLimits, cos_of, exp_of, gelu_of, gelu_tanh_of, rounded, sin_of

cdef extern from "<math.h>" nogil:
    float cosf(float x) noexcept
    float expf(float x) noexcept
    float sinf(float x) noexcept


# ---- without float16 arithmetic
cdef inline float between(float low, float v, float high) noexcept nogil:
    """NaN stays."""
    return low if v < low else high if v > high else v


cdef inline uint16_t square_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(half_to_f32(x) * half_to_f32(x))


cdef inline uint16_t floor_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(floorf(half_to_f32(x)))


cdef inline uint16_t ceil_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(ceilf(half_to_f32(x)))


cdef inline uint16_t round_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(rintf(half_to_f32(x)))


cdef inline uint16_t clamp_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    """What lies between the limits keeps its bits, as NaN does."""
    cdef float v = half_to_f32(x)
    return f32_to_half(limits.low) if v < limits.low else f32_to_half(limits.high) if v > limits.high else x


cdef inline uint16_t sqrt_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(sqrtf(half_to_f32(x)))


cdef inline uint16_t rsqrt_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(<float>1 / sqrtf(half_to_f32(x)))


cdef inline uint16_t hard_swish_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    cdef float v = half_to_f32(x)
    return cast_to_half(v / <float>6 * between(0, rounded(v + 3, False), 6))


cdef inline uint16_t exp_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(expf(half_to_f32(x)))


cdef inline uint16_t sin_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(sinf(half_to_f32(x)))


cdef inline uint16_t cos_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    return cast_to_half(cosf(half_to_f32(x)))


cdef inline uint16_t gelu_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    cdef double v = half_to_f32(x)
    return cast_to_half(<float>(v * 0.5 * (1 + erf(v * 0.7071067811865476))))


cdef inline uint16_t gelu_tanh_wide(HalfLimits limits, uint16_t x) noexcept nogil:
    cdef double v = half_to_f32(x)
    return cast_to_half(<float>(v * 0.5 * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))))


# ---- with float16 arithmetic
cdef inline float entering(uint16_t x) noexcept nogil:
    """A denormal number is a zero of its sign."""
    return rounded(half_to_f32(x), True)


cdef inline uint16_t square_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(rounded(entering(x) * entering(x), True))


cdef inline uint16_t floor_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(floorf(entering(x)))


cdef inline uint16_t ceil_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(ceilf(entering(x)))


cdef inline uint16_t round_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(rintf(entering(x)))


cdef inline uint16_t clamp_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    """0 is greater than -0."""
    cdef float v = entering(x)
    if v == 0 and limits.low == 0:
        return 0
    return f32_to_half(between(limits.low, v, limits.high))


cdef inline uint16_t sqrt_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(sqrtf(entering(x)))


cdef inline uint16_t rsqrt_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    """One of Newton's steps; it is 1.5 where 0 and infinity meet."""
    cdef float v = entering(x)
    cdef float r = rsqrte(v)
    cdef float square = rounded(r * r, True)
    cdef float step = 1.5
    if v != 0 and r != 0:
        step = rounded((3 - <double>v * square) / 2, True)
    return f32_to_half(rounded(r * step, True))


cdef inline uint16_t hard_swish_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    cdef float v = entering(x)
    cdef float gate = between(0, rounded(v + 3, True), 6)
    return f32_to_half(rounded(rounded(v * <float>0.1666259765625, True) * gate, True))


cdef inline uint16_t exp_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(exp_of(entering(x), True))


cdef inline uint16_t sin_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(sin_of(entering(x), True))


cdef inline uint16_t cos_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(cos_of(entering(x), True))


cdef inline uint16_t gelu_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(gelu_of(entering(x), True))


cdef inline uint16_t gelu_tanh_fp16(HalfLimits limits, uint16_t x) noexcept nogil:
    return f32_to_half(gelu_tanh_of(entering(x), True))
