"""SPLIT, SPLIT_V, UNPACK: one tensor cut along an axis into equal parts, given sizes, or single slices.

SPLIT and SPLIT_V: float32, uint8, int8, int16, int32, int64; UNPACK: float32, int32, uint8, int8, int16, bool, equal
quantization, not empty. The options' number of outputs must be the node's. An axis (or sizes) that is not constant
makes the outputs dynamic. One size of SPLIT_V may be -1.

Source: LiteRT:tflite/kernels/split.cc, split_v.cc, unpack.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.copy_runs cimport copy_runs
from tflm_cy.graph.context cimport MICRO, XNNPACK, Context, Node, WorkFunction, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT32, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, bytes_of, count, count_range, is_constant,
    type_name, type_size,
)
from tflm_cy.ops.copy_space cimport RowPart, next_block, part_of_rows, prefetch_block, share_rows, whole_rows
from tflm_cy.ops.operand cimport (
    accept, adopt_type, expect_arity_between, index_at, operand, result, want_bytes, want_index_type, want_same_quantization,
    want_type_of,
)
from tflm_cy.schema.option_slots cimport SPLIT_NUM_SPLITS, UNPACK_AXIS, UNPACK_NUM
from tflm_cy.schema.table cimport table_i32

from tflm_cy.graph.refusal import OwnRefusalError


cdef struct Cut:
    int64_t rows                 # product of the dimensions before the axis
    int64_t step                 # bytes of one step along the axis
    int64_t* sizes               # steps per output, NULL: all alike


cdef int want_outputs(Context context, const Node* node, int number) except -1:
    if node.output_count != number or number < 1:
        raise ValueError(f"NumOutputs(node) is {node.output_count}, the option says {number}")
    return 0


cdef int parts_of(const Node* node) noexcept nogil:
    """TFLM counts the outputs, whatever the option says."""
    return node.output_count if node.arithmetic == MICRO else table_i32(node.options, SPLIT_NUM_SPLITS, 0)


cdef int want_split_type(Context context, const Node* node, const Tensor* x) except -1:
    """Check the input's type and give it to all outputs."""
    cdef int i
    if x.type not in (FLOAT32, UINT8, INT8, INT16, INT32, INT64):
        raise ValueError(f"Type {type_name(x.type)} currently not supported.")
    want_bytes(x)
    for i in range(node.output_count):
        adopt_type(result(context, node, i), x.type)
    return 0


cdef int64_t resolve_axis(int64_t axis, int rank) noexcept nogil:
    """From 0, or -1 when it does not exist."""
    if axis < 0:
        axis += rank
    return axis if 0 <= axis < rank else -1


cdef const char* UNEVEN = b"Not an even split"


cdef int prepare_split(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef const char* refusal
    cdef int i
    expect_arity_between(context, node, 2, 2, -1)
    cdef Tensor* axis = operand(context, node, 0)
    cdef Tensor* x = operand(context, node, 1)
    want_outputs(context, node, parts_of(node))
    want_split_type(context, node, x)
    want_index_type(axis, "the axis")
    if count(axis) < 1:
        raise ValueError("the axis is empty")
    node.data = context.persistent(sizeof(Cut))
    if not is_constant(axis):
        for i in range(node.output_count):
            context.set_dynamic(context.output(node, i))
        node.invoke = split_dynamic
        return 0
    refusal = plan_split(node, axis, x, dims)
    if refusal != UNEVEN or node.arithmetic != XNNPACK:
        accept(refusal)
    for i in range(node.output_count):
        context.set_shape(context.output(node, i), x.rank, dims)
    if refusal == UNEVEN:                        # the delegate's parts leave out what is over
        raise OwnRefusalError(refusal.decode())
    node.invoke = split
    return share_cut(context, node, x, second_input_range)


cdef const char* plan_split(Node* node, const Tensor* axis_tensor, const Tensor* x, int32_t* dims) noexcept nogil:
    """Fill the node's cut and the shape of every output."""
    cdef Cut* cut = <Cut*>node.data
    cdef int64_t axis = resolve_axis(index_at(INT32, axis_tensor.data, 0), x.rank)
    cdef int d
    if axis < 0:
        return b"axis_value < NumDimensions(input) was not true: the axis does not exist"
    for d in range(x.rank):
        dims[d] = x.dims[d]
    dims[axis] = x.dims[axis] // node.output_count
    if x.dims[axis] % node.output_count != 0:
        return UNEVEN
    cut.rows = count_range(x, 0, axis)
    cut.step = count_range(x, axis + 1, x.rank) * type_size(x.type)
    return NULL


cdef int split_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 1)
    cdef const char* refusal = plan_split(node, context.input(node, 0), x, dims)
    cdef int i
    if refusal != NULL:
        return context.fail(refusal)
    for i in range(node.output_count):
        if context.resize(context.output(node, i), x.rank, dims) != 0:
            return -1
    return split(context, node)


