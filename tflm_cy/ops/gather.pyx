"""GATHER, GATHER_ND, SCATTER_ND: slices picked by, or added to, indices that arrive while invoking.

GATHER: float32, float16, bfloat16, uint8, int8, int16, int32, int64, bool, int4 (an even number of values per slice),
strings (a vector of them); positions int16, int32, int64. Constant input and positions: gathered in prepare.

GATHER_ND: the same without int4, strings of any rank. Bounds are checked for the whole offset only, as TensorFlow
does:
  params [[0 1 2] [3 4 5]], indices [[0 4]] -> 4

SCATTER_ND: float32, uint8, int8, int32, int64, bool; int32 indices; updates of the same place add up (bool: whether the sum is 0); the
whole offset again.

A negative or too large index fails the invoke.

Source: LiteRT:tflite/kernels/gather.cc, gather_nd.cc, scatter_nd.cc.
"""
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.combine cimport ADD, Combine
from tflm_cy.arithmetic.copy_runs cimport copy_run
from tflm_cy.arithmetic.nan_order cimport add_first
from tflm_cy.arithmetic.strings cimport (
    StringWriter, append_string, begin_strings, has_strings, string_length, strings_head,
)
from tflm_cy.arithmetic.truths cimport add_truths
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, INT4, INT8, INT16, INT32, INT64, MAX_RANK, STRING, Tensor, UINT8, bytes_of,
    count, count_range, is_constant, type_name, type_size,
)
from tflm_cy.ops.combining cimport combine_of
from tflm_cy.ops.operand cimport accept, adopt_type, computed_in_prepare, expect_arity_between, index_at, operand, result, want_bytes
from tflm_cy.schema.option_slots cimport GATHER_AXIS, GATHER_BATCH_DIMS
from tflm_cy.schema.table cimport table_i32

from tflm_cy.graph.refusal import LateRefusalError


ctypedef fused Index:
    int16_t
    int32_t
    int64_t

cdef struct GatherData:
    int64_t batches              # GATHER: product of the batch dimensions
    int64_t outer                # of those before the axis
    int64_t axis_size
    int64_t positions            # per batch
    int64_t slice                # bytes of a slice; strings: their number
    int64_t depth                # GATHER_ND, SCATTER_ND: indices per position
    Combine combine              # SCATTER_ND: what adds an update
    int64_t[MAX_RANK] steps      # and the elements that each of them counts


cdef int want_position_type(const Tensor* tensor, str name) except -1:
    if tensor.type != INT16 and tensor.type != INT32 and tensor.type != INT64:
        raise ValueError(f"Positions of type '{type_name(tensor.type)}' are not supported by {name}.")
    return 0


cdef int want_gather_type(const Tensor* x, str name) except -1:
    if x.type not in (FLOAT32, FLOAT16, BFLOAT16, UINT8, INT8, INT16, INT32, INT64, BOOL, STRING):
        raise ValueError(f"Type '{type_name(x.type)}' is not supported by {name}.")
    return 0


