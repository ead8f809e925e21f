"""Dynamic range: float32 activations quantized while invoking, one row at a time, times int8 or narrower constant weights.

    inverse = quantize_row(x, n, rows, &zero_point, q)        # q: the quantized values less their zero point
    scale_sums(sums, inverse, &out, channels, y)        # y = fma((float)sum * inverse, weight scale, bias), clamped

On aarch64 rows are quantized otherwise (dynamic_range_neon.pxd), and NaN stays NaN. With dot products matrix products, and convolutions that
take several positions at once (not with matrix products of bytes), have y = (float)sum * (inverse * weight scale) + bias, each step rounded
(`apart`).

What a row is, is the operator's to say: a row of a matrix product, an image of a convolution. Always asymmetric, whatever the model's
options ask for. Runs with denormals flushed.

Source: XNNPACK's qdint8 conversion and qd8-f32 kernels, bytes checked against TensorFlow 2.21.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Scaling
from tflm_cy.arithmetic.xnnpack.dynamic_range_neon cimport FloatRange, RowSteps, quantize_row_neon, steps_of_neon
from tflm_cy.arithmetic.xnnpack.requantize cimport rintf, whole_sum

cdef extern from "<math.h>" nogil:
    float fmaf(float, float, float)

cdef enum Rows:                  # how rows are quantized; the last digits of packed ones are the values of a group
    LANES_8 = 8
    LANES_16 = 16                # of the AVX-512 kernels
    ROWS_NEON = 0x100
    PACKED_4 = 0x204             # with dot products
    PACKED_8 = 0x208             # with matrix products of bytes


cdef inline float smaller(float a, float b) noexcept nogil:
    """MINPS: b when one is NaN."""
    return a if a < b else b


cdef inline float larger(float a, float b) noexcept nogil:
    """MAXPS."""
    return a if a > b else b


cdef inline FloatRange row_range(const float* x, ptrdiff_t n, int lanes) noexcept nogil:
    """The smallest and the largest value. The order, four accumulators of 8 or 16 lanes, shows only with NaN: [1, 2, ..., 7, NaN] has
    no largest value, [NaN, 1, ..., 7] has one.
    """
    cdef float[64] low
    cdef float[64] high
    cdef FloatRange r
    cdef ptrdiff_t i = 0
    cdef int j
    cdef int width
    for j in range(4 * lanes):
        low[j] = INFINITY
        high[j] = -INFINITY
    while i + 4 * lanes <= n:
        for j in range(4 * lanes):
            low[j] = smaller(low[j], x[i + j])
            high[j] = larger(high[j], x[i + j])
        i += 4 * lanes
    for j in range(lanes):
        low[j] = smaller(smaller(low[j], low[lanes + j]), smaller(low[2 * lanes + j], low[3 * lanes + j]))
        high[j] = larger(larger(high[j], high[lanes + j]), larger(high[2 * lanes + j], high[3 * lanes + j]))
    while i + lanes <= n:
        for j in range(lanes):
            low[j] = smaller(low[j], x[i + j])
            high[j] = larger(high[j], x[i + j])
        i += lanes
    while i < n:
        for j in range(lanes):
            low[j] = smaller(low[j], x[i])
            high[j] = larger(high[j], x[i])
        i += 1
    width = lanes / 2
    while width > 0:
        for j in range(width):
            low[j] = smaller(low[j], low[width + j])
            high[j] = larger(high[j], high[width + j])
        width = width / 2
    r.low = low[0]
    r.high = high[0]
    return r


cdef inline RowSteps steps_of(const float* x, ptrdiff_t n, int rows) noexcept nogil:
    """The zero point comes from the end of the range with the smaller error."""
    cdef RowSteps s
    cdef FloatRange r
    cdef float low, high, scale, zero
    if AARCH64:
        return steps_of_neon(x, n, rows != ROWS_NEON)
    r = row_range(x, n, rows)
    low = smaller(0, r.low)
    high = larger(0, r.high)
    scale = 1 if low == high else <float>255.0 / (high - low)
    zero = (<float>-128.0 + low * scale) + (<float>127.0 + high * scale)
    zero = <float>-128.0 - low * scale if zero > 0 else <float>127.0 - high * scale
    s.zero_point = rintf(smaller(larger(zero, -128), 127))
    s.scale = scale
    s.inverse = <float>1.0 / scale
    return s


cdef inline float quantize_row(const float* x, ptrdiff_t n, int rows, int32_t* zero_point, int16_t* q) noexcept nogil:
    """Returns the real value of one step."""
    cdef RowSteps s
    cdef float lowest, highest, v
    cdef ptrdiff_t i
    if AARCH64:
        return quantize_row_neon(x, n, rows != ROWS_NEON, rows & 0xFF, zero_point, q)
    s = steps_of(x, n, rows)
    lowest = <float>-128.0 - s.zero_point
    highest = <float>127.0 - s.zero_point
    zero_point[0] = <int32_t>s.zero_point
    for i in range(n):
        v = x[i] * s.scale
        v = v if v < highest else highest
        v = v if v > lowest else lowest
        q[i] = <int16_t><int32_t>rintf(v)
    return s.inverse


cdef inline void scale_sums(const whole_sum* sums, float inverse, const Scaling* out, ptrdiff_t n, float* y) noexcept nogil:
    """Channels 0 .. n - 1; NaN becomes the lower limit, as MAXPS with the limit behind does it, or stays, with the limits in front."""
    cdef const float* scales = out.scales
    cdef const float* bias = out.bias
    cdef float low = out.low
    cdef float high = out.high
    cdef ptrdiff_t c
    cdef float v
    for c in range(n):
        if out.apart:
            v = <float><int32_t>sums[c] * (scales[c] * inverse) + bias[c]
        else:
            v = fmaf(<float><int32_t>sums[c] * inverse, scales[c], bias[c])
        if out.keeps_nan:
            y[c] = larger(low, smaller(high, v))
        else:
            y[c] = smaller(larger(v, low), high)
