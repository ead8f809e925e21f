from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.xnnpack.pool cimport GROUP, PoolShape, groups_of, near, table_row
from tflm_cy.simd.pool_f32 cimport PoolF32Kernels

cdef extern from "pool_f32.h" nogil:
    void max_pixel32(const float* x, const int64_t* taps, ptrdiff_t count, ptrdiff_t channels, float low, float high, float* y) noexcept
    void average_pixel32(
        const float* x, const int64_t* taps, ptrdiff_t count, ptrdiff_t channels, float scale, float low, float high, float* y) noexcept


cdef void taps_inside(const PoolShape* p, int64_t* taps) noexcept nogil:
    """Bytes from a window's first pixel, filter column by filter column; taps that the last group lacks repeat its first."""
    cdef int64_t t = 0
    cdef int64_t tx, ty
    for tx in range(p.kw):                   # divisions would take longer than a large window itself
        for ty in range(p.kh):
            taps[t] = (ty * p.iw + tx) * p.channels * <int64_t>sizeof(float)
            t += 1
    for t in range(t, groups_of(p) * GROUP):
        taps[t] = taps[t / GROUP * GROUP]


cdef void max_pool_xnnpack(const void* shape, const float* x, int64_t* taps, float* y) noexcept nogil:
    """A tap outside of the image reads the nearest pixel. Of two or four taps nothing stands for those that a group lacks."""
    cdef const PoolShape* p = <const PoolShape*>shape
    cdef int64_t count = p.kh * p.kw
    cdef int64_t* near_taps = taps + groups_of(p) * GROUP
    cdef int64_t n, oy, ox, top, left
    taps_inside(p, taps)
    for n in range(p.batches):
        for oy in range(p.oh):
            top = oy * p.stride_h - p.pad_h
            for ox in range(p.ow):
                left = ox * p.stride_w - p.pad_w
                if top >= 0 and left >= 0 and top + p.kh <= p.ih and left + p.kw <= p.iw:
                    max_pixel32(x + (top * p.iw + left) * p.channels, taps, count, p.channels, p.low, p.high, y)
                else:
                    taps_nearby(p, top, left, near_taps)
                    max_pixel32(x, near_taps, count, p.channels, p.low, p.high, y)
                y += p.channels
        x += p.ih * p.iw * p.channels


cdef void taps_nearby(const PoolShape* p, int64_t top, int64_t left, int64_t* taps) noexcept nogil:
    """Bytes from the image's first pixel."""
    cdef int64_t t = 0
    cdef int64_t tx, ty
    for tx in range(p.kw):
        for ty in range(p.kh):
            taps[t] = (near(top + ty, p.ih) * p.iw + near(left + tx, p.iw)) * p.channels * <int64_t>sizeof(float)
            t += 1
    for t in range(t, groups_of(p) * GROUP):
        taps[t] = taps[t / GROUP * GROUP]


cdef void average_pool_xnnpack(
    const void* shape, const float* x, const float* zeros, int64_t* taps, int64_t first, int64_t end, float* y,
) noexcept nogil:
    """Output rows `first` to `end` of each image. The zeros lie elsewhere, so many bytes from the window's first pixel."""
    cdef const PoolShape* p = <const PoolShape*>shape
    cdef int64_t groups = groups_of(p)
    cdef int64_t count = p.kh * p.kw
    cdef int64_t read = groups * GROUP if count > 4 else count + (count & 1)     # taps that average_pixel32 looks at
    cdef float whole_scale = <float>1 / <float>count
    cdef float scale
    cdef int64_t* edge_taps = taps + groups * GROUP
    cdef int64_t* window
    cdef const float* pixel
    cdef int64_t n, oy, ox, t, top, left, inside
    taps_inside(p, taps)
    for n in range(p.batches):
        for oy in range(first, end):
            top = table_row(p, oy) * p.stride_h - p.pad_h
            for ox in range(p.ow):
                left = ox * p.stride_w - p.pad_w
                scale = whole_scale
                window = taps
                if top >= 0 and left >= 0 and top + p.kh <= p.ih and left + p.kw <= p.iw:
                    pixel = x + (top * p.iw + left) * p.channels
                else:
                    pixel = x
                    window = edge_taps
                    inside = taps_or_zeros(p, top, left, <const char*>zeros - <const char*>x, window)
                    scale = whole_scale if p.whole else <float>1 / <float>inside
                for t in range(count, read):
                    window[t] = <const char*>zeros - <const char*>pixel
                average_pixel32(
                    pixel, window, count, p.channels, scale, p.low, p.high,
                    y + ((n * p.oh + oy) * p.ow + ox) * p.channels)
        x += p.ih * p.iw * p.channels


cdef int64_t taps_or_zeros(const PoolShape* p, int64_t top, int64_t left, int64_t zeros, int64_t* taps) noexcept nogil:
    """Bytes from the image's first pixel; returns how many taps lie inside."""
    cdef int64_t inside = 0
    cdef int64_t t = 0
    cdef int64_t tx, ty, iy, ix
    for tx in range(p.kw):
        ix = left + tx
        for ty in range(p.kh):
            iy = top + ty
            taps[t] = zeros
            if 0 <= iy < p.ih and 0 <= ix < p.iw:
                taps[t] = (iy * p.iw + ix) * p.channels * <int64_t>sizeof(float)
                inside += 1
            t += 1
    return inside


cdef void fill_pool_f32(PoolF32Kernels* table) noexcept:
    table.maximum = max_pool_xnnpack
    table.average = average_pool_xnnpack
