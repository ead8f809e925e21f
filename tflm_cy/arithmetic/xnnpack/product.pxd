"""float32 products of the xnnpack arithmetic: convolutions, fully connected layers, matrix products, transposed convolutions.

Every output is one chain of fused multiply-adds from the bias on, in the order (filter row, filter column, input channel):

    acc = bias;  acc = fma(x, w, acc) tap after tap;  y = min(high, max(low, acc))

Kernels for aarch64 split some (product_order.pxd). A chain may not be reordered, so the outputs are what runs side by side: sixteen
columns (output channels) of four rows (output positions). A tap is a stretch of `n` input values that meets `n` rows of packed weights;
each row brings its own pointer to it, a tap
outside of the image points to zeros, which take part like any value (they turn a sum of -0 into +0, and an infinite weight into NaN).

    pack_filters(w, bias, columns, depth, depth, 1, packed)         # room for packed_size(columns, depth) floats
    multiply(&taps, rows, packed, columns, depth, low, high)        # in taps.order

A SAME convolution whose total padding is negative reads nothing but padding: XNNPACK's unsigned padding wraps around, and its outputs are
clamp(bias + 0 * weights). Smallest case: a 1x2 filter with stride 3 on 3 columns.

Of two NaN in one product w comes out. XNNPACK's kernels differ among themselves in that, by CPU, tile and row.

Source: XNNPACK's f32-gemm and f32-igemm microkernels and its indirection buffers.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.xnnpack.lanes cimport add8, f32x8, fma8, fma_first8, load8, max8, min8, splat8, store8, store_part8
from tflm_cy.arithmetic.xnnpack.product_order cimport FOUR_CHAINS, FOUR_LANES, ONE_CHAIN, TWO_CHAINS

cdef enum:
    ROWS = 4                     # computed at once

cdef struct Taps:
    const float** x              # [tap][ROWS]: n values each
    ptrdiff_t* k                 # [tap]: the row of packed weights where it starts
    ptrdiff_t count
    ptrdiff_t n
    int order                    # of the terms: product_order.Order
    float* y[ROWS]               # outputs of each row


cdef inline ptrdiff_t block_width(ptrdiff_t left) noexcept nogil:
    """Columns of the next block when `left` remain; the last one is padded with zeros."""
    return 16 if left > 8 else 8


cdef inline ptrdiff_t packed_size(ptrdiff_t columns, ptrdiff_t depth) noexcept nogil:
    """Number of floats of packed filters and biases."""
    return (columns / 16 * 16 + (0 if columns % 16 == 0 else block_width(columns % 16))) * (depth + 1)


cdef inline void pack_filters(
    const float* w, const float* bias, ptrdiff_t columns, ptrdiff_t depth, ptrdiff_t column_stride, ptrdiff_t k_stride, float* packed,
) noexcept nogil:
    """packed[block][0] = biases (0 without), packed[block][1 + k][column] = w[column * column_stride + k * k_stride]."""
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t width, filled, j, k
    while c < columns:
        width = block_width(columns - c)
        filled = min(width, columns - c)
        for j in range(width):
            packed[j] = bias[c + j] if bias != NULL and j < filled else <float>0
        packed += width
        for k in range(depth):
            for j in range(filled):
                packed[j] = w[(c + j) * column_stride + k * k_stride]
            for j in range(filled, width):
                packed[j] = 0
            packed += width
        c += width


cdef inline void put8(float* y, f32x8 v, ptrdiff_t left, f32x8 low, f32x8 high) noexcept nogil:
    """Clamp and store the first `left` lanes (all when there are more, none when left <= 0). NaN stays NaN, RELU(-0) is -0."""
    v = min8(high, max8(low, v))
    if left >= 8:
        store8(y, v)
    elif left > 0:
        store_part8(y, v, left)


cdef inline void four_rows_16(const Taps* t, const float* w, ptrdiff_t c, ptrdiff_t left, f32x8 low, f32x8 high) noexcept nogil:
    """Sixteen columns, of which `left` exist, at column c."""
    cdef f32x8 a0 = load8(w)
    cdef f32x8 a1 = load8(w + 8)
    cdef f32x8 b0 = a0
    cdef f32x8 b1 = a1
    cdef f32x8 c0 = a0
    cdef f32x8 c1 = a1
    cdef f32x8 d0 = a0
    cdef f32x8 d1 = a1
    cdef f32x8 w0, w1, v
    cdef const float* p
    cdef const float** x
    cdef ptrdiff_t i, k
    for i in range(t.count):
        x = t.x + ROWS * i
        p = w + 16 * (1 + t.k[i])
        for k in range(t.n):
            w0 = load8(p)
            w1 = load8(p + 8)
            p += 16
            v = splat8(x[0][k])
            a0 = fma_first8(w0, v, a0)
            a1 = fma_first8(w1, v, a1)
            v = splat8(x[1][k])
            b0 = fma_first8(w0, v, b0)
            b1 = fma_first8(w1, v, b1)
            v = splat8(x[2][k])
            c0 = fma_first8(w0, v, c0)
            c1 = fma_first8(w1, v, c1)
            v = splat8(x[3][k])
            d0 = fma_first8(w0, v, d0)
            d1 = fma_first8(w1, v, d1)
    put8(t.y[3] + c, d0, left, low, high)
    put8(t.y[3] + c + 8, d1, left - 8, low, high)
    put8(t.y[2] + c, c0, left, low, high)
    put8(t.y[2] + c + 8, c1, left - 8, low, high)
    put8(t.y[1] + c, b0, left, low, high)
    put8(t.y[1] + c + 8, b1, left - 8, low, high)
    put8(t.y[0] + c, a0, left, low, high)
    put8(t.y[0] + c + 8, a1, left - 8, low, high)


cdef inline void four_rows_8(const Taps* t, const float* w, ptrdiff_t c, ptrdiff_t left, f32x8 low, f32x8 high) noexcept nogil:
    cdef f32x8 a = load8(w)
    cdef f32x8 b = a
    cdef f32x8 d = a
    cdef f32x8 e = a
    cdef f32x8 v
    cdef const float* p
    cdef const float** x
    cdef ptrdiff_t i, k
    for i in range(t.count):
        x = t.x + ROWS * i
        p = w + 8 * (1 + t.k[i])
        for k in range(t.n):
            v = load8(p)
            p += 8
            a = fma_first8(v, splat8(x[0][k]), a)
            b = fma_first8(v, splat8(x[1][k]), b)
            d = fma_first8(v, splat8(x[2][k]), d)
            e = fma_first8(v, splat8(x[3][k]), e)
    put8(t.y[3] + c, e, left, low, high)
    put8(t.y[2] + c, d, left, low, high)
    put8(t.y[1] + c, b, left, low, high)
    put8(t.y[0] + c, a, left, low, high)


cdef inline void one_row_64(const Taps* t, const float* w, ptrdiff_t depth, ptrdiff_t c, f32x8 low, f32x8 high) noexcept nogil:
    """Four whole blocks of a single row."""
    cdef ptrdiff_t block = 16 * (depth + 1)
    cdef f32x8 a0 = load8(w)
    cdef f32x8 a1 = load8(w + 8)
    cdef f32x8 b0 = load8(w + block)
    cdef f32x8 b1 = load8(w + block + 8)
    cdef f32x8 c0 = load8(w + 2 * block)
    cdef f32x8 c1 = load8(w + 2 * block + 8)
    cdef f32x8 d0 = load8(w + 3 * block)
    cdef f32x8 d1 = load8(w + 3 * block + 8)
    cdef f32x8 v
    cdef const float* p
    cdef const float* x
    cdef ptrdiff_t i, k
    for i in range(t.count):
        x = t.x[ROWS * i]
        p = w + 16 * (1 + t.k[i])
        for k in range(t.n):
            v = splat8(x[k])
            a0 = fma_first8(load8(p), v, a0)
            a1 = fma_first8(load8(p + 8), v, a1)
            b0 = fma_first8(load8(p + block), v, b0)
            b1 = fma_first8(load8(p + block + 8), v, b1)
            c0 = fma_first8(load8(p + 2 * block), v, c0)
            c1 = fma_first8(load8(p + 2 * block + 8), v, c1)
            d0 = fma_first8(load8(p + 3 * block), v, d0)
            d1 = fma_first8(load8(p + 3 * block + 8), v, d1)
            p += 16
    put8(t.y[0] + c, a0, 8, low, high)
    put8(t.y[0] + c + 8, a1, 8, low, high)
    put8(t.y[0] + c + 16, b0, 8, low, high)
    put8(t.y[0] + c + 24, b1, 8, low, high)
    put8(t.y[0] + c + 32, c0, 8, low, high)
    put8(t.y[0] + c + 40, c1, 8, low, high)
    put8(t.y[0] + c + 48, d0, 8, low, high)
    put8(t.y[0] + c + 56, d1, 8, low, high)


cdef inline f32x8 eight_columns(const Taps* t, int row, const float* bias, const float* w, ptrdiff_t width) noexcept nogil:
    """One row in an order of several chains; rows of packed weights have `width` columns, of which eight are computed."""
    cdef f32x8[4] s
    cdef const float* p
    cdef const float* x
    cdef ptrdiff_t whole = t.n / 4 * 4 if t.order != TWO_CHAINS else 0
    cdef ptrdiff_t i, k
    s[0] = load8(bias)
    s[1] = s[2] = s[3] = splat8(0)
    for i in range(t.count):
        x = t.x[ROWS * i + row]
        p = w + width * t.k[i]
        for k in range(whole):
            s[k % 4] = fma8(splat8(x[k]), load8(p + width * k), s[k % 4])
        if t.order == FOUR_LANES:
            s[0] = add8(add8(s[0], s[1]), add8(s[2], s[3]))
            s[1] = splat8(0)
        elif t.order == FOUR_CHAINS and whole > 0:
            s[0], s[1] = add8(s[0], s[2]), add8(s[1], s[3])
        for k in range(whole, t.n):
            if t.order == FOUR_LANES or k % 2 == 0:
                s[0] = fma8(splat8(x[k]), load8(p + width * k), s[0])
            else:
                s[1] = fma8(splat8(x[k]), load8(p + width * k), s[1])
    return s[0] if t.order == FOUR_LANES else add8(s[0], s[1])


cdef inline void multiply_split(
    const Taps* t, int rows, const float* packed, ptrdiff_t columns, ptrdiff_t depth, f32x8 low, f32x8 high,
) noexcept nogil:
    """All columns of some rows in an order of several chains."""
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t width, j
    cdef int r
    while c < columns:
        width = block_width(columns - c)
        for j in range(0, width, 8):
            for r in range(rows):
                put8(t.y[r] + c + j, eight_columns(t, r, packed + j, packed + width + j, width), columns - c - j, low, high)
        packed += width * (depth + 1)
        c += width


cdef inline void multiply(Taps* t, int rows, const float* packed, ptrdiff_t columns, ptrdiff_t depth, float low, float high) noexcept nogil:
    """All columns of 1 .. ROWS rows; the missing rows repeat the last one."""
    cdef f32x8 lows = splat8(low)
    cdef f32x8 highs = splat8(high)
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t i
    cdef int r
    if t.order != ONE_CHAIN:
        multiply_split(t, rows, packed, columns, depth, lows, highs)
        return
    for r in range(rows, ROWS):
        t.y[r] = t.y[rows - 1]
        for i in range(t.count):
            t.x[ROWS * i + r] = t.x[ROWS * i + rows - 1]
    while rows == 1 and columns - c >= 64:
        one_row_64(t, packed, depth, c, lows, highs)
        packed += 64 * (depth + 1)
        c += 64
    while columns - c > 8:
        four_rows_16(t, packed, c, columns - c, lows, highs)
        packed += 16 * (depth + 1)
        c += 16
    if columns - c > 0:
        four_rows_8(t, packed, c, columns - c, lows, highs)


# ---- convolutions
cdef inline bint wraps_around(const ConvShape* g) noexcept nogil:
    """SAME padding only: the total padding of an axis is negative."""
    return g.kh * g.kw > 1 and (
        (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1 < g.ih or (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1 < g.iw)


cdef inline void move_outside(ConvShape* g) noexcept nogil:
    """All taps read padding."""
    g.pad_h = g.oh * g.stride_h + g.kh * g.dilation_h
    g.pad_w = g.ow * g.stride_w + g.kw * g.dilation_w


cdef inline void window_taps(
    const ConvShape* g, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t ox, Taps* t, int row,
) noexcept nogil:
    """Pointers of one output position, filter rows outermost."""
    cdef ptrdiff_t iy = oy * g.stride_h - g.pad_h
    cdef ptrdiff_t left = ox * g.stride_w - g.pad_w
    cdef const float** x = t.x + row
    cdef ptrdiff_t ky, kx, ix
    for ky in range(g.kh):
        ix = left
        for kx in range(g.kw):
            x[0] = image + (iy * g.iw + ix) * g.ic if 0 <= iy < g.ih and 0 <= ix < g.iw else zeros
            x += ROWS
            ix += g.dilation_w
        iy += g.dilation_h


cdef inline void conv_f32(
    const ConvShape* g, const float* x, const float* packed, const float* zeros, float low, float high, Taps* t, float* y,
) noexcept nogil:
    """packed: each group's filters; zeros: group_ic of them; t has room for kh * kw taps, t.k counts in steps of group_ic, and its order."""
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ptrdiff_t group_size = packed_size(group_oc, depth)
    cdef ptrdiff_t positions = g.oh * g.ow
    cdef ptrdiff_t n, group, position
    cdef int rows, r
    t.count = g.kh * g.kw
    t.n = g.group_ic
    for n in range(g.batches):
        for group in range(g.groups):
            position = 0
            while position < positions:
                rows = <int>min(positions - position, <ptrdiff_t>ROWS)
                for r in range(rows):
                    window_taps(g, x + group * g.group_ic, zeros, (position + r) / g.ow, (position + r) % g.ow, t, r)
                    t.y[r] = y + (position + r) * g.oc + group * group_oc
                multiply(t, rows, packed + group * group_size, group_oc, depth, low, high)
                position += rows
        x += g.ih * g.iw * g.ic
        y += positions * g.oc


