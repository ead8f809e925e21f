from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.conv_i8 cimport ConvI8, ConvI8Kernels, PackedPanel, PlanI8, x_size
from tflm_cy.simd.requantize8 cimport LARGEST_PRODUCT8, may_raise, raised_by, stays_small

cdef extern from "dynamic8.h" nogil:
    ctypedef struct Steps8:
        float inverse
        int32_t zero_point
    Steps8 steps_of_row(const float* x, ptrdiff_t n, int rows) noexcept
    void quantize_bytes(const float* x, ptrdiff_t n, const Steps8* s, bint is_signed, uint8_t* y) noexcept

cdef extern from "conv_i8.h" nogil:
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
    enum:
        MOST_TOGETHER8
    ctypedef struct Positions8:
        const uint8_t* x
        ptrdiff_t step
        ptrdiff_t column
        ptrdiff_t width
        ptrdiff_t skip
        ptrdiff_t count
        int32_t* terms
        float* inverses
        const int32_t* offsets
        ptrdiff_t steps
        ptrdiff_t run
        ptrdiff_t regular
        bint has_terms
        int kind
        vb zero
        vb low
        vb high
        bint magic_bias
        float f_low
        bint keeps_nan
        bint apart
        float f_high
        ptrdiff_t y_row
    ctypedef struct Panel8:
        const int8_t* w
        const int32_t* bias
        const float* scales
        const float* f_bias
        ptrdiff_t n
        bint pairs
    ctypedef void (*Tiles8)(const Positions8* t, const Panel8* w, void* y) noexcept nogil
    enum:
        NIBBLES8
        NIBBLE_ROWS8
    Tiles8 nibbles_i8(int kind) noexcept
    void pack_nibbles8(const uint8_t* w, ptrdiff_t row, ptrdiff_t columns, ptrdiff_t n, uint8_t* to) noexcept
    Tiles8 tiles_i8(bint one_row, ptrdiff_t n, int kind) noexcept
    void tile8_row_sums(Positions8* t, const int32_t* ones, int32_t factor) noexcept
    enum:
        TURN_ROWS
        TURN_BYTES
    bint pairs_fit8(const uint8_t* w, ptrdiff_t n) noexcept
    void pair_taps8(uint8_t* w, ptrdiff_t vectors, ptrdiff_t run, ptrdiff_t segments) noexcept
    int64_t sum_taps(const uint8_t* w, ptrdiff_t n, int flip) noexcept
    void turn_taps(const uint8_t* w, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t n, int flip, int less, uint8_t* to, ptrdiff_t step) noexcept

cdef extern from "step8.h" nogil:
    enum:
        PARTS8
    void part_taps8(uint8_t* w, ptrdiff_t n) noexcept
    void copy_values8(const uint8_t* x, int flip, ptrdiff_t n, uint8_t* y) noexcept
    void fill_values8(uint8_t* y, int value, ptrdiff_t n) noexcept
    int value_flip(bint is_signed) noexcept
    int value_offset(bint is_signed) noexcept
    int32_t sum_values8(const uint8_t* x, ptrdiff_t n) noexcept

cdef enum:
    TAIL = 64                    # bytes behind images and rows in scratch memory that may be read
    CHUNK_BYTES = 4096           # of positions that are copied at once
    SUMS_BYTES8 = 8192           # of positions whose sums become outputs at once
    FAR_WEIGHTS8 = 1 << 19       # bytes of weights that the cache next to the processor does not keep: many positions should meet them at once
    FAR_BYTES8 = 1 << 18         # of these positions, copies and sums together
    DEAREST_VECTORS = 8          # of extra weights, beyond those that sums of windows' bytes would take


cdef ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t unit) noexcept nogil:
    return (n + unit - 1) / unit * unit


cdef bint plan_conv_i8(ConvI8* c) noexcept nogil:
    """Fill in the plan; False where the scalar definition must serve."""
    cdef ConvShape* g = &c.shape
    cdef double depth = <double>g.kh * g.kw * g.group_ic
    c.pack = pack_conv_i8
    c.run = run_conv_i8
    if c.finish == NULL:
        c.y_size = x_size(c)
    if g.oc <= 0 or g.groups <= 0 or g.batches * g.oh * g.ow <= 0:
        return False
    if not c.dynamic and c.finish == NULL and not stays_small(&c.out, g.oc, depth):
        return False
    c.plan.magic_bias = c.finish == NULL and not c.dynamic and may_raise(&c.out, g.oc, depth, c.is_signed)
    plan_segments(c)
    plan_columns(c)
    plan_images(c)
    if c.plan.steps * g.groups * c.plan.group_columns * 4 > 0x7FFFFFFF or c.plan.image_bytes > 0x7FFFFFFF:
        return False
    c.packed_bytes = (
        panels_of_columns(c) * <ptrdiff_t>sizeof(PackedPanel) + 4 * c.plan.steps
        + g.groups * c.plan.group_columns * 4 * (constants_of(c) + c.plan.steps) + 7 * TAIL
    )
    c.spare_bytes = 0
    if c.plan.row_factor != 0:
        c.spare_bytes = 4 * panels_of_columns(c) * c.plan.steps + (c.plan.steps + DEAREST_VECTORS) * (VB + 4)
        c.packed_bytes += round_up(c.plan.steps * 4, 64) + c.spare_bytes
    return True


