"""Neighbouring steps are computed tile by tile: which run together, in how many tiles, and how many threads share them.

Before: CONV_2D, ADD, MUL, each over the whole image. After: one group; each tile takes the same range of all three, while it is in the cache.

A group is a node that can run in parallel (`Context.parallelize`) or several adjacent elementwise ones: each tile takes the same range of all of
its nodes. A group of several tiles is shared among threads; without threads it is computed tile by tile where its values would not stay in the cache
(`tiled_alone`), else each node runs by itself.

Nodes that see windows of one in front belong to a group, too, if what lies between them is large: such a group runs *depth first*, with line
buffers (`graph.passes.line_buffers`). Several threads share it in *strips*, each of which runs depth first by itself: the rows on both sides of a border
are computed twice. How tiles and strips run is in `graph.tile_executor`.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport realloc

from tflm_cy.graph.compilation cimport Compilation, is_enabled, new_pass
from tflm_cy.graph.context cimport IterationSpace, Node, RowWindow
from tflm_cy.graph.graph cimport MOST_READ, MOST_TOGETHER, Graph, TileGroup, is_internal, node_at
from tflm_cy.graph.live_ranges cimport find_live_ranges
from tflm_cy.graph.tensor cimport FLOAT32, PLANNED, Tensor
from tflm_cy.threads.pool cimport MOST_PARTS, engage

cdef struct Tiling:              # of a stage
    Graph* graph
    TileGroup* groups
    bint join                    # nodes may be computed together
    bint strips                  # depth first also by several threads

cdef double WAKE_TIME = 40000             # nanoseconds that nodes which can be shared take on one thread, from which on sleeping workers are woken

cdef double LEAST_TIME = 1500             # of a group, below which giving tiles away takes longer than computing them
cdef double WORTH_ENGAGING = 4            # times that, which an invoke must have to share for the pool to be engaged
cdef double LONG_TIME = 60000

cdef enum:
    TILES_PER_WORKER = 4           # of a long group: a worker that is interrupted keeps the others waiting for less
    LEAST_ROWS = 4               # of a strip

cdef int64_t CACHE_BYTES = 1 << 21   # what several nodes write together, above which they are computed tile by tile on one thread, too
cdef int64_t TILE_BYTES = 1 << 19    # of it in a tile
cdef int64_t FAR_BYTES = 1 << 20     # a tensor from which on nodes on both sides of it run depth first


def tune(double least_time=-1, int64_t cache_bytes=-1, int64_t tile_bytes=-1, int64_t far_bytes=-1):
    """Change from when on steps are tiled and shared, from the next prepare on.

    Parameters
    ----------
    least_time : float
        Nanoseconds that a group is expected to take, below which threads do not share it.
    cache_bytes : int
        What the nodes of a group write together, above which they are computed tile by tile on one thread, too.
    tile_bytes : int
        What they write in a tile.
    far_bytes : int
        The size of a tensor from which on the nodes on both sides of it run depth first.

    Returns
    -------
    dict
        The former values, to be given back; a value below 0 changes nothing.
    """
    global LEAST_TIME, CACHE_BYTES, TILE_BYTES, FAR_BYTES
    former = {"least_time": LEAST_TIME, "cache_bytes": CACHE_BYTES, "tile_bytes": TILE_BYTES, "far_bytes": FAR_BYTES}
    LEAST_TIME = least_time if least_time >= 0 else LEAST_TIME
    CACHE_BYTES = cache_bytes if cache_bytes >= 0 else CACHE_BYTES
    TILE_BYTES = tile_bytes if tile_bytes >= 0 else TILE_BYTES
    FAR_BYTES = far_bytes if far_bytes >= 0 else FAR_BYTES
    return former


cdef int tile(Compilation c) except -1:
    cdef Graph* graph = c.graph
    cdef Tiling tiling
    cdef TileGroup* groups
    if c.first == 0:
        groups = <TileGroup*>realloc(graph.groups, (graph.step_count + 1) * sizeof(TileGroup))
        if groups == NULL:
            raise MemoryError()
        graph.groups = groups
        c.strip_blocks = []
        graph.strip_tensors = 0
        graph.parallel_time = 0
    tiling.graph = graph
    tiling.groups = graph.groups
    tiling.join = is_enabled(c, "tile")
    tiling.strips = graph.internal != NULL
    graph.parallel_time += group_steps(&tiling, graph.groups, c.first, c.end)
    if not c.micro:
        find_live_ranges(graph, c.first, c.end)
        end_strips(&tiling, c.first, c.end)
    return 0


cdef int end_strips(Tiling* s, int first, int end) noexcept:
    """Of a group of several strips only the last output may be read outside of it: the group ends where one is."""
    cdef TileGroup* groups = s.groups
    cdef int head = first
    cdef int step, last
    cdef bint strips = s.strips
    while head < end:
        last = groups[head].last
        if groups[head].strips == 1:
            head = last + 1
            continue
        step = head
        while step < last and stays_inside(s.graph, step) and s.graph.tensors[node_at(s.graph, step).outputs[0]].allocation == PLANNED:
            step += 1
        s.strips = strips and s.graph.strip_tensors + (groups[head].strips - 1) * (last - head + 1) <= s.graph.strip_capacity
        if step == last and s.strips:
            head = last + 1
            continue
        group_steps(s, groups, head, step + 1)
        group_steps(s, groups, step + 1, last + 1)
        if step == head and groups[head + 1].strips == 1:
            s.strips = False
            group_steps(s, groups, head, last + 1)
    return 0


cdef bint stays_inside(const Graph* graph, int step) noexcept:
    """Only the step's group reads its output."""
    cdef int t = node_at(graph, step).outputs[0]
    return is_internal(graph, t) and graph.last_use[t] <= graph.groups[step].last


