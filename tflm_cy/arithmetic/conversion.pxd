"""Between real numbers and quantized ones: quantize, requantize, dequantize.

float32 to integer: round(x / scale) half away from zero in float32, to int32, plus the zero point, clamped. What int32 cannot hold, NaN and
both infinities are INT32_MIN before the (wrapping) addition; on aarch64 they are int32's nearest value, and NaN is 0.
Integer to float32: (float)((double)scale * (q - zero_point)), one rounding; per channel float32 scale * (float)(q - zero_point).
Source: LiteRT:tflite/kernels/internal/reference/{quantize,requantize,dequantize}.h.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp32
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.rescale cimport rescale
from tflm_cy.arithmetic.rounding cimport add_wrapping, cut32, round_away

ctypedef fused Narrow:
    int8_t
    uint8_t
    int16_t

ctypedef fused Integer:
    int8_t
    int16_t
    int32_t

cdef struct Affine:              # real = scale * (q - zero_point)
    float scale
    int32_t zero_point
    int32_t low
    int32_t high

cdef struct Requantize:
    Rescale rescale
    int32_t x_zero_point
    int32_t y_zero_point
    int32_t low
    int32_t high

cdef struct Channels:            # a tensor [outer, channels, inner]
    const float* scales
    const int32_t* zero_points   # one for all when zero_point_step is 0
    int64_t zero_point_step
    int64_t outer
    int64_t channels
    int64_t inner
    int32_t low
    int32_t high


cdef inline void quantize_run(const float* x, Narrow* y, int64_t n, float scale, int32_t zero_point, int32_t low,
                              int32_t high) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <Narrow>clamp32(add_wrapping(round_away(x[i] / scale), zero_point), low, high)


cdef inline void quantize(const void* params, const float* x, Narrow* y, int64_t n) noexcept nogil:
    cdef Affine q = (<const Affine*>params)[0]
    quantize_run(x, y, n, q.scale, q.zero_point, q.low, q.high)


cdef inline void quantize_row(const Channels* q, const float* x, Narrow* y) noexcept nogil:
    """Every value is a channel's; a loop for one zero point and one for many, which the compiler makes vectors of."""
    cdef int32_t zero_point = q.zero_points[0] if q.channels > 0 else 0
    cdef int64_t c
    if q.zero_point_step == 0:
        for c in range(q.channels):
            y[c] = <Narrow>clamp32(add_wrapping(round_away(x[c] / q.scales[c]), zero_point), q.low, q.high)
    else:
        for c in range(q.channels):
            y[c] = <Narrow>clamp32(add_wrapping(round_away(x[c] / q.scales[c]), q.zero_points[c]), q.low, q.high)


cdef inline void quantize_channels(const void* params, const float* x, Narrow* y, int64_t n) noexcept nogil:
    cdef const Channels* q = <const Channels*>params
    cdef int64_t outer, c
    for outer in range(q.outer):
        if q.inner == 1:
            quantize_row(q, x, y)
            x += q.channels
            y += q.channels
            continue
        for c in range(q.channels):
            quantize_run(x, y, q.inner, q.scales[c], q.zero_points[c * q.zero_point_step], q.low, q.high)
            x += q.inner
            y += q.inner


cdef inline void quantize_4(const void* params, const float* x, uint8_t* y, int64_t n) noexcept nogil:
    """int4, two values a byte, the first in the low half."""
    cdef Affine q = (<const Affine*>params)[0]
    cdef int32_t value
    cdef int64_t i
    for i in range(n):
        value = clamp32(add_wrapping(round_away(x[i] / q.scale), q.zero_point), q.low, q.high) & 15
        if i & 1:
            y[i >> 1] |= <uint8_t>(value << 4)
        else:
            y[i >> 1] = <uint8_t>value


cdef inline int32_t requantized(int32_t x, const Requantize* r) noexcept nogil:
    return clamp32(add_wrapping(rescale(add_wrapping(x, -r.x_zero_point), r.rescale), r.y_zero_point), r.low, r.high)


