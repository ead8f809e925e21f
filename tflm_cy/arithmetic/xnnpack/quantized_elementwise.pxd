"""Elementwise operators on int8 and uint8 in XNNPACK's arithmetic: sums and products of two tensors, tables for one, QUANTIZE, DEQUANTIZE.

Three ways of rounding: products (but on aarch64) and QUANTIZE of floats go to the nearest even, sums and rescaling (on aarch64 products, too)
round half up, tables of functions round half away from zero. `params` is the kernel's own struct (arithmetic/broadcast.pxd).

    ready_sum(&how, a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point, 1)
    add_8(&how, a, b, y, n)
    fill_function(table, LOGISTIC, ...); lookup_8(table, x, y, n)

Source: XNNPACK's vadd, vmul, vcvt, vlrelu kernels and its lookup tables, bytes checked against TensorFlow 2.21.
"""
from libc.math cimport exp, expm1f, ldexpf, roundf, tanhf
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport Range32
from tflm_cy.arithmetic.lookup cimport byte_value
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8, rintf, scaled_half_up

cdef enum Function8:
    LOGISTIC = 0
    TANH = 1
    ELU = 2
    SQUARE = 3

cdef struct Sum8:                # (constant + a * a_multiplier + b * b_multiplier) >> shift
    int32_t constant
    int32_t a_multiplier
    int32_t b_multiplier
    int32_t shift
    int32_t zero_point
    Range32 limits

cdef struct Product8:
    int32_t a_zero_point
    int32_t b_zero_point
    float scale
    float low                    # limits less the output's zero point
    float high
    int32_t zero_point

cdef struct Quantize8:
    float inverse                # 1 / scale
    float low
    float high
    int32_t zero_point

cdef struct Dequantize8:
    float scale
    int32_t zero_point

cdef struct Rescale8:            # multipliers with 8 fractional bits, rounded half up, of differences above the zero point and of the others
    int64_t above
    int64_t below
    int32_t x_zero_point
    int32_t y_zero_point


cdef inline int32_t clamped(int64_t x, int32_t low, int32_t high) noexcept nogil:
    return low if x < low else high if x > high else <int32_t>x


cdef inline int32_t exponent_of(float x) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &x, 4)
    return <int32_t>(bits >> 23) - 127


cdef inline bint ready_sum(
    Sum8* params, float a_scale, int32_t a_zero_point, float b_scale, int32_t b_zero_point, float y_scale, int32_t sign,
) noexcept nogil:
    """Multipliers of 21 bits; False when the scales' quotients are out of the range that the delegate accepts."""
    cdef float a = a_scale / y_scale
    cdef float b = b_scale / y_scale
    cdef float larger = a if a > b else b
    if not (larger > <float>0.0009 and larger < 256 and a > 0 and b > 0):
        return False
    params.shift = 20 - exponent_of(larger)
    params.a_multiplier = <int32_t>rintf(ldexpf(a, params.shift))
    params.b_multiplier = sign * <int32_t>rintf(ldexpf(b, params.shift))
    params.constant = (1 << (params.shift - 1)) - a_zero_point * params.a_multiplier - b_zero_point * params.b_multiplier
    return True


cdef inline void add_8(const Sum8* params, const byte8* a, const byte8* b, byte8* y, int64_t n) noexcept nogil:
    """Rounded half up. The sum fits: two products below 2^29."""
    cdef Sum8 s = params[0]
    cdef int64_t i
    cdef int32_t v
    for i in range(n):
        v = ((s.constant + <int32_t>a[i] * s.a_multiplier + <int32_t>b[i] * s.b_multiplier) >> s.shift) + s.zero_point
        v = v if v > s.limits.low else s.limits.low
        y[i] = <byte8>(v if v < s.limits.high else s.limits.high)


