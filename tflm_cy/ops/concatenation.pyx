"""CONCATENATION and PACK: tensors joined along an axis, an existing one or a new one.

CONCATENATION: float32, float16, bfloat16, uint8, int8, int16, int32, int64, bool, uint32, int4 of one rank; PACK:
float32, uint8, int8, int16, int32, uint32, int64 of one shape. int8 wants equal quantization everywhere, int16 zero
points of 0. Only uint8 CONCATENATION rescales: round(x * (s / S) + (-z * (s / S))) + Z, all in float32, half away
from zero, clamped; since a byte has 256 values that is a table per input. Constants are joined in prepare; scalars
can be concatenated only if they are constant, and give a vector.

Source: LiteRT:tflite/kernels/concatenation.cc, pack.cc; internal/reference/concatenation.h.
"""
from libc.math cimport roundf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_SIGN_BIT
from tflm_cy.arithmetic.rounding cimport cut32
from tflm_cy.graph.context cimport Context, InvokeFunction, Node, register
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, INT4, INT8, INT16, INT32, INT64, MAX_RANK, UINT8, UINT32,
    Tensor, count_range, is_constant, same_shape, shape_of, type_name,
)
from tflm_cy.ops.join cimport Join, Piece, add_piece, join_bytes, new_join, share_join
from tflm_cy.ops.operand cimport (
    computed_in_prepare, expect_arity_between, operand, result, same_quantization, want_bytes, want_element, want_same_quantization,
    want_symmetric, want_type_of,
)
from tflm_cy.schema.option_slots cimport CONCATENATION_AXIS, CONCATENATION_FUSED_ACTIVATION_FUNCTION, PACK_AXIS, PACK_VALUES_COUNT
from tflm_cy.schema.table cimport table_i8, table_i32


cdef int prepare_concatenation(Context context, Node* node) except -1:
    cdef int axis = table_i32(node.options, CONCATENATION_AXIS, 0)
    cdef int64_t total = 0
    cdef int64_t size
    cdef bint constant = True
    cdef Join* join
    cdef Tensor* t
    cdef int i, d
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 1, 1 << 30, 1)
    cdef Tensor* first = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if axis < 0:
        axis += first.rank
    if axis < 0 or (axis >= first.rank and not (first.rank == 0 and axis == 0)):
        raise ValueError(f"axis < t0->dims->size was not true: axis {axis} of rank {first.rank}")
    if <int>ACT_NONE < <int>table_i8(node.options, CONCATENATION_FUSED_ACTIVATION_FUNCTION, 0) <= <int>ACT_SIGN_BIT:
        raise ValueError("CONCATENATION takes no fused activation: params->activation != kTfLiteActNone")
    if first.type not in (FLOAT32, FLOAT16, BFLOAT16, UINT8, INT8, INT16, INT32, INT64, BOOL, UINT32, INT4):
        raise ValueError(f"Type '{type_name(first.type)}' is not supported currently by CONCATENATION")
    want_type_of(y, first)
    for i in range(node.input_count):
        t = operand(context, node, i)
        constant = constant and is_constant(t)
        want_type_of(t, first)
        want_bytes(t)
        if t.rank != first.rank:
            raise ValueError(f"t->dims->size != t0->dims->size: rank {t.rank} and {first.rank}")
        for d in range(first.rank):
            if d != axis and t.dims[d] != first.dims[d]:
                raise ValueError(f"shapes {shape_of(first)} and {shape_of(t)} differ outside of axis {axis}")
        if t.type == INT8:
            want_same_quantization(t, y)
        want_symmetric(t)
        total += t.dims[axis] if t.rank > 0 else 1
    want_symmetric(y)
    if first.rank == 0 and (not constant or first.type == INT4):
        raise ValueError("t0->dims->size > 0 was not true: scalars are concatenated only when they are constant")
    if total > 0x7FFFFFFF:
        raise ValueError(f"the axis becomes too long: {total}")
    for d in range(first.rank):
        dims[d] = first.dims[d]
    dims[axis] = <int32_t>total
    context.set_shape(y, max(first.rank, 1), dims)

    join = new_join(context, node)
    size = 1 if first.type == INT4 else want_element(first)
    join.rows = count_range(y, 0, axis)
    join.row = count_range(y, axis, y.rank) * size
    for i in range(node.input_count):
        t = context.input(node, i)
        add_piece(join, i, count_range(t, axis, t.rank) * size)
        if t.type == UINT8 and not same_quantization(t, y):
            join.pieces[i].table = rescaling_table(context, t, y)
    node.invoke = join_int4 if first.type == INT4 else join_bytes
    return finish(context, node, y, constant, axis + 1 == y.rank)


