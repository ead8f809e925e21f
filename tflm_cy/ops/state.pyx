"""What an operator keeps from one invoke to the next, beside variable tensors: filters' histories, counters, resource variables.

    op.history = <int16_t*>new_state(context, 2 * n)      # in prepare; zeroed
    note_state(context, op, sizeof(Op))                    # or: what prepare has written there is what a reset restores

TFLM's interpreter has a reset that goes to all of these; the state is known to the subgraph as a kept object.
"""
from libc.stddef cimport size_t
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Context


cdef class State:
    """Memory in the arena and what it holds at the start."""

    def reset(self):
        """Back to the start."""
        memcpy(self.data, <const char*>self.initial, self.bytes)


cdef void* new_state(Context context, size_t bytes) except NULL:
    """Zeroed memory that `reset` zeroes again."""
    cdef void* data = context.persistent(bytes)
    note_state(context, data, bytes)
    return data


cdef int note_state(Context context, void* data, size_t bytes) except -1:
    """Memory whose present contents are those of a start."""
    cdef State state = State.__new__(State)
    state.data = <char*>data
    state.bytes = bytes
    state.initial = state.data[:bytes]
    context.keep(state)
    return 0
