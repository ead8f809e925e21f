"""TILE and BROADCAST_TO: one tensor repeated along its dimensions, or stretched to a larger shape.

TILE: float32, int8, uint8, int32, int64, bool, string; multipliers int32 or int64, one per dimension. With constant
input and multipliers the output is computed in prepare.

BROADCAST_TO: every type but strings and packed ones, up to 8
dimensions; shape int32 or int64.

Repetitions or a shape that are not constant make the output dynamic.

Source: LiteRT:tflite/kernels/tile.cc, broadcast_to.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.strings cimport (
    StringWriter, append_string, begin_strings, has_strings, string_length, strings_head,
)
from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, finish_walk, walk_copy, walk_source
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT32, INT8, INT32, INT64, MAX_RANK, STRING, Tensor, UINT8, bytes_of, count, count_range, is_constant,
    type_name, type_size,
)
from tflm_cy.ops.operand cimport (
    accept, computed_in_prepare, expect_arity_between, index_at, operand, result, want_bytes, want_element, want_type_of,
)

from tflm_cy.graph.refusal import LateRefusalError

cdef enum:
    BROADCAST_RANK = 8


cdef int prepare_tile(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* multipliers = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(y, x)
    if multipliers.type != INT32 and multipliers.type != INT64:
        raise ValueError(f"Multipliers of type '{type_name(multipliers.type)}' are not supported by tile.")
    if count(multipliers) != x.rank:
        text = f"num_dimensions != num_multipliers: {x.rank} and {count(multipliers)}"
        if is_constant(multipliers):
            raise ValueError(text)
        context.set_dynamic(y)
        raise LateRefusalError(text)
    want_bytes(x)
    node.data = context.persistent(sizeof(Walk))
    if not is_constant(multipliers):
        context.set_dynamic(y)
        node.invoke = tile_dynamic
        return want_kernel(x, False)
    accept(plan_tile(<Walk*>node.data, x, multipliers, dims))
    context.set_shape(y, x.rank, dims)
    node.invoke = tile_strings if x.type == STRING else walk
    want_kernel(x, is_constant(x))
    if is_constant(x) and x.type != STRING:
        context.set_computed(y)
        walk(context, node)
        node.invoke = computed_in_prepare
    return 0


cdef int want_kernel(const Tensor* x, bint now) except -1:
    """TensorFlow looks at the type when it computes, which is in prepare (now) where all is constant."""
    if x.type not in (FLOAT32, INT8, UINT8, INT32, INT64, BOOL, STRING):
        raise (ValueError if now else LateRefusalError)(f"Type '{type_name(x.type)}' is not supported by tile.")
    return 0


cdef const char* plan_tile(Walk* plan, const Tensor* x, const Tensor* multipliers, int32_t* dims) noexcept nogil:
    """Two axes per dimension: the repetitions, which stand still in the source, and the dimension itself."""
    cdef int64_t size = 1 if x.type == STRING else type_size(x.type)
    cdef int64_t[MAX_RANK] strides
    cdef int64_t multiplier
    cdef int d
    for d in range(x.rank):
        multiplier = index_at(multipliers.type, multipliers.data, d)
        if multiplier < 0:
            return b"Multipliers must be non-negative."
        if x.dims[d] > 0 and multiplier > 0x7FFFFFFF // x.dims[d]:
            return b"Output shape dimensions of TILE must be in range [0, INT32_MAX]."
        dims[d] = <int32_t>(x.dims[d] * multiplier)
    if bytes_of(x.type, x.rank, dims) < 0:
        return b"the output of TILE is too large"
    for d in range(x.rank - 1, -1, -1):
        strides[d] = size if d == x.rank - 1 else strides[d + 1] * dims[d + 1]
    begin_walk(plan, size)
    for d in range(x.rank):
        multiplier = index_at(multipliers.type, multipliers.data, d)
        add_axis(plan, multiplier, x.dims[d] * strides[d], 0)
        add_axis(plan, x.dims[d], strides[d], count_range(x, d + 1, x.rank) * size)
    if x.type != STRING:
        finish_walk(plan)
    return NULL


cdef int walk(Context context, Node* node) noexcept nogil:
    walk_copy(<const Walk*>node.data, <char*>context.output(node, 0).data, <const char*>context.input(node, 0).data)
    return 0


cdef int tile_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    cdef const char* refusal = plan_tile(<Walk*>node.data, x, context.input(node, 1), dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return tile_strings(context, node) if x.type == STRING else walk(context, node)


cdef int tile_strings(Context context, Node* node) noexcept nogil:
    cdef const Walk* plan = <const Walk*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef StringWriter writer
    cdef int64_t n = count(y)
    cdef int64_t total = strings_head(n)
    cdef int64_t i
    if not has_strings(x.data, x.bytes, count(x)):
        return context.fail(b"the input does not hold the strings of its shape")
    for i in range(n):
        total += string_length(x.data, walk_source(plan, i))
        if total > 0x7FFFFFFF:
            return context.fail(b"a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        return -1
    begin_strings(&writer, y.data, <int32_t>n)
    for i in range(n):
        append_string(&writer, x.data, walk_source(plan, i))
    return 0


cdef int prepare_broadcast(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* shape = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if shape.type != INT32 and shape.type != INT64:
        raise ValueError(f"the shape must be INT32 or INT64, is {type_name(shape.type)}: op_context.shape->type")
    want_type_of(y, x)
    want_element(x)
    if x.rank > BROADCAST_RANK:
        raise ValueError(f"BroadcastTo only supports 1-8D tensor, not {x.rank}D")
    want_bytes(x)
    if shape.rank != 1 or shape.dims[0] > BROADCAST_RANK:
        text = "NumDimensions(op_context->shape) != 1: BroadcastTo only supports 1-8D tensor, its shape must be a vector"
        if is_constant(shape):
            raise ValueError(text)
        context.set_dynamic(y)
        raise LateRefusalError(text)
    node.data = context.persistent(sizeof(Walk))
    if not is_constant(shape):
        context.set_dynamic(y)
        node.invoke = broadcast_dynamic
        return 0
    accept(plan_broadcast(<Walk*>node.data, x, shape, dims))
    context.set_shape(y, shape.dims[0], dims)
    node.invoke = walk
    return 0


cdef const char* plan_broadcast(Walk* plan, const Tensor* x, const Tensor* shape, int32_t* dims) noexcept nogil:
    """Dimensions of 1 stand still in the source; shapes are aligned at their ends."""
    cdef int64_t size = type_size(x.type)
    cdef int rank = shape.dims[0]
    cdef int missing = rank - x.rank
    cdef int64_t[BROADCAST_RANK] strides
    cdef int64_t value
    cdef int d
    if missing < 0:
        return b"Output shape must be broadcastable from input shape."
    for d in range(rank):
        value = index_at(shape.type, shape.data, d)
        if value < 0 or value > 0x7FFFFFFF:
            return b"a dimension of the output shape of BROADCAST_TO is negative or too large"
        if d >= missing and x.dims[d - missing] != 1 and x.dims[d - missing] != value:
            return b"Output shape must be broadcastable from input shape."
        dims[d] = <int32_t>value
    if bytes_of(x.type, rank, dims) < 0:
        return b"the output of BROADCAST_TO is too large"
    for d in range(rank - 1, -1, -1):
        strides[d] = size if d == rank - 1 else strides[d + 1] * dims[d + 1]
    begin_walk(plan, size)
    for d in range(rank):
        value = 0
        if d >= missing and x.dims[d - missing] != 1:
            value = count_range(x, d - missing + 1, x.rank) * size
        add_axis(plan, dims[d], strides[d], value)
    finish_walk(plan)
    return NULL


cdef int broadcast_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* shape = context.input(node, 1)
    cdef const char* refusal = plan_broadcast(<Walk*>node.data, context.input(node, 0), shape, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), shape.dims[0], dims) != 0:
        return -1
    return walk(context, node)


OPERATORS = {
    "TILE": register(prepare_tile, version=3, reference_version=2),
    "BROADCAST_TO": register(prepare_broadcast, version=3, reference_version=3, lowest_version=2),
}
