# tflm_cy: again=avx2
"""ARG_MAX and ARG_MIN of float32, int32, int8, uint8 and bool, as int32 or int64; the axis known before or while invoking.

Source: LiteRT:tflite/kernels/arg_min_max.cc.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.arg_reduction cimport MOST_COLUMNS, arg_columns, arg_row_f32
from tflm_cy.arithmetic.truths cimport arg_truths, has_odd_truths
from tflm_cy.graph.context cimport MICRO, Context, Node, position_space, register
from tflm_cy.graph.tensor cimport (
    BOOL,
    FLOAT32,
    INT8,
    INT32,
    INT64,
    MAX_RANK,
    UINT8,
    Tensor,
    count,
    count_range,
    is_constant,

)
from tflm_cy.ops.operand cimport adopt_type, expect_arity
from tflm_cy.schema.option_slots cimport ARG_MAX_OUTPUT_TYPE
from tflm_cy.schema.table cimport table_i8
from tflm_cy.simd.bytes cimport ByteKernels
from tflm_cy.simd.reductions cimport ReductionKernels
from tflm_cy.simd.table cimport kernels

cdef struct ArgReduction:
    int64_t outer
    int64_t size                 # along the axis
    int64_t inner
    bint largest
    bint known_axis
    const ByteKernels* fast
    const ReductionKernels* floats          # in lanes, in which a NaN can be lost; TFLM (NULL) goes one by one


cdef int prepare(Context context, Node* node, bint largest) except -1:
    cdef Tensor* x
    cdef Tensor* axis
    cdef Tensor* y
    cdef ArgReduction* a
    cdef int32_t[MAX_RANK] dims
    cdef int output_type = table_i8(node.options, ARG_MAX_OUTPUT_TYPE, 0)
    expect_arity(context, node, 2, 1)
    x, axis, y = context.input(node, 0), context.input(node, 1), context.output(node, 0)
    if count(axis) != 1:
        raise ValueError(f"NumElements(axis) != 1 ({count(axis)} != 1)")
    if axis.type != INT32 and axis.type != INT64:
        raise ValueError("axis->type == kTfLiteInt32 || axis->type == kTfLiteInt64 was not true.")
    if node.arithmetic == MICRO:
        output_type = INT32                      # whatever the option says
    if output_type != INT32 and output_type != INT64:
        raise ValueError(f"Unknown index output data type: {output_type}")
    if x.type not in (FLOAT32, INT32, INT8, UINT8, BOOL):
        raise ValueError(f"Unknown input type: {x.type}, only float32, int types and bool are supported")
    if x.rank < 1:
        raise ValueError("NumDimensions(input) >= 1 was not true.")
    adopt_type(y, output_type)
    a = <ArgReduction*>context.persistent(sizeof(ArgReduction))
    node.data = a
    a.largest = largest
    a.known_axis = is_constant(axis)
    a.fast = &kernels().bytes
    a.floats = &kernels().reductions if node.arithmetic != MICRO else NULL
    if a.known_axis:
        if not fill_shape(a, x, axis, dims):
            raise ValueError(f"axis out of range for an input of rank {x.rank}")
        if a.size == 0 and node.arithmetic == MICRO:
            raise ValueError("Cannot compute ArgMin/ArgMax over an empty axis.")
        context.set_shape(y, x.rank - 1, dims)
    else:
        context.set_dynamic(y)
    node.invoke = arg_reduce
    if a.known_axis and a.size > 0 and by_rows(a, x):
        return context.parallelize(node, compute_rows, position_space(a.outer, 1, 1), a.outer * (1 + 0.05 * a.size))
    return 0


cdef int prepare_max(Context context, Node* node) except -1:
    return prepare(context, node, True)


cdef int prepare_min(Context context, Node* node) except -1:
    return prepare(context, node, False)


cdef bint fill_shape(ArgReduction* a, const Tensor* x, const Tensor* axis_tensor, int32_t* dims) noexcept nogil:
    """False when the axis is out of range. `dims` becomes the output's shape."""
    cdef int64_t axis = (<const int32_t*>axis_tensor.data)[0] if axis_tensor.type == INT32 else (<const int64_t*>axis_tensor.data)[0]
    cdef int d
    if axis < -x.rank or axis >= x.rank:
        return False
    if axis < 0:
        axis += x.rank
    for d in range(x.rank - 1):
        dims[d] = x.dims[d] if d < axis else x.dims[d + 1]
    a.outer = count_range(x, 0, <int>axis)
    a.size = x.dims[axis]
    a.inner = count_range(x, <int>axis + 1, x.rank)
    return True


