"""Two-dimensional pooling over NHWC: average, maximum and L2.

    if pool_2d(&shape, AVERAGE, x, y):          # a window has no tap inside

| pooling | of | |
| --- | --- | --- |
| AVERAGE | floats | the sum from 0, then one division |
|  | integers | the exact sum's quotient, rounded half away from zero |
| MAXIMUM | floats | from the lowest finite one upwards: NaN is ignored, a window of -inf gives -3.4028235e38 |
|  | integers | a window without taps gives the type's lowest value |
| L2 | floats | sqrt(sum of squares / count); a window without taps gives NaN |

Taps outside of the image are skipped, so that an average divides by the number of taps inside. All go over blocks of channels, in the
order (window row, window column) for each channel: float sums are sequential in that order, integers could be in any. Of several NaN among the
terms of a float sum one comes out, with its sign and payload: the first in TensorFlow's reference average, the last in its other sums.

Source: LiteRT:tflite/kernels/internal/reference/{pooling,integer_ops/pooling}.h.
"""
from libc.math cimport sqrtf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product
from tflm_cy.arithmetic.nan_order cimport add_runs
from tflm_cy.arithmetic.shapes cimport Pool2D

cdef enum:
    CHANNEL_BLOCK = 64           # written out as 64 where Cython wants a literal step

cdef enum Pooling:
    AVERAGE
    MAXIMUM
    L2


cdef struct Taps:                # of one window: rows and columns inside of the image
    int32_t top, bottom, left, right


cdef inline Taps taps_at(const Pool2D* p, int32_t oh, int32_t ow) noexcept nogil:
    cdef Taps t
    cdef int64_t y = <int64_t>oh * p.stride_height - p.pad_top
    cdef int64_t x = <int64_t>ow * p.stride_width - p.pad_left
    t.top = <int32_t>max(y, 0)
    t.left = <int32_t>max(x, 0)
    t.bottom = <int32_t>min(y + p.kernel_height, p.height)
    t.right = <int32_t>min(x + p.kernel_width, p.width)
    return t


cdef inline int32_t tap_count(Taps t) noexcept nogil:
    if t.bottom <= t.top or t.right <= t.left:
        return 0
    return (t.bottom - t.top) * (t.right - t.left)


cdef inline float add_last(float a, float b) noexcept nogil:
    """a + b; of two NaN b comes out, quiet."""
    return b + b if b != b else a + b


ctypedef fused quantized:
    int8_t
    uint8_t
    int16_t

ctypedef fused pooled:
    float
    int8_t
    uint8_t
    int16_t


cdef inline void average_sums(const Pool2D* p, const int32_t* sums, int32_t taps, int32_t n, quantized* y) noexcept nogil:
    cdef int32_t half = taps / 2
    cdef int32_t c, value
    for c in range(n):
        # a quotient of int32 in double, truncated, is exact, and a vector division
        value = <int32_t>(<double>(sums[c] + (half if sums[c] > 0 else -half)) / taps)
        value = max(value, p.low)
        y[c] = <quantized>min(value, p.high)


cdef inline void start_block(int pooling, int32_t n, int32_t* sums, pooled* values) noexcept nogil:
    """Averages of integers have sums, all else has values."""
    cdef pooled start = 0
    cdef int32_t c
    if pooling == MAXIMUM:
        if pooled is float:
            start = <float>-3.4028234663852886e38
        elif pooled is int8_t:
            start = -128
        elif pooled is int16_t:
            start = -32768
    if pooled is not float:
        if pooling == AVERAGE:
            for c in range(n):
                sums[c] = 0
            return
    for c in range(n):
        values[c] = start


cdef inline void add_taps(
    const Pool2D* p, int pooling, int32_t taps, int32_t n, const pooled* tap, int32_t* sums, pooled* values,
) noexcept nogil:
    """Taps of a row of the window."""
    cdef ptrdiff_t next_tap = p.channels
    cdef int32_t _i, c
    for _i in range(taps):
        if pooling == MAXIMUM:
            for c in range(n):
                values[c] = tap[c] if values[c] < tap[c] else values[c]
        elif pooled is not float:
            for c in range(n):
                sums[c] = <int32_t>(<uint32_t>sums[c] + <uint32_t><int32_t>tap[c])
        elif pooling == L2:
            for c in range(n):
                values[c] = plus_product(values[c], tap[c], tap[c]) if AARCH64 else add_last(values[c], tap[c] * tap[c])
        elif p.last_nan:
            add_runs(tap, values, values, n)
        else:
            add_runs(values, tap, values, n)
        tap += next_tap


cdef inline void finish_block(const Pool2D* p, int pooling, int32_t taps, int32_t n, const int32_t* sums, const pooled* values, pooled* y) noexcept nogil:
    cdef int32_t c
    if pooled is float:
        for c in range(n):
            if pooling == MAXIMUM:
                y[c] = clamp_f32(values[c], p.low_f, p.high_f)
            elif pooling == L2:
                y[c] = clamp_f32(sqrtf(values[c] / <float>taps), p.low_f, p.high_f)
            else:
                y[c] = clamp_f32(values[c] / <float>taps, p.low_f, p.high_f)
    else:
        if pooling == AVERAGE:
            average_sums(p, sums, taps, n, y)
            return
        for c in range(n):
            y[c] = <pooled>min(max(<int32_t>values[c], p.low), p.high)


cdef inline int pool_2d(const Pool2D* p, int pooling, const pooled* x, pooled* y) noexcept nogil:
    """Returns -1 when a window of an average has no tap inside."""
    cdef int32_t[CHANNEL_BLOCK] sums
    cdef pooled[CHANNEL_BLOCK] values
    cdef const pooled* tap
    cdef int32_t n, oh, ow, ih, c0, block
    cdef Taps t
    if p.channels == 0:
        return 0
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                if pooling == AVERAGE and tap_count(t) == 0:
                    return -1
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    start_block(pooling, block, sums, values)
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        add_taps(p, pooling, t.right - t.left, block, tap, sums, values)
                    finish_block(p, pooling, tap_count(t), block, sums, values, y + c0)
                y += p.channels
    return 0
