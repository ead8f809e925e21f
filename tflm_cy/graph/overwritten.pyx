"""Whether a tensor's value is still there after a run.

It is not when another tensor or a scratch buffer has used its bytes after it was written, or when no step writes it any more because a pass has
elided its node.
"""
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport NOT_ELIDED, node_at, writes
from tflm_cy.graph.tensor cimport PLANNED, Tensor


cdef bint is_overwritten(const Graph* graph, MemoryPlan memory, void** scratch_buffers, int index) noexcept:
    cdef const Tensor* tensor = &graph.tensors[index]
    cdef const Tensor* other
    cdef const char* start = <const char*>tensor.data
    cdef const char* at
    cdef int t
    if tensor.allocation != PLANNED:
        return False
    if start == NULL:
        return is_elided(graph, index)
    if graph.last_use[index] >= graph.step_count:
        return False
    for t in range(graph.tensor_count):
        other = &graph.tensors[t]
        at = <const char*>other.data
        if other.allocation == PLANNED and at != NULL and graph.first_use[t] > graph.first_use[index]:
            if at < start + tensor.bytes and start < at + other.bytes and not has_bytes_of(graph, t, index):
                return True
    for t in range(memory.scratch_bound):
        at = <const char*>scratch_buffers[t]
        if memory.scratch_requests[t].step > graph.first_use[index]:
            if at < start + tensor.bytes and start < at + memory.scratch_requests[t].bytes:
                return True
    return False


cdef bint is_elided(const Graph* graph, int index) noexcept:
    """The node that writes the tensor does not run."""
    cdef const Node* node
    cdef int step, i
    for step in range(graph.step_count):
        if graph.steps[step].elision != NOT_ELIDED:
            node = &graph.nodes[graph.steps[step].source]
            for i in range(node.output_count):
                if node.outputs[i] == index:
                    return True
    return False


cdef bint has_bytes_of(const Graph* graph, int t, int index) noexcept:
    """Tensor t lies where the other one does because it has its bytes."""
    cdef const Node* node
    while t != index and writes(graph, graph.first_use[t], t):
        node = node_at(graph, graph.first_use[t])
        if not node.is_view or graph.tensors[node.inputs[0]].data != graph.tensors[t].data:
            return False
        t = node.inputs[0]
    return t == index
