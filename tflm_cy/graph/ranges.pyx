"""How a group's parts run.

    run_group(context, tensors, nodes, plan, &groups[step], engaged)
    measure_rolls(&steps, &groups[step])             # before memory is planned: `rolled` of the group's nodes

Threads take one part after the other, each the same range of all nodes. Alone, a thread *slides*: in each part the last node goes on by its share,
and those in front as far as the rows that are seen then. Outputs that only the group sees *roll*: what is read no more makes room for what comes, by
moving the rest to the front, so that their few rows stay in the cache and need no more memory than that.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

from tflm_cy.graph.context cimport Context, Extent, Node, RowWindow
from tflm_cy.graph.groups cimport MOST_READ, MOST_TOGETHER, Group, Steps
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.threads.pool cimport share

cdef enum:
    LINE = 64                    # of the cache: what rolls keeps its alignment

ctypedef void (*WorkWithoutObject)(void* context, Node* node, int64_t first, int64_t end, int hand) noexcept nogil

cdef struct Job:
    void* context
    Tensor* tensors
    Node* nodes
    const int32_t* plan
    const Group* group

cdef struct Reading:             # nodes of a group, counted from its first one
    int maker
    int reader

cdef struct Slide:               # per node of the group
    int64_t[MOST_TOGETHER] done          # positions of its output
    int64_t[MOST_TOGETHER] wanted
    int64_t[MOST_TOGETHER] base          # bytes in front of those that are in memory
    Reading[MOST_TOGETHER * MOST_READ] readings
    int reading_count
    int last


cdef inline int64_t part_begin(int64_t units, int64_t grain, int part, int parts) noexcept nogil:
    return units if part >= parts else units / grain * part / parts * grain


cdef void compute_part(void* argument, int part, int parts, int hand) noexcept nogil:
    """The same range of all nodes of a group."""
    cdef const Job* job = <const Job*>argument
    cdef const Extent* extent = &job.nodes[job.plan[job.group.first]].extent
    cdef int64_t first = part_begin(extent.units, extent.grain, part, parts)
    cdef int64_t end = part_begin(extent.units, extent.grain, part + 1, parts)
    cdef Node* node
    cdef int step
    if first >= end:
        return
    for step in range(job.group.first, job.group.last + 1):
        node = &job.nodes[job.plan[step]]
        (<WorkWithoutObject>node.work)(job.context, node, first, end, hand)


cdef void slide(const Job* job, Group* measured) noexcept nogil:
    """On one thread: part by part, each node as far as the next one wants it. `measured`: nothing is computed or moved; instead the group is told
    how much of the outputs that roll is in memory at once."""
    cdef Slide s
    cdef (char*)[MOST_TOGETHER] start
    cdef Node* node
    cdef int64_t gone
    cdef int part, i, place
    begin_slide(job, &s)
    for i in range(s.last + 1):
        start[i] = <char*>output_of(job, i).data
    for part in range(job.group.parts):
        want(job, &s, part)
        for i in range(s.last):
            place = job.group[i].place
            gone = roll(job, &s, i) if place == i else 0
            if gone > 0 and measured == NULL:
                memmove(start[i], start[i] + gone, written(job, &s, i) - s.base[i])
            if place >= 0 and measured == NULL:
                output_of(job, i).data = start[i] - s.base[place]
        for i in range(s.last + 1):
            if s.wanted[i] > s.done[i]:
                node = &job.nodes[job.plan[job.group.first + i]]
                if measured == NULL:
                    (<WorkWithoutObject>node.work)(job.context, node, s.done[i], s.wanted[i], 0)
                s.done[i] = s.wanted[i]
            if measured != NULL and job.group[i].place == i:
                measured[i].rolled = max(measured[i].rolled, written(job, &s, i) - s.base[i])
    if measured == NULL:
        for i in range(s.last):
            output_of(job, i).data = start[i]


cdef int measure_rolls(const Steps* steps, Group* group) noexcept:
    cdef Job job
    job.context = NULL
    job.tensors = <Tensor*>steps.tensors
    job.nodes = <Node*>steps.nodes
    job.plan = steps.plan
    job.group = group
    slide(&job, group)
    return 0


cdef inline const Extent* extent_at(const Job* job, int i) noexcept nogil:
    return &job.nodes[job.plan[job.group.first + i]].extent


cdef inline Tensor* output_of(const Job* job, int i) noexcept nogil:
    return &job.tensors[job.nodes[job.plan[job.group.first + i]].outputs[0]]


cdef inline int64_t unit_bytes(const Job* job, int i) noexcept nogil:
    """Of a position of the node's output."""
    return output_of(job, i).bytes / extent_at(job, i).units