cdef inline void matrix_f32(
    const float* x, ptrdiff_t rows, ptrdiff_t depth, const float* packed, ptrdiff_t columns, float low, float high, int order, float* y,
) noexcept nogil:
    """y[r][c] = bias[c] + x[r] . w[c]."""
    cdef const float* at[ROWS]
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t done = 0
    cdef int now, r
    cdef Taps t
    t.x = at
    t.k = &start
    t.count = 1
    t.n = depth
    t.order = order
    while done < rows:
        now = <int>min(rows - done, <ptrdiff_t>ROWS)
        for r in range(now):
            at[r] = x + (done + r) * depth
            t.y[r] = y + (done + r) * columns
        multiply(&t, now, packed, columns, depth, low, high)
        done += now


# ---- transposed convolutions
cdef inline void transpose_conv_f32(
    const ConvShape* g, const float* x, const float* packed, const float* zeros, float low, float high, Taps* t, float* y,
) noexcept nogil:
    """Taps (filter row, filter column, channel) whose phase of the stride is the output position's; pad_h, pad_w: what is cut off before.

    When the filter is smaller than the stride in an axis, the taps of the other phases take part as zeros.
    """
    cdef bint every = g.kh < g.stride_h or g.kw < g.stride_w
    cdef ptrdiff_t step = 1 if every else g.stride_w        # outputs that see the same taps
    cdef ptrdiff_t depth = g.kh * g.kw * g.ic
    cdef ptrdiff_t n, oy, phase, ox
    cdef int rows
    t.n = g.ic
    for n in range(g.batches):
        for oy in range(g.oh):
            for phase in range(min(step, g.ow)):
                ox = phase
                while ox < g.ow:
                    rows = 0
                    while rows < ROWS and ox < g.ow:
                        spread_taps(g, x, zeros, every, oy, ox, t, rows)
                        t.y[rows] = y + (oy * g.ow + ox) * g.oc
                        rows += 1
                        ox += step
                    multiply(t, rows, packed, g.oc, depth, low, high)
        x += g.ih * g.iw * g.ic
        y += g.oh * g.ow * g.oc


