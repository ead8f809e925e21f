"""Bilinear and nearest-neighbour resizing over NHWC: where an output pixel lies in the input, and how its neighbours are mixed.

float32 and uint8 go through float coordinates and weights, each product rounded, added in the order (top, left), (bottom, left),
(top, right), (bottom, right); int8 and int16 through 10-bit fixed point. On aarch64 all products but that of (bottom, left) are fused.

In fixed point the step from column to column is rounded, so that the last of a thousand and more columns may lie behind the input's last one. TensorFlow
then takes the left corners from where that is in memory: from the next row, or image. Behind the last image we take its last pixel.

Columns are handled in blocks of 64, whose coordinates are computed once.

Source: LiteRT:tflite/kernels/internal/reference/{resize_bilinear,resize_nearest_neighbor}.h.
"""
from libc.math cimport ceilf, floorf, roundf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.copy_runs cimport copy_run
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product, product_plus, sum_of_products
from tflm_cy.arithmetic.shapes cimport Resize

cdef enum:
    COLUMN_BLOCK = 64


cdef struct Place:               # between two rows or columns of the input
    int64_t low
    int64_t high
    float fraction               # of the way from low to high
    int32_t fraction_10          # the same in 1/1024

ctypedef fused real:
    float
    uint8_t

ctypedef fused integral:
    int8_t
    int16_t


cdef inline float scale_f32(int32_t size, int32_t out, bint align_corners) noexcept nogil:
    if align_corners and out > 1:
        return <float>(size - 1) / <float>(out - 1)
    return <float>size / <float>out


cdef inline Place place_f32(int32_t i, int32_t size, int32_t out, bint align_corners, bint half_pixel_centers) noexcept nogil:
    cdef Place p
    cdef float scale = scale_f32(size, out, align_corners)
    cdef float at = product_plus(i + <float>0.5, scale, <float>-0.5) if half_pixel_centers else i * scale
    p.low = min(max(<int64_t>floorf(at), 0), size - 1)
    p.high = min(<int64_t>ceilf(at), size - 1)
    p.fraction = at - <float>p.low
    p.fraction_10 = 0
    return p


cdef inline Place place_10(int32_t i, int32_t size, int32_t out, bint align_corners, bint half_pixel_centers) noexcept nogil:
    cdef Place p
    cdef int64_t scale = (<int64_t>size * 1024 + out / 2) / out
    cdef int64_t at
    if align_corners and out > 1:
        scale = (<int64_t>(size - 1) * 1024 + (out - 1) / 2) / (out - 1)
    at = i * scale + (scale / 2 - 512 if half_pixel_centers else 0)
    p.low = max(at / 1024, 0)            # may be behind the last one
    p.high = min((at + 1023) / 1024, size - 1)
    p.fraction = 0
    p.fraction_10 = <int32_t>(at - 1024 * p.low)
    return p


cdef inline int64_t nearest(int32_t i, int32_t size, int32_t out, bint align_corners, bint half_pixel_centers) noexcept nogil:
    cdef float at = (i + (<float>0.5 if half_pixel_centers else <float>0)) * scale_f32(size, out, align_corners)
    cdef int64_t place = <int64_t>(roundf(at) if align_corners else floorf(at))
    return max(min(place, size - 1), 0)


cdef inline int64_t nearest_fixed_point(int32_t i, int32_t size, int32_t out) noexcept nogil:
    """As the optimized kernels find it for uint8, with a step of 16 binary places that is rounded up; 32 bits hold it and its multiples."""
    cdef int32_t step = <int32_t>(<uint32_t>size << 16) / out + 1
    cdef int32_t at = <int32_t>(<uint32_t>i * <uint32_t>step)
    return max(min(at >> 16, size - 1), 0)


cdef inline float last_nan(float a, float b, float c, float d, float total) noexcept nogil:
    """What a sum with NaNs is: the last of them."""
    return d if d != d else c if c != c else b if b != b else a if a != a else total


cdef inline float mixed_f32(
    float top_left, float bottom_left, float top_right, float bottom_right, float up, float down, float left, float right,
) noexcept nogil:
    """The corners' mean, weighted by the distances of the edges: up + down = 1, left + right = 1."""
    cdef float mixed = sum_of_products(top_left * up, left, bottom_left * down, left)
    return plus_product(plus_product(mixed, top_right * up, right), bottom_right * down, right)


cdef inline void mix_f32(const real* top_left, const real* bottom_left, const real* top_right, const real* bottom_right, real* y,
                         int64_t depth, float down, float right) noexcept nogil:
    cdef float up = <float>1 - down
    cdef float left = <float>1 - right
    cdef float mixed
    cdef int nan = 0
    cdef int64_t c
    for c in range(depth):
        mixed = mixed_f32(top_left[c], bottom_left[c], top_right[c], bottom_right[c], up, down, left, right)
        if real is float:
            y[c] = mixed + <float>0          # the kernel adds a rounding offset of 0: -0.0 becomes 0.0
            nan |= mixed != mixed
        else:
            y[c] = <uint8_t><int32_t>(mixed + <float>0.5)
    if real is float:
        if nan and not AARCH64:
            for c in range(depth):
                y[c] = last_nan(top_left[c] * up * left, bottom_left[c] * down * left, top_right[c] * up * right,
                                bottom_right[c] * down * right, y[c])


