"""A PAD of rows and columns that a convolution without padding (VALID) takes over: Node.fusion = FUSED_PAD, the paddings are its input 3.

What was written around the image is what the convolution's own padding stands for: zeros, or the zero point. Not written, it costs nothing.
"""
from libc.stdint cimport int32_t

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.window cimport VALID                    # for those who look whether a convolution may take a PAD over
from tflm_cy.graph.context cimport FUSED_PAD, Context, Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.ops.window_2d cimport check_window, is_delegated_product, set_delegated_window
from tflm_cy.schema.builtins cimport BUILTIN_CONV_2D


cdef inline bint is_product_of_pixels(const Node* node, const ConvShape* g) noexcept nogil:
    return node.code == BUILTIN_CONV_2D and node.fusion != FUSED_PAD and is_delegated_product(g)


cdef inline bint set_padded_window(Context context, const Node* node, ConvShape* g, int padding, str name) except -1:
    """As set_delegated_window, around the image with its border."""
    cdef const Tensor* paddings = context.input(node, 3)
    cdef const int32_t* border
    cdef bint misfit
    if node.fusion != FUSED_PAD or paddings == NULL:
        return set_delegated_window(g, padding, name, is_product_of_pixels(node, g))
    check_window(g, name, False, True)
    border = <const int32_t*>paddings.data
    g.ih += border[2] + border[3]
    g.iw += border[4] + border[5]
    misfit = set_delegated_window(g, padding, name)
    g.ih -= border[2] + border[3]
    g.iw -= border[4] + border[5]
    g.pad_h = border[2]
    g.pad_w = border[4]
    return misfit
