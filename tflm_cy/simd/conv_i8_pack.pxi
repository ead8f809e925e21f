# Weights of conv_i8.pxi: panels of columns in steps of four taps, what a column's sums start with, and where the steps of a window begin.


cdef ptrdiff_t constants_of(const ConvI8* c) noexcept nogil:
    """How many a column has: what its sums start with, a scale, a bias in floats."""
    return 3 if c.dynamic else 2 if c.finish == NULL else 1


cdef void pack_conv_i8(ConvI8* c, const void* w, ptrdiff_t row) noexcept nogil:
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t columns = g.groups * c.plan.group_columns
    cdef PackedPanel* panels = <PackedPanel*>c.packed
    cdef uint8_t* at = c.packed + round_up(panels_of_columns(c) * sizeof(PackedPanel), 64)
    cdef int32_t* ones = NULL
    cdef int32_t* sums
    cdef float* scales                # what is not there is not read
    cdef float* f_bias
    cdef int32_t* offsets              # of a panel without extra steps
    cdef int32_t* own_offsets
    cdef ptrdiff_t last = constants_of(c) - 1
    cdef ptrdiff_t panel, column, first, width, end, extra
    if c.plan.row_factor != 0:
        ones = <int32_t*>at
        at += round_up(c.plan.steps * 4, 64)
    extra = plan_extra_vectors(c, <const uint8_t*>w, row, ones)
    if extra > 0:
        memset(c.packed + c.packed_bytes - c.spare_bytes, 0, 4 * (panels_of_columns(c) * c.plan.steps + c.packing.extra_steps) + extra * VB)
    sums = <int32_t*>at
    scales = <float*>(at + min(1, last) * round_up(4 * columns, 64))
    f_bias = <float*>(at + last * round_up(4 * columns, 64))
    at += (last + 1) * round_up(4 * columns, 64)
    offsets = <int32_t*>at
    own_offsets = offsets + c.plan.steps
    at += round_up(4 * (c.plan.steps + (panels_of_columns(c) * c.plan.steps + c.packing.extra_steps if c.packing.extra_steps > 0 else 0)), 64)
    fill_offsets(c, offsets)
    c.packing.ones, c.packing.scales, c.packing.float_bias, c.packing.panels = ones, scales, f_bias, panels
    c.packing.bias = sums
    c.packing.w_sums = sums
    for panel in range(panels_of_columns(c)):
        first = first_column(c, panel)
        width = width_of_panel(c, panel)
        end = end_column(c, panel)
        panels[panel].offsets, panels[panel].w, panels[panel].steps = offsets, at, <int32_t>c.plan.steps
        pack_panel(c, <const uint8_t*>w + first * row, row, end - first, at, width)
        if not c.plan.nibbles:
            part_taps8(at, width * 4 * c.plan.steps)
        panels[panel].pairs = pairs_fit8(at, width * 4 * c.plan.steps)
        pair_taps8(at, width / VL, steps_of_segment(c), c.plan.segments)
        at += width * 4 * c.plan.steps
        if c.packing.extra_steps > 0:
            extra = pack_extra_vectors(c, <const uint8_t*>w, row, panel, ones, own_offsets + c.plan.steps, at)
            part_taps8(at, width * 4 * extra)
            at += width * 4 * extra
            if extra > 0:
                fill_offsets(c, own_offsets)
                panels[panel].offsets = own_offsets
                panels[panel].steps += <int32_t>extra
                own_offsets += panels[panel].steps
        for column in range(first, end):
            pack_constants(
                c, w, row, column, column / group_oc * c.plan.group_columns + column % group_oc, value_offset(c.is_signed), sums, scales, f_bias)
    if ones != NULL:
        fill_ones(c, ones)


cdef ptrdiff_t first_column(const ConvI8* c, ptrdiff_t panel) noexcept nogil:
    """The panel's first output channel."""
    return panel / panels_of_group(c) * (c.shape.oc / c.shape.groups) + panel % panels_of_group(c) * PANEL * VL


