"""The part of a subgraph that says where tensors lie; told in `places.pyx`."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.graph.groups cimport Group, Program, Steps
from tflm_cy.graph.late_values cimport LateValues
from tflm_cy.memory.block cimport Block


cdef class Places(LateValues):
    # as loaded
    cdef uint8_t* flushes            # per step: denormals count as zeros; NULL without delegates
    cdef int32_t* inputs
    cdef int32_t input_count
    cdef int32_t* outputs
    cdef int32_t output_count
    cdef bint preserve_all
    cdef bint keep_all               # no two tensors share memory

    # memory
    cdef int32_t* first_use
    cdef int32_t* last_use
    cdef int32_t* merged             # per tensor: the tensor whose memory it takes over, -1: its own; then from when to when it needs memory
    cdef int scratch_planned         # requests that have an address in scratch_buffers
    cdef list stage_blocks           # head memory of the stages behind a dynamic output

    # the steps, prepared
    cdef Program program
    cdef Group* groups               # per step
    cdef list band_blocks            # their band_nodes
    cdef int band_tensors            # of bands, behind the subgraph's own tensors
    cdef int band_capacity           # how many there is room for
    cdef Block roomy_tensors         # the tensors, where there is
    cdef double shared_time          # nanoseconds that nodes which can be cut are expected to take on one thread

    cdef int divide_steps(self, int first, int end) except -1
    cdef Steps steps(self) noexcept
    cdef bint may_join(self) noexcept
    cdef int merge(self, int first, int end) except -1
    cdef int turn_back(self, int step, int first, int end) noexcept
    cdef int32_t passed_on(self, int step, int first) noexcept
    cdef int32_t earlier(self, int32_t a, int32_t b, int step) noexcept
    cdef int32_t root_of(self, int32_t t) noexcept nogil
    cdef int count_reads(self, int first, int end, int root) noexcept
    cdef bint goes_over(self, int step, int root) noexcept
    cdef int settle_bands(self, int first, int end) except -1
    cdef int let_roll(self, int first, int end) except -1
    cdef int copy_nodes(self, Group* group) except -1
    cdef int32_t band_tensor(self, int band, int i) noexcept
    cdef int place_bands(self, int first, int end) noexcept
    cdef int step_of_place(self, int step) noexcept
    cdef bint is_inner(self, int step) noexcept
    cdef bint needed_elsewhere(self, int x, int step) noexcept
    cdef bint is_written(self, int step, int t) noexcept
    cdef bint rolls(self, int t) noexcept
    cdef int64_t rolled_bytes(self, int t) noexcept
    cdef bint is_hidden(self, int index) noexcept nogil
    cdef int end_of_scratch(self, int t) noexcept
    cdef int64_t scratch_bytes(self, int t) noexcept
    cdef int plan_memory(self, int first, int end) except -1
    cdef Block largest_block(self)
    cdef bint lives_in(self, Block block, int t, int first) noexcept
    cdef int count_living(self, Block block, int first) noexcept
