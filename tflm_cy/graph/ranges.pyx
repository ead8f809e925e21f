"""How a group's parts run.

    measure_rolls(&groups[step])                     # before memory is planned: `rolled` of the group's nodes
    make_jobs(groups, flushes, first, end)           # when memory is planned and nobody's work changes any more
    run_group(&groups[step], engaged)

Threads take one part after the other, each the same range of all nodes. Alone, a thread *slides*: in each part the last node goes on by its share,
and those in front as far as the rows that are seen then. Outputs that only the group sees *roll*: what is read no more makes room for what comes, by
moving the rest to the front, so that their few rows stay in the cache and need no more memory than that. Of a group of several bands each thread slides
over one, from the rows on that its first output row sees; what rolls has a place for each band.
"""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memmove

from tflm_cy.graph.context cimport Extent, Node, RowWindow
from tflm_cy.graph.groups cimport MOST_READ, MOST_TOGETHER, Group, Program, node_at
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.threads.pool cimport Job, share

cdef enum:
    LINE = 64                    # of the cache: what rolls keeps its alignment

ctypedef void (*WorkWithoutObject)(void* context, Node* node, int64_t first, int64_t end, int hand) noexcept nogil

cdef struct Band:
    const Group* group
    int number

cdef struct Reading:             # nodes of a group, counted from its first one
    int maker
    int reader

cdef struct Slide:               # per node of the group
    int64_t[MOST_TOGETHER] start         # positions of its output: the band
    int64_t[MOST_TOGETHER] stop
    int64_t[MOST_TOGETHER] done
    int64_t[MOST_TOGETHER] wanted
    int64_t[MOST_TOGETHER] base          # bytes in front of those that are in memory
    Reading[MOST_TOGETHER * MOST_READ] readings
    int reading_count
    int last
    int parts


cdef inline int64_t part_begin(int64_t units, int64_t grain, int part, int parts) noexcept nogil:
    return units if part >= parts else units / grain * part / parts * grain


cdef void compute_part(void* argument, int part, int parts, int hand) noexcept nogil:
    """The same range of all nodes of a group."""
    cdef const Group* group = <const Group*>argument
    cdef const Program* program = group.program
    cdef const Extent* extent = &node_at(program, group.first).extent
    cdef int64_t first = part_begin(extent.units, extent.grain, part, parts)
    cdef int64_t end = part_begin(extent.units, extent.grain, part + 1, parts)
    cdef Node* node
    cdef int step
    if first >= end:
        return
    for step in range(group.first, group.last + 1):
        node = node_at(program, step)
        (<WorkWithoutObject>node.work)(program.context, node, first, end, hand)


cdef void compute_bands(void* argument, int part, int parts, int hand) noexcept nogil:
    """Some of a group's bands: one, unless threads are too busy."""
    cdef const Group* group = <const Group*>argument
    cdef int bands = group.bands
    cdef int band
    for band in range(bands * part / parts, bands * (part + 1) / parts):
        slide(group, band, hand, NULL)


cdef void slide(const Group* group, int number, int hand, Group* measured) noexcept nogil:
    """Over a band: part by part, each node as far as the next one wants it. `measured`: nothing is computed or moved; instead the group is told
    how much of the outputs that roll is in memory at once."""
    cdef Band band
    cdef Slide s
    cdef (char*)[MOST_TOGETHER] start
    cdef Node* node
    cdef int64_t gone
    cdef int part, i, place
    band.group = group
    band.number = number
    begin_slide(&band, &s)
    for i in range(s.last + 1):
        start[i] = <char*>output_of(&band, i).data
    for part in range(s.parts):
        want(&band, &s, part)
        for i in range(s.last):
            place = group[i].place
            gone = roll(&band, &s, i) if place == i else 0
            if gone > 0 and measured == NULL:
                memmove(start[i], start[i] + gone, written(&band, &s, i) - s.base[i])
            if place >= 0 and measured == NULL:
                output_of(&band, i).data = start[i] - s.base[place]
        for i in range(s.last + 1):
            if s.wanted[i] > s.done[i]:
                node = node_of(&band, i)
                if measured == NULL:
                    (<WorkWithoutObject>node.work)(group.program.context, node, s.done[i], s.wanted[i], hand)
                s.done[i] = s.wanted[i]
            if measured != NULL and group[i].place == i:
                measured[i].rolled = max(measured[i].rolled, written(&band, &s, i) - s.base[i])
    if measured == NULL:
        for i in range(s.last):
            if group[i].place >= 0:
                output_of(&band, i).data = start[i]


cdef int measure_rolls(Group* group) noexcept:
    cdef int band, i
    for band in range(group.bands):
        slide(group, band, 0, group)
    for i in range(group.last - group.first + 1):
        group[i].rolled = (group[i].rolled + LINE - 1) / LINE * LINE
    return 0


cdef inline Node* node_of(const Band* band, int i) noexcept nogil:
    """With tensors of the band's own, once it has them."""
    cdef const Group* group = band.group
    if band.number == 0 or group.band_nodes == NULL:
        return node_at(group.program, group.first + i)
    return &group.band_nodes[(band.number - 1) * (group.last - group.first + 1) + i]


cdef inline const Extent* extent_at(const Band* band, int i) noexcept nogil:
    return &node_of(band, i).extent


cdef inline Tensor* output_of(const Band* band, int i) noexcept nogil:
    return &band.group.program.tensors[node_of(band, i).outputs[0]]


cdef inline int64_t unit_bytes(const Band* band, int i) noexcept nogil:
    """Of a position of the node's output."""
    return output_of(band, i).bytes / extent_at(band, i).units


