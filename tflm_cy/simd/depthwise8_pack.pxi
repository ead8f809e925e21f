# Weights of depthwise8.pxi: blocks of channels, per column and four rows of the filter, and where the vectors of a group begin in a plane.


cdef void pack_depthwise8(Depthwise8* d, const void* w) noexcept nogil:
    cdef ConvShape* g = &d.shape
    cdef uint8_t* at = d.packed
    cdef int32_t* sources = <int32_t*>at
    cdef int32_t* factors
    cdef int32_t* bias
    cdef float* scales                # with `finish` none, and nobody reads them
    cdef ptrdiff_t v, channel, pixel
    at += round_up(48 * d.groups, 64)
    factors = <int32_t*>at
    at += round_up(4 * d.quads * d.rows, 64)
    bias = <int32_t*>at
    at += 4 * VB * blocks_of(d)
    scales = <float*>at
    if d.finish == NULL:
        at += 4 * VB * blocks_of(d)
    d.sources, d.factors, d.bias, d.scales, d.taps = sources, factors, bias, scales, <const int8_t*>at
    if d.slabs:
        for v in range(3 * 4 * d.groups):
            sources[v] = slab_source(d, 1 << (v / (4 * d.groups)), v % (4 * d.groups))
    else:
        for v in range(4 * d.groups):
            pixel = v * VL / d.channels
            channel = v * VL % d.channels
            sources[v] = <int32_t>(4 * (pixel * g.stride_w * d.channels + channel)) if v * VL < d.chunk * d.channels else 0
    for v in range(VB * blocks_of(d)):
        channel = channel_of(d, v)
        if channel < g.oc:
            bias[v] = bias_of(d, <const uint8_t*>w, channel)
            if d.finish == NULL:
                scales[v] = d.out.scales[channel]
    d.far = at + blocks_of(d) * block_taps(d)
    find_far(d, <const uint8_t*>w, <uint8_t*>d.far)
    pack_taps(d, <const uint8_t*>w, <int8_t*>at)
    fill_factors(d, factors)


cdef void find_far(const Depthwise8* d, const uint8_t* w, uint8_t* far) noexcept nogil:
    """uint8 weights are packed less their zero point, but for blocks where that is not an int8 for all of them."""
    cdef ptrdiff_t weights = (d.upright if d.upright > 0 else d.shape.kh * d.shape.kw) * d.shape.oc
    cdef ptrdiff_t v, channel, at
    if d.factor == 0 or not any_far(w, weights, d.w_zero_point):
        return
    for v in range(VB * blocks_of(d)):
        channel = channel_of(d, v)
        if channel < d.shape.oc:
            at = channel
            while at < weights:
                far[v / VB] |= far_by(w[at], d.w_zero_point) != 0
                at += d.shape.oc


cdef int32_t slab_source(const Depthwise8* d, ptrdiff_t pieces, ptrdiff_t v) noexcept nogil:
    """Where vector v of a row of groups of 1, 2 or 4 pixels begins; 0 behind the chunk."""
    cdef ptrdiff_t pixel = v * VL / (VB / pieces)
    cdef ptrdiff_t channel = v * VL % (VB / pieces)
    return <int32_t>(4 * (pixel * d.shape.stride_w * (VB / pieces) + channel)) if pixel < d.chunk else 0


cdef ptrdiff_t channel_of(const Depthwise8* d, ptrdiff_t v) noexcept nogil:
    """Of lane v of the blocks: a slab of fewer than VB channels is repeated."""
    cdef ptrdiff_t channel = 0
    if not d.slabs:
        return v % d.channels
    while v >= VB:
        channel += slab_at(d, channel)
        v -= VB
    if is_whole(d, slab_at(d, channel)):
        return channel + whole_channel(<int>v)
    return channel + v % slab_at(d, channel)


cdef int32_t depthwise_weight(const Depthwise8* d, const uint8_t* w, ptrdiff_t at) noexcept nogil:
    return <int32_t><int8_t>w[at] if d.w_offset == 0 else <int32_t>w[at] - d.w_offset


cdef int32_t bias_of(const Depthwise8* d, const uint8_t* w, ptrdiff_t channel) noexcept nogil:
    """With the zero points' share."""
    cdef int32_t x_zero = d.x_zero_point + (128 if d.is_signed else 0)
    cdef ptrdiff_t taps = d.upright if d.upright > 0 else d.shape.kh * d.shape.kw
    cdef int64_t sum = d.factor * taps
    cdef ptrdiff_t tap
    for tap in range(taps):
        sum += depthwise_weight(d, w, tap * d.shape.oc + channel)
    return <int32_t>(<uint32_t>d.out.bias[channel] - <uint32_t>(x_zero * sum) + raised_by(d.raised))


cdef void pack_taps(const Depthwise8* d, const uint8_t* w, int8_t* taps) noexcept nogil:
    """Per block, column, quad, quarter, output row: VL dwords of four taps below each other, as pack_tap8 lays them."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t[MOST_BYTES] channels
    cdef ptrdiff_t block, column, quad, quarter, row, lane, j, tap
    cdef int less
    for block in range(blocks_of(d)):
        less = d.w_zero_point - 128 if d.factor != 0 and not d.far[block] else 0
        for lane in range(VB):
            channels[lane] = channel_of(d, block * VB + lane)
        for column in range(g.kw):
            for quad in range(d.quads):
                for quarter in range(4):
                    for row in range(d.rows):
                        for j in range(4):
                            tap = 4 * quad + j - row * d.shift
                            if d.upright > 0:
                                if 4 * column + j < d.upright:
                                    pack_tap(d, w + (4 * column + j) * g.oc, channels + quarter * VL, less, j, taps)
                            elif 0 <= tap < g.kh:
                                pack_tap(d, w + (tap * g.kw + column) * g.oc, channels + quarter * VL, less, j, taps)
                        taps += DWORD_TAPS8


cdef void pack_tap(const Depthwise8* d, const uint8_t* w, const ptrdiff_t* channels, int less, ptrdiff_t j, int8_t* taps) noexcept nogil:
    """Tap j of VL dwords, which are 0 before; an int8 also when `less` is subtracted."""
    cdef uint8_t flip = <uint8_t>d.w_offset
    cdef ptrdiff_t lane
    for lane in range(VL):
        if channels[lane] < d.shape.oc:
            pack_tap8(taps, lane, <int>j, <int8_t>(<int8_t>(w[channels[lane]] ^ flip) - less))


cdef void fill_factors(const Depthwise8* d, int32_t* factors) noexcept nogil:
    cdef uint8_t* bytes = <uint8_t*>factors
    cdef ptrdiff_t quad, row, j, tap
    for quad in range(d.quads):
        for row in range(d.rows):
            for j in range(4):
                tap = 4 * quad + j - row * d.shift
                bytes[4 * (quad * d.rows + row) + j] = <uint8_t>(d.factor if 0 <= tap < d.shape.kh else 0)
