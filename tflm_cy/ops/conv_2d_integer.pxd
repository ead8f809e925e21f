"""CONV_2D's integer kernels; told in `conv_2d_integer.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.conv_2d_layer cimport Conv


cdef int prepare_integer(Context context, Node* node, const Conv* c, int activation, bint narrow_bias) except -1
