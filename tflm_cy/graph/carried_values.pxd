"""What an allocation carries over from the one before it; told in `carried_values.pyx`."""
from tflm_cy.graph.graph cimport Graph


cdef dict save_inputs(const Graph* graph, set resized)
cdef int restore_values(Graph* graph, dict saved) except -1
cdef dict save_variables(const Graph* graph, dict saved)
cdef tuple save_addresses(const Graph* graph, list partitions, set resized, bint allocated)
cdef int restore_addresses(Graph* graph, int refused, tuple before, object error) except -1
cdef int forget_addresses(Graph* graph) noexcept
