# Weights of depthwise_i8.pxi: blocks of channels, per column and four rows of the filter, and where the vectors of a group begin in a plane.


cdef void pack_depthwise_i8(DepthwiseI8* d) noexcept nogil:
    cdef ConvShape* g = &d.shape
    cdef uint8_t* at = d.packed
    cdef int32_t* sources = <int32_t*>at
    cdef int32_t* bias
    cdef float* scales                # with `finish` none, and nobody reads them
    cdef ptrdiff_t v, channel, pixel
    at += round_up(48 * d.groups, 64)
    bias = <int32_t*>at
    at += 4 * VB * blocks_of(d)
    scales = <float*>at
    if d.finish == NULL:
        at += 4 * VB * blocks_of(d)
    d.sources, d.bias, d.scales, d.taps = sources, bias, scales, <const int8_t*>at
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
            bias[v] = bias_of(d, channel, d.x_zero_point + value_offset(d.is_signed))
            if d.finish == NULL:
                scales[v] = d.out.scales[channel]
    pack_blocks(d, <int8_t*>at)
    if d.most_extra > 0:
        at += blocks_of(d) * block_taps(d)
        pack_extra(d, <int32_t*>at, <int8_t*>at + round_up(4 * (5 * blocks_of(d) + d.most_extra), 64))


cdef int32_t slab_source(const DepthwiseI8* d, ptrdiff_t pieces, ptrdiff_t v) noexcept nogil:
    """Where vector v of a row of groups of 1, 2 or 4 pixels begins; 0 behind the chunk."""
    cdef ptrdiff_t pixel = v * VL / (VB / pieces)
    cdef ptrdiff_t channel = v * VL % (VB / pieces)
    return <int32_t>(4 * (pixel * d.shape.stride_w * (VB / pieces) + channel)) if pixel < d.chunk else 0


cdef ptrdiff_t channel_of(const DepthwiseI8* d, ptrdiff_t v) noexcept nogil:
    """Of lane v of the blocks: the channels of a slab of fewer than VB come again."""
    cdef ptrdiff_t channel = 0
    if d.single and is_whole(d, VB):
        return (v / VB * VB + whole_channel(<int>(v % VB))) % d.channels
    if not d.slabs:
        return v % d.channels
    while v >= VB:
        channel += slab_at(d, channel)
        v -= VB
    if is_whole(d, slab_at(d, channel)):
        return slab_begin(d, channel) + whole_channel(<int>v) % slab_at(d, channel)
    return slab_begin(d, channel) + v % slab_at(d, channel)


cdef ptrdiff_t taps_of(const DepthwiseI8* d) noexcept nogil:
    return d.upright if d.upright > 0 else d.shape.kh * d.shape.kw


cdef int32_t weight_at(const DepthwiseI8* d, ptrdiff_t at) noexcept nogil:
    """Less its zero point."""
    return <int32_t><int8_t>d.w[at] if d.is_signed else <int32_t>d.w[at] - d.w_zero_point


cdef int32_t tap_of(int32_t weight) noexcept nogil:
    """The nearest that a tap can be."""
    return SIMD_LEAST if weight < SIMD_LEAST else 127 if weight > 127 else weight


cdef int32_t bias_of(const DepthwiseI8* d, ptrdiff_t channel, int32_t x_zero) noexcept nogil:
    """With the zero points' share."""
    cdef int64_t sum = 0
    cdef ptrdiff_t tap
    for tap in range(taps_of(d)):
        sum += weight_at(d, tap * d.shape.oc + channel)
    return <int32_t>(<uint32_t>d.out.bias[channel] - <uint32_t>(x_zero * sum) + raised_by(d.magic_bias))


