"""REDUCE_WINDOW and STABLEHLO_REDUCE_WINDOW: the values of each window become one.

Types: bool, int8 to int64, uint8, float32, float64; rank 1 to 6. STABLEHLO_REDUCE_WINDOW does not call the subgraph that it names: its only
operator says what to do.

Source: LiteRT:tflite/kernels/{reduce_window,stablehlo_reduce_window}.cc.
"""
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t, uint64_t

from tflm_cy.arithmetic.combine cimport ADD, ALL, ANY, GREATEST, LEAST, MULTIPLY, Combine
from tflm_cy.arithmetic.slices cimport SHORT_RUN, Windows, choose_run, join_last_axes, reduce_windows, reduce_windows_by_axes, window_runs
from tflm_cy.graph.context cimport Context, Node, iteration_space, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, count, count_range, count_unsigned, is_constant,
    shape_of, type_name, type_size,
)
from tflm_cy.ops.combining cimport MOST_ATTRIBUTES, attribute, combine_of
from tflm_cy.ops.operand cimport expect_arity_between, index_at, operand, result, want_type_of
from tflm_cy.schema.option_slots cimport (
    REDUCE_WINDOW_REDUCE_FUNCTION, STABLEHLO_REDUCE_WINDOW_BASE_DILATIONS, STABLEHLO_REDUCE_WINDOW_BODY_SUBGRAPH_INDEX,
    STABLEHLO_REDUCE_WINDOW_PADDING, STABLEHLO_REDUCE_WINDOW_WINDOW_DILATIONS, STABLEHLO_REDUCE_WINDOW_WINDOW_DIMENSIONS,
    STABLEHLO_REDUCE_WINDOW_WINDOW_STRIDES,
)
from tflm_cy.schema.table cimport Vector, table_i32, table_vector

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    MOST_WINDOW_DIMS = 6
    FEW_TAPS = 12                # of windows in short rows: axis after axis would take longer

cdef struct Windowed:
    int op
    Combine combine
    Windows windows
    int bands                    # scratch of reduce_by_axes: outputs of one axis, and those of the axis before


cdef Windowed* prepare_windows(Context context, Node* node, int op) except NULL:
    cdef Windowed* data
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* first = operand(context, node, 1)
    want_type_of(result(context, node, 0), x)
    want_type_of(first, x)
    if not 1 <= x.rank <= MOST_WINDOW_DIMS or count(first) < 1:
        raise ValueError(f"windows want 1 to {MOST_WINDOW_DIMS} dimensions and a first value, not {shape_of(x)} and {shape_of(first)}")
    data = <Windowed*>context.persistent(sizeof(Windowed))
    data.op = op
    data.combine = combine_of(INT8 if x.type == BOOL else x.type)
    data.windows.rank = x.rank
    node.data = data
    return data


cdef int check_room(int type, int rank, const int64_t* dims) except -1:
    """TensorFlow makes room for the dilated and for the padded input, whose sizes are negative where there is too little to dilate or to cut."""
    cdef uint64_t n = 1
    cdef bint fits = True
    cdef int d
    for d in range(rank):
        fits = fits and count_unsigned(&n, dims[d])
    if not fits or not count_unsigned(&n, type_size(type)):
        raise ValueError(f"BytesRequired number of elements overflowed: {[dims[d] for d in range(rank)]}")
    return 0


