"""What the 2-D convolutions share in prepare: checks of strides and dilations, output size and padding.

Source: LiteRT:tflite/kernels/padding.h.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.window cimport SAME, VALID
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor


cdef inline int64_t windows_along(int padding, int64_t size, int64_t filter, int64_t stride, int64_t dilation) noexcept nogil:
    """Number of output positions along one axis; 0 where a filter is larger than the image by less than the stride (VALID), negative
    where by more, 0 when the padding is neither SAME nor VALID."""
    cdef int64_t effective = (filter - 1) * dilation + 1
    if padding == SAME:
        return (size + stride - 1) / stride
    if padding != VALID:
        return 0
    return (size + stride - effective) / stride


cdef inline int64_t pad_before(int64_t size, int64_t filter, int64_t stride, int64_t dilation, int64_t out) noexcept nogil:
    cdef int64_t total = (out - 1) * stride + (filter - 1) * dilation + 1 - size
    return total / 2 if total > 0 else 0


cdef inline bint counts_no_bytes(int64_t batches, int64_t oh, int64_t ow) noexcept nogil:
    """A number of windows is negative, and TensorFlow takes the output for an empty one: it multiplies the dimensions in their order as
    unsigned 64-bit numbers, and refuses where that overflows."""
    return batches == 0 or oh == 0 or (oh < 0 and batches == 1 and ow == 0)


cdef inline bint is_empty(const ConvShape* g) noexcept nogil:
    """No rows or no columns."""
    return g.ih <= 0 or g.iw <= 0


cdef inline int check_window(const ConvShape* g, str name, bint takes_nothing, bint takes_no_channels=False) except -1:
    """`takes_nothing`: an image may have no rows or no columns; `takes_no_channels`: who calls looks at them."""
    if g.stride_h <= 0 or g.stride_w <= 0:
        raise ValueError(f"{name}: params->stride_height > 0 was not true (strides {g.stride_h}, {g.stride_w})")
    if g.dilation_h <= 0 or g.dilation_w <= 0:
        raise ValueError(f"{name}: params->dilation_height_factor > 0 was not true (dilations {g.dilation_h}, {g.dilation_w})")
    if g.ih < 0 or g.iw < 0 or (is_empty(g) and not takes_nothing) or (g.ic <= 0 and not takes_no_channels) or g.kh <= 0 or g.kw <= 0 or g.oc <= 0:
        raise ValueError(f"{name}: empty image {g.ih}x{g.iw}x{g.ic} or filter {g.kh}x{g.kw} for {g.oc} channels")
    return 0


cdef inline str misfit_text(const ConvShape* g, str name):
    return f"{name}: a {g.kh}x{g.kw} filter with dilations {g.dilation_h}, {g.dilation_w} does not fit the {g.ih}x{g.iw} image"


cdef inline int set_window(ConvShape* g, int padding, str name, bint takes_nothing=True, bint takes_no_channels=False) except -1:
    """Fill in oh, ow and the padding from input, filter, strides and dilations."""
    check_window(g, name, takes_nothing, takes_no_channels)
    g.oh = windows_along(padding, g.ih, g.kh, g.stride_h, g.dilation_h)
    g.ow = windows_along(padding, g.iw, g.kw, g.stride_w, g.dilation_w)
    if ((g.oh < 0 or g.ow < 0) and not counts_no_bytes(g.batches, g.oh, g.ow)) or g.oh > 0x7FFFFFFF or g.ow > 0x7FFFFFFF:
        raise ValueError(misfit_text(g, name))
    g.oh, g.ow = max(g.oh, 0), max(g.ow, 0)
    g.pad_h = pad_before(g.ih, g.kh, g.stride_h, g.dilation_h, g.oh)
    g.pad_w = pad_before(g.iw, g.kw, g.stride_w, g.dilation_w, g.ow)
    return 0


cdef inline bint is_delegated_product(const ConvShape* g) noexcept nogil:
    """XNNPACK makes a matrix product of such a CONV_2D, whose channels are the filter's: its image may have no rows and no columns."""
    return g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1 and g.groups == 1 and g.group_ic + g.oc > 2


cdef inline bint set_delegated_window(ConvShape* g, int padding, str name, bint product=False) except -1:
    """As XNNPACK counts: one window at least. True when not even that fits (VALID), which it computes of what lies behind the image.

    It does not look at the image's channels, and windows want rows and columns; a `product` has as many as the image.
    """
    cdef int64_t reach_h = (g.kh - 1) * g.dilation_h + 1
    cdef int64_t reach_w = (g.kw - 1) * g.dilation_w + 1
    if padding != VALID or (g.ih >= reach_h and g.iw >= reach_w):
        set_window(g, padding, name, product, True)
        return False
    check_window(g, name, product, True)
    g.pad_h = g.pad_w = 0
    if product:
        g.oh, g.ow = g.ih, g.iw
        return False
    g.oh = max(g.ih - reach_h, 0) / g.stride_h + 1
    g.ow = max(g.iw - reach_w, 0) / g.stride_w + 1
    return True


cdef inline bint take_size_of_file(ConvShape* g, const Tensor* y) noexcept nogil:
    """TFLM computes as many windows as the file's output has, whatever the padding's name; True when those are others.

    Such windows may lie outside of the image, for which the scalar definitions alone are made.
    """
    if y.rank != 4 or y.dims[0] != g.batches or y.dims[3] != g.oc or (y.dims[1] == g.oh and y.dims[2] == g.ow):
        return False
    g.oh = y.dims[1]
    g.ow = y.dims[2]
    return True
