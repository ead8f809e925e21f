# tflm_cy: optimize=speed
"""Transposes that undo each other become one view.

Before: TRANSPOSE, EXPAND_DIMS, TRANSPOSE, as exporters write networks whose channels came first. After: one view of the first one's input,
with the last one's output; the other two steps are elided.

Between the two transposes (`Node.transpose_rows`, `Node.transpose_columns`) are only views (`Node.is_view`), each with one reader, and no tensor
between them is an output of the graph.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.compilation cimport new_pass
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.graph cimport CANCELLED, Graph, count_reads, node_at
from tflm_cy.graph.live_ranges cimport find_live_ranges
from tflm_cy.graph.tensor cimport PLANNED
from tflm_cy.platform.long_copy cimport copy_bytes


cdef int cancel_transposes(Compilation c) except -1:
    cdef Graph* graph = c.graph
    cdef bint ranges_known = False
    cdef bint changed = False
    cdef int step
    if graph.internal == NULL:
        return 0
    for step in range(c.first, c.end):
        if node_at(graph, step).transpose_rows == 0:
            continue
        if not ranges_known:
            find_live_ranges(graph, c.first, c.end)
            ranges_known = True
        if cancel(c, step):
            changed = True
    if changed:
        c.sink()
    return 0


cdef bint cancel(Compilation c, int first) except -1:
    """Look for the transpose that undoes the one of step `first`; False: there is none."""
    cdef Graph* graph = c.graph
    cdef int32_t x = node_at(graph, first).inputs[0]
    cdef int step = first
    cdef int t, reader
    cdef Node* view
    if graph.tensors[x].allocation != PLANNED:
        return False
    while True:
        t = node_at(graph, step).outputs[0]
        reader = graph.last_use[t]
        if graph.tensors[t].allocation != PLANNED or graph.tensors[t].bytes != graph.tensors[x].bytes or graph.first_use[t] != step:
            return False
        if not step < reader < c.end or count_reads(graph, step + 1, reader + 1, t) != 1:
            return False
        step = reader
        if node_at(graph, step).output_count != 1 or node_at(graph, step).inputs[0] != t:
            return False
        if undoes(node_at(graph, first), node_at(graph, step)):
            break
        if not node_at(graph, step).is_view:
            return False
    t = node_at(graph, step).outputs[0]
    if graph.tensors[t].allocation != PLANNED or graph.tensors[t].bytes != graph.tensors[x].bytes:
        return False
    view = c.extended(node_at(graph, step), -1)
    (<int32_t*>view.inputs)[0] = x
    view.input_count = 1
    view.invoke = copy_view
    view.work = NULL
    view.is_view = True
    view.transpose_rows = 0
    reader = step
    t = node_at(graph, step).inputs[0]
    while step != first:
        step = graph.first_use[t]
        t = node_at(graph, step).inputs[0]
        c.elide(step, CANCELLED, graph.steps[reader].source)
    graph.steps[reader].node = view
    return True


cdef bint undoes(const Node* first, const Node* node) noexcept:
    return node.transpose_rows > 0 and node.transpose_rows == first.transpose_columns and node.transpose_columns == first.transpose_rows


cdef int copy_view(Context context, Node* node) noexcept nogil:
    """Where the view could not be an alias."""
    if node.outputs[0] >= 0 and context.output(node, 0).data != context.input(node, 0).data:
        copy_bytes(context.output(node, 0).data, context.input(node, 0).data, context.output(node, 0).bytes)
    return 0


PASS = new_pass(cancel_transposes, "cancel_transposes", "Transposes that undo each other become one view.", True)
