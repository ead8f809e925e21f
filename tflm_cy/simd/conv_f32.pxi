# Every output is one chain: what is free is which outputs run side by side. A panel of up to PANEL32 vectors of columns meets the positions of an
# output row, a tile of them at a time; a single position meets WIDE_PANEL32 vectors. Panels share the columns evenly, so that 80 are
# 48 + 32 and not 64 + 16. Padding takes part as zeros: rows are copied, each once, to a ring of lines with zeros on both sides.
#
# Weights that the cache next to the processor does not keep cost more to read than to use: they should be met once. Then the windows of many positions,
# of several output rows, are copied one behind the other ("gathered"), and each panel meets them all before the next one is read. Panels that many
# positions meet are narrow and tiles tall: they need the next weights less often. Windows of so short output rows that their few chains would wait
# for each other are gathered, too.
#
# Long rows are not copied: windows that lie within the image are read there, and those at its left and right edge are positions of two narrow images
# with zeros beside them, whose tiles stand upright.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.xnnpack.product_order cimport FOUR_CHAINS, FOUR_LANES, TWO_CHAINS
from tflm_cy.simd.conv_f32 cimport ConvF32, ConvF32Kernels

cdef extern from "pack.h" nogil:
    void turn_dwords(
        const uint8_t* x, ptrdiff_t x_row, ptrdiff_t columns, ptrdiff_t bytes, uint8_t* y, ptrdiff_t y_row) noexcept

cdef extern from "conv_f32.h" nogil:
    enum:
        PANEL32
        WIDE_PANEL32
        TALL_PANEL32
        FEW_ROWS32
        FEW_CHAINS32
    ctypedef struct Window32:
        const float** stretches
        ptrdiff_t count
        ptrdiff_t length
        ptrdiff_t row
        ptrdiff_t y_row
        ptrdiff_t y_apart
        vf low
        vf high
        const void* finish
        ptrdiff_t column
        int order
    bint has_order32(int order) noexcept
    ptrdiff_t widest_panel32(int order) noexcept
    void panel32(const Window32* t, int vectors, ptrdiff_t positions, const float* w, ptrdiff_t n, float* y) noexcept
    void copy_columns32(const float* w, ptrdiff_t k_stride, ptrdiff_t depth, ptrdiff_t filled, ptrdiff_t wide, float* to) noexcept

cdef enum:
    LINE32 = 64                  # bytes of a cache line: what weights are aligned to
    MOST_BORDER = 64
    FAR_WEIGHTS32 = 1 << 20      # bytes of weights from which on they are far away
    GATHERED32 = 1 << 19         # bytes of windows that are gathered at once
    LONG_ROW32 = 12              # positions of an output row within the image, from which on the edges are apart
    SPARSE_ROW32 = 6             # the same with strides, where more would be copied
    UPRIGHT32 = 6                # output rows, below which they are not
    NARROW32 = 8                 # positions of a row of a grouped convolution, up to which its columns are computed instead


cdef ptrdiff_t panel_vectors32(const ConvF32* c, ptrdiff_t panel) noexcept nogil:
    if c.panels == 1:
        return c.vectors
    return c.vectors / c.panels + (1 if panel < c.vectors % c.panels else 0)


cdef ptrdiff_t padded_bytes32(ptrdiff_t floats) noexcept nogil:
    return (floats * <ptrdiff_t>sizeof(float) + LINE32 - 1) / LINE32 * LINE32


cdef ptrdiff_t gathered_floats32(ptrdiff_t depth) noexcept nogil:
    """From a gathered window to the next: an odd number of lines, so that windows do not lie on the same few places of the cache."""
    cdef ptrdiff_t line = LINE32 / <ptrdiff_t>sizeof(float)
    return ((depth + line - 1) / line | 1) * line


cdef float* aligned32(void* at) noexcept nogil:
    return <float*>((<size_t>at + LINE32 - 1) / LINE32 * LINE32)


