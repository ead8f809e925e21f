# tflm_cy: again=avx2
"""MUL, DIV, FLOOR_DIV, FLOOR_MOD, POW: two operands broadcast as numpy does, to any rank.

MUL: float32, int8, uint8, int16 (quantized or not), int32, uint32, int64; int16 fractions to int8. DIV: float32, int8, uint8, int16, int32.
FLOOR_DIV: float32, int8, int16, int32. FLOOR_MOD: these and int64. POW: float32, int32.
- Integers wrap, then a fused activation clamps. DIV truncates; its quantized form refuses a raw denominator of 0, not one at the zero
  point.
- FLOOR_DIV refuses a divisor of 0 on float32 too; DIV and FLOOR_MOD do not.
- The lowest integer divided by -1 wraps (TensorFlow's process dies of it in DIV and FLOOR_MOD).
- POW with one exponent that is (to 1e-5) a whole number of at least 1, of another shape than the base, multiplies instead of calling pow.

Source: LiteRT:tflite/kernels/{mul,div,floor_div,floor_mod,pow}.cc.
"""
from libc.math cimport fabsf, roundf
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_SIGN_BIT, Range64, activation_range_f32, quantize_multiplier
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multiplication cimport (
    Product, Quotient, div_f32, div_q, div_s32, floor_div_blocks, floor_div_f32, floor_div_whole, floor_mod_f32, floor_mod_whole,
    low_bits, mul_c64, mul_f32, mul_q, mul_s16_s8, mul_whole, pow_f32, pow_s32, power_by_products_f32, power_by_products_s32,
)
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.optimized.addition cimport RunRange, five_fold, run_range
from tflm_cy.arithmetic.optimized.multiplication cimport BlockProduct, mul_8_in_blocks, mul_f32_neon
from tflm_cy.arithmetic.signatures cimport BinaryKernel
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport COMPLEX64, FLOAT32, INT8, INT16, INT32, INT64, UINT8, UINT32, Tensor, count, same_shape, type_name
from tflm_cy.ops.elementwise cimport Binary, invoke_binary, is_quantized, prepare_binary, rescale_of, second_first, whole_range
from tflm_cy.ops.fused_clamp cimport fused_clamp
from tflm_cy.ops.operand cimport adopt_type, check_same_type, operand
from tflm_cy.schema.option_slots cimport MUL_FUSED_ACTIVATION_FUNCTION
from tflm_cy.schema.table cimport table_i8
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError


cdef Binary* prepare_operands(Context context, Node* node, Tensor** a, Tensor** b, Tensor** y, str name) except NULL:
    """Two inputs of one type, broadcast."""
    a[0] = operand(context, node, 0)
    b[0] = operand(context, node, 1)
    y[0] = context.output(node, 0)
    check_same_type(a[0], b[0], name)
    if y[0] != NULL and name != "MUL":
        adopt_type(y[0], a[0].type)
    return prepare_binary(context, node, name, name == "MUL" and second_first(node, a[0], b[0], True))


cdef RunRange* float_range(Context context, const Binary* op, int activation) except NULL:
    cdef RunRange* r = <RunRange*>context.persistent(sizeof(RunRange))
    r[0] = run_range(&op.plan, activation_range_f32(activation))
    return r


cdef Range64* integer_range(Context context, int activation, int64_t low, int64_t high) except NULL:
    cdef Range64* limits = <Range64*>context.persistent(sizeof(Range64))
    limits[0] = whole_range(activation, low, high)
    return limits


