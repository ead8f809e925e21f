"""What definitions and kernels agree on: the shapes of convolutions, pools and resized images."""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t

cdef struct ConvShape:
    ptrdiff_t batches
    ptrdiff_t ih                 # input
    ptrdiff_t iw
    ptrdiff_t ic
    ptrdiff_t oh                 # output
    ptrdiff_t ow
    ptrdiff_t oc
    ptrdiff_t kh                 # filter
    ptrdiff_t kw
    ptrdiff_t group_ic           # channels of one filter
    ptrdiff_t groups
    ptrdiff_t stride_h
    ptrdiff_t stride_w
    ptrdiff_t dilation_h
    ptrdiff_t dilation_w
    ptrdiff_t pad_h              # before the first row and column
    ptrdiff_t pad_w
    ptrdiff_t row                # integer kernels: values of one filter in memory, kh * kw * group_ic or more with zeros behind

cdef struct Pool2D:
    int32_t batches, height, width, channels
    int32_t out_height, out_width
    int32_t kernel_height, kernel_width
    int32_t stride_height, stride_width
    int32_t pad_top, pad_left
    int32_t low, high            # clamp of a quantized output
    float low_f, high_f          # clamp of a float output
    bint last_nan                # comes out of an average of floats; else the first

cdef struct Resize:
    int32_t batches, height, width
    int64_t depth
    int32_t out_height, out_width
    bint align_corners
    bint half_pixel_centers


cdef inline ConvShape matrix_shape(ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t columns) noexcept nogil:
    """A product of matrices: a filter of 1x1 over images of one pixel, of which there are as many as rows."""
    cdef ConvShape g
    g.batches, g.group_ic, g.ic, g.oc = rows, depth, depth, columns
    g.ih = g.iw = g.oh = g.ow = g.kh = g.kw = g.groups = g.stride_h = g.stride_w = g.dilation_h = g.dilation_w = 1
    g.pad_h = g.pad_w = 0
    g.row = depth
    return g


cdef inline ptrdiff_t first_tap(ptrdiff_t start, ptrdiff_t dilation) noexcept nogil:
    """The first tap of a window that starts at `start` (perhaps negative) that lies inside."""
    if start >= 0:
        return 0
    return -start if dilation == 1 else (-start + dilation - 1) / dilation


cdef inline ptrdiff_t end_tap(ptrdiff_t start, ptrdiff_t dilation, ptrdiff_t size, ptrdiff_t taps) noexcept nogil:
    """One behind the last tap inside; the result may lie below first_tap when there is none."""
    cdef ptrdiff_t end
    if start >= size:
        return 0
    end = size - start if dilation == 1 else (size - 1 - start) / dilation + 1
    return taps if taps < end else end


cdef inline ptrdiff_t padded_row(ptrdiff_t depth) noexcept nogil:
    """A short filter is padded to full vectors of 16, which costs little memory and saves the loop's tail."""
    return (depth + 15) & ~<ptrdiff_t>15 if depth < 256 else depth
