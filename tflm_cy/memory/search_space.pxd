"""What the search of `packing.pyx` works on; told in `search_space.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.memory.packing cimport Packing
from tflm_cy.memory.problem cimport Problem


cdef Packing packing_of(Problem problem, bint relaxed, int64_t budget, double seconds)
cdef tuple relaxed_pairs(Problem problem, list items)
