"""FULLY_CONNECTED's integer kernels; told in `fully_connected_integer.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.fully_connected_layer cimport Matrix


cdef int prepare_integer(Context context, Node* node, const Matrix* m, int activation) except -1
cdef int prepare_shuffled(Context context, Node* node, const Matrix* m) except -1