cdef bint plan_conv_f32(ConvF32* c) noexcept nogil:
    """Fill in the plan; False where the scalar definition must serve."""
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ptrdiff_t windows                 # that are gathered at once
    cdef bint few_chains
    c.pack = pack_conv_f32
    c.run = run_conv_f32
    if not plan_windows32(c):
        return False
    few_chains = g.oh > 1 and g.ow * min(c.vectors, <ptrdiff_t>PANEL32) < FEW_CHAINS32
    if not c.flat and not has_odd_taps(c) and g.groups == 1 and depth > 0 and (few_chains or g.oc * depth * <ptrdiff_t>sizeof(float) >= FAR_WEIGHTS32):
        windows = GATHERED32 / (depth * <ptrdiff_t>sizeof(float))
        c.gathered = min(windows / g.ow, g.oh)
    if c.gathered > 0:
        c.stretches = 1
        c.length = depth
        c.scratch_bytes = 2 * LINE32 + <ptrdiff_t>sizeof(float*) + c.gathered * g.ow * gathered_floats32(depth) * <ptrdiff_t>sizeof(float)
    else:
        plan_edges32(c)
    if (g.batches * g.oh * g.ow if c.flat or c.gathered > 0 else g.ow) > FEW_ROWS32:
        c.panels = max(c.panels, c.vectors / TALL_PANEL32)
    return True


cdef bint has_odd_taps(const ConvF32* c) noexcept nogil:
    """Two sums begin anew with each tap, which must be a stretch of its own."""
    return c.order == TWO_CHAINS and c.shape.group_ic % 2 != 0


cdef bint plan_windows32(ConvF32* c) noexcept nogil:
    """How windows are read where they are, or from the ring."""
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t positions = g.batches * g.oh * g.ow
    cdef ptrdiff_t widest = PANEL32
    cdef ptrdiff_t fewest = 1            # panels
    cdef bint by_tap
    if g.oc <= 0 or g.groups <= 0 or positions <= 0 or g.pad_h < 0 or g.pad_w < 0 or g.group_ic <= 0 or not has_order32(c.order):
        return False
    by_tap = has_odd_taps(c)
    c.flat = is_pointwise(g) or (sees_whole_image(g) and not by_tap)
    if not is_pointwise(g) and (c.order == FOUR_LANES or c.order == FOUR_CHAINS):
        return False
    c.vectors = (g.oc / g.groups + VL - 1) / VL
    if c.flat and positions == 1:
        widest = widest_panel32(c.order)
        fewest = min(c.workers, c.vectors / PANEL32)
    c.gathered = c.left = c.right = 0
    c.y_row = g.oc
    c.panels = max(fewest, (c.vectors + widest - 1) / widest)
    c.packed_columns = c.vectors * VL
    c.packed_bytes = g.groups * (g.kh * g.kw * g.group_ic + 1) * c.vectors * VL * <ptrdiff_t>sizeof(float) + LINE32
    c.lines = (g.kh - 1) * g.dilation_h + 1
    c.width = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
    c.direct = c.flat or (g.pad_w == 0 and c.width <= g.iw)
    if g.pad_w >= c.width or g.pad_h >= (g.oh - 1) * g.stride_h + c.lines:
        return False
    if not c.direct and (c.lines > g.ih + MOST_BORDER or c.width > 2 * g.iw + MOST_BORDER):      # more padding than image
        return False
    if c.flat:
        c.stretches = 1
        c.length = g.kh * g.kw * g.group_ic
    elif g.groups == 1 and g.dilation_w == 1 and not by_tap:
        c.stretches = g.kh
        c.length = g.kw * g.group_ic
    else:
        c.stretches = g.kh * g.kw
        c.length = g.group_ic
    # pointers, a line of zeros, the ring
    c.scratch_bytes = 2 * LINE32 + <ptrdiff_t>sizeof(float*) * c.stretches
    if not c.flat:
        c.scratch_bytes += padded_bytes32(c.width * g.ic) * (1 if c.direct else 1 + c.lines)
    return True


