"""A subgraph: tensors and nodes in its own arena, and the state machine that prepares, plans and runs them."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.resource cimport Resources
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.graph.workspace cimport Workspace
from tflm_cy.memory.block cimport Block
from tflm_cy.schema.model cimport Model


cdef struct Group:               # steps that are computed range by range
    int32_t first
    int32_t last                 # first == last: a step by itself
    int32_t parts                # 1: as a whole, by `invoke`
    bint alone                   # range by range on one thread, too; else without other threads each node by itself


cdef class Subgraph(Workspace):
    # as loaded
    cdef readonly int index
    cdef readonly str name
    cdef readonly Model model
    cdef readonly list siblings      # all subgraphs of the model, this one included
    cdef readonly list registrations  # per node; None for an unresolved custom operator
    cdef readonly list operator_names
    cdef Resources shared
    cdef const uint8_t* table
    cdef readonly set custom_nodes   # the nodes with a custom operator
    cdef Node* nodes                 # the file's, then what delegates add
    cdef readonly int node_count
    cdef int node_capacity
    cdef public int listed_nodes     # nodes below are shown to the user
    cdef public list execution_plan  # node indices, a delegate's partition as its DELEGATE node
    cdef readonly list partitions
    cdef int32_t* plan               # the steps: the execution plan with each partition's own nodes in its place
    cdef int plan_count
    cdef uint8_t* flushes            # per step: denormals count as zeros; NULL without delegates
    cdef list step_partitions        # per step, None outside of partitions
    cdef uint8_t* hidden             # per tensor: seen by a partition's own nodes only; NULL without delegates
    cdef int32_t* inputs
    cdef int32_t input_count
    cdef int32_t* outputs
    cdef int32_t output_count
    cdef str allocate_defect         # what is wrong with the structure: raised by allocate
    cdef str invoke_defect           # raised by invoke
    cdef bint preserve_all
    cdef int32_t* merged             # per tensor: the tensor whose memory it takes over, -1: its own; then from when to when it needs memory
    cdef Group* groups               # per step
    cdef int group_capacity
    cdef int arithmetic              # of the nodes that no delegate takes

    # memory
    cdef size_t loaded               # mark of the tail behind what loading put there
    cdef int32_t* first_use
    cdef int32_t* last_use
    cdef int scratch_planned         # requests that have an address in scratch_buffers
    cdef list stage_blocks           # head memory of the stages behind a dynamic output
    cdef Block later_stages          # which of them are prepared, and for which shapes

    # progress
    cdef readonly bint ready
    cdef bint brief                  # runs with the GIL held
    cdef bint allocating
    cdef bint running
    cdef readonly int generation     # counts real allocations: shapes and addresses may differ between two numbers
    cdef int stage_first             # first step of the stage in preparation
    cdef int stage_zero_end          # steps below are prepared by allocate
    cdef int stage_zero_scratch
    cdef int prepared_end
    cdef int failed_step
    cdef list recorder               # None; else each run adds (subgraph, when its steps began and ended: pairs of int64 nanoseconds)
    cdef int64_t* clock              # of the run under way
    cdef readonly set resized        # inputs whose shape changed since the last allocate

    cdef int set_up(self, int threads, bint fuse) except -1
    cdef int allocate(self) except -1
    cdef int invoke(self) except -1
    cdef int run(self) noexcept nogil
    cdef void run_group(self, const Group* group) noexcept nogil
    cdef int run_recorded(self) noexcept
    cdef int run_timed(self) noexcept nogil
    cdef int run_timed_steps(self) noexcept nogil
    cdef int run_node(self, int index) except -1
    cdef int resize_tensor(self, int index, int rank, const int32_t* dims) except -1
    cdef int reset_variables(self) except -1
    cdef int own_constant(self, int index) except -1
    cdef int prepare_again(self) except -1
    cdef bint is_overwritten(self, int index) noexcept

    cdef bint is_brief(self) noexcept
    cdef int descend(self) except -1
    cdef int forget_prepared(self) except -1
    cdef int prepare_stage(self, int first) except -1
    cdef int prepare_node(self, int step) except -1
    cdef bint is_hidden(self, int index) noexcept nogil
    cdef int allocate_variables(self) except -1
    cdef int group_steps(self, int first, int end) except -1
    cdef bint follows(self, int head, int step) noexcept
    cdef int count_parts(self, Group* group) noexcept
    cdef bint needed_elsewhere(self, int x, int step) noexcept
    cdef int merge(self, int first, int end) except -1
    cdef bint is_written(self, int step, int t) noexcept
    cdef int plan_memory(self, int first, int end) except -1
    cdef int next_stage(self, int step) noexcept with gil
    cdef bint shapes_as_seen(self, int step, bint note) noexcept
    cdef int forget_later_stages(self, int first) except -1
    cdef dict save_inputs(self)
    cdef int restore_inputs(self, dict saved) except -1
    cdef dict save_outputs(self)
    cdef int restore_outputs(self, dict saved) except -1
    cdef int check_inputs(self, int step, const Node* node, int sparse_input) except -1
    cdef int check_outputs(self, int step, const Node* node) except -1
    cdef object node_error(self, int step, object reason, str verb)
