"""What an interpreter tells of tensors and nodes; told in `details.pyx`."""
from tflm_cy.graph.subgraph cimport Subgraph


cdef dict tensor_details(Subgraph g, int t)
cdef list signature_of(Subgraph g, int t)
cdef dict node_details(Subgraph g, int n)
cdef list step_list(Subgraph g)
