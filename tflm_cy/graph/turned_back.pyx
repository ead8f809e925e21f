"""A matrix that one node turns and another one turns back, and that nobody looks at in between, stays where it is.

    lie_still(&steps, groups, first_use, last_use, merged, ends, step, end)      # while memory is merged; True: step turns nothing

What an exporter makes of a network whose channels came first: TRANSPOSE, EXPAND_DIMS, TRANSPOSE. Between the two (`Node.turned_rows`,
`Node.turned_columns`) are only nodes whose outputs have the bytes of their inputs (`Node.passes`), each with one reader. All outputs have the place of the
first one's input, and the two nodes compute nothing: the last output is right; to read the others is refused, as their place serves another tensor.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Node, make_idle
from tflm_cy.graph.groups cimport Group, Steps, node_at
from tflm_cy.graph.tensor cimport PLANNED, Tensor


cdef int turned_back = 0


def count_turned_back():
    """How many matrices have stayed where they are since the process began. For tests."""
    return turned_back


cdef bint lie_still(
    const Steps* s, const Group* groups, const int32_t* first_use, const int32_t* last_use, int32_t* merged, int32_t* ends,
    int step, int end,
) noexcept:
    """`end`: of the steps whose memory is planned. The first one's input is planned, too, and may lie with others."""
    global turned_back
    cdef const Tensor* tensors = s.program.tensors
    cdef int32_t x = node_at(s.program, step).inputs[0]
    cdef int32_t root = merged[x] if merged[x] >= 0 else x
    cdef int last = step
    cdef int reader, t
    while True:
        t = node_at(s.program, last).outputs[0]
        if tensors[t].allocation != PLANNED or tensors[t].bytes != tensors[x].bytes or first_use[t] != last:
            return False
        if groups[last].first != groups[last].last:
            return False
        reader = last_use[t]
        if last > step and node_at(s.program, last).turned_rows > 0:
            if reader >= end:
                return False
            break
        if not last < reader < end or not reads_alone(s, t, last + 1, reader):
            return False
        if not goes_on(node_at(s.program, step), node_at(s.program, reader), t):
            return False
        last = reader
    make_idle(node_at(s.program, last))
    while True:
        merged[t] = root
        ends[root] = max(ends[root], last_use[t])
        if last == step:
            break
        t = node_at(s.program, last).inputs[0]
        last = first_use[t]
    make_idle(node_at(s.program, step))
    turned_back += 1
    return True


cdef bint goes_on(const Node* first, const Node* node, int32_t t) noexcept:
    """Does the node that reads tensor t pass it on, or turn it back?"""
    if node.output_count != 1 or node.inputs[0] != t:
        return False
    return node.passes or (node.turned_rows > 0 and node.turned_rows == first.turned_columns and node.turned_columns == first.turned_rows)


cdef bint reads_alone(const Steps* s, int32_t t, int step, int reader) noexcept:
    """Of the steps up to `reader` only that one reads the tensor, once."""
    cdef const Node* node
    cdef int i, n = 0
    for step in range(step, reader + 1):
        node = node_at(s.program, step)
        for i in range(node.input_count):
            n += node.inputs[i] == t
    return n == 1
