"""How a tile group runs.

    measure_line_buffers(&groups[step])              # before memory is planned: `line_bytes` of the group's steps
    make_jobs(graph, first, end)                     # when memory is bound and no pass changes a step any more
    run_group(&groups[step], engaged)

Threads take one tile after the other, each the same range of all nodes. Alone, a thread goes *depth first*: in each tile the last node goes on by its
share, and those in front as far as the rows that its window sees then. Outputs that only the group reads lie in *line buffers*: what is read no more makes
room for what comes, by moving the rest to the front, so that their few rows stay in the cache and need no more memory than that. Of a group of several
strips each thread goes depth first over one, from the rows on that its first output row sees; each strip has line buffers of its own.
"""
from libc.stdint cimport int64_t
from libc.string cimport memmove

from tflm_cy.graph.context cimport IterationSpace, Node, RowWindow
from tflm_cy.graph.graph cimport MOST_READ, MOST_TOGETHER, Graph, TileGroup, node_at
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.threads.pool cimport Job, share

cdef enum:
    LINE = 64                    # of the cache: what lies in line buffers keeps its alignment

ctypedef void (*WorkWithoutObject)(void* context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil

cdef struct Strip:
    const TileGroup* group
    int number

cdef struct Reading:             # nodes of a group, counted from its first one
    int maker
    int reader
    int operand                  # which input of the reader it is

cdef struct Progress:            # per node of the group
    int64_t[MOST_TOGETHER] start         # positions of its output: the strip
    int64_t[MOST_TOGETHER] stop
    int64_t[MOST_TOGETHER] done
    int64_t[MOST_TOGETHER] wanted
    int64_t[MOST_TOGETHER] base          # bytes in front of those that are in memory
    Reading[MOST_TOGETHER * MOST_READ] readings
    int reading_count
    int last
    int parts


cdef inline int64_t part_begin(int64_t units, int64_t granularity, int part, int parts) noexcept nogil:
    return units if part >= parts else units / granularity * part / parts * granularity


cdef void compute_tile(void* argument, int part, int parts, int worker) noexcept nogil:
    """The same range of all nodes of a group."""
    cdef const TileGroup* group = <const TileGroup*>argument
    cdef const Graph* graph = group.graph
    cdef const IterationSpace* space = &node_at(graph, group.first).space
    cdef int64_t first = part_begin(space.units, space.granularity, part, parts)
    cdef int64_t end = part_begin(space.units, space.granularity, part + 1, parts)
    cdef Node* node
    cdef int step
    if first >= end:
        return
    for step in range(group.first, group.last + 1):
        node = node_at(graph, step)
        (<WorkWithoutObject>node.work)(graph.context, node, first, end, worker)


cdef void compute_strips(void* argument, int part, int parts, int worker) noexcept nogil:
    """Some of a group's strips: one, unless threads are too busy."""
    cdef const TileGroup* group = <const TileGroup*>argument
    cdef int strips = group.strips
    cdef int strip
    for strip in range(strips * part / parts, strips * (part + 1) / parts):
        run_depth_first(group, strip, worker, NULL)


cdef void run_depth_first(const TileGroup* group, int number, int worker, TileGroup* measured) noexcept nogil:
    """Over a strip: tile by tile, each node as far as the next one wants it. `measured`: nothing is computed or moved; instead the group is told
    how much of each line buffer it fills at most."""
    cdef Strip strip
    cdef Progress s
    cdef (char*)[MOST_TOGETHER] start
    cdef Node* node
    cdef int64_t gone
    cdef int part, i, buffer
    strip.group = group
    strip.number = number
    begin_depth_first(&strip, &s)
    for i in range(s.last + 1):
        start[i] = <char*>output_of(&strip, i).data
    for part in range(s.parts):
        want(&strip, &s, part)
        for i in range(s.last):
            buffer = group[i].line_buffer
            gone = advance(&strip, &s, i) if buffer == i else 0
            if gone > 0 and measured == NULL:
                memmove(start[i], start[i] + gone, written(&strip, &s, i) - s.base[i])
            if buffer >= 0 and measured == NULL:
                output_of(&strip, i).data = start[i] - s.base[buffer]
        for i in range(s.last + 1):
            if s.wanted[i] > s.done[i]:
                node = node_of(&strip, i)
                if measured == NULL:
                    (<WorkWithoutObject>node.work)(group.graph.context, node, s.done[i], s.wanted[i], worker)
                s.done[i] = s.wanted[i]
            if measured != NULL and group[i].line_buffer == i:
                measured[i].line_bytes = max(measured[i].line_bytes, written(&strip, &s, i) - s.base[i])
    if measured == NULL:
        for i in range(s.last):
            if group[i].line_buffer >= 0:
                output_of(&strip, i).data = start[i]


cdef int measure_line_buffers(TileGroup* group) noexcept:
    cdef int strip, i
    for strip in range(group.strips):
        run_depth_first(group, strip, 0, group)
    for i in range(group.last - group.first + 1):
        group[i].line_bytes = (group[i].line_bytes + LINE - 1) / LINE * LINE
    return 0


cdef inline Node* node_of(const Strip* strip, int i) noexcept nogil:
    """With tensors of the strip's own, once it has them."""
    cdef const TileGroup* group = strip.group
    if strip.number == 0 or group.strip_nodes == NULL:
        return node_at(group.graph, group.first + i)
    return &group.strip_nodes[(strip.number - 1) * (group.last - group.first + 1) + i]


cdef inline const IterationSpace* space_at(const Strip* strip, int i) noexcept nogil:
    return &node_of(strip, i).space


cdef inline Tensor* output_of(const Strip* strip, int i) noexcept nogil:
    return &strip.group.graph.tensors[node_of(strip, i).outputs[0]]


cdef inline int64_t unit_bytes(const Strip* strip, int i) noexcept nogil:
    """Of a position of the node's output."""
    return output_of(strip, i).bytes / space_at(strip, i).units


cdef void begin_depth_first(const Strip* strip, Progress* s) noexcept nogil:
    cdef const TileGroup* group = strip.group
    cdef const Node* node
    cdef int i, j, k
    s.last = group.last - group.first
    s.parts = max(group.tiles / group.strips, 1)
    s.reading_count = 0
    for j in range(s.last + 1):
        node = node_of(strip, j)
        for k in range(node.input_count):
            for i in range(j):
                if node.inputs[k] == node_of(strip, i).outputs[0]:
                    s.readings[s.reading_count].maker = i
                    s.readings[s.reading_count].reader = j
                    s.readings[s.reading_count].operand = k
                    s.reading_count += 1
    set_limits(strip, s)
    for i in range(s.last + 1):
        s.done[i] = s.start[i]
        s.base[i] = s.start[i] * unit_bytes(strip, i) / LINE * LINE


cdef bint is_read(const Progress* s, int maker) noexcept nogil:
    """By a node of the group."""
    cdef int k
    for k in range(s.reading_count):
        if s.readings[k].maker == maker:
            return True
    return False


cdef void set_limits(const Strip* strip, Progress* s) noexcept nogil:
    """Where each node begins and ends: with what the strip's outputs see."""
    cdef const IterationSpace* space
    cdef const IterationSpace* reader
    cdef int strips = strip.group.strips
    cdef int i, k
    for i in range(s.last, -1, -1):
        space = space_at(strip, i)
        if not is_read(s, i):
            s.start[i] = part_begin(space.units, space.granularity, strip.number, strips)
            s.stop[i] = part_begin(space.units, space.granularity, strip.number + 1, strips)
            continue
        s.start[i] = space.units
        s.stop[i] = 0
        for k in range(s.reading_count):
            if s.readings[k].maker == i:
                reader = space_at(strip, s.readings[k].reader)
                s.start[i] = min(s.start[i], still_seen(reader, s.readings[k].operand, s.start[s.readings[k].reader]))
                s.stop[i] = max(s.stop[i], seen(reader, s.readings[k].operand, s.stop[s.readings[k].reader]))
        s.start[i] = 0 if strip.number == 0 else s.start[i] / space.granularity * space.granularity
        s.stop[i] = space.units if strip.number == strips - 1 else go_on(space, s.start[i], s.stop[i], space.units)
        if s.stop[i] - s.start[i] < space.min_chunk:
            s.start[i] = max(s.stop[i] - space.min_chunk, <int64_t>0) / space.granularity * space.granularity


cdef void want(const Strip* strip, Progress* s, int part) noexcept nogil:
    """How far each node is to go in this part."""
    cdef const IterationSpace* space
    cdef int64_t end
    cdef int i, k
    for i in range(s.last, -1, -1):
        space = space_at(strip, i)
        if part == s.parts - 1:
            s.wanted[i] = s.stop[i]
            continue
        end = 0 if is_read(s, i) else s.start[i] + part_begin(s.stop[i] - s.start[i], space.granularity, part + 1, s.parts)
        for k in range(s.reading_count):
            if s.readings[k].maker == i:
                end = max(end, seen(space_at(strip, s.readings[k].reader), s.readings[k].operand, s.wanted[s.readings[k].reader]))
        s.wanted[i] = go_on(space, s.done[i], end, s.stop[i])


cdef int64_t advance(const Strip* strip, Progress* s, int buffer) noexcept nogil:
    """Drop the rows of this line buffer that no node reads any more, if that is more than what remains: by how many bytes the rest moves to the front."""
    cdef int64_t top = written(strip, s, buffer)
    cdef int64_t low = s.done[buffer]
    cdef int64_t first, gone
    cdef int i
    for i in range(s.reading_count):
        if strip.group[s.readings[i].maker].line_buffer == buffer:
            low = min(low, still_seen(space_at(strip, s.readings[i].reader), s.readings[i].operand, s.done[s.readings[i].reader]))
    first = low * unit_bytes(strip, buffer) / LINE * LINE
    gone = first - s.base[buffer]
    if gone < top - first:
        return 0
    s.base[buffer] = first
    return gone


cdef inline int64_t written(const Strip* strip, const Progress* s, int buffer) noexcept nogil:
    """Bytes of the first node's output there; nodes behind it that write over it have not come further."""
    return s.done[buffer] * unit_bytes(strip, buffer)


cdef inline bint sees_windows(const IterationSpace* reader, int operand) noexcept nogil:
    return operand == 0 and not reader.elementwise_inputs & 1 and reader.window.row > 0


cdef inline int64_t still_seen(const IterationSpace* reader, int operand, int64_t done) noexcept nogil:
    """The first of the positions that the reader looks at from its position `done` on."""
    cdef const RowWindow* window = &reader.window
    cdef int64_t image
    if not sees_windows(reader, operand):
        return done
    image = reader.units / window.images
    return done / image * window.input_rows * window.input_row + max(done % image / window.row * window.stride - window.before, <int64_t>0) * window.input_row


cdef int64_t seen(const IterationSpace* reader, int operand, int64_t end) noexcept nogil:
    """How much of what a node in front makes the first `end` units see."""
    cdef const RowWindow* window = &reader.window
    cdef int64_t image, before, rows
    if not sees_windows(reader, operand):
        return end
    if end == 0:
        return 0
    image = reader.units / window.images
    before = (end - 1) / image
    rows = ((end - before * image + window.row - 1) / window.row - 1) * window.stride + window.reach
    return (before * window.input_rows + min(rows, window.input_rows)) * window.input_row


cdef int64_t go_on(const IterationSpace* space, int64_t done, int64_t wanted, int64_t stop) noexcept nogil:
    """A range's end, as `IterationSpace` wants it: neither it nor what it leaves is too short."""
    cdef int64_t end
    if wanted <= done:
        return done
    end = (max(wanted, done + space.min_chunk) + space.granularity - 1) / space.granularity * space.granularity
    return stop if end > stop - space.min_chunk else end


cdef int make_jobs(Graph* graph, int first, int end) noexcept:
    """What threads share of the steps first .. end - 1; where groups follow each other directly, each job knows the next."""
    cdef Job* before = NULL
    cdef bint flushed = False
    cdef TileGroup* group
    cdef int step = first
    while step < end:
        group = &graph.groups[step]
        if group.tiles > 1:
            group.job.part = compute_strips if group.strips > 1 else compute_tile
            group.job.argument = group
            group.job.parts = group.strips if group.strips > 1 else group.tiles
            group.job.next = NULL
            if before != NULL and flushed == graph.steps[step].flushes:
                before.next = &group.job
            before = &group.job
            flushed = graph.steps[step].flushes
        elif not does_nothing(graph, node_at(graph, step)):
            before = NULL
        step = group.last + 1 if group.tiles > 1 else step + 1
    return 0


cdef inline bint does_nothing(const Graph* graph, const Node* node) noexcept:
    return node.elided or (node.is_view and graph.tensors[node.outputs[0]].data == graph.tensors[node.inputs[0]].data)


cdef void run_group(const TileGroup* group, bint engaged) noexcept nogil:
    """Its tiles, on the threads that have been engaged."""
    if engaged:
        share(&group.job)
    elif group.strips > 1:
        compute_strips(<void*>group, 0, 1, 0)
    else:
        run_depth_first(group, 0, 0, NULL)
