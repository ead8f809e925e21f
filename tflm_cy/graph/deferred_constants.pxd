"""Constants that are known in prepare and computed later; told in deferred_constants.pyx."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from tflm_cy.graph.allocator cimport Allocator
from tflm_cy.graph.context cimport Context, InvokeFunction, Node
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.memory.block cimport Block
from tflm_cy.memory.growing_arena cimport GrowingArena


cdef struct Deferred:
    InvokeFunction compute           # of the node, which has not run yet; NULL: the tensor is not deferred
    int node
    int readers                      # nodes and others that may look at it while the graph runs
    bint present                     # False: it must be computed before it is read
    bint transient                   # it has memory while a node is prepared, and only then
    bint kept                        # it is read after prepare
    void* chunk                      # where it lies among values that may be evicted; NULL: it does not
    int32_t before                   # the tensors whose values were placed before and after it
    int32_t after


cdef class DeferredConstants:
    cdef Graph* graph
    cdef Allocator allocator
    cdef list registrations
    cdef Block table                 # a Deferred per tensor; None: there are none
    cdef GrowingArena values         # those that may be evicted
    cdef int32_t last_value          # the tensor that was placed there last
    cdef Block staging_buffer        # of transient values
    cdef Tensor* staged              # the transient value of the node that is being prepared, or NULL

    cdef int forget(self) except -1
    cdef int defer(self, Context context, Node* node, Tensor* tensor, int partition) except -1
    cdef int place(self, Context context, Tensor* tensor) except -1
    cdef size_t expected_values(self) noexcept
    cdef int trim(self) noexcept
    cdef size_t mark(self) except? 0
    cdef int rewind(self, size_t mark) except -1
    cdef int note_readers(self) except -1
    cdef bint are_fixed(self, const Node* node) noexcept
    cdef int materialize(self, Context context, const Tensor* tensor) except -1
    cdef int materialize_inputs(self, Context context, const Node* node, int but) except -1
    cdef const void* acquire(self, Context context, const Tensor* tensor) noexcept nogil
    cdef int compute(self, Context context, Deferred* deferred) noexcept nogil
    cdef void evict(self, const Tensor* tensor) noexcept nogil
    cdef char* unused_from(self, const Tensor* tensor, int way) noexcept nogil
    cdef bint side_by_side(self, const Tensor* a, const Tensor* b) noexcept nogil
    cdef int unstage(self) noexcept
