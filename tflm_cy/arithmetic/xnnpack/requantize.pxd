"""From exact int32 sums to 8-bit outputs, the way of XNNPACK: one float32 multiplication, rounded to nearest even.

    requantize_sums(sums, &out, channels, y)      # y = clamp(round((float)(sums + bias) * scale) + zero_point)

It is not TensorFlow Lite's fixed-point arithmetic. Sums wrap modulo 2^32, so that any order of adding gives the same bytes.

On aarch64 outputs of uint8, and products of two tensors (quantized_elementwise.pxd), are the exact product by the scale instead, halves
rounded up (`scaled_half_up`).

Quirk (`wrap_below`): the int8 matrix kernels for AVX-512 add the zero point in wrapping int32, so that a product of -2^31 or less becomes
127 when the zero point is negative. The other kernels saturate.

Source: numerics of XNNPACK's qs8/qu8 kernels (fp32 requantization), bytes checked against TensorFlow 2.21.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport ACT_RELU, ACT_RELU6, ACT_RELU_N1_TO_1, Range32, RangeF
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Requantize

cdef extern from "<math.h>" nogil:
    float rintf(float)


ctypedef fused byte8:
    int8_t
    uint8_t

ctypedef fused whole_sum:
    int64_t
    uint32_t


cdef inline float scale_of(float x_scale, float w_scale, float y_scale) noexcept nogil:
    """Two roundings, in this order."""
    return (x_scale * w_scale) / y_scale


cdef inline RangeF real_range(int activation) noexcept nogil:
    """A fused activation on real numbers; without one nothing is clamped."""
    cdef RangeF r
    r.low = -INFINITY
    r.high = INFINITY
    if activation == ACT_RELU or activation == ACT_RELU6:
        r.low = 0
    if activation == ACT_RELU_N1_TO_1:
        r.low = -1
        r.high = 1
    if activation == ACT_RELU6:
        r.high = 6
    return r


cdef inline int32_t quantized_edge(float edge, float scale, int32_t zero_point, int32_t low, int32_t high) noexcept nogil:
    cdef float q = edge / scale + <float>zero_point
    q = q if q > <float>low else <float>low
    return <int32_t>rintf(q if q < <float>high else <float>high)


cdef inline Range32 quantized_range(int activation, float scale, int32_t zero_point, bint signed) noexcept nogil:
    """A fused activation on quantized values: all in float32, nearest even."""
    cdef RangeF real = real_range(activation)
    cdef int32_t low = -128 if signed else 0
    cdef int32_t high = 127 if signed else 255
    cdef Range32 r
    r.low = quantized_edge(real.low, scale, zero_point, low, high)
    r.high = quantized_edge(real.high, scale, zero_point, low, high)
    return r


cdef inline int64_t scaled_half_up(int32_t x, float scale) noexcept nogil:
    """x * scale, rounded once; 0 < scale < 2^23, of which XNNPACK takes the 24 bits and the exponent apart."""
    cdef uint32_t bits
    cdef int64_t right
    memcpy(&bits, &scale, 4)
    right = min(max(150 - <int64_t>(bits >> 23), <int64_t>1), <int64_t>62)
    return (<int64_t>x * ((bits & 0x7FFFFF) | 0x800000) + (<int64_t>1 << (right - 1))) >> right


cdef inline void requantize_sums(const whole_sum* sums, const Requantize* out, ptrdiff_t n, byte8* y) noexcept nogil:
    """Channels 0 .. n - 1. Limits are whole numbers, so that clamping before rounding is the same as after."""
    cdef const int32_t* bias = out.bias
    cdef const float* scales = out.scales
    cdef float low = out.low
    cdef float high = out.high
    cdef float wrap_below = out.wrap_below
    cdef int32_t zero_point = out.zero_point
    cdef ptrdiff_t c
    cdef float x, v
    cdef int32_t q
    for c in range(n):
        if AARCH64 and byte8 is uint8_t:
            y[c] = <byte8>(min(max(scaled_half_up(<int32_t>(<uint32_t>sums[c] + <uint32_t>bias[c]), scales[c]), <int64_t>low), <int64_t>high) + zero_point)
            continue
        x = <float><int32_t>(<uint32_t>sums[c] + <uint32_t>bias[c]) * scales[c]
        v = x if x < high else high
        v = v if v > low else low
        q = <int32_t>rintf(v) + zero_point
        q = 127 if x <= wrap_below else q
        y[c] = <byte8>q
