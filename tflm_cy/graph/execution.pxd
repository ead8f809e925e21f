"""Runs of a prepared graph; told in `execution.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.dynamic_stages cimport DynamicStages
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.resource cimport Resources
from tflm_cy.threads.thread_autotune cimport ThreadAutotune


cdef class Execution:
    cdef Compilation c
    cdef Resources shared
    cdef int subgraph                # its index
    cdef int static_end              # steps below are prepared by allocate
    cdef DynamicStages stages        # those behind; None: no run has come to one
    cdef ThreadAutotune trial                 # whether threads help
    cdef list recorder               # None; else each run adds (subgraph, when its steps began and ended: pairs of int64 nanoseconds)
    cdef int64_t* clock              # of the run under way, if it is timed
    cdef int failed_step
    cdef object failure              # an exception to be raised as it is
    cdef bint staged                 # `stages` are there

    cdef int forget_trial(self) noexcept
    cdef int run(self, Context context) noexcept nogil
    cdef int run_stages(self, Context context) noexcept nogil
    cdef int next_stage(self, Context context, int step) noexcept with gil
    cdef int run_recorded(self, Context context) noexcept
    cdef int forget_stages(self) noexcept


cdef int run_steps(Context context, const Graph* graph, int first, int end, bint engaged, int* failed) noexcept nogil
