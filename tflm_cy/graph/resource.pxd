"""A resource variable: memory that outlives the nodes that assign and read it; told in `resource.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from tflm_cy.graph.tensor cimport MAX_RANK, RESOURCE, VARIANT, Tensor


cdef struct Variable:
    void* data
    size_t bytes
    size_t capacity
    int32_t type
    int32_t rank
    int32_t dims[MAX_RANK]
    bint assigned
    bint planned             # data lies in an arena: neither grown nor freed here


cdef inline bint is_handle(const Tensor* tensor) noexcept nogil:
    """True for what names something instead of holding it: its memory is 8 bytes, whatever its shape says."""
    return tensor.type == RESOURCE or tensor.type == VARIANT


cdef int reserve(Variable* variable, size_t bytes) noexcept nogil
cdef int assign(Variable* variable, const Tensor* value) noexcept nogil
cdef int overwrite(Variable* variable, const Tensor* value) noexcept nogil


cdef class Resource:
    cdef Variable variable


cdef class Resources:
    cdef readonly dict identifiers          # (container, shared name) -> number
    cdef readonly list resources            # number -> Resource
    cdef readonly set initialized           # subgraphs that CALL_ONCE has run
    cdef readonly dict tables               # number -> ops.hashtable's HashTable
    cdef readonly dict handles              # number of a handle -> what a delegate has put there
    cdef readonly dict kept                 # (subgraph, node) -> bytearray: what an operator has computed once, for all allocations
    cdef int live_views                     # views of any tensor that are alive
    cdef bint engaged                       # the invoke that is under way has the pool of threads
    cdef long runs                          # of subgraphs that no other one has called
    cdef int depth                          # subgraphs that are being prepared or run, each called by the one before

    cdef int identifier(self, str container, str name) except -1
    cdef Variable* variable(self, int number) noexcept
    cdef int hold(self, int subgraph, Tensor* tensor, object value) except -1
    cdef object held(self, const Tensor* tensor)
    cdef int copy_handle(self, int subgraph, Tensor* target, const Tensor* value) except -1
