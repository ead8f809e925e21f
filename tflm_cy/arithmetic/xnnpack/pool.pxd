"""float32 pooling of the xnnpack arithmetic over images NHWC: average, maximum, maximum with its place, and its inverse.

The taps of a window go filter column by filter column, in groups of nine; within a group the order is a tree:

    average: sum = sum + (((v2 + v3) + (v4 + v5)) + (((v0 + v1) + v8) + (v6 + v7)));  y = min(max(sum * (1 / taps inside), low), high)
             of two NaN the first one's comes out; on aarch64 that of (v6 + v7) before that of v0, v1, v8, and behind the last
             four channels a later group's before that of the sum
    maximum: m likewise with max;  first group y = min(max(m, low), high), later ones y = min(max(y, m), high)

- Average: taps outside of the image and missing ones of the last group are +0. Maximum: a tap outside reads the nearest pixel inside, a
  missing one repeats its group's first. A clamp here turns NaN into low, and -0 into a low of +0.
- The place of a maximum counts the taps in the same order, the first of equal ones wins; MaxUnpooling2D puts values back there.

Source: XNNPACK's f32-avgpool, f32-maxpool, f32-argmaxpool and x32-unpool microkernels.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.xnnpack.lanes cimport (
    add8, bits8, f32x8, floats8, i32x8, less8, load8, load_part8, max8, min8, select8, splat8, store8, store_part8,
)

cdef enum:
    GROUP = 9

cdef struct PoolShape:
    int64_t batches, ih, iw, channels
    int64_t oh, ow
    int64_t kh, kw
    int64_t stride_h, stride_w
    int64_t pad_h, pad_w         # before the first row and column
    int64_t pad_bottom
    bint whole                   # an average divides by all taps
    float low
    float high


cdef inline int64_t groups_of(const PoolShape* p) noexcept nogil:
    return (p.kh * p.kw + GROUP - 1) / GROUP


cdef inline int64_t near(int64_t at, int64_t size) noexcept nogil:
    """The nearest index inside."""
    return 0 if at < 0 else size - 1 if at >= size else at


cdef inline int64_t table_row(const PoolShape* p, int64_t oy) noexcept nogil:
    """The output row whose taps the average of row oy reads.

    XNNPACK's table of taps has the rows that touch padding above, one for all in the middle, and those that touch padding below. Where a
    window reaches over the image on both sides a row finds another one's taps: the same pixels in another order.
    """
    cdef int64_t above = (p.pad_h + p.stride_h - 1) / p.stride_h
    cdef int64_t below = (p.pad_bottom + p.stride_h - 1) / p.stride_h
    cdef int64_t first_below = p.oh - below
    cdef int64_t entry
    if oy < first_below or first_below < 0:
        return oy
    entry = min(oy, above) + oy + 1 - first_below
    return entry if entry < min(above + 1, p.oh) else first_below + entry - min(above + 1, p.oh)


cdef inline int64_t taps_zero(
    const PoolShape* p, const float* image, const float* zeros, int64_t oy, int64_t ox, const float** at,
) noexcept nogil:
    """Pointers of whole groups, zeros for what is outside or missing; returns the number of taps inside."""
    cdef int64_t top = table_row(p, oy) * p.stride_h - p.pad_h
    cdef int64_t left = ox * p.stride_w - p.pad_w
    cdef int64_t inside = 0
    cdef int64_t t, iy, ix
    for t in range(groups_of(p) * GROUP):
        iy = top + t % p.kh
        ix = left + t / p.kh
        at[t] = zeros
        if t < p.kh * p.kw and 0 <= iy < p.ih and 0 <= ix < p.iw:
            at[t] = image + (iy * p.iw + ix) * p.channels
            inside += 1
    return inside


cdef inline void taps_near(const PoolShape* p, const float* image, int64_t oy, int64_t ox, const float** at) noexcept nogil:
    """Pointers of whole groups; a missing tap repeats its group's first."""
    cdef int64_t top = oy * p.stride_h - p.pad_h
    cdef int64_t left = ox * p.stride_w - p.pad_w
    cdef int64_t t, tap
    for t in range(groups_of(p) * GROUP):
        tap = t if t < p.kh * p.kw else t / GROUP * GROUP
        at[t] = image + (near(top + tap % p.kh, p.ih) * p.iw + near(left + tap / p.kh, p.iw)) * p.channels


cdef inline f32x8 lanes_of(const float* x, int64_t c, int64_t left) noexcept nogil:
    return load8(x + c) if left >= 8 else load_part8(x + c, left)


cdef inline void put_lanes(float* y, f32x8 v, int64_t left) noexcept nogil:
    if left >= 8:
        store8(y, v)
    else:
        store_part8(y, v, left)


cdef inline f32x8 sum_of_nine(const float** v, int64_t c, int64_t left) noexcept nogil:
    cdef f32x8 a = add8(lanes_of(v[2], c, left), lanes_of(v[3], c, left))
    cdef f32x8 b = add8(lanes_of(v[4], c, left), lanes_of(v[5], c, left))
    cdef f32x8 d = add8(add8(lanes_of(v[0], c, left), lanes_of(v[1], c, left)), lanes_of(v[8], c, left))
    cdef f32x8 e = add8(lanes_of(v[6], c, left), lanes_of(v[7], c, left))
    return add8(add8(a, b), add8(e, d) if AARCH64 else add8(d, e))


