"""What an interpreter tells of tensors and nodes; told in `details.pyx`."""
from libc.stdint cimport int32_t

from tflm_cy.graph.subgraph cimport Subgraph


cdef dict tensor_details(Subgraph g, int t)
cdef int check_strict(Subgraph g, int t, int rank, const int32_t* dims) except -1
cdef dict node_details(Subgraph g, int n)
cdef list step_list(Subgraph g)