cdef void begin_slide(const Band* band, Slide* s) noexcept nogil:
    cdef const Group* group = band.group
    cdef const Node* node
    cdef int i, j, k
    s.last = group.last - group.first
    s.parts = max(group.parts / group.bands, 1)
    s.reading_count = 0
    for j in range(s.last + 1):
        node = node_of(band, j)
        for k in range(node.input_count):
            for i in range(j):
                if node.inputs[k] == node_of(band, i).outputs[0]:
                    s.readings[s.reading_count].maker = i
                    s.readings[s.reading_count].reader = j
                    s.reading_count += 1
    set_limits(band, s)
    for i in range(s.last + 1):
        s.done[i] = s.start[i]
        s.base[i] = s.start[i] * unit_bytes(band, i) / LINE * LINE


cdef void set_limits(const Band* band, Slide* s) noexcept nogil:
    """Where each node begins and ends: with what the band's outputs see."""
    cdef const Extent* extent = extent_at(band, s.last)
    cdef const Extent* reader
    cdef int bands = band.group.bands
    cdef int i, k
    s.start[s.last] = part_begin(extent.units, extent.grain, band.number, bands)
    s.stop[s.last] = part_begin(extent.units, extent.grain, band.number + 1, bands)
    for i in range(s.last - 1, -1, -1):
        extent = extent_at(band, i)
        s.start[i] = extent.units
        s.stop[i] = 0
        for k in range(s.reading_count):
            if s.readings[k].maker == i:
                reader = extent_at(band, s.readings[k].reader)
                s.start[i] = min(s.start[i], still_seen(reader, s.start[s.readings[k].reader]))
                s.stop[i] = max(s.stop[i], seen(reader, extent, s.stop[s.readings[k].reader]))
        s.start[i] = 0 if band.number == 0 else s.start[i] / extent.grain * extent.grain
        s.stop[i] = extent.units if band.number == bands - 1 else go_on(extent, s.start[i], s.stop[i], extent.units)
        if s.stop[i] - s.start[i] < extent.least:
            s.start[i] = max(s.stop[i] - extent.least, <int64_t>0) / extent.grain * extent.grain


cdef void want(const Band* band, Slide* s, int part) noexcept nogil:
    """How far each node is to go in this part."""
    cdef const Extent* extent
    cdef int64_t end
    cdef int i
    for i in range(s.last, -1, -1):
        extent = extent_at(band, i)
        if part == s.parts - 1:
            s.wanted[i] = s.stop[i]
            continue
        if i == s.last:
            end = s.start[i] + part_begin(s.stop[i] - s.start[i], extent.grain, part + 1, s.parts)
        else:
            end = seen(extent_at(band, i + 1), extent, s.wanted[i + 1])
        s.wanted[i] = go_on(extent, s.done[i], end, s.stop[i])


cdef int64_t roll(const Band* band, Slide* s, int place) noexcept nogil:
    """Forget what nobody reads any more of the outputs at this place, if that is more than what remains: by how many bytes that moves to the front."""
    cdef int64_t top = written(band, s, place)
    cdef int64_t low = s.done[place]
    cdef int64_t first, gone
    cdef int i
    for i in range(s.reading_count):
        if band.group[s.readings[i].maker].place == place:
            low = min(low, still_seen(extent_at(band, s.readings[i].reader), s.done[s.readings[i].reader]))
    first = low * unit_bytes(band, place) / LINE * LINE
    gone = first - s.base[place]
    if gone < top - first:
        return 0
    s.base[place] = first
    return gone


cdef inline int64_t written(const Band* band, const Slide* s, int place) noexcept nogil:
    """Bytes of the first node's output there; nodes behind it that write over it have not come further."""
    return s.done[place] * unit_bytes(band, place)


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


cdef int64_t go_on(const Extent* extent, int64_t done, int64_t wanted, int64_t stop) noexcept nogil:
    """A range's end, as `Extent` wants it: neither it nor what it leaves is too short."""
    cdef int64_t end
    if wanted <= done:
        return done
    end = (max(wanted, done + extent.least) + extent.grain - 1) / extent.grain * extent.grain
    return stop if end > stop - extent.least else end


cdef int make_jobs(Group* groups, const uint8_t* flushes, int first, int end) noexcept:
    """What threads share of the steps first .. end - 1, once it is settled; where groups follow each other directly, each job knows the next."""
    cdef Job* before = NULL
    cdef bint flushed = False
    cdef Group* group
    cdef Node* node
    cdef int step = first
    while step < end:
        group = &groups[step]
        node = node_at(group.program, step)
        if group.parts > 1:
            group.job.part = compute_bands if group.bands > 1 else compute_part
            group.job.argument = group
            group.job.parts = group.bands if group.bands > 1 else group.parts
            group.job.next = NULL
            if before != NULL and flushed == (flushes != NULL and flushes[step]):
                before.next = &group.job
            before = &group.job
            flushed = flushes != NULL and flushes[step]
        elif not does_nothing(group.program, node):
            before = NULL
        step = group.last + 1 if group.parts > 1 else step + 1
    return 0


cdef inline bint does_nothing(const Program* program, const Node* node) noexcept:
    return node.idle or (node.passes and program.tensors[node.outputs[0]].data == program.tensors[node.inputs[0]].data)


cdef void run_group(const Group* group, bint engaged) noexcept nogil:
    """Its parts, on the threads that have been engaged."""
    if engaged:
        share(&group.job)
    elif group.bands > 1:
        compute_bands(<void*>group, 0, 1, 0)
    else:
        slide(group, 0, 0, NULL)
