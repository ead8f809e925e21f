from tflm_cy.memory.arena cimport Arena


cdef class RecordingArena(Arena):
    cdef readonly Arena inner
    cdef readonly size_t temp_peak
    cdef list entries       # (inner mark before, kind, requested, used) per request in the tail


cdef RecordingArena new_recording_arena(Arena inner)
