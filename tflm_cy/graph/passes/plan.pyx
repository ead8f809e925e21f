# tflm_cy: optimize=speed
"""Decide where each buffer of a stage lies in the head.

Before: live ranges and sizes. After: `MemoryPlan.rows`, an offset per buffer; buffers that are alive at the same time do not overlap.

    find_rows(c)            # a row per buffer: a tensor, the scratch memory of a tile group, what an earlier stage has placed
    build_problem(c)        # from when to when each is needed
    solve(problem)          # the better of two greedy orders

A stage behind a dynamic output lies in a block of its own, or in that of an earlier stage, around what is still needed there.
"""
from tflm_cy.graph.allocator cimport HEAD_ALIGNMENT
from tflm_cy.graph.compilation cimport is_enabled, new_pass
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.memory_plan cimport ROW_PLACED, ROW_SCRATCH, ROW_TENSOR, MemoryPlan
from tflm_cy.graph.passes.line_buffers cimport line_buffer_bytes
from tflm_cy.graph.tensor cimport PLANNED, Tensor
from tflm_cy.memory.block cimport Block
from tflm_cy.memory.greedy cimport greedy, greedy_by_area
from tflm_cy.memory.problem cimport Plan, Problem, new_problem

cdef int64_t LARGEST = <int64_t>1 << (47 if sizeof(void*) == 8 else 31)   # bytes of all tensors together

cdef int64_t WORTH_PLANNING = 1 << 16    # bytes

# A load waits for a store in front of it whose address has the same low bits, as if it read what is stored: where a filter's input and output lie a
# multiple of CACHE_PLACES apart, it takes up to twice as long. So large tensors are a little longer than they are.
cdef int64_t CACHE_PLACES = 1 << 12      # bytes
cdef int64_t STAGGER = 9 * 64


cdef int plan(Compilation c) except -1:
    cdef Plan solution
    cdef int i
    find_rows(c)
    if c.light:
        return line_up(c)
    build_problem(c)
    solution = solve(c.memory.problem)
    for i in range(c.memory.row_count):
        c.memory.rows[i].offset = solution.offset_of[i]
    c.memory.size = solution.high_water_mark
    return 0


cdef int line_up(Compilation c) except -1:
    """One buffer behind the other: finding a better plan would take longer than the stage."""
    cdef int64_t end = 0
    cdef int i
    for i in range(c.memory.row_count):
        c.memory.rows[i].offset = end
        end += (row_bytes(c, i) + HEAD_ALIGNMENT - 1) // HEAD_ALIGNMENT * HEAD_ALIGNMENT
    c.memory.size = end
    return 0


cdef int find_rows(Compilation c) except -1:
    """A row per buffer."""
    cdef Graph* graph = c.graph
    cdef MemoryPlan memory = c.memory
    cdef int t
    cdef int request = memory.scratch_bound            # 0 at the first stage
    memory.shared = largest_block(memory) if c.first > 0 and not c.light else None
    memory.new_rows(graph.tensor_count + memory.scratch_count - request)
    for t in range(graph.tensor_count):
        if graph.first_use[t] >= c.first and graph.tensors[t].bytes > 0 and graph.alias[t] < 0:
            memory.add_row(ROW_TENSOR, t)
    while request < memory.scratch_count:
        memory.add_row(ROW_SCRATCH, request)
        request = end_of_requests(c, request)
    check_total(c)
    for t in range(graph.tensor_count if memory.shared is not None else 0):
        if lies_in(graph, memory.shared, t, c.first):
            memory.add_row(ROW_PLACED, t)
    return 0


cdef int build_problem(Compilation c) except -1:
    """What the planner wants to know of each row."""
    cdef const Graph* graph = c.graph
    cdef Problem problem = new_problem(c.memory.row_count, HEAD_ALIGNMENT)
    cdef int i, t
    for i in range(c.memory.row_count):
        t = c.memory.rows[i].index
        problem.size_of[i] = row_bytes(c, i)
        if c.memory.rows[i].kind == ROW_SCRATCH:
            problem.first_of[i] = graph.groups[c.memory.scratch_requests[t].step].first
            problem.last_of[i] = graph.groups[c.memory.scratch_requests[t].step].last
            continue
        problem.first_of[i] = graph.live_from[t]
        problem.last_of[i] = graph.live_to[t]
        if c.memory.rows[i].kind == ROW_PLACED:
            problem.fixed_of[i] = <char*>graph.tensors[t].data - c.memory.shared.data
        elif problem.size_of[i] >= CACHE_PLACES and is_enabled(c, "alias_buffers"):
            problem.size_of[i] += STAGGER
    c.memory.problem = problem
    return 0


cdef int64_t row_bytes(Compilation c, int row) noexcept:
    cdef int index = c.memory.rows[row].index
    cdef int64_t bytes = 0
    cdef int request
    if c.memory.rows[row].kind != ROW_SCRATCH:
        bytes = line_buffer_bytes(c.graph, index) if c.memory.rows[row].kind == ROW_TENSOR else 0
        return bytes if bytes > 0 else <int64_t>c.graph.tensors[index].bytes
    for request in range(index, end_of_requests(c, index)):
        bytes += request_bytes(c, request)
    return bytes


cdef int check_total(Compilation c) except -1:
    """MemoryError where sums of sizes could overflow."""
    cdef int64_t total = 0
    cdef int i
    for i in range(c.memory.row_count):
        total += row_bytes(c, i) + HEAD_ALIGNMENT
        if total > LARGEST:
            raise MemoryError(f"no memory for {c.memory.row_count} tensors of together more than {LARGEST} bytes")
    return 0


cdef int end_of_requests(Compilation c, int request) noexcept nogil:
    """Behind the requests for scratch memory of the same tile group: they have one buffer."""
    cdef int group = c.graph.groups[c.memory.scratch_requests[request].step].first
    while request < c.memory.scratch_count and c.graph.groups[c.memory.scratch_requests[request].step].first == group:
        request += 1
    return request


cdef int64_t request_bytes(Compilation c, int request) noexcept nogil:
    return (max(c.memory.scratch_requests[request].bytes, 1) + HEAD_ALIGNMENT - 1) // HEAD_ALIGNMENT * HEAD_ALIGNMENT


cdef Block largest_block(MemoryPlan memory):
    """Of the stages before: where the next one may find room, once their values are not needed any more."""
    cdef Block block, largest = None
    cdef int i
    for i in range(memory.block_count):
        block = memory.stage_blocks[i]
        if largest is None or block.size > largest.size:
            largest = block
    return largest


cdef bint lies_in(const Graph* graph, Block block, int t, int first) noexcept:
    """A tensor that an earlier stage has put there, and that is needed from step `first` on."""
    cdef const Tensor* tensor = &graph.tensors[t]
    if tensor.allocation != PLANNED or tensor.bytes == 0 or graph.alias[t] >= 0 or not 0 <= graph.first_use[t] < first:
        return False
    return graph.live_to[t] >= first and block.data <= <char*>tensor.data < block.data + block.size


cdef Plan solve(Problem problem):
    """The lower of two quick plans; the second is looked for where the first one leaves memory unused that is worth it."""
    cdef Plan plan = greedy(problem)
    cdef Plan other
    if plan.high_water_mark >= WORTH_PLANNING and plan.high_water_mark > problem.load():
        other = greedy_by_area(problem)
        if other.high_water_mark < plan.high_water_mark:
            return other
    return plan


PASS = new_pass(plan, "plan", "Each buffer gets an offset; buffers that are alive at the same time do not overlap.")
