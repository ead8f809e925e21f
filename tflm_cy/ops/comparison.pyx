# tflm_cy: again=avx2
"""Comparisons, MAXIMUM, MINIMUM, LOGICAL_AND, LOGICAL_OR: two operands broadcast as numpy does, to any rank.

Comparisons give bool: float32, float16, int16, int32, int64, quantized int8 and uint8; EQUAL and NOT_EQUAL bool and strings, byte for byte, too.
MAXIMUM, MINIMUM: float32, float16, int8, uint8, int16, int32, int64, raw values whatever the scales.
- int8 and uint8 are compared as real values (with a scale of 1 or more as nonsense that x86's shifts make); quantized
  int16 too by EQUAL and NOT_EQUAL, but raw, whatever the scales, by the others.
- TensorFlow Lite Micro has int16 in GREATER only, and compares with multipliers that nobody has set: never greater.
- MAXIMUM(NaN, x) is x, MAXIMUM(x, NaN) is NaN: the second operand unless the first is larger.

Source: LiteRT:tflite/kernels/{comparisons,maximum_minimum,logical}.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.comparison cimport (
    Fours, Scaled, Sides, compare_in_fours, equal, equal_8, equal_half, equal_scaled_s16, less, less_8, less_equal, less_equal_8, less_equal_half, less_half,
    logical_and, logical_or, maximum,
    maximum_half, minimum, minimum_half, never, not_equal, not_equal_8, not_equal_half, not_equal_scaled_s16, side_value,
)
from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.lookup cimport byte_value
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.signatures cimport BinaryKernel
from tflm_cy.arithmetic.strings cimport has_strings, same_string
from tflm_cy.arithmetic.truths cimport differing_bits, equal_truths, unequal_truths
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, STRING, UINT8, Tensor, count, type_name
from tflm_cy.ops.elementwise cimport Binary, is_quantized, prepare_binary, rescale_shifting_right
from tflm_cy.ops.operand cimport adopt_type, check_same_type, operand
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError

cdef enum Relation:
    EQUAL_TO = 0
    NOT_EQUAL_TO = 1
    LESS_THAN = 2
    LESS_OR_EQUAL = 3

cdef struct Kernels:             # of one relation, by type
    BinaryKernel f32
    BinaryKernel half
    BinaryKernel s16
    BinaryKernel s32
    BinaryKernel s64
    BinaryKernel quantized


cdef Kernels kernels_of(Relation relation) noexcept nogil:
    cdef Kernels k
    if relation == EQUAL_TO:
        k.f32 = <BinaryKernel>equal[float]
        k.half = <BinaryKernel>equal_half
        k.s16 = <BinaryKernel>equal[int16_t]
        k.s32 = <BinaryKernel>equal[int32_t]
        k.s64 = <BinaryKernel>equal[int64_t]
        k.quantized = <BinaryKernel>equal_8
    elif relation == NOT_EQUAL_TO:
        k.f32 = <BinaryKernel>not_equal[float]
        k.half = <BinaryKernel>not_equal_half
        k.s16 = <BinaryKernel>not_equal[int16_t]
        k.s32 = <BinaryKernel>not_equal[int32_t]
        k.s64 = <BinaryKernel>not_equal[int64_t]
        k.quantized = <BinaryKernel>not_equal_8
    elif relation == LESS_THAN:
        k.f32 = <BinaryKernel>less[float]
        k.half = <BinaryKernel>less_half
        k.s16 = <BinaryKernel>less[int16_t]
        k.s32 = <BinaryKernel>less[int32_t]
        k.s64 = <BinaryKernel>less[int64_t]
        k.quantized = <BinaryKernel>less_8
    else:
        k.f32 = <BinaryKernel>less_equal[float]
        k.half = <BinaryKernel>less_equal_half
        k.s16 = <BinaryKernel>less_equal[int16_t]
        k.s32 = <BinaryKernel>less_equal[int32_t]
        k.s64 = <BinaryKernel>less_equal[int64_t]
        k.quantized = <BinaryKernel>less_equal_8
    return k


cdef int prepare_comparison(Context context, Node* node, Relation relation, bint swapped, str name) except -1:
    """swapped: the second input is the left side."""
    cdef Tensor* a = operand(context, node, 1 if swapped else 0)
    cdef Tensor* b = operand(context, node, 0 if swapped else 1)
    cdef Tensor* y = context.output(node, 0)
    cdef Kernels by_type = kernels_of(relation)
    cdef Binary* op
    check_same_type(a, b, name)
    if a.type == STRING and relation != EQUAL_TO and relation != NOT_EQUAL_TO:
        raise ValueError(f"{name}: input1->type != kTfLiteString was not true")
    if y != NULL:
        adopt_type(y, BOOL)
    op = prepare_binary(context, node, name, swapped)
    if a.type == STRING and node.arithmetic != MICRO:
        node.invoke = equal_strings if relation == EQUAL_TO else unequal_strings
    elif a.type == FLOAT32:
        op.kernel = by_type.f32
    elif a.type == FLOAT16:
        op.kernel = by_type.half
    elif a.type == INT16 and is_quantized(a) and (relation == EQUAL_TO or relation == NOT_EQUAL_TO):
        use_scaled(context, op, a, b, name)
        op.kernel = <BinaryKernel>equal_scaled_s16 if relation == EQUAL_TO else <BinaryKernel>not_equal_scaled_s16
        use_fours(context, node, op, a, b, relation)
    elif a.type == INT16 and node.arithmetic == MICRO:
        op.kernel = <BinaryKernel>never
    elif a.type == INT16:
        op.kernel = by_type.s16
    elif a.type == INT32:
        op.kernel = by_type.s32
    elif a.type == INT64:
        op.kernel = by_type.s64
    elif a.type == INT8 or a.type == UINT8:
        use_sides(context, op, a, b, name)
        op.kernel = by_type.quantized
        use_fours(context, node, op, a, b, relation)
    elif a.type == BOOL and relation == EQUAL_TO:
        op.kernel = <BinaryKernel>equal[uint8_t] if node.arithmetic == MICRO else <BinaryKernel>equal_truths
    elif a.type == BOOL and relation == NOT_EQUAL_TO:
        op.kernel = <BinaryKernel>differing_bits if node.arithmetic == MICRO else <BinaryKernel>unequal_truths
    else:
        raise LateRefusalError(f"{name}: Does not support type {type_name(a.type)}, requires float|int|uint8")
    return 0


cdef int equal_strings(Context context, Node* node) noexcept nogil:
    return compare_strings(context, node, True)


cdef int unequal_strings(Context context, Node* node) noexcept nogil:
    return compare_strings(context, node, False)


cdef int compare_strings(Context context, const Node* node, bint wanted) noexcept nogil:
    """One by one, along the runs and loops of the plan."""
    cdef const Binary* op = <const Binary*>node.data
    cdef const Tensor* a = context.input(node, 0)
    cdef const Tensor* b = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t i, outer, at_a, at_b
    cdef int d
    if count(y) == 0:
        return 0
    if not has_strings(a.data, a.bytes, count(a)) or not has_strings(b.data, b.bytes, count(b)):
        return context.fail(b"an input does not hold the strings of its shape")
    for i in range(count(y)):
        outer = i // op.plan.inner
        at_a = 0 if op.plan.a_repeats else i % op.plan.inner
        at_b = 0 if op.plan.b_repeats else i % op.plan.inner
        for d in range(op.plan.loops - 1, -1, -1):
            at_a += outer % op.plan.count[d] * op.plan.a_step[d]
            at_b += outer % op.plan.count[d] * op.plan.b_step[d]
            outer //= op.plan.count[d]
        (<uint8_t*>y.data)[i] = same_string(a.data, at_a, b.data, at_b) == wanted
    return 0


cdef int fill_side(int32_t* side, const Tensor* x, str name) except -1:
    cdef Rescale scale
    cdef int byte
    scale = rescale_shifting_right(x.scale, name)
    for byte in range(256):
        side[byte] = side_value(byte_value(byte, x.type == INT8), x.zero_point, scale)
    return 0


cdef int use_sides(Context context, Binary* op, const Tensor* a, const Tensor* b, str name) except -1:
    cdef Sides* sides = <Sides*>context.persistent(sizeof(Sides))
    fill_side(sides.a, a, name)
    fill_side(sides.b, b, name)
    op.params = sides
    return 0


cdef int use_fours(Context context, const Node* node, Binary* op, const Tensor* a, const Tensor* b, Relation relation) except -1:
    """Where a scale is above 1, for equal shapes: TensorFlow's vector code shifts by a negative count in another way than its tail."""
    cdef Fours* fours
    if op.plan.loops > 0 or op.plan.a_repeats or op.plan.b_repeats or max(a.scale, b.scale) <= 1 or node.arithmetic == MICRO:
        return 0
    fours = <Fours*>context.persistent(sizeof(Fours))
    fours.a, fours.b = quantize_multiplier(a.scale), quantize_multiplier(b.scale)
    fours.a_zero_point, fours.b_zero_point = a.zero_point, b.zero_point
    fours.orders = relation == LESS_THAN or relation == LESS_OR_EQUAL
    fours.swapped = relation == LESS_OR_EQUAL
    fours.negated = relation == NOT_EQUAL_TO or relation == LESS_OR_EQUAL
    op.params = fours
    op.kernel = <BinaryKernel>compare_in_fours[int8_t] if a.type == INT8 else (
        <BinaryKernel>compare_in_fours[uint8_t] if a.type == UINT8 else <BinaryKernel>compare_in_fours[int16_t])
    return 0


