# How a convolution is cut into tiles, and its weights packed: what amx.pyx does before the first invoke.


cdef bint plan_tiles(ConvI8* c) noexcept nogil:
    """As plan_conv_i8: tiles, or vectors where they are faster."""
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t positions = g.batches * g.oh * g.ow
    cdef ptrdiff_t tiles
    if not vectors.conv_i8.plan(c):
        return False
    if g.groups != 1:
        return True
    tiles = plan_positions(c)
    c.tiles.columns = (columns_of(c) + TILE - 1) / TILE
    if <double>positions * g.oc * (c.plan.segments * c.plan.segment) < SMALL or positions < 4:
        return True
    if tiles * c.tiles.columns * c.tiles.steps * TILE_TIME > positions * ((g.oc + TILE - 1) / TILE) * c.plan.steps * VECTOR_TIME:
        return True
    c.tiles.panel_columns = best_panel(c, tiles)
    if c.tiles.gathered or c.tiles.positions_per_row > 1:
        c.plan.segment = c.plan.segments * window_row(g, c.tiles.positions_per_row)
        c.plan.segments = 1
    plan_copies(c)
    plan_tile_memory(c)
    c.tiles.share_columns = c.finish == NULL     # what finishes wants the sums of all columns
    c.tiles.first = 0
    c.tiles.end = c.tiles.columns
    c.pack = pack_tiles
    c.run = run_tiles
    return True


cdef ptrdiff_t plan_positions(ConvI8* c) noexcept nogil:
    """Which positions are a tile, and the steps of their windows. How many tiles that makes."""
    cdef ConvShape* g = &c.shape
    cdef PlanI8* p = &c.plan
    cdef TilesI8* t = &c.tiles
    cdef ptrdiff_t whole_windows = (p.segments * p.segment + STEP - 1) / STEP
    t.steps = p.segments * ((p.segment + STEP - 1) / STEP)
    t.positions_per_row = 1
    t.across = t.sampled = 0
    t.gathered = not p.flat and p.segments == g.kh <= MOST_GATHERED and p.segment <= LARGEST_GATHERED and 2 * whole_windows <= t.steps
    if t.gathered:
        t.steps = whole_windows
        t.positions_per_row = most_positions_per_row(c)
        return g.batches * ((g.oh * g.ow / t.positions_per_row + TILE - 1) / TILE)
    if p.flat:
        t.positions_per_row = most_positions_per_row(c) if c.slack and not c.dynamic else 1
        return (g.batches * g.oh * g.ow / t.positions_per_row + TILE - 1) / TILE
    return plan_rows_of_tiles(c)


cdef ptrdiff_t plan_rows_of_tiles(ConvI8* c) noexcept nogil:
    """Tiles of an image's windows: within its rows, across them, or of a copy of its pixels. How many."""
    cdef ConvShape* g = &c.shape
    cdef TilesI8* t = &c.tiles
    cdef ptrdiff_t padded_w = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
    cdef ptrdiff_t tiles_across = g.batches * (((g.oh - 1) * padded_w + g.ow + TILE - 1) / TILE)
    cdef ptrdiff_t tiles
    if g.ow >= TILE:
        tiles = g.batches * g.oh * ((g.ow + TILE - 1) / TILE)
        t.across = g.stride_w == 1 and g.stride_h == 1 and 8 * tiles_across <= 7 * tiles
        return tiles_across if t.across else tiles
    t.sampled = g.kh == 1 and g.kw == 1 and g.pad_h == 0 and g.pad_w == 0 and not c.dynamic and inside(g)
    if t.sampled:
        return g.batches * ((g.oh * g.ow + TILE - 1) / TILE)
    t.across = g.stride_w == 1 and g.stride_h == 1
    return tiles_across if t.across else g.batches * g.oh


cdef ptrdiff_t best_panel(const ConvI8* c, ptrdiff_t tiles) noexcept nogil:
    """Tiles of columns. Two of them by two of positions load less, four by one go through x once, one by four through the weights."""
    cdef const ConvShape* g = &c.shape
    if (tiles == 3 or tiles == 4) and c.tiles.steps >= FEWEST_STEPS:
        return 1
    if g.ic * g.stride_w < TILE and not c.tiles.gathered:        # rows of x lie across lines of the cache, and loading them takes twice as long
        return 4
    return 2 if (tiles == 2 or tiles > 3) and c.tiles.steps >= (12 if c.plan.flat else 6) else 4


