"""How threads share a node that computes each value of its output from the values at the same place: by positions, or by blocks of values.

    share_single(context, node, 0, compute, 0.5)                # 0.5 ns a value
    values = values_of_units(y, first, end)                     # in compute: which values a range of units is
"""
from libc.stdint cimport int64_t, uint32_t

from tflm_cy.graph.context cimport Context, IterationSpace, Node, WorkFunction, iteration_space, position_space
from tflm_cy.graph.tensor cimport Tensor, count, type_size

cdef enum:
    FEW_POSITIONS = 8
    BLOCK = 1024             # values

cdef struct Values:          # neighbours in memory
    int64_t first
    int64_t count


cdef inline int64_t channels_of(const Tensor* y) noexcept nogil:
    """The last dimension, which is a position's values."""
    return y.dims[y.rank - 1] if y.rank > 0 else 1


cdef inline int64_t unit_of(const Tensor* y) noexcept nogil:
    """How many values make a unit of work: those of a position, or a block where there are too few positions for the threads."""
    cdef int64_t n = channels_of(y)
    return BLOCK if n > BLOCK and count(y) < FEW_POSITIONS * n else n


cdef inline IterationSpace value_space(const Tensor* y, uint32_t elementwise_inputs) noexcept nogil:
    """Of a node that computes each value of y, which is not empty, from the values at the same place."""
    cdef int64_t n = unit_of(y)
    if n == channels_of(y):
        return position_space(count(y) / n, 1, elementwise_inputs)
    return iteration_space((count(y) + n - 1) / n, 1)


cdef inline Values values_of_units(const Tensor* y, int64_t first, int64_t end) noexcept nogil:
    """Those of a range of units of `value_space`."""
    cdef int64_t n = unit_of(y)
    cdef Values values
    values.first = first * n
    values.count = min(end * n, count(y)) - values.first
    return values


cdef inline int share_single(Context context, Node* node, int i, WorkFunction work, double time) except -1:
    """For a function of the values of input i alone."""
    cdef const Tensor* x = context.input(node, i)
    cdef const Tensor* y = context.output(node, 0)
    if type_size(x.type) == type_size(y.type):
        node.in_place |= 1 << i
    if count(y) == 0:
        return 0
    return context.parallelize(node, work, value_space(y, 1 << i), time * count(y))