cdef int use_scaled(Context context, Binary* op, const Tensor* a, const Tensor* b, str name) except -1:
    cdef Scaled* scaled = <Scaled*>context.persistent(sizeof(Scaled))
    scaled.a = rescale_shifting_right(a.scale, name)
    scaled.b = rescale_shifting_right(b.scale, name)
    scaled.a_zero_point = a.zero_point
    scaled.b_zero_point = b.zero_point
    op.params = scaled
    return 0


cdef int prepare_equal(Context context, Node* node) except -1:
    return prepare_comparison(context, node, EQUAL_TO, False, "EQUAL")


cdef int prepare_not_equal(Context context, Node* node) except -1:
    return prepare_comparison(context, node, NOT_EQUAL_TO, False, "NOT_EQUAL")


cdef int prepare_less(Context context, Node* node) except -1:
    return prepare_comparison(context, node, LESS_THAN, False, "LESS")


cdef int prepare_less_equal(Context context, Node* node) except -1:
    return prepare_comparison(context, node, LESS_OR_EQUAL, False, "LESS_EQUAL")


cdef int prepare_greater(Context context, Node* node) except -1:
    return prepare_comparison(context, node, LESS_THAN, True, "GREATER")


cdef int prepare_greater_equal(Context context, Node* node) except -1:
    return prepare_comparison(context, node, LESS_OR_EQUAL, True, "GREATER_EQUAL")


