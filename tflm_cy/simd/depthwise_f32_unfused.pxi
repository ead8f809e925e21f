# Four vectors of channels at a time, so that the pixels at the edges, which are summed one by one, do not wait for their sums.
from libc.math cimport copysign
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t

from tflm_cy.arithmetic.depthwise cimport Taps, window_taps
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.depthwise_f32_unfused cimport DepthwiseF32Unfused, DepthwiseF32UnfusedKernels

cdef extern from "depthwise_f32_unfused.h" nogil:
    ctypedef struct Taps32:
        ptrdiff_t row
        ptrdiff_t tap
        ptrdiff_t pixel
        ptrdiff_t kw
        ptrdiff_t fy0
        ptrdiff_t fy1
        ptrdiff_t fx0
        ptrdiff_t fx1
        ptrdiff_t y_pixel
        ptrdiff_t n
        ptrdiff_t vector
        ptrdiff_t needed
        int32_t* order
        bint bias_first
        int nan
        float low
        float high
    ctypedef void (*Taps32Function)(Taps32* t, const float* x, const float* w, float* y) noexcept nogil
    void taps32_8(Taps32* t, const float* x, const float* w, float* y) noexcept
    void taps32_4(Taps32* t, const float* x, const float* w, float* y) noexcept
    void taps32_1(Taps32* t, const float* x, const float* w, float* y) noexcept
    void taps32_1x4(Taps32* t, const float* x, const float* w, float* y) noexcept
    void taps32_8_part(Taps32* t, const float* x, const float* w, float* y) noexcept
    void taps32_4_part(Taps32* t, const float* x, const float* w, float* y) noexcept
    void taps32_1_part(Taps32* t, const float* x, const float* w, float* y) noexcept
    const Taps32Function taps32_8_wide
    const Taps32Function taps32_4_wide
    const Taps32Function taps32_1_wide
    const bint REPEATS32


cdef bint plan_depthwise_f32_unfused(DepthwiseF32Unfused* d) noexcept nogil:
    """False where the scalar definition must serve: a bias of -0.0, whose clamp depends on the pixel when it comes first; depth multipliers where
    there are no vectors in which channels change place."""
    cdef ConvShape* g = &d.shape
    cdef ptrdiff_t c
    d.pack = pack_depthwise_f32_unfused
    d.run = run_depthwise_f32_unfused
    if g.ic <= 0 or g.oc % g.ic != 0 or (g.oc != g.ic and not REPEATS32) or g.batches * g.oh * g.ow <= 0 or g.kh <= 0 or g.kw <= 0:
        return False
    for c in range(g.oc):
        if d.bias[c] == 0 and copysign(1.0, d.bias[c]) < 0:
            return False
    d.packed_bytes = (g.kh * g.kw + 1) * ((g.oc + VL - 1) / VL) * VL * <ptrdiff_t>sizeof(float) + LINE32
    return True


cdef bint pack_depthwise_f32_unfused(DepthwiseF32Unfused* d, const float* w) noexcept nogil:
    """True: any weights serve."""
    cdef ConvShape* g = &d.shape
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t tap, c
    cdef float* at
    d.packed = at = aligned32(d.packed)
    while first < g.oc:
        for c in range(first, first + VL):
            at[c - first] = d.bias[c] if c < g.oc else <float>0
        at += VL
        for tap in range(g.kh * g.kw):
            for c in range(first, first + VL):
                at[c - first] = w[tap * g.oc + c] if c < g.oc else <float>0
            at += VL
        first += VL
    return True


