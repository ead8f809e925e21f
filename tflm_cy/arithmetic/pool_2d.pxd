"""Two-dimensional pooling over NHWC: average, maximum and L2, one function per operator and type.

Taps outside of the image are skipped, so that an average divides by the number of taps inside. All go over blocks of channels, in the
order (window row, window column) for each channel: float sums are sequential in that order, integers could be in any. Of several NaN among the
terms of a float sum one comes out, with its sign and payload: the first in TensorFlow's reference average, the last in its other sums.

Source: LiteRT:tflite/kernels/internal/reference/{pooling,integer_ops/pooling}.h.
"""
from libc.math cimport sqrtf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32

cdef enum:
    CHANNEL_BLOCK = 64           # written out as 64 where Cython wants a literal step

cdef struct Pool2D:
    int32_t batches, height, width, channels
    int32_t out_height, out_width
    int32_t kernel_height, kernel_width
    int32_t stride_height, stride_width
    int32_t pad_top, pad_left
    int32_t low, high            # clamp of a quantized output
    float low_f, high_f          # clamp of a float output
    bint last_nan                # comes out of an average of floats; else the first

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


cdef inline float add_first(float a, float b) noexcept nogil:
    """a + b; of two NaN a comes out. A compiler may exchange the operands of a mere sum."""
    return a if a != a else a + b


cdef inline float add_last(float a, float b) noexcept nogil:
    """a + b; of two NaN b comes out, quiet."""
    return b + b if b != b else a + b


ctypedef fused quantized:
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


cdef inline int average_pool(const Pool2D* p, const quantized* x, quantized* y) noexcept nogil:
    """Rounded half away from zero. Returns -1 when a window has no tap inside."""
    cdef int32_t[CHANNEL_BLOCK] acc
    cdef const quantized* tap
    cdef int32_t n, oh, ow, ih, iw, c, c0, block, taps
    cdef Taps t
    if p.channels == 0:
        return 0
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                taps = tap_count(t)
                if taps == 0:
                    return -1
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    for c in range(block):
                        acc[c] = 0
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        for iw in range(t.left, t.right):
                            for c in range(block):
                                acc[c] = <int32_t>(<uint32_t>acc[c] + <uint32_t><int32_t>tap[c])
                            tap += p.channels
                    average_sums(p, acc, taps, block, y + c0)
                y += p.channels
    return 0


cdef inline int average_pool_f32(const Pool2D* p, const float* x, float* y) noexcept nogil:
    """The sum is sequential from 0, then one division. Returns -1 when a window has no tap inside."""
    cdef float[CHANNEL_BLOCK] acc
    cdef const float* tap
    cdef int32_t n, oh, ow, ih, iw, c, c0, block, taps
    cdef float count
    cdef Taps t
    if p.channels == 0:
        return 0
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                taps = tap_count(t)
                if taps == 0:
                    return -1
                count = <float>taps
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    for c in range(block):
                        acc[c] = 0
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        for iw in range(t.left, t.right):
                            if p.last_nan:
                                for c in range(block):
                                    acc[c] = add_last(acc[c], tap[c])
                            else:
                                for c in range(block):
                                    acc[c] = add_first(acc[c], tap[c])
                            tap += p.channels
                    for c in range(block):
                        y[c0 + c] = clamp_f32(acc[c] / count, p.low_f, p.high_f)
                y += p.channels
    return 0


cdef inline int l2_pool_f32(const Pool2D* p, const float* x, float* y) noexcept nogil:
    """sqrt(sum of squares / count); a window without taps gives NaN."""
    cdef float[CHANNEL_BLOCK] acc
    cdef const float* tap
    cdef int32_t n, oh, ow, ih, iw, c, c0, block
    cdef float count
    cdef Taps t
    if p.channels == 0:
        return 0
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                count = <float>tap_count(t)
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    for c in range(block):
                        acc[c] = 0
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        for iw in range(t.left, t.right):
                            for c in range(block):
                                acc[c] = add_last(acc[c], tap[c] * tap[c])
                            tap += p.channels
                    for c in range(block):
                        y[c0 + c] = clamp_f32(sqrtf(acc[c] / count), p.low_f, p.high_f)
                y += p.channels
    return 0


cdef inline int max_pool(const Pool2D* p, const quantized* x, quantized* y) noexcept nogil:
    """A window without taps gives the type's lowest value."""
    cdef quantized[CHANNEL_BLOCK] best
    cdef const quantized* tap
    cdef int32_t n, oh, ow, ih, iw, c, c0, block, value
    cdef Taps t
    if p.channels == 0:
        return 0
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    for c in range(block):
                        if quantized is int8_t:
                            best[c] = -128
                        elif quantized is uint8_t:
                            best[c] = 0
                        else:
                            best[c] = -32768
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        for iw in range(t.left, t.right):
                            for c in range(block):
                                best[c] = tap[c] if tap[c] > best[c] else best[c]
                            tap += p.channels
                    for c in range(block):
                        value = max(<int32_t>best[c], p.low)
                        y[c0 + c] = <quantized>min(value, p.high)
                y += p.channels
    return 0


cdef inline int max_pool_f32(const Pool2D* p, const float* x, float* y) noexcept nogil:
    """From the lowest finite float upwards: NaN is ignored, a window of -inf gives -3.4028235e38."""
    cdef float[CHANNEL_BLOCK] best
    cdef const float* tap
    cdef int32_t n, oh, ow, ih, iw, c, c0, block
    cdef Taps t
    if p.channels == 0:
        return 0
    for n in range(p.batches):
        for oh in range(p.out_height):
            for ow in range(p.out_width):
                t = taps_at(p, oh, ow)
                for c0 in range(0, p.channels, 64):
                    block = min(CHANNEL_BLOCK, p.channels - c0)
                    for c in range(block):
                        best[c] = <float>-3.4028234663852886e38
                    for ih in range(t.top, t.bottom):
                        tap = x + ((<int64_t>n * p.height + ih) * p.width + t.left) * p.channels + c0
                        for iw in range(t.left, t.right):
                            for c in range(block):
                                best[c] = tap[c] if best[c] < tap[c] else best[c]
                            tap += p.channels
                    for c in range(block):
                        y[c0 + c] = clamp_f32(best[c], p.low_f, p.high_f)
                y += p.channels
    return 0