cdef ptrdiff_t tap_at(const DepthwiseI8* d, ptrdiff_t column, ptrdiff_t quad, ptrdiff_t row, ptrdiff_t j) noexcept nogil:
    """The weight of channel 0 that byte j of a dword meets for an output row of the pass; -1: none."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t tap = 4 * quad + j - row * d.shift
    if d.upright > 0:
        return (4 * column + j) * g.oc if 4 * column + j < d.upright else -1
    return (tap * g.kw + column) * g.oc if 0 <= tap < g.kh else -1


cdef void find_channels(const DepthwiseI8* d, ptrdiff_t block, ptrdiff_t* channels) noexcept nogil:
    """Of the lanes of a block."""
    cdef ptrdiff_t lane
    for lane in range(VB):
        channels[lane] = channel_of(d, block * VB + lane)


cdef void pack_blocks(const DepthwiseI8* d, int8_t* taps) noexcept nogil:
    """Per block, column, quad, quarter, output row: VL dwords of four taps below each other."""
    cdef ptrdiff_t[MOST_BYTES] channels
    cdef ptrdiff_t block, column, quad, quarter, row
    for block in range(blocks_of(d)):
        find_channels(d, block, channels)
        for column in range(d.shape.kw):
            for quad in range(d.quads):
                for quarter in range(4):
                    for row in range(d.rows):
                        pack_dwords(d, channels + quarter * VL, column, quad, row, False, taps)
                        taps += DWORD_TAPS8


cdef void pack_dwords(
    const DepthwiseI8* d, const ptrdiff_t* channels, ptrdiff_t column, ptrdiff_t quad, ptrdiff_t row, bint extra, int8_t* taps,
) noexcept nogil:
    """VL dwords, which are 0 before, as pack_tap8 lays them; extra: what the weights leave the range of int8 by."""
    cdef ptrdiff_t j, lane, at
    cdef int32_t weight, tap
    for j in range(4):
        at = tap_at(d, column, quad, row, j)
        if at < 0:
            continue
        for lane in range(VL):
            if channels[lane] < d.shape.oc:
                weight = weight_at(d, at + channels[lane])
                tap = tap_of(weight)
                pack_tap8(taps, lane, <int>j, <int8_t>(weight - tap if extra else tap))


cdef ptrdiff_t count_extra(const DepthwiseI8* d) noexcept nogil:
    """How many vectors of extra taps there may be at most: few weights are far from their zero point, and each is in some quarters."""
    cdef ptrdiff_t oc = d.shape.oc
    cdef ptrdiff_t far = 0
    cdef ptrdiff_t most = 4 * blocks_of(d) * d.shape.kw * d.quads
    cdef ptrdiff_t tap, channel
    if d.is_signed and SIMD_LEAST == -128:
        return 0
    for tap in range(taps_of(d)):
        if SIMD_LEAST > -128 or any_far(d.w + tap * oc, oc, d.w_zero_point):
            for channel in range(oc):
                far += tap_of(weight_at(d, tap * oc + channel)) != weight_at(d, tap * oc + channel)
    return min(far * 4 * d.period * d.rows, most)


cdef void pack_extra(DepthwiseI8* d, int32_t* extra, int8_t* taps) noexcept nogil:
    """`taps` are 0 before."""
    cdef ptrdiff_t[MOST_BYTES] channels
    cdef ptrdiff_t stride = d.shape.dilation_w * 4 * d.channels
    cdef ptrdiff_t block, column, quad, quarter, row
    cdef ptrdiff_t channel = 0
    cdef int32_t* at = extra + 5 * blocks_of(d)
    cdef int32_t count = 0
    d.extra, d.extra_at, d.extra_taps = extra, at, taps
    for block in range(blocks_of(d)):
        find_channels(d, block, channels)
        if d.slabs:
            stride = d.shape.dilation_w * 4 * slab_at(d, channel)
            channel += slab_at(d, channel)
        for quarter in range(4):
            extra[0] = count
            extra += 1
            for column in range(d.shape.kw):
                for quad in range(d.quads):
                    if not leaves_int8(d, channels + quarter * VL, column, quad):
                        continue
                    for row in range(d.rows):
                        pack_dwords(d, channels + quarter * VL, column, quad, row, True, taps)
                        taps += DWORD_TAPS8
                    at[count] = <int32_t>(column * d.quads + quad if d.single else column * stride + quad * d.plane_bytes)
                    count += 1
        extra[0] = count
        extra += 1


cdef bint leaves_int8(const DepthwiseI8* d, const ptrdiff_t* channels, ptrdiff_t column, ptrdiff_t quad) noexcept nogil:
    """Does one of the weights of VL dwords, less its zero point? With NEON alone -128 does: vi_dot4_small."""
    cdef ptrdiff_t row, j, lane, at
    for row in range(d.rows):
        for j in range(4):
            at = tap_at(d, column, quad, row, j)
            for lane in range(VL):
                if at >= 0 and channels[lane] < d.shape.oc and tap_of(weight_at(d, at + channels[lane])) != weight_at(d, at + channels[lane]):
                    return True
    return False
