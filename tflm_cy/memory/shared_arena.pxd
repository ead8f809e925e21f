from tflm_cy.memory.arena cimport Arena


cdef class SharedArena:
    cdef readonly Arena inner
    cdef readonly size_t head_size      # of the largest plan
    cdef list entries                   # (tenant, inner mark before, bytes used) per request in the tail
    cdef size_t tenants


cdef class Tenant(Arena):
    cdef readonly SharedArena shared
    cdef Arena inner
    cdef size_t number
    cdef size_t own_head
    cdef size_t own_tail
    cdef size_t own_requests


cdef SharedArena new_shared_arena(Arena inner)
cdef Tenant new_tenant(SharedArena shared)
