"""DEPTHWISE_CONV_2D on images [batch, height, width, channel] with one filter [1, filter height, filter width, output channel].

Output channel c sees input channel c / multiplier only; neighbouring channels run side by side. Taps outside of the image contribute
nothing; the float sum runs over (fy, fx) and the bias is added after it, in the optimized arithmetic before it.

Source: LiteRT:tflite/kernels/internal/reference/{depthwiseconv_float,depthwiseconv_uint8,integer_ops/depthwise_conv}.h.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product
from tflm_cy.arithmetic.nan_order cimport add_first
from tflm_cy.arithmetic.product_f32 cimport f32x4, finish_f32, fma4, nan_sum
from tflm_cy.arithmetic.product_s16 cimport activation, weight8
from tflm_cy.arithmetic.shapes cimport ConvShape, end_tap, first_tap
from tflm_cy.arithmetic.sum_rescale cimport Rescale, rescale_sums

cdef enum:
    BUFFER_VALUES = 4832         # that the optimized float32 kernel holds

cdef struct Taps:                # the taps of one window that lie inside: fy in [fy0, fy1), fx in [fx0, fx1)
    ptrdiff_t y                  # the input row and column of tap (0, 0), perhaps negative
    ptrdiff_t x
    ptrdiff_t fy0
    ptrdiff_t fy1
    ptrdiff_t fx0
    ptrdiff_t fx1


cdef inline Taps window_taps(const ConvShape* g, ptrdiff_t oy, ptrdiff_t ox) noexcept nogil:
    cdef Taps t
    t.y = oy * g.stride_h - g.pad_h
    t.x = ox * g.stride_w - g.pad_w
    t.fy0 = first_tap(t.y, g.dilation_h)
    t.fy1 = end_tap(t.y, g.dilation_h, g.ih, g.kh)
    t.fx0 = first_tap(t.x, g.dilation_w)
    t.fx1 = end_tap(t.x, g.dilation_w, g.iw, g.kw)
    return t


cdef inline f32x4 plus_product4(f32x4 total, f32x4 a, f32x4 b) noexcept nogil:
    """plus_product, lane by lane."""
    return fma4(a, b, total) if AARCH64 else total + a * b


cdef inline void depthwise_sums_f32(
    const ConvShape* g, const Taps* t, const float* image, const float* w, const float* start, ptrdiff_t start_step, float* sums,
) noexcept nogil:
    """Multiplier 1: blocks of sixteen and four channels keep their sums in registers over all taps.

    Channel c starts with start[c * start_step]; with a step of 0 start is 16 floats.
    """
    cdef const f32x4* s
    cdef f32x4 a0, a1, a2, a3
    cdef const f32x4* p
    cdef const f32x4* v
    cdef ptrdiff_t fy, fx, c
    cdef ptrdiff_t step = g.dilation_w * g.ic
    cdef const float* row
    cdef const float* taps
    cdef float total
    c = 0
    while c + 16 <= g.oc:
        s = <const f32x4*>(start + c * start_step)
        a0 = s[0]
        a1 = s[1]
        a2 = s[2]
        a3 = s[3]
        for fy in range(t.fy0, t.fy1):
            row = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + t.fx0 * g.dilation_w) * g.ic + c
            taps = w + (fy * g.kw + t.fx0) * g.oc + c
            for fx in range(t.fx0, t.fx1):
                p = <const f32x4*>row
                v = <const f32x4*>taps
                a0 = plus_product4(a0, p[0], v[0])
                a1 = plus_product4(a1, p[1], v[1])
                a2 = plus_product4(a2, p[2], v[2])
                a3 = plus_product4(a3, p[3], v[3])
                row += step
                taps += g.oc
        (<f32x4*>(sums + c))[0] = a0
        (<f32x4*>(sums + c))[1] = a1
        (<f32x4*>(sums + c))[2] = a2
        (<f32x4*>(sums + c))[3] = a3
        c += 16
    while c + 4 <= g.oc:
        a0 = (<const f32x4*>(start + c * start_step))[0]
        for fy in range(t.fy0, t.fy1):
            row = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + t.fx0 * g.dilation_w) * g.ic + c
            taps = w + (fy * g.kw + t.fx0) * g.oc + c
            for fx in range(t.fx0, t.fx1):
                a0 = plus_product4(a0, (<const f32x4*>row)[0], (<const f32x4*>taps)[0])
                row += step
                taps += g.oc
        (<f32x4*>(sums + c))[0] = a0
        c += 4
    while c < g.oc:
        total = start[c * start_step]
        for fy in range(t.fy0, t.fy1):
            row = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + t.fx0 * g.dilation_w) * g.ic + c
            taps = w + (fy * g.kw + t.fx0) * g.oc + c
            for fx in range(t.fx0, t.fx1):
                total = plus_product(total, row[0], taps[0])
                row += step
                taps += g.oc
        sums[c] = total
        c += 1


cdef inline void depthwise_sums_f32_multiplied(
    const ConvShape* g, const Taps* t, ptrdiff_t multiplier, const float* image, const float* w, const float* start,
    ptrdiff_t start_step, float* sums,
) noexcept nogil:
    """Any multiplier: each input channel meets `multiplier` neighbouring weights."""
    cdef ptrdiff_t fy, fx, c, m
    cdef const float* pixel
    cdef const float* taps
    cdef float v
    for c in range(g.oc):
        sums[c] = start[c * start_step]
    for fy in range(t.fy0, t.fy1):
        for fx in range(t.fx0, t.fx1):
            pixel = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + fx * g.dilation_w) * g.ic
            taps = w + (fy * g.kw + fx) * g.oc
            for c in range(g.ic):
                v = pixel[c]
                for m in range(c * multiplier, (c + 1) * multiplier):
                    sums[m] = plus_product(sums[m], v, taps[m])


cdef inline bint filter_first(ptrdiff_t ic, ptrdiff_t multiplier, ptrdiff_t c) noexcept nogil:
    """Whether the optimized kernel of this shape multiplies the filter by the input: where both are NaN, the first comes out."""
    if multiplier == 1:
        return True
    if AARCH64:
        return filter_first_neon(ic, multiplier, c)
    if multiplier == 2:                          # after blocks of 8 and 4 channels a pair
        return ic == 3 or (ic - ic % 4 <= c / 2 and c / 2 < ic - ic % 2)
    return ic == 1 and (multiplier == 8 or multiplier == 20) or ic == 3 and multiplier == 4


cdef inline bint filter_first_neon(ptrdiff_t ic, ptrdiff_t multiplier, ptrdiff_t c) noexcept nogil:
    """On aarch64, a multiplier above 1: what is left over of blocks of eight, and kernels for 8 and 16 outputs of a channel."""
    if multiplier == 2:
        return c / 2 >= ic - ic % 8
    if multiplier == 16 or multiplier == 8 and ic > 1:
        return True
    return c % multiplier >= multiplier - multiplier % 8 and not (multiplier == 20 and ic == 1)


cdef inline void repair_depthwise_nans(
    const ConvShape* g, const Taps* t, ptrdiff_t multiplier, const float* image, const float* w, const float* bias, bint bias_first,
    const float* sums, float* y,
) noexcept nogil:
    """As product_f32.repair_nans; sums start with the bias in the optimized kernel. y may be sums."""
    cdef ptrdiff_t fy, c
    cdef float total
    for c in range(g.oc):
        if sums[c] == sums[c]:
            continue
        total = bias[c] if bias_first else <float>0
        for fy in range(t.fy0, t.fy1):
            total = nan_sum(
                total, image + ((t.y + fy * g.dilation_h) * g.iw + t.x + t.fx0 * g.dilation_w) * g.ic + c / multiplier,
                g.dilation_w * g.ic, w + (fy * g.kw + t.fx0) * g.oc + c, g.oc, t.fx1 - t.fx0, 0,
                bias_first and filter_first(g.ic, multiplier, c),
            )
        y[c] = total if bias_first else add_first(total, bias[c])


cdef inline ptrdiff_t buffer_tail(const ConvShape* g, ptrdiff_t ox) noexcept nogil:
    """The optimized kernel clamps a buffer of neighbouring pixels at a time: the channel from which its last values begin (of a
    multiple of 4), perhaps beyond the pixel."""
    cdef ptrdiff_t pixels = max(BUFFER_VALUES / max(g.oc, <ptrdiff_t>1), <ptrdiff_t>1)
    cdef ptrdiff_t start = ox / pixels * pixels
    cdef ptrdiff_t values = min(pixels, g.ow - start) * g.oc
    return max(values - values % 4 - (ox - start) * g.oc, <ptrdiff_t>0)


cdef inline void clamp_from(const float* sums, ptrdiff_t n, float low, float high, ptrdiff_t tail, float* y) noexcept nogil:
    """From `tail` on NaN gives high; before it passes."""
    cdef ptrdiff_t c
    cdef float v
    tail = min(tail, n)
    for c in range(tail):
        y[c] = clamp_f32(sums[c], low, high)
    for c in range(tail, n):
        v = sums[c] if sums[c] < high else high
        y[c] = v if low < v else low


cdef inline void depthwise_f32(
    const ConvShape* g, const float* x, const float* w, const float* bias, bint bias_first, float low, float high, float* sums, float* y,
) noexcept nogil:
    """sums: oc floats."""
    cdef float[16] zeros = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    cdef const float* start = bias if bias_first else zeros
    cdef ptrdiff_t n, oy, ox
    cdef ptrdiff_t multiplier = g.oc / g.ic
    cdef Taps t
    for n in range(g.batches):
        for oy in range(g.oh):
            for ox in range(g.ow):
                t = window_taps(g, oy, ox)
                if multiplier == 1:
                    depthwise_sums_f32(g, &t, x, w, start, bias_first, sums)
                else:
                    depthwise_sums_f32_multiplied(g, &t, multiplier, x, w, start, bias_first, sums)
                if bias_first:
                    repair_depthwise_nans(g, &t, multiplier, x, w, bias, True, sums, sums)
                    clamp_from(sums, g.oc, low, high, buffer_tail(g, ox), y)
                elif finish_f32(sums, bias, g.oc, low, high, y):
                    repair_depthwise_nans(g, &t, multiplier, x, w, bias, False, sums, y)
                y += g.oc
        x += g.ih * g.iw * g.ic


cdef inline void three_taps(
    const activation* p0, const activation* p1, const activation* p2, int16_t xz, const weight8* w0, const weight8* w1,
    const weight8* w2, int16_t wz, ptrdiff_t n, uint32_t* sums,
) noexcept nogil:
    """Three neighbouring taps at once: a third of the passes over the sums."""
    cdef ptrdiff_t c
    cdef int16_t a, b, d
    for c in range(n):
        a = <int16_t>(<int16_t>p0[c] - xz)
        b = <int16_t>(<int16_t>p1[c] - xz)
        d = <int16_t>(<int16_t>p2[c] - xz)
        sums[c] += <uint32_t>(
            <int32_t>a * <int32_t><int16_t>(<int16_t>w0[c] - wz) + <int32_t>b * <int32_t><int16_t>(<int16_t>w1[c] - wz)
            + <int32_t>d * <int32_t><int16_t>(<int16_t>w2[c] - wz))


cdef inline void depthwise_sums(
    const ConvShape* g, const Taps* t, ptrdiff_t multiplier, const activation* image, int32_t x_zero_point, const weight8* w,
    int32_t w_zero_point, uint32_t* sums,
) noexcept nogil:
    """8-bit activations: the sums modulo 2^32. |x - zero point| and |w - zero point| are at most 255, so int16 operands hold them."""
    cdef ptrdiff_t fy, fx, c, m
    cdef ptrdiff_t step = g.dilation_w * g.ic
    cdef const activation* pixel
    cdef const weight8* taps
    cdef int16_t xz = <int16_t>x_zero_point
    cdef int16_t wz = <int16_t>w_zero_point
    cdef int16_t v
    for c in range(g.oc):
        sums[c] = 0
    for fy in range(t.fy0, t.fy1):
        fx = t.fx0
        while fx < t.fx1:
            pixel = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + fx * g.dilation_w) * g.ic
            taps = w + (fy * g.kw + fx) * g.oc
            if multiplier == 1 and fx + 3 <= t.fx1:
                three_taps(pixel, pixel + step, pixel + 2 * step, xz, taps, taps + g.oc, taps + 2 * g.oc, wz, g.oc, sums)
                fx += 3
                continue
            fx += 1
            if multiplier == 1:
                for c in range(g.oc):
                    v = <int16_t>(<int16_t>pixel[c] - xz)
                    sums[c] += <uint32_t>(<int32_t>v * <int32_t><int16_t>(<int16_t>taps[c] - wz))
            else:
                for c in range(g.ic):
                    v = <int16_t>(<int16_t>pixel[c] - xz)
                    for m in range(c * multiplier, (c + 1) * multiplier):
                        sums[m] += <uint32_t>(<int32_t>v * <int32_t><int16_t>(<int16_t>taps[m] - wz))


cdef inline void depthwise_sums_wide(
    const ConvShape* g, const Taps* t, ptrdiff_t multiplier, const int16_t* image, const weight8* w, int64_t* sums,
) noexcept nogil:
    """int16 activations, which have no zero point: exact."""
    cdef ptrdiff_t fy, fx, c, m
    cdef const int16_t* pixel
    cdef const weight8* taps
    for c in range(g.oc):
        sums[c] = 0
    for fy in range(t.fy0, t.fy1):
        for fx in range(t.fx0, t.fx1):
            pixel = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + fx * g.dilation_w) * g.ic
            taps = w + (fy * g.kw + fx) * g.oc
            for c in range(g.ic):
                for m in range(c * multiplier, (c + 1) * multiplier):
                    sums[m] += <int32_t>pixel[c] * <int32_t>taps[m]


cdef inline void depthwise_quantized(
    const ConvShape* g, const activation* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, const Rescale* out,
    uint32_t* sums, int64_t* wide, activation* y,
) noexcept nogil:
    """sums: oc uint32 (unused with int16 activations); wide: oc int64."""
    cdef ptrdiff_t n, oy, ox, c
    cdef ptrdiff_t multiplier = g.oc / g.ic
    cdef Taps t
    for n in range(g.batches):
        for oy in range(g.oh):
            for ox in range(g.ow):
                t = window_taps(g, oy, ox)
                if activation is int16_t:
                    depthwise_sums_wide(g, &t, multiplier, x, w, wide)
                else:
                    depthwise_sums(g, &t, multiplier, x, x_zero_point, w, w_zero_point, sums)
                    for c in range(g.oc):
                        wide[c] = <int32_t>sums[c]
                rescale_sums(wide, out, g.oc, y)
                y += g.oc
        x += g.ih * g.iw * g.ic