cdef inline void spread_taps(
    const ConvShape* g, const float* image, const float* zeros, bint every, ptrdiff_t oy, ptrdiff_t ox, Taps* t, int row,
) noexcept nogil:
    """Of the output's phase are filter rows first_y, first_y + stride .., which see input rows iy, iy - 1 .., and columns likewise."""
    cdef ptrdiff_t first_y = (oy + g.pad_h) % g.stride_h
    cdef ptrdiff_t first_x = (ox + g.pad_w) % g.stride_w
    cdef ptrdiff_t iy = (oy + g.pad_h) / g.stride_h
    cdef ptrdiff_t last_ix = (ox + g.pad_w) / g.stride_w
    cdef ptrdiff_t ky = 0 if every else first_y
    cdef ptrdiff_t kx, next_x, ix
    cdef ptrdiff_t count = 0
    cdef const float* line
    while ky < g.kh:
        line = image + iy * g.iw * g.ic if ky == first_y and 0 <= iy < g.ih else NULL
        next_x = first_x
        ix = last_ix
        kx = 0 if every else first_x
        while kx < g.kw:
            t.k[count] = (ky * g.kw + kx) * g.ic
            t.x[ROWS * count + row] = line + ix * g.ic if line != NULL and kx == next_x and 0 <= ix < g.iw else zeros
            count += 1
            if kx == next_x:
                next_x += g.stride_w
                ix -= 1
            kx += 1 if every else g.stride_w
        if ky == first_y:
            first_y += g.stride_h
            iy -= 1
        ky += 1 if every else g.stride_h
    t.count = count
