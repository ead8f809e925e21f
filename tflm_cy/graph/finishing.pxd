"""Values that are finished where they are computed; told in finishing.pyx."""
from tflm_cy.graph.places cimport Places


cdef int hand_over(Places p, int first, int end) noexcept