cdef void plan_edges32(ConvF32* c) noexcept nogil:
    """Columns of the output at the sides are computed upright; of a grouped convolution all of them, if there are few: each call is for one group."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t reach = (g.kw - 1) * g.dilation_w + 1
    cdef ptrdiff_t rows = (g.oh - 1) * g.stride_h + c.lines
    cdef ptrdiff_t left = (g.pad_w + g.stride_w - 1) / g.stride_w
    cdef ptrdiff_t inside = (g.iw - reach + g.pad_w) / g.stride_w + 1 - left if reach <= g.iw else 0
    inside = min(inside, g.ow - left)
    if g.groups > 1 and g.ow <= NARROW32 and g.ow < g.oh and g.oh >= UPRIGHT32 and not is_one_row32(g):
        c.left = g.ow
        c.scratch_bytes += padded_bytes32(rows * edge_pixels32(c, c.left) * g.ic)
        c.scratch_bytes += padded_bytes32(c.width * g.ic) * c.lines if c.direct else 0
        return
    if c.direct or g.groups > 1 or inside < (SPARSE_ROW32 if g.stride_w > 1 else LONG_ROW32) or g.oh < UPRIGHT32:
        return
    c.left = left
    c.right = g.ow - left - inside
    c.scratch_bytes += padded_bytes32(rows * edge_pixels32(c, max(c.left, c.right)) * g.ic)


cdef ptrdiff_t edge_pixels32(const ConvF32* c, ptrdiff_t count) noexcept nogil:
    """Of a row of the narrow image that so many windows see."""
    return (count - 1) * c.shape.stride_w + (c.shape.kw - 1) * c.shape.dilation_w + 1 if count > 0 else 0


cdef void pack_conv_f32(
    ConvF32* c, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride,
) noexcept nogil:
    cdef ConvShape* g = &c.shape
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t period = c.period if c.period > 0 else g.oc
    cdef ptrdiff_t group, panel, first, wide, filled, j, k, column
    cdef float* at
    c.packed = at = aligned32(c.packed)
    for group in range(g.groups):
        first = 0
        for panel in range(c.panels):
            wide = panel_vectors32(c, panel) * VL
            filled = group_oc - first if group_oc - first < wide else wide
            for j in range(wide):
                at[j] = bias[(group * group_oc + first + j) % period] if bias != NULL and j < filled else <float>0
            at += wide
            column = group * group_oc + first
            if c.period == 0 and k_stride == 1:
                turn_dwords(
                    <const uint8_t*>(w + column * column_stride), column_stride * <ptrdiff_t>sizeof(float), filled,
                    depth * <ptrdiff_t>sizeof(float), <uint8_t*>at, wide * <ptrdiff_t>sizeof(float))
            elif c.period == 0 and column_stride == 1:
                copy_columns32(w + column, k_stride, depth, filled, wide, at)
            else:
                for k in range(depth):
                    for j in range(filled):
                        at[k * wide + j] = w[
                            (column + j) % period * column_stride + (column + j) / period * c.period_stride + k * k_stride]
                    for j in range(filled, wide):
                        at[k * wide + j] = 0
            at += wide * depth
            first += wide


cdef void multiply_row32(const ConvF32* c, Window32* t, ptrdiff_t positions, const float* w, float* y) noexcept nogil:
    """All columns of a group for positions that lie evenly."""
    cdef ptrdiff_t depth = c.shape.kh * c.shape.kw * c.shape.group_ic
    cdef ptrdiff_t left = c.shape.oc if c.shape.groups == 1 else c.shape.oc / c.shape.groups
    cdef ptrdiff_t panel, wide
    t.column = c.first_column
    for panel in range(c.panels):
        wide = panel_vectors32(c, panel) * VL
        panel32(t, <int>(wide / VL), positions, w, left if left < wide else wide, y)
        w += wide * (depth + 1)
        y += wide
        t.column += wide
        left -= wide


cdef bint is_one_row32(const ConvShape* g) noexcept nogil:
    """Groups of filters of one tap, whose output rows see input rows that follow one another."""
    if g.kh != 1 or g.kw != 1 or g.stride_h != 1 or g.stride_w != 1 or g.pad_w != 0 or g.ow != g.iw:
        return False
    return g.pad_h <= 0 and g.oh - g.pad_h <= g.ih and (g.batches == 1 or g.oh == g.ih)


cdef void run_conv_f32(const ConvF32* c, const float* x, void* scratch, float* y) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef const float** stretches = <const float**>aligned32(scratch)
    cdef float* zeros = aligned32(stretches + c.stretches)
    cdef ptrdiff_t line_bytes = padded_bytes32(c.width * g.ic)
    cdef ptrdiff_t group_floats = (g.kh * g.kw * g.group_ic + 1) * c.vectors * VL
    cdef ptrdiff_t n, oy, group
    cdef Window32 t
    t.stretches = stretches
    t.count = c.stretches
    t.length = c.length
    t.row = g.stride_w * g.ic * <ptrdiff_t>sizeof(float)
    t.y_row = c.y_row
    t.y_apart = 1
    t.low = vf_set1(c.low)
    t.high = vf_set1(c.high)
    t.finish = c.finish
    t.order = c.order
    if c.flat:
        stretches[0] = x
        multiply_row32(c, &t, g.batches * g.oh * g.ow, c.packed, y)
        return
    if c.gathered > 0:
        stretches[0] = zeros
        run_gathered32(c, &t, x, zeros, y)
        return
    if c.left + c.right > 0 and g.oh >= UPRIGHT32:
        memset(zeros, 0, line_bytes)
        for n in range(g.batches):
            run_edges32(c, &t, x, zeros, y)
            x += g.ih * g.iw * g.ic
            y += g.oh * g.ow * c.y_row
        return
    if is_one_row32(g):
        x -= g.pad_h * g.iw * g.ic
        for group in range(g.groups):
            stretches[0] = x + group * g.group_ic
            multiply_row32(c, &t, g.batches * g.oh * g.ow, c.packed + group * group_floats, y + group * (g.oc / g.groups))
        return
    memset(zeros, 0, line_bytes * (1 if c.direct else 1 + c.lines))
    for n in range(g.batches):
        for oy in range(g.oh):
            if not c.direct:
                copy_lines32(c, x, oy, zeros + line_bytes / <ptrdiff_t>sizeof(float))
            for group in range(g.groups):
                set_stretches32(c, c.direct, x, oy, zeros, group * g.group_ic, stretches)
                multiply_row32(c, &t, g.ow, c.packed + group * group_floats, y + group * (g.oc / g.groups))
            y += g.ow * c.y_row
        x += g.ih * g.iw * g.ic


cdef void run_edges32(const ConvF32* c, Window32* t, const float* image, float* zeros, float* y) noexcept nogil:
    """One image, the edges first."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t inside = g.ow - c.left - c.right
    cdef ptrdiff_t oy
    run_edge32(c, t, image, zeros, 0, c.left, y)
    run_edge32(c, t, image, zeros, c.left + inside, c.right, y)
    t.row = g.stride_w * g.ic * <ptrdiff_t>sizeof(float)
    t.y_row = c.y_row
    t.y_apart = 1
    for oy in range(g.oh if inside > 0 else 0):
        set_stretches32(c, True, image, oy, zeros, (c.left * g.stride_w - g.pad_w) * g.ic, t.stretches)
        multiply_row32(c, t, inside, c.packed, y + (oy * g.ow + c.left) * c.y_row)


