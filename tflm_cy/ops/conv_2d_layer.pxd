"""What the kernels of CONV_2D share: the convolution as prepare found it."""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.shapes cimport ConvShape, padded_row
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.quantized_weights cimport Bias, Weights, weight_bytes

cdef struct Conv:
    ConvShape shape
    ptrdiff_t depth              # values of one window: kh * kw * group_ic
    bint unusual                 # windows that no padding gives
    Weights weights
    Bias bias


cdef inline int pad_filter(Context context, const Tensor* w, Conv* c) except -1:
    """Rows of the filter padded with zeros, when it is constant and short."""
    cdef const uint8_t* bytes
    cdef uint8_t* padded
    cdef ptrdiff_t row
    c.shape.row = c.depth
    if not is_constant(w) or padded_row(c.depth) == c.depth:
        return 0
    bytes = weight_bytes(context, w, &c.weights)
    c.shape.row = padded_row(c.depth)
    padded = <uint8_t*>context.persistent(c.shape.oc * c.shape.row)
    for row in range(c.shape.oc):
        memcpy(padded + row * c.shape.row, bytes + row * c.depth, c.depth)
    c.weights.unpacked = padded
    return 0