cdef void begin_slide(const Job* job, Slide* s) noexcept nogil:
    cdef const Node* node
    cdef int i, j, k
    s.last = job.group.last - job.group.first
    s.reading_count = 0
    for j in range(s.last + 1):
        s.done[j] = 0
        s.base[j] = 0
        node = &job.nodes[job.plan[job.group.first + j]]
        for k in range(node.input_count):
            for i in range(j):
                if node.inputs[k] == job.nodes[job.plan[job.group.first + i]].outputs[0]:
                    s.readings[s.reading_count].maker = i
                    s.readings[s.reading_count].reader = j
                    s.reading_count += 1


cdef void want(const Job* job, Slide* s, int part) noexcept nogil:
    """How far each node is to go in this part."""
    cdef const Extent* extent
    cdef int64_t end
    cdef int i
    for i in range(s.last, -1, -1):
        extent = extent_at(job, i)
        if part == job.group.parts - 1:
            s.wanted[i] = extent.units
            continue
        if i == s.last:
            end = part_begin(extent.units, extent.grain, part + 1, job.group.parts)
        else:
            end = seen(extent_at(job, i + 1), extent, s.wanted[i + 1])
        s.wanted[i] = go_on(extent, s.done[i], end)


cdef int64_t roll(const Job* job, Slide* s, int place) noexcept nogil:
    """Forget what nobody reads any more of the outputs at this place, if that is more than what remains: by how many bytes that moves to the front."""
    cdef int64_t top = written(job, s, place)
    cdef int64_t low = s.done[place]
    cdef int64_t first, gone
    cdef int i
    for i in range(s.reading_count):
        if job.group[s.readings[i].maker].place == place:
            low = min(low, still_seen(extent_at(job, s.readings[i].reader), s.done[s.readings[i].reader]))
    first = low * unit_bytes(job, place) / LINE * LINE
    gone = first - s.base[place]
    if gone < top - first:
        return 0
    s.base[place] = first
    return gone


cdef inline int64_t written(const Job* job, const Slide* s, int place) noexcept nogil:
    """Bytes of the first node's output there; nodes behind it that write over it have not come further."""
    return s.done[place] * unit_bytes(job, place)


cdef inline bint sees_windows(const Extent* reader) noexcept nogil:
    return reader.local == 0 and reader.window.row > 0


cdef inline int64_t still_seen(const Extent* reader, int64_t done) noexcept nogil:
    """The first of the positions that the reader looks at from its position `done` on."""
    cdef const RowWindow* window = &reader.window
    if not sees_windows(reader):
        return done
    return max(done / window.row * window.stride - window.before, <int64_t>0) * window.input_row


cdef int64_t seen(const Extent* reader, const Extent* maker, int64_t end) noexcept nogil:
    """How much of what a node in front makes the first `end` units see."""
    cdef const RowWindow* window = &reader.window
    if not sees_windows(reader):
        return end
    if end == 0:
        return 0
    return min(maker.units, ((end + window.row - 1) / window.row - 1) * window.stride * window.input_row + window.reach * window.input_row)


cdef int64_t go_on(const Extent* extent, int64_t done, int64_t wanted) noexcept nogil:
    """A range's end, as `Extent` wants it: neither it nor what it leaves is too short."""
    cdef int64_t end
    if wanted <= done:
        return done
    end = (max(wanted, done + extent.least) + extent.grain - 1) / extent.grain * extent.grain
    return extent.units if end > extent.units - extent.least else end


cdef void run_group(Context context, Tensor* tensors, Node* nodes, const int32_t* plan, const Group* group, bint engaged) noexcept nogil:
    """Its parts, on the threads that have been engaged."""
    cdef Job job
    job.context = <void*>context
    job.tensors = tensors
    job.nodes = nodes
    job.plan = plan
    job.group = group
    if engaged:
        share(compute_part, &job, group.parts)
    else:
        slide(&job, NULL)
