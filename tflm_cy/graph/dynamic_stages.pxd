"""Stages behind dynamic outputs; told in `dynamic_stages.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from tflm_cy.graph.allocator cimport Mark
from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.tensor cimport MAX_RANK
from tflm_cy.memory.block cimport Block

cdef struct DynamicStage:        # by its first step
    bint begun                   # those below, but `end`, are what was there before it
    Mark mark
    size_t values_mark
    int scratch
    int blocks
    int strip_blocks
    int strip_tensors
    int kept
    double parallel_time
    int end                      # 0: not prepared

cdef struct SeenShape:           # of a dynamic tensor, when the stage behind it was prepared
    int rank
    int32_t[MAX_RANK] dims


cdef class DynamicStages:
    cdef Compilation c
    cdef Block memory
    cdef DynamicStage* stages        # per step
    cdef SeenShape* seen             # per tensor

    cdef int prepared_end(self, int step) noexcept
    cdef int begin(self, int step) except -1
    cdef int complete(self, int step) noexcept
    cdef bint shapes_as_seen(self, int step, bint note) noexcept
    cdef int forget(self, int first) except -1


cdef DynamicStages new_stages(Compilation c)
