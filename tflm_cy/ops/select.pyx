# tflm_cy: again=avx2
"""SELECT and SELECT_V2: values of the second input where the condition holds, else of the third.

float32, float16, int8, uint8, int16, int32, uint32, int64, bool. SELECT wants two values of one shape and a condition of that shape, of one
value, or of one dimension (then it decides over the first dimension). SELECT_V2 broadcasts all three, to any rank.
- When all three and the output hold one value, the output keeps the shape that it has.

Source: LiteRT:tflite/kernels/select.cc.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.selection cimport Selection, plan_selection, select_values
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, Tensor, count, same_shape, shape_of,
    type_name,
)
from tflm_cy.ops.operand cimport adopt_type, check_same_type, expect_arity, operand

from tflm_cy.graph.refusal import LateRefusalError


cdef int prepare_select(Context context, Node* node) except -1:
    """The first version: of a condition of lower rank a dimension of 1 is made for every missing one."""
    cdef Tensor* c
    cdef Tensor* x
    cdef int32_t rows[16]
    cdef int d
    expect_arity(context, node, 3, 1)
    c = operand(context, node, 0)
    x = operand(context, node, 1)
    if same_shape(c, x) or c.rank == 0:
        return prepare_selection(context, node, c.rank, c.dims, True, "SELECT")
    if c.rank != 1 or x.rank == 0 or c.dims[0] != x.dims[0]:
        if only_single_values(context, node):
            return prepare_selection(context, node, 0, rows, True, "SELECT")
        raise ValueError(f"SELECT: a condition of shape {shape_of(c)} does not go with values of shape {shape_of(x)} "
                         "(data->has_low_rank_input_condition was not true)")
    for d in range(16):
        rows[d] = 1
    rows[0] = c.dims[0]
    return prepare_selection(context, node, x.rank, rows, True, "SELECT")


cdef int prepare_select_v2(Context context, Node* node) except -1:
    cdef Tensor* c
    expect_arity(context, node, 3, 1)
    c = operand(context, node, 0)
    return prepare_selection(context, node, c.rank, c.dims, False, "SELECT_V2")


cdef bint only_single_values(Context context, Node* node) noexcept nogil:
    """Whether all inputs and the output, as the file shapes it, hold one value each."""
    cdef int i
    for i in range(3):
        if context.input(node, i) == NULL or count(context.input(node, i)) != 1:
            return False
    return context.output(node, 0) != NULL and count(context.output(node, 0)) == 1


cdef int prepare_selection(Context context, Node* node, int c_rank, const int32_t* c_dims, bint one_shape, str name) except -1:
    cdef Tensor* c = operand(context, node, 0)
    cdef Tensor* x = operand(context, node, 1)
    cdef Tensor* z = operand(context, node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef Selection* plan = <Selection*>context.persistent(sizeof(Selection))
    cdef bint keep = only_single_values(context, node)
    cdef int ranks[3]
    cdef const int32_t* shapes[3]
    cdef int32_t dims[16]
    cdef int rank
    if c.type != BOOL:
        raise ValueError(f"{name}: the condition must be BOOL (input_condition->type != kTfLiteBool)")
    check_same_type(x, z, name)
    if one_shape and not keep and not same_shape(x, z):
        raise ValueError(f"{name}: values of shapes {shape_of(x)} and {shape_of(z)} (HaveSameShapes(input_x, input_y) was not true)")
    adopt_type(y, x.type)
    ranks[0] = c_rank
    ranks[1] = x.rank
    ranks[2] = z.rank
    shapes[0] = c_dims
    shapes[1] = x.dims
    shapes[2] = z.dims
    rank = plan_selection(plan, ranks, shapes, dims)
    if rank < 0:
        raise ValueError(f"{name}: Given shapes, {shape_of(c)}, {shape_of(x)} and {shape_of(z)}, are not broadcastable.")
    if keep:
        rank = y.rank
        memcpy(dims, y.dims, sizeof(dims))
    context.set_shape(y, rank, dims)
    node.data = plan
    if x.type == BOOL or x.type == INT8 or x.type == UINT8:
        node.invoke = invoke_8
    elif x.type in (INT16, UINT16, FLOAT16, BFLOAT16):
        node.invoke = invoke_16
    elif x.type == FLOAT32 or x.type == INT32 or x.type == UINT32:
        node.invoke = invoke_32
    elif x.type == INT64 or x.type == UINT64:
        node.invoke = invoke_64
    else:
        raise LateRefusalError(f"Does not support type other than bool|float|int, got {type_name(x.type)}")
    return 0


cdef int invoke_8(Context context, Node* node) noexcept nogil:
    select_values[uint8_t](<const Selection*>node.data, <const uint8_t*>context.input(node, 0).data,
                           <const uint8_t*>context.input(node, 1).data, <const uint8_t*>context.input(node, 2).data,
                           <uint8_t*>context.output(node, 0).data)
    return 0


cdef int invoke_16(Context context, Node* node) noexcept nogil:
    select_values[uint16_t](<const Selection*>node.data, <const uint8_t*>context.input(node, 0).data,
                            <const uint16_t*>context.input(node, 1).data, <const uint16_t*>context.input(node, 2).data,
                            <uint16_t*>context.output(node, 0).data)
    return 0


cdef int invoke_32(Context context, Node* node) noexcept nogil:
    select_values[uint32_t](<const Selection*>node.data, <const uint8_t*>context.input(node, 0).data,
                            <const uint32_t*>context.input(node, 1).data, <const uint32_t*>context.input(node, 2).data,
                            <uint32_t*>context.output(node, 0).data)
    return 0


cdef int invoke_64(Context context, Node* node) noexcept nogil:
    select_values[uint64_t](<const Selection*>node.data, <const uint8_t*>context.input(node, 0).data,
                            <const uint64_t*>context.input(node, 1).data, <const uint64_t*>context.input(node, 2).data,
                            <uint64_t*>context.output(node, 0).data)
    return 0


OPERATORS = {
    "SELECT": register(prepare_select, version=4, reference_version=2),
    "SELECT_V2": register(prepare_select_v2, version=2, reference_version=1),
}
