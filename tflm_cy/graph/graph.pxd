"""A subgraph as data: tensors, nodes, the steps that run, live ranges and aliases; told in `graph.pyx`."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.block cimport Block
from tflm_cy.threads.pool cimport Job

cdef enum:
    MOST_TOGETHER = 32           # nodes of a tile group
    MOST_READ = 8                # inputs of such a node, if it is not the first

cdef enum Elision:               # why a step does nothing
    NOT_ELIDED = 0
    CANCELLED = 1                # a transpose that another one undoes, or a view between them
    FUSED = 2                    # another step computes its output
    UNPADDED = 3                 # its output is read without the channels of zeros that it adds

cdef struct Step:
    Node* node                   # what runs: a node of the graph, or the copy that a pass has made of it
    int32_t source               # the node of the graph that it was made of
    int32_t partition            # which of the subgraph's partitions it belongs to; -1: none
    bint flushes                 # denormals count as zeros while it runs
    int32_t elision              # Elision
    int32_t fused_into           # of an elided step: the node that does its work

cdef struct TileGroup:           # steps that are computed tile by tile; each of them has one, which says the same of the group
    Graph* graph
    int32_t first
    int32_t last                 # first == last: a step by itself
    int32_t tiles                # 1: as a whole, by `invoke`
    int32_t line_buffer          # whose output's line buffer this step's output lies in, counted from the group's first step; -1: it lies in a buffer
    int64_t line_bytes           # of that line buffer, if it is this step's own
    bint tiled_alone             # tile by tile on one thread, too; else without other threads each step by itself
    int32_t strips               # in which the group runs depth first, each of which a thread may take
    Job job                      # for the threads
    Node* strip_nodes            # all of its nodes for the second strip, for the third, ...: they write to tensors of their own

cdef struct Graph:
    void* context                # the Context of its nodes, without an object: no counting of references while tiles run
    Tensor* tensors
    int tensor_count             # those of strips lie behind
    Node* nodes                  # the file's, then what delegates add
    int node_count
    int node_capacity
    int listed_nodes             # nodes below are shown to the user
    Step* laid_out               # the execution plan with each partition's own nodes in its place
    Step* steps                  # the same, as passes have changed it
    int step_count
    int32_t* inputs
    int32_t input_count
    int32_t* outputs
    int32_t output_count
    uint8_t* internal            # per tensor: seen by a partition's own nodes only; NULL without delegates
    bint preserve_all            # every tensor can be read after a run
    bint keep_all                # and no two share memory
    int workers                  # threads that may take part in a node

    # live ranges: per tensor, in steps; intervals are closed
    int32_t* first_use
    int32_t* last_use
    int32_t* alias               # the tensor in whose buffer it lies, -1: its own; one level deep
    int32_t* live_from           # of its buffer, tiles and aliases counted
    int32_t* live_to

    # tiles
    TileGroup* groups            # per step
    int strip_tensors            # of strips, behind the subgraph's own tensors
    int strip_capacity           # how many there is room for
    double parallel_time         # nanoseconds that nodes which can run in parallel are expected to take on one thread


cdef inline Node* node_at(const Graph* graph, int step) noexcept nogil:
    return graph.steps[step].node


cdef inline bint is_internal(const Graph* graph, int t) noexcept nogil:
    """True for a tensor inside of a delegate's partition, which nobody outside can read."""
    return graph.internal != NULL and graph.internal[t]


cdef inline int32_t alias_root(const Graph* graph, int32_t t) noexcept nogil:
    """The tensor in whose buffer this one lies."""
    return graph.alias[t] if graph.alias[t] >= 0 else t


cdef int new_steps(Graph* graph, Arena arena) except -1
cdef int forget_passes(Graph* graph) noexcept
cdef Block move_tensors(Graph* graph, int room)
cdef int64_t bytes_of_all(const Graph* graph) noexcept
cdef bint writes(const Graph* graph, int step, int t) noexcept nogil
cdef int count_reads(const Graph* graph, int first, int end, int t) noexcept nogil
cdef bint is_available(const Graph* graph, int t, int step) noexcept nogil
cdef int elide_step(Graph* graph, int step, int elision, int fused_into, Node* copy) noexcept nogil
cdef int sink_elided(Graph* graph, int first, int end) noexcept nogil