cdef void run_edge32(
    const ConvF32* c, Window32* t, const float* image, float* zeros, ptrdiff_t first, ptrdiff_t count, float* y,
) noexcept nogil:
    """`count` positions of all output rows from the one at `first` on, with the pixels that they see in an image of their own."""
    cdef const ConvShape* g = &c.shape
    cdef float* own = zeros + padded_bytes32(c.width * g.ic) / <ptrdiff_t>sizeof(float) * (1 + c.lines)
    cdef ptrdiff_t rows = (g.oh - 1) * g.stride_h + c.lines
    cdef ptrdiff_t width = edge_pixels32(c, count)
    cdef ptrdiff_t start = first * g.stride_w - g.pad_w
    cdef ptrdiff_t ix = max(start, <ptrdiff_t>0)
    cdef ptrdiff_t pixels = min(start + width, g.iw) - ix
    cdef ptrdiff_t per_row = c.stretches / g.kh
    cdef ptrdiff_t group_floats = (g.kh * g.kw * g.group_ic + 1) * c.vectors * VL
    cdef ptrdiff_t i, iy, ky, kx, group
    cdef const float* at
    memset(own, 0, rows * width * g.ic * sizeof(float))
    for i in range(rows if pixels > 0 else 0):
        iy = i - g.pad_h
        if 0 <= iy < g.ih:
            memcpy(own + (i * width + ix - start) * g.ic, image + (iy * g.iw + ix) * g.ic, pixels * g.ic * sizeof(float))
    t.row = g.stride_h * width * g.ic * <ptrdiff_t>sizeof(float)
    t.y_row = g.ow * c.y_row
    t.y_apart = g.ow
    for i in range(count):
        for group in range(g.groups):
            at = own + i * g.stride_w * g.ic + group * g.group_ic
            for ky in range(g.kh):
                for kx in range(per_row):
                    t.stretches[ky * per_row + kx] = at + (ky * g.dilation_h * width + kx * g.dilation_w) * g.ic
            multiply_row32(c, t, g.oh, c.packed + group * group_floats, y + (first + i) * c.y_row + group * (g.oc / g.groups))