# ---- MUL
cdef int prepare_mul(Context context, Node* node) except -1:
    cdef Tensor* a = NULL
    cdef Tensor* b = NULL
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_operands(context, node, &a, &b, &y, "MUL")
    cdef int activation = table_i8(node.options, MUL_FUSED_ACTIVATION_FUNCTION, ACT_NONE)
    if y.type != a.type and not (a.type == INT16 and y.type == INT8):
        raise ValueError("Unsupported combination of input and output types in Mul.")
    if y.type == COMPLEX64 and <int>ACT_NONE < activation <= <int>ACT_SIGN_BIT:
        raise ValueError("Activation is not allowed for COMPLEX64 input.")
    if y.type == FLOAT32:
        op.params = float_range(context, op, activation)
        op.kernel = <BinaryKernel>mul_f32
        if kernels().float32.mul != NULL and not AARCH64:              # as in addition.pyx
            op.kernel = kernels().float32.mul
        if AARCH64 and node.arithmetic == OPTIMIZED and five_fold(&op.plan):
            op.kernel = <BinaryKernel>mul_f32_neon
    elif y.type == INT32:
        op.params = integer_range(context, activation, INT32_MIN, INT32_MAX)
        op.kernel = <BinaryKernel>mul_whole[int32_t]
    elif y.type == COMPLEX64:
        op.kernel = <BinaryKernel>mul_c64
    elif y.type == UINT32:
        op.params = integer_range(context, activation, 0, <int64_t>0xFFFFFFFF)
        op.kernel = <BinaryKernel>mul_whole[uint32_t]
    elif y.type == INT64:
        op.params = integer_range(context, activation, INT64_MIN, INT64_MAX)
        op.kernel = <BinaryKernel>mul_whole[int64_t]
    elif y.type == INT16 and not is_quantized(y):
        op.params = integer_range(context, activation, -32768, 32767)
        op.kernel = <BinaryKernel>mul_whole[int16_t]
    elif y.type == INT8 or y.type == UINT8 or y.type == INT16:
        use_quantized_mul(context, op, a, b, y, activation, node.arithmetic)
    else:
        raise LateRefusalError(f"Mul only supports FLOAT32, COMPLEX32, INT8, INT16, INT32, INT64 and quantized UINT8 now, got {type_name(y.type)}.")
    return 0


cdef int use_quantized_mul(Context context, Binary* op, const Tensor* a, const Tensor* b, const Tensor* y, int activation,
                           int arithmetic) except -1:
    cdef BlockProduct* blocks = <BlockProduct*>context.persistent(sizeof(BlockProduct))
    cdef Product* p = &blocks.product
    cdef double real = <double>(a.scale * b.scale / y.scale)
    cdef bint repeats = op.plan.a_repeats or op.plan.b_repeats
    if y.type == INT16 and not (a.zero_point == 0 and b.zero_point == 0 and y.zero_point == 0):
        raise LateRefusalError(f"op_params.input1_offset != 0.0: int16 wants zero points of 0, not {a.zero_point}, {b.zero_point}, {y.zero_point}")
    if arithmetic == MICRO:
        real = <double>a.scale * <double>b.scale / <double>y.scale
    p.rescale = rescale_of(real)
    blocks.rescale = p.rescale
    if quantize_multiplier(real).shift > 31:
        blocks.rescale.value = 0                       # vector shifts leave nothing
    p.a_zero_point = a.zero_point
    p.b_zero_point = b.zero_point
    p.y_zero_point = y.zero_point
    p.range = fused_clamp(activation, y)
    op.params = blocks
    blocks.run = max(op.plan.inner, 1)
    blocks.block = 16 if y.type == INT8 else 8
    blocks.cuts = y.type == UINT8 and repeats
    if a.type == INT16:
        op.kernel = <BinaryKernel>mul_q[int16_t] if y.type == INT16 else <BinaryKernel>mul_s16_s8
    elif kernels().loops.fits != NULL and kernels().loops.fits(&p.rescale) and quantize_multiplier(real).shift <= 31:
        op.kernel = kernels().loops.mul_8[y.type == UINT8]
        if arithmetic == OPTIMIZED and five_fold(&op.plan):
            op.kernel = kernels().loops.mul_8_in_blocks[y.type == UINT8]
    elif arithmetic == OPTIMIZED and five_fold(&op.plan):
        op.kernel = <BinaryKernel>mul_8_in_blocks[int8_t] if y.type == INT8 else <BinaryKernel>mul_8_in_blocks[uint8_t]
    else:
        op.kernel = <BinaryKernel>mul_q[int8_t] if y.type == INT8 else <BinaryKernel>mul_q[uint8_t]
    return 0


