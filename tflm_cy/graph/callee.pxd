"""What operators of control flow give to a subgraph that they call; told in `callee.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor


cdef bint reads_input(Context callee, int i) noexcept
cdef bint has_shapes_of(Context callee, const Tensor** values) noexcept
cdef int set_inputs(Context callee, const Tensor** values) except -1
cdef bint keeps_variable(Context body, int i) noexcept
cdef void omit_unread_outputs(Context caller, const Node* node, Context body) noexcept
