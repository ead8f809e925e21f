"""Pools of bytes by the vector kernels, window by window: the bytes of arithmetic/pool_2d.pxd's `pool_2d`.

    largest_rows(&kernels().elementwise_i8, &shape, is_signed, x, first, end, y)      # output rows first .. end - 1, counted over all images
    if not average_rows(...): ...                                                     # a window has no tap inside
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.pool_2d cimport Taps, average_sums, tap_count, taps_at
from tflm_cy.arithmetic.shapes cimport Pool2D
from tflm_cy.simd.elementwise_i8 cimport ElementwiseI8Kernels

cdef enum:
    MOST_SUMS = 512              # channels whose sums lie on the stack
    LINE_BYTES = 8192            # of columns' largest values, there as well
    VECTOR = 32                  # bytes, about


cdef inline bint is_separable(const Pool2D* p) noexcept nogil:
    """Whether the largest of columns first, then of rows, takes fewer loads of vectors than window by window."""
    cdef int64_t vectors = (p.channels + VECTOR - 1) / VECTOR
    cdef int64_t columns = <int64_t>p.stride_width * (p.kernel_height + 2) * p.channels / VECTOR
    return <int64_t>p.kernel_width * p.channels <= LINE_BYTES and columns < (p.kernel_height - 1) * p.kernel_width * vectors


cdef inline void largest_rows(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, const uint8_t* x, int64_t first, int64_t end, uint8_t* y,
) noexcept nogil:
    cdef int32_t nothing = min(max(-128 if is_signed else 0, p.low), p.high)
    cdef int64_t pixel = p.channels
    cdef int64_t line = p.width * pixel
    cdef bint separable = is_separable(p)
    cdef bint narrow = p.kernel_width == 1 and p.stride_width == 1       # the windows of a row are as one of all its channels
    cdef int64_t row
    cdef int32_t oh
    cdef Taps t
    cdef const uint8_t* image
    if p.channels == 0:
        return
    y += first * p.out_width * p.channels
    for row in range(first, end):
        oh = <int32_t>(row % p.out_height)
        image = x + row / p.out_height * p.height * line
        t = taps_at(p, oh, 0)
        if narrow and tap_count(t) > 0:
            fast.largest(image + t.top * line, t.bottom - t.top, line, 1, line, is_signed, p.low, p.high, 1, 0, y)
        elif separable:
            largest_row(fast, p, is_signed, nothing, image, oh, y)
        else:
            largest_windows(fast, p, is_signed, nothing, image, line, 0, oh, 0, p.out_width, y)
        y += p.out_width * pixel


cdef inline int32_t whole_windows(const Pool2D* p, Taps t, int32_t most) noexcept nogil:
    """Of those from this one on, how many lie between the left and the right edge; 1 at an edge."""
    if t.right - t.left != p.kernel_width:
        return 1
    return min((p.width - t.right) / p.stride_width + 1, most)


cdef inline void largest_row(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, int32_t nothing, const uint8_t* image, int32_t oh, uint8_t* y,
) noexcept nogil:
    """One output row: the largest of each column, whose pixels lie side by side; of these the largest of each window."""
    cdef uint8_t[LINE_BYTES] columns
    cdef int64_t pixel = p.channels
    cdef int32_t most = <int32_t>(1 + (LINE_BYTES / pixel - p.kernel_width) / p.stride_width)
    cdef int32_t ow = 0
    cdef int32_t n, left, right
    cdef Taps t
    while ow < p.out_width:
        n = min(most, p.out_width - ow)
        t = taps_at(p, oh, ow)
        left = t.left
        right = taps_at(p, oh, ow + n - 1).right
        if t.bottom <= t.top or right <= left:
            memset(y, nothing, n * pixel)
        else:
            fast.largest(
                image + (<int64_t>t.top * p.width + left) * pixel, t.bottom - t.top, p.width * pixel, 1, (right - left) * pixel,
                is_signed, p.low, p.high, 1, 0, columns)
            if p.stride_width == 1:
                largest_runs(fast, p, is_signed, nothing, columns, left, ow, ow + n, y)
            else:
                largest_windows(fast, p, is_signed, nothing, columns, 0, left, oh, ow, ow + n, y)
        y += n * pixel
        ow += n


cdef inline void largest_windows(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, int32_t nothing, const uint8_t* x, int64_t line, int32_t left, int32_t oh,
    int32_t ow, int32_t end, uint8_t* y,
) noexcept nogil:
    """Of an image; of its columns' largest values from `left` on, where a `line` has no bytes."""
    cdef int64_t pixel = p.channels
    cdef int32_t n
    cdef Taps t
    while ow < end:
        t = taps_at(p, oh, ow)
        n = whole_windows(p, t, end - ow)
        if tap_count(t) == 0:
            memset(y, nothing, n * pixel)
        else:
            fast.largest(
                x + t.top * line + (t.left - left) * pixel, 1 if line == 0 else t.bottom - t.top, line, t.right - t.left, pixel, is_signed,
                p.low, p.high, n, p.stride_width * pixel, y)
        y += n * pixel
        ow += n


cdef inline void largest_runs(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, int32_t nothing, const uint8_t* columns, int32_t left, int32_t ow,
    int32_t end, uint8_t* y,
) noexcept nogil:
    """Windows one pixel apart, of columns' largest values: as one run of bytes, as long as all of their columns lie inside."""
    cdef int64_t pixel = p.channels
    cdef int32_t n
    cdef Taps t
    while ow < end:
        t = taps_at(p, 0, ow)
        n = whole_windows(p, t, end - ow)
        if t.right <= t.left:
            memset(y, nothing, n * pixel)
        elif t.right - t.left == p.kernel_width:
            fast.largest(columns + (t.left - left) * pixel, p.kernel_width, pixel, 1, n * pixel, is_signed, p.low, p.high, 1, 0, y)
        else:
            fast.largest(columns + (t.left - left) * pixel, 1, 0, t.right - t.left, pixel, is_signed, p.low, p.high, 1, 0, y)
        y += n * pixel
        ow += n


cdef inline bint average_rows(
    const ElementwiseI8Kernels* fast, const Pool2D* p, bint is_signed, const uint8_t* x, int64_t first, int64_t end, uint8_t* y,
) noexcept nogil:
    """Of up to MOST_SUMS channels; a window's rows are summed up at once."""
    cdef int32_t[MOST_SUMS] sums
    cdef int64_t pixel = p.channels
    cdef int64_t line = p.width * pixel
    cdef int64_t row
    cdef int32_t oh, ow, ih
    cdef const uint8_t* image
    cdef Taps t
    if p.channels == 0:
        return True
    y += first * p.out_width * p.channels
    for row in range(first, end):
        oh = <int32_t>(row % p.out_height)
        image = x + row / p.out_height * p.height * line
        for ow in range(p.out_width):
            t = taps_at(p, oh, ow)
            if tap_count(t) == 0:
                return False
            memset(sums, 0, p.channels * sizeof(int32_t))
            for ih in range(t.top, t.bottom):
                fast.sum_rows(image + ih * line + t.left * pixel, t.right - t.left, p.channels, is_signed, sums)
            if is_signed:
                average_sums(p, sums, tap_count(t), p.channels, <int8_t*>y)
            else:
                average_sums(p, sums, tap_count(t), p.channels, y)
            y += p.channels
    return True