cdef void pixels_conv_f32_unfused(
    const DepthwiseF32Unfused* d, Taps32* t, const float* image, ptrdiff_t oy, ptrdiff_t ox, ptrdiff_t pixels, bint many, const float* w,
    float* y,
) noexcept nogil:
    """Pixels with the same taps: in fours and eights, and one by one; `many`: of four vectors, but of pixels one by one only."""
    cdef const ConvShape* g = &d.shape
    cdef Taps s = window_taps(g, oy, ox)
    cdef const float* x = image + ((s.y + s.fy0 * g.dilation_h) * g.iw + s.x + s.fx0 * g.dilation_w) * g.ic
    cdef bint wide = g.oc != g.ic
    cdef bint part = t.n < VL
    cdef Taps32Function one = taps32_1_wide if wide else taps32_1x4 if many else taps32_1_part if part else taps32_1
    t.fy0 = s.fy0
    t.fy1 = s.fy1
    t.fx0 = s.fx0
    t.fx1 = s.fx1
    while pixels > 0:
        if pixels >= 8 and not many:
            (taps32_8_wide if wide else taps32_8_part if part else taps32_8)(t, x, w, y)
            x += 8 * t.pixel
            y += 8 * g.oc
            pixels -= 8
        elif pixels >= 4 and not many:
            (taps32_4_wide if wide else taps32_4_part if part else taps32_4)(t, x, w, y)
            x += 4 * t.pixel
            y += 4 * g.oc
            pixels -= 4
        else:
            one(t, x, w, y)
            x += t.pixel
            y += g.oc
            pixels -= 1


cdef void find_channels32(Taps32* t, ptrdiff_t multiplier, ptrdiff_t c) noexcept nogil:
    """The input channels of the output channels from c on, counted from the first one's; lanes behind the last channel repeat it."""
    cdef ptrdiff_t place = c % multiplier        # among the output channels of an input channel
    cdef int32_t channel = 0
    cdef ptrdiff_t l
    for l in range(VL):
        t.order[l] = channel
        if l + 1 < t.n:
            place += 1
            if place == multiplier:
                place = 0
                channel += 1
    t.needed = channel + 1


cdef bint run_depthwise_f32_unfused(const DepthwiseF32Unfused* d, const float* x, float* y) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t multiplier = g.oc / g.ic
    cdef ptrdiff_t first, end, whole, n, oy, ox, c, vectors, v
    cdef const float* pixel
    cdef const float* w
    cdef float* to
    cdef Taps32 t
    t.row = g.dilation_h * g.iw * g.ic
    t.tap = g.dilation_w * g.ic
    t.pixel = g.stride_w * g.ic
    t.kw = g.kw
    t.y_pixel = g.oc
    t.vector = (g.kh * g.kw + 1) * VL
    t.bias_first = d.bias_first
    t.low = d.low
    t.high = d.high
    t.nan = 0
    # output columns whose windows lie between the edges
    first = (g.pad_w + g.stride_w - 1) / g.stride_w
    end = g.iw + g.pad_w - (g.kw - 1) * g.dilation_w - 1
    end = end / g.stride_w + 1 if end >= 0 else 0
    end = g.ow if end > g.ow else end
    first = g.ow if first > g.ow else first
    end = first if end < first else end
    whole = first + (end - first) / 4 * 4          # as far as fours go
    for n in range(g.batches):
        for oy in range(g.oh):
            c = 0
            w = d.packed
            while c < g.oc:
                vectors = 4 if multiplier == 1 and g.oc - c >= 4 * VL else 1
                t.n = g.oc - c if g.oc - c < VL else VL
                to = y + c
                pixel = x + c / multiplier
                if multiplier > 1:
                    find_channels32(&t, multiplier, c)
                for ox in range(first):
                    pixels_conv_f32_unfused(d, &t, pixel, oy, ox, 1, vectors == 4, w, to + ox * g.oc)
                for ox in range(whole, g.ow):
                    pixels_conv_f32_unfused(d, &t, pixel, oy, ox, 1, vectors == 4, w, to + ox * g.oc)
                if first < whole:
                    for v in range(vectors):
                        pixels_conv_f32_unfused(
                            d, &t, pixel + v * VL, oy, first, whole - first, False, w + v * t.vector, to + v * VL + first * g.oc)
                c += vectors * VL
                w += vectors * t.vector
            y += g.ow * g.oc
        x += g.ih * g.iw * g.ic
    return t.nan != 0


cdef void fill_depthwise_f32_unfused(DepthwiseF32UnfusedKernels* table) noexcept:
    table.plan = plan_depthwise_f32_unfused
