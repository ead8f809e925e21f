"""Requests for scratch memory, the planning problem of a stage, and its solution; told in `memory_plan.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t

from tflm_cy.memory.block cimport Block
from tflm_cy.memory.problem cimport Problem

cdef enum RowKind:
    ROW_TENSOR = 0                   # a tensor that is to be placed
    ROW_SCRATCH = 1                  # the scratch requests of a tile group; index: the first one
    ROW_PLACED = 2                   # a tensor of an earlier stage that lies in the block already

cdef struct Row:                     # what a buffer of the problem is
    int32_t kind                     # RowKind
    int32_t index
    int64_t offset                   # in the head

cdef struct Scratch:                 # a request of a node for memory while it runs
    int64_t bytes
    int32_t step
    int32_t source                   # the node


cdef class MemoryPlan:
    cdef Scratch* scratch_requests
    cdef int scratch_count
    cdef int scratch_capacity
    cdef int scratch_bound           # requests that have an address in the context's scratch_buffers
    cdef list stage_blocks           # head memory of the stages behind a dynamic output; behind `block_count`: of forgotten ones, for those to come
    cdef Problem problem             # of the stage that is being planned
    cdef Block shared                # the block of an earlier stage that it may use
    cdef int row_capacity
    cdef Row* rows
    cdef int row_count
    cdef int64_t size                # of the stage's part of the head
    cdef int block_count             # of `stage_blocks` that are in use
    cdef int bound_capacity          # requests that the context's scratch_buffers have room for

    cdef int request_scratch(self, size_t bytes, int step, int source) except -1
    cdef int new_rows(self, int count) except -1
    cdef int add_row(self, int kind, int index) noexcept
    cdef Block new_stage_block(self, size_t bytes)
