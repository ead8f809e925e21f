# tflm_cy: again=avx2
"""ADD, SUB, SQUARED_DIFFERENCE: two operands broadcast as numpy does, to any rank.

ADD, SUB: float32, int8, uint8, int16 (ADD: not quantized, too), int32, int64. SQUARED_DIFFERENCE: float32, int8, int32; int16 by TFLM.
- int32 and int64 wrap, then the fused activation clamps.
- int16 with option pot_scale_int16 (the schema's default is true; an absent options table means false) and three scales that are powers of
  two: one operand must have the output's scale, the other a smaller one; it is shifted, and the sum saturates. Else the general path.
- An output scale that is tiny beside the inputs' makes a multiplier above 1. ADD uses it, where TensorFlow aborts; SUB shifts by a negative
  count, as x86 does it: of equal shapes four values at once, as its vector instructions do it.
- A scale that is 0, infinite or NaN, which ends TensorFlow's process, is refused.

Source: LiteRT:tflite/kernels/{add,sub,squared_difference}.cc.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t

from tflm_cy.arithmetic.addition cimport (
    FourSum8, FourSum16, Shifted16, Sum8, Sum16, add_f32, add_whole, squared_difference_8, squared_difference_f32, squared_difference_s16,
    squared_difference_s32, sub_8_in_fours, sub_f32, sub_s16_in_fours, sub_whole, sum_8, sum_s16, sum_shifted_s16, wide_operand,
)
from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, Range64, activation_range_f32, quantize_multiplier
from tflm_cy.arithmetic.lookup cimport byte_value
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Multiplier, Rescale
from tflm_cy.arithmetic.optimized.addition cimport (
    BlockSum8, BlockSum16, RunRange, add_f32_neon, five_fold, operand_in_block, run_range, sub_f32_neon, sum_8_in_blocks,
    sum_s16_in_blocks,
)
from tflm_cy.arithmetic.rescale cimport power_of_two
from tflm_cy.arithmetic.signatures cimport BinaryKernel
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, INT32, INT64, UINT8, Tensor, type_name
from tflm_cy.ops.elementwise cimport (
    Binary, check_zero_point_0, is_quantized, prepare_binary, rescale_below_one, rescale_of, rescale_positive, rescale_shifting_right,
    second_first, share_values, sums_as_reference, type_limits, whole_range,
)
from tflm_cy.ops.fused_clamp cimport fused_clamp
from tflm_cy.ops.operand cimport adopt_type, check_same_type, operand
from tflm_cy.ops.value_space cimport unit_of
from tflm_cy.schema.option_slots cimport ADD_FUSED_ACTIVATION_FUNCTION, ADD_POT_SCALE_INT16
from tflm_cy.schema.table cimport table_bool, table_i8
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError

cdef double VALUE_TIME = 0.3     # nanoseconds
cdef double RESCALED_TIME = 4    # of a value that is rescaled by itself


cdef enum:
    SPREAD = 32                  # values in a block of the reference's sum, on x86-64


cdef struct SpreadSum:
    RunRange first
    BinaryKernel add


cdef int prepare_add(Context context, Node* node) except -1:
    return prepare_sum(context, node, 1, "ADD")


cdef int prepare_sub(Context context, Node* node) except -1:
    return prepare_sum(context, node, -1, "SUB")


cdef int prepare_sum(Context context, Node* node, int sign, str name) except -1:
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* b = operand(context, node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef int activation = table_i8(node.options, ADD_FUSED_ACTIVATION_FUNCTION, ACT_NONE)
    cdef Binary* op
    check_same_type(a, b, name)
    if y != NULL:
        adopt_type(y, b.type)
    op = prepare_binary(context, node, name, sign > 0 and second_first(node, a, b, False))
    if y.type == FLOAT32:
        if use_f32(context, node, op, activation, sign):
            return 0                                   # parts of a run have other tails
    elif y.type == INT32 or y.type == INT64 or (y.type == INT16 and not is_quantized(a) and sign > 0):
        if node.arithmetic == MICRO and sign > 0:
            activation = ACT_NONE                      # TFLM's ADD of int32 has none
        use_whole(context, op, y.type, activation, sign)
    elif y.type == INT8 or y.type == UINT8:
        use_8(context, op, a, b, y, activation, sign, node.arithmetic == OPTIMIZED and sign > 0, name)
    elif y.type == INT16:
        use_s16(context, op, a, b, y, activation, sign, node, name)
    elif sign > 0:
        raise LateRefusalError(f"Type {type_name(y.type)} is unsupported by op Add.")
    else:
        raise LateRefusalError(f"SUB: output type {type_name(y.type)} is not supported, requires float|uint8|int32 types.")
    if op.kernel == <BinaryKernel>sub_8_in_fours or op.kernel == <BinaryKernel>sub_s16_in_fours:
        return 0                                       # which take the whole
    if op.kernel == <BinaryKernel>sum_s16_in_blocks or (y.type == INT16 and op.kernel == kernels().elementwise_i16.sum_in_blocks):
        return 0
    return share_values(context, node, op, VALUE_TIME)


cdef bint use_f32(Context context, const Node* node, Binary* op, int activation, int sign) except -1:
    """Whether it must not be shared."""
    cdef const Tensor* y = context.output(node, 0)
    cdef RunRange* r = <RunRange*>context.persistent(sizeof(SpreadSum))
    r[0] = run_range(&op.plan, activation_range_f32(activation))
    op.params = r
    op.kernel = <BinaryKernel>add_f32 if sign > 0 else <BinaryKernel>sub_f32
    if kernels().float32.add != NULL and not AARCH64:                  # whose clamp is XNNPACK's: another zero
        op.kernel = kernels().float32.add if sign > 0 else kernels().float32.sub
    if not AARCH64 and sign > 0 and op.plan.b_repeats and op.plan.inner >= SPREAD and sums_as_reference(node, &op.plan):
        (<SpreadSum*>r).add = op.kernel
        op.kernel = <BinaryKernel>add_f32_spread
        return op.plan.loops == 0
    if AARCH64 and node.arithmetic == OPTIMIZED and r.range.low == 0 and (five_fold(&op.plan) if sign > 0 else is_one_run(op)):
        op.kernel = <BinaryKernel>add_f32_neon if sign > 0 else <BinaryKernel>sub_f32_neon
        return op.plan.loops == 0 and unit_of(y) % 4 != 0
    return False


cdef void add_f32_spread(const void* params, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """A sum of runs and values, one for each: the value's NaN comes out in whole blocks of a run, the run's in the tail."""
    cdef const SpreadSum* s = <const SpreadSum*>params
    cdef int64_t start = 0
    cdef int64_t some
    s.add(params, a, b, y, n)
    while start < n:
        some = min(s.first.run, n - start)
        if b[start] != b[start]:
            s.add(params, b + start, a + start, y + start, some - some % SPREAD)
        start += some


cdef int use_whole(Context context, Binary* op, int type, int activation, int sign) except -1:
    cdef Range64* limits = <Range64*>context.persistent(sizeof(Range64))
    op.params = limits
    if type == INT16:
        limits[0] = whole_range(activation, -32768, 32767)
        op.kernel = <BinaryKernel>add_whole[int16_t]
    elif type == INT32:
        limits[0] = whole_range(activation, INT32_MIN, INT32_MAX)
        op.kernel = <BinaryKernel>add_whole[int32_t] if sign > 0 else <BinaryKernel>sub_whole[int32_t]
    else:
        limits[0] = whole_range(activation, INT64_MIN, INT64_MAX)
        op.kernel = <BinaryKernel>add_whole[int64_t] if sign > 0 else <BinaryKernel>sub_whole[int64_t]
    return 0


cdef Rescale output_rescale(double real, int sign, str name) except *:
    """Above 1 ADD uses the multiplier, SUB shifts by a negative count."""
    return rescale_positive(real, name) if sign > 0 else rescale_shifting_right(real, name)


cdef bint in_fours(const Binary* op, double real) noexcept:
    """SUB of equal shapes, whose vector code shifts by a negative count in another way than its tail."""
    return real > 1 and is_one_run(op)


cdef bint is_one_run(const Binary* op) noexcept:
    """Shapes are equal."""
    return op.plan.loops == 0 and not op.plan.a_repeats and not op.plan.b_repeats


cdef int fill_operands(Sum8* s, const Tensor* a, const Tensor* b, int left, int sign, double twice, str name) except -1:
    """Both operands of a byte as they enter the sum; twice the larger scale is the unit."""
    cdef Rescale first = rescale_below_one(<double>a.scale / twice, name)
    cdef Rescale second = rescale_below_one(<double>b.scale / twice, name)
    cdef bint signed = a.type == INT8
    cdef int byte
    for byte in range(256):
        s.a[byte] = wide_operand(byte_value(byte, signed), a.zero_point, left, first)
        s.b[byte] = wide_operand(byte_value(byte, signed), b.zero_point, left, second)
        if sign < 0:
            s.b[byte] = <int32_t>(-<int64_t>s.b[byte])
    return 0


cdef int fill_blocks(BlockSum8* s, const Tensor* a, const Tensor* b, double twice, const Binary* op) except -1:
    cdef bint signed = a.type == INT8
    cdef bint repeats = op.plan.a_repeats or op.plan.b_repeats
    cdef Multiplier first = quantize_multiplier(<double>a.scale / twice)
    cdef Multiplier second = quantize_multiplier(<double>b.scale / twice)
    cdef int byte
    for byte in range(256):
        s.a[byte] = operand_in_block(byte_value(byte, signed) - a.zero_point, first, 20, signed and not repeats)
        s.b[byte] = operand_in_block(byte_value(byte, signed) - b.zero_point, second, 20, signed and not repeats)
    s.run = max(op.plan.inner, 1)
    s.block = 16 if signed and not repeats else 8
    s.signed = signed
    return 0


cdef int use_8(Context context, Binary* op, const Tensor* a, const Tensor* b, const Tensor* y, int activation, int sign,
               bint optimized, str name) except -1:
    cdef BlockSum8* blocks = <BlockSum8*>context.persistent(sizeof(BlockSum8) if optimized else sizeof(FourSum8))
    cdef Sum8* s = &blocks.tail
    cdef double twice, real
    twice = <double>(<float>2.0 * max(a.scale, b.scale))
    fill_operands(s, a, b, 20, sign, twice, name)
    real = twice / <double>(<float>(1 << 20) * y.scale)
    s.out = output_rescale(real, sign, name)
    s.zero_point = y.zero_point
    s.range = fused_clamp(activation, y)
    op.params = blocks
    op.kernel = <BinaryKernel>sum_8
    if optimized and five_fold(&op.plan):
        fill_blocks(blocks, a, b, twice, op)
        op.kernel = <BinaryKernel>sum_8_in_blocks
    if sign < 0 and in_fours(op, real):
        (<FourSum8*>blocks).out = quantize_multiplier(real)
        op.kernel = <BinaryKernel>sub_8_in_fours
    elif kernels().loops.fits != NULL and kernels().loops.fits(&s.out):
        op.kernel = kernels().loops.sum_8 if op.kernel == <BinaryKernel>sum_8 else kernels().loops.sum_8_in_blocks
    return 0


cdef int use_s16(Context context, Binary* op, const Tensor* a, const Tensor* b, const Tensor* y, int activation, int sign, Node* node,
                 str name) except -1:
    cdef BlockSum16* blocks
    cdef Sum16* s
    cdef Shifted16* p
    cdef int32_t a_log2 = 0
    cdef int32_t b_log2 = 0
    cdef int32_t y_log2 = 0
    cdef double twice, real
    cdef bint shifted = node.options != NULL and table_bool(node.options, ADD_POT_SCALE_INT16, True)
    check_zero_point_0(a, name)
    check_zero_point_0(b, name)
    check_zero_point_0(y, name)
    shifted = shifted and node.arithmetic != MICRO      # TFLM does not look at this option
    if shifted and power_of_two(a.scale, &a_log2) and power_of_two(b.scale, &b_log2) and power_of_two(y.scale, &y_log2):
        if max(a_log2, b_log2) != y_log2 or min(a_log2, b_log2) < y_log2 - 15:
            raise ValueError(f"{name}: of two int16 operands with power-of-two scales one must have the output's scale and the other a "
                             "smaller one (data->input1_shift == 0 || data->input2_shift == 0 was not true)")
        p = <Shifted16*>context.persistent(sizeof(Shifted16))
        p.a_shift = y_log2 - a_log2
        p.b_shift = y_log2 - b_log2
        p.b_sign = sign
        p.range = fused_clamp(activation, y)
        op.params = p
        op.kernel = <BinaryKernel>sum_shifted_s16
        return 0
    blocks = <BlockSum16*>context.persistent(sizeof(BlockSum16))
    s = &blocks.tail
    twice = <double>(<float>2.0 * max(a.scale, b.scale))
    s.a = rescale_below_one(<double>a.scale / twice, name)
    s.b = rescale_below_one(<double>b.scale / twice, name)
    real = twice / <double>(<float>(1 << 15) * y.scale)
    s.out = output_rescale(real, sign, name)
    s.b_sign = sign
    s.range = fused_clamp(activation, y)
    op.params = blocks
    op.kernel = <BinaryKernel>sum_s16
    if sign < 0 and in_fours(op, real):
        (<FourSum16*>blocks).out = quantize_multiplier(real)
        op.kernel = <BinaryKernel>sub_s16_in_fours
    if node.arithmetic == OPTIMIZED and sign > 0 and op.plan.loops == 0 and not op.plan.a_repeats and not op.plan.b_repeats:
        blocks.a = quantize_multiplier(<double>a.scale / twice)
        blocks.b = quantize_multiplier(<double>b.scale / twice)
        op.kernel = <BinaryKernel>sum_s16_in_blocks
    use_words(op, s, node)
    return 0


cdef int use_words(Binary* op, const Sum16* s, const Node* node) except -1:
    """The vector kernel of a sum of int16, where the multipliers allow it."""
    if node.arithmetic == MICRO or kernels().loops.fits == NULL:       # by TFLM's rules the output may lie over an input
        return 0
    if not (kernels().loops.fits(&s.a) and kernels().loops.fits(&s.b) and kernels().loops.fits(&s.out)):
        return 0
    if op.kernel == <BinaryKernel>sum_s16:
        op.kernel = kernels().elementwise_i16.sum
    elif op.kernel == <BinaryKernel>sum_s16_in_blocks:
        op.kernel = kernels().elementwise_i16.sum_in_blocks
    return 0


cdef int use_squared_difference_s16(Context context, Binary* op, const Tensor* a, const Tensor* b, const Tensor* y, str name) except -1:
    cdef Sum16* s = <Sum16*>context.persistent(sizeof(Sum16))
    cdef double twice = <double>(<float>2.0 * max(a.scale, b.scale))
    check_zero_point_0(a, name)
    check_zero_point_0(b, name)
    check_zero_point_0(y, name)
    s.a = rescale_below_one(<double>a.scale / twice, name)
    s.b = rescale_below_one(<double>b.scale / twice, name)
    s.out = rescale_of(twice * twice / <double>y.scale)
    s.range = type_limits(INT16)
    op.params = s
    op.kernel = <BinaryKernel>squared_difference_s16
    return 0


cdef int prepare_squared_difference(Context context, Node* node) except -1:
    cdef str name = "SQUARED_DIFFERENCE"
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* b = operand(context, node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef Binary* op
    cdef Sum8* s
    cdef double twice
    check_same_type(a, b, name)
    if y != NULL:
        adopt_type(y, b.type)
    op = prepare_binary(context, node, name)
    if y.type == FLOAT32:
        op.kernel = <BinaryKernel>squared_difference_f32
    elif y.type == INT32:
        op.kernel = <BinaryKernel>squared_difference_s32
        return share_values(context, node, op, VALUE_TIME)
    elif y.type == INT8:
        check_zero_point_fits(a, name)
        check_zero_point_fits(b, name)
        check_zero_point_fits(y, name)
        s = <Sum8*>context.persistent(sizeof(Sum8))
        twice = <double>(<float>2.0 * max(a.scale, b.scale))
        fill_operands(s, a, b, 7, -1, twice, name)
        s.out = rescale_positive(twice * twice / <double>(<float>(1 << 14) * y.scale), name)
        s.zero_point = y.zero_point
        s.range = type_limits(INT8)
        op.params = s
        op.kernel = <BinaryKernel>squared_difference_8
        return share_values(context, node, op, RESCALED_TIME)
    elif y.type == INT16 and node.arithmetic == MICRO:
        use_squared_difference_s16(context, op, a, b, y, name)
    else:
        raise LateRefusalError(f"SquaredDifference only supports FLOAT32 and INT32 now, got {type_name(y.type)}.")
    return 0


cdef int check_zero_point_fits(const Tensor* tensor, str name) except -1:
    if tensor.zero_point < -128 or tensor.zero_point > 127:
        raise ValueError(f"{name}: zero point {tensor.zero_point} of tensor {tensor.index} is outside of int8")
    return 0


OPERATORS = {
    "ADD": register(prepare_add, version=5),
    "SQUARED_DIFFERENCE": register(prepare_squared_difference, version=2),
    "SUB": register(prepare_sub, version=5),
}