cdef uint8_t* rescaling_table(Context context, const Tensor* x, const Tensor* y) except NULL:
    """Every byte of x in the scale and zero point of y."""
    cdef uint8_t* table = <uint8_t*>context.persistent(256)
    cdef float inverse = <float>1 / y.scale
    cdef float scale = x.scale * inverse
    cdef float bias = <float>(-x.zero_point) * scale
    cdef float rounded
    cdef int32_t value
    cdef int v
    for v in range(256):
        rounded = roundf(<float>v * scale + bias)
        value = <int32_t>(<uint32_t>cut32(rounded) + <uint32_t>y.zero_point)
        table[v] = <uint8_t>max(min(255, value), 0)
    return table


cdef int prepare_pack(Context context, Node* node) except -1:
    cdef int axis = table_i32(node.options, PACK_AXIS, 0)
    cdef bint constant = False       # TensorFlow packs constants while invoking
    cdef Join* join
    cdef Tensor* t
    cdef int i, d
    cdef int32_t[MAX_RANK + 1] dims
    expect_arity_between(context, node, 1, 1 << 30, 1)
    cdef Tensor* first = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if table_i32(node.options, PACK_VALUES_COUNT, 0) != node.input_count:
        raise ValueError(f"NumInputs(node) != data->values_count: {node.input_count} inputs")
    if axis < 0:
        axis = counted_from_the_end(context, node, axis, first.rank + 1)
    if axis < 0 or axis > first.rank:
        raise ValueError(f"NumDimensions(input0) >= data->axis was not true: axis {axis}, rank {first.rank}")
    if first.type not in (FLOAT32, INT32, UINT32, UINT8, INT8, INT16, INT64):
        raise ValueError(f"Type '{type_name(first.type)}' is not supported by pack.")
    want_type_of(y, first)
    for i in range(node.input_count):
        t = operand(context, node, i)
        if not same_shape(t, first):
            raise ValueError(f"HaveSameShapes(input0, input) was not true: {shape_of(first)} and {shape_of(t)}")
        want_type_of(t, first)
        want_bytes(t)
        want_same_quantization(t, y)
    for d in range(first.rank + 1):
        dims[d] = node.input_count if d == axis else first.dims[d if d < axis else d - 1]
    context.set_shape(y, first.rank + 1, dims)
    join = new_join(context, node)
    join.rows = count_range(first, 0, axis)
    join.row = count_range(y, axis, y.rank) * want_element(first)
    for i in range(node.input_count):
        add_piece(join, i, join.row // node.input_count)
    node.invoke = join_bytes
    return finish(context, node, y, constant, axis + 1 == y.rank)


cdef int counted_from_the_end(Context context, const Node* node, int axis, int rank) except? -1:
    """What a negative axis means at the first rank: TensorFlow writes it over the option, and keeps it for other ranks (pack.cc, Prepare)."""
    cdef Subgraph graph = <Subgraph>context
    cdef bytearray kept = graph.shared.kept.setdefault((graph.index, node.index), bytearray(sizeof(int32_t)))
    cdef int32_t* added = <int32_t*><char*>kept
    if axis + added[0] < 0:
        added[0] += rank
    return axis + added[0]


cdef int finish(Context context, Node* node, Tensor* y, bint constant, bint of_positions) except -1:
    """Join constants at once. `of_positions`: the rows are the output's positions."""
    if constant:
        context.set_computed(y)
        if node.invoke(context, node) != 0:
            raise ValueError("constants could not be joined")
        node.invoke = computed_in_prepare
        return 0
    return share_join(context, node, of_positions) if node.invoke == <InvokeFunction>join_bytes else 0


cdef int join_int4(Context context, Node* node) noexcept nogil:
    """Two values a byte, low nibble first; pieces may begin in the middle of a byte."""
    cdef const Join* join = <const Join*>node.data
    cdef Tensor* y = context.output(node, 0)
    cdef uint8_t* to = <uint8_t*>y.data
    cdef const Piece* piece
    cdef const uint8_t* x
    cdef int64_t row, j, at, source
    cdef uint8_t nibble
    cdef int i
    if y.bytes > 0:
        memset(to, 0, y.bytes)
    for i in range(node.input_count):
        piece = &join.pieces[i]
        x = <const uint8_t*>context.input(node, i).data
        for row in range(join.rows):
            at = row * join.row + piece.offset
            source = row * piece.run
            for j in range(piece.run):
                nibble = (x[(source + j) >> 1] >> (4 * ((source + j) & 1))) & 15
                to[(at + j) >> 1] |= nibble << (4 * ((at + j) & 1))
    return 0


OPERATORS = {
    "CONCATENATION": register(prepare_concatenation, version=5, reference_version=5),
    "PACK": register(prepare_pack, version=4, reference_version=3),
}
