"""Parts of a convolution or product: a band of its output rows is a convolution of its own, and so is a range of a product's columns.

    run_band_conv8(&plan, x, scratch, y, part, parts)       # part 0 .. parts - 1, in any order, each with scratch memory of its own

The plan is copied and made smaller; the kernels know nothing of parts. What a plan says about the first row of a band may lie inside of the image
(negative padding), and bands end where tiles of positions do. Parts may be empty. The bytes are those of the whole, as each output
has the same chain of sums in every band.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t

from tflm_cy.arithmetic.conv cimport ConvShape
from tflm_cy.simd.conv8 cimport Conv8
from tflm_cy.simd.depthwise32 cimport Depthwise32
from tflm_cy.simd.depthwise8 cimport Depthwise8
from tflm_cy.simd.product32 cimport Product32

cdef enum:
    POSITIONS = 16               # of a tile: a band of positions has no fewer
    FEW_POSITIONS = 100          # below, the columns are shared: each core then reads its own weights


cdef inline ptrdiff_t band_begin(ptrdiff_t total, ptrdiff_t unit, ptrdiff_t part, ptrdiff_t parts) noexcept nogil:
    """Where a part begins, in whole units; the last one takes what is left over."""
    return total if part >= parts else total / unit * part / parts * unit


cdef inline bint few_positions(const Conv8* c) noexcept nogil:
    return c.tile_columns and c.shape.batches * c.shape.oh * c.shape.ow < FEW_POSITIONS


cdef inline void run_band_conv8(const Conv8* c, const void* x, void* scratch, void* y, ptrdiff_t part, ptrdiff_t parts) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = 4 if c.dynamic else 1
    cdef ptrdiff_t positions = g.batches * g.oh * g.ow
    cdef ptrdiff_t first, end, n, inside
    cdef Conv8 band = c[0]
    if few_positions(c):
        band.first_tile = band_begin(c.column_tiles, 4, part, parts)
        band.end_tile = band_begin(c.column_tiles, 4, part + 1, parts)
        if band.first_tile < band.end_tile:
            c.run(&band, x, scratch, y)
        return
    if c.flat and positions == 1:
        run_columns_conv8(c, x, scratch, y, part, parts)
        return
    if c.flat:
        first = band_begin(positions, POSITIONS, part, parts)
        band.shape.batches = band_begin(positions, POSITIONS, part + 1, parts) - first
        band.shape.oh = band.shape.ow = 1
        if band.shape.batches > 0:
            c.run(&band, <const uint8_t*>x + first * g.ic * size, scratch, <uint8_t*>y + first * g.oc * size)
        return
    first = band_begin(g.oh, 1, part, parts)
    end = band_begin(g.oh, 1, part + 1, parts)
    if first >= end:
        return
    band.shape.batches = 1
    band.shape.oh = end - first
    band.image_bytes = ((end - first - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1) * c.row_bytes
    band.shape.pad_h = g.pad_h - first * g.stride_h
    inside = 0
    if not c.dynamic and band.shape.pad_h < 0:          # dynamic: the whole image says how it is quantized
        inside = -band.shape.pad_h
        band.shape.pad_h = 0
        band.shape.ih = g.ih - inside
    for n in range(g.batches):
        c.run(
            &band, <const uint8_t*>x + (n * g.ih + inside) * g.iw * g.ic * size, scratch, <uint8_t*>y + (n * g.oh + first) * g.ow * g.oc * size)


cdef inline void run_columns_conv8(const Conv8* c, const void* x, void* scratch, void* y, ptrdiff_t part, ptrdiff_t parts) noexcept nogil:
    """Of a single position, for which the outputs' distance does not matter."""
    cdef ptrdiff_t first = band_begin(c.group_columns, c.panel_columns, part, parts)
    cdef ptrdiff_t end = band_begin(c.group_columns, c.panel_columns, part + 1, parts)
    cdef Conv8 band = c[0]
    if first >= end or first >= c.shape.oc:
        return
    band.group_columns = end - first
    band.shape.oc = (end if end < c.shape.oc else c.shape.oc) - first
    band.panels = c.panels + first * 4 * c.steps
    band.bias = c.bias + first
    band.scales = c.scales + first
    band.float_bias = c.float_bias + first
    c.run(&band, x, scratch, <uint8_t*>y + first * (4 if c.dynamic else 1))


cdef inline double conv8_time(const Conv8* c) noexcept nogil:
    """Nanoseconds, roughly: sums, outputs, and what is copied."""
    cdef const ConvShape* g = &c.shape
    cdef double outputs = <double>(g.batches * g.oh * g.ow) * g.oc
    return outputs * (g.kh * g.kw * g.group_ic) / 500 + outputs * 0.06 + (0 if c.flat or c.direct else c.image_bytes * g.batches * 0.02)


ctypedef void (*RunBand8)(const Depthwise8* d, const void* x, void* scratch, void* y) noexcept nogil


