"""Ranges of a convolution or product: a band of its output rows is a convolution of its own, and so is a range of a product's columns.

    Ranges ranges = ranges_of(&plan)                      # what its units are
    run_range(&plan, x, scratch, y, first, end)           # any range of them, in any order, each with scratch memory of its own
    time_of(&plan)                                        # nanoseconds of all of them, roughly

The plan is copied and made smaller; the kernels know nothing of ranges. What a plan says about the first row of a band may lie inside of the image
(negative padding). The bytes are those of the whole, as each output has the same chain of sums in every band.

| units | of |
| --- | --- |
| positions | a pointwise product; any convolution, whole rows |
| columns: panels, or fours of tiles | a product of few positions; in float32 of one, also a single output row, or many more
  weights than other values: so each core reads its own weights |
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t

from tflm_cy.arithmetic.image_rows cimport Rows, rows_at
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.conv_i8 cimport ConvI8, x_size
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8
from tflm_cy.simd.conv_f32 cimport ConvF32

cdef enum:
    TILE_POSITIONS = 16          # a range of positions has no fewer; in vectors half of them, if there are fewer than two such ranges,
    LEAST_POSITIONS = 4          # but no fewer than these
    FEW_POSITIONS = 100
    FEWEST_PANELS = 4            # that are shared

ctypedef fused Depthwise:
    DepthwiseI8
    DepthwiseF32

ctypedef fused Divisible:
    ConvI8
    ConvF32
    DepthwiseI8
    DepthwiseF32

cdef struct Ranges:
    ptrdiff_t units
    ptrdiff_t granularity
    ptrdiff_t min_chunk
    bint per_position                   # units are the output's positions
    bint pointwise               # and each needs x at the same position only
    const ConvShape* window      # of the rows; NULL: not rows

cdef struct Band:                # some rows of one image, or all rows of some images
    ConvShape shape
    ptrdiff_t image              # the first one
    ptrdiff_t row                # of the output, the first one there


cdef inline ptrdiff_t positions(const ConvShape* g) noexcept nogil:
    return g.batches * g.oh * g.ow


cdef inline Ranges ranges_of_positions(const ConvShape* g, bint flat) noexcept nogil:
    """Positions of a product, or output rows."""
    cdef Ranges ranges
    ranges.units = positions(g)
    ranges.granularity = 1 if flat else g.ow
    ranges.min_chunk = 1
    ranges.per_position = True
    ranges.pointwise = flat
    ranges.window = NULL if flat else g
    return ranges


cdef inline Ranges ranges_of_columns(ptrdiff_t columns, ptrdiff_t unit) noexcept nogil:
    cdef Ranges ranges
    ranges.units = (columns + unit - 1) / unit
    ranges.granularity = ranges.min_chunk = 1
    ranges.per_position = ranges.pointwise = False
    ranges.window = NULL
    return ranges


cdef inline ConvShape rows_of(const ConvShape* g, ptrdiff_t first, ptrdiff_t rows) noexcept nogil:
    """Some output rows of one image."""
    cdef ConvShape shape = g[0]
    shape.batches = 1
    shape.oh = rows
    shape.pad_h = g.pad_h - first * g.stride_h
    return shape


cdef inline ptrdiff_t band_at(const ConvShape* g, ptrdiff_t row, ptrdiff_t end, Band* band) noexcept nogil:
    """The band that begins with an output row, counted over all images; returns the row behind it, `end` at most."""
    cdef Rows rows
    cdef ptrdiff_t behind = rows_at(g.oh, row, end, &rows)
    band.image, band.row = rows.image, rows.first
    if rows.end - rows.first < g.oh:
        band.shape = rows_of(g, rows.first, rows.end - rows.first)
        return behind
    band.shape = g[0]
    band.shape.batches = (end - row) / g.oh
    return row + band.shape.batches * g.oh


cdef inline bint by_tiles(const ConvI8* c) noexcept nogil:
    return c.tiles.share_columns and positions(&c.shape) < FEW_POSITIONS


cdef inline bint by_panels(const ConvI8* c) noexcept nogil:
    return c.plan.flat and c.tiles.panel_columns == 0 and positions(&c.shape) < 2 * LEAST_POSITIONS


cdef inline Ranges ranges_of_conv_i8(const ConvI8* c) noexcept nogil:
    cdef Ranges ranges
    if by_tiles(c):
        return ranges_of_columns(c.tiles.columns, 4)
    if by_panels(c):
        return ranges_of_columns(c.plan.group_columns, c.plan.panel_columns)
    ranges = ranges_of_positions(&c.shape, c.plan.flat)
    if c.dynamic:
        ranges.window = NULL        # the whole image says how it is quantized
    if c.plan.flat:
        ranges.granularity = c.tiles.positions_per_row if c.tiles.share_columns else 1
        ranges.min_chunk = max(min(ranges.units / 2, <ptrdiff_t>TILE_POSITIONS), <ptrdiff_t>LEAST_POSITIONS)
        if c.tiles.share_columns:
            ranges.min_chunk = TILE_POSITIONS * ranges.granularity
    return ranges


cdef inline void run_range_conv_i8(const ConvI8* c, const void* x, void* scratch, void* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = x_size(c)
    cdef ConvI8 part = c[0]
    cdef Band band
    cdef ptrdiff_t row, inside
    if by_tiles(c):
        part.tiles.first = 4 * first
        part.tiles.end = 4 * end if 4 * end < c.tiles.columns else c.tiles.columns
        c.run(&part, x, scratch, y)
        return
    if by_panels(c):
        run_columns_conv_i8(c, x, scratch, y, first * c.plan.panel_columns, end * c.plan.panel_columns)
        return
    if c.plan.flat:
        part.shape.batches = end - first
        part.shape.oh = part.shape.ow = 1
        c.run(&part, <const uint8_t*>x + first * g.ic * size, scratch, <uint8_t*>y + first * g.oc * c.y_size)
        return
    row = first / g.ow
    while row * g.ow < end:
        row = band_at(g, row, (end + g.ow - 1) / g.ow, &band)
        part.shape = band.shape
        part.plan.image_bytes = ((band.shape.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1) * c.plan.row_bytes
        inside = 0
        if not c.dynamic and part.shape.pad_h < 0:      # dynamic: the whole image says how it is quantized
            inside = -part.shape.pad_h
            part.shape.pad_h = 0
            part.shape.ih = g.ih - inside
        c.run(
            &part, <const uint8_t*>x + (band.image * g.ih + inside) * g.iw * g.ic * size, scratch,
            <uint8_t*>y + (band.image * g.oh + band.row) * g.ow * g.oc * c.y_size)


cdef inline void run_columns_conv_i8(const ConvI8* c, const void* x, void* scratch, void* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    cdef ConvI8 band = c[0]
    if end > c.plan.group_columns:
        end = c.plan.group_columns
    if first >= c.shape.oc:
        return
    band.plan.group_columns = end - first
    band.plan.first_column = first
    band.shape.oc = (end if end < c.shape.oc else c.shape.oc) - first
    band.packing.panels = c.packing.panels + first / c.plan.panel_columns
    band.packing.bias = c.packing.bias + first
    band.packing.scales = c.packing.scales + first
    band.packing.float_bias = c.packing.float_bias + first
    c.run(&band, x, scratch, <uint8_t*>y + first * c.y_size)


cdef inline double conv_i8_time(const ConvI8* c) noexcept nogil:
    """Nanoseconds, roughly: sums, outputs, and what is copied."""
    cdef const ConvShape* g = &c.shape
    cdef double outputs = <double>positions(g) * g.oc
    cdef double rate = 100 if positions(g) == 1 else 500 if c.tiles.panel_columns > 0 else 200      # one position: until the weights are there
    return outputs * (g.kh * g.kw * g.group_ic) / rate + outputs * 0.06 + (0 if c.plan.flat or c.plan.direct else c.plan.image_bytes * g.batches * 0.02)


cdef inline Ranges ranges_of_rows(const ConvShape* g, ptrdiff_t rows) noexcept nogil:
    """Any rows, so that few are shared evenly, but nearly as many as a pass computes."""
    cdef Ranges ranges = ranges_of_positions(g, False)
    ranges.min_chunk = ranges.granularity * (rows if rows < 3 else 3)
    return ranges


cdef inline Ranges ranges_of_depthwise_i8(const DepthwiseI8* d) noexcept nogil:
    return ranges_of_rows(&d.shape, d.rows * d.apart)


cdef inline double depthwise_i8_time(const DepthwiseI8* d) noexcept nogil:
    return <double>positions(&d.shape) * d.shape.oc * (d.shape.kh * d.shape.kw + 1) / 80


cdef inline bint by_columns32(const ConvF32* c) noexcept nogil:
    """Many more weights than inputs and outputs, half of which another core has written then. Each range gathers all windows."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t weights = g.kh * g.kw * g.group_ic * g.oc
    if c.flat and positions(g) == 1:
        return True
    if not c.flat and g.groups == 1 and g.batches * g.oh == 1:
        return True
    return (c.flat or c.gathered > 0) and c.panels >= FEWEST_PANELS and weights > 4 * g.batches * (g.ih * g.iw * g.ic + g.oh * g.ow * g.oc)