cdef inline void requantize_s16(const void* params, const Integer* x, int16_t* y, int64_t n) noexcept nogil:
    cdef Requantize r = (<const Requantize*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <int16_t>requantized(x[i], &r)


cdef inline void requantize_s8(const void* params, const Integer* x, int8_t* y, int64_t n) noexcept nogil:
    cdef Requantize r = (<const Requantize*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <int8_t>requantized(x[i], &r)


cdef inline void requantize_s32(const void* params, const Integer* x, int32_t* y, int64_t n) noexcept nogil:
    cdef Requantize r = (<const Requantize*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = requantized(x[i], &r)


cdef inline float dequantized(int64_t x, float scale, int32_t zero_point) noexcept nogil:
    return <float>(<double>scale * <double>(x - zero_point))


cdef inline void dequantize_s16(const void* params, const int16_t* x, float* y, int64_t n) noexcept nogil:
    """The zero point is 0."""
    cdef double scale = (<const Affine*>params).scale
    cdef int64_t i
    for i in range(n):
        y[i] = <float>(scale * <double>x[i])


cdef inline void dequantize_8(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    """`params` is the table of 256 results, by byte."""
    cdef const float* table = <const float*>params
    cdef int64_t i
    for i in range(n):
        y[i] = table[x[i]]


cdef inline void dequantize_bytes(const void* params, const Narrow* x, float* y, int64_t n) noexcept nogil:
    """As dequantize_8, without a table."""
    cdef double scale = (<const Affine*>params).scale
    cdef double zero_point = (<const Affine*>params).zero_point
    cdef int64_t i
    for i in range(n):
        y[i] = <float>(scale * (<double><int32_t>x[i] - zero_point))


cdef inline void dequantize_4(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    """`params` is the table of 16 results, by pattern."""
    cdef const float* table = <const float*>params
    cdef int64_t i
    for i in range(n):
        y[i] = table[(x[i >> 1] >> (4 * (i & 1))) & 15]


cdef inline void dequantize_2(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    """`params` is the table of 4 results, by pattern."""
    cdef const float* table = <const float*>params
    cdef int64_t i
    for i in range(n):
        y[i] = table[(x[i >> 2] >> (2 * (i & 3))) & 3]


cdef inline void dequantize_row(const Channels* q, const Narrow* x, float* y) noexcept nogil:
    """As `quantize_row`."""
    cdef int32_t zero_point = q.zero_points[0] if q.channels > 0 else 0
    cdef int64_t c
    if q.zero_point_step == 0:
        for c in range(q.channels):
            y[c] = q.scales[c] * <float>add_wrapping(x[c], -zero_point)
    else:
        for c in range(q.channels):
            y[c] = q.scales[c] * <float>add_wrapping(x[c], -q.zero_points[c])


cdef inline void dequantize_channels(const void* params, const Narrow* x, float* y, int64_t n) noexcept nogil:
    cdef const Channels* q = <const Channels*>params
    cdef int64_t outer, c, i
    cdef int32_t zero_point
    cdef float scale
    for outer in range(q.outer):
        if q.inner == 1:
            dequantize_row(q, x, y)
            x += q.channels
            y += q.channels
            continue
        for c in range(q.channels):
            scale = q.scales[c]
            zero_point = q.zero_points[c * q.zero_point_step]
            for i in range(q.inner):
                y[i] = scale * <float>add_wrapping(x[i], -zero_point)
            x += q.inner
            y += q.inner


cdef inline void dequantize_channels_packed(const void* params, const uint8_t* x, float* y, int64_t n, int bits) noexcept nogil:
    """int4 (bits 4) and int2 (bits 2): the value's place counts over the whole tensor."""
    cdef const Channels* q = <const Channels*>params
    cdef int per_byte = 8 // bits
    cdef int32_t value
    cdef int64_t i, c
    for i in range(n):
        c = (i // q.inner) % q.channels
        value = (x[i // per_byte] >> (bits * (i % per_byte))) & ((1 << bits) - 1)
        if value >= 1 << (bits - 1):
            value -= 1 << bits
        y[i] = q.scales[c] * <float>add_wrapping(value, -q.zero_points[c * q.zero_point_step])


cdef inline void dequantize_channels_4(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    dequantize_channels_packed(params, x, y, n, 4)


cdef inline void dequantize_channels_2(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    dequantize_channels_packed(params, x, y, n, 2)
