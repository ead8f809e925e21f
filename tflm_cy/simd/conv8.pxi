from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.conv cimport ConvShape
from tflm_cy.simd.conv8 cimport Conv8, Conv8Kernels, TilePanel, x_size

cdef extern from "dynamic8.h" nogil:
    ctypedef struct Steps8:
        float inverse
        int32_t zero_point
    Steps8 steps_of_row(const float* x, ptrdiff_t n) noexcept
    void quantize_bytes(const float* x, ptrdiff_t n, const Steps8* s, bint is_signed, uint8_t* y) noexcept

cdef extern from "conv8.h" nogil:
    int8_t far_by(uint8_t w, int zero_point) noexcept
    bint any_far(const uint8_t* w, ptrdiff_t n, int zero_point) noexcept
    enum:
        PANEL
        MOST_ROWS
        WIDE_ROWS
        TILE_S8
        TILE_U8
        TILE_F32
        TILE_I32
    ctypedef struct Tile8:
        const uint8_t* rows[8]
        int32_t terms[8]
        float inverses[8]
        const int32_t* offsets
        ptrdiff_t steps
        bint has_terms
        int count
        int kind
        vb zero
        vb low
        vb high
        float f_low
        float f_high
        ptrdiff_t y_row
    ctypedef struct Panel8:
        const int8_t* w
        const int32_t* bias
        const float* scales
        const float* f_bias
        ptrdiff_t n
    ctypedef void (*Tile8Function)(const Tile8* t, const Panel8* w, void* y) noexcept nogil
    Tile8Function tile8_function(int shape, int vectors, int kind) noexcept
    void tile8_row_sums(Tile8* t, int rows, const int32_t* ones, int32_t factor) noexcept
    int32_t sum_bytes(const uint8_t* x, ptrdiff_t n) noexcept
    void flip_bytes(const uint8_t* x, uint8_t* y, ptrdiff_t n) noexcept
    enum:
        TURN_ROWS
        TURN_BYTES
    int64_t sum_taps(const uint8_t* w, ptrdiff_t n, int flip) noexcept
    void turn_taps(const uint8_t* w, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t n, int flip, int less, uint8_t* to, ptrdiff_t step) noexcept

cdef enum:
    TAIL = 64                    # bytes behind images and rows in scratch memory that may be read
    CHUNK_BYTES = 4096           # of positions that are copied at once
    DEAREST_VECTORS = 8          # of extra weights, beyond those that sums of windows' bytes would take


cdef ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t unit) noexcept nogil:
    return (n + unit - 1) / unit * unit


cdef bint stays_small(const Conv8* c) noexcept nogil:
    """Scaled sums below 2^31, where converting and packing saturates as the definition clamps, and nothing wraps."""
    cdef ptrdiff_t depth = c.shape.kh * c.shape.kw * c.shape.group_ic
    cdef ptrdiff_t i
    cdef double most
    if c.dynamic or c.finish != NULL:
        return True
    for i in range(c.shape.oc):
        most = <double>depth * (255 * 255) + (<double>c.out.bias[i] if c.out.bias[i] > 0 else -<double>c.out.bias[i])
        most = most if most < 2147483648.0 else 2147483648.0
        if not most * c.out.scales[i] < 2147483000.0:
            return False
    return True