cdef double group_steps(const Tiling* s, TileGroup* groups, int first, int end) noexcept:
    """Which steps are computed tile by tile, alone or with those that follow; returns the time that threads can share."""
    cdef double time = 0
    cdef int step = first
    cdef bint depth_first
    cdef int head, i
    while step < end:
        head = step
        depth_first = False
        step = make_group(s, groups, head, end, s.strips or s.graph.workers == 1, &depth_first)
        if depth_first and s.graph.workers > 1:
            groups[head].strips = count_strips(s, &groups[head])
            if groups[head].strips == 1:
                depth_first = False
                step = make_group(s, groups, head, end, False, &depth_first)
        if count_tiles(s, &groups[head]) < 2 and step > head + 1:
            for i in range(head, step):
                groups[i].first = groups[i].last = i
                groups[i].strips = 1
                count_tiles(s, &groups[i])
        for i in range(head, step if s.graph.workers > 1 else head):
            if groups[groups[i].first].tiles > 1:
                time += node_at(s.graph, i).time
    return time


cdef int make_group(const Tiling* s, TileGroup* groups, int head, int end, bint may_run_depth_first, bint* depth_first) noexcept:
    """As many steps as go together from `head` on; returns the step behind them."""
    cdef int step = head + 1
    cdef int i
    if node_at(s.graph, head).work != NULL and s.join:
        while step < end and step - head < MOST_TOGETHER and follows(s, head, step, may_run_depth_first, depth_first):
            step += 1
    for i in range(head, step):
        groups[i].graph = s.graph
        groups[i].first = head
        groups[i].last = step - 1
        groups[i].tiles = 1
        groups[i].line_buffer = -1
        groups[i].line_bytes = 0
        groups[i].strips = 1
        groups[i].strip_nodes = NULL
    return step


cdef int count_strips(const Tiling* s, const TileGroup* group) noexcept:
    """Of a group that runs depth first: one for each thread, if it is large enough."""
    cdef const IterationSpace* space = &node_at(s.graph, group.last).space
    if group_traffic(s, group) <= CACHE_BYTES or space.units / space.granularity < LEAST_ROWS * s.graph.workers:
        return 1
    if space.units < space.min_chunk * s.graph.workers:
        return 1
    return s.graph.workers


