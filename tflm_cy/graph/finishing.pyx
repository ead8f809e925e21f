"""Values that are finished where they are computed: a convolution adds, clamps and bends its outputs before it writes them.

    hand_over(places, first, end)         # once these steps' memory is planned

A node that is the only one to read what another makes, value by value (`Node.finish`), is handed over to it, if that can take it (`Node.take`), and so
are those that follow: the maker writes their output at once, and they compute nothing. Lifetimes stay what they were, as if each had run: the output lies
over the values that it is made of, or over those that are added to them. Both are in memory when the maker runs. A PAD that only adds channels to what is
added is not needed then.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport FINISH_WIDEN, NO_FINISH, Context, Node, make_idle
from tflm_cy.graph.groups cimport Group
from tflm_cy.graph.places cimport Places
from tflm_cy.graph.tensor cimport COMPUTED, CONSTANT, PLANNED


cdef int handed_over = 0

cdef struct Offer:
    int reader                   # a step that finishes values by itself
    int operand                  # as which input it reads them
    int32_t other                # the tensor that it reads beside them, -1: none
    int widener                  # the step that makes that tensor wide enough, which is not needed then; -1: it is


def count_handed_over():
    """How many nodes have been handed over since the process began. For tests."""
    return handed_over


cdef int hand_over(Places p, int first, int end) noexcept:
    """Of the steps first .. end - 1."""
    cdef int step, before
    cdef Node* maker
    cdef int32_t t
    cdef Offer offer
    if not p.may_join() or p.hidden == NULL:
        return 0
    for step in range(first, end):
        maker = &p.nodes[p.plan[step]]
        if maker.take == NULL or slides_in_bands(p, step):
            continue
        t = maker.outputs[0]
        before = step
        while look_for_reader(p, t, step, before, end, &offer):
            if not maker.take(p, maker, &p.nodes[p.plan[offer.reader]], offer.operand, offer.other):
                break
            relieve(p, offer.reader)
            if offer.widener >= 0:
                relieve(p, offer.widener)
            before = offer.reader
            t = p.nodes[p.plan[before]].outputs[0]
    return 0


cdef bint look_for_reader(Places p, int t, int maker, int step, int end, Offer* offer) noexcept:
    """The only step that reads tensor t, which step `maker` makes and step `step` has finished so far, and what it needs is there when the maker runs."""
    cdef const Node* node
    cdef int32_t y, wide
    offer.reader = p.last_use[t]
    offer.other = offer.widener = -1
    if not p.is_hidden(t) or p.tensors[t].allocation != PLANNED or not step < offer.reader < end:
        return False
    node = &p.nodes[p.plan[offer.reader]]
    if node.finish.kind == NO_FINISH or node.finish.kind == FINISH_WIDEN or slides_in_bands(p, offer.reader) or flushes_differ(p, maker, offer.reader):
        return False
    offer.operand = node.finish.operand if node.finish.operand >= 0 else 0 if node.inputs[0] == t else 1
    y = node.outputs[0]
    if node.inputs[offer.operand] != t or p.tensors[y].allocation != PLANNED or p.count_reads(step + 1, offer.reader + 1, p.root_of(t)) != 1:
        return False
    if node.input_count == 1:
        return p.root_of(y) == p.root_of(t)
    offer.other = node.inputs[1 - offer.operand]
    if p.tensors[offer.other].allocation == CONSTANT or p.tensors[offer.other].allocation == COMPUTED:
        return p.root_of(y) == p.root_of(t)
    if p.tensors[offer.other].allocation != PLANNED:
        return False
    offer.widener = widener_of(p, offer.other, maker, offer.reader)
    if offer.widener >= 0:
        wide = offer.other
        offer.other = p.nodes[p.plan[offer.widener]].inputs[0]
        return p.root_of(y) == p.root_of(t) or (p.root_of(y) == wide and offer.widener < maker)
    if not is_there(p, offer.other, maker):
        return False
    return p.root_of(y) == p.root_of(t) or (
        p.root_of(y) == p.root_of(offer.other) and p.count_reads(p.groups[maker].first, offer.reader + 1, p.root_of(y)) == 1)


cdef int widener_of(Places p, int t, int maker, int reader) noexcept:
    """The step that makes tensor t by adding channels of zeros, if only `reader` reads it and what it widens is there when the maker runs; else -1."""
    cdef int step = p.first_use[t]
    cdef const Node* node
    cdef int32_t x
    if not 0 <= step < reader or not p.is_written(step, t) or not p.is_hidden(t) or slides_in_bands(p, step):
        return -1
    node = &p.nodes[p.plan[step]]
    if node.finish.kind != FINISH_WIDEN or p.last_use[t] != reader or p.count_reads(step + 1, reader + 1, p.root_of(t)) != 1:
        return -1
    x = node.inputs[0]
    if p.tensors[x].allocation != PLANNED or not is_there(p, x, maker) or p.last_use[x] < maker:
        return -1
    return step


cdef bint flushes_differ(Places p, int a, int b) noexcept:
    return p.flushes != NULL and p.flushes[a] != p.flushes[b]


cdef bint slides_in_bands(Places p, int step) noexcept:
    """There are copies of the node, with tensors of their own."""
    return p.groups[p.groups[step].first].bands > 1


cdef bint is_there(Places p, int t, int step) noexcept:
    """A tensor's values, or those of the range in question, before a step runs."""
    cdef int writer = p.first_use[t]
    return 0 <= writer < step or not p.is_written(writer, t)


cdef int relieve(Places p, int step) noexcept:
    """Its output is somebody else's work."""
    global handed_over
    cdef Node* node = &p.nodes[p.plan[step]]
    cdef Group* group = &p.groups[p.groups[step].first]
    cdef int i
    make_idle(node)
    if node.work != NULL:
        node.work = nothing_of_range
    handed_over += 1
    for i in range(group.first, group.last + 1):
        if not p.nodes[p.plan[i]].idle:
            return 0
    group.parts = 1              # there is nothing to share
    group.alone = False
    return 0


cdef void nothing_of_range(Context context, Node* node, int64_t first, int64_t end, int hand) noexcept nogil:
    pass