cdef int split(Context context, Node* node) noexcept nogil:
    return cut_up(context, node, context.input(node, 1))


cdef void second_input_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cut_range(context, node, context.input(node, 1), first, end)


cdef int prepare_split_v(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef Cut* cut
    cdef int i
    expect_arity_between(context, node, 3, 3, -1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* sizes = operand(context, node, 1)
    cdef Tensor* axis = operand(context, node, 2)
    want_outputs(context, node, parts_of(node))
    want_split_type(context, node, x)
    want_index_type(axis, "the axis")
    if sizes.type != INT32 and sizes.type != INT64:
        raise ValueError("size_splits only support type int32|int64.")
    if count(axis) < 1:
        raise ValueError("the axis is empty")
    if sizes.rank != 1 or sizes.dims[0] != node.output_count:
        raise ValueError("NumOutputs(node) != NumElements(size_splits), or these are no vector")
    cut = <Cut*>context.persistent(sizeof(Cut) + node.output_count * sizeof(int64_t))
    cut.sizes = <int64_t*>(cut + 1)
    node.data = cut
    if not is_constant(axis) or not is_constant(sizes):
        for i in range(node.output_count):
            context.set_dynamic(context.output(node, i))
        node.invoke = split_v_dynamic
        return 0
    accept(plan_split_v(node, x, sizes, axis))
    for i in range(node.output_count):
        shape_part(node, x, axis, i, dims)
        context.set_shape(context.output(node, i), x.rank, dims)
    node.invoke = split_v
    return share_cut(context, node, x, first_input_range)


cdef const char* plan_split_v(
    Node* node, const Tensor* x, const Tensor* sizes, const Tensor* axis_tensor,
) noexcept nogil:
    """Fill the node's cut, its sizes included."""
    cdef Cut* cut = <Cut*>node.data
    cdef int64_t axis = resolve_axis(index_at(INT32, axis_tensor.data, 0), x.rank)
    cdef int64_t total = 0
    cdef int64_t size
    cdef int rest = -1
    cdef int i
    if axis < 0:
        return b"axis_value < NumDimensions(input) was not true: the axis does not exist"
    for i in range(node.output_count):
        size = index_at(sizes.type, sizes.data, i)
        cut.sizes[i] = size
        if size == -1:
            if rest != -1:
                return b"The size_splits contains more than one -1."
            rest = i
        elif size < 0 or size > 0x7FFFFFFF:
            return b"a size of size_splits is negative or too large"
        else:
            total += size
    if rest != -1:
        if total > x.dims[axis]:
            return b"The sum of size_splits must be less than the dimension of value."
        cut.sizes[rest] = x.dims[axis] - total
    elif total != x.dims[axis]:
        return b"The size_splits must sum to the dimension of value along axis."
    cut.rows = count_range(x, 0, axis)
    cut.step = count_range(x, axis + 1, x.rank) * type_size(x.type)
    return NULL


cdef void shape_part(const Node* node, const Tensor* x, const Tensor* axis, int i, int32_t* dims) noexcept nogil:
    """Shape of SPLIT_V's output i."""
    cdef int d
    for d in range(x.rank):
        dims[d] = x.dims[d]
    dims[resolve_axis(index_at(INT32, axis.data, 0), x.rank)] = <int32_t>(<const Cut*>node.data).sizes[i]


cdef int split_v_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    cdef const char* refusal = plan_split_v(node, x, context.input(node, 1), context.input(node, 2))
    cdef int i
    if refusal != NULL:
        return context.fail(refusal)
    for i in range(node.output_count):
        shape_part(node, x, context.input(node, 2), i, dims)
        if context.resize(context.output(node, i), x.rank, dims) != 0:
            return -1
    return split_v(context, node)


cdef int split_v(Context context, Node* node) noexcept nogil:
    return cut_up(context, node, context.input(node, 0))


cdef void first_input_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cut_range(context, node, context.input(node, 0), first, end)


cdef int prepare_unpack(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef Cut* cut
    cdef Tensor* y
    cdef int64_t axis
    cdef int i, d
    expect_arity_between(context, node, 1, 1, -1)
    cdef Tensor* x = operand(context, node, 0)
    want_outputs(context, node, table_i32(node.options, UNPACK_NUM, 0))
    if count(x) < 1:
        raise ValueError("NumElements(input) > 0 was not true")
    if x.type not in (FLOAT32, INT32, UINT8, INT8, INT16, BOOL):
        raise ValueError(f"Type '{type_name(x.type)}' is not supported by unpack.")
    want_bytes(x)
    axis = resolve_axis(table_i32(node.options, UNPACK_AXIS, 0), x.rank)
    if axis < 0:
        raise ValueError(f"axis < NumDimensions(input) was not true: rank {x.rank}")
    if x.dims[axis] != node.output_count:
        raise ValueError(f"data->num != input_shape->data[axis]: {node.output_count} outputs of {x.dims[axis]}")
    for d in range(x.rank - 1):
        dims[d] = x.dims[d if d < axis else d + 1]
    for i in range(node.output_count):
        y = result(context, node, i)
        want_type_of(y, x)
        want_same_quantization(x, y)
        context.set_shape(y, x.rank - 1, dims)
    cut = <Cut*>context.persistent(sizeof(Cut))
    cut.rows = count_range(x, 0, axis)
    cut.step = count_range(x, axis + 1, x.rank) * type_size(x.type)
    node.data = cut
    node.invoke = unpack
    return share_cut(context, node, x, first_input_range)


cdef int unpack(Context context, Node* node) noexcept nogil:
    return cut_up(context, node, context.input(node, 0))


cdef int share_cut(Context context, Node* node, const Tensor* x, WorkFunction work) except -1:
    cdef const Cut* cut = <const Cut*>node.data
    return share_rows(context, node, work, cut.rows, row_of(node, x), 0) if cut.rows > 0 else 0


cdef int64_t size_of(const Node* node, const Tensor* x, int i) noexcept nogil:
    """Bytes of a row that output i gets."""
    cdef const Cut* cut = <const Cut*>node.data
    if cut.sizes != NULL:
        return cut.sizes[i] * cut.step
    return <int64_t>(bytes_of(x.type, x.rank, x.dims) // (cut.rows * cut.step)) // node.output_count * cut.step if cut.step > 0 else 0


cdef int64_t row_of(const Node* node, const Tensor* x) noexcept nogil:
    """Bytes that all outputs get."""
    cdef int64_t total = 0
    cdef int i
    for i in range(node.output_count):
        total += size_of(node, x, i)
    return total


cdef int cut_up(Context context, const Node* node, const Tensor* x) noexcept nogil:
    cdef const Cut* cut = <const Cut*>node.data
    cdef RowPart part
    if cut.rows > 0:
        part = whole_rows(cut.rows, row_of(node, x))
        cut_part(context, node, x, &part)
    return 0


cdef void cut_range(Context context, const Node* node, const Tensor* x, int64_t first, int64_t end) noexcept nogil:
    cdef const Cut* cut = <const Cut*>node.data
    cdef RowPart part = part_of_rows(cut.rows, row_of(node, x), first, end)
    cut_part(context, node, x, &part)


cdef void cut_part(Context context, const Node* node, const Tensor* x, RowPart* part) noexcept nogil:
    """Copy every output's share of some rows, or of some bytes of them."""
    cdef const Cut* cut = <const Cut*>node.data
    cdef int64_t row = row_of(node, x)
    cdef int64_t run = size_of(node, x, 0) if node.output_count > 0 else 0
    cdef const char* source
    cdef int64_t offset, first, end
    cdef RowPart block
    cdef int i
    while next_block(part, row, &block):
        prefetch_block(&block, row, <char*>x.data, False)
        source = <const char*>x.data + block.row * row
        offset = 0
        for i in range(node.output_count):
            if cut.sizes != NULL:
                run = cut.sizes[i] * cut.step
            first, end = max(offset, block.byte), min(offset + run, block.byte + block.bytes)
            copy_runs(<char*>context.output(node, i).data + block.row * run + first - offset, run, source + first, row, end - first, block.rows)
            offset += run


OPERATORS = {
    "SPLIT": register(prepare_split, version=4, reference_version=4),
    "SPLIT_V": register(prepare_split_v, version=2, reference_version=2),
    "UNPACK": register(prepare_unpack, version=4, reference_version=4),
}
