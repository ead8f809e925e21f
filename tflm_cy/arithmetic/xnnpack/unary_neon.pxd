"""float32 functions of one value as XNNPACK approximates them on aarch64, where that differs from unary.pxd.

One table of 2^(i/64) serves LOGISTIC, ELU and SOFTMAX. Square roots are exact (FSQRT); LOGISTIC's reciprocal begins with the CPU's
approximation, which Arm's architecture defines: it is the same on all of them.

Source: XNNPACK's microkernels f32-vsigmoid neonfma-rr1-lut64-p2-nr2recps, f32-velu neonfma-rr1-lut16-p3, f32-vsqrt aarch64-neon-sqrt,
f32-vrsqrt scalar-sqrt.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.xnnpack.generation cimport recpe, recps
from tflm_cy.arithmetic.xnnpack.lanes cimport (
    bits8, f32x8, floats8, fma8, i32x8, less8, load8, lookup8, max8, select8, splat8, store8,
)
from tflm_cy.arithmetic.xnnpack.unary cimport Parameters

cdef extern from *:
    """
    /* 2^(i/64) for i = 0 .. 63, as bits */
    static const int32_t tflm_cy_exp2_64[64] = {
      0x3F800000, 0x3F8164D2, 0x3F82CD87, 0x3F843A29, 0x3F85AAC3, 0x3F871F62, 0x3F88980F, 0x3F8A14D5, 0x3F8B95C2, 0x3F8D1ADF, 0x3F8EA43A,
      0x3F9031DC, 0x3F91C3D3, 0x3F935A2B, 0x3F94F4F0, 0x3F96942D, 0x3F9837F0, 0x3F99E046, 0x3F9B8D3A, 0x3F9D3EDA, 0x3F9EF532, 0x3FA0B051,
      0x3FA27043, 0x3FA43516, 0x3FA5FED7, 0x3FA7CD94, 0x3FA9A15B, 0x3FAB7A3A, 0x3FAD583F, 0x3FAF3B79, 0x3FB123F6, 0x3FB311C4, 0x3FB504F3,
      0x3FB6FD92, 0x3FB8FBAF, 0x3FBAFF5B, 0x3FBD08A4, 0x3FBF179A, 0x3FC12C4D, 0x3FC346CD, 0x3FC5672A, 0x3FC78D75, 0x3FC9B9BE, 0x3FCBEC15,
      0x3FCE248C, 0x3FD06334, 0x3FD2A81E, 0x3FD4F35B, 0x3FD744FD, 0x3FD99D16, 0x3FDBFBB8, 0x3FDE60F5, 0x3FE0CCDF, 0x3FE33F89, 0x3FE5B907,
      0x3FE8396A, 0x3FEAC0C7, 0x3FED4F30, 0x3FEFE4BA, 0x3FF28177, 0x3FF5257D, 0x3FF7D0DF, 0x3FFA83B3, 0x3FFD3E0C};
    """
    const int32_t* EXP2_64 "tflm_cy_exp2_64"

cdef extern from "<math.h>" nogil:
    float sqrtf(float x) noexcept


# ---- exponentials
cdef inline f32x8 power_of_two8(f32x8 n, int32_t steps, int32_t exponent) noexcept nogil:
    """2^m of n = m + 1.5 * 2^(23 - log2(steps)): m is a multiple of 1 / steps, and `exponent` moves its whole part to a float's exponent."""
    cdef i32x8 low = bits8(n) & (steps - 1)
    return floats8(lookup8(EXP2_64, low * (64 // steps)) + ((bits8(n) - low) << exponent))


cdef inline f32x8 exp_minus8_neon(f32x8 x) noexcept nogil:
    """e^x for x <= 0, degree 2; 0 below -87.34."""
    cdef f32x8 magic = splat8(196608)                            # 1.5 * 2^17: rounds to multiples of 1/64
    cdef f32x8 n = fma8(x, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 s = power_of_two8(n, 64, 17)
    cdef f32x8 t, p
    n = n - magic
    t = fma8(n, splat8(<float>-0.6931471824645996), x)           # -0x1.62E430p-1
    p = t * splat8(<float>0.4999963343143463)                    # 0x1.FFFF0Ap-2
    p = fma8(t, p, t)
    return select8(less8(x, splat8(<float>-87.33654022216797)), splat8(0), fma8(s, p, s))


cdef inline f32x8 logistic8_neon(const Parameters* p, f32x8 x) noexcept nogil:
    """y / (1 + y) of y = e^-|x|, degree 2; the reciprocal by two of Newton's steps. 0 and 1 beyond 87.34."""
    cdef f32x8 z = floats8(bits8(x) & 0x7FFFFFFF)
    cdef f32x8 magic = splat8(196608)
    cdef f32x8 n = fma8(z, splat8(<float>-1.4426950216293335), magic)
    cdef f32x8 s = power_of_two8(n, 64, 17)
    cdef f32x8 t, q, y, f
    n = n - magic
    t = fma8(n, splat8(<float>0.6931471824645996), z)
    q = t * splat8(<float>0.4999963343143463)
    q = fma8(negated8(q), t, t)
    y = fma8(negated8(q), s, s)
    f = y * reciprocal8(y + splat8(1))
    f = select8(less8(splat8(<float>87.33654022216797), z), splat8(0), f)
    return select8(less8(x, splat8(0)), f, splat8(1) - f)


cdef inline f32x8 negated8(f32x8 x) noexcept nogil:
    """The other sign, of zeros and NaN too."""
    return floats8(bits8(x) ^ <int32_t>-2147483648)


cdef inline f32x8 neg8_neon(const Parameters* p, f32x8 x) noexcept nogil:
    """Keeps denormals."""
    return negated8(x)


cdef inline f32x8 reciprocal8(f32x8 d) noexcept nogil:
    cdef float[8] values
    cdef float r
    cdef int l
    store8(values, d)
    for l in range(8):
        r = recpe(values[l])
        r = r * recps(r, values[l])
        values[l] = r * recps(r, values[l])
    return load8(values)


cdef inline f32x8 elu8_neon(const Parameters* p, f32x8 x) noexcept nogil:
    """A table of 2^(i/16) and degree 3; alpha is 1."""
    cdef f32x8 alpha = splat8(p.slope)
    cdef f32x8 z = max8(x, splat8(<float>-17.32868003845215))
    cdef f32x8 magic = splat8(786432)                            # 1.5 * 2^19: rounds to multiples of 1/16
    cdef f32x8 n = fma8(z, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 s = power_of_two8(n, 16, 19)
    cdef f32x8 t, q
    n = n - magic
    t = fma8(n, splat8(<float>-0.6931471824645996), z)
    q = fma8(splat8(<float>0.1666681468486786), t, splat8(<float>0.5000146627426147))      # 0x1.55561Cp-3, 0x1.0001ECp-1
    q = q * t
    t = t * s
    s = s - splat8(1)
    q = fma8(q, t, t)
    return select8(less8(x, splat8(0)), (q + s) * alpha, x * alpha)


# ---- roots
cdef inline void sqrt_f32_neon(const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = sqrtf(x[i])


cdef inline void rsqrt_f32_neon(const Parameters* p, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>1 / sqrtf(x[i])
