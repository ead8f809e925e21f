from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8, DepthwiseI8Kernels
from tflm_cy.simd.requantize8 cimport may_raise, raised_by, stays_small

cdef extern from "repeat_bytes.h" nogil:
    void repeat_rows(const uint8_t* x, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t times, uint8_t* y, ptrdiff_t y_row) noexcept

cdef extern from "depthwise_i8.h" nogil:
    enum:
        SIMD_LEAST
    enum:
        DWORD_TAPS8
    void pack_tap8(int8_t* taps, ptrdiff_t lane, int j, int8_t tap) noexcept
    ctypedef struct Columns8:
        const uint8_t* planes
        ptrdiff_t plane_bytes
        ptrdiff_t quads
        ptrdiff_t columns
        ptrdiff_t column_step
        ptrdiff_t stride
        const int8_t* taps
        const int32_t* extra
        const int32_t* extra_at
        const int8_t* extra_taps
        const int32_t* bias
        const float* scales
        const int32_t* sources
        ptrdiff_t next
        int pieces
        bint is_signed
        int rows
        ptrdiff_t y_row
        ptrdiff_t y_pixel
        vb zero
        vb low
        vb high
        bint magic_bias
        int32_t* sums
        const uint8_t* y0
    ctypedef struct Rows8:
        const uint8_t** rows
        ptrdiff_t pixel
        ptrdiff_t width
        ptrdiff_t first
        ptrdiff_t dilation
        ptrdiff_t count
        int flip
        int outside
    int whole_channel(int lane) noexcept
    bint rolls(int rows, int pieces, ptrdiff_t columns, ptrdiff_t taps, ptrdiff_t stride, ptrdiff_t dilation) noexcept
    void roll_rows(const Columns8* s, int rows, const Rows8* x, uint8_t* y) noexcept
    void interleave_rows(const uint8_t** rows, int count, int pieces, bint whole, ptrdiff_t n, ptrdiff_t step, int flip, uint8_t* plane) noexcept
    void sum_every(const Columns8* s, int rows, ptrdiff_t first, ptrdiff_t groups, uint8_t* y, ptrdiff_t total) noexcept
    void sum_position(const Columns8* s, const uint8_t** rows, ptrdiff_t at, ptrdiff_t n, int flip, uint8_t* y) noexcept
    void sum_pixels(const Columns8* s, int rows, ptrdiff_t groups, uint8_t* y, ptrdiff_t total) noexcept

cdef enum:
    MOST_BYTES = 64              # of a vector
    UPRIGHT = 4                  # rows of a plane
    MOST_QUADS = 16              # filters of up to 64 rows
    L1_PLANES = 16384            # bytes of the planes of a chunk
    MOST_TAPS = 256              # of a single position


cdef ptrdiff_t period_of(ptrdiff_t channels) noexcept nogil:
    """Vectors of VB values until they begin with channel 0 again."""
    cdef ptrdiff_t a = VB
    cdef ptrdiff_t b = channels
    cdef ptrdiff_t rest
    while b != 0:
        rest = a % b
        a = b
        b = rest
    return channels / a


