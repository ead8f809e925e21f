# tflm_cy: optimize=speed
"""Of what only a depth-first group reads, a few rows are in memory at once.

Before: DEPTHWISE_CONV_2D and CONV_2D of one group, with the whole image between them. After: a line buffer with the rows that the second
one's window sees.

Each strip of a group has line buffers of its own: for all strips but the first the group's nodes are copied, and the copies write to tensors of their own
behind the subgraph's.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.compilation cimport new_pass
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport TileGroup, alias_root, node_at, writes
from tflm_cy.graph.passes.tiling cimport stays_inside
from tflm_cy.graph.tensor cimport PLANNED
from tflm_cy.graph.tile_executor cimport measure_line_buffers
from tflm_cy.memory.block cimport Block, new_block


cdef int line_buffers(Compilation c) except -1:
    """An output has a line buffer if only its group reads it, and all that lie in its buffer."""
    cdef Graph* graph = c.graph
    cdef TileGroup* groups = graph.groups
    cdef int head = c.first
    cdef int step, last
    while head < c.end:
        last = groups[head].last
        if groups[head].tiled_alone and last > head and (graph.workers == 1 or groups[head].strips > 1):
            for step in range(head, last + 1):
                groups[step].line_buffer = max(step_of_buffer(graph, step) - head, -1)
            for step in range(head, last + 1):
                if groups[step].line_buffer >= 0 and not stays_inside(graph, step):
                    groups[head + groups[step].line_buffer].line_buffer = -1
            for step in range(head, last + 1):
                if groups[step].line_buffer >= 0 and groups[head + groups[step].line_buffer].line_buffer < 0:
                    groups[step].line_buffer = -1
            measure_line_buffers(&groups[head])
            if groups[head].strips > 1:
                copy_nodes(c, &groups[head])
        head = last + 1
    return 0


cdef int step_of_buffer(const Graph* graph, int step) noexcept:
    """The step whose output has the buffer that this one's lies in; -1: no step's."""
    cdef int t = node_at(graph, step).outputs[0]
    if graph.tensors[t].allocation != PLANNED:
        return -1
    t = alias_root(graph, t)
    return graph.first_use[t] if writes(graph, graph.first_use[t], t) else -1


cdef int copy_nodes(Compilation c, TileGroup* group) except -1:
    """For each strip but the first: the group's nodes, which find line buffers in tensors of the strip's own."""
    cdef Graph* graph = c.graph
    cdef int nodes = group.last - group.first + 1
    cdef int64_t operands = 0
    cdef int strip, i, j, k
    cdef Node* node
    cdef int32_t* at
    cdef Block block
    for i in range(nodes):
        node = node_at(graph, group.first + i)
        operands += node.input_count + node.output_count
    block = new_block((group.strips - 1) * (nodes * sizeof(Node) + operands * sizeof(int32_t)), 64)
    c.strip_blocks.append(block)
    group.strip_nodes = <Node*>block.data
    at = <int32_t*>(group.strip_nodes + (group.strips - 1) * nodes)
    node = group.strip_nodes
    for strip in range(1, group.strips):
        for i in range(nodes):
            node[0] = node_at(graph, group.first + i)[0]
            for k in range(node.input_count):
                at[k] = node.inputs[k]
                for j in range(i):
                    if group[j].line_buffer >= 0 and node.inputs[k] == node_at(graph, group.first + j).outputs[0]:
                        at[k] = strip_tensor(graph, j)
            node.inputs = at
            at += node.input_count
            at[0] = node.outputs[0]
            if group[i].line_buffer >= 0:
                at[0] = strip_tensor(graph, i)
                graph.tensors[at[0]] = graph.tensors[node.outputs[0]]
            node.outputs = at
            at += node.output_count
            node += 1
        graph.strip_tensors += nodes
    return 0


cdef int32_t strip_tensor(const Graph* graph, int i) noexcept:
    """The index of what the group's node i computes, in the strip that `copy_nodes` is at."""
    return graph.tensor_count + graph.strip_tensors + i


cdef int64_t line_buffer_bytes(const Graph* graph, int t) noexcept:
    """Of all strips; 0: the whole tensor is in memory at once."""
    cdef int step = graph.first_use[t]
    cdef const TileGroup* group
    if not 0 <= step < graph.step_count or graph.groups[step].line_bytes <= 0 or not writes(graph, step, t):
        return 0
    group = &graph.groups[step]
    return group.line_bytes * graph.groups[group.first].strips


PASS = new_pass(line_buffers, "line_buffers", "Of what only a depth-first group reads, a few rows are in memory at once.")