cdef inline bint by_rows(const ArgReduction* a, const Tensor* x) noexcept nogil:
    if a.inner != 1:
        return False
    if x.type == FLOAT32:
        return a.floats != NULL and a.floats.arg_rows != NULL
    return a.fast.arg_rows != NULL and (x.type == INT8 or x.type == UINT8 or x.type == BOOL)


cdef void compute_rows(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """A range of rows: the output's elements."""
    cdef ArgReduction* a = <ArgReduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef bint wide = y.type == INT64
    cdef void* to = <uint8_t*>y.data + first * (8 if wide else 4)
    if x.type == FLOAT32:
        a.floats.arg_rows(<const float*>x.data + first * a.size, end - first, a.size, a.largest, wide, to)
        return
    if x.type == BOOL and has_odd_truths(<const uint8_t*>x.data + first * a.size, (end - first) * a.size):
        arg_rows_of_truths(a, x, first, end, y)
        return
    a.fast.arg_rows(
        <const uint8_t*>x.data + first * a.size, end - first, a.size, (128 if x.type == INT8 else 0) ^ (0 if a.largest else 255), wide, to)


cdef void arg_rows_of_truths(const ArgReduction* a, const Tensor* x, int64_t first, int64_t end, Tensor* y) noexcept nogil:
    cdef int32_t index
    cdef int64_t row
    for row in range(first, end):
        arg_truths(<const uint8_t*>x.data + row * a.size, a.size, 1, 1, a.largest, &index)
        put(y, row, index)


cdef inline void put(Tensor* y, int64_t at, int32_t index) noexcept nogil:
    if y.type == INT32:
        (<int32_t*>y.data)[at] = index
    else:
        (<int64_t*>y.data)[at] = index


cdef int arg_reduce(Context context, Node* node) noexcept nogil:
    cdef ArgReduction* a = <ArgReduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t[MAX_RANK] dims
    cdef int32_t[MOST_COLUMNS] index
    cdef int64_t outer, inner, at
    cdef int columns, column
    cdef bint odd
    if not a.known_axis:
        if not fill_shape(a, x, context.input(node, 1), dims):
            return context.fail(b"axis out of range")
        if a.size == 0 and node.arithmetic == MICRO:
            return context.fail(b"Cannot compute ArgMin/ArgMax over an empty axis.")
        if context.resize(y, x.rank - 1, dims):
            return -1
    if a.size <= 1:                     # the first of nothing, or the only one
        memset(y.data, 0, y.bytes)
        return 0
    if a.outer == 0 or a.inner == 0:
        return 0
    if by_rows(a, x):
        compute_rows(context, node, 0, a.outer, 0)
        return 0
    odd = x.type == BOOL and has_odd_truths(x.data, count_range(x, 0, x.rank))
    for outer in range(a.outer):
        inner = 0
        while inner < a.inner:
            columns = <int>min(a.inner - inner, MOST_COLUMNS)
            at = outer * a.size * a.inner + inner
            if x.type == FLOAT32 and a.inner == 1 and a.floats != NULL:
                index[0] = arg_row_f32(<const float*>x.data + at, a.size, a.largest)
            elif x.type == FLOAT32:
                arg_columns(<const float*>x.data + at, a.size, a.inner, columns, a.largest, index)
            elif x.type == INT32:
                arg_columns(<const int32_t*>x.data + at, a.size, a.inner, columns, a.largest, index)
            elif odd:
                arg_truths(<const uint8_t*>x.data + at, a.size, a.inner, columns, a.largest, index)
            elif x.type == INT8:
                arg_columns(<const int8_t*>x.data + at, a.size, a.inner, columns, a.largest, index)
            else:
                arg_columns(<const uint8_t*>x.data + at, a.size, a.inner, columns, a.largest, index)
            for column in range(columns):
                put(y, outer * a.inner + inner + column, index[column])
            inner += columns
    return 0


OPERATORS = {
    "ARG_MAX": register(prepare_max, version=3, reference_version=2),
    "ARG_MIN": register(prepare_min, version=3, reference_version=2),
}
