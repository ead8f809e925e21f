"""Dynamic range: float32 activations quantized while invoking, one row at a time, times int8 or narrower constant weights.

    inverse = quantize_row(x, n, &zero_point, q)        # q: the quantized values less their zero point
    scale_sums(sums, inverse, &out, channels, y)        # y = fma((float)sum * inverse, weight scale, bias), clamped

What a row is, is the operator's to say: a row of a matrix product, an image of a convolution. Always asymmetric, whatever the model's
options ask for. Runs with denormals flushed.

Source: XNNPACK's qdint8 conversion and qd8-f32 kernels, bytes checked against TensorFlow 2.21.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t

from tflm_cy.arithmetic.xnnpack.requantize cimport rintf, whole_sum

cdef extern from "<math.h>" nogil:
    float fmaf(float, float, float)

cdef struct Scaling:
    const float* scales          # of the weights, one per channel
    const float* bias            # one per channel, zeros without a bias
    float low                    # the fused activation
    float high

cdef struct FloatRange:
    float low
    float high


cdef inline float smaller(float a, float b) noexcept nogil:
    """MINPS: b when one is NaN."""
    return a if a < b else b


cdef inline float larger(float a, float b) noexcept nogil:
    """MAXPS."""
    return a if a > b else b


cdef inline FloatRange row_range(const float* x, ptrdiff_t n) noexcept nogil:
    """The smallest and the largest value. The order (the AVX-512 kernel's: four accumulators of sixteen lanes) shows only with NaN."""
    cdef float[64] low
    cdef float[64] high
    cdef FloatRange r
    cdef ptrdiff_t i = 0
    cdef int j
    cdef int width
    for j in range(64):
        low[j] = INFINITY
        high[j] = -INFINITY
    while i + 64 <= n:
        for j in range(64):
            low[j] = smaller(low[j], x[i + j])
            high[j] = larger(high[j], x[i + j])
        i += 64
    for j in range(16):
        low[j] = smaller(low[j], low[16 + j])
        low[32 + j] = smaller(low[32 + j], low[48 + j])
        low[j] = smaller(low[j], low[32 + j])
        high[j] = larger(high[j], high[16 + j])
        high[32 + j] = larger(high[32 + j], high[48 + j])
        high[j] = larger(high[j], high[32 + j])
    while i + 16 <= n:
        for j in range(16):
            low[j] = smaller(low[j], x[i + j])
            high[j] = larger(high[j], x[i + j])
        i += 16
    while i < n:
        for j in range(16):
            low[j] = smaller(low[j], x[i])
            high[j] = larger(high[j], x[i])
        i += 1
    width = 8
    while width > 0:
        for j in range(width):
            low[j] = smaller(low[j], low[width + j])
            high[j] = larger(high[j], high[width + j])
        width = width / 2
    r.low = low[0]
    r.high = high[0]
    return r


cdef inline float quantize_row(const float* x, ptrdiff_t n, int32_t* zero_point, int16_t* q) noexcept nogil:
    """Returns the real value of one step. The zero point comes from the end of the range with the smaller error."""
    cdef FloatRange r = row_range(x, n)
    cdef float low = smaller(0, r.low)
    cdef float high = larger(0, r.high)
    cdef float scale = 1 if low == high else <float>255.0 / (high - low)
    cdef float zero = (<float>-128.0 + low * scale) + (<float>127.0 + high * scale)
    cdef float lowest, highest, v
    cdef ptrdiff_t i
    zero = <float>-128.0 - low * scale if zero > 0 else <float>127.0 - high * scale
    zero = rintf(smaller(larger(zero, -128), 127))
    lowest = <float>-128.0 - zero
    highest = <float>127.0 - zero
    zero_point[0] = <int32_t>zero
    for i in range(n):
        v = x[i] * scale
        v = v if v < highest else highest
        v = v if v > lowest else lowest
        q[i] = <int16_t><int32_t>rintf(v)
    return <float>1.0 / scale


cdef inline void scale_sums(const whole_sum* sums, float inverse, const Scaling* out, ptrdiff_t n, float* y) noexcept nogil:
    """Channels 0 .. n - 1; NaN becomes the lower limit, as MAXPS with the limit behind does it."""
    cdef const float* scales = out.scales
    cdef const float* bias = out.bias
    cdef float low = out.low
    cdef float high = out.high
    cdef ptrdiff_t c
    cdef float v
    for c in range(n):
        v = fmaf(<float><int32_t>sums[c] * inverse, scales[c], bias[c])
        v = v if v > low else low
        y[c] = v if v < high else high
