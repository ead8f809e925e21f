# Windows without planes (depthwise_i8_direct.h): where planes would cost more than they save, for strides, for channels that do not fill vectors.

cdef extern from "depthwise_i8_direct.h" nogil:
    const bint DIRECT8
    const bint PARTS_DIRECT8
    enum:
        HEAD8
    ctypedef struct Windows8:
        const uint8_t** at
        ptrdiff_t taps
        ptrdiff_t pixel
        ptrdiff_t channels
        const int32_t* packed
        bint is_signed
        bint magic_bias
        vb zero
        vb low
        vb high
        int32_t* sums
    void direct_windows8(const Windows8* s, ptrdiff_t multiplier, ptrdiff_t windows, uint8_t* y) noexcept


cdef enum:
    FEW_TAPS = 4
    SHORT_PERIOD = 8             # vectors
    MANY_CHANNELS = 32           # of lines that are copied
    MOST_REPEATED = 4            # outputs of a channel


cdef bint plan_direct_i8(DepthwiseI8* d) noexcept nogil:
    """True: the plan is made. Before, the channels of planes and their slabs are."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t taps = g.kh * g.kw
    if not DIRECT8 or d.upright > 0 or d.single or taps > MOST_TAPS:
        return False
    if planes_pay(d) or (not PARTS_DIRECT8 and (g.oc != g.ic or g.oc < VL)):
        return False
    d.pack = pack_direct_i8
    d.run = run_direct_i8
    d.channels = g.oc
    d.period = 1
    d.slabs = d.narrowed = d.widened = False
    d.rows = 1
    d.outside_bytes = g.iw * g.ic + 2 * TAIL
    d.scratch_bytes = 4 * g.ow * g.oc + 64 if d.finish != NULL else 0
    d.sums_at = 0
    d.packed_bytes = (g.oc + VL - 1) / VL * (HEAD8 + taps) * 4 * VL
    return True


cdef bint planes_pay(const DepthwiseI8* d) noexcept nogil:
    """False, too, where there are none. Measured: with few taps or a stride most of what is interleaved is used once or never. So it is with
    channels that are copied to lines first, or that take as many vectors of weights as of values."""
    cdef const ConvShape* g = &d.shape
    cdef bint few = g.kh * g.kw <= FEW_TAPS
    if not d.is_signed and not 1 <= d.w_zero_point <= 127 - SIMD_LEAST:
        return False
    if g.oc != g.ic:
        return g.stride_w == 1 and g.oc / g.ic > MOST_REPEATED
    if d.slabs and not d.widened:
        return not few or (g.stride_w == 1 and (g.kh * g.kw > 1 or PARTS_DIRECT8))
    if not d.slabs and d.period <= SHORT_PERIOD:
        return True
    return g.stride_w == 1 and not few and g.oc >= MANY_CHANNELS


cdef void pack_direct_i8(DepthwiseI8* d) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef int32_t* at = <int32_t*>d.packed
    cdef ptrdiff_t multiplier = g.oc / g.ic
    cdef ptrdiff_t block, first, channel, lane, tap
    for block in range((g.oc + VL - 1) / VL):
        first = block * VL
        if multiplier == 1 and first + VL > g.oc >= VL:
            first = g.oc - VL
        for lane in range(VL):
            channel = min(first + lane, g.oc - 1)
            at[lane] = bias_of(d, channel, d.x_zero_point)
            if d.finish == NULL:
                (<float*>at)[VL + lane] = d.out.scales[channel]
            at[2 * VL + lane] = <int32_t>(channel / multiplier - first / multiplier)
            for tap in range(g.kh * g.kw):
                at[(HEAD8 + tap) * VL + lane] = weight_at(d, tap * g.oc + channel) & 0xFFFF
        at += (HEAD8 + g.kh * g.kw) * VL


cdef void run_direct_i8(const DepthwiseI8* d, const void* x, void* scratch, void* y) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef const uint8_t* image = <const uint8_t*>x
    cdef uint8_t* output = <uint8_t*>y
    cdef ptrdiff_t y_size = 1 if d.finish == NULL else d.y_size
    cdef ptrdiff_t first = min((g.pad_w + g.stride_w - 1) / g.stride_w, g.ow)        # windows that lie between the edges
    cdef ptrdiff_t end = g.iw + g.pad_w - (g.kw - 1) * g.dilation_w - 1
    cdef const uint8_t* at[MOST_TAPS]
    cdef ptrdiff_t n, oy, ox, now
    cdef Windows8 s
    end = max(first, min(end / g.stride_w + 1, g.ow) if end >= 0 else 0)
    s.at = at
    s.taps = g.kh * g.kw
    s.pixel = g.stride_w * g.ic
    s.channels = g.oc
    s.packed = <const int32_t*>d.packed
    s.is_signed = d.is_signed
    s.magic_bias = d.magic_bias
    s.sums = <int32_t*>scratch if d.finish != NULL else NULL
    s.zero = vb_set1_16(d.out.zero_point)             # of no use with `finish`
    s.low = vb_set1(<int32_t>d.out.low + d.out.zero_point)
    s.high = vb_set1(<int32_t>d.out.high + d.out.zero_point)
    for n in range(g.batches):
        for oy in range(g.oh):
            ox = 0
            while ox < g.ow:
                now = end - first if ox == first and first < end else 1
                direct_taps(d, image, oy, ox, at)
                if d.finish != NULL:
                    s.sums = <int32_t*>scratch + ox * g.oc
                direct_windows8(&s, g.oc / g.ic, now, output + ox * g.oc)
                ox += now
            if d.finish != NULL:
                d.finish(d.params, 0, 0, g.oc, <int32_t*>scratch, g.oc, g.ow, output, g.oc * y_size)
            output += g.ow * g.oc * y_size
        image += g.ih * g.iw * g.ic


cdef void direct_taps(const DepthwiseI8* d, const uint8_t* image, ptrdiff_t oy, ptrdiff_t ox, const uint8_t** at) noexcept nogil:
    """Of a window: the pixels below its taps. Rows outside are a row of zero points, of which windows between the edges see different pixels."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t left = ox * g.stride_w - g.pad_w
    cdef ptrdiff_t ky, kx, iy, ix
    for ky in range(g.kh):
        iy = oy * g.stride_h - g.pad_h + ky * g.dilation_h
        for kx in range(g.kw):
            ix = left + kx * g.dilation_w
            if not 0 <= ix < g.iw:
                at[0] = d.outside
            elif not 0 <= iy < g.ih:
                at[0] = d.outside + ix * g.ic
            else:
                at[0] = image + (iy * g.iw + ix) * g.ic
            at += 1
