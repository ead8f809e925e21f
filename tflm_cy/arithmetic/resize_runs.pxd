"""Bilinear resizing of bytes in long runs: the bytes of resize.pxd's and optimized/resize.pxd's definitions, faster where pixels have few channels.

    bilinear_runs(&shape, True, x, y)        # uint8 with the optimized kernels' weights; False: with the reference's; int8 has one arithmetic

The four corners of the pixels of a stretch of an output row are copied one behind the other, and so are their weights; one loop mixes them all.
Pixels of MANY_CHANNELS and more are left to the definitions.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.optimized.resize cimport weighted_bytes
from tflm_cy.arithmetic.resize cimport Place, mixed_f32, place_10, place_f32
from tflm_cy.arithmetic.shapes cimport Resize

cdef enum:
    RUN = 1024                   # values
    STEP = 8                     # bytes that are copied at once, also past the end of a pixel
    MANY_CHANNELS = 192
    RUN_COLUMNS = 256

ctypedef fused byte:
    int8_t
    uint8_t

cdef struct Corners:             # of a stretch of an output row
    uint8_t[RUN + STEP] top_left
    uint8_t[RUN + STEP] bottom_left
    uint8_t[RUN + STEP] top_right
    uint8_t[RUN + STEP] bottom_right
    float[RUN] right             # weights of the right corners, by value
    int32_t[RUN] right_10
    Place[RUN_COLUMNS] columns


cdef inline void copy_pixels(const uint8_t* row, const Place* columns, bint high, int64_t n, int64_t depth, int64_t left, uint8_t* out) noexcept nogil:
    """`left`: bytes of the images from `row` on. Where a column is not in them, it is their last pixel."""
    cdef int64_t i, at, c
    for i in range(n):
        at = min((columns[i].high if high else columns[i].low) * depth, left - depth)
        if at + depth + STEP <= left:
            for c in range(0, depth, 8):
                memcpy(out + c, row + at + c, STEP)
        else:
            memcpy(out, row + at, depth)
        out += depth


cdef inline void mix_run_f32(const Corners* k, uint8_t* y, int64_t n, float down) noexcept nogil:
    cdef float up = <float>1 - down
    cdef float left, right
    cdef int64_t i
    for i in range(n):
        right = k.right[i]
        left = <float>1 - right
        y[i] = <uint8_t><int32_t>(
            mixed_f32(k.top_left[i], k.bottom_left[i], k.top_right[i], k.bottom_right[i], up, down, left, right) + <float>0.5)


cdef inline void mix_run_weighted(const Corners* k, uint8_t* y, int64_t n, float down) noexcept nogil:
    cdef float up = <float>1 - down
    cdef float left, right
    cdef int64_t i
    for i in range(n):
        right = k.right[i]
        left = <float>1 - right
        y[i] = <uint8_t><int32_t>(weighted_bytes(
            k.top_left[i], k.top_right[i], k.bottom_left[i], k.bottom_right[i], up * left, up * right, down * left, down * right) + <float>0.5)


cdef inline void mix_run_10(const Corners* k, int8_t* y, int64_t n, int32_t down) noexcept nogil:
    cdef const int8_t* top_left = <const int8_t*>k.top_left
    cdef const int8_t* bottom_left = <const int8_t*>k.bottom_left
    cdef const int8_t* top_right = <const int8_t*>k.top_right
    cdef const int8_t* bottom_right = <const int8_t*>k.bottom_right
    cdef int32_t up = 1024 - down
    cdef int32_t mixed, half
    cdef int64_t i
    for i in range(n):
        mixed = (top_left[i] * up + bottom_left[i] * down) * (1024 - k.right_10[i]) + (top_right[i] * up + bottom_right[i] * down) * k.right_10[i]
        half = (1 << 19) if mixed > 0 else -(1 << 19)
        y[i] = <int8_t>((mixed + half) / (1 << 20))


cdef inline Place place_of(byte like, int32_t i, int32_t size, int32_t out, const Resize* r) noexcept nogil:
    if byte is int8_t:
        return place_10(i, size, out, r.align_corners, r.half_pixel_centers)
    else:
        return place_f32(i, size, out, r.align_corners, r.half_pixel_centers)


cdef inline void resize_stretch(
    const Resize* r, Corners* k, bint weighted, const byte* x, int32_t n, int32_t oh, int32_t columns, byte* y,
) noexcept nogil:
    """Of one output row of image n."""
    cdef Place row = place_of(<byte>0, oh, r.height, r.out_height, r)
    cdef int64_t depth = r.depth
    cdef int64_t line = r.width * depth
    cdef const byte* top = x + (n * <int64_t>r.height + row.low) * line
    cdef const byte* bottom = x + (n * <int64_t>r.height + row.high) * line
    cdef int64_t top_left = (r.batches - n) * r.height * line - row.low * line
    cdef int64_t bottom_left = (r.batches - n) * r.height * line - row.high * line
    copy_pixels(<const uint8_t*>top, k.columns, False, columns, depth, top_left, k.top_left)
    copy_pixels(<const uint8_t*>bottom, k.columns, False, columns, depth, bottom_left, k.bottom_left)
    copy_pixels(<const uint8_t*>top, k.columns, True, columns, depth, top_left, k.top_right)
    copy_pixels(<const uint8_t*>bottom, k.columns, True, columns, depth, bottom_left, k.bottom_right)
    if byte is int8_t:
        mix_run_10(k, y, columns * depth, row.fraction_10)
    elif weighted:
        mix_run_weighted(k, y, columns * depth, row.fraction)
    else:
        mix_run_f32(k, y, columns * depth, row.fraction)


cdef inline void bilinear_runs(const Resize* r, bint weighted, const byte* x, byte* y) noexcept nogil:
    cdef Corners k
    cdef int64_t depth = r.depth
    cdef int32_t most, start, block, i, n, oh
    cdef int64_t c
    if depth == 0:
        return
    most = <int32_t>min(<int64_t>RUN_COLUMNS, RUN / depth)
    start = 0
    while start < r.out_width:
        block = min(most, r.out_width - start)
        for i in range(block):
            k.columns[i] = place_of(<byte>0, start + i, r.width, r.out_width, r)
            for c in range(depth):
                k.right[i * depth + c] = k.columns[i].fraction
                k.right_10[i * depth + c] = k.columns[i].fraction_10
        for n in range(r.batches):
            for oh in range(r.out_height):
                resize_stretch(
                    r, &k, weighted, x, n, oh, block, y + ((n * <int64_t>r.out_height + oh) * r.out_width + start) * depth)
        start += most