# ---- MAXIMUM, MINIMUM
cdef Binary* prepare_extremum(Context context, Node* node, Tensor** y, str name) except NULL:
    cdef Tensor* a = operand(context, node, 0)
    y[0] = context.output(node, 0)
    check_same_type(a, operand(context, node, 1), name)
    if y[0] != NULL:
        adopt_type(y[0], a.type)
    return prepare_binary(context, node, name)


cdef int prepare_maximum(Context context, Node* node) except -1:
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_extremum(context, node, &y, "MAXIMUM")
    if y.type == FLOAT32:
        op.kernel = <BinaryKernel>maximum[float]
        if kernels().loops.maximum != NULL:
            op.kernel = kernels().loops.maximum
    elif y.type == FLOAT16:
        op.kernel = <BinaryKernel>maximum_half
    elif y.type == INT8:
        op.kernel = <BinaryKernel>maximum[int8_t]
    elif y.type == UINT8:
        op.kernel = <BinaryKernel>maximum[uint8_t]
    elif y.type == INT16:
        op.kernel = <BinaryKernel>maximum[int16_t]
    elif y.type == INT32:
        op.kernel = <BinaryKernel>maximum[int32_t]
    elif y.type == INT64:
        op.kernel = <BinaryKernel>maximum[int64_t]
    else:
        raise LateRefusalError(f"Type {type_name(y.type)} is currently not supported by Maximum.")
    return 0


cdef int prepare_minimum(Context context, Node* node) except -1:
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_extremum(context, node, &y, "MINIMUM")
    if y.type == FLOAT32:
        op.kernel = <BinaryKernel>minimum[float]
        if kernels().loops.minimum != NULL:
            op.kernel = kernels().loops.minimum
    elif y.type == FLOAT16:
        op.kernel = <BinaryKernel>minimum_half
    elif y.type == INT8:
        op.kernel = <BinaryKernel>minimum[int8_t]
    elif y.type == UINT8:
        op.kernel = <BinaryKernel>minimum[uint8_t]
    elif y.type == INT16:
        op.kernel = <BinaryKernel>minimum[int16_t]
    elif y.type == INT32:
        op.kernel = <BinaryKernel>minimum[int32_t]
    elif y.type == INT64:
        op.kernel = <BinaryKernel>minimum[int64_t]
    else:
        raise LateRefusalError(f"Type {type_name(y.type)} is currently not supported by Maximum.")
    return 0


# ---- LOGICAL_AND, LOGICAL_OR
cdef int prepare_logical(Context context, Node* node, BinaryKernel kernel, str name) except -1:
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    check_same_type(a, operand(context, node, 1), name)
    if a.type != BOOL:
        raise ValueError(f"Type {type_name(a.type)} is unsupported by op LogicalOp.")
    if y != NULL:
        adopt_type(y, BOOL)
    prepare_binary(context, node, name).kernel = kernel
    return 0


cdef int prepare_logical_and(Context context, Node* node) except -1:
    return prepare_logical(context, node, <BinaryKernel>logical_and, "LOGICAL_AND")


cdef int prepare_logical_or(Context context, Node* node) except -1:
    return prepare_logical(context, node, <BinaryKernel>logical_or, "LOGICAL_OR")


OPERATORS = {
    "EQUAL": register(prepare_equal, version=5),
    "GREATER": register(prepare_greater, version=2),
    "GREATER_EQUAL": register(prepare_greater_equal, version=3),
    "LESS": register(prepare_less, version=3),
    "LESS_EQUAL": register(prepare_less_equal, version=2),
    "LOGICAL_AND": register(prepare_logical_and, version=1),
    "LOGICAL_OR": register(prepare_logical_or, version=1),
    "MAXIMUM": register(prepare_maximum, version=4),
    "MINIMUM": register(prepare_minimum, version=4),
    "NOT_EQUAL": register(prepare_not_equal, version=4),
}
