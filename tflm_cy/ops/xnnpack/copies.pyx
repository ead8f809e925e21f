"""SLICE, STRIDED_SLICE, CONCATENATION and PAD where the default mode's bytes or limits are not the other arithmetics'. Any of its types.

- SLICE, STRIDED_SLICE: a negative begin counts from the end, an end of 0 or less too (so that 0 is the end itself); what reaches beyond an
  axis is cut off. Axes without an entry are whole, entries without an axis do not count. [0 1 2 3], begin -1, size 1 -> [3];
  STRIDED_SLICE 1:0 -> [1 2 3].
- CONCATENATION: the fused activation is ignored.
- PAD: up to 6 dimensions; the border is the zero point. Axes without paddings have none, paddings without an axis do not count.

SPLIT, TRANSPOSE, DEPTH_TO_SPACE and SPACE_TO_DEPTH are the same everywhere; RESHAPE tells its own difference.
Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc, XNNPACK's src/subgraph/{static-slice,concatenate,static-constant-pad}.c.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.padding cimport Padding, pad_axis, pad_tensor, plan_padding, shared_axis
from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, copy_units, finish_walk, walk_copy
from tflm_cy.graph.context cimport EPILOGUE_PAD_CHANNELS, Context, Node, epilogue_of, iteration_space, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT8, INT32, MAX_RANK, UINT8, Tensor, count, count_range, is_constant, shape_of, type_name, type_size,
)
from tflm_cy.ops.copy_space cimport copy_time, share_walk
from tflm_cy.ops.join cimport Join, add_piece, join_bytes, new_join, share_join
from tflm_cy.ops.operand cimport index_at, operand, result, want_index_type
from tflm_cy.schema.option_slots cimport CONCATENATION_AXIS, STRIDED_SLICE_BEGIN_MASK, STRIDED_SLICE_END_MASK, STRIDED_SLICE_OFFSET
from tflm_cy.schema.table cimport table_bool, table_i32

from tflm_cy.graph.refusal import OwnRefusalError

cdef enum:
    COPY_RANK = 6                # XNN_MAX_TENSOR_DIMS

cdef struct Copy:                # from `source` bytes into the input
    Walk walk
    int64_t source

cdef int want_copyable(const Tensor* x, const Tensor* y, str name) except -1:
    if x.type != y.type or (x.type != FLOAT32 and x.type != INT8 and x.type != UINT8):
        raise ValueError(f"{name}: types {type_name(x.type)} and {type_name(y.type)} are not supported")
    if x.rank > COPY_RANK:
        raise ValueError(f"{name}: {x.rank} dimensions, at most {COPY_RANK} are supported")
    return 0


cdef int want_vector(const Tensor* tensor, int length, str name) except -1:
    """A constant of at most 6 integers; `length` when that is not negative."""
    want_index_type(tensor, name)
    if not is_constant(tensor) or tensor.rank != 1 or tensor.dims[0] > COPY_RANK or (length >= 0 and tensor.dims[0] != length):
        raise ValueError(f"{name} must be a constant vector, has the shape {shape_of(tensor)}")
    return 0


cdef int64_t back(int64_t size, int64_t steps) noexcept nogil:
    """size - steps, not below 0; 0 for the negative steps that overflow gives."""
    return size - steps if 0 <= steps < size else 0


cdef int64_t first_of(int64_t begin, int64_t size) noexcept nogil:
    cdef int64_t first = back(size, -begin) if begin < 0 else begin
    return first if first < size else size


cdef int64_t length_of(int64_t first, int64_t end, int64_t size) noexcept nogil:
    cdef int64_t last = back(size, -end) if end <= 0 else end
    return back(last if last < size else size, first)


cdef int prepare_slice(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* begin = operand(context, node, 1)
    cdef Tensor* size = operand(context, node, 2)
    cdef int64_t[COPY_RANK] begins
    cdef int64_t[COPY_RANK] ends
    cdef int d
    want_copyable(x, result(context, node, 0), "SLICE")
    want_vector(begin, -1, "SLICE: begin")
    want_vector(size, begin.dims[0], "SLICE: size")
    for d in range(COPY_RANK):
        begins[d] = 0
        ends[d] = 0
    for d in range(begin.dims[0]):
        begins[d] = index_at(begin.type, begin.data, d)
        ends[d] = begins[d] + index_at(size.type, size.data, d)
    return prepare_part(context, node, begins, ends)


cdef int prepare_strided_slice(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* begin = operand(context, node, 1)
    cdef Tensor* end = operand(context, node, 2)
    cdef Tensor* strides = operand(context, node, 3)
    cdef int32_t begin_mask = table_i32(node.options, STRIDED_SLICE_BEGIN_MASK, 0)
    cdef int32_t end_mask = table_i32(node.options, STRIDED_SLICE_END_MASK, 0)
    cdef bint offset = table_bool(node.options, STRIDED_SLICE_OFFSET, False)
    cdef int64_t[COPY_RANK] begins
    cdef int64_t[COPY_RANK] ends
    cdef int d
    want_copyable(x, result(context, node, 0), "STRIDED_SLICE")
    want_vector(begin, -1, "STRIDED_SLICE: begin")
    want_vector(end, begin.dims[0], "STRIDED_SLICE: end")
    want_vector(strides, begin.dims[0], "STRIDED_SLICE: strides")
    for d in range(COPY_RANK):
        begins[d] = 0
        ends[d] = 0
    for d in range(begin.dims[0]):
        if index_at(strides.type, strides.data, d) != 1:
            raise ValueError("STRIDED_SLICE: a stride is not 1")
        begins[d] = 0 if begin_mask >> d & 1 else index_at(begin.type, begin.data, d)
        ends[d] = 0 if end_mask >> d & 1 else index_at(end.type, end.data, d) + (begins[d] if offset else 0)
    return prepare_part(context, node, begins, ends)


cdef int prepare_part(Context context, Node* node, const int64_t* begins, const int64_t* ends) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t[MAX_RANK] dims
    cdef int64_t[COPY_RANK] first
    cdef Copy* op = <Copy*>context.persistent(sizeof(Copy))
    cdef int d
    if x.rank == 0:
        raise ValueError(f"{context.operator_name(node)}: a scalar cannot be sliced")
    for d in range(x.rank):
        first[d] = first_of(begins[d], x.dims[d])
        dims[d] = <int32_t>length_of(first[d], ends[d], x.dims[d])
    context.set_shape(y, x.rank, dims)
    op.source = 0
    begin_walk(&op.walk, type_size(x.type))
    for d in range(x.rank):
        add_axis(&op.walk, dims[d], bytes_behind(y, d), bytes_behind(x, d))
        op.source += first[d] * bytes_behind(x, d)
    finish_walk(&op.walk)
    node.data = op
    node.invoke = copy
    return share_walk(context, node, copy_range, &op.walk, copy_time(<int64_t>y.bytes))


cdef int64_t bytes_behind(const Tensor* tensor, int d) noexcept nogil:
    """Bytes from one step along dimension d to the next."""
    return count_range(tensor, d + 1, tensor.rank) * type_size(tensor.type)


cdef int copy(Context context, Node* node) noexcept nogil:
    cdef Copy* op = <Copy*>node.data
    cdef Tensor* y = context.output(node, 0)
    if y.bytes > 0:
        walk_copy(&op.walk, <char*>y.data, <const char*>context.input(node, 0).data + op.source)
    return 0


cdef void copy_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const Copy* op = <const Copy*>node.data
    copy_units(&op.walk, first, end, <char*>context.output(node, 0).data, <const char*>context.input(node, 0).data + op.source)


cdef int prepare_pad(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* paddings = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    cdef int32_t[MAX_RANK] dims
    cdef const int32_t* border = <const int32_t*>paddings.data
    cdef int64_t size
    cdef int32_t zero_point
    cdef Padding* op
    cdef int d
    want_copyable(x, y, "PAD")
    if not is_constant(paddings) or paddings.type != INT32 or paddings.rank != 2 or paddings.dims[1] != 2:
        raise ValueError(f"PAD: the paddings must be a constant INT32 [{x.rank}, 2], are {type_name(paddings.type)} {shape_of(paddings)}")
    op = <Padding*>context.persistent(sizeof(Padding))
    for d in range(x.rank):
        op.before[d] = border[2 * d] if d < paddings.dims[0] else 0
        op.after[d] = border[2 * d + 1] if d < paddings.dims[0] else 0
        size = x.dims[d] + op.before[d] + op.after[d]
        if op.before[d] < 0 or op.after[d] < 0 or size > 0x7FFFFFFF:
            raise ValueError(f"PAD: paddings {op.before[d]} and {op.after[d]} of dimension {d}")
        dims[d] = <int32_t>size
    context.set_shape(y, x.rank, dims)
    op.value_size = type_size(x.type)
    op.apart = True
    zero_point = 0 if x.type == FLOAT32 else y.zero_point
    memcpy(op.value, &zero_point, 4)
    plan_padding(op, x.rank, x.dims, type_size(x.type))
    node.data = op
    node.invoke = pad
    if x.type == FLOAT32 and count(x) > 0 and adds_channels(op, x.rank):
        node.epilogue = epilogue_of(EPILOGUE_PAD_CHANNELS, 0, 0, 0, 0)
    d = shared_axis(op)
    if d < op.rank and count(x) > 0:
        return context.parallelize(node, pad_range, iteration_space(op.size[d], 1), 0.05 * count(y) * type_size(y.type))
    return 0


cdef bint adds_channels(const Padding* p, int rank) noexcept:
    """And nothing else, and behind those that there are."""
    cdef int d
    for d in range(rank):
        if p.before[d] != 0 or (p.after[d] != 0 and d < rank - 1):
            return False
    return rank > 0


cdef int pad(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    if y.bytes > 0:
        pad_tensor(<const Padding*>node.data, <char*>y.data, <const char*>context.input(node, 0).data)
    return 0


cdef void pad_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const Padding* op = <const Padding*>node.data
    pad_axis(op, shared_axis(op), first, end, <char*>context.output(node, 0).data, <const char*>context.input(node, 0).data)


cdef int prepare_concatenation(Context context, Node* node) except -1:
    cdef Tensor* first = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    cdef int axis = table_i32(node.options, CONCATENATION_AXIS, 0)
    cdef object refusal = None
    cdef int32_t[MAX_RANK] dims
    cdef int64_t total = 0
    cdef Tensor* x
    cdef Join* join
    cdef int i, d
    if axis < 0:
        axis += first.rank
    if axis < 0 or axis >= first.rank:
        raise ValueError(f"CONCATENATION: axis {axis} of rank {first.rank}")
    for d in range(first.rank):
        dims[d] = first.dims[d]
    for i in range(node.input_count):
        x = operand(context, node, i)
        want_copyable(x, y, "CONCATENATION")
        if x.rank != first.rank and refusal is None:
            refusal = f"CONCATENATION: shapes {shape_of(first)} and {shape_of(x)} differ in rank"
        for d in range(min(first.rank, x.rank)):
            if d != axis and x.dims[d] != first.dims[d] and refusal is None:
                refusal = f"CONCATENATION: shapes {shape_of(first)} and {shape_of(x)} differ outside of axis {axis}"
        total += x.dims[axis] if axis < x.rank else 0
    if total > 0x7FFFFFFF:
        raise ValueError(f"CONCATENATION: the axis becomes too long: {total}")
    dims[axis] = <int32_t>total
    context.set_shape(y, first.rank, dims)
    if refusal is not None and count_range(y, 0, axis) > 0:
        raise OwnRefusalError(refusal)
    join = new_join(context, node)
    join.rows = count_range(y, 0, axis)
    join.row = count_range(y, axis, y.rank) * type_size(y.type)
    for i in range(node.input_count):
        x = context.input(node, i)
        add_piece(join, i, count_range(x, axis, x.rank) * type_size(x.type))
    node.invoke = join_bytes
    return share_join(context, node, axis + 1 == y.rank)


OPERATORS = {
    "CONCATENATION": register(prepare_concatenation, version=99),
    "PAD": register(prepare_pad, version=99),
    "SLICE": register(prepare_slice, version=99),
    "STRIDED_SLICE": register(prepare_strided_slice, version=99),
}