cdef void run_gathered32(const ConvF32* c, Window32* t, const float* x, float* windows, float* y) noexcept nogil:
    """Some output rows at a time."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t row = gathered_floats32(c.length)
    cdef ptrdiff_t n, oy, end
    t.row = row * <ptrdiff_t>sizeof(float)
    for n in range(g.batches):
        oy = 0
        while oy < g.oh:
            end = oy + c.gathered if oy + c.gathered < g.oh else g.oh
            gather_windows32(g, x, oy, end, row, windows)
            multiply_row32(c, t, (end - oy) * g.ow, c.packed, y)
            y += (end - oy) * g.ow * c.y_row
            oy = end
        x += g.ih * g.iw * g.ic


cdef void gather_windows32(
    const ConvShape* g, const float* image, ptrdiff_t first, ptrdiff_t end, ptrdiff_t row, float* windows,
) noexcept nogil:
    """What the filter sees at each position of some output rows."""
    cdef ptrdiff_t oy, ox, ky, kx, iy, ix
    cdef float* at
    for oy in range(first, end):
        for ox in range(g.ow):
            at = windows
            for ky in range(g.kh):
                iy = oy * g.stride_h - g.pad_h + ky * g.dilation_h
                ix = ox * g.stride_w - g.pad_w
                if 0 <= iy < g.ih and ix >= 0 and g.dilation_w == 1 and ix + g.kw <= g.iw:
                    memcpy(at, image + (iy * g.iw + ix) * g.ic, g.kw * g.ic * sizeof(float))
                    at += g.kw * g.ic
                    continue
                for kx in range(g.kw):
                    if 0 <= iy < g.ih and 0 <= ix < g.iw:
                        memcpy(at, image + (iy * g.iw + ix) * g.ic, g.ic * sizeof(float))
                    else:
                        memset(at, 0, g.ic * sizeof(float))
                    at += g.ic
                    ix += g.dilation_w
            windows += row


cdef void copy_lines32(const ConvF32* c, const float* image, ptrdiff_t oy, float* ring) noexcept nogil:
    """The rows that the window of output row oy sees and that of the one before did not."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t line = padded_bytes32(c.width * g.ic) / <ptrdiff_t>sizeof(float)
    cdef ptrdiff_t first = oy * g.stride_h - g.pad_h
    cdef ptrdiff_t end = first + c.lines
    cdef ptrdiff_t pixels = c.width - g.pad_w if c.width - g.pad_w < g.iw else g.iw
    cdef ptrdiff_t iy
    if oy > 0 and first < end - g.stride_h:
        first = end - g.stride_h
    if first < 0:
        first = 0
    for iy in range(first, end if end < g.ih else g.ih):
        memcpy(ring + iy % c.lines * line + g.pad_w * g.ic, image + iy * g.iw * g.ic, pixels * g.ic * sizeof(float))


cdef void set_stretches32(
    const ConvF32* c, bint direct, const float* image, ptrdiff_t oy, const float* zeros, ptrdiff_t first, const float** stretches,
) noexcept nogil:
    """Where the window of an output row's first position is, in the image or in the ring behind the zeros; `first`: floats of a line in front of it."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t line = padded_bytes32(c.width * g.ic) / <ptrdiff_t>sizeof(float)
    cdef ptrdiff_t per_row = c.stretches / g.kh
    cdef const float* at
    cdef ptrdiff_t ky, kx, iy
    for ky in range(g.kh):
        iy = oy * g.stride_h - g.pad_h + ky * g.dilation_h
        at = zeros
        if 0 <= iy < g.ih:
            at = image + iy * g.iw * g.ic if direct else zeros + (1 + iy % c.lines) * line
        for kx in range(per_row):
            stretches[ky * per_row + kx] = at + kx * g.dilation_w * g.ic + first


cdef void fill_conv_f32(ConvF32Kernels* table) noexcept:
    table.plan = plan_conv_f32
