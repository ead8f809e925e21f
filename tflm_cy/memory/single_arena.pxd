from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.block cimport Block


cdef class SingleArena(Arena):
    cdef Block block
    cdef char* buffer_head      # the first aligned byte: here the head starts
    cdef char* head_end
    cdef char* temp_end         # here the free bytes start
    cdef char* tail_start       # here they end
    cdef char* buffer_tail      # the end of the buffer, not rounded
    cdef size_t granularity         # the largest alignment asked so far

    cdef int exhausted(self, str section, size_t asked, size_t left, size_t padding) except -1


cdef SingleArena new_single_arena(object buffer, size_t alignment)