# ---- divisions: integer divisors are checked before each run
cdef enum:
    ZERO_BLOCK = 1024            # values

ctypedef fused Denominator:
    int8_t
    int16_t
    int32_t
    int64_t
    float


cdef inline bint any_zero(const Denominator* data, int64_t n) noexcept nogil:
    """Block by block, so that the compiler makes vectors of the loop."""
    cdef int64_t first = 0
    cdef int64_t end, i
    cdef int found = 0
    while first < n and not found:
        end = min(n, first + ZERO_BLOCK)
        for i in range(first, end):
            found |= data[i] == 0
        first = end
    return found != 0


cdef bint has_zero(const void* data, int type, int64_t n) noexcept nogil:
    if type == INT8 or type == UINT8:
        return any_zero(<const int8_t*>data, n)
    if type == INT16:
        return any_zero(<const int16_t*>data, n)
    if type == INT32:
        return any_zero(<const int32_t*>data, n)
    if type == INT64:
        return any_zero(<const int64_t*>data, n)
    return any_zero(<const float*>data, n)


cdef int invoke_div(Context context, Node* node) noexcept nogil:
    cdef const Tensor* b = context.input(node, 1)
    if has_zero(b.data, b.type, count(b)):
        return context.fail(b"DIV: a denominator is 0 (data[i] != 0 was not true)")
    return invoke_binary(context, node)


cdef int invoke_floor_division(Context context, Node* node) noexcept nogil:
    cdef const Tensor* b = context.input(node, 1)
    if has_zero(b.data, b.type, count(b)):
        return context.fail(b"Division by 0")
    return invoke_binary(context, node)


cdef int prepare_div(Context context, Node* node) except -1:
    cdef Tensor* a = NULL
    cdef Tensor* b = NULL
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_operands(context, node, &a, &b, &y, "DIV")
    cdef int activation = table_i8(node.options, MUL_FUSED_ACTIVATION_FUNCTION, ACT_NONE)
    if y.type == FLOAT32:
        op.params = float_range(context, op, activation)
        op.kernel = <BinaryKernel>div_f32
        return 0
    node.invoke = invoke_div
    if y.type == INT32:
        op.params = integer_range(context, activation, INT32_MIN, INT32_MAX)
        op.kernel = <BinaryKernel>div_s32
    elif y.type == INT8 or y.type == UINT8 or y.type == INT16:
        use_quantized_div(context, op, a, b, y, activation)
    else:
        raise LateRefusalError(f"Div only supports FLOAT32, INT32 and quantized INT8, UINT8, INT16 now, got {type_name(y.type)}.")
    return 0


cdef int use_quantized_div(Context context, Binary* op, const Tensor* a, const Tensor* b, const Tensor* y, int activation) except -1:
    cdef Quotient* q = <Quotient*>context.persistent(sizeof(Quotient))
    cdef Multiplier m = quantize_multiplier(<double>(a.scale / (b.scale * y.scale)))
    q.value = m.value
    q.shift = m.shift
    q.a_zero_point = a.zero_point
    q.b_zero_point = b.zero_point
    q.y_zero_point = y.zero_point
    q.range = fused_clamp(activation, y)
    op.params = q
    op.kernel = (
        <BinaryKernel>div_q[int8_t] if y.type == INT8 else <BinaryKernel>div_q[uint8_t] if y.type == UINT8 else <BinaryKernel>div_q[int16_t]
    )
    return 0


