"""STABLEHLO operators on values and slices.

| operator | types |
| --- | --- |
| STABLEHLO_ADD, MULTIPLY, MAXIMUM, MINIMUM | all numbers of whole bytes but complex and bfloat16, bool; inputs of one shape |
| STABLEHLO_AND | whole numbers and bool |
| STABLEHLO_SHIFT_LEFT | int8, int16, int32 |
| STABLEHLO_PAD | any type of whole bytes; a negative padding cuts off |
| STABLEHLO_GATHER, SCATTER | as ADD (GATHER without bool); int32 or int64 indices |

SCATTER does not call the subgraph that it names: its only operator says what to do.
REDUCE_WINDOW is in `reduce_window.pyx`, COMPOSITE and CASE in `control_flow.pyx`, RNG_BIT_GENERATOR in `random_numbers.pyx`.

Source: LiteRT:tflite/kernels/stablehlo_{elementwise,shift_left,pad,gather,scatter}.cc.
"""
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.combine cimport ADD, BITS_AND, MAXIMUM, MINIMUM, MULTIPLY, SHIFT_LEFT, TAKE, Combine
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.slices cimport IndexedSlices, Spread, gather_slices, scatter_slices, spread
from tflm_cy.arithmetic.truths cimport scatter_truth
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, count, same_shape, shape_of, type_name, type_size,
)
from tflm_cy.ops.combining cimport MOST_ATTRIBUTES, attribute, combine_of
from tflm_cy.ops.operand cimport adopt_type, expect_arity_between, operand, result, want_element, want_type_of
from tflm_cy.ops.value_space cimport Values, value_space, values_of_units
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport (
    STABLEHLO_GATHER_COLLAPSED_SLICE_DIMS, STABLEHLO_GATHER_INDEX_VECTOR_DIM, STABLEHLO_GATHER_OFFSET_DIMS,
    STABLEHLO_GATHER_SLICE_SIZES, STABLEHLO_GATHER_START_INDEX_MAP, STABLEHLO_PAD_EDGE_PADDING_HIGH,
    STABLEHLO_PAD_EDGE_PADDING_LOW, STABLEHLO_PAD_INTERIOR_PADDING, STABLEHLO_SCATTER_INDEX_VECTOR_DIM,
    STABLEHLO_SCATTER_INSERTED_WINDOW_DIMS, STABLEHLO_SCATTER_SCATTER_DIMS_TO_OPERAND_DIMS,
    STABLEHLO_SCATTER_UPDATE_COMPUTATION_SUBGRAPH_INDEX, STABLEHLO_SCATTER_UPDATE_WINDOW_DIMS,
)
from tflm_cy.schema.table cimport Vector, table_i32, table_i64, table_vector, vector_i64

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

COMBINATIONS = {
    "STABLEHLO_ADD": ADD, "STABLEHLO_AND": BITS_AND, "STABLEHLO_MAXIMUM": MAXIMUM, "STABLEHLO_MINIMUM": MINIMUM,
    "STABLEHLO_MULTIPLY": MULTIPLY, "STABLEHLO_SHIFT_LEFT": SHIFT_LEFT,
}
MISFIT = "the dimensions of slices, indices and windows do not fit each other"
UPDATES = ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM")      # what SCATTER may do

cdef struct Combined:
    int op
    Combine combine
    IndexedSlices slices
    Spread spread


cdef Combined* combined_data(Context context, Node* node, int type, int op) except NULL:
    cdef Combined* data = <Combined*>context.persistent(sizeof(Combined))
    data.op = op
    data.combine = combine_of(type)
    node.data = data
    return data


# ---------------------------------------------------------------- element by element

cdef int prepare_elementwise(Context context, Node* node) except -1:
    cdef int op = COMBINATIONS[context.operator_name(node)]
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* b = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(b, a)
    if op == SHIFT_LEFT:
        adopt_type(y, a.type)
    elif op == BITS_AND and a.type in (FLOAT16, FLOAT32, FLOAT64):
        raise ValueError(f"{type_name(a.type)} has no bits to combine")
    if op != SHIFT_LEFT and not same_shape(a, b):
        raise ValueError(f"input_tensor1->dims != input_tensor2->dims: {shape_of(a)} and {shape_of(b)}")
    want_type_of(y, a)
    combined_data(context, node, a.type, op)
    context.set_shape(y, a.rank, a.dims)
    node.invoke = elementwise
    if count(y) > 0 and op != SHIFT_LEFT:        # whose bytes depend on how many values there are
        context.parallelize(node, elementwise_range, value_space(y, 3), 0.1 * count(y))
    if op == SHIFT_LEFT and a.type != INT8 and a.type != INT16 and a.type != INT32:
        raise LateRefusalError(f"(Index Type: {type_name(a.type)}) currently not supported.")
    if count(b) < count(a):                      # of STABLEHLO_SHIFT_LEFT, whose shapes TensorFlow does not compare
        raise OwnRefusalError(f"STABLEHLO_SHIFT_LEFT: {count(b)} distances for {count(a)} values")
    if combine_of(a.type) == NULL:
        raise LateRefusalError(f"(Data Type: {type_name(a.type)}) currently not supported.")
    return 0