cdef bint plan_conv8(Conv8* c) noexcept nogil:
    """Fill in the plan; False where the scalar definition must serve."""
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t group_oc, vectors, padded_h, padded_w
    c.pack = pack_conv8
    c.run = run_conv8
    if c.finish == NULL:
        c.y_size = x_size(c)
    if g.oc <= 0 or g.groups <= 0 or g.batches * g.oh * g.ow <= 0 or not stays_small(c):
        return False
    group_oc = g.oc / g.groups
    c.flat = g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1 and g.groups == 1 and g.pad_h == 0 and g.pad_w == 0
    if sees_whole_image(g):
        c.flat = True
    if c.dynamic and g.oh * g.ow > 1:
        c.flat = False
    if c.flat:
        c.segments = 1
        c.segment = g.kh * g.kw * g.ic
    elif g.groups == 1 and g.dilation_w == 1:
        c.segments = g.kh
        c.segment = g.kw * g.group_ic
    else:
        c.segments = g.kh * g.kw
        c.segment = g.group_ic
    c.steps = c.segments * steps_of_segment(c)
    c.group_columns = round_up(group_oc, VL)
    c.panel_columns = PANEL * VL
    vectors = c.group_columns / VL
    c.rows = MOST_ROWS if vectors < PANEL or MOST_ROWS == WIDE_ROWS else WIDE_ROWS
    if c.flat and g.batches * g.oh * g.ow == 1:
        c.rows = 1
    c.row_factor = 0
    c.w_offset = 0
    if not c.is_signed and not c.dynamic:
        c.w_offset = 128
        c.row_factor = 128 - c.w_zero_point
    c.direct = not c.is_signed and not c.dynamic and (c.flat or (g.pad_h == 0 and g.pad_w == 0 and inside(g)))
    if c.segment % 4 != 0 and not c.slack:
        c.direct = False
    if c.flat:
        c.row_bytes = c.segment
        c.image_bytes = 0
        c.scratch_bytes = copied_positions(c) * c.row_bytes + TAIL
    else:
        padded_h = (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1
        padded_w = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
        c.row_bytes = padded_w * g.ic
        c.image_bytes = padded_h * c.row_bytes
        c.scratch_bytes = c.image_bytes + TAIL
        if c.direct:
            c.row_bytes = g.iw * g.ic
            c.scratch_bytes = TAIL
    if c.finish != NULL:
        c.sums_at = round_up(c.scratch_bytes, 64)
        c.scratch_bytes = c.sums_at + c.rows * c.group_columns * 4 + 64
    if c.steps * g.groups * c.group_columns * 4 > 0x7FFFFFFF or c.image_bytes > 0x7FFFFFFF:
        return False
    c.packed_bytes = (
        panels_of_columns(c) * <ptrdiff_t>sizeof(TilePanel) + 4 * c.steps + g.groups * c.group_columns * 4 * (constants_of(c) + c.steps)
        + 7 * TAIL
    )
    if c.row_factor != 0:
        c.packed_bytes += round_up(c.steps * 4, 64) + 4 * panels_of_columns(c) * c.steps + (c.steps + DEAREST_VECTORS) * (VB + 4)
    return True


cdef ptrdiff_t constants_of(const Conv8* c) noexcept nogil:
    """How many a column has: what its sums start with, a scale, a bias in floats."""
    return 3 if c.dynamic else 2 if c.finish == NULL else 1


cdef ptrdiff_t copied_positions(const Conv8* c) noexcept nogil:
    """Of a matrix product, at once: some tiles, or one, where each has an own quantization."""
    return c.rows if c.dynamic else c.rows * (1 + CHUNK_BYTES / (c.rows * c.segment))


cdef ptrdiff_t panels_of_group(const Conv8* c) noexcept nogil:
    return (c.group_columns + PANEL * VL - 1) / (PANEL * VL)


cdef ptrdiff_t panels_of_columns(const Conv8* c) noexcept nogil:
    return c.shape.groups * panels_of_group(c)


cdef bint sees_whole_image(const ConvShape* g) noexcept nogil:
    """One position, whose window is the image: a matrix product."""
    return (
        g.batches == 1 and g.groups == 1 and g.oh == 1 and g.ow == 1 and g.kh == g.ih and g.kw == g.iw and g.pad_h == 0 and g.pad_w == 0
        and (g.kh == 1 or g.dilation_h == 1) and (g.kw == 1 or g.dilation_w == 1)
    )


cdef bint inside(const ConvShape* g) noexcept nogil:
    """No window reaches behind the image."""
    return (
        (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h < g.ih and (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w < g.iw
    )


cdef void pack_conv8(Conv8* c, const void* w, ptrdiff_t row) noexcept nogil:
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t columns = g.groups * c.group_columns
    cdef TilePanel* panels = <TilePanel*>c.packed
    cdef uint8_t* at = c.packed + round_up(panels_of_columns(c) * sizeof(TilePanel), 64)
    cdef int32_t* ones = NULL
    cdef int32_t* sums
    cdef float* scales                # what is not there is not read
    cdef float* f_bias
    cdef int32_t* offsets              # of a panel without extra steps
    cdef int32_t* own_offsets
    cdef ptrdiff_t last = constants_of(c) - 1
    cdef ptrdiff_t panel, column, first, width, end, extra
    if c.row_factor != 0:
        ones = <int32_t*>at
        at += round_up(c.steps * 4, 64)
    plan_extra_vectors(c, <const uint8_t*>w, row, ones)
    sums = <int32_t*>at
    scales = <float*>(at + min(1, last) * round_up(4 * columns, 64))
    f_bias = <float*>(at + last * round_up(4 * columns, 64))
    at += (last + 1) * round_up(4 * columns, 64)
    offsets = <int32_t*>at
    own_offsets = offsets + c.steps
    at += round_up(4 * (c.steps + (panels_of_columns(c) * c.steps + c.extra_steps if c.extra_steps > 0 else 0)), 64)
    fill_offsets(c, offsets)
    c.ones, c.scales, c.float_bias, c.tile_panels = ones, scales, f_bias, panels
    c.bias = sums
    c.w_sums = sums
    for panel in range(panels_of_columns(c)):
        first = first_column(c, panel)
        width = width_of_panel(c, panel)
        end = end_column(c, panel)
        panels[panel].offsets, panels[panel].w, panels[panel].steps = offsets, at, c.steps
        pack_panel(c, <const uint8_t*>w + first * row, row, end - first, at, width)
        at += width * 4 * c.steps
        if c.extra_steps > 0:
            extra = pack_extra_vectors(c, <const uint8_t*>w, row, panel, ones, own_offsets + c.steps, at)
            at += width * 4 * extra
            if extra > 0:
                fill_offsets(c, own_offsets)
                panels[panel].offsets = own_offsets
                panels[panel].steps += extra
                own_offsets += panels[panel].steps
        for column in range(first, end):
            pack_constants(
                c, w, row, column, column / group_oc * c.group_columns + column % group_oc, 128 if c.is_signed else 0, sums, scales, f_bias)
    if ones != NULL:
        fill_ones(c, ones)


cdef ptrdiff_t first_column(const Conv8* c, ptrdiff_t panel) noexcept nogil:
    """The panel's first output channel."""
    return panel / panels_of_group(c) * (c.shape.oc / c.shape.groups) + panel % panels_of_group(c) * PANEL * VL


cdef ptrdiff_t end_column(const Conv8* c, ptrdiff_t panel) noexcept nogil:
    """Behind its last one."""
    cdef ptrdiff_t group_end = (panel / panels_of_group(c) + 1) * (c.shape.oc / c.shape.groups)
    cdef ptrdiff_t end = first_column(c, panel) + PANEL * VL
    return end if end < group_end else group_end


cdef ptrdiff_t width_of_panel(const Conv8* c, ptrdiff_t panel) noexcept nogil:
    """Its columns, whole vectors of them."""
    cdef ptrdiff_t left = c.group_columns - panel % panels_of_group(c) * PANEL * VL
    return left if left < PANEL * VL else PANEL * VL


cdef void plan_extra_vectors(Conv8* c, const uint8_t* w, ptrdiff_t row, int32_t* marks) noexcept nogil:
    """uint8 weights are packed less their zero point; what that leaves the range of int8 by has steps of its own, unless they are many."""
    cdef ptrdiff_t vectors = 0
    cdef ptrdiff_t panel, steps
    c.extra_steps = 0
    c.centred = c.row_factor != 0 and c.rows > 1 and 0 < c.w_zero_point < 256
    if not c.centred:
        return
    for panel in range(panels_of_columns(c)):
        steps = mark_far_steps(c, w, row, panel, marks)
        c.extra_steps += steps
        vectors += steps * (width_of_panel(c, panel) / VL)
    c.centred = vectors <= c.steps + DEAREST_VECTORS
    if not c.centred:
        c.extra_steps = 0


cdef ptrdiff_t mark_far_steps(const Conv8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t panel, int32_t* marks) noexcept nogil:
    """1 for each step with a weight that is no int8 once the zero point is subtracted, and how many those are."""
    cdef ptrdiff_t taps = c.segments * c.segment
    cdef ptrdiff_t marked = 0
    cdef ptrdiff_t column, tap, step
    memset(marks, 0, c.steps * sizeof(int32_t))
    for column in range(first_column(c, panel), end_column(c, panel)):
        if any_far(w + column * row, taps, c.w_zero_point):
            for tap in range(taps):
                if far_by(w[column * row + tap], c.w_zero_point) != 0:
                    marks[tap / c.segment * steps_of_segment(c) + tap % c.segment / 4] = 1
    for step in range(c.steps):
        marked += marks[step]
    return marked


cdef ptrdiff_t pack_extra_vectors(
    const Conv8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t panel, int32_t* marks, int32_t* offsets, uint8_t* at,
) noexcept nogil:
    """The panel's extra steps: what its weights leave the range of int8 by, which is an int8 as the zero point is not 0. How many there are."""
    cdef ptrdiff_t width = width_of_panel(c, panel)
    cdef ptrdiff_t steps = 0
    cdef ptrdiff_t step, column, k
    if mark_far_steps(c, w, row, panel, marks) == 0:
        return 0
    for step in range(c.steps):
        if marks[step] == 0:
            continue
        offsets[steps] = step_offset(c, step)
        for column in range(end_column(c, panel) - first_column(c, panel)):
            for k in range(taps_of_step(c, step)):
                at[(steps * width + column) * 4 + k] = <uint8_t>far_by(
                    w[(first_column(c, panel) + column) * row + first_tap(c, step) + k], c.w_zero_point)
        steps += 1
    return steps


cdef ptrdiff_t steps_of_segment(const Conv8* c) noexcept nogil:
    return round_up(c.segment, 4) / 4


cdef ptrdiff_t first_tap(const Conv8* c, ptrdiff_t step) noexcept nogil:
    return step / steps_of_segment(c) * c.segment + step % steps_of_segment(c) * 4


cdef ptrdiff_t taps_of_step(const Conv8* c, ptrdiff_t step) noexcept nogil:
    cdef ptrdiff_t left = c.segment - step % steps_of_segment(c) * 4
    return left if left < 4 else 4


cdef ptrdiff_t segment_offset(const Conv8* c, ptrdiff_t s) noexcept nogil:
    """Where a stretch begins, from a window's first byte."""
    cdef const ConvShape* g = &c.shape
    if c.segments == g.kh:
        return s * g.dilation_h * c.row_bytes
    return (s / g.kw) * g.dilation_h * c.row_bytes + (s % g.kw) * g.dilation_w * g.ic


cdef int32_t step_offset(const Conv8* c, ptrdiff_t step) noexcept nogil:
    """Where a step begins, from a window's first byte."""
    return <int32_t>(segment_offset(c, step / steps_of_segment(c)) + step % steps_of_segment(c) * 4)


cdef void fill_offsets(const Conv8* c, int32_t* offsets) noexcept nogil:
    cdef ptrdiff_t step
    for step in range(c.steps):
        offsets[step] = step_offset(c, step)


cdef void fill_ones(const Conv8* c, int32_t* ones) noexcept nogil:
    """Which of a step's bytes count."""
    cdef ptrdiff_t step, left
    for step in range(c.steps):
        left = taps_of_step(c, step)
        ones[step] = 0x01010101 if left >= 4 else (1 << (8 * left)) - 1 & 0x01010101


cdef void pack_panel(const Conv8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t columns, uint8_t* panel, ptrdiff_t width) noexcept nogil:
    """The weights of up to `width` output channels."""
    cdef int less = c.w_zero_point - 128 if c.centred else 0
    cdef ptrdiff_t column = 0
    cdef ptrdiff_t s, i
    while column < columns:
        for s in range(c.segments):
            i = 0
            while i < c.segment:
                turn_taps(
                    w + column * row + s * c.segment + i, row, columns - column if columns - column < TURN_ROWS else TURN_ROWS,
                    c.segment - i if c.segment - i < TURN_BYTES else TURN_BYTES, c.w_offset, less,
                    panel + (s * steps_of_segment(c) + i / 4) * width * 4 + 4 * column, width * 4)
                i += TURN_BYTES
        column += TURN_ROWS


cdef void pack_constants(
    const Conv8* c, const void* w, ptrdiff_t row, ptrdiff_t channel, ptrdiff_t column, int32_t x_offset,
    int32_t* sums, float* scales, float* f_bias,
) noexcept nogil:
    """What a column's sums are corrected and scaled by; the zero points' share goes into its bias. x is read `x_offset` higher."""
    cdef int64_t sum = sum_taps(<const uint8_t*>w + channel * row, c.segments * c.segment, 128 if c.w_offset == 0 else 0)
    if c.dynamic:
        sums[column] = <int32_t>sum
        scales[column] = c.scaling.scales[channel]
        f_bias[column] = c.scaling.bias[channel]
        return
    sum += c.row_factor * c.segments * c.segment
    sums[column] = <int32_t>(<uint32_t>c.out.bias[channel] - <uint32_t>((c.x_zero_point + x_offset) * sum))
    if c.finish == NULL:
        scales[column] = c.out.scales[channel]


cdef void start_tile(const Conv8* c, Tile8* t) noexcept nogil:
    cdef int32_t zero = c.out.zero_point
    t.offsets = c.tile_panels.offsets
    t.steps = c.steps
    t.has_terms = c.row_factor != 0 and not c.centred
    t.y_row = c.shape.oc
    if c.dynamic:
        t.kind = TILE_F32
        t.f_low = c.scaling.low
        t.f_high = c.scaling.high
        return
    if c.finish != NULL:
        t.kind = TILE_I32
        t.y_row = c.group_columns
        return
    t.kind = TILE_S8 if c.is_signed else TILE_U8
    t.zero = vb_set1_16(zero)
    t.low = vb_set1(<int32_t>c.out.low + zero)
    t.high = vb_set1(<int32_t>c.out.high + zero)


cdef void multiply_tile(const Conv8* c, Tile8* t, ptrdiff_t group, uint8_t* scratch, uint8_t* y) noexcept nogil:
    """All columns of a group for the tile's rows."""
    cdef ptrdiff_t group_oc = c.shape.oc / c.shape.groups
    cdef uint8_t* to = y + group * group_oc * c.y_size
    cdef ptrdiff_t size = c.y_size
    cdef int shape = 2 if c.rows == 1 else 0 if c.rows == MOST_ROWS and c.group_columns < PANEL * VL else 1
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t column = group * c.group_columns
    cdef const TilePanel* panel = c.tile_panels + group * panels_of_group(c)
    cdef ptrdiff_t width
    cdef Panel8 w
    if c.finish != NULL:
        to = scratch + c.sums_at
        size = sizeof(int32_t)
    while first < c.group_columns:
        width = c.group_columns - first if c.group_columns - first < PANEL * VL else PANEL * VL
        w.w = <const int8_t*>panel.w
        w.bias = c.bias + column + first
        w.scales = c.scales + column + first
        w.f_bias = c.float_bias + column + first
        w.n = group_oc - first if group_oc - first < width else width
        t.offsets = panel.offsets
        t.steps = panel.steps
        tile8_function(shape, <int>(width / VL), t.kind)(t, &w, to + first * size)
        panel += 1
        first += width
    if c.finish != NULL:
        c.finish(c.how, group, <const int32_t*>to, c.group_columns, t.count, y + group * group_oc * c.y_size, c.shape.oc * c.y_size)


cdef void run_flat(const Conv8* c, const uint8_t* x, uint8_t* scratch, uint8_t* y) noexcept nogil:
    """Positions one after the other: a matrix product."""
    cdef ptrdiff_t positions = c.shape.batches * c.shape.oh * c.shape.ow
    cdef ptrdiff_t chunk = copied_positions(c)
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t copied = 0
    cdef const uint8_t* rows
    cdef Tile8 t
    cdef int p
    start_tile(c, &t)
    while first < positions:
        t.count = <int>(positions - first if positions - first < c.rows else c.rows)
        rows = x + first * c.segment
        if c.dynamic:
            quantize_rows(c, &t, <const float*>x + first * c.segment, scratch)
            rows = scratch
        elif not c.direct:
            if first % chunk == 0:
                copied = first
                copy_bytes(c, rows, (positions - first if positions - first < chunk else chunk) * c.segment, NULL, scratch)
            rows = scratch + (first - copied) * c.segment
        for p in range(c.rows):
            t.rows[p] = rows + (p if p < t.count else 0) * c.segment
        if t.has_terms:
            for p in range(t.count):
                t.terms[p] = <int32_t>(<uint32_t>sum_bytes(t.rows[p], c.segment) * <uint32_t>c.row_factor)
        multiply_tile(c, &t, 0, scratch, y + first * c.shape.oc * c.y_size)
        first += t.count


cdef void quantize_rows(const Conv8* c, Tile8* t, const float* x, uint8_t* copy) noexcept nogil:
    """A tile's rows of a matrix product as unsigned bytes."""
    cdef Steps8 steps
    cdef int p
    for p in range(t.count):
        steps = steps_of_row(x + p * c.segment, c.segment)
        quantize_bytes(x + p * c.segment, c.segment, &steps, False, copy + p * c.segment)
        t.terms[p] = -(steps.zero_point + 128)
        t.inverses[p] = steps.inverse


cdef void pad_image(const Conv8* c, const uint8_t* x, const Steps8* steps, uint8_t* image) noexcept nogil:
    """The part of an image that windows see, as unsigned bytes, with the zero point around it."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = x_size(c)
    cdef ptrdiff_t height = c.image_bytes / c.row_bytes
    cdef ptrdiff_t width = c.row_bytes / g.ic
    cdef ptrdiff_t inner = g.iw if g.pad_w + g.iw < width else width - g.pad_w
    cdef int zero = (steps.zero_point + 128 if c.dynamic else c.x_zero_point + (128 if c.is_signed else 0)) & 255
    cdef ptrdiff_t oy
    for oy in range(height):
        if oy < g.pad_h or oy - g.pad_h >= g.ih or inner <= 0:
            memset(image, zero, c.row_bytes)
        else:
            memset(image, zero, g.pad_w * g.ic)
            copy_bytes(c, x + (oy - g.pad_h) * g.iw * g.ic * size, inner * g.ic, steps, image + g.pad_w * g.ic)
            memset(image + (g.pad_w + inner) * g.ic, zero, (width - g.pad_w - inner) * g.ic)
        image += c.row_bytes


cdef void copy_bytes(const Conv8* c, const uint8_t* x, ptrdiff_t n, const Steps8* steps, uint8_t* y) noexcept nogil:
    if c.dynamic:
        quantize_bytes(<const float*>x, n, steps, False, y)
    elif c.is_signed:
        flip_bytes(x, y, n)
    else:
        memcpy(y, x, n)


cdef void run_image(const Conv8* c, const uint8_t* x, uint8_t* scratch, uint8_t* y) noexcept nogil:
    """Windows over images."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = x_size(c)
    cdef ptrdiff_t step_h = g.stride_h * c.row_bytes
    cdef ptrdiff_t step_w = g.stride_w * g.ic
    cdef ptrdiff_t n, first, oy, ox, group
    cdef const uint8_t* image = scratch
    cdef Steps8 steps
    cdef Tile8 t
    cdef int p
    start_tile(c, &t)
    for n in range(g.batches):
        if c.direct:
            image = x
        else:
            if c.dynamic:
                steps = steps_of_row(<const float*>x, g.ih * g.iw * g.ic)
                for p in range(c.rows):
                    t.terms[p] = -(steps.zero_point + 128)
                    t.inverses[p] = steps.inverse
            pad_image(c, x, &steps, scratch)
        first = oy = ox = 0
        while first < g.oh * g.ow:
            t.count = <int>(g.oh * g.ow - first if g.oh * g.ow - first < c.rows else c.rows)
            for group in range(g.groups):
                if group == 0:
                    for p in range(t.count):
                        t.rows[p] = image + oy * step_h + ox * step_w
                        ox += 1
                        if ox == g.ow:
                            ox = 0
                            oy += 1
                    for p in range(t.count, c.rows):
                        t.rows[p] = t.rows[0]
                else:
                    for p in range(c.rows):
                        t.rows[p] += g.group_ic
                if t.has_terms:
                    tile8_row_sums(&t, t.count, c.ones, c.row_factor)
                multiply_tile(c, &t, group, scratch, y + first * g.oc * c.y_size)
            first += t.count
        x += g.ih * g.iw * g.ic * size
        y += g.oh * g.ow * g.oc * c.y_size


cdef void run_conv8(const Conv8* c, const void* x, void* scratch, void* y) noexcept nogil:
    if c.flat:
        run_flat(c, <const uint8_t*>x, <uint8_t*>scratch, <uint8_t*>y)
    else:
        run_image(c, <const uint8_t*>x, <uint8_t*>scratch, <uint8_t*>y)


cdef void fill_conv8(Conv8Kernels* table) noexcept:
    table.plan = plan_conv8
