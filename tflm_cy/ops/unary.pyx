# tflm_cy: again=avx2
"""Mathematical functions of one value: ABS NEG EXP LOG SQRT RSQRT SIN COS FLOOR CEIL ROUND SQUARE LOGICAL_NOT.

float32 all but LOGICAL_NOT (bool). ABS: int8, int16 (quantized or not), int32. NEG: float16, int8, int16, int32, int64, raw values.
EXP, LOG, SQRT, RSQRT: int8, int16. FLOOR, ROUND: float16. CEIL and ROUND are not in BUILTIN_REF.
- int8 is a table of 256 bytes, int16 EXP, LOG and RSQRT an interpolated one of 513 entries, both filled in prepare.
- SQRT and RSQRT refuse a quantized value below the zero point; RSQRT of the zero point is the type's largest value.
- LOG of what is not positive is the type's lowest value.

Source: LiteRT:tflite/kernels/{elementwise,exp,neg,floor,ceil,round}.cc.
"""
from libc.math cimport sqrt, sqrtf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.fixed_point cimport Range32, quantize_multiplier
from tflm_cy.arithmetic.lookup cimport TABLE_16, Function, byte_value, fill_16, fill_8, lookup_16
from tflm_cy.arithmetic.micro.unary cimport rsqrt_s16
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.unary cimport (
    Abs, Sqrt, abs_f32, abs_q, abs_s16, abs_whole, ceil_f32, cos_f32, exp_f32, floor_f32, floor_half, log_f32, neg_f32, neg_half, neg_whole,
    not_bool, round_f32, round_half, rsqrt_f32, rsqrt_s8, sin_f32, sqrt_f32, sqrt_q, sqrt_s16, square_f32, table_exp, table_log,
    table_rsqrt,
)
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, Tensor, type_name
from tflm_cy.ops.elementwise cimport (
    Unary, check_zero_point_0, gives_zeros, is_quantized, prepare_unary, rescale_of, type_limits, use_lookup, without_scales,
)
from tflm_cy.ops.operand cimport adopt_type, check_same_type, operand
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError

ctypedef fused stored:
    int8_t
    int16_t

cdef struct Root:                # SQRT and RSQRT of quantized values
    Unary unary                  # first: node.data is this one
    int32_t lowest
    float scale
    const char* message


cdef Unary* prepare_function(Context context, Node* node, Tensor** x, Tensor** y, str name, bint bare=False) except NULL:
    """One input and one output of its type and shape; one scale each on int8 and (where it is quantized) int16. bare: or none at all."""
    cdef Unary* op
    x[0] = operand(context, node, 0)
    y[0] = context.output(node, 0)
    if y[0] == NULL:
        raise ValueError(f"{name}: the output is missing")
    check_same_type(x[0], y[0], name)
    op = prepare_unary(context, node)
    if bare and without_scales(node, x[0], y[0]):
        return op
    if x[0].type == INT8 or (x[0].type == INT16 and is_quantized(x[0])):
        check_scales(x[0], y[0], name)
    if x[0].type == INT16 and is_quantized(x[0]):
        check_zero_point_0(x[0], name)
        check_zero_point_0(y[0], name)
    return op


cdef int check_scales(const Tensor* x, const Tensor* y, str name) except -1:
    """Both must be quantized; the scales' values count later."""
    if x.scale_count == 0 or y.scale_count == 0:
        raise ValueError(f"{name}: {type_name(x.type)} wants a scale of input and output (quantization.type == kTfLiteAffineQuantization)")
    return 0


cdef int unsupported(const Tensor* x, str name) except -1:
    raise ValueError(f"Type {type_name(x.type)} is unsupported by op {name}.")


cdef int use_table(Context context, const Node* node, Unary* op, Function function, float parameter, const Tensor* x, const Tensor* y) except -1:
    """A float function as a table of 256 bytes (int8) or 513 entries (int16)."""
    cdef uint8_t* bytes_8
    cdef int16_t* entries
    if x.type == INT8:
        bytes_8 = <uint8_t*>context.persistent(256)
        fill_8(bytes_8, function, parameter, x.scale, x.zero_point, y.scale, y.zero_point, True)
        use_lookup(node, op, bytes_8)
    else:
        check_scales(x, y, "int16")
        entries = <int16_t*>context.persistent(2 * TABLE_16)
        fill_16(entries, function, parameter, x.scale, x.zero_point, y.scale, y.zero_point)
        op.params = entries
        op.kernel = <UnaryKernel>lookup_16
    return 0


# ---- float32 only
cdef int prepare_float(Context context, Node* node, UnaryKernel kernel, str name) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_function(context, node, &x, &y, name)
    if x.type != FLOAT32:
        unsupported(x, name)
    op.kernel = kernel
    return 0


cdef int prepare_sin(Context context, Node* node) except -1:
    return prepare_float(context, node, <UnaryKernel>sin_f32, "Sin")


