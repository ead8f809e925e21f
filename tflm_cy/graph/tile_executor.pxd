"""How a tile group runs; told in `tile_executor.pyx`."""
from tflm_cy.graph.graph cimport Graph, TileGroup


cdef int measure_line_buffers(TileGroup* group) noexcept
cdef int make_jobs(Graph* graph, int first, int end) noexcept
cdef void run_group(const TileGroup* group, bint engaged) noexcept nogil