cdef bint plan_depthwise_i8(DepthwiseI8* d) noexcept nogil:
    """Fill in the plan; False where the scalar definition must serve."""
    cdef ConvShape* g = &d.shape
    cdef double depth = <double>g.kh * g.kw
    cdef bint overlap
    cdef ptrdiff_t line
    d.pack = pack_depthwise_i8
    d.run = run_depthwise_i8
    if g.batches * g.oh * g.ow <= 0 or g.ic <= 0 or (d.finish == NULL and not stays_small(&d.out, g.oc, depth)):
        return False
    d.magic_bias = d.finish == NULL and may_raise(&d.out, g.oc, depth, d.is_signed)
    plan_upright(d)
    d.quads = (g.kh + 3) / 4
    d.single = g.batches * g.oh * g.ow == 1 and g.ic == g.oc and 4 * d.quads * g.kw <= MOST_TAPS
    plan_rows(d)
    overlap = not d.single and may_overlap(d)
    d.channels = g.oc if d.single or overlap else rounded_channels(g.oc, g.stride_w)
    d.narrowed = d.channels != g.oc
    d.widened = d.channels != g.ic
    d.slabs = (d.channels % VL == 0 or overlap) and not d.single
    d.period = (d.channels + VB - 1) / VB if d.single else 1 if d.slabs else period_of(d.channels)
    if plan_direct_i8(d):
        return True
    plan_chunks(d)
    if all_roll(d):
        d.plane_bytes = 0
    if d.quads > MOST_QUADS or d.plane_bytes > 0x3FFFFFFF or g.kw > 1 << 20:
        return False
    if not d.is_signed and not 1 <= d.w_zero_point <= 127 - SIMD_LEAST:           # else what a weight leaves the range by is no int8
        return False
    d.most_extra = count_extra(d)
    line = round_up(g.iw * d.channels, 64)
    d.outside_bytes = line + TAIL
    d.scratch_bytes = d.quads * d.plane_bytes + TAIL
    if d.upright > 0:
        d.scratch_bytes += round_up((g.iw + UPRIGHT) * d.channels, 64) + VB
    if d.widened:
        d.scratch_bytes += 4 * d.quads * line
    if d.narrowed:
        d.scratch_bytes += d.rows * round_up(g.ow * d.channels, 64) + VB
    d.sums_at = 0
    if d.finish != NULL:
        d.sums_at = round_up(d.scratch_bytes, 64)
        d.scratch_bytes = d.sums_at + 4 * (d.rows * g.ow * d.channels + VB)
    d.packed_bytes = (
        round_up(48 * d.groups, 64) + blocks_of(d) * ((8 if d.finish == NULL else 4) * VB + block_taps(d))
        + (round_up(4 * (5 * blocks_of(d) + d.most_extra), 64) + d.most_extra * d.rows * DWORD_TAPS8 if d.most_extra > 0 else 0) + TAIL
    )
    return True


cdef void plan_rows(DepthwiseI8* d) noexcept nogil:
    """Two rows of output where the taps of both lie on the rows of a plane."""
    cdef ConvShape* g = &d.shape
    d.apart = g.dilation_h if g.stride_h == 1 else 1
    d.shift = 1 if g.stride_h == 1 else g.stride_h
    d.rows = 2 if (g.dilation_h == 1 or g.stride_h == 1) and g.oh > d.apart and g.kh + d.shift <= 4 * d.quads else 1


cdef ptrdiff_t last_tap(const DepthwiseI8* d) noexcept nogil:
    """Behind the taps of all rows of a pass."""
    return d.shape.kh + (d.rows - 1) * d.shift


cdef ptrdiff_t rounded_channels(ptrdiff_t channels, ptrdiff_t stride) noexcept nogil:
    """More than there are where values that follow each other would not serve."""
    if stride != 1 and channels % VL != 0 or period_of(channels) > 4 * (channels / VB) + 8:
        return round_up(channels, VL)
    return channels


cdef void plan_upright(DepthwiseI8* d) noexcept nogil:
    """Rows of one pixel each: what lies below a pixel lies behind it in memory, so that the rows of the filter can be columns.

    A dword of the plane is then a pixel and the three behind it, of which each serves several positions of the filter: the columns are
    four pixels apart, and the plane is made once for all outputs."""
    cdef ConvShape* g = &d.shape
    d.upright = 0
    if g.iw != 1 or g.ow != 1 or g.kw != 1 or g.pad_w != 0 or g.dilation_h != 1 or g.oh < UPRIGHT or g.kh < 3:
        return
    if g.batches != 1 or g.ic != g.oc or rounded_channels(g.oc, g.stride_h) != g.oc:
        return
    d.upright = g.kh
    d.image_rows = g.ih
    d.pad_rows = g.pad_h
    g.kw = (g.kh + 3) / 4
    g.kh = UPRIGHT
    g.ow = g.oh
    g.stride_w = g.stride_h
    g.dilation_w = UPRIGHT
    g.iw = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
    g.ih = g.oh = g.stride_h = 1
    g.pad_h = 0


