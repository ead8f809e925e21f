"""Which axes a reduction of the delegate reduces, and the shape of its output.

    reduced = reduced_axes(context, node)     # bit d set: axis d; the output has its shape

XNNPACK refuses axes that are outside or named twice, but shapes the output nevertheless, by those that are inside. Where that takes more memory than
the output ever had, XNNPACK asks for memory and forgets the refusal; then the node is found without a shape when it is reached:

    SUM over axis 3 of [2 3 4 5], resized to [2 60]: the output [2 60] is larger than [2 3 4] was. invoke refuses
    SUM over axes 2 and 3, resized to [2 60]: the output [2 60] is larger than [2 3] was. invoke refuses
    SUM over axes 1 and 3, resized to [2 60]: the output [2] is smaller than [2 4] was. allocate_tensors refuses

Source: XNNPACK:src/subgraph/static-reduce.c (reshape_reduce_operator), src/operators/reduce-nd.c.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.passes.partition cimport partition_in_preparation
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport INT32, MAX_RANK, Tensor, bytes_of, count, is_constant
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.reduced_dims cimport output_dims
from tflm_cy.schema.option_slots cimport REDUCER_KEEP_DIMS
from tflm_cy.schema.table cimport table_bool


cdef inline uint32_t reduced_axes(Context context, const Node* node) except 0:
    cdef const Tensor* x = operand(context, node, 0)
    cdef const Tensor* axes = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    cdef str name = context.operator_name(node)
    cdef str fault = None
    cdef uint32_t reduced = 0
    cdef bint grows
    cdef int32_t axis
    cdef int64_t i
    if axes.type != INT32 or not is_constant(axes) or count(axes) < 1:
        raise ValueError(f"{name}: the axes must be constant int32 values, at least one")
    for i in range(count(axes)):
        axis = (<const int32_t*>axes.data)[i]
        axis += x.rank if axis < 0 else 0
        if axis < 0 or axis >= x.rank:
            fault = f"{name}: axis {(<const int32_t*>axes.data)[i]} of an input of rank {x.rank} is out of range"
        elif (reduced >> axis) & 1:
            fault = f"{name}: axis {(<const int32_t*>axes.data)[i]} of an input of rank {x.rank} is named twice"
        else:
            reduced |= <uint32_t>1 << axis
    grows = set_reduced_shape(context, node, x, reduced, y)
    if fault is not None and grows:
        from tflm_cy.graph.refusal import LateRefusalError

        raise LateRefusalError(fault)
    if fault is not None:
        raise ValueError(fault)
    return reduced


cdef inline bint set_reduced_shape(Context context, const Node* node, const Tensor* x, uint32_t reduced, Tensor* y) except -1:
    """True where the output takes more memory than it ever had, in the file included."""
    cdef dict largest = partition_in_preparation(<Subgraph>context).largest
    cdef int64_t before = largest.setdefault(y.index, bytes_of(y.type, y.rank, y.dims))
    cdef int32_t[MAX_RANK] dims
    cdef int rank = output_dims(x, reduced, table_bool(node.options, REDUCER_KEEP_DIMS, False), dims)
    context.set_shape(y, rank, dims)
    largest[y.index] = max(before, <int64_t>y.bytes)
    return <int64_t>y.bytes > before