cdef bint follows(const Tiling* s, int head, int step, bint may_run_depth_first, bint* depth_first) noexcept:
    """The node reads what the group has written at its own positions only, or, if it may run depth first, in windows, too."""
    cdef const Node* before = node_at(s.graph, step - 1)
    cdef const Node* node = node_at(s.graph, step)
    cdef const IterationSpace* space = &node.space
    cdef const Node* maker
    cdef bint reads = False
    cdef bint sees = False
    cdef bint far = False
    cdef int i, j, k
    if node.work == NULL or not space.per_position or not before.space.per_position:
        return False
    if node.output_count != 1 or before.output_count != 1 or node.input_count > MOST_READ:
        return False
    if s.graph.steps[step].flushes != s.graph.steps[head].flushes:
        return False
    for i in range(node.input_count):
        for j in range(head, step):
            maker = node_at(s.graph, j)
            for k in range(maker.output_count):
                if node.inputs[i] < 0 or node.inputs[i] != maker.outputs[k]:
                    continue
                reads = True
                far = far or traffic(&s.graph.tensors[node.inputs[i]]) >= FAR_BYTES
                if i < 32 and space.elementwise_inputs >> i & 1 and maker.space.units == space.units:
                    continue
                if not may_run_depth_first or i != 0 or not sees_rows(&space.window, &maker.space):
                    return False
                sees = True
    if not sees and not depth_first[0]:
        return reads and space.units == before.space.units and before.space.granularity % space.granularity == 0
    if not far:
        return False
    depth_first[0] = True
    return True


cdef bint sees_rows(const RowWindow* window, const IterationSpace* maker) noexcept:
    """Is the input that the window is told of what this node makes? It is never behind the node itself then."""
    return window.row > 0 and window.reach > 0 and maker.units == window.images * window.input_row * window.input_rows


cdef int count_tiles(const Tiling* s, TileGroup* group) noexcept:
    """How many tiles a group has: for the caches, if it has several nodes, and for the threads."""
    cdef const IterationSpace* space = &node_at(s.graph, group.first if s.graph.workers > 1 and group.strips == 1 else group.last).space
    cdef int64_t grains = 0
    cdef int64_t least = 1
    cdef int64_t bytes = group_traffic(s, group)
    cdef double time = 0
    cdef int64_t tiles = 1
    cdef const Node* node
    cdef int step
    group.tiles = 1
    group.tiled_alone = False
    for step in range(group.first, group.last + 1):
        node = node_at(s.graph, step)
        if node.work == NULL:
            return 1
        time += node.time
        least = max(least, (node.space.min_chunk * space.units + node.space.units - 1) / node.space.units)
    if group.last > group.first and bytes > CACHE_BYTES:
        tiles = (bytes + TILE_BYTES - 1) / TILE_BYTES
    group.tiled_alone = tiles > 1
    if s.graph.workers > 1 and group.strips == 1 and time >= LEAST_TIME:
        if time > LONG_TIME:
            tiles = max(tiles, TILES_PER_WORKER * s.graph.workers)
        tiles = (tiles + s.graph.workers - 1) / s.graph.workers * s.graph.workers
    if tiles > 1:
        grains = space.units / space.granularity
        tiles = min(tiles, min(grains, <int64_t>MOST_PARTS))
    while tiles > 1 and grains / tiles * space.granularity < least:
        tiles -= 1
    if s.graph.workers > 1 and group.strips == 1 and tiles > s.graph.workers:
        tiles -= tiles % s.graph.workers         # as many for each thread, also where there is no room for all that were wanted
    group.tiles = <int32_t>max(tiles, <int64_t>1)
    return group.tiles


cdef int64_t group_traffic(const Tiling* s, const TileGroup* group) noexcept nogil:
    """Of what its nodes write."""
    cdef const Node* node
    cdef int64_t bytes = 0
    cdef int step
    for step in range(group.first, group.last + 1):
        node = node_at(s.graph, step)
        if node.work != NULL:
            bytes += traffic(&s.graph.tensors[node.outputs[0]])
    return bytes


cdef int64_t traffic(const Tensor* tensor) noexcept nogil:
    """Its bytes as the caches feel them: where values are bytes, they come more slowly."""
    return tensor.bytes if tensor.type == FLOAT32 else tensor.bytes / 2


cdef bint engage_workers(int workers, double time) noexcept nogil:
    """Take the pool for a run that has so much to share; to be released. False: there is too little, or another thread has it."""
    return time > WORTH_ENGAGING * LEAST_TIME and engage(workers, time > WAKE_TIME)


PASS = new_pass(tile, "tile", "Neighbouring nodes are computed tile by tile, and shared among threads.", True, False, True)