cdef bint may_overlap(const DepthwiseI8* d) noexcept nogil:
    """Slabs for channels that do not fill the last one: it begins before the one in front ends, and computes some channels again, unless those are
    many. Else channels are rounded up, or are values that follow each other, which is only for a stride of 1. VB / 8 are a slab alone."""
    cdef ptrdiff_t channels = d.shape.oc
    if channels == VB / 8:
        return rolls_over(d, VB / 8)
    if channels < VL or not rolls_over(d, VB / 4):
        return False
    return d.shape.stride_w != 1 or 6 * round_up(channels, VL) <= 7 * channels


cdef ptrdiff_t slab_at(const DepthwiseI8* d, ptrdiff_t channel) noexcept nogil:
    """The channels of the slab that begins here, or before."""
    cdef ptrdiff_t left = d.channels - channel
    if not d.slabs or d.channels == VB / 8:
        return d.channels
    return VB if left >= VB else VB / 2 if left >= VB / 2 else VB / 4


cdef ptrdiff_t slab_begin(const DepthwiseI8* d, ptrdiff_t channel) noexcept nogil:
    """The first channel of the slab for this one and those behind it."""
    return min(channel, d.channels - slab_at(d, channel))


cdef bint is_whole(const DepthwiseI8* d, ptrdiff_t slab) noexcept nogil:
    """Are these channels in the order of whole_channel? A single position's are as those of a slab of VB."""
    return (d.single and d.finish == NULL) or (d.slabs and (rolls_over(d, slab) or (slab == VB and d.finish == NULL)))


cdef bint rolls_over(const DepthwiseI8* d, ptrdiff_t slab) noexcept nogil:
    """Do windows roll along the rows, without planes?"""
    return rolls(<int>d.rows, <int>(VB / slab), d.shape.kw, last_tap(d), d.shape.stride_w, d.shape.dilation_w)


cdef bint all_roll(const DepthwiseI8* d) noexcept nogil:
    cdef ptrdiff_t channel = 0
    while channel < d.channels:
        if not d.slabs or not rolls_over(d, slab_at(d, channel)):
            return False
        channel += slab_at(d, channel)
    return True


cdef ptrdiff_t blocks_of(const DepthwiseI8* d) noexcept nogil:
    """Of weights, VB channels each: one per slab, or one per vector of the period."""
    cdef ptrdiff_t channel = 0
    cdef ptrdiff_t blocks = 0
    while channel < d.channels:
        channel += slab_at(d, channel)
        blocks += d.period
    return blocks


cdef ptrdiff_t block_taps(const DepthwiseI8* d) noexcept nogil:
    """Bytes of a block's weights."""
    return d.shape.kw * d.quads * 4 * d.rows * DWORD_TAPS8


cdef void plan_chunks(DepthwiseI8* d) noexcept nogil:
    """Output pixels whose planes the first cache holds; a chunk ends where the period does, or with the row."""
    cdef ConvShape* g = &d.shape
    cdef ptrdiff_t slab = slab_at(d, 0)
    cdef ptrdiff_t unit = 4 if d.slabs else d.period * VB / d.channels
    cdef ptrdiff_t span = (g.kw - 1) * g.dilation_w + 1
    cdef ptrdiff_t pixels = L1_PLANES / (4 * d.quads * slab)
    cdef ptrdiff_t most = (pixels - span) / g.stride_w + 1 if pixels > span else 1
    most = most if most > 4 * unit else 4 * unit
    d.chunk = g.ow if most >= g.ow else most / unit * unit
    d.width = (d.chunk - 1) * g.stride_w + span
    d.plane_bytes = round_up((d.width * slab + 2 * VB) * 4, 64)
    d.groups = (d.chunk * slab + VB - 1) / VB


