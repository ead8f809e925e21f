"""How a group's parts run; told in ranges.pyx."""
from libc.stdint cimport uint8_t

from tflm_cy.graph.groups cimport Group


cdef int measure_rolls(Group* group) noexcept
cdef int make_jobs(Group* groups, const uint8_t* flushes, int first, int end) noexcept
cdef void run_group(const Group* group, bint engaged) noexcept nogil
