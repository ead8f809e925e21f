"""A subgraph: tensors and nodes in its own arena, and the state machine that prepares, plans and runs them."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.graph.preparation cimport Preparation
from tflm_cy.graph.resource cimport Resources
from tflm_cy.graph.tensor cimport VARIABLE
from tflm_cy.schema.model cimport Model
from tflm_cy.threads.trial cimport Trial


cdef class Subgraph(Preparation):
    # as loaded
    cdef readonly int index
    cdef readonly str name
    cdef readonly Model model
    cdef readonly list siblings      # all subgraphs of the model, this one included
    cdef readonly Resources shared
    cdef readonly set custom_nodes   # the nodes with a custom operator
    cdef readonly int node_count
    cdef int node_capacity
    cdef public list execution_plan  # node indices, a delegate's partition as its DELEGATE node
    cdef readonly list partitions
    cdef str allocate_defect         # what is wrong with the structure: raised by allocate
    cdef str invoke_defect           # raised by invoke
    cdef int arithmetic              # of the nodes that no delegate takes

    # progress
    cdef readonly bint ready
    cdef bint brief                  # runs with the GIL held
    cdef bint first                  # the next run is the first since allocate: weights are packed in it
    cdef bint allocating
    cdef bint running
    cdef long runs                   # since the last allocate; 0 behind one that failed
    cdef long state_changes          # runs, and writes of variables from outside, since variables were initialized
    cdef bint touched                # an input may have been written to since the last run
    cdef dict last_inputs            # of the last run, for who repeats it; None: nobody has asked
    cdef int failed_step
    cdef list recorder               # None; else each run adds (subgraph, when its steps began and ended: pairs of int64 nanoseconds)
    cdef int64_t* clock              # of the run under way, if it is timed
    cdef Trial trial                 # whether threads help it

    cdef int set_up(self, int threads, bint fuse) except -1
    cdef int make_room_for_bands(self) except -1
    cdef int allocate(self) except -1
    cdef int invoke(self) except -1
    cdef int raise_failure(self, int step) except -1
    cdef int run(self) noexcept nogil
    cdef int run_steps(self) noexcept nogil
    cdef int run_timed_steps(self) noexcept nogil
    cdef int run_recorded(self) noexcept
    cdef int run_node(self, int index) except -1
    cdef int resize_tensor(self, int index, int rank, const int32_t* dims) except -1
    cdef int own_constant(self, int index) except -1
    cdef int prepare_again(self) except -1
    cdef bint is_overwritten(self, int index) noexcept
    cdef bint has_bytes_of(self, int t, int index) noexcept
    cdef bint is_brief(self) noexcept
    cdef int descend(self) except -1
    cdef dict save_inputs(self)
    cdef int restore_inputs(self, dict saved) except -1


cdef inline void note_write(Subgraph g, int t) noexcept:
    """Somebody outside writes to a tensor, or may by a view."""
    cdef int i
    g.state_changes += g.tensors[t].allocation == VARIABLE
    for i in range(g.input_count):
        if g.inputs[i] == t:
            g.touched = True