cdef int prepare_gather(Context context, Node* node) except -1:
    cdef int64_t axis = table_i32(node.options, GATHER_AXIS, 0)
    cdef int64_t batch_dims = table_i32(node.options, GATHER_BATCH_DIMS, 0)
    cdef int32_t[2 * MAX_RANK] dims
    cdef GatherData* data
    cdef int rank = 0
    cdef int d
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* positions = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_position_type(positions, "gather")
    if x.type != INT4:
        want_gather_type(x, "gather")
    adopt_type(y, x.type)
    want_bytes(x)
    if x.type == STRING and x.rank != 1:
        raise ValueError(f"NumDimensions(input) != 1: strings are gathered from a vector, not from rank {x.rank}")
    axis += x.rank if axis < 0 else 0
    batch_dims += positions.rank if batch_dims < 0 else 0
    if not 0 <= axis < x.rank:
        raise ValueError(f"0 <= axis && axis < NumDimensions(input) was not true: axis {axis}, rank {x.rank}")
    if not 0 <= batch_dims <= min(axis, <int64_t>positions.rank):
        raise ValueError(
            f"batch_dims <= axis was not true: {batch_dims} of axis {axis}, positions of rank {positions.rank}")
    for d in range(batch_dims):
        if x.dims[d] != positions.dims[d]:
            raise ValueError(
                f"input->dims->data[{d}] != positions->dims->data[{d}]: {x.dims[d]} and {positions.dims[d]}")
    for d in range(axis):
        dims[rank] = x.dims[d]
        rank += 1
    for d in range(batch_dims, positions.rank):
        dims[rank] = positions.dims[d]
        rank += 1
    for d in range(axis + 1, x.rank):
        dims[rank] = x.dims[d]
        rank += 1
    context.set_shape(y, rank, dims)

    data = <GatherData*>context.persistent(sizeof(GatherData))
    data.batches = count_range(x, 0, batch_dims)
    data.outer = count_range(x, batch_dims, axis)
    data.axis_size = x.dims[axis]
    data.positions = count_range(positions, batch_dims, positions.rank)
    data.slice = count_range(x, axis + 1, x.rank) * (1 if x.type == INT4 else type_size(x.type))
    if x.type == INT4:
        if data.slice % 2 != 0:
            raise ValueError(f"int4 slices of {data.slice} values do not begin on whole bytes")
        data.slice //= 2
    node.data = data
    node.invoke = gather_strings if x.type == STRING else gather
    if is_constant(x) and is_constant(positions) and x.type != STRING:
        context.set_computed(y)
        if gather(context, node) != 0:
            raise ValueError("gather index out of bounds")
        node.invoke = computed_in_prepare
    return 0


cdef inline int64_t loaded(const Index* index) noexcept nogil:
    """An index of a file may lie on any address."""
    cdef Index value
    memcpy(&value, index, sizeof(Index))
    return value


cdef inline void gather_slices(const Index* positions, int64_t n, const char* x, int64_t slice, char* y) noexcept nogil:
    """A slice for each of n positions."""
    cdef int64_t i
    if slice == 1:
        for i in range(n):
            y[i] = x[loaded(positions + i)]
    elif slice == 2:
        for i in range(n):
            memcpy(y + 2 * i, x + 2 * loaded(positions + i), 2)
    elif slice == 4:
        for i in range(n):
            memcpy(y + 4 * i, x + 4 * loaded(positions + i), 4)
    elif slice == 8:
        for i in range(n):
            memcpy(y + 8 * i, x + 8 * loaded(positions + i), 8)
    else:
        for i in range(n):
            copy_run(y + slice * i, x + slice * loaded(positions + i), slice)


cdef int gather_by(Context context, const GatherData* data, const Index* positions, int64_t n, const char* x, char* y) noexcept nogil:
    cdef int64_t batch, _outer, i, at
    if data.outer == 0:                          # nothing is gathered: TensorFlow looks at no index
        return 0
    for i in range(n):
        at = loaded(positions + i)
        if at < 0 or at >= data.axis_size:
            return context.fail_with(b"gather index out of bounds: %ld of %ld", at, data.axis_size)
    for batch in range(data.batches):
        for _outer in range(data.outer):
            gather_slices(positions, data.positions, x, data.slice, y)
            x += data.axis_size * data.slice
            y += data.positions * data.slice
        positions += data.positions
    return 0


cdef int gather(Context context, Node* node) noexcept nogil:
    cdef const GatherData* data = <const GatherData*>node.data
    cdef Tensor* positions = context.input(node, 1)
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    if positions.type == INT32:
        return gather_by(context, data, <const int32_t*>positions.data, count(positions), x, y)
    if positions.type == INT64:
        return gather_by(context, data, <const int64_t*>positions.data, count(positions), x, y)
    return gather_by(context, data, <const int16_t*>positions.data, count(positions), x, y)


