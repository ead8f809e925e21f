"""The part of a subgraph that operators call; told in `workspace.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.growing_arena cimport GrowingArena

cdef enum:
    HEAD_ALIGNMENT = 64
    SLACK = 64               # bytes behind every block that we own, which vector kernels may read
    MICRO_ALIGNMENT = 16     # TFLM's, in its arena


cdef struct Scratch:                 # a request of a node for memory while it runs
    int64_t bytes
    int32_t step


cdef class Workspace(Context):
    cdef readonly Arena arena
    cdef readonly GrowingArena bulk  # large memory that nobody clears, apart from what is small, so that its pages wait for who fills them
    cdef size_t alignment            # of what operators get and of planned tensors
    cdef bint micro                  # TFLM's way: one arena for all subgraphs, planned by `micro`; nothing is shaped while invoking
    cdef void** owned                # memory of tensors that the arena does not hold: strings, dynamic outputs
    cdef size_t* owned_capacity
    cdef Scratch* scratch_requests
    cdef int scratch_count
    cdef int scratch_capacity
    cdef list kept
    cdef dict same                   # value of a byte -> rows of it
    cdef int current_step            # of the plan, in prepare
    cdef bint dynamic_seen
    cdef object failure              # an exception to be raised as it is

    cdef void* take_unfilled(self, size_t bytes) except NULL
    cdef size_t bulk_mark(self) except? 0
    cdef int rewind(self, size_t mark, size_t bulk_mark) except -1
    cdef int trim_bulk(self) noexcept
    cdef int keep_shape(self, const Tensor* tensor, int rank, const int32_t* dims) noexcept nogil
    cdef int reserve_owned(self, int index, size_t bytes) noexcept nogil
    cdef int set_text(self, int index, list items) except -1
    cdef list text(self, int index)