cdef inline void run_band_depthwise8(
    RunBand8 run, const Depthwise8* d, const void* x, void* scratch, void* y, ptrdiff_t part, ptrdiff_t parts,
) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t first = band_begin(g.oh, d.rows, part, parts)
    cdef ptrdiff_t end = band_begin(g.oh, d.rows, part + 1, parts)
    cdef ptrdiff_t n
    cdef Depthwise8 band = d[0]
    if first >= end:
        return
    band.shape.batches = 1
    band.shape.oh = end - first
    band.shape.pad_h = g.pad_h - first * g.stride_h
    for n in range(g.batches):
        run(&band, <const uint8_t*>x + n * g.ih * g.iw * g.ic, scratch, <uint8_t*>y + (n * g.oh + first) * g.ow * g.oc)


cdef inline double depthwise8_time(const Depthwise8* d) noexcept nogil:
    return <double>(d.shape.batches * d.shape.oh * d.shape.ow) * d.shape.oc * (d.shape.kh * d.shape.kw + 1) / 80


ctypedef void (*RunBand32)(const Product32* c, const float* x, void* scratch, float* y) noexcept nogil


cdef inline void run_band_product32(
    RunBand32 run, const Product32* c, const float* x, void* scratch, float* y, ptrdiff_t part, ptrdiff_t parts,
) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t positions = g.batches * g.oh * g.ow
    cdef ptrdiff_t first, end, n
    cdef Product32 band = c[0]
    if c.flat and positions == 1:
        run_columns_product32(run, c, x, scratch, y, part, parts)
        return
    if c.flat:
        first = band_begin(positions, 1, part, parts)
        band.shape.batches = band_begin(positions, 1, part + 1, parts) - first
        band.shape.oh = band.shape.ow = 1
        if band.shape.batches > 0:
            run(&band, x + first * g.ic, scratch, y + first * g.oc)
        return
    first = band_begin(g.oh, 1, part, parts)
    end = band_begin(g.oh, 1, part + 1, parts)
    if first >= end:
        return
    band.shape.batches = 1
    band.shape.oh = end - first
    band.shape.pad_h = g.pad_h - first * g.stride_h
    for n in range(g.batches):
        run(&band, x + n * g.ih * g.iw * g.ic, scratch, y + (n * g.oh + first) * g.ow * g.oc)


cdef inline ptrdiff_t vectors_before32(const Product32* c, ptrdiff_t panel) noexcept nogil:
    """Of the panels before one: they share the vectors evenly, the first ones have what is left over."""
    return panel * (c.vectors / c.panels) + (panel if panel < c.vectors % c.panels else c.vectors % c.panels)


cdef inline void run_columns_product32(
    RunBand32 run, const Product32* c, const float* x, void* scratch, float* y, ptrdiff_t part, ptrdiff_t parts,
) noexcept nogil:
    """Whole panels of a single position's columns."""
    cdef ptrdiff_t first = band_begin(c.panels, 1, part, parts)
    cdef ptrdiff_t end = band_begin(c.panels, 1, part + 1, parts)
    cdef ptrdiff_t before = vectors_before32(c, first)
    cdef ptrdiff_t width, columns
    cdef Product32 band = c[0]
    if first >= end:
        return
    width = c.packed_columns / c.vectors
    columns = c.shape.oc - before * width
    band.panels = end - first
    band.vectors = vectors_before32(c, end) - before
    if columns > band.vectors * width:
        columns = band.vectors * width
    band.shape.oc = columns
    band.packed = c.packed + before * width * (c.shape.group_ic + 1)
    run(&band, x, scratch, y + before * width)


cdef inline double product32_time(const Product32* c) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    return <double>(g.batches * g.oh * g.ow) * g.oc * (g.kh * g.kw * g.group_ic + 2) / 80


ctypedef void (*RunBandDepthwise32)(const Depthwise32* d, const float* x, void* scratch, float* y) noexcept nogil


cdef inline void run_band_depthwise32(
    RunBandDepthwise32 run, const Depthwise32* d, const float* x, void* scratch, float* y, ptrdiff_t part, ptrdiff_t parts,
) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t first = band_begin(g.oh, d.rows, part, parts)
    cdef ptrdiff_t end = band_begin(g.oh, d.rows, part + 1, parts)
    cdef ptrdiff_t n
    cdef Depthwise32 band = d[0]
    if first >= end:
        return
    band.shape.batches = 1
    band.shape.oh = end - first
    band.shape.pad_h = g.pad_h - first * g.stride_h
    for n in range(g.batches):
        run(&band, x + n * g.ih * g.iw * g.ic, scratch, y + (n * g.oh + first) * g.ow * g.ic)


cdef inline double depthwise32_time(const Depthwise32* d) noexcept nogil:
    return <double>(d.shape.batches * d.shape.oh * d.shape.ow) * d.shape.ic * (d.shape.kh * d.shape.kw + 2) / 40
