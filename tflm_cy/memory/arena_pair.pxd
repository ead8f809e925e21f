from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.single_arena cimport SingleArena


cdef class ArenaPair(Arena):
    cdef readonly SingleArena persistent        # the tail
    cdef readonly SingleArena non_persistent    # the head and the temporaries


cdef ArenaPair new_arena_pair(object persistent, object non_persistent, size_t alignment)
