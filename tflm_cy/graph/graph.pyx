# tflm_cy: optimize=speed
"""A subgraph as data.

    graph.laid_out        what the loader and delegates have made: one Step per node that runs
    graph.steps           the same, as passes have changed it; a stage's elided steps come last
    graph.first_use, graph.last_use, graph.alias, graph.live_from, graph.live_to, graph.groups      what passes have found out

Passes (`graph.passes`) read and change a Graph; `graph.subgraph` owns it. A pass never changes a node of the file: it puts a copy
into the step, so that descriptions, and the next prepare, find the node as it was.
"""
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Node, elide
from tflm_cy.graph.tensor cimport COMPUTED, DYNAMIC, PLANNED, STRING, VARIABLE
from tflm_cy.memory.arena cimport KIND_SUBGRAPH
from tflm_cy.memory.block cimport new_block


cdef int new_steps(Graph* graph, Arena arena) except -1:
    """Zeroed memory for graph.step_count steps, as they are laid out and as passes change them."""
    cdef Step* steps = <Step*>arena.allocate_tail(2 * max(graph.step_count, 1) * sizeof(Step), 8, KIND_SUBGRAPH)
    graph.laid_out = steps
    graph.steps = steps + max(graph.step_count, 1)
    return 0


cdef int forget_passes(Graph* graph) noexcept:
    """Steps as they were laid out, and no tensor but constants has memory."""
    cdef Tensor* tensor
    cdef int t
    memcpy(graph.steps, graph.laid_out, graph.step_count * sizeof(Step))
    for t in range(graph.tensor_count):
        tensor = &graph.tensors[t]
        if tensor.allocation == COMPUTED or (tensor.allocation == DYNAMIC and tensor.type != STRING):
            tensor.allocation = PLANNED
        if tensor.allocation == PLANNED or tensor.allocation == VARIABLE:
            tensor.data = NULL
    return 0


cdef Block move_tensors(Graph* graph, int room):
    """The tensors move into the block that is returned, with room for so many of strips behind them."""
    cdef Block block = new_block((graph.tensor_count + room) * sizeof(Tensor), 64)
    memcpy(block.data, graph.tensors, graph.tensor_count * sizeof(Tensor))
    graph.tensors = <Tensor*>block.data
    graph.strip_capacity = room
    return block


cdef int64_t bytes_of_all(const Graph* graph) noexcept:
    """Of all tensors together."""
    cdef int64_t bytes = 0
    cdef int t
    for t in range(graph.tensor_count):
        bytes += graph.tensors[t].bytes
    return bytes


cdef bint writes(const Graph* graph, int step, int t) noexcept nogil:
    """True when this step writes the tensor; a graph's inputs are there before the first one."""
    cdef const Node* node
    cdef int i
    if not 0 <= step < graph.step_count:
        return False
    node = graph.steps[step].node
    for i in range(node.output_count):
        if node.outputs[i] == t:
            return True
    return False


cdef int count_reads(const Graph* graph, int first, int end, int t) noexcept nogil:
    """How often the steps first .. end - 1 read a tensor."""
    cdef const Node* node
    cdef int step, i, n = 0
    for step in range(first, end):
        node = graph.steps[step].node
        for i in range(node.input_count):
            n += node.inputs[i] == t
    return n


cdef bint is_available(const Graph* graph, int t, int step) noexcept nogil:
    """True when the tensor's value, or that of the range in question, is there before a step runs."""
    cdef int writer = graph.first_use[t]
    return 0 <= writer < step or not writes(graph, writer, t)


cdef int elide_step(Graph* graph, int step, int elision, int fused_into, Node* copy) noexcept nogil:
    """The step does nothing from now on, and neither reads nor writes a tensor; `copy` is memory for its node."""
    copy[0] = graph.steps[step].node[0]
    elide(copy)
    copy.work = NULL
    copy.input_count = copy.output_count = 0
    copy.in_place = 0
    copy.is_view = False
    graph.steps[step].node = copy
    graph.steps[step].elision = elision
    graph.steps[step].fused_into = fused_into
    return 0


cdef int sink_elided(Graph* graph, int first, int end) noexcept nogil:
    """Move elided steps behind those that do something; the order of either kind stays. Returns the end of the latter."""
    cdef Step step
    cdef int i, j, last = first
    for i in range(first, end):
        if graph.steps[i].elision != NOT_ELIDED:
            continue
        if i > last:
            step = graph.steps[i]
            for j in range(i, last, -1):
                graph.steps[j] = graph.steps[j - 1]
            graph.steps[last] = step
        last += 1
    return last