cdef void plan_segments(ConvI8* c) noexcept nogil:
    """Of a window."""
    cdef ConvShape* g = &c.shape
    cdef PlanI8* p = &c.plan
    p.flat = is_pointwise(g) and not (c.dynamic and g.oh * g.ow > 1) or sees_whole_image(g)
    if p.flat:
        p.segments = 1
        p.segment = g.kh * g.kw * g.ic
    elif g.groups == 1 and g.dilation_w == 1:
        p.segments = g.kh
        p.segment = g.kw * g.group_ic
    else:
        p.segments = g.kh * g.kw
        p.segment = g.group_ic
    p.nibbles = NIBBLES8 and c.four_bits and c.is_signed and p.flat and c.finish == NULL
    p.steps = (p.segment + 7) / 8 if p.nibbles else p.segments * steps_of_segment(c)


cdef void plan_columns(ConvI8* c) noexcept nogil:
    """Panels of columns, and the tiles of positions that meet them."""
    cdef ConvShape* g = &c.shape
    cdef PlanI8* p = &c.plan
    p.group_columns = round_up(g.oc / g.groups, PANEL * VL if p.nibbles else VL)
    p.first_column = 0
    p.y_row = g.oc
    p.panel_columns = PANEL * VL
    p.rows = MOST_ROWS if p.group_columns / VL < PANEL else WIDE_ROWS
    if p.flat and g.batches * g.oh * g.ow == 1:
        p.rows = 1
    elif p.nibbles:
        p.rows = NIBBLE_ROWS8
    p.together = positions_together(c)
    p.row_factor = 0
    p.w_offset = 0
    if not c.is_signed and not c.dynamic:
        p.w_offset = 128
        p.row_factor = 128 - c.w_zero_point


