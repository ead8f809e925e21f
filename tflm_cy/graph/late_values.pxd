"""Values that are known in prepare and written later; told in late_values.pyx."""
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.context cimport InvokeFunction, Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.graph.workspace cimport Workspace
from tflm_cy.memory.block cimport Block


cdef struct LateValue:
    InvokeFunction write             # of the node, which has not run yet; NULL: there is nothing to write
    int node
    int readers                      # nodes and others that may look at it while the graph runs
    bint written                     # False: it must be before it is looked at
    bint lent                        # it has memory while a node is prepared, and only then
    bint kept                        # somebody else than prepares looks at it


cdef class LateValues(Workspace):
    cdef Node* nodes                 # the file's, then what delegates add
    cdef int32_t* plan               # the steps: the execution plan with each partition's own nodes in its place
    cdef int plan_count
    cdef readonly list registrations          # per node; None for an unresolved custom operator
    cdef list step_partitions        # per step, None outside of partitions
    cdef uint8_t* hidden             # per tensor: seen by a partition's own nodes only; NULL without delegates
    cdef Block late                  # a LateValue per tensor; None: there are none
    cdef Block room                  # of the value that is lent
    cdef Tensor* borrowed            # by the node that is prepared, or NULL

    cdef int note_readers(self) except -1
    cdef int write_late(self, LateValue* late) noexcept nogil
    cdef int settle_inputs(self, const Node* node, int but) except -1
    cdef int give_back(self) noexcept
