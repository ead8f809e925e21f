"""Bilinear resizing of float32 and uint8 images as the optimized kernels do it.

The four weights are computed first, and the corners added in the order (top, left), (top, right), (bottom, left), (bottom, right);
float32 images that double in both directions, without aligned corners or pixel centers, are made of halves. On aarch64 a corner's product is
fused with the sum so far; of uint8, the first with the second's product.

Source: LiteRT:tflite/kernels/internal/optimized/resize_bilinear.h.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.machine cimport AARCH64, plus_product, sum_of_products
from tflm_cy.arithmetic.nan_order cimport add_first
from tflm_cy.arithmetic.resize cimport COLUMN_BLOCK, last_nan, Place, place_f32, real
from tflm_cy.arithmetic.shapes cimport Resize

cdef enum:
    BYTES = 32                   # of a pixel that are computed together


cdef inline float weighted_bytes(
    float top_left, float top_right, float bottom_left, float bottom_right, float w00, float w01, float w10, float w11,
) noexcept nogil:
    """The weighted sum of a byte's corners, which is then rounded."""
    cdef float v = sum_of_products(top_left, w00, top_right, w01)
    return plus_product(plus_product(v, bottom_left, w10), bottom_right, w11)


cdef inline void mix_weighted(
    const real* top_left, const real* top_right, const real* bottom_left, const real* bottom_right, real* y, int64_t depth,
    float down, float right,
) noexcept nogil:
    cdef float w00 = (<float>1 - down) * (<float>1 - right)
    cdef float w01 = (<float>1 - down) * right
    cdef float w10 = down * (<float>1 - right)
    cdef float w11 = down * right
    cdef float v
    cdef int64_t c
    for c in range(depth):
        if real is float:
            v = plus_product(plus_product(0, top_left[c], w00), top_right[c], w01)
            v = plus_product(plus_product(v, bottom_left[c], w10), bottom_right[c], w11)
            y[c] = v if v == v or AARCH64 else last_nan(top_left[c] * w00, top_right[c] * w01, bottom_left[c] * w10, bottom_right[c] * w11, v)
        else:
            v = weighted_bytes(top_left[c], top_right[c], bottom_left[c], bottom_right[c], w00, w01, w10, w11)
            y[c] = <uint8_t><int32_t>(v + <float>0.5)


cdef inline bint doubles(const Resize* r) noexcept nogil:
    return not r.align_corners and not r.half_pixel_centers and r.out_height == 2 * r.height and r.out_width == 2 * r.width


cdef inline void double_nans(const float* a, const float* b, const float* d, const float* e, float* out, int64_t out_row, int64_t depth) noexcept nogil:
    """Channels of which a corner is NaN: the first of (a, d, b, e) comes out, on x86-64 of the first half of each eight channels of (d, a, b, e)."""
    cdef int64_t c
    cdef float left
    for c in range(depth):
        if out[out_row + depth + c] != out[out_row + depth + c]:
            left = (add_first(d[c], a[c]) if c < depth - depth % 8 and c % 8 < 4 and not AARCH64 else add_first(a[c], d[c])) * <float>0.5
            out[depth + c] = add_first(a[c], b[c]) * <float>0.5
            out[out_row + c] = left
            out[out_row + depth + c] = add_first(left, add_first(b[c], e[c]) * <float>0.5) * <float>0.5


cdef inline void double_f32(const Resize* r, const float* x, float* y) noexcept nogil:
    cdef int64_t depth = r.depth
    cdef int64_t out_row = r.out_width * depth
    cdef int64_t n, h, w, c
    cdef const float* a
    cdef const float* b
    cdef const float* d
    cdef const float* e
    cdef float* out
    cdef float left, mixed
    cdef int nan
    for n in range(r.batches):
        for h in range(r.height):
            for w in range(r.width):
                nan = 0
                a = x + (h * r.width + w) * depth
                b = a + depth if w + 1 < r.width else a
                d = a + r.width * depth if h + 1 < r.height else a
                e = d + (b - a)
                out = y + 2 * h * out_row + 2 * w * depth
                for c in range(depth):
                    left = (a[c] + d[c]) * <float>0.5
                    out[c] = a[c]
                    out[depth + c] = (a[c] + b[c]) * <float>0.5
                    out[out_row + c] = left
                    mixed = (left + (b[c] + e[c]) * <float>0.5) * <float>0.5
                    out[out_row + depth + c] = mixed
                    nan |= mixed != mixed
                if nan:
                    double_nans(a, b, d, e, out, out_row, depth)
        x += r.height * r.width * depth
        y += r.out_height * out_row


cdef inline void bilinear_weighted(const Resize* r, const real* x, real* y) noexcept nogil:
    cdef Place[COLUMN_BLOCK] columns
    cdef Place row
    cdef int32_t n, oh, ow, ow0, block
    cdef const real* top
    cdef const real* bottom
    cdef real* out
    cdef int64_t whole = r.depth - r.depth % BYTES if r.depth > BYTES else r.depth      # what is left is computed once more, with its neighbours
    cdef int64_t at
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
                    mix_weighted(top + columns[ow].low * r.depth, top + columns[ow].high * r.depth, bottom + columns[ow].low * r.depth,
                                 bottom + columns[ow].high * r.depth, out + ow * r.depth, whole, row.fraction, columns[ow].fraction)
                    if whole < r.depth:
                        at = r.depth - BYTES
                        mix_weighted(
                            top + columns[ow].low * r.depth + at, top + columns[ow].high * r.depth + at, bottom + columns[ow].low * r.depth + at,
                            bottom + columns[ow].high * r.depth + at, out + ow * r.depth + at, BYTES, row.fraction, columns[ow].fraction)
