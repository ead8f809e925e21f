"""float32 depthwise convolution of the xnnpack arithmetic: one filter per channel.

    acc = bias[c];  acc = fma(x[tap][c], w[tap][c], acc) tap after tap;  y = min(high, max(low, acc))

- Up to 25 taps the order is filter column, then filter row, and a kernel of 3, 4, 9 or 25 taps runs: the surplus ones have weight +0 and
  read real input (shows when that is NaN or infinite, or when the sum is -0). XNNPACK keeps a table of tap pointers for each output row,
  columns of kh pointers each, which neighbouring windows share; the surplus taps are the next entries of that table, in the end those of the next
  output row, and after the last row the very last tap again.
- More taps go through the matrix kernels: filter row, then filter column, none surplus. The chain is the same, so it is computed here.
- On aarch64 the kernel of 25 taps has two: taps 0, 2 .. 24 from the bias on, taps 1, 3 .. 23 from the first product on, which
  are added in the end; and the matrix kernels add +0 (product_order.TWO_CHAINS with taps of one value).

Source: XNNPACK's f32-dwconv microkernels and xnn_indirection_init_dwconv2d.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.xnnpack.lanes cimport (
    LANES, add8, f32x8, fma8, fma_first8, load8, load_part8, max8, min8, mul8, splat8, store8, store_part8,
)

cdef enum:
    LARGEST_TILE = 25

# depthwise_pixel of `pixels` outputs that follow each other, whose taps are `step` apart
ctypedef void (*DepthwisePixels)(
    const float** at, ptrdiff_t step, ptrdiff_t pixels, ptrdiff_t tile, const float* w, const float* bias, ptrdiff_t channels, float low,
    float high, float* y,
) noexcept nogil


cdef inline ptrdiff_t tile_size(ptrdiff_t taps) noexcept nogil:
    """Taps of the kernel that runs."""
    if taps > LARGEST_TILE:
        return taps
    return 3 if taps <= 3 else 4 if taps <= 4 else 9 if taps <= 9 else LARGEST_TILE


cdef inline void pack_taps(
    const ConvShape* g, const float* w, ptrdiff_t tap_stride, ptrdiff_t channel_stride, float* packed,
) noexcept nogil:
    """packed[tap][c] = w[(ky * kw + kx) * tap_stride + c * channel_stride] in the order of the taps; surplus ones stay 0."""
    cdef ptrdiff_t taps = g.kh * g.kw
    cdef ptrdiff_t t, c, from_tap
    for t in range(taps):
        from_tap = t if taps > LARGEST_TILE else t % g.kh * g.kw + t / g.kh
        for c in range(g.ic):
            packed[t * g.ic + c] = w[from_tap * tap_stride + c * channel_stride]


cdef inline const float* tap_at(
    const ConvShape* g, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t ox, ptrdiff_t ky, ptrdiff_t kx,
) noexcept nogil:
    cdef ptrdiff_t iy = oy * g.stride_h - g.pad_h + ky * g.dilation_h
    cdef ptrdiff_t ix = ox * g.stride_w - g.pad_w + kx * g.dilation_w
    return image + (iy * g.iw + ix) * g.ic if 0 <= iy < g.ih and 0 <= ix < g.iw else zeros


cdef inline ptrdiff_t columns_apart(const ConvShape* g) noexcept nogil:
    """From the first column of a window to that of the next one, in the table of an output row."""
    return g.kw if g.dilation_w > 1 else min(g.stride_w, g.kw)


cdef inline ptrdiff_t table_length(const ConvShape* g) noexcept nogil:
    """Entries of an output row with the surplus ones of its last window; of more taps than a tile has: of one window."""
    cdef ptrdiff_t taps = g.kh * g.kw
    return taps if taps > LARGEST_TILE else ((g.ow - 1) * columns_apart(g) + g.kw) * g.kh + tile_size(taps) - taps


cdef inline const float** fill_surplus(
    const ConvShape* g, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t count, const float** table,
) noexcept nogil:
    """The entries behind an output row's last window: the beginning of the next row's table; behind the last row the very last tap."""
    cdef ptrdiff_t apart = columns_apart(g)
    cdef ptrdiff_t length = (g.ow - 1) * apart + g.kw
    cdef ptrdiff_t row = oy
    cdef ptrdiff_t column = length
    cdef ptrdiff_t ky = g.kh
    cdef ptrdiff_t window = 0
    cdef ptrdiff_t t
    for t in range(count):
        if ky >= g.kh:
            ky = 0
            column += 1
        if column >= length:
            column = 0
            window = 0
            row += 1
        while window < g.ow - 1 and column >= (window + 1) * apart:
            window += 1
        if row >= g.oh:
            table[t] = tap_at(g, image, zeros, g.oh - 1, g.ow - 1, g.kh - 1, g.kw - 1)
        else:
            table[t] = tap_at(g, image, zeros, row, window, ky, column - window * apart)
        ky += 1
    return table + count


cdef inline void fill_table(
    const ConvShape* g, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t tile, const float** table,
) noexcept nogil:
    """Of an output row: filter column after filter column, window after window."""
    cdef const float* rows[LARGEST_TILE]       # of the window; NULL: outside
    cdef ptrdiff_t apart = columns_apart(g)
    cdef ptrdiff_t ox, kx, ky, iy, ix
    for ky in range(g.kh):
        iy = oy * g.stride_h - g.pad_h + ky * g.dilation_h
        rows[ky] = image + iy * g.iw * g.ic if 0 <= iy < g.ih else NULL
    for ox in range(g.ow):
        for kx in range(apart if ox < g.ow - 1 else g.kw):
            ix = ox * g.stride_w - g.pad_w + kx * g.dilation_w
            for ky in range(g.kh):
                table[ky] = rows[ky] + ix * g.ic if 0 <= ix < g.iw and rows[ky] != NULL else zeros
            table += g.kh
    fill_surplus(g, image, zeros, oy, tile - g.kh * g.kw, table)


cdef inline bint rows_inside(const ConvShape* g, ptrdiff_t oy) noexcept nogil:
    cdef ptrdiff_t top = oy * g.stride_h - g.pad_h
    return top >= 0 and top + (g.kh - 1) * g.dilation_h < g.ih


cdef inline void next_table(
    const ConvShape* g, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t tile, const float** table,
) noexcept nogil:
    """`fill_table` when the table is that of the row before: between the edges each entry moves on by as many rows."""
    cdef ptrdiff_t count = ((g.ow - 1) * columns_apart(g) + g.kw) * g.kh
    cdef ptrdiff_t floats = g.stride_h * g.iw * g.ic
    cdef ptrdiff_t i
    if not rows_inside(g, oy - 1) or not rows_inside(g, oy):
        fill_table(g, image, zeros, oy, tile, table)
        return
    if g.pad_w == 0 and (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w < g.iw:
        for i in range(count):
            table[i] = table[i] + floats
    else:
        for i in range(count):
            table[i] = table[i] + (floats if table[i] != zeros else 0)
    fill_surplus(g, image, zeros, oy, tile - g.kh * g.kw, table + count)


cdef inline void window_taps(const ConvShape* g, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t ox, const float** at) noexcept nogil:
    """Of a filter of more taps than a tile has."""
    cdef ptrdiff_t ky, kx
    for ky in range(g.kh):
        for kx in range(g.kw):
            at[0] = tap_at(g, image, zeros, oy, ox, ky, kx)
            at += 1


cdef inline void depthwise_pixel(
    const float** at, ptrdiff_t tile, const float* w, const float* bias, ptrdiff_t channels, f32x8 low, f32x8 high, float* y,
) noexcept nogil:
    cdef f32x8 a, b, d, e
    cdef const float* p
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t t, left
    while c + 4 * LANES <= channels:
        a = load8(bias + c)
        b = load8(bias + c + LANES)
        d = load8(bias + c + 2 * LANES)
        e = load8(bias + c + 3 * LANES)
        p = w + c
        for t in range(tile):
            a = fma_first8(load8(at[t] + c), load8(p), a)
            b = fma_first8(load8(at[t] + c + LANES), load8(p + LANES), b)
            d = fma_first8(load8(at[t] + c + 2 * LANES), load8(p + 2 * LANES), d)
            e = fma_first8(load8(at[t] + c + 3 * LANES), load8(p + 3 * LANES), e)
            p += channels
        store8(y + c, min8(high, max8(low, a)))
        store8(y + c + LANES, min8(high, max8(low, b)))
        store8(y + c + 2 * LANES, min8(high, max8(low, d)))
        store8(y + c + 3 * LANES, min8(high, max8(low, e)))
        c += 4 * LANES
    while c + 2 * LANES <= channels:
        a = load8(bias + c)
        b = load8(bias + c + LANES)
        p = w + c
        for t in range(tile):
            a = fma_first8(load8(at[t] + c), load8(p), a)
            b = fma_first8(load8(at[t] + c + LANES), load8(p + LANES), b)
            p += channels
        store8(y + c, min8(high, max8(low, a)))
        store8(y + c + LANES, min8(high, max8(low, b)))
        c += 2 * LANES
    while c < channels and channels >= LANES:        # the last vector, some of its channels again
        c = min(c, channels - LANES)
        a = load8(bias + c)
        for t in range(tile):
            a = fma_first8(load8(at[t] + c), load8(w + t * channels + c), a)
        store8(y + c, min8(high, max8(low, a)))
        c += LANES
    while c < channels:
        left = min(channels - c, <ptrdiff_t>LANES)
        a = load_part8(bias + c, left)
        for t in range(tile):
            a = fma_first8(load_part8(at[t] + c, left), load_part8(w + t * channels + c, left), a)
        store_part8(y + c, min8(high, max8(low, a)), left)
        c += LANES


cdef inline void depthwise_pixel_two_sums(
    const float** at, ptrdiff_t tile, const float* w, const float* bias, ptrdiff_t channels, f32x8 low, f32x8 high, float* y,
) noexcept nogil:
    """tile >= LARGEST_TILE."""
    cdef f32x8 a, b
    cdef ptrdiff_t c, t, left
    for c in range(0, channels, 8):
        left = min(channels - c, <ptrdiff_t>8)
        a = load_part8(bias + c, left)
        b = splat8(0)
        for t in range(tile):
            if tile > LARGEST_TILE or t % 2 == 0:
                a = fma8(load_part8(at[t] + c, left), load_part8(w + t * channels + c, left), a)
            elif t == 1:
                b = mul8(load_part8(at[t] + c, left), load_part8(w + t * channels + c, left))
            else:
                b = fma8(load_part8(at[t] + c, left), load_part8(w + t * channels + c, left), b)
        store_part8(y + c, min8(high, max8(low, add8(a, b))), left)


cdef inline void depthwise_f32(
    const ConvShape* g, const float* x, const float* packed, const float* bias, const float* zeros, float low, float high,
    const float** at, ptrdiff_t first, ptrdiff_t end, float* y, DepthwisePixels fast=NULL,
) noexcept nogil:
    """Output rows first .. end - 1 of all images. packed: tile_size(kh * kw) rows of channels; at: table_length pointers; zeros: one row of channels."""
    cdef ptrdiff_t tile = tile_size(g.kh * g.kw)
    cdef ptrdiff_t step = columns_apart(g) * g.kh if tile <= LARGEST_TILE else 0
    cdef ptrdiff_t row, ox
    cdef const float* image
    y += first * g.ow * g.ic
    for row in range(first, end):
        image = x + row / g.oh * g.ih * g.iw * g.ic
        if tile <= LARGEST_TILE:
            if row == first or row % g.oh == 0:
                fill_table(g, image, zeros, row % g.oh, tile, at)
            else:
                next_table(g, image, zeros, row % g.oh, tile, at)
            if fast != NULL:
                fast(at, step, g.ow, tile, packed, bias, g.ic, low, high, y)
                y += g.ow * g.ic
                continue
        for ox in range(g.ow):
            if tile > LARGEST_TILE:
                window_taps(g, image, zeros, row % g.oh, ox, at)
            if fast != NULL:
                fast(at, 0, 1, tile, packed, bias, g.ic, low, high, y)
            elif AARCH64 and tile >= LARGEST_TILE:
                depthwise_pixel_two_sums(at + ox * step, tile, packed, bias, g.ic, splat8(low), splat8(high), y)
            else:
                depthwise_pixel(at + ox * step, tile, packed, bias, g.ic, splat8(low), splat8(high), y)
            y += g.ic