cdef int finish_windows(Context context, Node* node, const int64_t* high) except -1:
    """The output's shape, when all but it is known."""
    cdef int32_t[MAX_RANK] dims
    cdef int64_t[MAX_RANK] dilated
    cdef int64_t[MAX_RANK] whole
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Windows* s = &(<Windowed*>node.data).windows
    cdef int64_t span, size
    cdef int64_t taps = 1
    cdef bint empty = False
    cdef bint padded = False
    cdef int d
    for d in range(x.rank):
        dilated[d] = (x.dims[d] - 1) * s.base[d] + 1
        whole[d] = dilated[d] + s.low[d] + high[d]
        padded = padded or s.low[d] != 0 or high[d] != 0
    check_room(x.type, x.rank, dilated)
    check_room(x.type, x.rank, whole)
    for d in range(x.rank):
        s.dims[d] = x.dims[d]
        taps *= s.window[d]
        if taps > INT32_MAX:
            raise ValueError("a window of more elements than can be counted")
        span = (s.window[d] - 1) * s.dilation[d] + 1
        size = whole[d]
        empty = empty or dilated[d] < 0 or size < 0 or (size == 0 and padded)
        s.out_dims[d] = 0 if size < span else (size - span) // s.stride[d] + 1
        if s.out_dims[d] > INT32_MAX:
            raise ValueError(f"an output of {s.out_dims[d]} elements in one dimension")
        dims[d] = <int32_t>s.out_dims[d]
    context.set_shape(y, x.rank, dims)
    node.invoke = reduce
    if empty:
        raise LateRefusalError("The padding specification of stablehlo.reduce_window gives an empty tensor.")
    if (<Windowed*>node.data).op == 0:
        raise LateRefusalError("unsupported reduction body.")
    if x.type not in (BOOL, INT8, INT16, INT32, INT64, UINT8, FLOAT32, FLOAT64):
        raise LateRefusalError(f"unsupported kernel data type ({type_name(x.type)}).")
    if count(y) == 0:
        return 0
    if not padded and has_no_order(<Windowed*>node.data, x.type) and (s.out_dims[s.rank - 1] >= SHORT_RUN or taps > FEW_TAPS):
        return prepare_axes(context, node, taps)
    join_last_axes(s)
    choose_run(s)
    context.parallelize(node, reduce_runs, iteration_space(window_runs(s), 1), 0.5 * taps * count(y))
    return 0


cdef bint has_no_order(const Windowed* data, int type) noexcept:
    """Whether the elements of a window may be combined in any order and grouping."""
    cdef int d
    for d in range(data.windows.rank):
        if data.windows.base[d] != 1 or data.windows.window[d] < 1:
            return False
    return data.op in (ALL, ANY) or (type != FLOAT32 and type != FLOAT64)


cdef int prepare_axes(Context context, Node* node, int64_t taps) except -1:
    cdef Windowed* data = <Windowed*>node.data
    cdef const Tensor* x = context.input(node, 0)
    data.bands = context.request_scratch(context.for_all_workers(2 * band_bytes(data, x)))
    node.invoke = reduce_all_axes
    return context.parallelize(
        node, reduce_by_axes, iteration_space(data.windows.out_dims[0], 1), 0.5 * taps * count(context.output(node, 0)))


cdef int64_t band_bytes(const Windowed* data, const Tensor* x) noexcept nogil:
    return data.windows.out_dims[0] * count_range(x, 1, x.rank) * type_size(x.type)


cdef int reduce_all_axes(Context context, Node* node) noexcept nogil:
    reduce_by_axes(context, node, 0, (<const Windowed*>node.data).windows.out_dims[0], 0)
    return 0