cdef void plan_tile_memory(ConvI8* c) noexcept nogil:
    cdef TilesI8* t = &c.tiles
    cdef ptrdiff_t most_extra = t.steps + DEAREST_EXTRA if c.plan.row_factor != 0 else 0        # or as many tiles of ones: packing decides
    if c.finish != NULL:
        c.plan.sums_at = round_up(c.scratch_bytes, 64)
        c.scratch_bytes = c.plan.sums_at + chunk_of(c) * TILE * TILE * t.columns * <ptrdiff_t>sizeof(int32_t)
    c.packed_bytes = (
        round_up(panels_of(c) * sizeof(PackedPanel), 64) + round_up(4 * (panels_of(c) * t.steps + most_extra), 64)
        + 3 * 4 * TILE * t.columns + (t.columns * t.steps + most_extra) * TILE_BYTES + TAIL
    )
    if t.positions_per_row > 1:
        c.packed_bytes += columns_of(c) * c.plan.segment
    c.spare_bytes = most_extra * TILE_BYTES


cdef ptrdiff_t columns_of(const ConvI8* c) noexcept nogil:
    """Of a row of a tile: the channels of each position that it computes."""
    return c.tiles.positions_per_row * c.shape.oc


cdef ptrdiff_t window_row(const ConvShape* g, ptrdiff_t positions_per_row) noexcept nogil:
    """Bytes of a row of so many neighbours' windows together."""
    return ((positions_per_row - 1) * g.stride_w + g.kw) * g.ic


cdef ptrdiff_t most_positions_per_row(const ConvI8* c) noexcept nogil:
    """How many neighbouring positions one row of a tile computes: their windows overlap and fill its steps, their channels its columns."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t n = MOST_POSITIONS_PER_ROW if c.finish == NULL and 0 <= c.w_zero_point <= 255 else 1
    cdef ptrdiff_t row
    while n > 1:
        row = window_row(g, n)
        if (
            g.ow % n == 0 and g.oh * g.ow >= n * FEWEST_WIDE_ROWS and n * g.oc <= 8 * TILE
            and g.kh * row <= STEP * c.tiles.steps and (c.plan.flat or row <= LARGEST_GATHERED)
        ):
            return n
        n /= 2
    return 1


cdef ptrdiff_t panels_of(const ConvI8* c) noexcept nogil:
    return (c.tiles.columns + c.tiles.panel_columns - 1) / c.tiles.panel_columns


cdef ptrdiff_t tiles_of_panel(const ConvI8* c, ptrdiff_t panel) noexcept nogil:
    """Of columns."""
    cdef ptrdiff_t left = c.tiles.columns - panel * c.tiles.panel_columns
    return left if left < c.tiles.panel_columns else c.tiles.panel_columns


cdef void plan_extra_steps(ConvI8* c, const uint8_t* w, ptrdiff_t row) noexcept nogil:
    """How many there are, and whether they are fewer than what the sums of windows' bytes take."""
    cdef ptrdiff_t panel, step, steps
    c.packing.zero_point_folded = False
    c.packing.extra_steps = c.packing.extra_tiles = 0
    if c.plan.row_factor == 0 or c.w == NULL or c.w_zero_point < 1 or c.w_zero_point > 255:
        return
    for panel in range(panels_of(c)):
        steps = 0
        if leaves_range(c, w, row, panel, 0, c.plan.segments * c.plan.segment):
            for step in range(c.tiles.steps):
                steps += leaves_range(c, w, row, panel, tap_of(c, step), taps_of(c, step))
        c.packing.extra_steps += steps
        c.packing.extra_tiles += steps * tiles_of_panel(c, panel)
    c.packing.zero_point_folded = c.packing.extra_tiles <= c.tiles.steps + DEAREST_EXTRA
    if not c.packing.zero_point_folded:
        c.packing.extra_steps = c.packing.extra_tiles = 0


cdef bint leaves_range(const ConvI8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t panel, ptrdiff_t tap, ptrdiff_t taps) noexcept nogil:
    """Is one of these weights less the zero point no int8?"""
    cdef ptrdiff_t first = panel * c.tiles.panel_columns * TILE
    cdef ptrdiff_t column
    for column in range(first, min(first + c.tiles.panel_columns * TILE, columns_of(c))):
        if any_far(w + column * row + tap, taps, c.w_zero_point):
            return True
    return False


cdef ptrdiff_t tap_of(const ConvI8* c, ptrdiff_t step) noexcept nogil:
    """A step's first tap."""
    cdef ptrdiff_t per_segment = (c.plan.segment + STEP - 1) / STEP
    return step / per_segment * c.plan.segment + step % per_segment * STEP


cdef ptrdiff_t taps_of(const ConvI8* c, ptrdiff_t step) noexcept nogil:
    cdef ptrdiff_t left = c.plan.segment - step % ((c.plan.segment + STEP - 1) / STEP) * STEP
    return left if left < STEP else STEP