cdef int prepare_cos(Context context, Node* node) except -1:
    return prepare_float(context, node, <UnaryKernel>cos_f32, "Cos")


cdef int prepare_square(Context context, Node* node) except -1:
    return prepare_float(context, node, <UnaryKernel>square_f32, "Square")


cdef int prepare_ceil(Context context, Node* node) except -1:
    return prepare_float(context, node, <UnaryKernel>ceil_f32, "Ceil")


# ---- several types
cdef int prepare_rounding(Context context, Node* node, UnaryKernel single, UnaryKernel half, str name) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_function(context, node, &x, &y, name)
    if x.type != FLOAT32 and x.type != FLOAT16:
        unsupported(x, name)
    op.kernel = single if x.type == FLOAT32 else half
    if half == <UnaryKernel>floor_half and x.type == FLOAT16 and node.arithmetic != MICRO and kernels().halves.floor != NULL:
        op.kernel = kernels().halves.floor
    return 0


cdef int prepare_round(Context context, Node* node) except -1:
    return prepare_rounding(context, node, <UnaryKernel>round_f32, <UnaryKernel>round_half, "Round")


cdef int prepare_floor(Context context, Node* node) except -1:
    return prepare_rounding(context, node, <UnaryKernel>floor_f32, <UnaryKernel>floor_half, "Floor")