cdef inline Ranges ranges_of_conv_f32(const ConvF32* c) noexcept nogil:
    cdef Ranges ranges
    if not by_columns32(c):
        return ranges_of_positions(&c.shape, c.flat)
    ranges = ranges_of_columns(c.panels, 1)
    if c.gathered > 0:
        ranges.min_chunk = c.panels / 2
    return ranges


cdef inline void run_range_conv_f32(const ConvF32* c, const float* x, void* scratch, float* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef ConvF32 part = c[0]
    cdef Band band
    cdef ptrdiff_t row
    if by_columns32(c):
        run_columns_conv_f32(c, x, scratch, y, first, end)
        return
    if c.flat:
        part.shape.batches = end - first
        part.shape.oh = part.shape.ow = 1
        c.run(&part, x + first * g.ic, scratch, y + first * g.oc)
        return
    row = first / g.ow
    while row * g.ow < end:
        row = band_at(g, row, (end + g.ow - 1) / g.ow, &band)
        part.shape = band.shape
        c.run(&part, x + band.image * g.ih * g.iw * g.ic, scratch, y + (band.image * g.oh + band.row) * g.ow * g.oc)


cdef inline ptrdiff_t vectors_before32(const ConvF32* c, ptrdiff_t panel) noexcept nogil:
    """Of the panels before one: they share the vectors evenly, the first ones have what is left over."""
    return panel * (c.vectors / c.panels) + (panel if panel < c.vectors % c.panels else c.vectors % c.panels)


cdef inline void run_columns_conv_f32(const ConvF32* c, const float* x, void* scratch, float* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    """Whole panels of columns."""
    cdef ptrdiff_t before = vectors_before32(c, first)
    cdef ConvF32 band = c[0]
    cdef ptrdiff_t width, columns
    width = c.packed_columns / c.vectors
    columns = c.shape.oc - before * width
    band.panels = end - first
    band.vectors = vectors_before32(c, end) - before
    if columns > band.vectors * width:
        columns = band.vectors * width
    band.shape.oc = columns
    band.packed = c.packed + before * width * (c.shape.kh * c.shape.kw * c.shape.group_ic + 1)
    band.first_column = before * width
    c.run(&band, x, scratch, y + before * width)


cdef inline double conv_f32_time(const ConvF32* c) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef double outputs = <double>positions(g) * g.oc
    return outputs * (g.kh * g.kw * g.group_ic + 2) / (80 if positions(g) > 1 else 25)        # one position: until the weights are there


cdef inline Ranges ranges_of_depthwise_f32(const DepthwiseF32* d) noexcept nogil:
    return ranges_of_rows(&d.shape, d.rows)


cdef inline double depthwise_f32_time(const DepthwiseF32* d) noexcept nogil:
    return <double>positions(&d.shape) * d.shape.ic * (d.shape.kh * d.shape.kw + 2) / 40


cdef inline void run_range_depthwise(const Depthwise* d, const void* x, void* scratch, void* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    cdef ptrdiff_t size = sizeof(float) if Depthwise is DepthwiseF32 else 1
    cdef const ConvShape* g = &d.shape
    cdef Depthwise part = d[0]
    cdef Band band
    cdef ptrdiff_t row = first / g.ow
    while row * g.ow < end:
        row = band_at(g, row, (end + g.ow - 1) / g.ow, &band)
        part.shape = band.shape
        d.run(
            &part, <const uint8_t*>x + band.image * g.ih * g.iw * g.ic * size, scratch,
            <uint8_t*>y + (band.image * g.oh + band.row) * g.ow * g.oc * size)


# ---- whichever it is
cdef inline Ranges ranges_of(const Divisible* k) noexcept nogil:
    if Divisible is ConvI8:
        return ranges_of_conv_i8(k)
    elif Divisible is ConvF32:
        return ranges_of_conv_f32(k)
    elif Divisible is DepthwiseI8:
        return ranges_of_depthwise_i8(k)
    else:
        return ranges_of_depthwise_f32(k)


cdef inline double time_of(const Divisible* k) noexcept nogil:
    if Divisible is ConvI8:
        return conv_i8_time(k)
    elif Divisible is ConvF32:
        return conv_f32_time(k)
    elif Divisible is DepthwiseI8:
        return depthwise_i8_time(k)
    else:
        return depthwise_f32_time(k)


cdef inline void run_range(const Divisible* k, const void* x, void* scratch, void* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    if Divisible is ConvI8:
        run_range_conv_i8(k, x, scratch, y, first, end)
    elif Divisible is ConvF32:
        run_range_conv_f32(k, <const float*>x, scratch, <float*>y, first, end)
    else:
        run_range_depthwise(k, x, scratch, y, first, end)
