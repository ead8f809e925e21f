"""TRANSPOSE and REVERSE_V2: dimensions in another order, or walked backwards.

TRANSPOSE: up to 6 dimensions; float32, int32, bool, uint8, int8, int16, int64, int4. A permutation that is not
constant makes the output dynamic. TensorFlow accepts a dimension named twice and then reads past the input; that is
refused here.

REVERSE_V2: up to 8 dimensions; float32, float16, bfloat16, int8, uint8, int16, int32, int64, bool. The
axes must be neighbours, none twice.

Source: LiteRT:tflite/kernels/transpose.cc, reverse.cc.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.signatures cimport TransposeBlocks
from tflm_cy.arithmetic.walk cimport (
    Walk, add_axis, begin_walk, copy_units, finish_walk, use_transpose, walk_copy, walk_source,
)
from tflm_cy.graph.context cimport XNNPACK, Context, Node, register
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, INT4, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, count,
    count_range, is_constant, type_name, type_size,
)
from tflm_cy.ops.kernels.transpose_blocks cimport transpose_of
from tflm_cy.ops.copy_space cimport share_walk
from tflm_cy.ops.operand cimport accept, expect_arity_between, index_at, operand, result, want_bytes, want_type_of

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    TRANSPOSE_RANK = 6
    REVERSE_RANK = 8

cdef struct Transposition:
    Walk walk
    TransposeBlocks transpose    # of an element's size; int4: NULL


cdef int prepare_transpose(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* perm = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if x.rank > TRANSPOSE_RANK:
        raise ValueError(f"Transpose op only supports 1D-6D input arrays, not {x.rank}D")
    want_type_of(y, x)
    want_bytes(x)
    if perm.type != INT32 or perm.rank != 1 or perm.dims[0] != x.rank:
        text = f"the permutation must be an INT32 vector of {x.rank} elements: op_context->perm->dims->data[0] != dims"
        if is_constant(perm):
            if node.arithmetic == XNNPACK:          # it has been resized since its node was claimed
                context.set_shape(y, y.rank, y.dims)
                raise OwnRefusalError(text)
            raise ValueError(text)
        context.set_dynamic(y)
        raise LateRefusalError(text)
    cdef Transposition* op = <Transposition*>context.persistent(sizeof(Transposition))
    node.data = op
    op.transpose = transpose_of(0 if x.type == INT4 else type_size(x.type))
    if not is_constant(perm):
        context.set_dynamic(y)
        node.invoke = transpose_dynamic
    else:
        accept(plan_transpose(op, x, perm, dims))
        context.set_shape(y, x.rank, dims)
        node.invoke = transpose_int4 if x.type == INT4 else walk
        node.is_view = x.type != INT4 and op.walk.rank == 0        # only dimensions of one step have moved
        if x.type != INT4:
            tell_matrix(node, &op.walk, x.bytes)
            share_walk(context, node, walk_range, &op.walk, 0.3 * count(x))
    if x.type not in (FLOAT32, INT32, BOOL, UINT8, INT8, INT16, INT64, INT4):
        raise LateRefusalError(f"Type {type_name(x.type)} is currently not supported by Transpose.")
    return 0


cdef const char* plan_transpose(Transposition* op, const Tensor* x, const Tensor* perm, int32_t* dims) noexcept nogil:
    """The walk in the output's order and the output's shape; int4 is planned in elements."""
    cdef Walk* plan = &op.walk
    cdef int64_t size = 1 if x.type == INT4 else type_size(x.type)
    cdef int64_t[TRANSPOSE_RANK] to
    cdef int64_t axis
    cdef int seen = 0
    cdef int d
    for d in range(x.rank):
        axis = index_at(INT32, perm.data, d)
        if axis < 0:
            axis += x.rank
        if axis < 0 or axis >= x.rank:
            return b"Transpose op permutations array is out of bounds."
        if seen >> axis & 1:
            return b"Transpose op permutations array names a dimension twice."
        seen |= 1 << axis
        to[d] = axis
        dims[d] = x.dims[axis]
    begin_walk(plan, size)
    for d in range(x.rank):
        add_axis(plan, dims[d], 0, count_range(x, to[d] + 1, x.rank) * size)
    for d in range(x.rank - 1, -1, -1):
        plan.dst_strides[d] = size if d == x.rank - 1 else plan.dst_strides[d + 1] * dims[d + 1]
    if x.type != INT4:
        finish_walk(plan)
        use_transpose(plan, op.transpose, size)
    return NULL


cdef void tell_matrix(Node* node, const Walk* plan, size_t total) noexcept:
    """Is the whole tensor one matrix, of runs of bytes, that is turned?"""
    cdef int row = 1 if plan.dst_strides[1] == plan.run else 0       # the axis of the input's rows
    cdef int column = 1 - row
    cdef int64_t rows = plan.extents[row]
    cdef int64_t columns = plan.extents[column]
    if plan.rank != 2 or total == 0 or <size_t>(rows * columns * plan.run) != total:
        return
    if plan.src_strides[row] == columns * plan.src_strides[column] and plan.dst_strides[column] == rows * plan.dst_strides[row]:
        node.transpose_rows, node.transpose_columns = rows, columns


cdef void walk_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const Transposition* op = <const Transposition*>node.data
    copy_units(&op.walk, first, end, <char*>context.output(node, 0).data, <const char*>context.input(node, 0).data)


cdef int walk(Context context, Node* node) noexcept nogil:
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    if x != y:
        walk_copy(&(<const Transposition*>node.data).walk, y, x)
    return 0


cdef int transpose_int4(Context context, Node* node) noexcept nogil:
    """Two values a byte, low nibble first."""
    cdef Tensor* y = context.output(node, 0)
    cdef const uint8_t* x = <const uint8_t*>context.input(node, 0).data
    cdef uint8_t* to = <uint8_t*>y.data
    cdef uint8_t nibble
    cdef int64_t i, source
    if y.bytes > 0:
        memset(to, 0, y.bytes)
    for i in range(count(y)):
        source = walk_source(&(<const Transposition*>node.data).walk, i)
        nibble = (x[source >> 1] >> (4 * (source & 1))) & 15
        to[i >> 1] |= nibble << (4 * (i & 1))
    return 0


cdef int transpose_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    cdef const char* refusal = plan_transpose(<Transposition*>node.data, x, context.input(node, 1), dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return transpose_int4(context, node) if x.type == INT4 else walk(context, node)


cdef int prepare_reverse(Context context, Node* node) except -1:
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* axes = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    cdef const char* refusal
    if x.rank > REVERSE_RANK:
        raise ValueError(f"NumDimensions(input) <= 8 was not true: {x.rank}")
    if x.type not in (INT32, FLOAT32, UINT8, INT8, INT16, INT64, BOOL, FLOAT16, BFLOAT16):
        raise ValueError(f"Type '{type_name(x.type)}' is not supported by reverse.")
    want_bytes(x)
    if axes.type != INT32:
        raise ValueError(f"Axis Type '{type_name(axes.type)}' is not supported by reverse.")
    if axes.rank != 1 or axes.dims[0] > x.rank:
        raise ValueError("NumDimensions(input) >= NumElements(axis) was not true, or the axes are no vector")
    want_type_of(y, x)
    context.set_shape(y, x.rank, x.dims)
    node.invoke = reverse
    if is_constant(axes):
        node.data = context.persistent(sizeof(ReverseData))
        refusal = plan_reverse(<ReverseData*>node.data, x, axes)
        if refusal != NULL:
            raise LateRefusalError(refusal.decode())
    return 0


cdef struct ReverseData:
    Walk walk
    int64_t start                # where in the source the first element comes from


cdef const char* plan_reverse(ReverseData* data, const Tensor* x, const Tensor* axes) noexcept nogil:
    """Reversed axes have negative source strides."""
    cdef int64_t size = type_size(x.type)
    cdef int64_t stride, axis
    cdef int reversed_axes = 0
    cdef int lowest = REVERSE_RANK
    cdef int highest = -1
    cdef int d
    for d in range(axes.dims[0]):
        axis = index_at(INT32, axes.data, d)
        if axis < 0:
            axis += x.rank
        if axis < 0 or axis >= x.rank:
            return b"axes[i] >= 0 && axes[i] < rank was not true"
        if reversed_axes >> axis & 1:
            return b"Non-contiguous `axes` not supported"
        reversed_axes |= 1 << axis
        lowest = min(lowest, <int>axis)
        highest = max(highest, <int>axis)
    if highest - lowest + 1 > axes.dims[0] and axes.dims[0] > 0:
        return b"Non-contiguous `axes` not supported"
    data.start = 0
    begin_walk(&data.walk, size)
    for d in range(x.rank):
        stride = count_range(x, d + 1, x.rank) * size
        if reversed_axes >> d & 1:
            data.start += (x.dims[d] - 1) * stride
        add_axis(&data.walk, x.dims[d], stride, -stride if reversed_axes >> d & 1 else stride)
    finish_walk(&data.walk)
    return NULL


cdef int reverse(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef char* y = <char*>context.output(node, 0).data
    cdef ReverseData data
    cdef const ReverseData* plan = <const ReverseData*>node.data
    cdef const char* refusal
    if plan == NULL:
        refusal = plan_reverse(&data, x, context.input(node, 1))
        if refusal != NULL:
            return context.fail(refusal)
        plan = &data
    walk_copy(&plan.walk, y, <const char*>x.data + (plan.start if plan.walk.run > 0 else 0))
    return 0


OPERATORS = {
    "TRANSPOSE": register(prepare_transpose, version=7, reference_version=7),
    "REVERSE_V2": register(prepare_reverse, version=3, reference_version=2),
}
