"""The loop over the steps; told in `execution.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport Context
from tflm_cy.graph.graph cimport Graph


cdef int run_steps(Context context, const Graph* graph, int first, int end, bint engaged, int* failed) noexcept nogil
cdef int run_timed_steps(Context context, const Graph* graph, int first, int end, bint engaged, int* failed, int64_t* clock) noexcept nogil
