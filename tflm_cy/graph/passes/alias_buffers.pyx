# tflm_cy: optimize=speed
"""Outputs lie in the buffer of an input that is not needed any more, or whose bytes they have.

Before: RESHAPE and ADD with buffers of their own. After: RESHAPE's output is an alias of its input (`Node.is_view`), ADD's output of an input that
dies there (`Node.in_place`).

An alias is one level deep: `Graph.alias` names the tensor that has the buffer. `live_from` and `live_to` of that tensor cover all of its aliases, and
whole groups of steps: while one tile is at the group's end, another one begins.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.compilation cimport is_enabled, new_pass
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport Graph, alias_root, is_internal, node_at, writes
from tflm_cy.graph.passes.tiling cimport stays_inside
from tflm_cy.graph.tensor cimport PLANNED


cdef int alias_buffers(Compilation c) except -1:
    cdef Graph* graph = c.graph
    cdef int32_t t
    cdef int step
    for t in range(graph.tensor_count):
        if graph.first_use[t] >= c.first:
            graph.alias[t] = -1
            graph.live_from[t] = graph.first_use[t]
            graph.live_to[t] = graph.last_use[t]
    if is_enabled(c, "alias_buffers"):
        for step in range(c.first, c.end):
            find_alias(graph, step, c.first)
    for t in range(graph.tensor_count):
        if graph.first_use[t] >= c.first:
            if graph.live_from[t] < c.end and writes(graph, graph.live_from[t], t):
                graph.live_from[t] = graph.groups[graph.live_from[t]].first
            if c.first <= graph.live_to[t] < c.end:
                graph.live_to[t] = graph.groups[graph.live_to[t]].last
    return 0


cdef int find_alias(Graph* graph, int step, int first) noexcept:
    """Where the step's first output lies, if not in a buffer of its own."""
    cdef const Node* node = node_at(graph, step)
    cdef int32_t t = node.outputs[0] if (node.in_place != 0 or node.is_view) and node.output_count > 0 else -1
    cdef int32_t x, root, best
    cdef int i
    if t < 0 or graph.first_use[t] != step or graph.tensors[t].allocation != PLANNED or graph.tensors[t].bytes == 0:
        return 0
    best = viewed_root(graph, step, first)
    for i in range(min(node.input_count, 32)):
        x = node.inputs[i]
        if not node.in_place >> i & 1 or x < 0 or x == t or not is_internal(graph, x) or graph.first_use[x] < first:
            continue
        if graph.last_use[x] != step or graph.tensors[x].allocation != PLANNED or graph.tensors[x].bytes != graph.tensors[t].bytes:
            continue
        root = alias_root(graph, x)
        if graph.live_to[root] == step and reads_in_place(graph, node, root) and not is_read_elsewhere(graph, root, step) and fits_strips(graph, step, root):
            best = root if best < 0 else earlier(graph, best, root, step)
    if best >= 0:
        graph.alias[t] = best
        graph.live_to[best] = max(graph.live_to[best], graph.last_use[t])
    return 0


cdef int32_t viewed_root(const Graph* graph, int step, int first) noexcept:
    """The buffer of the input that a view's output equals, which may be needed later; -1: it has one of its own. Outputs of the graph
    share theirs with nothing that is alive."""
    cdef const Node* node = node_at(graph, step)
    cdef int32_t t = node.outputs[0]
    cdef int32_t x = node.inputs[0] if node.is_view else -1
    cdef int32_t root
    if x < 0 or x == t or graph.first_use[x] < first or graph.tensors[x].allocation != PLANNED or graph.tensors[x].bytes != graph.tensors[t].bytes:
        return -1
    root = alias_root(graph, x)
    if graph.live_to[root] != step and graph.last_use[t] == graph.step_count or not fits_strips(graph, step, root):
        return -1
    return root


cdef bint reads_in_place(const Graph* graph, const Node* node, int32_t root) noexcept:
    """Whatever the node reads of this buffer it reads before it writes there."""
    cdef int i
    for i in range(node.input_count):
        if node.inputs[i] >= 0 and alias_root(graph, node.inputs[i]) == root and (i >= 32 or not node.in_place >> i & 1):
            return False
    return True


cdef int32_t earlier(const Graph* graph, int32_t a, int32_t b, int step) noexcept:
    """Of two tensors that die at a step, the one that is there first, if nobody reads it since the other one is made, or in that step's group."""
    cdef int32_t early = a if graph.first_use[a] <= graph.first_use[b] else b
    cdef int32_t late = b if early == a else a
    return late if count_root_reads(graph, graph.groups[graph.first_use[late]].first, step, early) > 0 else early


cdef int count_root_reads(const Graph* graph, int first, int end, int32_t root) noexcept:
    """How often the steps first .. end - 1 read what lies in a tensor's buffer."""
    cdef const Node* node
    cdef int step, i, n = 0
    for step in range(first, end):
        node = node_at(graph, step)
        for i in range(node.input_count):
            n += node.inputs[i] >= 0 and alias_root(graph, node.inputs[i]) == root
    return n


cdef bint is_read_elsewhere(const Graph* graph, int32_t root, int step) noexcept:
    """Earlier nodes of the step's group read the buffer at other positions than their own."""
    cdef const Node* node
    cdef int i, j
    for j in range(graph.groups[step].first, step):
        node = node_at(graph, j)
        for i in range(node.input_count):
            if node.inputs[i] >= 0 and alias_root(graph, node.inputs[i]) == root and (i >= 32 or not node.space.elementwise_inputs >> i & 1):
                return True
    return False


cdef bint fits_strips(const Graph* graph, int step, int32_t root) noexcept:
    """Strips compute the rows near their borders twice: in place only where each has a line buffer of its own."""
    cdef int head = graph.groups[step].first
    cdef int writer = graph.first_use[root]
    if graph.groups[head].strips == 1:
        return True
    return stays_inside(graph, step) and head <= writer < step and writes(graph, writer, root) and stays_inside(graph, writer)


PASS = new_pass(alias_buffers, "alias_buffers", "Outputs lie in the buffer of an input that dies, or whose bytes they have.", True, True, True)
