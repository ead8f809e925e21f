"""A subgraph: a graph, its memory, and the state machine that prepares, plans and runs it."""
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.allocator cimport Allocator
from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.deferred_constants cimport DeferredConstants
from tflm_cy.graph.execution cimport Execution
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.memory_plan cimport MemoryPlan
from tflm_cy.graph.packed_weights cimport PackedWeights
from tflm_cy.graph.resource cimport Resources
from tflm_cy.graph.tensor cimport VARIABLE, Tensor
from tflm_cy.memory.block cimport Block
from tflm_cy.schema.model cimport Model


cdef class Subgraph(Context):
    cdef Graph graph
    cdef readonly Allocator allocator
    cdef readonly MemoryPlan memory
    cdef readonly DeferredConstants constants
    cdef readonly PackedWeights packed
    cdef readonly Compilation compilation
    cdef Execution execution

    # as loaded
    cdef readonly int index
    cdef readonly str name
    cdef readonly Model model
    cdef const uint8_t* table
    cdef int32_t* versions           # which of the file's tensors the ones behind them are, each an earlier value of it
    cdef readonly list siblings      # all subgraphs of the model, this one included
    cdef readonly Resources shared
    cdef readonly list registrations  # per node; None for an unresolved custom operator
    cdef readonly list operator_names
    cdef readonly list partitions
    cdef readonly set custom_nodes   # the nodes with a custom operator
    cdef public list execution_plan  # node indices, a delegate's partition as its DELEGATE node
    cdef str allocate_defect         # what is wrong with the structure: raised by allocate
    cdef str invoke_defect           # raised by invoke
    cdef int arithmetic              # of the nodes that no delegate takes
    cdef bint micro                  # TFLM's way: one arena for all subgraphs, planned by `micro`; nothing is shaped while invoking
    cdef size_t loaded               # mark of the tail behind what loading put there
    cdef Block strip_tensors         # the tensors, where there is room for those of strips

    # progress
    cdef readonly bint ready
    cdef bint brief                  # runs with the GIL held
    cdef bint first                  # the next run is the first since allocate: weights are packed in it
    cdef bint allocating
    cdef bint running
    cdef readonly int generation     # counts real allocations: shapes and addresses may differ between two numbers
    cdef readonly set resized        # inputs whose shape changed since the last allocate
    cdef readonly set written_strings  # string tensors that somebody outside has set
    cdef long runs                   # since the last allocate; 0 behind one that failed
    cdef long state_changes          # runs, and writes of variables from outside, since variables were initialized
    cdef bint touched                # an input may have been written to since the last run
    cdef dict last_inputs            # of the last run, for who repeats it; None: nobody has asked

    cdef int want_prepare(self, str what) except -1
    cdef int set_up(self, int threads, frozenset disabled) except -1
    cdef int reserve_strip_tensors(self) except -1
    cdef int allocate(self) except -1
    cdef int forget_prepared(self) except -1
    cdef int prepare_nodes(self) except -1
    cdef int invoke(self) except -1
    cdef int raise_failure(self, int step) except -1
    cdef int run_node(self, int index) except -1
    cdef int file_index(self, int t) noexcept          # of a tensor, or of the one that this is an earlier value of
    cdef int resize_tensor(self, int index, int rank, const int32_t* dims) except -1
    cdef int keep_shape(self, const Tensor* tensor, int rank, const int32_t* dims) noexcept nogil
    cdef int own_constant(self, int index) except -1
    cdef int prepare_again(self) except -1
    cdef bint is_brief(self) noexcept
    cdef int descend(self) except -1
    cdef dict save_inputs(self)


cdef inline void note_write(Subgraph g, int t) noexcept:
    """Somebody outside writes to a tensor, or may by a view."""
    cdef int i
    g.state_changes += g.tensors[t].allocation == VARIABLE
    for i in range(g.graph.input_count):
        if g.graph.inputs[i] == t:
            g.touched = True
