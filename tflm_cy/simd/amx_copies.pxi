# What of x is copied for the tiles: positions, the image with its padding, pixels, windows.


cdef void copy_positions(const ConvI8* c, const uint8_t* x, ptrdiff_t first, ptrdiff_t positions, Positions* m) noexcept nogil:
    """Up to sixteen rows to the copy; what lies behind a row is multiplied by 0."""
    cdef uint8_t* copy = <uint8_t*>m.x
    cdef Steps8 steps
    cdef ptrdiff_t r
    for r in range(positions - first if positions - first < TILE else TILE):
        if c.dynamic:
            steps = steps_of_row(<const float*>x + (first + r) * c.plan.segment, c.plan.segment, c.scaling.rows)
            quantize_bytes(<const float*>x + (first + r) * c.plan.segment, c.plan.segment, &steps, True, copy)
            m.terms[r] = -steps.zero_point
            m.inverses[r] = steps.inverse
        else:
            memcpy(copy, x + (first + r) * c.plan.segment, c.plan.segment)
        copy += c.plan.row_bytes


cdef void copy_image(const ConvI8* c, const uint8_t* x, const Steps8* steps, uint8_t* image) noexcept nogil:
    """As pad_image, int8 as it is."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t height = c.plan.image_bytes / c.plan.row_bytes
    cdef ptrdiff_t width = c.plan.row_bytes / g.ic
    cdef ptrdiff_t inner = g.iw if g.pad_w + g.iw < width else width - g.pad_w
    cdef int zero = (steps.zero_point if c.dynamic else c.x_zero_point) & 255
    cdef ptrdiff_t oy
    for oy in range(height):
        if oy < g.pad_h or oy - g.pad_h >= g.ih or inner <= 0:
            memset(image, zero, c.plan.row_bytes)
        else:
            memset(image, zero, g.pad_w * g.ic)
            if c.dynamic:
                quantize_bytes(<const float*>x + (oy - g.pad_h) * g.iw * g.ic, inner * g.ic, steps, True, image + g.pad_w * g.ic)
            else:
                memcpy(image + g.pad_w * g.ic, x + (oy - g.pad_h) * g.iw * g.ic, inner * g.ic)
            memset(image + (g.pad_w + inner) * g.ic, zero, (width - g.pad_w - inner) * g.ic)
        image += c.plan.row_bytes


cdef void copy_pixels(const ConvI8* c, const uint8_t* x, uint8_t* copy) noexcept nogil:
    """Those that the outputs see, one each."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t oy, ox
    for oy in range(g.oh):
        for ox in range(g.ow):
            memcpy(copy, x + (oy * g.stride_h * g.iw + ox * g.stride_w) * g.ic, g.ic)
            copy += g.ic


cdef void gather(const ConvI8* c, const uint8_t* image, ptrdiff_t first, ptrdiff_t n, uint8_t* windows) noexcept nogil:
    """The windows of n positions, or of so many rows of several positions, one after the other."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t width = g.ow / c.tiles.positions_per_row
    cdef ptrdiff_t size = STEP * c.tiles.steps
    cdef ptrdiff_t oy = first / width
    cdef ptrdiff_t ox = first % width
    cdef ptrdiff_t end
    while n > 0:
        end = min(width, ox + n)
        n -= end - ox
        gather_row(c, image, oy, ox, end, windows)
        windows += (end - ox) * size
        ox = 0
        oy += 1


cdef void gather_row(const ConvI8* c, const uint8_t* image, ptrdiff_t oy, ptrdiff_t ox, ptrdiff_t end, uint8_t* windows) noexcept nogil:
    """Those of an output row: of the padded copy, or where x is read, all bytes of the image with the padding around them made up."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t stride = c.tiles.positions_per_row * g.stride_w * g.ic
    cdef ptrdiff_t size = STEP * c.tiles.steps
    cdef ptrdiff_t row = g.dilation_h * c.plan.row_bytes
    cdef ptrdiff_t top = oy * g.stride_h
    cdef ptrdiff_t left = ox * stride
    cdef ptrdiff_t first_row = 0
    cdef ptrdiff_t end_row = g.kh
    cdef ptrdiff_t wide = window_row(g, c.tiles.positions_per_row)
    cdef ptrdiff_t whole, before, valid
    if not c.plan.direct:
        gather_windows(image + top * c.plan.row_bytes + left, row, stride, g.kh, wide, end - ox, windows, size)
        return
    top -= g.pad_h
    left -= g.pad_w * g.ic
    while first_row < g.kh and top + first_row * g.dilation_h < 0:
        first_row += 1
    while end_row > first_row and top + (end_row - 1) * g.dilation_h >= g.ih:
        end_row -= 1
    image += top * c.plan.row_bytes
    while ox < end:
        whole = 0
        if left >= 0 and first_row == 0 and end_row == g.kh and (c.slack or top + (g.kh - 1) * g.dilation_h < g.ih - 1):
            whole = min(end - ox, (c.plan.row_bytes - wide - left + stride) / stride if left + wide <= c.plan.row_bytes else 0)
        if whole > 0:
            gather_windows(image + left, row, stride, g.kh, wide, whole, windows, size)
        else:
            whole = 1
            before = -left if left < 0 else 0
            valid = min(wide, c.plan.row_bytes - left) - before
            gather_clipped(
                image + left, row, g.kh, first_row, end_row, wide, min(before, wide), max(valid, 0), c.x_zero_point & 255,
                windows)
        ox += whole
        left += whole * stride
        windows += whole * size