cdef ptrdiff_t end_column(const ConvI8* c, ptrdiff_t panel) noexcept nogil:
    """Behind its last one."""
    cdef ptrdiff_t group_end = (panel / panels_of_group(c) + 1) * (c.shape.oc / c.shape.groups)
    cdef ptrdiff_t end = first_column(c, panel) + PANEL * VL
    return end if end < group_end else group_end


cdef ptrdiff_t width_of_panel(const ConvI8* c, ptrdiff_t panel) noexcept nogil:
    """Its columns, whole vectors of them."""
    cdef ptrdiff_t left = c.plan.group_columns - panel % panels_of_group(c) * PANEL * VL
    return left if left < PANEL * VL else PANEL * VL


cdef ptrdiff_t plan_extra_vectors(ConvI8* c, const uint8_t* w, ptrdiff_t row, int32_t* marks) noexcept nogil:
    """uint8 weights are packed less their zero point; what that leaves the range of int8 by has steps of its own, unless they are many.

    How many vectors those are.
    """
    cdef ptrdiff_t vectors = 0
    cdef ptrdiff_t panel, steps
    c.packing.extra_steps = 0
    c.packing.zero_point_folded = c.plan.row_factor != 0 and c.plan.rows > 1 and 0 < c.w_zero_point < 256
    if not c.packing.zero_point_folded:
        return 0
    for panel in range(panels_of_columns(c)):
        steps = mark_far_steps(c, w, row, panel, marks)
        c.packing.extra_steps += steps
        vectors += steps * (width_of_panel(c, panel) / VL)
    c.packing.zero_point_folded = vectors <= c.plan.steps + DEAREST_VECTORS
    if c.packing.zero_point_folded:
        return vectors
    c.packing.extra_steps = 0
    return 0


cdef ptrdiff_t mark_far_steps(const ConvI8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t panel, int32_t* marks) noexcept nogil:
    """1 for each step with a weight that is no int8 once the zero point is subtracted, and how many those are."""
    cdef ptrdiff_t taps = c.plan.segments * c.plan.segment
    cdef ptrdiff_t marked = 0
    cdef ptrdiff_t column, tap, step
    memset(marks, 0, c.plan.steps * sizeof(int32_t))
    for column in range(first_column(c, panel), end_column(c, panel)):
        if any_far(w + column * row, taps, c.w_zero_point):
            for tap in range(taps):
                if far_by(w[column * row + tap], c.w_zero_point) != 0:
                    marks[tap / c.plan.segment * steps_of_segment(c) + tap % c.plan.segment / 4] = 1
    for step in range(c.plan.steps):
        marked += marks[step]
    return marked


cdef ptrdiff_t pack_extra_vectors(
    const ConvI8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t panel, int32_t* marks, int32_t* offsets, uint8_t* at,
) noexcept nogil:
    """The panel's extra steps: what its weights leave the range of int8 by, which is an int8 as the zero point is not 0. How many there are."""
    cdef ptrdiff_t width = width_of_panel(c, panel)
    cdef ptrdiff_t steps = 0
    cdef ptrdiff_t step, column, k
    if mark_far_steps(c, w, row, panel, marks) == 0:
        return 0
    for step in range(c.plan.steps):
        if marks[step] == 0:
            continue
        offsets[steps] = step_offset(c, step)
        for column in range(end_column(c, panel) - first_column(c, panel)):
            for k in range(taps_of_step(c, step)):
                at[(steps * width + column) * 4 + k] = <uint8_t>far_by(
                    w[(first_column(c, panel) + column) * row + first_tap(c, step) + k], c.w_zero_point)
        steps += 1
    return steps


cdef ptrdiff_t steps_of_segment(const ConvI8* c) noexcept nogil:
    return round_up(c.plan.segment, 4) / 4


