"""The part of a subgraph that prepares nodes and plans their memory; told in `preparation.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.groups cimport Group
from tflm_cy.graph.late_values cimport LateValues
from tflm_cy.memory.block cimport Block


cdef class Preparation(LateValues):
    # as loaded
    cdef readonly list operator_names
    cdef public int listed_nodes     # nodes below are shown to the user
    cdef uint8_t* flushes            # per step: denormals count as zeros; NULL without delegates
    cdef int32_t* inputs
    cdef int32_t input_count
    cdef int32_t* outputs
    cdef int32_t output_count
    cdef bint preserve_all

    # memory
    cdef size_t loaded               # mark of the tail behind what loading put there
    cdef int32_t* first_use
    cdef int32_t* last_use
    cdef int32_t* merged             # per tensor: the tensor whose memory it takes over, -1: its own; then from when to when it needs memory
    cdef int scratch_planned         # requests that have an address in scratch_buffers
    cdef list stage_blocks           # head memory of the stages behind a dynamic output

    # the steps, prepared
    cdef Group* groups               # per step
    cdef double shared_time          # nanoseconds that nodes which can be cut are expected to take on one thread
    cdef int prepared_end            # steps below are prepared
    cdef int stage_zero_end          # and by allocate
    cdef Block later_stages          # which stages are prepared, and for which shapes

    cdef int forget_prepared(self) except -1
    cdef int prepare_stage(self, int first) except -1
    cdef int prepare_node(self, int step) except -1
    cdef int refuse_when_reached(self, Node* node, bytes text) except -1
    cdef int check_inputs(self, int step, const Node* node, int sparse_input) except -1
    cdef int check_outputs(self, int step, const Node* node) except -1
    cdef object node_error(self, int step, object reason, str verb)
    cdef int allocate_variables(self) except -1
    cdef int reset_variables(self) except -1
    cdef int divide_steps(self, int first, int end) except -1
    cdef bint may_join(self) noexcept
    cdef int merge(self, int first, int end) except -1
    cdef bint needed_elsewhere(self, int x, int step) noexcept
    cdef bint is_written(self, int step, int t) noexcept
    cdef bint is_hidden(self, int index) noexcept nogil
    cdef int plan_memory(self, int first, int end) except -1
    cdef Block largest_block(self)
    cdef bint lives_in(self, Block block, int t, int first) noexcept
    cdef int count_living(self, Block block, int first) noexcept
    cdef int next_stage(self, int step) noexcept with gil
    cdef bint shapes_as_seen(self, int step, bint note) noexcept
    cdef int forget_later_stages(self, int first) except -1
