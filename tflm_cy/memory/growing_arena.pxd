from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.block cimport Block


cdef struct Chunk:
    Chunk* previous
    char* start         # aligned
    size_t used
    size_t capacity     # slack not counted
    size_t base         # bytes in use in the chunks before
    size_t step         # the capacity that was due when it began


cdef class GrowingArena(Arena):
    cdef Chunk* tail_chunk
    cdef Chunk* temp_chunk
    cdef Block block                # the head's; None before it was set
    cdef size_t head_used
    cdef size_t next_capacity

    cdef int push(self, Chunk** top, size_t capacity, size_t size, size_t alignment) except -1
    cdef int drop_temps(self) noexcept
    cdef void trim_tail(self) noexcept


cdef GrowingArena new_growing_arena(size_t alignment, size_t slack)