cdef void copy_pixels(const uint8_t* x, ptrdiff_t x_step, uint8_t* y, ptrdiff_t y_step, ptrdiff_t channels, ptrdiff_t pixels) noexcept nogil:
    """Up to eight channels by two words that overlap: the C library's copy takes longer to begin. `copy_runs` would be a hundredth of this library's
    size, once for each instruction set."""
    cdef uint32_t first, last
    cdef ptrdiff_t pixel, c
    if 4 <= channels <= 8:
        for pixel in range(pixels):
            memcpy(&first, x + pixel * x_step, 4)
            memcpy(&last, x + pixel * x_step + channels - 4, 4)
            memcpy(y + pixel * y_step, &first, 4)
            memcpy(y + pixel * y_step + channels - 4, &last, 4)
    elif channels < 4:
        for pixel in range(pixels):
            for c in range(channels):
                y[pixel * y_step + c] = x[pixel * x_step + c]
    else:
        for pixel in range(pixels):
            memcpy(y + pixel * y_step, x + pixel * x_step, channels)


cdef void widen_row(const DepthwiseI8* d, const uint8_t* x, uint8_t* line) noexcept nogil:
    """A row with each channel repeated for its outputs, or with room behind the channels."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t multiplier = g.oc / g.ic
    if multiplier > 1:
        if d.channels == g.oc:
            repeat_rows(x, 1, g.iw * g.ic, multiplier, line, 0)
        else:
            repeat_rows(x, g.iw, g.ic, multiplier, line, d.channels)
        return
    copy_pixels(x, g.ic, line, d.channels, g.ic, g.iw)


cdef const uint8_t* copy_upright(const DepthwiseI8* d, const uint8_t* x, uint8_t* line) noexcept nogil:
    """The image as one row with its padding."""
    cdef ptrdiff_t pixels = d.shape.iw + UPRIGHT - 1
    cdef ptrdiff_t first = d.pad_rows if d.pad_rows < pixels else pixels
    cdef ptrdiff_t inner = d.image_rows if d.image_rows < pixels - first else pixels - first
    memset(line, d.x_zero_point & 255, first * d.channels)
    memcpy(line + first * d.channels, x, inner * d.channels)
    memset(line + (first + inner) * d.channels, d.x_zero_point & 255, (pixels - first - inner) * d.channels)
    return line


cdef void find_rows(const DepthwiseI8* d, const uint8_t* x, ptrdiff_t oy, uint8_t* lines, const uint8_t** rows) noexcept nogil:
    """The input rows below the filter for the output rows from oy on."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t last = last_tap(d)
    cdef ptrdiff_t line = round_up(g.iw * d.channels, 64)
    cdef ptrdiff_t tap, iy
    if d.upright > 0:
        rows[0] = copy_upright(d, x, lines)
        for tap in range(1, UPRIGHT):
            rows[tap] = rows[0] + tap * d.channels
        return
    for tap in range(4 * d.quads):
        iy = oy * g.stride_h - g.pad_h + tap * g.dilation_h
        rows[tap] = d.outside
        if tap < last and 0 <= iy < g.ih:
            rows[tap] = x + iy * g.iw * g.ic
            if d.widened:
                widen_row(d, rows[tap], lines + tap * line)
                rows[tap] = lines + tap * line


