"""The part of a subgraph that prepares nodes; told in `preparation.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.places cimport Places
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.memory.block cimport Block


cdef class Preparation(Places):
    # as loaded
    cdef const uint8_t* table
    cdef readonly list operator_names
    cdef public int listed_nodes     # nodes below are shown to the user

    cdef size_t loaded               # mark of the tail behind what loading put there

    # the steps, prepared
    cdef int prepared_end            # steps below are prepared
    cdef int stage_zero_end          # and by allocate
    cdef Block later_stages          # which stages are prepared, and for which shapes
    cdef int current_stage           # its first step
    cdef bint shapes_open            # a node in front has outputs that TensorFlow shapes while invoking
    cdef bint put_off                # the node is left to the next stage

    cdef readonly int generation     # counts real allocations: shapes and addresses may differ between two numbers
    cdef readonly set resized        # inputs whose shape changed since the last allocate

    cdef int forget_prepared(self) except -1
    cdef dict save_places(self)
    cdef int restore_places(self, dict saved) except -1
    cdef int forget_addresses(self) noexcept
    cdef int prepare_stage(self, int first) except -1
    cdef int prepare_node(self, int step) except -1
    cdef int refuse_when_reached(self, Node* node, bytes text) except -1
    cdef bint leaves_open(self, const Node* node) except -1
    cdef bint is_open(self, const Tensor* tensor) except -1
    cdef int check_inputs(self, int step, const Node* node, int sparse_input) except -1
    cdef int check_outputs(self, int step, const Node* node) except -1
    cdef object node_error(self, int step, object reason, str verb)
    cdef int allocate_variables(self) except -1
    cdef int reset_variables(self) except -1
    cdef int next_stage(self, int step) noexcept with gil
    cdef bint shapes_as_seen(self, int step, bint note) noexcept
    cdef int forget_later_stages(self, int first) except -1
