# tflm_cy: optimize=size
"""SHAPE, RANK, BROADCAST_ARGS: shapes as values.

SHAPE (int32 or int64) and RANK (int32) are known as soon as the input's shape is. BROADCAST_ARGS gives the shape to
which two shapes (int32 or int64 vectors) broadcast; 1 gives way to the other, missing leading dimensions count as 1.
TensorFlow computes it in 32 bits and ends the process where two dimensions disagree; here that fails the invoke.

Source: LiteRT:tflite/kernels/shape.cc, rank.cc, broadcast_args.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport INT32, INT64, Tensor, is_constant, type_name
from tflm_cy.ops.operand cimport (
    adopt_type, computed_in_prepare, expect_arity_between, index_at, operand, result, want_index_type, want_type_of,
)
from tflm_cy.schema.option_slots cimport SHAPE_OUT_TYPE
from tflm_cy.schema.table cimport table_i8


cdef int prepare_shape(Context context, Node* node) except -1:
    cdef int out_type = table_i8(node.options, SHAPE_OUT_TYPE, 0)
    cdef int d
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if node.arithmetic == MICRO:
        out_type = INT32                         # whatever the option says
    if out_type != INT32 and out_type != INT64:
        raise ValueError(f"Unknown shape output data type: {type_name(out_type)}")
    adopt_type(y, out_type)
    context.set_shape(y, 1, &x.rank)
    context.set_computed(y)
    for d in range(x.rank):
        store(y, d, x.dims[d])
    node.invoke = computed_in_prepare
    return 0


cdef int prepare_rank(Context context, Node* node) except -1:
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    adopt_type(y, INT32)
    context.set_shape(y, 0, NULL)
    context.set_computed(y)
    store(y, 0, x.rank)
    node.invoke = computed_in_prepare
    return 0


cdef int prepare_broadcast_args(Context context, Node* node) except -1:
    cdef int32_t length
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* b = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_index_type(a, "shapes of BROADCAST_ARGS")
    want_type_of(b, a)
    want_type_of(y, a)
    if a.rank != 1 or b.rank != 1:
        raise ValueError(f"NumDimensions(op_context.shape1) != 1: shapes of rank {a.rank} and {b.rank}")
    length = max(a.dims[0], b.dims[0])
    context.set_shape(y, 1, &length)
    node.invoke = broadcast_args
    if is_constant(a) and is_constant(b):
        context.set_computed(y)
        if broadcast_args(context, node) != 0:
            raise ValueError("the shapes do not broadcast: shape1_i == shape2_i was not true")
        node.invoke = computed_in_prepare
    return 0


cdef void store(Tensor* y, int64_t i, int64_t value) noexcept nogil:
    if y.type == INT32:
        (<int32_t*>y.data)[i] = <int32_t>value
    else:
        (<int64_t*>y.data)[i] = value


cdef int32_t from_end(const Tensor* shape, int64_t back) noexcept nogil:
    """Dimension `back` from the last one; 1 where there is none."""
    if back >= shape.dims[0]:
        return 1
    return <int32_t>index_at(shape.type, shape.data, shape.dims[0] - 1 - back)


cdef int broadcast_args(Context context, Node* node) noexcept nogil:
    cdef Tensor* a = context.input(node, 0)
    cdef Tensor* b = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t back
    cdef int32_t of_a, of_b
    for back in range(y.dims[0]):
        of_a = from_end(a, back)
        of_b = from_end(b, back)
        if of_a != of_b and of_a != 1 and of_b != 1:
            return context.fail_with(b"the shapes do not broadcast: %ld and %ld", of_a, of_b)
        store(y, y.dims[0] - 1 - back, of_b if of_a == 1 else of_a)
    return 0


OPERATORS = {
    "SHAPE": register(prepare_shape, version=1, reference_version=1),
    "RANK": register(prepare_rank, version=1, reference_version=1),
    "BROADCAST_ARGS": register(prepare_broadcast_args, version=1, reference_version=1),
}
