"""Steps that are computed range by range: which nodes run together, and in how many parts.

    time = group_steps(&steps, groups, first, end)       # after prepare: `groups` of these steps; nanoseconds that threads can share
    engaged = engage_hands(hands, time)                  # before a run: are there threads, and is it worth waking them?

A group is a node that can be cut (`Context.divide`) or several that follow each other position by position: each part takes the same range of all of
its nodes, so that their values are still in the cache. A group of several parts is shared among threads; without threads it is computed part by part
where its values would not stay in the cache (`alone`), else each node runs by itself.

Nodes that see windows of the one in front belong to a group, too, up to a small tensor, which is in the cache anyway: such a group *slides*. Several
threads share it in *bands*, each of which slides by itself: the rows on both sides of a border are computed twice. How parts and bands run is
in `ranges`.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport Extent, Node, RowWindow
from tflm_cy.graph.tensor cimport FLOAT32, Tensor
from tflm_cy.threads.pool cimport MOST_PARTS, engage

cdef double WAKE_TIME = 40000             # nanoseconds that nodes which can be shared take on one thread, from which on sleeping workers are woken

cdef double LEAST_TIME = 1500             # of a group, below which giving parts away takes longer than computing them
cdef double WORTH_ENGAGING = 4            # times that, which an invoke must have to share for the pool to be engaged
cdef double LONG_TIME = 60000

cdef enum:
    PARTS_PER_HAND = 4           # of a long group: a hand that is interrupted keeps the others waiting for less
    LEAST_ROWS = 4               # of a band

cdef int64_t CACHE_BYTES = 1 << 21   # what several nodes write together, above which they are computed range by range on one thread, too
cdef int64_t RANGE_BYTES = 1 << 19   # of it in a range
cdef int64_t FAR_BYTES = 1 << 20     # a tensor from which on nodes on both sides of it slide together


def share_from(double nanoseconds):
    """Share groups that are expected to take so long, from the next prepare on; returns the former limit. For tests."""
    global LEAST_TIME
    former = LEAST_TIME
    LEAST_TIME = nanoseconds
    return former


def ranges_from(int64_t bytes, int64_t size, int64_t far):
    """Compute nodes range by range that write so much together, `size` bytes at a time, and slide over tensors that are so large, from the next
    prepare on; returns the former limits. For tests."""
    global CACHE_BYTES, RANGE_BYTES, FAR_BYTES
    former = CACHE_BYTES, RANGE_BYTES, FAR_BYTES
    CACHE_BYTES, RANGE_BYTES, FAR_BYTES = bytes, size, far
    return former


cdef double group_steps(const Steps* s, Group* groups, int first, int end) noexcept:
    """Which steps are computed range by range, alone or with those that follow; returns the time that threads can share."""
    cdef double time = 0
    cdef int step = first
    cdef bint slides
    cdef int head, i
    while step < end:
        head = step
        slides = False
        step = make_group(s, groups, head, end, s.slide or s.hands == 1, &slides)
        if slides and s.hands > 1:
            groups[head].bands = count_bands(s, &groups[head])
            if groups[head].bands == 1:
                slides = False
                step = make_group(s, groups, head, end, False, &slides)
        if count_parts(s, &groups[head]) < 2 and step > head + 1:
            for i in range(head, step):
                groups[i].first = groups[i].last = i
                groups[i].bands = 1
                count_parts(s, &groups[i])
        for i in range(head, step if s.hands > 1 else head):
            if groups[groups[i].first].parts > 1:
                time += node_at(s.program, i).time
    return time


cdef int make_group(const Steps* s, Group* groups, int head, int end, bint may_slide, bint* slides) noexcept:
    """As many steps as go together from `head` on; returns the step behind them."""
    cdef int step = head + 1
    cdef int i
    if node_at(s.program, head).work != NULL and s.join:
        while step < end and step - head < MOST_TOGETHER and follows(s, head, step, may_slide, slides):
            step += 1
    for i in range(head, step):
        groups[i].program = s.program
        groups[i].first = head
        groups[i].last = step - 1
        groups[i].parts = 1
        groups[i].place = -1
        groups[i].rolled = 0
        groups[i].bands = 1
        groups[i].band_nodes = NULL
    return step


cdef int count_bands(const Steps* s, const Group* group) noexcept:
    """Of a group that slides: one for each thread, if it is large enough."""
    cdef const Extent* extent = &node_at(s.program, group.last).extent
    if group_traffic(s, group) <= CACHE_BYTES or extent.units / extent.grain < LEAST_ROWS * s.hands or extent.units < extent.least * s.hands:
        return 1
    return s.hands


cdef bint follows(const Steps* s, int head, int step, bint may_slide, bint* slides) noexcept:
    """The node reads what the group has written at its own positions only, or, if it may slide, in windows of the one in front."""
    cdef const Node* before = node_at(s.program, step - 1)
    cdef const Node* node = node_at(s.program, step)
    cdef const Extent* extent = &node.extent
    cdef const Node* maker
    cdef bint reads = False
    cdef bint reads_before = False
    cdef bint sees = False
    cdef int i, j, k
    if node.work == NULL or not extent.spans or not before.extent.spans or node.output_count != 1 or before.output_count != 1 or node.input_count > MOST_READ:
        return False
    if s.flushes != NULL and s.flushes[step] != s.flushes[head]:
        return False
    for i in range(node.input_count):
        for j in range(head, step):
            maker = node_at(s.program, j)
            for k in range(maker.output_count):
                if node.inputs[i] < 0 or node.inputs[i] != maker.outputs[k]:
                    continue
                reads = True
                reads_before = reads_before or j == step - 1
                if i < 32 and extent.local >> i & 1 and maker.extent.units == extent.units:
                    continue
                if not may_slide or i != 0 or j != step - 1 or not sees_rows(&extent.window, &maker.extent):
                    return False
                sees = True
    if not sees and not slides[0]:
        return reads and extent.units == before.extent.units and before.extent.grain % extent.grain == 0
    if not reads_before or traffic(&s.program.tensors[before.outputs[0]]) < FAR_BYTES:
        return False
    slides[0] = True
    return True


cdef bint sees_rows(const RowWindow* window, const Extent* maker) noexcept:
    """Is the input that the window is told of what this node makes? It is never behind the node itself then."""
    return window.row > 0 and window.reach > 0 and maker.units == window.input_row * window.input_rows


cdef int count_parts(const Steps* s, Group* group) noexcept:
    """How many parts a group has: for the caches, if it has several nodes, and for the threads."""
    cdef const Extent* extent = &node_at(s.program, group.first if s.hands > 1 and group.bands == 1 else group.last).extent
    cdef int64_t grains = 0
    cdef int64_t least = 1
    cdef int64_t bytes = group_traffic(s, group)
    cdef double time = 0
    cdef int64_t parts = 1
    cdef const Node* node
    cdef int step
    group.parts = 1
    group.alone = False
    for step in range(group.first, group.last + 1):
        node = node_at(s.program, step)
        if node.work == NULL:
            return 1
        time += node.time
        least = max(least, (node.extent.least * extent.units + node.extent.units - 1) / node.extent.units)
    if group.last > group.first and bytes > CACHE_BYTES:
        parts = (bytes + RANGE_BYTES - 1) / RANGE_BYTES
    group.alone = parts > 1
    if s.hands > 1 and group.bands == 1 and time >= LEAST_TIME:
        if time > LONG_TIME:
            parts = max(parts, PARTS_PER_HAND * s.hands)
        parts = (parts + s.hands - 1) / s.hands * s.hands
    if parts > 1:
        grains = extent.units / extent.grain
        parts = min(parts, min(grains, <int64_t>MOST_PARTS))
    while parts > 1 and grains / parts * extent.grain < least:
        parts -= 1
    if s.hands > 1 and group.bands == 1 and parts > s.hands:
        parts -= parts % s.hands         # as many for each thread, also where there is no room for all that were wanted
    group.parts = <int32_t>max(parts, <int64_t>1)
    return group.parts


cdef int64_t group_traffic(const Steps* s, const Group* group) noexcept nogil:
    """Of what its nodes write."""
    cdef const Node* node
    cdef int64_t bytes = 0
    cdef int step
    for step in range(group.first, group.last + 1):
        node = node_at(s.program, step)
        if node.work != NULL:
            bytes += traffic(&s.program.tensors[node.outputs[0]])
    return bytes


cdef int64_t traffic(const Tensor* tensor) noexcept nogil:
    """Its bytes as the caches feel them: where values are bytes, they come more slowly."""
    return tensor.bytes if tensor.type == FLOAT32 else tensor.bytes / 2


cdef bint engage_hands(int hands, double time) noexcept nogil:
    """Take the pool for a run that has so much to share; to be released. False: there is too little, or another thread has it."""
    return time > WORTH_ENGAGING * LEAST_TIME and engage(hands, time > WAKE_TIME)
