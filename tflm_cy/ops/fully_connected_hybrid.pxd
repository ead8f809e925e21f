"""FULLY_CONNECTED's hybrid kernels; told in `fully_connected_hybrid.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.fully_connected_layer cimport Matrix


cdef int prepare_hybrid(Context context, Node* node, const Matrix* m, int activation) except -1