cdef int prepare_floor_div(Context context, Node* node) except -1:
    cdef Tensor* a = NULL
    cdef Tensor* b = NULL
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_operands(context, node, &a, &b, &y, "FLOOR_DIV")
    if y.type == FLOAT32:
        op.kernel = <BinaryKernel>floor_div_f32
    elif y.type == INT8:
        op.kernel = <BinaryKernel>floor_div_blocks[int8_t] if same_shape(a, b) else <BinaryKernel>floor_div_whole[int8_t]
    elif y.type == INT16:
        op.kernel = <BinaryKernel>floor_div_blocks[int16_t] if same_shape(a, b) else <BinaryKernel>floor_div_whole[int16_t]
    elif y.type == INT32:
        op.kernel = <BinaryKernel>floor_div_whole[int32_t]
    else:
        raise ValueError(f"Type '{type_name(y.type)}' is not supported by floor_div.")
    node.invoke = invoke_floor_division
    return 0


cdef int prepare_floor_mod(Context context, Node* node) except -1:
    cdef Tensor* a = NULL
    cdef Tensor* b = NULL
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_operands(context, node, &a, &b, &y, "FLOOR_MOD")
    if y.type == FLOAT32:
        op.kernel = <BinaryKernel>floor_mod_f32
        return 0
    if y.type == INT8:
        op.kernel = <BinaryKernel>floor_mod_whole[int8_t]
    elif y.type == INT16:
        op.kernel = <BinaryKernel>floor_mod_whole[int16_t]
    elif y.type == INT32:
        op.kernel = <BinaryKernel>floor_mod_whole[int32_t]
    elif y.type == INT64:
        op.kernel = <BinaryKernel>floor_mod_whole[int64_t]
    else:
        raise ValueError(f"Type '{type_name(y.type)}' is not supported by floor_mod.")
    node.invoke = invoke_floor_division
    return 0


# ---- POW
cdef int prepare_pow(Context context, Node* node) except -1:
    cdef Tensor* a = NULL
    cdef Tensor* b = NULL
    cdef Tensor* y = NULL
    cdef Binary* op = prepare_operands(context, node, &a, &b, &y, "POW")
    if y.type == FLOAT32:
        op.kernel = <BinaryKernel>pow_f32
        node.invoke = invoke_pow_f32
    elif y.type == INT32:
        op.kernel = <BinaryKernel>pow_s32
        node.invoke = invoke_pow_s32
    else:
        raise ValueError(f"Unsupported data type {type_name(y.type)}.")
    return 0


cdef int invoke_pow_f32(Context context, Node* node) noexcept nogil:
    cdef const Tensor* a = context.input(node, 0)
    cdef const Tensor* b = context.input(node, 1)
    cdef float exponent
    cdef int32_t whole
    if count(b) == 1 and not same_shape(a, b):
        exponent = (<const float*>b.data)[0]
        whole = low_bits(<double>roundf(exponent))
        if fabsf(exponent - <float>whole) < <float>1e-5 and whole >= 1:
            power_by_products_f32(<const float*>a.data, whole, <float*>context.output(node, 0).data, count(a))
            return 0
    return invoke_binary(context, node)


cdef int invoke_pow_s32(Context context, Node* node) noexcept nogil:
    cdef const Tensor* a = context.input(node, 0)
    cdef const Tensor* b = context.input(node, 1)
    cdef const int32_t* exponents = <const int32_t*>b.data
    cdef int64_t i
    for i in range(count(b)):
        if exponents[i] < 0:
            return context.fail(b"POW does not support negative value for int32.")
    if count(b) == 1 and not same_shape(a, b) and exponents[0] >= 1:
        power_by_products_s32(<const int32_t*>a.data, exponents[0], <int32_t*>context.output(node, 0).data, count(a))
        return 0
    return invoke_binary(context, node)


OPERATORS = {
    "DIV": register(prepare_div, version=2),
    "FLOOR_DIV": register(prepare_floor_div, version=3),
    "FLOOR_MOD": register(prepare_floor_mod, version=2),
    "MUL": register(prepare_mul, version=7),
    "POW": register(prepare_pow, version=1),
}