cdef inline void multiply_8(const Product8* params, const byte8* a, const byte8* b, byte8* y, int64_t n) noexcept nogil:
    """Rounded to nearest even, on aarch64 half up."""
    cdef Product8 p = params[0]
    cdef int64_t i
    cdef int32_t product
    cdef float v
    for i in range(n):
        product = (<int32_t>a[i] - p.a_zero_point) * (<int32_t>b[i] - p.b_zero_point)
        if AARCH64:
            y[i] = <byte8>(clamped(scaled_half_up(product, p.scale), <int32_t>p.low, <int32_t>p.high) + p.zero_point)
            continue
        v = <float>product * p.scale
        v = v if v < p.high else p.high
        v = v if v > p.low else p.low
        y[i] = <byte8>(<int32_t>rintf(v) + p.zero_point)


cdef inline void quantize_8(const Quantize8* params, const float* x, byte8* y, int64_t n) noexcept nogil:
    """Rounded to nearest even; NaN gives the highest value, on aarch64 the zero point."""
    cdef Quantize8 q = params[0]
    cdef int64_t i
    cdef float v
    for i in range(n):
        v = x[i] * q.inverse
        if AARCH64:
            v = v if v == v else 0
        v = v if v < q.high else q.high
        v = v if v > q.low else q.low
        y[i] = <byte8>(<int32_t>rintf(v) + q.zero_point)


cdef inline void dequantize_8(const Dequantize8* params, const byte8* x, float* y, int64_t n) noexcept nogil:
    cdef Dequantize8 d = params[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <float>(<int32_t>x[i] - d.zero_point) * d.scale


cdef inline Rescale8 rescale_8(float x_scale, int32_t x_zero_point, float y_scale, int32_t y_zero_point, float alpha) noexcept nogil:
    """QUANTIZE of 8 bits (alpha 1) and LEAKY_RELU."""
    cdef Rescale8 r
    cdef float ratio = x_scale / y_scale
    r.above = <int64_t>rintf(<float>256.0 * ratio)
    r.below = <int64_t>rintf(<float>256.0 * (ratio * alpha))
    r.x_zero_point = x_zero_point
    r.y_zero_point = y_zero_point
    return r


cdef inline bint fits_words(const Rescale8* r) noexcept nogil:
    """The vector kernels' condition."""
    return -32768 <= r.above < 32768 and -32768 <= r.below < 32768


cdef inline void fill_rescale(uint8_t* table, const Rescale8* r, bint signed) noexcept nogil:
    """The delegate takes multipliers of up to 2 ** 15."""
    cdef int32_t above = <int32_t>r.above, below = <int32_t>r.below
    cdef int32_t v
    cdef int byte
    for byte in range(256):
        v = byte_value(byte, signed) - r.x_zero_point
        v = (v * (above if v > 0 else below) + 128) >> 8
        table[byte] = <uint8_t>clamped(v + r.y_zero_point, -128 if signed else 0, 127 if signed else 255)


cdef inline float function_of(int function, float v) noexcept nogil:
    cdef double e
    if function == LOGISTIC:
        e = exp(<double>v)
        return 1 if v > 100 else 0 if v < -100 else <float>(e / (1 + e))
    if function == TANH:
        return tanhf(v)
    if function == ELU:
        return expm1f(v) if v < 0 else v
    return v * v


cdef inline void fill_function(
    uint8_t* table, int function, float x_scale, int32_t x_zero_point, float y_scale, int32_t y_zero_point, Range32 limits, bint signed,
) noexcept nogil:
    """Rounded half away from zero after adding the zero point; NaN counts as 0."""
    cdef float inverse = <float>1.0 / y_scale
    cdef float v
    cdef int byte
    for byte in range(256):
        v = (<float>byte_value(byte, signed) - <float>x_zero_point) * x_scale
        v = function_of(function, v) * inverse + <float>y_zero_point
        v = roundf(v) if v == v else 0
        v = v if v > <float>limits.low else <float>limits.low
        table[byte] = <uint8_t><int32_t>(v if v < <float>limits.high else <float>limits.high)


cdef inline void multiply_table(uint8_t* table, const Product8* params, bint signed) noexcept nogil:
    """A function f of one value becomes x * f(x)."""
    cdef uint8_t[256] x
    cdef int byte
    for byte in range(256):
        x[byte] = <uint8_t>byte
    if signed:
        multiply_8(params, <const int8_t*>x, <const int8_t*>table, <int8_t*>table, 256)
    else:
        multiply_8(params, x, table, table, 256)
