"""CONV_2D's float32 kernels; told in `conv_2d_float.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.conv_2d_layer cimport Conv


cdef int prepare_float(Context context, Node* node, const Conv* c, int activation) except -1
