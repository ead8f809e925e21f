"""What each pass did to a subgraph, read off the graph as the passes have left it."""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport CANCELLED, FUSED, NOT_ELIDED, UNPADDED, Graph, Step, TileGroup, alias_root, node_at
from tflm_cy.graph.passes.line_buffers cimport line_buffer_bytes
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport PLANNED

cdef dict ELISIONS = {
    CANCELLED: ("cancel_transposes", "is cancelled: node {0} ({1}) is a view of what it reads"),
    FUSED: ("fuse_epilogues", "is fused into node {0} ({1})"),
    UNPADDED: ("fuse_epilogues", "is not needed: node {0} ({1}) adds the channels that are not padded"),
}


def explain(Subgraph g):
    """A row per effect: {"pass", "node", "op_name", "effect"}, in the order of the passes; node -1: of the whole graph."""
    cdef list rows = []
    by_delegates(g, rows)
    if not g.ready:
        return rows
    of_steps(g, rows)
    of_groups(g, rows)
    if not g.micro:
        of_buffers(g, rows)
        rows.append(row("bind", -1, None, f"the head has {g.allocator.arena.head_size} bytes, for {g.execution.static_end} of {g.graph.step_count} steps"))
    return rows


cdef dict row(str name, int node, object op_name, str effect):
    return {"pass": name, "node": node, "op_name": op_name, "effect": effect}


cdef int by_delegates(Subgraph g, list rows) except -1:
    cdef set running
    for partition in g.partitions:
        count = len(partition.nodes)
        rows.append(row("partition", partition.index, partition.delegate.name, f"runs {count} node{'s' if count > 1 else ''}: {partition.nodes}"))
        running = set(partition.steps)
        if running == {partition.index}:
            continue
        for n in partition.nodes:
            if n not in running:
                rows.append(row("rewrite", n, g.operator_names[n], "does not run as the file has it: other nodes of the partition do its work"))
        for n in partition.steps:
            if n not in partition.nodes:
                rows.append(row("rewrite", n, g.operator_names[n], "is a node of the delegate's making"))
    return 0


cdef int of_steps(Subgraph g, list rows) except -1:
    cdef const Step* step
    cdef int i
    for name in ("cancel_transposes", "fuse_epilogues"):
        for i in range(g.graph.step_count):
            step = &g.graph.steps[i]
            if step.elision == NOT_ELIDED or ELISIONS[step.elision][0] != name:
                continue
            effect = ELISIONS[step.elision][1].format(step.fused_into, g.operator_names[step.fused_into])
            rows.append(row(name, step.source, g.operator_names[step.source], effect))
    return 0


cdef int of_groups(Subgraph g, list rows) except -1:
    cdef const TileGroup* group
    cdef int step = 0
    while step < g.execution.static_end:
        group = &g.graph.groups[step]
        n = g.graph.steps[step].source
        if group.tiles > 1:
            with_nodes = [g.graph.steps[i].source for i in range(group.first + 1, group.last + 1)]
            effect = f"runs in {group.tiles} tiles" + (f" with nodes {with_nodes}" if with_nodes else "")
            if group.strips > 1:
                effect += f", depth first in {group.strips} strips"
            elif with_nodes and group.tiled_alone and g.workers == 1:
                effect += ", depth first"
            rows.append(row("tile", n, g.operator_names[n], effect))
        step = group.last + 1
    return 0


cdef int of_buffers(Subgraph g, list rows) except -1:
    cdef const Graph* graph = &g.graph
    cdef const Node* node
    cdef int32_t t
    cdef int step, i
    cdef list lines = []
    for step in range(g.execution.static_end):
        node = node_at(graph, step)
        for i in range(node.output_count):
            t = node.outputs[i]
            if t < 0 or graph.tensors[t].allocation != PLANNED or graph.first_use[t] != step:
                continue
            name = g.operator_names[node.index]
            if graph.alias[t] >= 0:
                rows.append(row("alias_buffers", node.index, name, f"writes tensor {t} into the buffer of tensor {alias_root(graph, t)}"))
            if graph.alias[t] < 0 and line_buffer_bytes(graph, t) > 0:
                lines.append(row(
                    "line_buffers", node.index, name,
                    f"writes tensor {t} of {graph.tensors[t].bytes} bytes through line buffers of {line_buffer_bytes(graph, t)}"))
    rows += lines
    return 0
