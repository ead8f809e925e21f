"""What a pass is given: a stage of a graph on its way to a run; told in `compilation.pyx`."""
from libc.stdint cimport int32_t

from tflm_cy.graph.allocator cimport Allocator
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.deferred_constants cimport DeferredConstants
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.memory_plan cimport MemoryPlan
from tflm_cy.graph.packed_weights cimport PackedWeights
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.memory.block cimport Block


cdef class Compilation:
    cdef Graph* graph
    cdef readonly Allocator allocator
    cdef readonly MemoryPlan memory
    cdef readonly DeferredConstants constants
    cdef readonly PackedWeights packed
    cdef readonly list registrations  # per node; None for an unresolved custom operator
    cdef readonly list operator_names
    cdef readonly list partitions    # of delegates
    cdef list strip_blocks           # memory of the nodes of strips
    cdef readonly frozenset disabled  # names of the passes that are switched off
    cdef list kept                   # what `Context.keep` holds
    cdef bint micro                  # TFLM's way: planned by `micro`, when all subgraphs are prepared

    # the stage
    cdef int first                   # its first step
    cdef int end                     # the step behind its last one
    cdef int current                 # the step that is being prepared
    cdef bint dynamic_seen           # an output's shape is known only while invoking: the stage ends behind its node
    cdef bint shapes_open            # a node in front has outputs that TensorFlow shapes while invoking
    cdef bint put_off                # the current node is left to the next stage
    cdef bint ready_only             # the stage has only the nodes that read no dynamic output: it stays prepared whatever shapes those get
    cdef bint light                  # the stage is prepared again and has little to do: as it is, without the optional passes and the planner
    cdef Block marks                 # memory of `prepare`: which tensors have no shape yet, and the steps that wait for them

    cdef Node* new_node(self, int operands) except NULL
    cdef Node* extended(self, const Node* node, int32_t operand) except NULL
    cdef int elide(self, int step, int elision, int fused_into) except -1
    cdef int sink(self) except -1
    cdef bint kept_by_tensorflow(self, const Tensor* tensor) except -1
    cdef object node_error(self, int step, object reason, str verb)


ctypedef int (*PassFunction)(Compilation c) except -1


cdef class Pass:
    cdef PassFunction run
    cdef readonly str name
    cdef readonly str summary        # one sentence
    cdef readonly bint optional      # it can be switched off, and is where all tensors are preserved
    cdef readonly bint partial       # switched off, it still does what the passes behind it rely on
    cdef readonly bint plans         # it plans or binds memory, which TFLM's rules do elsewhere


cdef Pass new_pass(PassFunction run, str name, str summary, bint optional=*, bint plans=*, bint partial=*)
cdef bint is_enabled(Compilation c, str name) noexcept
