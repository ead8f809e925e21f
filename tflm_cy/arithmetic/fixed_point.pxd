"""Fixed-point building blocks of the quantized operators: multipliers, rounding shifts, activation ranges.

All wrap as int32 and int64 do in two's complement; the casts to unsigned say so to the compiler.
Source: LiteRT:tflite/kernels/internal/{quantization_util,common}; bytes checked against TensorFlow 2.21 BUILTIN_REF.

    cdef Multiplier m = quantize_multiplier(<double>x_scale * <double>w_scale / <double>y_scale)
    y = multiply(acc, m.value, m.shift) + y_zero_point
"""
from libc.math cimport frexp, isfinite, round, roundf
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.multipliers cimport Multiplier

cdef enum Activation:            # ActivationFunctionType
    ACT_NONE = 0
    ACT_RELU = 1
    ACT_RELU_N1_TO_1 = 2
    ACT_RELU6 = 3
    ACT_TANH = 4
    ACT_SIGN_BIT = 5


cdef struct Range64:             # inclusive clamp of an integer output
    int64_t low
    int64_t high

cdef struct Range32:             # inclusive clamp of a quantized output
    int32_t low
    int32_t high

cdef struct RangeF:              # inclusive clamp of a float output
    float low
    float high


cdef inline Multiplier quantize_multiplier(double real) noexcept nogil:
    """A double as a 31-bit multiplier and a power of two; below 2^-31 it is zero, and so are NaN and the infinities."""
    cdef Multiplier m
    cdef int exponent = 0
    cdef int64_t value, bits
    m.value = 0
    m.shift = 0
    if real == 0.0 or not isfinite(real):
        return m
    if 1e-300 < real < 1e300:        # what frexp and round give, from the bits: models have thousands of multipliers
        memcpy(&bits, &real, 8)
        exponent = <int>(bits >> 52) - 1022
        value = ((bits & (<int64_t>1 << 52) - 1 | <int64_t>1 << 52) + (<int64_t>1 << 21)) >> 22
    else:
        value = <int64_t>round(frexp(real, &exponent) * 2147483648.0)
    if value == (<int64_t>1 << 31):
        value = value >> 1
        exponent += 1
    if exponent < -31:
        return m
    m.value = <int32_t>value
    m.shift = exponent
    return m


cdef inline int32_t wrap32(int64_t x) noexcept nogil:
    return <int32_t><uint32_t>x


cdef inline int32_t high_product(int32_t a, int32_t b) noexcept nogil:
    """SaturatingRoundingDoublingHighMul: a * b / 2^31, rounded half away from zero by a nudge and a division that truncates, which is a half more and
    a shift that rounds down. Of the shifted number the lower half counts, so that it need not know the sign: vectors have no such shift."""
    cdef int64_t ab = <int64_t>a * <int64_t>b
    cdef int32_t h = <int32_t><uint32_t>(<uint64_t>(ab + (<int64_t>1 << 30)) >> 31)
    return INT32_MAX if (a == b) & (a == INT32_MIN) else h


cdef inline int32_t round_shift(int32_t x, int n) noexcept nogil:
    """RoundingDivideByPOT: x / 2^n, half away from zero, 0 <= n <= 31. Others as x86 does: shifts by n mod 32, the mask of the rest being
    a 64-bit 2^(n mod 64) - 1 cut to 32 bits."""
    return (x >> (n & 31)) + rest_rounds(x, n)


cdef inline int32_t round_shift_in_block(int32_t x, int n) noexcept nogil:
    """`round_shift` by a negative count as TensorFlow's vector code does it: the sign is all that such a shift leaves."""
    return (x >> 31) + rest_rounds(x, n)


cdef inline int32_t rest_rounds(int32_t x, int n) noexcept nogil:
    """1 where what a right shift loses rounds the quotient up."""
    cdef int32_t mask = -1 if n & 32 else <int32_t>((<uint32_t>1 << (n & 31)) - 1)
    cdef int32_t rest = x & mask
    cdef int32_t threshold = (mask >> 1) + (1 if x < 0 else 0)
    return 1 if rest > threshold else 0


cdef inline int32_t multiply(int32_t x, int32_t value, int32_t shift) noexcept nogil:
    """MultiplyByQuantizedMultiplier on int32: two roundings; the left shift wraps, beyond 31 as x86 does: by shift mod 32."""
    cdef int left = shift & 31 if shift > 0 else 0
    cdef int right = -shift if shift < 0 else 0
    return round_shift(high_product(<int32_t>(<uint32_t>x << left), value), right)


cdef inline int32_t multiply_wide(int64_t x, int32_t value, int32_t shift) noexcept nogil:
    """MultiplyByQuantizedMultiplier on int64 (int16 activations): a 16-bit multiplier, one rounding. Shifts are mod 64, as x86 does them."""
    cdef int64_t reduced = ((<int64_t>value + (1 << 15)) >> 16) if value < 0x7FFF0000 else 0x7FFF
    cdef int total = 15 - shift
    return <int32_t><uint32_t><uint64_t>((<int64_t>(<uint64_t>x * <uint64_t>reduced + (<uint64_t>1 << (total - 1 & 63)))) >> (total & 63))


cdef inline int32_t clamp32(int32_t x, int32_t low, int32_t high) noexcept nogil:
    if x < low:
        x = low
    return high if x > high else x


cdef inline float clamp_f32(float x, float low, float high) noexcept nogil:
    """min(max(x, low), high) as the C++ library's: NaN and -0.0 pass."""
    if x < low:
        x = low
    return high if high < x else x


cdef inline int32_t quantize_edge(float value, float scale, int32_t zero_point) noexcept nogil:
    """What no int32 holds, NaN too, is INT32_MIN before the zero point is added, as x86 converts; the sum wraps."""
    cdef float edge = roundf(value / scale)
    cdef int32_t whole = <int32_t>edge if <float>-2147483648.0 <= edge < <float>2147483648.0 else INT32_MIN
    return wrap32(<int64_t>zero_point + <int64_t>whole)


cdef inline Range32 activation_range(int activation, float scale, int32_t zero_point, int32_t low, int32_t high) noexcept nogil:
    """A fused activation in the output's quantized domain; low and high are the type's limits."""
    cdef Range32 r
    r.low = low
    r.high = high
    if activation == ACT_RELU:
        r.low = max(low, quantize_edge(0.0, scale, zero_point))
    elif activation == ACT_RELU6:
        r.low = max(low, quantize_edge(0.0, scale, zero_point))
        r.high = min(high, quantize_edge(6.0, scale, zero_point))
    elif activation == ACT_RELU_N1_TO_1:
        r.low = max(low, quantize_edge(-1.0, scale, zero_point))
        r.high = min(high, quantize_edge(1.0, scale, zero_point))
    return r


cdef inline RangeF activation_range_f32(int activation) noexcept nogil:
    """A fused activation on float32; without one the limits are the finite ends of the type (so that inf is clamped)."""
    cdef RangeF r
    r.low = <float>-3.4028234663852886e38
    r.high = <float>3.4028234663852886e38
    if activation == ACT_RELU:
        r.low = 0
    elif activation == ACT_RELU6:
        r.low = 0
        r.high = 6
    elif activation == ACT_RELU_N1_TO_1:
        r.low = -1
        r.high = 1
    return r
