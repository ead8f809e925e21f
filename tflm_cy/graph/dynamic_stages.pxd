"""Stages behind dynamic outputs; told in `dynamic_stages.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from tflm_cy.graph.allocator cimport Mark
from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.graph cimport Step
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
    int first_watched            # of `watched`: the dynamic tensors in front whose shapes it depends on
    int end_watched
    int watched                  # how many there were when it began
    bint shaped                  # it has been prepared for some shapes
    int end                      # 0: not prepared

cdef struct SeenShape:           # of a dynamic tensor, when the stage behind it was prepared
    int rank
    int32_t[MAX_RANK] dims


cdef class DynamicStages:
    cdef Compilation c
    cdef Block memory
    cdef DynamicStage* stages        # per step
    cdef SeenShape* seen             # per tensor
    cdef int32_t* watched            # tensors, in the order of the steps that write them
    cdef int watched_count
    cdef int depended                # those below are watched by the stages so far
    cdef int looked_at               # steps below have their dynamic outputs in `watched`
    cdef Step* listed                # the steps as they were laid out before stages changed their order

    cdef int prepare(self, int step) except -1
    cdef int prepared_end(self, int step) noexcept nogil
    cdef int begin(self, int step, bint ready_only) except -1
    cdef int watch(self, int step, bint ready_only) noexcept
    cdef bint shapes_as_seen(self, int step) noexcept nogil
    cdef int note_shapes(self, int step) noexcept
    cdef int forget(self, int first) except -1
    cdef int restore_order(self) noexcept


cdef DynamicStages new_stages(Compilation c)
