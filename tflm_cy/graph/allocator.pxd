"""Memory of one subgraph: its arena and what lies outside of it; told in `allocator.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.growing_arena cimport GrowingArena

cdef enum:
    HEAD_ALIGNMENT = 64
    SLACK = 64               # bytes behind every block that we own, which vector kernels may read
    MICRO_ALIGNMENT = 16     # TFLM's, in its arena


cdef struct Mark:            # how far the allocator was, to be rewound to
    size_t tail
    size_t bulk


cdef class Allocator:
    cdef readonly Arena arena
    cdef readonly GrowingArena bulk  # large memory that need not be zero, apart from what is small: its pages wait for who fills them
    cdef size_t alignment            # of what operators get and of planned tensors
    cdef bint single_arena           # TFLM's way: everything lies in one arena, which all subgraphs share
    cdef void** owned                # per tensor: memory that the arena does not hold, of strings, dynamic outputs and replaced constants
    cdef size_t* owned_capacity
    cdef int owned_count
    cdef dict rows                   # value of a byte -> rows of it

    cdef void* persistent(self, size_t bytes) except NULL
    cdef void* unfilled(self, size_t bytes) except NULL
    cdef const uint8_t* same_bytes(self, uint8_t value, size_t bytes) except NULL
    cdef void* own(self, int index, size_t bytes) noexcept nogil
    cdef Mark mark(self) except *
    cdef int rewind(self, Mark mark) except -1
    cdef int trim(self) noexcept
