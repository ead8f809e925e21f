"""What the search of `branch_and_bound.pyx` works on; told in `search_space.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.memory.branch_and_bound cimport Packing
from tflm_cy.memory.problem cimport Problem


cdef Packing packing_of(Problem problem, bint relaxed, int64_t budget, double seconds)
cdef tuple relaxed_pairs(Problem problem, list items)