cdef void fill_planes(
    const DepthwiseI8* d, const uint8_t** rows, ptrdiff_t ox, ptrdiff_t channel, ptrdiff_t slab, uint8_t* planes,
) noexcept nogil:
    """The pixels below the filter for a chunk of output pixels from ox on, with what lies left and right of the image."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t first = ox * g.stride_w - g.pad_w
    cdef ptrdiff_t left = 0 if first >= 0 else -first if -first < d.width else d.width
    cdef ptrdiff_t inner = g.iw - (first + left) if g.iw - (first + left) < d.width - left else d.width - left
    cdef int zero = (d.x_zero_point + value_offset(d.is_signed)) & 255
    cdef int count = 3 if last_tap(d) == 3 else 4
    cdef int pieces = <int>(VB / slab) if d.slabs and slab != d.channels else 1
    cdef const uint8_t* some[4]
    cdef ptrdiff_t quad
    cdef int j
    inner = inner if inner > 0 else 0
    for quad in range(d.quads):
        for j in range(4):
            some[j] = rows[4 * quad + j] + (first + left) * d.channels + channel
        interleave_rows(some, count, pieces, is_whole(d, slab), inner * slab, VB if slab == d.channels else d.channels, value_flip(d.is_signed),
                        planes + 4 * left * slab)
        memset(planes, zero, 4 * left * slab)
        memset(planes + 4 * (left + inner) * slab, zero, 4 * (d.width - left - inner) * slab)
        planes += d.plane_bytes


cdef void run_depthwise_i8(const DepthwiseI8* d, const void* x, void* scratch, void* y) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef const uint8_t* image = <const uint8_t*>x
    cdef uint8_t* output = <uint8_t*>y
    cdef uint8_t* to
    cdef uint8_t* lines = <uint8_t*>scratch + d.quads * d.plane_bytes + TAIL
    cdef uint8_t* narrow = lines + (4 * d.quads * round_up(g.iw * d.channels, 64) if d.widened else 0)
    cdef const uint8_t* rows[4 * MOST_QUADS]
    cdef ptrdiff_t y_size = 1 if d.finish == NULL else d.y_size
    cdef ptrdiff_t y_row = g.ow * g.oc * y_size
    cdef ptrdiff_t n, oy, row
    cdef Columns8 s
    s.planes = <const uint8_t*>scratch
    s.plane_bytes = d.plane_bytes
    s.quads = d.quads
    s.columns = g.kw
    s.stride = g.stride_w
    s.sources = d.sources
    s.next = d.period
    s.is_signed = d.is_signed
    s.y_row = round_up(g.ow * d.channels, 64) if d.narrowed else d.apart * g.ow * g.oc
    s.y_pixel = d.channels
    s.magic_bias = d.magic_bias
    s.sums = NULL
    if d.finish != NULL:
        s.sums = <int32_t*>(<uint8_t*>scratch + d.sums_at)
        s.y_row = g.ow * d.channels
    s.zero = vb_set1_16(d.out.zero_point)             # of no use with `finish`
    s.low = vb_set1(<int32_t>d.out.low + d.out.zero_point)
    s.high = vb_set1(<int32_t>d.out.high + d.out.zero_point)
    if d.single:
        run_single(d, &s, image, output)
        return
    for n in range(g.batches):
        oy = 0
        while oy < g.oh:
            find_rows(d, image, oy, lines, rows)
            s.rows = <int>(d.rows if oy + d.apart < g.oh else 1)
            to = output + oy * y_row
            s.y0 = narrow if d.narrowed else to
            if d.slabs:
                sum_slabs(d, &s, rows, <uint8_t*>scratch, narrow if d.narrowed else to)
            else:
                sum_period(d, &s, rows, <uint8_t*>scratch, narrow if d.narrowed else to)
            if d.finish != NULL:
                for row in range(s.rows):
                    d.finish(d.params, 0, 0, g.oc, s.sums + row * s.y_row, d.channels, g.ow, to + row * d.apart * y_row, g.oc * y_size)
            elif d.narrowed:
                narrow_rows(d, narrow, s.y_row, s.rows, to)
            oy += 1 + d.apart if d.rows == 2 and (oy + 1) % d.apart == 0 else 1
        image += g.ih * g.iw * g.ic                  # upright: of a single image
        output += g.oh * y_row


cdef void run_single(const DepthwiseI8* d, Columns8* s, const uint8_t* x, uint8_t* y) noexcept nogil:
    """One output pixel: sums over the pixels below the filter where they are."""
    cdef const ConvShape* g = &d.shape
    cdef const uint8_t* rows[MOST_TAPS]
    cdef const uint8_t** at = rows
    cdef const uint8_t* pixel
    cdef ptrdiff_t column, tap, ix, iy, block
    cdef bint outside
    s.rows = 1
    s.y0 = y
    for column in range(g.kw):
        ix = column * g.dilation_w - g.pad_w
        iy = -g.pad_h
        outside = ix < 0 or ix >= g.iw
        pixel = x + (iy * g.iw + ix) * g.ic
        for tap in range(4 * d.quads):
            at[tap] = d.outside if outside or tap >= g.kh or iy < 0 or iy >= g.ih else pixel
            iy += g.dilation_h
            pixel += g.dilation_h * g.iw * g.ic
        at += 4 * d.quads
    for block in range(d.period):
        set_block(d, s, block)
        sum_position(s, rows, block * VB, g.oc - block * VB, value_flip(d.is_signed), y + block * VB)
    if d.finish != NULL:
        d.finish(d.params, 0, 0, g.oc, s.sums, d.channels, 1, y, g.oc * d.y_size)


cdef void set_block(const DepthwiseI8* d, Columns8* s, ptrdiff_t block) noexcept nogil:
    s.taps = d.taps + block * block_taps(d)
    s.bias = d.bias + block * VB
    s.scales = d.scales + block * VB
    s.extra = d.extra + 5 * block if d.most_extra > 0 and d.extra[5 * block] != d.extra[5 * block + 4] else NULL
    s.extra_at = d.extra_at
    s.extra_taps = d.extra_taps


cdef void sum_slabs(const DepthwiseI8* d, Columns8* s, const uint8_t** rows, uint8_t* planes, uint8_t* y) noexcept nogil:
    """Output rows below each other, by slabs of channels and chunks of pixels."""
    cdef ptrdiff_t channel = 0
    cdef ptrdiff_t block = 0
    cdef ptrdiff_t slab, begin, ox, pixels
    while channel < d.channels:
        slab = slab_at(d, channel)
        begin = slab_begin(d, channel)
        set_block(d, s, block)
        s.pieces = <int>(VB / slab)
        s.column_step = 4 * d.shape.dilation_w * slab
        s.sources = d.sources + (s.pieces / 2) * 4 * d.groups
        ox = 0
        if rolls_over(d, slab):
            roll_slab(d, s, rows, begin, y + begin)
            ox = d.shape.ow
        while ox < d.shape.ow:
            pixels = d.chunk if d.shape.ow - ox >= d.chunk else d.shape.ow - ox
            fill_planes(d, rows, ox, begin, slab, planes)
            sum_pixels(s, <int>d.rows, (pixels * slab + VB - 1) / VB, y + ox * d.channels + begin, pixels * slab)
            ox += pixels
        channel += slab
        block += 1


cdef void roll_slab(const DepthwiseI8* d, const Columns8* s, const uint8_t** rows, ptrdiff_t channel, uint8_t* y) noexcept nogil:
    """A slab of output rows, without planes."""
    cdef const uint8_t* some[4]
    cdef Rows8 x
    cdef int j
    for j in range(4):
        some[j] = rows[j] + channel
    x.rows = some
    x.pixel = d.channels
    x.width = d.shape.iw
    x.first = -d.shape.pad_w
    x.dilation = d.shape.dilation_w
    x.count = d.shape.ow
    x.flip = value_flip(d.is_signed)
    x.outside = (d.x_zero_point + value_offset(d.is_signed)) & 255
    roll_rows(s, <int>d.rows, &x, y)


cdef void sum_period(const DepthwiseI8* d, Columns8* s, const uint8_t** rows, uint8_t* planes, uint8_t* y) noexcept nogil:
    """The same for channels that do not fill vectors: values that follow each other."""
    cdef ptrdiff_t ox = 0
    cdef ptrdiff_t pixels, groups, block
    s.pieces = 0
    s.column_step = 4 * d.shape.dilation_w * d.channels
    while ox < d.shape.ow:
        pixels = d.chunk if d.shape.ow - ox >= d.chunk else d.shape.ow - ox
        groups = (pixels * d.channels + VB - 1) / VB
        fill_planes(d, rows, ox, 0, d.channels, planes)
        for block in range(d.period if d.period < groups else groups):
            set_block(d, s, block)
            sum_every(s, <int>d.rows, block, groups, y + ox * d.channels, pixels * d.channels)
        ox += pixels


cdef void narrow_rows(const DepthwiseI8* d, const uint8_t* lines, ptrdiff_t line, int rows, uint8_t* y) noexcept nogil:
    cdef ptrdiff_t oc = d.shape.oc
    cdef ptrdiff_t row
    for row in range(rows):
        copy_pixels(lines + row * line, d.channels, y + row * d.apart * d.shape.ow * oc, oc, oc, d.shape.ow)


cdef void fill_depthwise_i8(DepthwiseI8Kernels* table) noexcept:
    table.plan = plan_depthwise_i8
