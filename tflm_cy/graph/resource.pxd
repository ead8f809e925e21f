"""A resource variable: memory that outlives the nodes that assign and read it."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from tflm_cy.graph.tensor cimport MAX_RANK, Tensor


cdef class Resource:
    cdef void* data
    cdef size_t bytes
    cdef size_t capacity
    cdef int32_t type
    cdef int32_t rank
    cdef int32_t[MAX_RANK] dims
    cdef bint assigned

    cdef int reserve(self, size_t bytes) except -1
    cdef int assign(self, const Tensor* value) noexcept nogil


cdef class Resources:
    cdef readonly dict identifiers          # (container, shared name) -> number
    cdef readonly list variables            # number -> Resource
    cdef readonly set initialized           # subgraphs that CALL_ONCE has run

    cdef int identifier(self, str container, str name) except -1
    cdef Resource variable(self, int number)
