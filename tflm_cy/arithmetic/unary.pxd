"""Mathematical functions of one value: float32 loops, raw integers, and the quantized definitions from which tables are filled.

Transcendentals are the C library's float functions. Source: LiteRT:tflite/kernels/{elementwise,exp,neg,floor,ceil,round}.cc.
"""
from libc.math cimport ceilf, cosf, expf, fabsf, floorf, logf, sinf, sqrtf
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.fixed_point cimport clamp32, high_product, multiply, round_shift
from tflm_cy.arithmetic.half cimport bits_f32, eigen_half, half_to_f32
from tflm_cy.arithmetic.lookup cimport truncate
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.rescale cimport rescale

ctypedef fused Signed:
    uint8_t                      # the bytes of int8
    int16_t
    int32_t
    int64_t

cdef struct Abs:
    Rescale rescale
    bint same_scale              # no rescaling at all
    int32_t x_zero_point
    int32_t y_zero_point
    int32_t low
    int32_t high

cdef struct Sqrt:
    float x_scale
    float y_scale
    int32_t x_zero_point
    int32_t y_zero_point
    int32_t low
    int32_t high


# ---- float32
cdef inline void abs_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = fabsf(x[i])


cdef inline void neg_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = -x[i]


cdef inline void square_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] * x[i]


cdef inline void sqrt_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = sqrtf(x[i])


cdef inline void rsqrt_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>1.0 / sqrtf(x[i])


cdef inline void exp_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = expf(x[i])


cdef inline void log_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = bits_f32(0xFFC00000) if x[i] < 0 and not AARCH64 else logf(x[i])           # the NaN of the C library's older entry point


cdef inline void sin_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = sinf(x[i])


cdef inline void cos_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = cosf(x[i])


cdef extern from *:
    """
    /* A NaN becomes quiet, and nothing else happens to it: where rounding is one instruction, by that. */
    #if defined(__SSE4_1__) || defined(__aarch64__)
    static inline float tflm_cy_quiet(float x, float rounded) { return (void)x, rounded; }
    #else
    static inline float tflm_cy_quiet(float x, float rounded) { return x == x ? rounded : x + x; }
    #endif
    """
    float quiet "tflm_cy_quiet"(float x, float rounded) noexcept nogil


cdef inline void floor_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = quiet(x[i], floorf(x[i]))


cdef inline void ceil_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = quiet(x[i], ceilf(x[i]))


cdef inline float round_even(float x) noexcept nogil:
    """Halves to even, by way of the floor: what rounds up to 0 is +0, -0.0 itself stays."""
    cdef float whole = floorf(x)
    cdef float rest = x - whole
    cdef float up = whole + <float>1.0
    cdef bint even = floorf(whole * <float>0.5) * <float>2.0 == whole
    return whole if (rest < <float>0.5) | ((rest == <float>0.5) & even) else up


cdef inline void round_f32(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = round_even(x[i])


cdef inline void round_half(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = eigen_half(round_even(half_to_f32(x[i])))


# ---- float16 patterns
cdef inline void neg_half(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] ^ 0x8000


cdef inline void floor_half(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = eigen_half(floorf(half_to_f32(x[i])))


# ---- raw integers: the lowest value stays what it is
cdef inline void neg_whole(const void* params, const Signed* x, Signed* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <Signed>(0 - <uint64_t>x[i])


cdef inline void abs_whole(const void* params, const Signed* x, Signed* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <Signed>(0 - <uint64_t>x[i]) if x[i] < 0 else x[i]


cdef inline void not_bool(const void* params, const uint8_t* x, uint8_t* y, int64_t n) noexcept nogil:
    """The lowest bit is turned: a sum of truths may be 2, whose contrary is 3."""
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] ^ 1


# ---- quantized
cdef inline int32_t abs_q(int32_t x, const Abs* a) noexcept nogil:
    cdef int32_t v = <int32_t>(<uint32_t>x - <uint32_t>a.x_zero_point)
    if v < 0:
        v = <int32_t>(0 - <uint32_t>v)
    if not a.same_scale:
        v = rescale(v, a.rescale)
    return clamp32(<int32_t>(<uint32_t>v + <uint32_t>a.y_zero_point), a.low, a.high)


cdef inline void abs_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    cdef Abs a = (<const Abs*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <int16_t>abs_q(x[i], &a)


cdef inline int32_t sqrt_q(int32_t x, const Sqrt* s) noexcept nogil:
    """In float32, truncated; x is not below its zero point."""
    cdef float root = sqrtf(s.x_scale * <float>(<int32_t>(<uint32_t>x - <uint32_t>s.x_zero_point)))
    return clamp32(<int32_t>(<uint32_t>truncate(root / s.y_scale) + <uint32_t>s.y_zero_point), s.low, s.high)


cdef inline void sqrt_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    cdef Sqrt s = (<const Sqrt*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <int16_t>sqrt_q(x[i], &s)


cdef inline int leading_zeros(uint32_t x) noexcept nogil:
    cdef int n = 0
    while n < 32 and not (x & <uint32_t>0x80000000):
        x <<= 1
        n += 1
    return n


cdef inline int32_t shift_left(int64_t x, int n) noexcept nogil:
    """Saturating."""
    x = x << n
    return <int32_t>(-2147483648 if x < -2147483648 else 2147483647 if x > 2147483647 else x)


cdef inline int32_t inverse_sqrt_multiplier(int32_t x, int32_t* shift) noexcept nogil:
    """1 / sqrt(x) as a multiplier and a left shift (mostly negative): five Newton steps, x in units of 2^-29 between 1/4 and 1."""
    cdef int right = 11
    cdef int pairs, step
    cdef int32_t half, root, cube
    if x <= 1:
        shift[0] = 0
        return INT32_MAX
    while x >= 1 << 29:
        x //= 4
        right += 1
    pairs = (leading_zeros(<uint32_t>x) - 1) // 2 - 1
    right -= pairs
    x <<= 2 * pairs
    half = round_shift(x >> 1, 1)
    root = 1 << 28
    for step in range(5):
        cube = shift_left(high_product(high_product(root, root), root), 6)
        root = shift_left(<int64_t>high_product((1 << 28) + (1 << 27), root) - high_product(half, cube), 3)
    root = high_product(root, 1518500250)                   # sqrt(1/2)
    if right < 0:
        root <<= -right
        right = 0
    shift[0] = -right
    return root


cdef inline int32_t rsqrt_s8(int32_t x, int32_t x_zero_point, int32_t y_zero_point, int32_t value, int32_t shift) noexcept nogil:
    """x is not below its zero point; at it the result is the largest value."""
    cdef int32_t v = <int32_t>(<uint32_t>x - <uint32_t>x_zero_point)
    cdef int32_t root_shift = 0
    cdef int32_t root
    if v <= 0:
        return 127
    root = inverse_sqrt_multiplier(v, &root_shift)
    root = multiply(multiply(1, root, root_shift + 20), value, shift - 20)
    return clamp32(<int32_t>(<uint32_t>root + <uint32_t>y_zero_point), -128, 127)


# ---- float32, for tables: Function of lookup.pxd; the parameter is what takes the place of an undefined value
cdef inline float table_exp(float x, float parameter) noexcept nogil:
    return expf(x)


cdef inline float table_log(float x, float parameter) noexcept nogil:
    return parameter if x <= 0 else logf(x)


cdef inline float table_rsqrt(float x, float parameter) noexcept nogil:
    return parameter if x <= 0 else <float>1.0 / sqrtf(x)
