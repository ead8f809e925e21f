"""How a group's parts run; told in ranges.pyx."""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.groups cimport Group, Steps
from tflm_cy.graph.tensor cimport Tensor


cdef int measure_rolls(const Steps* steps, Group* group) noexcept
cdef void run_group(Context context, Tensor* tensors, Node* nodes, const int32_t* plan, const Group* group, bint engaged) noexcept nogil
