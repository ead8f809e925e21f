"""float32 RESIZE_BILINEAR as XNNPACK computes it: rows and columns are interpolated from tables that prepare fills.

    t = tl + (tr - tl) * u;  b = bl + (br - bl) * u;  y = t + (b - t) * v

Every operation is rounded on x86-64; on aarch64 each product is fused with its sum, that of a position with its shift,
too.

Source: XNNPACK's f32-ibilinear microkernels and xnn_indirection_init_resize_bilinear2d_hwc.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.machine cimport AARCH64, fmaf
from tflm_cy.arithmetic.xnnpack.lanes cimport add8, f32x8, fma8, load8, load_part8, splat8, store8, store_part8

cdef struct Step:                # from one output row or column to the input
    int64_t first                # the nearer one below, the next one
    int64_t second
    float weight                 # of the second

cdef struct ResizeShape:
    int64_t batches, ih, iw, channels
    int64_t oh, ow


cdef inline void fill_steps(int64_t size, int64_t out, bint align_corners, bint half_pixel_centers, Step* steps) noexcept nogil:
    cdef int64_t less = 1 if align_corners and out != 1 else 0
    cdef float scale = <float>(size - less) / <float>(out - less)
    cdef float shift = <float>0.5 * scale - <float>0.5
    cdef float at
    cdef int64_t i
    for i in range(out):
        at = <float>i * scale
        if half_pixel_centers and not align_corners:
            at = fmaf(<float>i, scale, shift) if AARCH64 else at + shift
            at = at if at > 0 else <float>0
            at = at if at < <float>(size - 1) else <float>(size - 1)
        steps[i].first = min(<int64_t>at, size - 1)
        steps[i].second = min(steps[i].first + 1, size - 1)
        steps[i].weight = at - <float>steps[i].first


cdef inline f32x8 between(f32x8 a, f32x8 b, f32x8 weight) noexcept nogil:
    """Of two NaN the product's comes out."""
    return fma8(b - a, weight, a) if AARCH64 else add8((b - a) * weight, a)


cdef inline void resize_pixel(
    const float* tl, const float* tr, const float* bl, const float* br, float u, float v, int64_t channels, float* y,
) noexcept nogil:
    cdef f32x8 uu = splat8(u)
    cdef f32x8 vv = splat8(v)
    cdef f32x8 top, bottom
    cdef int64_t c = 0
    cdef int64_t left
    while c + 8 <= channels:
        top = between(load8(tl + c), load8(tr + c), uu)
        bottom = between(load8(bl + c), load8(br + c), uu)
        store8(y + c, between(top, bottom, vv))
        c += 8
    if c < channels:
        left = channels - c
        top = between(load_part8(tl + c, left), load_part8(tr + c, left), uu)
        bottom = between(load_part8(bl + c, left), load_part8(br + c, left), uu)
        store_part8(y + c, between(top, bottom, vv), left)


cdef inline void resize_bilinear_f32(const ResizeShape* p, const float* x, const Step* rows, const Step* columns, float* y) noexcept nogil:
    cdef int64_t n, oy, ox
    cdef const float* top
    cdef const float* bottom
    cdef int64_t left, right
    for n in range(p.batches):
        for oy in range(p.oh):
            top = x + rows[oy].first * p.iw * p.channels
            bottom = x + rows[oy].second * p.iw * p.channels
            for ox in range(p.ow):
                left = columns[ox].first * p.channels
                right = columns[ox].second * p.channels
                resize_pixel(
                    top + left, top + right, bottom + left, bottom + right, columns[ox].weight, rows[oy].weight, p.channels, y)
                y += p.channels
        x += p.ih * p.iw * p.channels
