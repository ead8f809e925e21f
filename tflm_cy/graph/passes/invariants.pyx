"""What is true behind each pass: checked in debug runs (TFLM_CY_DEBUG=1).

| behind | |
| --- | --- |
| every pass | the stage's steps are those that were laid out, each once; a step that is elided reads and writes nothing |
| prepare | each node has a kernel |
| tile | groups follow each other without gaps |
| alias_buffers | an alias is one level deep, and its root is alive as long as it is |
| bind | every planned tensor of the stage has memory; two that are alive at the same time lie apart unless one is an alias |
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport NOT_ELIDED, Graph, alias_root, node_at
from tflm_cy.graph.passes.line_buffers cimport line_buffer_bytes
from tflm_cy.graph.tensor cimport PLANNED
from tflm_cy.memory.block cimport Block, new_block


cdef int check_invariants(Compilation c, str after) except -1:
    """AssertionError, which names the pass and what is wrong."""
    check_steps(c, after)
    if after == "tile":
        check_groups(c, after)
    elif after == "alias_buffers":
        check_aliases(c, after)
    elif after == "bind":
        check_addresses(c, after)
    return 0


cdef object broken(str after, str what):
    return AssertionError(f"behind the pass {after}: {what}")


cdef int check_steps(Compilation c, str after) except -1:
    cdef const Graph* graph = c.graph
    cdef Block seen = new_block(graph.node_count + 1, 16)
    cdef const Node* node
    cdef int step
    for step in range(c.first, c.end):
        seen.data[graph.laid_out[step].source] += 1
        seen.data[graph.steps[step].source] += 2
    for step in range(graph.node_count):
        if seen.data[step] != 0 and seen.data[step] != 3:
            raise broken(after, f"node {step} is lost or runs twice")
    for step in range(c.first, c.end):
        node = node_at(graph, step)
        if node.invoke == NULL:
            raise broken(after, f"node {node.index} has no kernel")
        if graph.steps[step].elision != NOT_ELIDED and (node.input_count > 0 or node.output_count > 0):
            raise broken(after, f"node {node.index} is elided and has operands")
    return 0


cdef int check_groups(Compilation c, str after) except -1:
    cdef const Graph* graph = c.graph
    cdef int head = c.first
    cdef int step
    while head < c.end:
        for step in range(head, graph.groups[head].last + 1):
            if step >= c.end or graph.groups[step].first != head or graph.groups[step].last != graph.groups[head].last:
                raise broken(after, f"the group of step {step} does not begin at {head}")
        head = graph.groups[head].last + 1
    return 0


cdef int check_aliases(Compilation c, str after) except -1:
    cdef const Graph* graph = c.graph
    cdef int32_t t, root
    for t in range(graph.tensor_count):
        if graph.first_use[t] < c.first:
            continue
        root = alias_root(graph, t)
        if graph.alias[root] >= 0:
            raise broken(after, f"tensor {t} is an alias of an alias")
        if graph.live_to[root] < graph.last_use[t] or graph.live_from[root] > graph.first_use[t]:
            raise broken(after, f"tensor {t} outlives the buffer that it lies in")
        if root != t and graph.tensors[root].bytes != graph.tensors[t].bytes:
            raise broken(after, f"tensor {t} has another size than the buffer that it lies in")
    return 0


cdef int check_addresses(Compilation c, str after) except -1:
    """Compares all pairs: for graphs of a test's size."""
    cdef const Graph* graph = c.graph
    cdef int32_t a, b
    for a in range(graph.tensor_count):
        if not is_placed(c, a):
            continue
        if graph.tensors[a].data == NULL:
            raise broken(after, f"tensor {a} has no memory")
        for b in range(a):
            if is_placed(c, b) and alias_root(graph, a) == a and alias_root(graph, b) == b and overlap(graph, a, b):
                raise broken(after, f"tensors {b} and {a} overlap")
    return 0


cdef bint is_placed(Compilation c, int32_t t) noexcept:
    return c.graph.tensors[t].allocation == PLANNED and c.graph.first_use[t] >= c.first and c.graph.tensors[t].bytes > 0


cdef bint overlap(const Graph* graph, int32_t a, int32_t b) noexcept:
    """In time and in memory."""
    cdef const char* first = <const char*>graph.tensors[a].data
    cdef const char* second = <const char*>graph.tensors[b].data
    if graph.live_to[a] < graph.live_from[b] or graph.live_to[b] < graph.live_from[a]:
        return False
    return first < second + buffer_bytes(graph, b) and second < first + buffer_bytes(graph, a)


cdef size_t buffer_bytes(const Graph* graph, int32_t t) noexcept:
    cdef size_t bytes = line_buffer_bytes(graph, t)
    return bytes if bytes > 0 else graph.tensors[t].bytes