cdef void reduce_by_axes(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Outputs along the first axis."""
    cdef const Windowed* data = <const Windowed*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t band = band_bytes(data, x)
    cdef char* scratch = <char*>context.worker_scratch(data.bands, 2 * band, worker)
    reduce_windows_by_axes(
        &data.windows, data.op, data.combine, <const char*>x.data, <const char*>context.input(node, 1).data,
        <char*>y.data + first * count_range(y, 1, y.rank) * type_size(y.type), scratch, scratch + band, first, end, type_size(x.type))


cdef int reduce(Context context, Node* node) noexcept nogil:
    reduce_runs(context, node, 0, window_runs(&(<const Windowed*>node.data).windows), 0)
    return 0


cdef void reduce_runs(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const Windowed* data = <const Windowed*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if y.bytes > 0:
        reduce_windows(
            &data.windows, data.op, data.combine, <const char*>x.data, <const char*>context.input(node, 1).data, <char*>y.data, first, end,
            type_size(x.type))


cdef Vector per_dimension(const Node* node, int slot, uint32_t wanted) except *:
    """An attribute with a value for each dimension, or with none at all."""
    cdef Vector vector = table_vector(node.options, slot)
    if vector.length != 0 and vector.length != wanted:
        raise ValueError(f"an attribute of 'stablehlo.reduce_window' does not have the expected size ({vector.length} != {wanted}).")
    return vector


cdef int prepare_stablehlo_reduce_window(Context context, Node* node) except -1:
    cdef int64_t[MOST_WINDOW_DIMS] high
    cdef Vector window, stride, base, dilation, padding
    cdef Windows* s
    cdef uint32_t given
    cdef int d
    expect_arity_between(context, node, 2, 2, 1)
    names = context.subgraph(table_i32(node.options, STABLEHLO_REDUCE_WINDOW_BODY_SUBGRAPH_INDEX, 0)).operators()
    known = {"ADD": ADD, "MUL": MULTIPLY, "MULTIPLY": MULTIPLY, "MAXIMUM": GREATEST, "MINIMUM": LEAST, "LOGICAL_AND": ALL, "AND": ALL,
             "LOGICAL_OR": ANY}
    s = &prepare_windows(context, node, known.get(names[0].removeprefix("STABLEHLO_"), 0) if len(names) == 1 else 0).windows
    window = table_vector(node.options, STABLEHLO_REDUCE_WINDOW_WINDOW_DIMENSIONS)
    given = window.length
    if not 1 <= given <= MOST_ATTRIBUTES:
        raise ValueError("'window_dimensions' attribute is not optional for 'stablehlo.reduce_window' and cannot be empty.")
    stride = per_dimension(node, STABLEHLO_REDUCE_WINDOW_WINDOW_STRIDES, given)
    base = per_dimension(node, STABLEHLO_REDUCE_WINDOW_BASE_DILATIONS, given)
    dilation = per_dimension(node, STABLEHLO_REDUCE_WINDOW_WINDOW_DILATIONS, given)
    padding = per_dimension(node, STABLEHLO_REDUCE_WINDOW_PADDING, 2 * given)
    if given < <uint32_t>s.rank:
        raise ValueError(f"a window of {given} dimensions for an input of {s.rank}")
    for d in range(s.rank):
        s.window[d] = attribute(window, d, 1)
        s.stride[d] = attribute(stride, d, 1)
        s.base[d] = attribute(base, d, 1)
        s.dilation[d] = attribute(dilation, d, 1)
        s.low[d] = attribute(padding, 2 * d, 0)
        high[d] = attribute(padding, 2 * d + 1, 0)
        if min(s.window[d], s.stride[d], s.base[d], s.dilation[d]) < 1:
            raise ValueError("AllGtThanZero was not true: a window, stride or dilation is not positive")
    return finish_windows(context, node, high)


cdef int prepare_reduce_window(Context context, Node* node) except -1:
    cdef int64_t[MOST_WINDOW_DIMS] high
    cdef int function = table_i32(node.options, REDUCE_WINDOW_REDUCE_FUNCTION, 0)
    cdef Tensor* given
    cdef Windows* s
    cdef int d
    expect_arity_between(context, node, 5, 5, 1)
    s = &prepare_windows(context, node, (ADD, MULTIPLY, LEAST, GREATEST, ALL, ANY)[function - 1] if 1 <= function <= 6 else 0).windows
    for d in range(2, 5):
        given = operand(context, node, d)
        if not is_constant(given) or given.type != INT64 or <int64_t>given.bytes < 8 * count(given):
            raise ValueError(f"REDUCE_WINDOW: input {d} must be a constant with {s.rank} INT64 values")
        if count(given) < s.rank:
            context.set_shape(context.output(node, 0), s.rank, context.input(node, 0).dims)
            raise OwnRefusalError("REDUCE_WINDOW: a window, strides or dilations of fewer values than there are dimensions")
    for d in range(s.rank):
        s.window[d] = index_at(INT64, context.input(node, 2).data, d)
        s.stride[d] = index_at(INT64, context.input(node, 3).data, d)
        s.dilation[d] = index_at(INT64, context.input(node, 4).data, d)
        s.base[d] = 1
        high[d] = 0
        if not (0 <= s.window[d] <= INT32_MAX and 1 <= s.stride[d] <= INT32_MAX and 1 <= s.dilation[d] <= INT32_MAX):
            raise ValueError(f"REDUCE_WINDOW: a window of {s.window[d]}, stride {s.stride[d]}, dilation {s.dilation[d]}")
    return finish_windows(context, node, high)


OPERATORS = {
    "REDUCE_WINDOW": register(prepare_reduce_window, version=1, reference_version=1),
    "STABLEHLO_REDUCE_WINDOW": register(prepare_stablehlo_reduce_window, version=1, reference_version=1),
}