cdef void plan_copies(ConvI8* c) noexcept nogil:
    """What of x is copied, and the scratch memory: descriptions of the tiles, waiting sums, outputs thrown away, the copy."""
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t positions = g.batches * g.oh * g.ow
    cdef ptrdiff_t padded_h = (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1
    cdef ptrdiff_t padded_w = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
    cdef bint behind = c.plan.segment % STEP != 0       # the last step reads behind its stretch
    c.scratch_bytes = round_up(CHUNK * sizeof(Positions), 64) + round_up(sizeof(Pipeline), 64) + round_up(c.y_size * columns_of(c), 64) + 4 * TAIL
    if c.plan.flat:
        c.plan.direct = not c.dynamic and positions >= TILE and (c.slack or not behind)
        c.plan.row_bytes = c.tiles.positions_per_row * g.ic
        if not c.plan.direct:
            c.plan.row_bytes = round_up(g.ic, STEP)
            c.scratch_bytes += round_up(positions if positions < CHUNK * TILE else CHUNK * TILE, TILE) * c.plan.row_bytes
        return
    c.plan.direct = not c.dynamic and g.pad_h == 0 and g.pad_w == 0 and inside(g) and not c.tiles.across and g.ow >= TILE and (c.slack or not behind)
    if c.tiles.gathered:
        c.plan.direct = not c.dynamic                   # windows are copied anyway
    if c.tiles.sampled:
        c.plan.direct = False
        c.plan.row_bytes = g.ow * g.ic
        c.plan.image_bytes = g.oh * c.plan.row_bytes
        c.scratch_bytes += c.plan.image_bytes + TILE * g.ic + TAIL
        return
    c.plan.row_bytes = g.iw * g.ic if c.plan.direct else padded_w * g.ic
    c.plan.image_bytes = padded_h * padded_w * g.ic
    if not c.plan.direct:
        c.scratch_bytes += c.plan.image_bytes + TILE * g.stride_w * g.ic + TAIL
    if c.tiles.gathered:
        c.tiles.windows_at = round_up(c.scratch_bytes, 64)
        c.scratch_bytes = c.tiles.windows_at + chunk_of(c) * TILE * STEP * c.tiles.steps + TAIL


cdef void pack_tiles(ConvI8* c, const void* w, ptrdiff_t row) noexcept nogil:
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t columns = TILE * c.tiles.columns
    cdef PackedPanel* panels = <PackedPanel*>c.packed
    cdef uint8_t* at = c.packed + round_up(panels_of(c) * sizeof(PackedPanel), 64)
    cdef int32_t* offsets = <int32_t*>at
    cdef int32_t* sums
    cdef float* scales
    cdef float* f_bias
    cdef int8_t* ones
    cdef ptrdiff_t panel, tiles, step, column
    if c.tiles.positions_per_row > 1:
        w = widen_filters(c, <const uint8_t*>w, row, c.packed + c.packed_bytes - columns_of(c) * c.plan.segment)
        row = c.plan.segment
    plan_extra_steps(c, <const uint8_t*>w, row)
    clear_spare_tiles(c)
    at += round_up(4 * (panels_of(c) * c.tiles.steps + c.packing.extra_steps), 64)
    sums = <int32_t*>at
    scales = <float*>(sums + columns)
    f_bias = scales + columns
    ones = <int8_t*>(f_bias + columns)
    at = <uint8_t*>ones
    c.packing.bias, c.packing.w_sums, c.packing.scales, c.packing.float_bias, c.packing.tile_ones, c.packing.panels = sums, sums, scales, f_bias, ones, panels
    if c.plan.row_factor != 0 and not c.packing.zero_point_folded:
        for step in range(c.tiles.steps):
            pack_ones(ones + step * TILE_BYTES, taps_of(c, step))
        at += c.tiles.steps * TILE_BYTES
    for panel in range(panels_of(c)):
        tiles = tiles_of_panel(c, panel)
        panels[panel].offsets, panels[panel].w, panels[panel].steps = offsets, at, <int32_t>c.tiles.steps
        for step in range(c.tiles.steps):
            offsets[step] = offset_of(c, step)
        offsets += c.tiles.steps
        pack_tile_columns(c, <const uint8_t*>w, row, panel * c.tiles.panel_columns, tiles, at)
        at += tiles * c.tiles.steps * TILE_BYTES
        if c.packing.extra_steps > 0 and leaves_range(c, <const uint8_t*>w, row, panel, 0, c.plan.segments * c.plan.segment):
            for step in range(c.tiles.steps):
                if leaves_range(c, <const uint8_t*>w, row, panel, tap_of(c, step), taps_of(c, step)):
                    pack_extra_step(c, <const uint8_t*>w, row, panel * c.tiles.panel_columns, tiles, step, <int8_t*>at)
                    panels[panel].steps += 1
                    offsets[0] = offset_of(c, step)
                    offsets += 1
                    at += tiles * TILE_BYTES
    for column in range(columns_of(c)):
        pack_constants(c, w, row, column % g.oc, column, 0, sums, scales, f_bias)
    c.packing.near_zero = c.finish == NULL and not c.dynamic
    for column in range(0 if c.plan.magic_bias else columns_of(c)):
        if c.packing.near_zero and not stays_near_zero(c, sums[column], scales[column]):
            c.packing.near_zero = False


cdef void clear_spare_tiles(const ConvI8* c) noexcept nogil:
    """As many as there are extra ones, or ones for the sums of windows; widened filters are behind them."""
    cdef ptrdiff_t tiles = 0 if c.plan.row_factor == 0 else c.packing.extra_tiles if c.packing.zero_point_folded else c.tiles.steps
    cdef ptrdiff_t used = tiles * TILE_BYTES - (columns_of(c) * c.plan.segment if c.tiles.positions_per_row > 1 else 0)
    if used > 0:
        memset(c.packed + c.packed_bytes - c.spare_bytes, 0, used)


cdef const uint8_t* widen_filters(const ConvI8* c, const uint8_t* w, ptrdiff_t row, uint8_t* wide) noexcept nogil:
    """Filters over the windows of several positions: each position's channels at its place, 0 elsewhere."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t taps = g.kw * g.ic
    cdef ptrdiff_t n, channel, r
    cdef uint8_t* at
    memset(wide, 0 if c.is_signed or c.dynamic else c.w_zero_point, columns_of(c) * c.plan.segment)
    for n in range(c.tiles.positions_per_row):
        for channel in range(g.oc):
            at = wide + (n * g.oc + channel) * c.plan.segment + n * g.stride_w * g.ic
            for r in range(g.kh):
                memcpy(at + r * window_row(g, c.tiles.positions_per_row), w + channel * row + r * taps, taps)
    return wide


cdef bint stays_near_zero(const ConvI8* c, int32_t bias, float scale) noexcept nogil:
    """Can a column's sums, whatever x and the weights are, be rounded as floats below 2^22? False for scales that are no number."""
    cdef double most = <double>LARGEST_PRODUCT8 * c.shape.kh * c.shape.kw * c.shape.ic + fabs(<double>bias)
    return most < 2e9 and most * fabs(scale) < 4e6


cdef int32_t offset_of(const ConvI8* c, ptrdiff_t step) noexcept nogil:
    """Where a step begins, from a window's first byte."""
    cdef ptrdiff_t per_segment = (c.plan.segment + STEP - 1) / STEP
    return <int32_t>(segment_offset(c, step / per_segment) + step % per_segment * STEP)


cdef void pack_extra_step(
    const ConvI8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t first, ptrdiff_t tiles, ptrdiff_t step, int8_t* panel,
) noexcept nogil:
    """What the step's weights leave the range of int8 by, which is an int8 as the zero point is not 0."""
    cdef ptrdiff_t tile, column, k
    for tile in range(tiles):
        for column in range(min(TILE, columns_of(c) - TILE * (first + tile))):
            for k in range(taps_of(c, step)):
                panel[tile_place(0, tiles, tile, column, k)] = far_by(
                    w[(TILE * (first + tile) + column) * row + tap_of(c, step) + k], c.w_zero_point)


cdef void pack_ones(int8_t* ones, ptrdiff_t n) noexcept nogil:
    """A tile with 1 at the first n taps of each column."""
    cdef ptrdiff_t column, k
    memset(ones, 1, n / 4 * 64)
    for column in range(TILE):
        for k in range(n / 4 * 4, n):
            ones[tile_place(0, 1, 0, column, k)] = 1


cdef ptrdiff_t tile_place(ptrdiff_t step, ptrdiff_t tiles, ptrdiff_t tile, ptrdiff_t column, ptrdiff_t k) noexcept nogil:
    """Where tap k of a step and a column lies in a panel."""
    return (step * tiles + tile) * TILE_BYTES + (k / 4) * 64 + column * 4 + k % 4


cdef void pack_tile_columns(
    const ConvI8* c, const uint8_t* w, ptrdiff_t row, ptrdiff_t first, ptrdiff_t tiles, uint8_t* panel,
) noexcept nogil:
    """The weights of a panel, whose tiles of columns are those from `first` on."""
    cdef int less = c.w_zero_point - 128 if c.packing.zero_point_folded else 0
    cdef ptrdiff_t tile, column, step
    for tile in range(tiles):
        column = TILE * (first + tile)
        for step in range(c.tiles.steps):
            turn_taps(
                w + column * row + tap_of(c, step), row, min(TILE, columns_of(c) - column), taps_of(c, step),
                c.plan.w_offset, less, panel + tile_place(step, tiles, tile, 0, 0), 64)
