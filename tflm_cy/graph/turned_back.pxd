"""Matrices that are turned and turned back; told in turned_back.pyx."""
from libc.stdint cimport int32_t

from tflm_cy.graph.groups cimport Group, Steps


cdef bint lie_still(
    const Steps* s, const Group* groups, const int32_t* first_use, const int32_t* last_use, int32_t* merged, int32_t* ends,
    int step, int end) noexcept