cdef int prepare_neg(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Unary* op
    if y != NULL:
        adopt_type(y, x.type)
    op = prepare_unary(context, node)
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>neg_f32
    elif x.type == FLOAT16:
        op.kernel = <UnaryKernel>neg_half
    elif x.type == INT8:
        op.kernel = <UnaryKernel>neg_whole[uint8_t]
    elif x.type == INT16:
        op.kernel = <UnaryKernel>neg_whole[int16_t]
    elif x.type == INT32:
        op.kernel = <UnaryKernel>neg_whole[int32_t]
    elif x.type == INT64:
        op.kernel = <UnaryKernel>neg_whole[int64_t]
    else:
        raise LateRefusalError(f"Neg only currently supports int64, int32, and float32, got {type_name(x.type)}.")
    return 0


cdef int prepare_abs(Context context, Node* node) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_function(context, node, &x, &y, "Abs")
    cdef double real
    cdef Abs* a
    cdef Range32 limits
    cdef uint8_t* table
    cdef int byte
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>abs_f32
        return 0
    if x.type == INT32:
        op.kernel = <UnaryKernel>abs_whole[int32_t]
        return 0
    if x.type == INT16 and not is_quantized(x):
        op.kernel = <UnaryKernel>abs_whole[int16_t]
        return 0
    if x.type != INT8 and x.type != INT16:
        unsupported(x, "Abs")
    limits = type_limits(x.type)
    a = <Abs*>context.persistent(sizeof(Abs))
    a.same_scale = x.scale == y.scale
    real = <double>x.scale / <double>y.scale if node.arithmetic == MICRO else <double>(x.scale / y.scale)
    a.rescale = rescale_of(real)
    a.x_zero_point = x.zero_point
    a.y_zero_point = y.zero_point
    a.low = limits.low
    a.high = limits.high
    op.params = a
    op.kernel = <UnaryKernel>abs_s16
    if x.type == INT8:
        table = <uint8_t*>context.persistent(256)
        for byte in range(256):
            table[byte] = <uint8_t>abs_q(byte_value(byte, True), a)
        use_lookup(node, op, table)
    return 0


cdef int largest_s8(Context context, Node* node) noexcept nogil:
    memset(context.output(node, 0).data, 127, context.output(node, 0).bytes)
    return 0


cdef int prepare_exp(Context context, Node* node) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_function(context, node, &x, &y, "Exp", True)
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>exp_f32
    elif (x.type == INT8 or x.type == INT16) and gives_zeros(node, x, y):
        if x.type == INT8:           # 1 / 0, which is infinite
            node.invoke = largest_s8
    elif x.type == INT8 or x.type == INT16:
        use_table(context, node, op, table_exp, 0, x, y)
    else:
        raise LateRefusalError(f"Type {type_name(x.type)} is currently not supported by Exp.")
    return 0


cdef int prepare_log(Context context, Node* node) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_function(context, node, &x, &y, "Log")
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>log_f32
    elif x.type == INT8 or x.type == INT16:
        use_table(context, node, op, table_log, <float>(type_limits(x.type).low - y.zero_point) * y.scale, x, y)
    else:
        unsupported(x, "Log")
    return 0


# ---- roots: a quantized value below the zero point is refused
cdef Unary* prepare_root(Context context, Node* node, Tensor** x, Tensor** y, const char* message, str name) except NULL:
    cdef Unary* op = prepare_function(context, node, x, y, name)
    cdef Root* root
    if x[0].type != INT8 and x[0].type != INT16:
        return op
    if x[0].type == INT16 and x[0].scale_count == 0 and name == "Rsqrt":       # TensorFlow looks at the values before it looks them up
        raise LateRefusalError("Rsqrt is only defined for positive values, and for INT16 with a scale")
    check_scales(x[0], y[0], name)
    root = <Root*>context.persistent(sizeof(Root))
    root.unary = op[0]
    root.lowest = x[0].zero_point
    root.scale = x[0].scale if name == "Sqrt" else 1      # of RSQRT the sign alone counts
    root.message = message
    node.data = root
    node.invoke = invoke_root_s8 if x[0].type == INT8 else invoke_root_s16
    return &root.unary


cdef int invoke_root(Context context, Node* node, stored* _type) noexcept nogil:
    cdef Root* root = <Root*>node.data
    cdef const stored* x = <const stored*>context.input(node, 0).data
    cdef float scale = root.scale
    cdef int32_t lowest = root.lowest
    cdef int32_t below = 0
    cdef int64_t i
    for i in range(root.unary.count):
        below |= not scale * <float>(<int32_t>x[i] - lowest) >= 0      # NaN neither
    if below:
        return context.fail(root.message)
    root.unary.kernel(root.unary.params, x, context.output(node, 0).data, root.unary.count)
    return 0


cdef int invoke_root_s8(Context context, Node* node) noexcept nogil:
    return invoke_root(context, node, <int8_t*>NULL)


cdef int invoke_root_s16(Context context, Node* node) noexcept nogil:
    return invoke_root(context, node, <int16_t*>NULL)


cdef int prepare_sqrt(Context context, Node* node) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_root(context, node, &x, &y, b"Sqrt is only defined for non-negative values", "Sqrt")
    cdef Range32 limits
    cdef Sqrt* s
    cdef uint8_t* table
    cdef int byte
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>sqrt_f32
        return 0
    if x.type != INT8 and x.type != INT16:
        unsupported(x, "Sqrt")
    limits = type_limits(x.type)
    s = <Sqrt*>context.persistent(sizeof(Sqrt))
    s.x_scale = x.scale
    s.y_scale = y.scale
    s.x_zero_point = x.zero_point
    s.y_zero_point = y.zero_point
    s.low = limits.low
    s.high = limits.high
    op.params = s
    op.kernel = <UnaryKernel>sqrt_s16
    if x.type == INT8:
        table = <uint8_t*>context.persistent(256)
        for byte in range(256):
            table[byte] = <uint8_t>sqrt_q(byte_value(byte, True), s)
        use_lookup(node, op, table)
    return 0


cdef int prepare_rsqrt(Context context, Node* node) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_root(context, node, &x, &y, b"Rsqrt is only defined for positive values", "Rsqrt")
    cdef Multiplier m
    cdef Multiplier* params
    cdef uint8_t* table
    cdef int byte
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>rsqrt_f32
    elif x.type == INT16 and node.arithmetic == MICRO:
        params = <Multiplier*>context.persistent(sizeof(Multiplier))
        params[0] = quantize_multiplier(1.0 / (sqrt(<double>x.scale) * <double>y.scale))
        op.params = params
        op.kernel = <UnaryKernel>rsqrt_s16
    elif x.type == INT16:
        use_table(context, node, op, table_rsqrt, <float>32767.0 * y.scale, x, y)
    elif x.type == INT8:
        m = quantize_multiplier(1.0 / <double>(sqrtf(x.scale) * y.scale))
        if node.arithmetic == MICRO:
            m = quantize_multiplier(1.0 / (sqrt(<double>x.scale) * <double>y.scale))
        table = <uint8_t*>context.persistent(256)
        for byte in range(256):
            table[byte] = <uint8_t>rsqrt_s8(byte_value(byte, True), x.zero_point, y.zero_point, m.value, m.shift)
        use_lookup(node, op, table)
    else:
        unsupported(x, "Rsqrt")
    return 0


cdef int prepare_logical_not(Context context, Node* node) except -1:
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_function(context, node, &x, &y, "LogicalNot")
    if x.type != BOOL:
        unsupported(x, "LogicalNot")
    op.kernel = <UnaryKernel>not_bool
    return 0


OPERATORS = {
    "ABS": register(prepare_abs, version=5, reference_version=3),
    "CEIL": register(prepare_ceil, version=1, reference_version=0),
    "COS": register(prepare_cos, version=1),
    "EXP": register(prepare_exp, version=2),
    "FLOOR": register(prepare_floor, version=1),
    "LOG": register(prepare_log, version=2),
    "LOGICAL_NOT": register(prepare_logical_not, version=1),
    "NEG": register(prepare_neg, version=1),
    "ROUND": register(prepare_round, version=1, reference_version=0),
    "RSQRT": register(prepare_rsqrt, version=3),
    "SIN": register(prepare_sin, version=1),
    "SQRT": register(prepare_sqrt, version=2),
    "SQUARE": register(prepare_square, version=1),
}