cdef int gather_strings(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* positions = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef StringWriter writer
    cdef int64_t n = count(positions)
    cdef int64_t total = strings_head(n)
    cdef int64_t i, at
    if not has_strings(x.data, x.bytes, count(x)):
        return context.fail(b"the input does not hold the strings of its shape")
    for i in range(n):
        at = index_at(positions.type, positions.data, i)
        if at < 0 or at >= x.dims[0]:
            return context.fail_with(b"gather index out of bounds: %ld of %ld", at, x.dims[0])
        total += string_length(x.data, at)
        if total > 0x7FFFFFFF:
            return context.fail(b"a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        return -1
    begin_strings(&writer, y.data, <int32_t>n)
    for i in range(n):
        append_string(&writer, x.data, index_at(positions.type, positions.data, i))
    return 0


cdef int prepare_gather_nd(Context context, Node* node) except -1:
    cdef int32_t[2 * MAX_RANK] dims
    cdef GatherData* data
    cdef int rank = 0
    cdef int depth, d
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* indices = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_gather_type(x, "gather_nd")
    want_position_type(indices, "gather_nd")
    want_bytes(x)
    if x.rank < 1:
        raise ValueError("Params must be at least a vector.")
    if indices.rank < 1:
        raise ValueError("Indices must be at least a vector.")
    depth = indices.dims[indices.rank - 1]
    if depth > x.rank:
        raise ValueError(f"Index innermost dimension length must be <= params rank: {depth} and {x.rank}.")
    adopt_type(y, x.type)
    for d in range(indices.rank - 1):
        dims[rank] = indices.dims[d]
        rank += 1
    for d in range(depth, x.rank):
        dims[rank] = x.dims[d]
        rank += 1
    context.set_shape(y, rank, dims)
    if count(x) == 0 and count(indices) > 0:
        raise LateRefusalError("NumElements(params) > 0 was not true")
    data = <GatherData*>context.persistent(sizeof(GatherData))
    data.depth = depth
    data.positions = count_range(indices, 0, indices.rank - 1)
    data.slice = count_range(x, depth, x.rank)
    for d in range(depth):
        data.steps[d] = count_range(x, d + 1, x.rank)
    node.data = data
    node.invoke = gather_nd_strings if x.type == STRING else gather_nd
    return 0


cdef int64_t far_step(int64_t at, int64_t step, int64_t elements) noexcept nogil:
    """at * step; one more than `elements` where it is more than these."""
    return elements + 1 if at > 0 and step > elements // at else at * step


cdef int64_t whole_offset(const GatherData* data, const Tensor* indices, int64_t i, int64_t elements) noexcept nogil:
    """Element where slice i starts; -1 when an index is negative or the slice does not lie inside."""
    cdef int64_t offset = 0
    cdef int64_t d, at
    for d in range(data.depth):
        at = index_at(indices.type, indices.data, i * data.depth + d)
        if at < 0 or at > elements or (at * data.steps[d] if elements <= INT32_MAX else far_step(at, data.steps[d], elements)) > elements - offset:
            return -1
        offset += at * data.steps[d]
    return offset if offset + data.slice <= elements else -1


cdef inline int64_t near_offset(const GatherData* data, const Index* indices, int64_t elements) noexcept nogil:
    """`whole_offset` of at most INT32_MAX elements: no product of two numbers that are not larger overflows."""
    cdef uint64_t offset = 0
    cdef uint64_t at, step
    cdef bint outside = False
    cdef int64_t d
    for d in range(data.depth):
        at = <uint64_t>loaded(indices + d)                 # a negative index is larger, too
        step = at * <uint64_t>data.steps[d]
        outside |= (at > <uint64_t>elements) | (step > <uint64_t>elements)
        offset += step
    return -1 if outside or <int64_t>offset + data.slice > elements else <int64_t>offset


cdef int gather_nd(Context context, Node* node) noexcept nogil:
    cdef const GatherData* data = <const GatherData*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* indices = context.input(node, 1)
    cdef char* y = <char*>context.output(node, 0).data
    cdef int64_t elements = count(x)
    cdef int64_t size = type_size(x.type)
    cdef int64_t slice = data.slice * size
    cdef bint near = elements <= INT32_MAX
    cdef int64_t i, offset
    for i in range(data.positions):
        if near and indices.type == INT32:
            offset = near_offset(data, <const int32_t*>indices.data + i * data.depth, elements)
        elif near and indices.type == INT64:
            offset = near_offset(data, <const int64_t*>indices.data + i * data.depth, elements)
        else:
            offset = whole_offset(data, indices, i, elements)
        if offset < 0:
            return context.fail_with(b"gather_nd index out of bounds (slice %ld of %ld)", i, data.positions)
        if slice == 4 == size:
            memcpy(y + i * 4, <const char*>x.data + offset * 4, 4)
        else:
            copy_run(y + i * slice, <const char*>x.data + offset * size, slice)
    return 0


cdef int gather_nd_strings(Context context, Node* node) noexcept nogil:
    cdef const GatherData* data = <const GatherData*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* indices = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef StringWriter writer
    cdef int64_t elements = count(x)
    cdef int64_t n = count(y)
    cdef int64_t total = strings_head(n)
    cdef int64_t i, j, offset
    if not has_strings(x.data, x.bytes, elements):
        return context.fail(b"the input does not hold the strings of its shape")
    for i in range(data.positions):
        offset = whole_offset(data, indices, i, elements)
        if offset < 0:
            return context.fail_with(b"gather_nd index out of bounds (slice %ld of %ld)", i, data.positions)
        for j in range(data.slice):
            total += string_length(x.data, offset + j)
        if total > 0x7FFFFFFF:
            return context.fail(b"a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        return -1
    begin_strings(&writer, y.data, <int32_t>n)
    for i in range(data.positions):
        offset = whole_offset(data, indices, i, elements)
        for j in range(data.slice):
            append_string(&writer, x.data, offset + j)
    return 0


cdef int prepare_scatter_nd(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* indices = operand(context, node, 0)
    cdef Tensor* updates = operand(context, node, 1)
    cdef Tensor* shape = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    if updates.type not in (FLOAT32, UINT8, BOOL, INT8, INT32, INT64):
        raise ValueError(f"Updates of type '{type_name(updates.type)}' are not supported by scatter_nd.")
    if indices.type != shape.type:
        raise ValueError("Indices and shape must have the same type.")
    if indices.type != INT32:
        raise ValueError(f"Indices of type '{type_name(indices.type)}' are not supported by scatter_nd.")
    if indices.rank < 1 or updates.rank < 1 or shape.rank != 1 or shape.dims[0] > MAX_RANK:
        raise ValueError("indices.DimensionsCount() >= 1 was not true, or updates or shape have a wrong rank")
    want_bytes(updates)
    adopt_type(y, updates.type)
    cdef GatherData* data = <GatherData*>context.persistent(sizeof(GatherData))
    data.combine = <Combine>add_truths if updates.type == BOOL else combine_of(updates.type)
    node.data = data
    if not is_constant(shape):
        context.set_dynamic(y)
        node.invoke = scatter_nd_dynamic
        return 0
    accept(plan_scatter(data, indices, updates, shape, dims))
    context.set_shape(y, shape.dims[0], dims)
    node.invoke = scatter_nd
    return 0


cdef const char* plan_scatter(
    GatherData* data, const Tensor* indices, const Tensor* updates, const Tensor* shape, int32_t* dims,
) noexcept nogil:
    cdef int outer = indices.rank - 1
    cdef int depth = indices.dims[outer]
    cdef int rank = shape.dims[0]
    cdef int d
    for d in range(rank):
        dims[d] = <int32_t>index_at(INT32, shape.data, d)
        if dims[d] < 0:
            return b"a dimension of the shape is negative"
    if bytes_of(updates.type, rank, dims) < 0:
        return b"the output of SCATTER_ND is too large"
    if updates.rank < outer or depth > rank or updates.rank - outer != rank - depth:
        return b"updates.DimensionsCount() - outer_dims != shape_shape.Dims(0) - ix"
    for d in range(outer):
        if indices.dims[d] != updates.dims[d]:
            return b"indices.Dims(i) != updates.Dims(i)"
    for d in range(outer, updates.rank):
        if updates.dims[d] != dims[depth + d - outer]:
            return b"updates.Dims(i + outer_dims) != shape_data[ix + i]"
    data.depth = depth
    data.positions = count_range(indices, 0, outer)
    data.slice = count_range(updates, outer, updates.rank)
    for d in range(depth - 1, -1, -1):
        data.steps[d] = data.slice if d == depth - 1 else data.steps[d + 1] * dims[d + 1]
    return NULL


cdef int scatter_nd_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* shape = context.input(node, 2)
    cdef const char* refusal = plan_scatter(
        <GatherData*>node.data, context.input(node, 0), context.input(node, 1), shape, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), shape.dims[0], dims) != 0:
        return -1
    return scatter_nd(context, node)


cdef int64_t wrapped_offset(const GatherData* data, const Tensor* indices, int64_t i, int64_t elements) noexcept nogil:
    """As `whole_offset`, but an index may be negative as long as the sum is not; the sum wraps at 32 bits."""
    cdef uint32_t offset = 0
    cdef int64_t d
    for d in range(data.depth):
        offset += <uint32_t>index_at(INT32, indices.data, i * data.depth + d) * <uint32_t>data.steps[d]
    if <int32_t>offset < 0 or <int32_t>offset + data.slice > elements:
        return -1
    return <int32_t>offset


cdef inline void add_value(int64_t size, bint real, const void* update, void* to) noexcept nogil:
    """A slice of one value: no call."""
    if real:
        (<float*>to)[0] = add_first((<const float*>update)[0], (<const float*>to)[0])
    elif size == 1:
        (<uint8_t*>to)[0] += (<const uint8_t*>update)[0]
    elif size == 4:
        (<uint32_t*>to)[0] += (<const uint32_t*>update)[0]
    else:
        (<uint64_t*>to)[0] += (<const uint64_t*>update)[0]


cdef int scatter_nd(Context context, Node* node) noexcept nogil:
    cdef const GatherData* data = <const GatherData*>node.data
    cdef Tensor* indices = context.input(node, 0)
    cdef Tensor* updates = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t elements = count(y)
    cdef int64_t size = type_size(y.type)
    cdef int64_t i, offset
    cdef char* to
    cdef const char* update
    if y.bytes > 0:
        memset(y.data, 0, y.bytes)
    for i in range(data.positions):
        offset = wrapped_offset(data, indices, i, elements)
        if offset < 0:
            return context.fail_with(b"scatter_nd index out of bounds (slice %ld of %ld)", i, data.positions)
        to = <char*>y.data + offset * size
        update = <const char*>updates.data + i * data.slice * size
        if data.slice == 1 and y.type != BOOL:
            add_value(size, y.type == FLOAT32, update, to)
        elif y.type == FLOAT32:                            # of two NaN the update's stays
            data.combine(ADD, update, 1, to, 1, to, 1, data.slice)
        else:
            data.combine(ADD, to, 1, update, 1, to, 1, data.slice)
    return 0


OPERATORS = {
    "GATHER": register(prepare_gather, version=7, reference_version=6),
    "GATHER_ND": register(prepare_gather_nd, version=5, reference_version=5),
    "SCATTER_ND": register(prepare_scatter_nd, version=1, reference_version=1),
}
