# tflm_cy: optimize=speed
"""Give every planned tensor and scratch buffer of a stage its address.

Before: offsets. After: `Tensor.data` and the context's `scratch_buffers`; aliases point into the buffer of their root, the tensors of strips to line
buffers of their own, tensors of no bytes to a common place. Inputs and outputs of the graph are zero.
"""
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from tflm_cy.graph.allocator cimport SLACK
from tflm_cy.graph.compilation cimport new_pass
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.graph cimport Graph, TileGroup, node_at
from tflm_cy.graph.memory_plan cimport ROW_SCRATCH, ROW_TENSOR, MemoryPlan
from tflm_cy.graph.passes.plan cimport end_of_requests, request_bytes
from tflm_cy.graph.tensor cimport PLANNED
from tflm_cy.graph.tile_executor cimport make_jobs

cdef uint8_t[64] EMPTY                    # where tensors of zero bytes point to


cdef int bind(Compilation c) except -1:
    cdef Graph* graph = c.graph
    cdef bint zeroed = False
    cdef char* base = new_base(c, &zeroed)
    cdef int t, i
    bind_scratch(c, base)
    for t in range(graph.tensor_count):
        if graph.first_use[t] >= c.first and graph.alias[t] < 0 and graph.tensors[t].bytes == 0:
            graph.tensors[t].data = EMPTY
    for i in range(c.memory.row_count):
        if c.memory.rows[i].kind == ROW_TENSOR:
            graph.tensors[c.memory.rows[i].index].data = base + c.memory.rows[i].offset
    for t in range(graph.tensor_count):
        if graph.first_use[t] >= c.first and graph.alias[t] >= 0:
            graph.tensors[t].data = graph.tensors[graph.alias[t]].data
    bind_strips(graph, c.first, c.end)
    if not zeroed:
        clear_ends(graph, c.first)
    c.memory.problem = None
    c.memory.shared = None
    make_jobs(graph, c.first, c.end)
    return 0


cdef char* new_base(Compilation c, bint* zeroed) except NULL:
    """Where offset 0 lies: the head, the block of an earlier stage, or a new one."""
    cdef MemoryPlan memory = c.memory
    cdef int64_t size = memory.size
    cdef char* base
    if c.first == 0:
        owner = c.allocator.arena.head_owner()
        base = <char*>c.allocator.arena.set_head(size)
        c.allocator.trim()
        c.constants.trim()
        c.packed.trim()
        zeroed[0] = c.allocator.arena.head_owner() is not owner        # pages cost nothing before they are used
        return base
    zeroed[0] = True                                                    # nodes write all of a later stage's outputs
    if memory.shared is not None and size + SLACK <= <int64_t>memory.shared.size:
        return memory.shared.data
    return memory.new_stage_block(size + SLACK).data


cdef int bind_scratch(Compilation c, char* base) except -1:
    """Requests of one group lie one behind the other."""
    cdef Context context = <Context>c.graph.context
    cdef MemoryPlan memory = c.memory
    cdef void** buffers = context.scratch_buffers
    cdef int64_t offset
    cdef int i, request
    if memory.scratch_count > memory.bound_capacity or buffers == NULL:
        buffers = <void**>realloc(buffers, (memory.scratch_count + 1) * sizeof(void*))
        if buffers == NULL:
            raise MemoryError()
        context.scratch_buffers = buffers
        memory.bound_capacity = memory.scratch_count
    for i in range(memory.row_count):
        if memory.rows[i].kind != ROW_SCRATCH:
            continue
        offset = memory.rows[i].offset
        for request in range(memory.rows[i].index, end_of_requests(c, memory.rows[i].index)):
            buffers[request] = base + offset
            offset += request_bytes(c, request)
    memory.scratch_bound = memory.scratch_count
    return 0


cdef int bind_strips(Graph* graph, int first, int end) noexcept:
    """The line buffers of a group's strips lie one behind the other."""
    cdef const TileGroup* group
    cdef const Node* node
    cdef int head = first
    cdef int strip, i, nodes, step
    while head < end:
        group = &graph.groups[head]
        nodes = group.last - head + 1
        for strip in range(1, group.strips):
            for i in range(nodes):
                node = &group.strip_nodes[(strip - 1) * nodes + i]
                if group[i].line_buffer >= 0:
                    step = head + group[i].line_buffer
                    graph.tensors[node.outputs[0]].data = (
                        <char*>graph.tensors[node_at(graph, head + i).outputs[0]].data + strip * graph.groups[step].line_bytes)
        head = group.last + 1
    return 0


cdef int clear_ends(Graph* graph, int first) noexcept:
    """Zero the graph's outputs that this stage writes, and at the first stage its inputs."""
    cdef int i, t
    for i in range(graph.output_count):
        t = graph.outputs[i]
        if t >= 0 and graph.first_use[t] >= first:
            memset(graph.tensors[t].data, 0, graph.tensors[t].bytes)
    for i in range(graph.input_count if first == 0 else 0):
        t = graph.inputs[i]
        if t >= 0 and graph.tensors[t].allocation == PLANNED:
            memset(graph.tensors[t].data, 0, graph.tensors[t].bytes)
    return 0


PASS = new_pass(bind, "bind", "Offsets become addresses.")
