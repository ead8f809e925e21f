"""What the kernels of FULLY_CONNECTED share: how large the product is, as prepare found it."""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.conv cimport ConvShape

cdef struct Matrix:
    ptrdiff_t batches            # rows of values
    ptrdiff_t rows               # of weights, outputs
    ptrdiff_t depth


cdef inline void matrix_shape(const Matrix* m, ConvShape* g) noexcept nogil:
    """A 1x1 convolution over images of one pixel."""
    g.batches = m.batches
    g.ih = g.iw = g.oh = g.ow = g.kh = g.kw = g.groups = 1
    g.stride_h = g.stride_w = g.dilation_h = g.dilation_w = 1
    g.pad_h = g.pad_w = 0
    g.ic = g.group_ic = m.depth
    g.oc = m.rows
