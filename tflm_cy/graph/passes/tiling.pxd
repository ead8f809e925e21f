"""The pass that groups steps into tiles; told in `tiling.pyx`."""
from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.graph cimport Graph


cdef int tile(Compilation c) except -1
cdef bint stays_inside(const Graph* graph, int step) noexcept
cdef bint engage_workers(int workers, double time) noexcept nogil