cdef inline f32x8 max_of_nine(const float** v, int64_t c, int64_t left) noexcept nogil:
    cdef f32x8 a = max8(lanes_of(v[2], c, left), lanes_of(v[3], c, left))
    cdef f32x8 b = max8(lanes_of(v[4], c, left), lanes_of(v[5], c, left))
    cdef f32x8 d = max8(max8(lanes_of(v[0], c, left), lanes_of(v[1], c, left)), lanes_of(v[8], c, left))
    cdef f32x8 e = max8(lanes_of(v[6], c, left), lanes_of(v[7], c, left))
    return max8(max8(a, b), max8(d, e))


cdef inline void average_pixel(const PoolShape* p, const float** at, float scale, float* y) noexcept nogil:
    cdef f32x8 low = splat8(p.low)
    cdef f32x8 high = splat8(p.high)
    cdef f32x8 total, sum
    cdef int64_t c = 0
    cdef int64_t g, left
    while c < p.channels:
        left = min(p.channels - c, <int64_t>(4 if AARCH64 else 8))
        total = splat8(0)
        for g in range(groups_of(p)):
            sum = sum_of_nine(at + GROUP * g, c, left)
            total = add8(sum, total) if AARCH64 and left < 4 else add8(total, sum)
        put_lanes(y + c, min8(max8(total * splat8(scale), low), high), left)
        c += left


cdef inline void max_pixel(const PoolShape* p, const float** at, float* y) noexcept nogil:
    cdef f32x8 high = splat8(p.high)
    cdef f32x8 best
    cdef int64_t c = 0
    cdef int64_t g
    while c < p.channels:
        best = min8(max8(max_of_nine(at, c, p.channels - c), splat8(p.low)), high)
        for g in range(1, groups_of(p)):
            best = min8(max8(best, max_of_nine(at + GROUP * g, c, p.channels - c)), high)
        put_lanes(y + c, best, p.channels - c)
        c += 8


cdef inline void average_pool_f32(const PoolShape* p, const float* x, const float* zeros, const float** at, float* y) noexcept nogil:
    """at: room for whole groups; zeros: one row of channels."""
    cdef int64_t n, oy, ox, inside
    for n in range(p.batches):
        for oy in range(p.oh):
            for ox in range(p.ow):
                inside = taps_zero(p, x, zeros, oy, ox, at)
                if p.whole:
                    inside = p.kh * p.kw
                average_pixel(p, at, <float>1 / <float>inside, y)
                y += p.channels
        x += p.ih * p.iw * p.channels


cdef inline void max_pool_f32(const PoolShape* p, const float* x, const float** at, float* y) noexcept nogil:
    cdef int64_t n, oy, ox
    for n in range(p.batches):
        for oy in range(p.oh):
            for ox in range(p.ow):
                taps_near(p, x, oy, ox, at)
                max_pixel(p, at, y)
                y += p.channels
        x += p.ih * p.iw * p.channels


# ---- the place of a maximum
cdef inline void argmax_pixel(const PoolShape* p, const float** at, float* y, uint32_t* places) noexcept nogil:
    """A later tap wins where it is greater; the value is max(tap, best), so that a NaN of best stays."""
    cdef f32x8 best, v
    cdef f32x8 place
    cdef i32x8 greater
    cdef int64_t c = 0
    cdef int64_t t, left
    while c < p.channels:
        left = p.channels - c
        best = max8(lanes_of(at[0], c, left), lanes_of(at[0], c, left))      # a single tap is flushed, too
        place = splat8(0)
        for t in range(1, p.kh * p.kw):
            v = lanes_of(at[t], c, left)
            greater = less8(best, v)
            best = max8(v, best)
            place = select8(greater, floats8((bits8(place) & 0) + <int32_t>t), place)
        put_lanes(y + c, best, left)
        put_lanes(<float*>places + c, place, left)
        c += 8


cdef inline void argmax_pool_f32(const PoolShape* p, const float* x, const float** at, float* y, uint32_t* places) noexcept nogil:
    cdef int64_t n, oy, ox
    for n in range(p.batches):
        for oy in range(p.oh):
            for ox in range(p.ow):
                taps_near(p, x, oy, ox, at)
                argmax_pixel(p, at, y, places)
                y += p.channels
                places += p.channels
        x += p.ih * p.iw * p.channels


cdef inline int64_t unpool_f32(const PoolShape* p, const uint32_t* x, const uint32_t* places, uint32_t* y) noexcept nogil:
    """Every value of [batches, ih, iw] goes to its place in a window of zeros; returns how many places lie outside (they are left out)."""
    cdef int64_t width = p.iw * p.kw * p.channels           # of a row of outputs
    cdef int64_t wrong = 0
    cdef int64_t n, iy, ix, c
    cdef uint32_t* window
    memset(y, 0, p.batches * p.ih * p.kh * width * sizeof(uint32_t))
    for n in range(p.batches):
        for iy in range(p.ih):
            for ix in range(p.iw):
                window = y + (n * p.ih + iy) * p.kh * width + ix * p.kw * p.channels
                for c in range(p.channels):
                    if places[c] < p.kh * p.kw:
                        window[places[c] % p.kh * width + places[c] / p.kh * p.channels + c] = x[c]
                    else:
                        wrong += 1
                x += p.channels
                places += p.channels
    return wrong
