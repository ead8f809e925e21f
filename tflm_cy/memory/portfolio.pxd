"""The orders of a search; told in `portfolio.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.memory.branch_and_bound cimport Packing
from tflm_cy.memory.problem cimport Plan


cdef int run(Packing packing, int64_t height, int64_t budget) noexcept nogil
cdef Plan minimised(Packing packing, Plan incumbent, int64_t lower, int64_t budget)
cdef int64_t adopt(Packing packing, Plan plan) except -1
