"""What an operator keeps from one invoke to the next, so that a reset can find it; told in `state.pyx`."""
from libc.stddef cimport size_t

from tflm_cy.graph.context cimport Context


cdef class State:
    cdef char* data
    cdef size_t bytes
    cdef bytes initial


cdef void* new_state(Context context, size_t bytes) except NULL
cdef int note_state(Context context, void* data, size_t bytes) except -1
