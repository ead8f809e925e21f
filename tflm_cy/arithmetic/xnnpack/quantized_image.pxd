"""RESIZE_BILINEAR of int8 and uint8 images NHWC in XNNPACK's arithmetic: integers with weights of 11 bits, rounded half up.

    fill_axis(rows, height, out_height, align_corners, half_pixel_centers)       # likewise columns
    bilinear_11(x, batches, height, width, depth, rows, out_height, columns, out_width, y)

Source: XNNPACK's src/indirection.c and s8/u8 ibilinear kernels, bytes checked against TensorFlow 2.21.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.xnnpack.requantize cimport byte8, rintf

cdef struct Between:             # an output row or column lies between two input ones
    int32_t first
    int32_t second
    int32_t weight               # of the second, in 2048ths


cdef inline void fill_axis(Between* axis, int32_t size, int32_t out_size, bint align_corners, bint half_pixel_centers) noexcept nogil:
    """All float32. With align_corners half_pixel_centers is not looked at."""
    cdef int32_t less = 1 if align_corners and out_size != 1 else 0
    cdef float scale = <float>(size - less) / <float>(out_size - less)
    cdef float last = <float>(size - 1)
    cdef float source
    cdef int64_t at
    cdef int32_t i
    for i in range(out_size):
        source = <float>i * scale
        if half_pixel_centers and not align_corners:
            source = source + (<float>0.5 * scale - <float>0.5)
            source = source if source > 0 else 0
            source = source if source < last else last
        at = <int64_t>source
        axis[i].first = <int32_t>at if at < size else size - 1
        axis[i].second = axis[i].first + 1 if axis[i].first + 1 < size else size - 1
        axis[i].weight = <int32_t>rintf((source - <float>axis[i].first) * <float>2048.0)


cdef inline void blend(
    const byte8* top, const byte8* bottom, int64_t left, int64_t right, int32_t wx, int32_t wy, int64_t depth, byte8* y,
) noexcept nogil:
    """One pixel; 255 * 2^22 fits."""
    cdef int64_t c
    cdef int32_t t, b
    for c in range(depth):
        t = <int32_t>top[left + c] * 2048 + (<int32_t>top[right + c] - <int32_t>top[left + c]) * wx
        b = <int32_t>bottom[left + c] * 2048 + (<int32_t>bottom[right + c] - <int32_t>bottom[left + c]) * wx
        y[c] = <byte8>((t * 2048 + (b - t) * wy + (1 << 21)) >> 22)


cdef inline void bilinear_11(
    const byte8* x, int64_t batches, int64_t height, int64_t width, int64_t depth, const Between* rows, int64_t out_height,
    const Between* columns, int64_t out_width, byte8* y,
) noexcept nogil:
    cdef const byte8* top
    cdef const byte8* bottom
    cdef int64_t n, oy, ox
    for n in range(batches):
        for oy in range(out_height):
            top = x + rows[oy].first * width * depth
            bottom = x + rows[oy].second * width * depth
            for ox in range(out_width):
                blend(top, bottom, columns[ox].first * depth, columns[ox].second * depth, columns[ox].weight, rows[oy].weight, depth, y)
                y += depth
        x += height * width * depth
