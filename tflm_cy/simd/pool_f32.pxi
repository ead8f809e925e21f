from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.xnnpack.pool cimport GROUP, PoolShape, groups_of, near, table_row
from tflm_cy.simd.pool_f32 cimport PoolF32Kernels

cdef extern from "pool_f32.h" nogil:
    ctypedef struct Average32:
        const float* image
        const float* zeros
        ptrdiff_t row
        ptrdiff_t pixel
        ptrdiff_t rows
        ptrdiff_t columns
        ptrdiff_t top
        ptrdiff_t bottom
        ptrdiff_t left
        ptrdiff_t right
        float scale
        float low
        float high
    void max_pixel32(const float** v, ptrdiff_t taps, ptrdiff_t groups, ptrdiff_t channels, float low, float high, float* y) noexcept
    void average_pixel32(const Average32* p, ptrdiff_t channels, float* y) noexcept


cdef void max_pool_xnnpack(const void* shape, const float* x, const float** at, float* y) noexcept nogil:
    """Windows inside of the image have their taps at fixed distances. Of two or four taps nothing stands for those that a group lacks."""
    cdef const PoolShape* p = <const PoolShape*>shape
    cdef int64_t taps = p.kh * p.kw if p.kh * p.kw in (2, 4) else groups_of(p) * GROUP
    cdef int64_t* distances = <int64_t*>(at + taps)
    cdef int64_t n, oy, ox, t, tap, top, left, ty, tx
    cdef bint inside
    t = 0
    for tx in range(p.kw):                   # filter column by filter column; divisions would take longer than a large window itself
        for ty in range(p.kh):
            distances[t] = (ty * p.iw + tx) * p.channels
            t += 1
    while t < taps:
        distances[t] = distances[t / GROUP * GROUP]
        t += 1
    for n in range(p.batches):
        for oy in range(p.oh):
            top = oy * p.stride_h - p.pad_h
            for ox in range(p.ow):
                left = ox * p.stride_w - p.pad_w
                inside = top >= 0 and left >= 0 and top + p.kh <= p.ih and left + p.kw <= p.iw
                for t in range(taps):
                    if inside:
                        at[t] = x + (top * p.iw + left) * p.channels + distances[t]
                    else:
                        tap = t if t < p.kh * p.kw else t / GROUP * GROUP
                        ty = near(top + tap % p.kh, p.ih)
                        tx = near(left + tap / p.kh, p.iw)
                        at[t] = x + (ty * p.iw + tx) * p.channels
                max_pixel32(at, p.kh * p.kw, groups_of(p), p.channels, p.low, p.high, y)
                y += p.channels
        x += p.ih * p.iw * p.channels


cdef void average_pool_xnnpack(const void* shape, const float* x, const float* zeros, int64_t first, int64_t end, float* y) noexcept nogil:
    """Output rows `first` to `end` of each image."""
    cdef const PoolShape* p = <const PoolShape*>shape
    cdef int64_t n, oy, ox, top, left
    cdef Average32 a
    a.zeros = zeros
    a.row = p.iw * p.channels
    a.pixel = p.channels
    a.rows, a.columns = p.kh, p.kw
    a.low, a.high = p.low, p.high
    for n in range(p.batches):
        for oy in range(first, end):
            top = table_row(p, oy) * p.stride_h - p.pad_h
            a.top = min(max(-top, <int64_t>0), p.kh)
            a.bottom = max(min(p.ih - top, p.kh), a.top)
            for ox in range(p.ow):
                left = ox * p.stride_w - p.pad_w
                a.left = min(max(-left, <int64_t>0), p.kw)
                a.right = max(min(p.iw - left, p.kw), a.left)
                a.image = x + top * a.row + left * a.pixel
                a.scale = <float>1 / <float>(p.kh * p.kw if p.whole else (a.bottom - a.top) * (a.right - a.left))
                average_pixel32(&a, p.channels, y + ((n * p.oh + oy) * p.ow + ox) * p.channels)
        x += p.ih * p.iw * p.channels


cdef void fill_pool_f32(PoolF32Kernels* table) noexcept:
    table.maximum = max_pool_xnnpack
    table.average = average_pool_xnnpack
