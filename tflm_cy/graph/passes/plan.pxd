"""The pass that plans memory; told in `plan.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.graph.compilation cimport Compilation


cdef int plan(Compilation c) except -1
cdef int end_of_requests(Compilation c, int request) noexcept nogil
cdef int64_t request_bytes(Compilation c, int request) noexcept nogil
