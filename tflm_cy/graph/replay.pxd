"""A run repeated in a copy of the graph that keeps all tensors; told in `replay.pyx`."""
from tflm_cy.graph.subgraph cimport Subgraph


cdef class Replay:
    cdef object find                 # as the interpreter was made
    cdef bint reference
    cdef list delegates
    cdef bint clustering
    cdef list subgraphs
    cdef Subgraph last               # whose run it has repeated: which one, and how often it had run by then
    cdef int generation
    cdef long runs

    cdef int copy_graphs(self, Subgraph g) except -1
    cdef object value(self, Subgraph g, int t)
    cdef int repeat(self, Subgraph g, Subgraph copy) except -1
    cdef bint same_outputs(self, Subgraph g, Subgraph copy) noexcept
    cdef bint is_repeatable(self, Subgraph g, Subgraph copy) except -1


cdef object last_value(Subgraph g, int t, Replay replay)