cdef ptrdiff_t first_tap(const ConvI8* c, ptrdiff_t step) noexcept nogil:
    return step / steps_of_segment(c) * c.plan.segment + step % steps_of_segment(c) * 4


cdef ptrdiff_t taps_of_step(const ConvI8* c, ptrdiff_t step) noexcept nogil:
    cdef ptrdiff_t left = c.plan.segment - step % steps_of_segment(c) * 4
    return left if left < 4 else 4


cdef ptrdiff_t segment_offset(const ConvI8* c, ptrdiff_t s) noexcept nogil:
    """Where a stretch begins, from a window's first byte."""
    cdef const ConvShape* g = &c.shape
    if c.plan.segments == g.kh:
        return s * g.dilation_h * c.plan.row_bytes
    return (s / g.kw) * g.dilation_h * c.plan.row_bytes + (s % g.kw) * g.dilation_w * g.ic * PARTS8


cdef int32_t step_offset(const ConvI8* c, ptrdiff_t step) noexcept nogil:
    """Where a step begins, from a window's first byte."""
    return <int32_t>(segment_offset(c, step / steps_of_segment(c)) + step % steps_of_segment(c) * 4 * PARTS8)


cdef void fill_offsets(const ConvI8* c, int32_t* offsets) noexcept nogil:
    cdef ptrdiff_t step
    for step in range(c.plan.steps):
        offsets[step] = step_offset(c, step)


cdef void fill_ones(const ConvI8* c, int32_t* ones) noexcept nogil:
    """Which of a step's bytes count."""
    cdef ptrdiff_t step, left
    for step in range(c.plan.steps):
        left = taps_of_step(c, step)
        ones[step] = 0x01010101 if left >= 4 else (1 << (8 * left)) - 1 & 0x01010101


cdef void pack_panel(const ConvI8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t columns, uint8_t* panel, ptrdiff_t width) noexcept nogil:
    """The weights of up to `width` output channels."""
    cdef int less = c.w_zero_point - 128 if c.packing.zero_point_folded else 0
    cdef ptrdiff_t column = 0
    cdef ptrdiff_t s, i
    if c.plan.nibbles:
        memset(panel, 0, width * 4 * c.plan.steps)
        for i in range(c.plan.steps):
            pack_nibbles8(w + 8 * i, row, columns, min(c.plan.segment - 8 * i, <ptrdiff_t>8), panel + i * width * 4)
        return
    while column < columns:
        for s in range(c.plan.segments):
            i = 0
            while i < c.plan.segment:
                turn_taps(
                    w + column * row + s * c.plan.segment + i, row, columns - column if columns - column < TURN_ROWS else TURN_ROWS,
                    c.plan.segment - i if c.plan.segment - i < TURN_BYTES else TURN_BYTES, c.plan.w_offset, less,
                    panel + (s * steps_of_segment(c) + i / 4) * width * 4 + 4 * column, width * 4)
                i += TURN_BYTES
        column += TURN_ROWS


cdef void pack_constants(
    const ConvI8* c, const void* w, ptrdiff_t row, ptrdiff_t channel, ptrdiff_t column, int32_t x_offset,
    int32_t* sums, float* scales, float* f_bias,
) noexcept nogil:
    """What a column's sums are corrected and scaled by; the zero points' share goes into its bias. x is read `x_offset` higher."""
    cdef int64_t sum = sum_taps(<const uint8_t*>w + channel * row, c.plan.segments * c.plan.segment, 128 if c.plan.w_offset == 0 else 0)
    if c.dynamic:
        sums[column] = <int32_t>sum
        scales[column] = c.scaling.scales[channel]
        f_bias[column] = c.scaling.bias[channel]
        return
    sum += c.plan.row_factor * c.plan.segments * c.plan.segment
    sums[column] = <int32_t>(<uint32_t>c.out.bias[channel] - <uint32_t>((c.x_zero_point + x_offset) * sum) + raised_by(c.plan.magic_bias))
    if c.finish == NULL:
        scales[column] = c.out.scales[channel]