cdef int elementwise(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    if count(y) > 0:
        elementwise_range(context, node, 0, value_space(y, 3).units, 0)
    return 0


cdef void elementwise_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Of two NaN a sum or product of one dimension keeps the first; TensorFlow's loop over several exchanges floats on x86-64, but not
    float16."""
    cdef const Combined* data = <const Combined*>node.data
    cdef Tensor* y = context.output(node, 0)
    cdef bint exchanged = not AARCH64 and y.rank > 1 and (y.type == FLOAT32 or y.type == FLOAT64) and (data.op == ADD or data.op == MULTIPLY)
    cdef const char* a = <const char*>context.input(node, exchanged).data
    cdef const char* b = <const char*>context.input(node, not exchanged).data
    cdef Values values = values_of_units(y, first, end)
    cdef int64_t offset = values.first * type_size(y.type)
    data.combine(data.op, a + offset, 1, b + offset, 1, <char*>y.data + offset, 1, values.count)


# ---------------------------------------------------------------- attributes

cdef Vector attributes(const Node* node, int slot, str name) except *:
    cdef Vector vector = table_vector(node.options, slot)
    if vector.length > MOST_ATTRIBUTES:
        raise ValueError(f"Found too many dimensions in the input array of operation '{name}'.")
    return vector


cdef bint contains(Vector vector, int64_t value) noexcept nogil:
    cdef uint32_t i
    for i in range(vector.length):
        if vector_i64(vector, i) == value:
            return True
    return False


# ---------------------------------------------------------------- STABLEHLO_PAD

cdef int prepare_pad(Context context, Node* node) except -1:
    cdef Vector low, high, interior
    cdef int32_t[MAX_RANK] dims
    cdef Spread* s
    cdef int64_t size
    cdef int d
    cdef bint empty = False
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* value = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(value, x)
    want_type_of(y, x)
    want_element(x)
    low = attributes(node, STABLEHLO_PAD_EDGE_PADDING_LOW, "stablehlo.pad")
    high = attributes(node, STABLEHLO_PAD_EDGE_PADDING_HIGH, "stablehlo.pad")
    interior = attributes(node, STABLEHLO_PAD_INTERIOR_PADDING, "stablehlo.pad")
    if low.length != high.length or low.length != interior.length:
        raise ValueError("'stablehlo.pad' operation parameter array sizes are not consistent.")
    if not 1 <= x.rank <= MOST_ATTRIBUTES or count(value) < 1:
        raise ValueError(f"STABLEHLO_PAD wants 1 to {MOST_ATTRIBUTES} dimensions and a value, not {shape_of(x)} and {shape_of(value)}")
    s = &(<Combined*>context.persistent(sizeof(Combined))).spread
    s.rank = x.rank
    for d in range(x.rank):
        s.low[d] = attribute(low, d, 0)
        s.step[d] = attribute(interior, d, 0) + 1
        if s.step[d] < 1:
            raise ValueError("STABLEHLO_PAD: an interior padding is negative")
        s.dims[d] = x.dims[d]
        size = (s.dims[d] - 1) * s.step[d] + 1 + s.low[d] + attribute(high, d, 0)
        if size > INT32_MAX:
            raise ValueError(f"STABLEHLO_PAD: a dimension of {size} elements")
        empty = empty or size <= 0
        s.out_dims[d] = size
    for d in range(x.rank):
        s.out_dims[d] = 0 if empty else s.out_dims[d]
        dims[d] = <int32_t>s.out_dims[d]
    context.set_shape(y, x.rank, dims)
    node.data = s
    node.invoke = pad
    return 0


cdef int pad(Context context, Node* node) noexcept nogil:
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    spread(
        <const Spread*>node.data, <const char*>x.data, <const char*>context.input(node, 1).data, <char*>y.data, count(y) * type_size(x.type),
        type_size(x.type))
    return 0


# ---------------------------------------------------------------- STABLEHLO_GATHER, STABLEHLO_SCATTER

cdef int want_kernel(const Tensor* x, const Tensor* indices, bint bools) except -1:
    """When all else is known: TensorFlow looks at the type of the values when it computes."""
    if combine_of(x.type) == NULL or (x.type == BOOL and not bools):
        raise LateRefusalError(f"(Index Type: {type_name(indices.type)}, Data Type: {type_name(x.type)}) currently not supported.")
    return 0


cdef int plan_slices(IndexedSlices* s, const Tensor* x, const Tensor* indices, int walked_rank, Vector window_dims, Vector collapsed, Vector map,
                     int64_t vector_dim) except -1:
    """All but the sizes of the side that is walked."""
    cdef int64_t[MAX_RANK] steps
    cdef int64_t step = 1
    cdef int d, k
    cdef int kept = 0
    cdef int axis = 0
    cdef int batch = 0
    if indices.type != INT32 and indices.type != INT64:
        raise ValueError(f"(Index Type: {type_name(indices.type)}) currently not supported.")
    if not 0 <= vector_dim < indices.rank:
        raise OwnRefusalError(MISFIT)
    for d in range(x.rank):
        kept += not contains(collapsed, d)
    if kept + <int>collapsed.length != x.rank or <int>window_dims.length != kept:
        raise OwnRefusalError(MISFIT)
    if walked_rank - <int>window_dims.length != indices.rank - 1:
        raise OwnRefusalError(MISFIT)
    s.rank = x.rank
    s.walked_rank = walked_rank
    s.wide = indices.type == INT64
    s.mapped = <int>map.length
    for d in range(x.rank):
        s.dims[d] = x.dims[d]
    for k in range(s.mapped):
        if not 0 <= vector_i64(map, k) < x.rank:
            raise OwnRefusalError(MISFIT)
        s.map[k] = <int>vector_i64(map, k)
    for d in range(indices.rank - 1, -1, -1):
        steps[d] = step
        step *= indices.dims[d]
    s.vector_step = steps[vector_dim]
    for d in range(walked_rank):
        if contains(window_dims, d):
            while contains(collapsed, axis):
                axis += 1
            if axis >= x.rank:
                raise OwnRefusalError(MISFIT)
            s.window_axis[d] = axis
            axis += 1
            continue
        s.window_axis[d] = -1
        if batch == vector_dim:
            batch += 1
        if batch >= indices.rank:
            raise OwnRefusalError(MISFIT)
        s.walked[d] = indices.dims[batch]
        s.index_step[d] = steps[batch]
        batch += 1
    return 0


cdef int want_components(const Tensor* indices, Vector map, int64_t vector_dim) except -1:
    """TensorFlow reads what lies behind index vectors that are too short."""
    if map.length > <uint32_t>indices.dims[vector_dim]:
        raise OwnRefusalError(f"index vectors of {indices.dims[vector_dim]} components do not fill {map.length} dimensions")
    return 0


cdef int prepare_gather(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef IndexedSlices* s
    cdef Vector offsets, collapsed, sizes
    cdef int64_t vector_dim = table_i64(node.options, STABLEHLO_GATHER_INDEX_VECTOR_DIM, 0)
    cdef int d
    cdef int axis = 0
    cdef int batch = 0
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* indices = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(y, x)
    s = &(<Combined*>context.persistent(sizeof(Combined))).slices
    offsets = attributes(node, STABLEHLO_GATHER_OFFSET_DIMS, "stablehlo_gather")
    collapsed = attributes(node, STABLEHLO_GATHER_COLLAPSED_SLICE_DIMS, "stablehlo_gather")
    sizes = attributes(node, STABLEHLO_GATHER_SLICE_SIZES, "stablehlo_gather")
    for d in range(y.rank):
        if contains(offsets, d):
            while contains(collapsed, axis):
                axis += 1
            dims[d] = <int32_t>attribute(sizes, axis, 0)
            axis += 1
        else:
            batch += batch == vector_dim
            dims[d] = indices.dims[batch] if batch < indices.rank else 0
            batch += 1
        if dims[d] < 0:
            raise ValueError("a slice size is negative")
    context.set_shape(y, y.rank, dims)
    plan_slices(s, x, indices, y.rank, offsets, collapsed, attributes(node, STABLEHLO_GATHER_START_INDEX_MAP, "stablehlo_gather"), vector_dim)
    if sizes.length != <uint32_t>x.rank:
        raise LateRefusalError(f"{sizes.length} slice sizes for an operand {shape_of(x)}")
    for d in range(x.rank):
        s.last[d] = x.dims[d] - attribute(sizes, d, 1)
    for d in range(y.rank):
        s.walked[d] = dims[d]
    want_components(indices, attributes(node, STABLEHLO_GATHER_START_INDEX_MAP, "stablehlo_gather"), vector_dim)
    node.data = s
    node.invoke = gather
    return want_kernel(x, indices, False)


cdef int gather(Context context, Node* node) noexcept nogil:
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if not gather_slices(<const IndexedSlices*>node.data, <const char*>x.data, count(x), context.input(node, 1).data, <char*>y.data, count(y),
                         type_size(x.type)):
        return context.fail(b"STABLEHLO_GATHER: a slice lies outside of the operand")
    return 0


cdef int prepare_scatter(Context context, Node* node) except -1:
    cdef Combined* data
    cdef int d, op = TAKE
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* indices = operand(context, node, 1)
    cdef Tensor* updates = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    names = context.subgraph(table_i32(node.options, STABLEHLO_SCATTER_UPDATE_COMPUTATION_SUBGRAPH_INDEX, 0)).operators()
    if len(names) > 1:
        raise ValueError(f"Only one kernel allowed within the stablehlo region. ({len(names)}) kernels found.")
    if names:
        if names[0] not in UPDATES:
            raise ValueError(
                "Only update, Add, Multiply, Maximum and Minimum operations are currently supported for stablehlo.scatter.")
        op = COMBINATIONS[names[0]]
    want_type_of(y, x)
    want_type_of(updates, x)
    data = combined_data(context, node, x.type, op)
    if x.type == BOOL:
        data.combine = <Combine>scatter_truth
    context.set_shape(y, x.rank, x.dims)
    plan_slices(&data.slices, x, indices, updates.rank, attributes(node, STABLEHLO_SCATTER_UPDATE_WINDOW_DIMS, "stablehlo.scatter"),
                attributes(node, STABLEHLO_SCATTER_INSERTED_WINDOW_DIMS, "stablehlo.scatter"),
                attributes(node, STABLEHLO_SCATTER_SCATTER_DIMS_TO_OPERAND_DIMS, "stablehlo.scatter"),
                table_i64(node.options, STABLEHLO_SCATTER_INDEX_VECTOR_DIM, 0))
    for d in range(updates.rank):
        if data.slices.window_axis[d] < 0 and data.slices.walked[d] != updates.dims[d]:
            raise OwnRefusalError(f"updates {shape_of(updates)} do not belong to indices {shape_of(indices)}")
        data.slices.walked[d] = updates.dims[d]
    want_components(indices, attributes(node, STABLEHLO_SCATTER_SCATTER_DIMS_TO_OPERAND_DIMS, "stablehlo.scatter"),
                    table_i64(node.options, STABLEHLO_SCATTER_INDEX_VECTOR_DIM, 0))
    node.invoke = scatter
    return want_kernel(x, indices, True)


cdef int scatter(Context context, Node* node) noexcept nogil:
    cdef const Combined* data = <const Combined*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* updates = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    if x.bytes > 0:
        copy_bytes(y.data, x.data, x.bytes)
    if not scatter_slices(&data.slices, data.op, data.combine, context.input(node, 1).data, <const char*>updates.data, count(updates),
                          <char*>y.data, count(y), type_size(x.type)):
        return context.fail(b"STABLEHLO_SCATTER: an update lies before the beginning of the operand")
    return 0


OPERATORS = {
    "STABLEHLO_ADD": register(prepare_elementwise, version=1, reference_version=1),
    "STABLEHLO_AND": register(prepare_elementwise, version=1, reference_version=0),
    "STABLEHLO_GATHER": register(prepare_gather, version=1, reference_version=1),
    "STABLEHLO_MAXIMUM": register(prepare_elementwise, version=1, reference_version=1),
    "STABLEHLO_MINIMUM": register(prepare_elementwise, version=1, reference_version=1),
    "STABLEHLO_MULTIPLY": register(prepare_elementwise, version=1, reference_version=1),
    "STABLEHLO_PAD": register(prepare_pad, version=1, reference_version=1),
    "STABLEHLO_SCATTER": register(prepare_scatter, version=1, reference_version=1),
    "STABLEHLO_SHIFT_LEFT": register(prepare_elementwise, version=1, reference_version=0),
}
