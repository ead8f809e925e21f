"""The pass that gives depth-first groups line buffers; told in `line_buffers.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.graph cimport Graph


cdef int line_buffers(Compilation c) except -1
cdef int64_t line_buffer_bytes(const Graph* graph, int t) noexcept