cdef inline void bilinear_f32(const Resize* r, const real* x, real* y) noexcept nogil:
    cdef Place[COLUMN_BLOCK] columns
    cdef Place row
    cdef int32_t n, oh, ow, ow0, block
    cdef const real* top
    cdef const real* bottom
    cdef real* out
    if r.depth == 0:
        return
    for ow0 in range(0, r.out_width, 64):
        block = min(COLUMN_BLOCK, r.out_width - ow0)
        for ow in range(block):
            columns[ow] = place_f32(ow0 + ow, r.width, r.out_width, r.align_corners, r.half_pixel_centers)
        for n in range(r.batches):
            for oh in range(r.out_height):
                row = place_f32(oh, r.height, r.out_height, r.align_corners, r.half_pixel_centers)
                top = x + (<int64_t>n * r.height + row.low) * r.width * r.depth
                bottom = x + (<int64_t>n * r.height + row.high) * r.width * r.depth
                out = y + ((<int64_t>n * r.out_height + oh) * r.out_width + ow0) * r.depth
                for ow in range(block):
                    mix_f32(top + columns[ow].low * r.depth, bottom + columns[ow].low * r.depth, top + columns[ow].high * r.depth,
                            bottom + columns[ow].high * r.depth, out + ow * r.depth, r.depth, row.fraction, columns[ow].fraction)


cdef inline void mix_10(const integral* top_left, const integral* bottom_left, const integral* top_right, const integral* bottom_right,
                        integral* y, int64_t depth, int32_t down, int32_t right) noexcept nogil:
    """Rounded half away from zero. int8 fits int32 throughout; the weights lie within [-512, 1536]."""
    cdef int32_t up = 1024 - down
    cdef int32_t left = 1024 - right
    cdef int32_t mixed
    cdef int64_t wide
    cdef int64_t c
    for c in range(depth):
        if integral is int8_t:
            mixed = (top_left[c] * up + bottom_left[c] * down) * left + (top_right[c] * up + bottom_right[c] * down) * right
            y[c] = <int8_t>((mixed + ((1 << 19) if mixed > 0 else -(1 << 19))) / (1 << 20))
        else:
            wide = (<int64_t>(top_left[c] * up + bottom_left[c] * down) * left
                    + <int64_t>(top_right[c] * up + bottom_right[c] * down) * right)
            y[c] = <int16_t>((wide + ((1 << 19) if wide > 0 else -(1 << 19))) / (1 << 20))


cdef inline void bilinear_10(const Resize* r, const integral* x, integral* y) noexcept nogil:
    cdef Place[COLUMN_BLOCK] columns
    cdef Place row
    cdef int32_t n, oh, ow, ow0, block
    cdef int64_t last = <int64_t>r.batches * r.height * r.width - 1
    cdef int64_t top, bottom
    cdef integral* out
    if r.depth == 0:
        return
    for ow0 in range(0, r.out_width, 64):
        block = min(COLUMN_BLOCK, r.out_width - ow0)
        for ow in range(block):
            columns[ow] = place_10(ow0 + ow, r.width, r.out_width, r.align_corners, r.half_pixel_centers)
        for n in range(r.batches):
            for oh in range(r.out_height):
                row = place_10(oh, r.height, r.out_height, r.align_corners, r.half_pixel_centers)
                top = (<int64_t>n * r.height + row.low) * r.width
                bottom = (<int64_t>n * r.height + row.high) * r.width
                out = y + ((<int64_t>n * r.out_height + oh) * r.out_width + ow0) * r.depth
                for ow in range(block):
                    mix_10(x + min(top + columns[ow].low, last) * r.depth, x + min(bottom + columns[ow].low, last) * r.depth,
                           x + min(top + columns[ow].high, last) * r.depth, x + (bottom + columns[ow].high) * r.depth,
                           out + ow * r.depth, r.depth, row.fraction_10, columns[ow].fraction_10)


cdef inline int64_t nearest_of(const Resize* r, bint fixed_point, int32_t i, int32_t size, int32_t out) noexcept nogil:
    return nearest_fixed_point(i, size, out) if fixed_point else nearest(i, size, out, r.align_corners, r.half_pixel_centers)


cdef inline void nearest_bytes(const Resize* r, bint fixed_point, const char* x, char* y, int64_t pixel) noexcept nogil:
    """Copies pixels of `pixel` bytes."""
    cdef int64_t[COLUMN_BLOCK] columns
    cdef int32_t n, oh, ow, ow0, block
    cdef const char* row
    cdef char* out
    if pixel == 0:
        return
    for ow0 in range(0, r.out_width, 64):
        block = min(COLUMN_BLOCK, r.out_width - ow0)
        for ow in range(block):
            columns[ow] = nearest_of(r, fixed_point, ow0 + ow, r.width, r.out_width) * pixel
        for n in range(r.batches):
            for oh in range(r.out_height):
                row = x + (<int64_t>n * r.height + nearest_of(r, fixed_point, oh, r.height, r.out_height)) * r.width * pixel
                out = y + ((<int64_t>n * r.out_height + oh) * r.out_width + ow0) * pixel
                for ow in range(block):
                    copy_run(out + ow * pixel, row + columns[ow], pixel)
