"""Values that are finished where they are computed: a convolution adds, clamps and bends its outputs before it writes them.

    hand_over(places, first, end)         # once these steps' memory is planned

A node that is the only one to read what another makes, value by value (`Node.finish`), is handed over to it, if that can take it (`Node.take`), and so
are those that follow: the maker writes their output at once, and they compute nothing. Lifetimes stay what they were, as if each had run: the output lies
over the values that it is made of, or over those that are added to them. Both are in memory when the maker runs.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport NO_FINISH, Context, Node
from tflm_cy.graph.groups cimport Group
from tflm_cy.graph.places cimport Places
from tflm_cy.graph.tensor cimport PLANNED


cdef int handed_over = 0


def count_handed_over():
    """How many nodes have been handed over since the process began. For tests."""
    return handed_over


cdef int hand_over(Places p, int first, int end) noexcept:
    """Of the steps first .. end - 1."""
    cdef int step, reader
    cdef Node* maker
    cdef int32_t t
    if not p.may_join() or p.hidden == NULL:
        return 0
    for step in range(first, end):
        maker = &p.nodes[p.plan[step]]
        if maker.take == NULL or slides_in_bands(p, step):
            continue
        t = maker.outputs[0]
        reader = next_reader(p, t, step, step, end)
        while reader >= 0 and maker.take(p, maker, &p.nodes[p.plan[reader]], operand_of(&p.nodes[p.plan[reader]], t)):
            t = p.nodes[p.plan[reader]].outputs[0]
            relieve(p, reader)
            reader = next_reader(p, t, step, reader, end)
    return 0


cdef int next_reader(Places p, int t, int maker, int step, int end) noexcept:
    """The step that finishes the values of tensor t, which step `step` has and step `maker` makes; -1: none, or not by itself."""
    cdef const Node* node
    cdef int reader = p.last_use[t]
    cdef int32_t other = -1
    cdef int32_t y
    cdef int i
    if not p.is_hidden(t) or p.tensors[t].allocation != PLANNED or not step < reader < end:
        return -1
    node = &p.nodes[p.plan[reader]]
    if node.finish.kind == NO_FINISH or slides_in_bands(p, reader) or (p.flushes != NULL and p.flushes[reader] != p.flushes[maker]):
        return -1
    for i in range(node.input_count):
        if i != operand_of(node, t) and p.tensors[node.inputs[i]].allocation == PLANNED:
            other = node.inputs[i]
    y = node.outputs[0]
    if node.inputs[operand_of(node, t)] != t or other == t or p.tensors[y].allocation != PLANNED or count_reads(p, step, reader, root_of(p, t)) != 1:
        return -1
    if other >= 0 and not is_there(p, other, maker):
        return -1
    if root_of(p, y) == root_of(p, t):
        return reader
    if other < 0 or root_of(p, y) != root_of(p, other) or count_reads(p, maker - 1, reader, root_of(p, other)) != 1:
        return -1
    return reader


cdef int operand_of(const Node* reader, int t) noexcept:
    """As which input it finishes the tensor, if it does."""
    if reader.finish.operand >= 0:
        return reader.finish.operand
    return 0 if reader.inputs[0] == t else 1


cdef bint slides_in_bands(Places p, int step) noexcept:
    """There are copies of the node, with tensors of their own."""
    return p.groups[p.groups[step].first].bands > 1


cdef int32_t root_of(Places p, int t) noexcept:
    """The tensor whose memory it has."""
    return p.merged[t] if p.merged[t] >= 0 else t


cdef int count_reads(Places p, int before, int last, int root) noexcept:
    """How often steps before + 1 .. last read what lies in a tensor's memory."""
    cdef const Node* node
    cdef int step, i, n = 0
    for step in range(before + 1, last + 1):
        node = &p.nodes[p.plan[step]]
        for i in range(node.input_count):
            n += node.inputs[i] >= 0 and root_of(p, node.inputs[i]) == root
    return n


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
    node.invoke = nothing
    if node.work != NULL:
        node.work = nothing_of_range
    handed_over += 1
    for i in range(group.first, group.last + 1):
        if p.nodes[p.plan[i]].invoke != nothing:
            return 0
    group.parts = 1              # there is nothing to share
    group.alone = False
    return 0


cdef int nothing(Context context, Node* node) noexcept nogil:
    return 0


cdef void nothing_of_range(Context context, Node* node, int64_t first, int64_t end, int hand) noexcept nogil:
    pass