cdef void plan_images(ConvI8* c) noexcept nogil:
    """Where x is read, and the scratch memory: a copy of it, sums."""
    cdef ConvShape* g = &c.shape
    cdef PlanI8* p = &c.plan
    cdef ptrdiff_t padded_h, padded_w
    p.direct = PARTS8 == 1 and not p.nibbles and value_flip(c.is_signed) == 0 and not c.dynamic and (p.flat or (g.pad_h == 0 and g.pad_w == 0 and inside(g)))
    if p.segment % 4 != 0 and not c.slack:
        p.direct = False
    if p.flat:
        p.row_bytes = p.segment * value_bytes(c)
        p.image_bytes = 0
        c.scratch_bytes = p.together * p.row_bytes + TAIL
    else:
        padded_h = (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1
        padded_w = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
        p.row_bytes = padded_w * g.ic * PARTS8
        p.image_bytes = padded_h * p.row_bytes
        c.scratch_bytes = p.image_bytes + TAIL
        if p.direct:
            p.row_bytes = g.iw * g.ic
            c.scratch_bytes = TAIL
    if c.finish != NULL:
        p.sums_at = round_up(c.scratch_bytes, 64)
        c.scratch_bytes = p.sums_at + p.together * p.group_columns * 4 + 64


cdef ptrdiff_t positions_together(const ConvI8* c) noexcept nogil:
    """That all columns meet before the next ones come: whole tiles, few enough for what is copied of them, and their sums."""
    cdef ptrdiff_t tiles = MOST_TOGETHER8 / c.plan.rows
    if c.plan.rows == 1:
        return 1
    if c.plan.flat and 4 * c.plan.steps * c.plan.group_columns >= FAR_WEIGHTS8:
        return c.plan.rows * max(min(tiles, FAR_BYTES8 / (c.plan.rows * bytes_of_position(c))), <ptrdiff_t>1)
    if c.plan.flat:
        tiles = min(tiles, 1 + CHUNK_BYTES / (c.plan.rows * c.plan.segment * PARTS8))
    if c.finish != NULL:
        tiles = min(tiles, SUMS_BYTES8 / (c.plan.rows * c.plan.group_columns * 4))
    return c.plan.rows * max(tiles, 1)


cdef ptrdiff_t value_bytes(const ConvI8* c) noexcept nogil:
    """Of the copies of x."""
    return 1 if c.plan.nibbles else PARTS8


cdef ptrdiff_t bytes_of_position(const ConvI8* c) noexcept nogil:
    """Its copy and its sums."""
    return c.plan.segment * PARTS8 + (c.plan.group_columns * 4 if c.finish != NULL else 0)


cdef ptrdiff_t panels_of_group(const ConvI8* c) noexcept nogil:
    return (c.plan.group_columns + PANEL * VL - 1) / (PANEL * VL)


cdef ptrdiff_t panels_of_columns(const ConvI8* c) noexcept nogil:
    return c.shape.groups * panels_of_group(c)


cdef bint is_pointwise(const ConvShape* g) noexcept nogil:
    """Every position sees the one below it: a matrix product. A phase of a transposed filter may have fewer positions, or more."""
    return (
        g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1 and g.groups == 1 and g.pad_h == 0 and g.pad_w == 0
        and g.oh == g.ih and g.ow == g.iw
    )


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


cdef void start_positions(const ConvI8* c, Positions8* t) noexcept nogil:
    cdef int32_t zero = c.out.zero_point
    t.offsets = c.packing.panels.offsets
    t.steps = t.regular = c.plan.steps
    t.run = steps_of_segment(c)
    t.has_terms = c.plan.row_factor != 0 and not c.packing.zero_point_folded
    t.y_row = c.plan.y_row
    if c.dynamic:
        t.kind = TILE_F32
        t.keeps_nan = c.scaling.keeps_nan
        t.apart = c.scaling.apart
        t.f_low = c.scaling.low
        t.f_high = c.scaling.high
        return
    if c.finish != NULL:
        t.kind = TILE_I32
        t.y_row = c.plan.group_columns
        return
    t.magic_bias = c.plan.magic_bias
    t.kind = TILE_S8 if c.is_signed else TILE_U8
    t.zero = vb_set1_16(zero)
    t.low = vb_set1(<int32_t>c.out.low + zero)
    t.high = vb_set1(<int32_t>c.out.high + zero)


cdef void multiply_positions(const ConvI8* c, Positions8* t, ptrdiff_t group, uint8_t* scratch, uint8_t* y) noexcept nogil:
    """All columns of a group."""
    cdef ptrdiff_t group_oc = c.shape.oc / c.shape.groups
    cdef uint8_t* to = y + group * group_oc * c.y_size
    cdef ptrdiff_t size = c.y_size
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t column = group * c.plan.group_columns
    cdef const PackedPanel* panel = c.packing.panels + group * panels_of_group(c)
    cdef ptrdiff_t width
    cdef Panel8 w
    if c.finish != NULL:
        to = scratch + c.plan.sums_at
        size = sizeof(int32_t)
    while first < c.plan.group_columns:
        width = c.plan.group_columns - first if c.plan.group_columns - first < PANEL * VL else PANEL * VL
        w.w = <const int8_t*>panel.w
        w.bias = c.packing.bias + column + first
        w.scales = c.packing.scales + column + first
        w.f_bias = c.packing.float_bias + column + first
        w.n = group_oc - first if group_oc - first < width else width
        w.pairs = panel.pairs
        t.offsets = panel.offsets
        t.steps = panel.steps
        (nibbles_i8(t.kind) if c.plan.nibbles else tiles_i8(c.plan.rows == 1, w.n, t.kind))(t, &w, to + first * size)
        panel += 1
        first += width
    if c.finish != NULL:
        c.finish(
            c.params, group, c.plan.first_column, group_oc, <const int32_t*>to, c.plan.group_columns, t.count,
            y + group * group_oc * c.y_size, c.plan.y_row * c.y_size)


cdef void run_flat(const ConvI8* c, const uint8_t* x, uint8_t* scratch, uint8_t* y) noexcept nogil:
    """Positions one after the other: a matrix product."""
    cdef ptrdiff_t positions = c.shape.batches * c.shape.oh * c.shape.ow
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t p
    cdef Positions8 t
    start_positions(c, &t)
    t.step = c.plan.row_bytes
    t.column = t.width = t.skip = 0
    while first < positions:
        t.count = positions - first if positions - first < c.plan.together else c.plan.together
        t.x = scratch
        if c.dynamic:
            quantize_rows(c, &t, <const float*>x + first * c.plan.segment, scratch)
        elif c.plan.direct:
            t.x = x + first * c.plan.segment
        else:
            copy_values(c, x + first * c.plan.segment, t.count * c.plan.segment, NULL, scratch)
        if t.has_terms:
            for p in range(t.count):
                t.terms[p] = <int32_t>(<uint32_t>sum_values8(t.x + p * c.plan.row_bytes, c.plan.segment) * <uint32_t>c.plan.row_factor)
        multiply_positions(c, &t, 0, scratch, y + first * c.plan.y_row * c.y_size)
        first += t.count


cdef void quantize_rows(const ConvI8* c, Positions8* t, const float* x, uint8_t* copy) noexcept nogil:
    """Rows of a matrix product, quantized."""
    cdef Steps8 steps
    cdef ptrdiff_t p
    for p in range(t.count):
        steps = steps_of_row(x + p * c.plan.segment, c.plan.segment, c.scaling.rows)
        copy_values(c, <const uint8_t*>(x + p * c.plan.segment), c.plan.segment, &steps, copy + p * c.plan.row_bytes)
        t.terms[p] = -(steps.zero_point + value_offset(True))
        t.inverses[p] = steps.inverse


cdef void pad_image(const ConvI8* c, const uint8_t* x, const Steps8* steps, uint8_t* image) noexcept nogil:
    """The part of an image that windows see, as vi_dot4 takes it, with the zero point around it."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = x_size(c)
    cdef ptrdiff_t height = c.plan.image_bytes / c.plan.row_bytes
    cdef ptrdiff_t pixel = g.ic * PARTS8
    cdef ptrdiff_t width = c.plan.row_bytes / pixel
    cdef ptrdiff_t inner = g.iw if g.pad_w + g.iw < width else width - g.pad_w
    cdef int zero = (steps.zero_point + value_offset(True) if c.dynamic else c.x_zero_point + value_offset(c.is_signed)) & 255
    cdef ptrdiff_t oy
    for oy in range(height):
        if oy < g.pad_h or oy - g.pad_h >= g.ih or inner <= 0:
            fill_values8(image, zero, width * g.ic)
        else:
            fill_values8(image, zero, g.pad_w * g.ic)
            copy_values(c, x + (oy - g.pad_h) * g.iw * g.ic * size, inner * g.ic, steps, image + g.pad_w * pixel)
            fill_values8(image + (g.pad_w + inner) * pixel, zero, (width - g.pad_w - inner) * g.ic)
        image += c.plan.row_bytes


cdef void copy_values(const ConvI8* c, const uint8_t* x, ptrdiff_t n, const Steps8* steps, uint8_t* y) noexcept nogil:
    """n values as vi_dot4 takes them, of value_bytes bytes."""
    cdef ptrdiff_t size = value_bytes(c)
    cdef uint8_t* quantized = y + (size - 1) * n
    cdef ptrdiff_t i
    if c.dynamic:
        quantize_bytes(<const float*>x, n, steps, value_flip(True) == 0, quantized)
        if size > 1:
            copy_values8(quantized, 0, n, y)
    elif size == PARTS8:
        copy_values8(x, value_flip(c.is_signed), n, y)
    else:
        for i in range(n):
            y[i] = <uint8_t>(x[i] ^ value_flip(c.is_signed))


cdef void run_image(const ConvI8* c, const uint8_t* x, uint8_t* scratch, uint8_t* y) noexcept nogil:
    """Windows over images."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = x_size(c)
    cdef ptrdiff_t step_h = g.stride_h * c.plan.row_bytes
    cdef ptrdiff_t n, first, group, p
    cdef const uint8_t* image = scratch
    cdef const uint8_t* window
    cdef Steps8 steps
    cdef Positions8 t
    start_positions(c, &t)
    t.step = g.stride_w * g.ic * PARTS8
    t.width = g.ow
    t.skip = step_h - g.ow * t.step
    for n in range(g.batches):
        if c.plan.direct:
            image = x
        else:
            if c.dynamic:
                steps = steps_of_row(<const float*>x, g.ih * g.iw * g.ic, c.scaling.rows)
                for p in range(min(c.plan.together, g.oh * g.ow)):
                    t.terms[p] = -(steps.zero_point + value_offset(True))
                    t.inverses[p] = steps.inverse
            pad_image(c, x, &steps, scratch)
        first = 0
        while first < g.oh * g.ow:
            t.count = g.oh * g.ow - first if g.oh * g.ow - first < c.plan.together else c.plan.together
            t.column = first % g.ow
            window = image + first / g.ow * step_h + t.column * t.step
            for group in range(g.groups):
                t.x = window + group * g.group_ic * PARTS8
                if t.has_terms:
                    tile8_row_sums(&t, c.packing.ones, c.plan.row_factor)
                multiply_positions(c, &t, group, scratch, y + first * g.oc * c.y_size)
            first += t.count
        x += g.ih * g.iw * g.ic * size
        y += g.oh * g.ow * g.oc * c.y_size


cdef void run_conv_i8(const ConvI8* c, const void* x, void* scratch, void* y) noexcept nogil:
    if c.plan.flat:
        run_flat(c, <const uint8_t*>x, <uint8_t*>scratch, <uint8_t*>y)
    else:
        run_image(c, <const uint8_t*>x, <uint8_t*>scratch, <uint8_t*>y)


cdef void fill_conv_i8(ConvI8Kernels* table) noexcept:
    table.plan = plan_conv_i8
