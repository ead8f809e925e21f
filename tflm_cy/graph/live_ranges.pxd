"""When each tensor's memory is needed; the rules are told in `live_ranges.pyx`."""
from tflm_cy.graph.graph cimport Graph


cdef void find_live_ranges(Graph* graph, int first, int end) noexcept nogil
