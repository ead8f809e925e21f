"""A buffer over a tensor's memory that counts itself while it lives."""
from libc.stddef cimport size_t

from tflm_cy.graph.subgraph cimport Subgraph


cdef class View:
    cdef Subgraph owner
    cdef void* data
    cdef Py_ssize_t bytes
    cdef bint readonly


cdef View view_of(Subgraph owner, void* data, size_t bytes, bint readonly)
