"""Values that are known in prepare and written later; told in late_values.pyx."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.context cimport InvokeFunction, Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.graph.workspace cimport Workspace
from tflm_cy.memory.block cimport Block
from tflm_cy.memory.growing_arena cimport GrowingArena


cdef struct LateValue:
    InvokeFunction write             # of the node, which has not run yet; NULL: there is nothing to write
    int node
    int readers                      # nodes and others that may look at it while the graph runs
    bint written                     # False: it must be before it is looked at
    bint lent                        # it has memory while a node is prepared, and only then
    bint kept                        # somebody else than prepares looks at it
    void* chunk                      # where it lies among values that may be given back; NULL: it does not
    int32_t before                   # the tensors whose values were placed before and after it
    int32_t after


cdef class LateValues(Workspace):
    cdef Node* nodes                 # the file's, then what delegates add
    cdef int32_t* plan               # the steps: the execution plan with each partition's own nodes in its place
    cdef int plan_count
    cdef readonly list registrations          # per node; None for an unresolved custom operator
    cdef list step_partitions        # per step, None outside of partitions
    cdef uint8_t* hidden             # per tensor: seen by a partition's own nodes only; NULL without delegates
    cdef Block late                  # a LateValue per tensor; None: there are none
    cdef GrowingArena values         # those that may be given back
    cdef int32_t last_value          # the tensor that was placed there last
    cdef Block room                  # of the value that is lent
    cdef Tensor* borrowed            # by the node that is prepared, or NULL

    cdef int set_late(self, Tensor* tensor) except -1
    cdef size_t expected_values(self) noexcept
    cdef size_t values_mark(self) except? 0
    cdef int forget_values(self, size_t mark) except -1
    cdef char* bare_from(self, const Tensor* tensor, int way) noexcept nogil
    cdef bint side_by_side(self, const Tensor* a, const Tensor* b) noexcept nogil
    cdef int note_readers(self) except -1
    cdef int write_late(self, LateValue* late) noexcept nogil
    cdef int settle_inputs(self, const Node* node, int but) except -1
    cdef int give_back(self) noexcept
