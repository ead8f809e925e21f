"""The pass that prepares nodes; told in `prepare.pyx`."""
from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor


cdef int prepare(Compilation c) except -1
cdef int forget_node(Node* node) noexcept
cdef int refuse_when_reached(Context context, Node* node, bytes text) except -1
cdef bint reset_variables(Compilation c) noexcept
cdef object out_of_memory(Compilation c, object error)
