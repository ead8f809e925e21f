"""Whether a tensor's memory has served another one since it was written; told in `overwritten.pyx`."""
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.memory_plan cimport MemoryPlan


cdef bint is_overwritten(const Graph* graph, MemoryPlan memory, void** scratch_buffers, int index) noexcept
