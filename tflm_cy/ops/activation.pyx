# tflm_cy: again=avx2
"""Activation functions as operators of their own: one input, but for PRELU, whose alpha is broadcast to the input's shape.

RELU, RELU6, LEAKY_RELU, PRELU: float32, int8, uint8, int16. RELU_N1_TO_1, RELU_0_TO_1, HARD_SWISH: float32, int8, uint8.
LOGISTIC, TANH: float32, float16, int8, uint8, int16. GELU: float32, int8, uint8, int16. ELU: float32, int8.
- On 8 bits each is a table of 256 bytes, filled in prepare from the definition of one value.
- TFLM rescales neither RELU6 (six is one of the input's steps) nor the output of TANH on 8 bits (1/128, zero point 0).
- PRELU int16 takes an int8 alpha. An int16 alpha is accepted, as in TensorFlow, and its first bytes are read as int8.
- LOGISTIC on 8 bits wants the output scale 1/256, on int16 1/32768; the 8-bit zero point may be any.

Source: LiteRT:tflite/kernels/activations.cc.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.activation cimport (
    HardSwish, Sigmoid16, TwoSided, clip_run, elu_f32, elu_run, fill_sigmoid, gelu_approximate_run, hard_swish, hard_swish_run,
    leaky_relu_run, logistic_half_run, logistic_run, logistic_s16, prelu_f32, prelu_s16, prelu_s8, prelu_u8, relu_run, table_gelu,
    table_gelu_approximate, table_logistic, table_tanh, tanh_half_run, tanh_run, tanh_s16, two_sided, two_sided_s16,
)
from tflm_cy.arithmetic.activation_neon cimport relu_run_neon
from tflm_cy.arithmetic.fixed_point cimport Range32, quantize_edge, quantize_multiplier
from tflm_cy.arithmetic.gelu cimport gelu_run
from tflm_cy.arithmetic.lookup cimport TABLE_16, Function, byte_value, fill_16, fill_8, lookup_16, lookup_8
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.micro.logistic cimport Argument, argument_of, logistic_s8, tanh_s8
from tflm_cy.arithmetic.multiplication cimport low_bits
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.optimized.activation cimport (
    hard_swish_eights, hard_swish_run_blocks, logistic_half_run_eigen, logistic_run_eigen, logistic_run_s16, tanh_half_run_eigen,
    tanh_run_eigen, tanh_run_s16,
)
from tflm_cy.arithmetic.optimized.addition cimport five_fold
from tflm_cy.arithmetic.rescale cimport power_of_two
from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT16, FLOAT32, INT8, INT16, UINT8, Tensor, same_shape, type_name
from tflm_cy.ops.activation_rows cimport use_rows
from tflm_cy.ops.elementwise cimport (
    Binary, Unary, check_zero_point_0, gives_zeros, prepare_binary, prepare_unary, rescale_of, share_function, share_values, type_limits,
    use_lookup,
)
from tflm_cy.ops.operand cimport adopt_type, check_same_type, operand
from tflm_cy.schema.option_slots cimport GELU_APPROXIMATE, LEAKY_RELU_ALPHA
from tflm_cy.schema.table cimport table_bool, table_f32
from tflm_cy.simd.table cimport kernels, row_kernels

from tflm_cy.graph.refusal import LateRefusalError, ShapedRefusalError

cdef struct SwishTables:
    uint8_t[256] single
    uint8_t[256] eights          # of whole blocks of eight values
    UnaryKernel lookup

cdef enum Sixteen:               # whether an operator takes int16
    NO_INT16 = 0
    WITH_INT16 = 1

cdef double RESCALED_TIME = 4    # nanoseconds of a value

cdef int unsupported(const Tensor* x, str name) except -1:
    raise LateRefusalError(f"{name}: Only float32, uint8, int8 and int16 are supported currently, got {type_name(x.type)}.")


cdef Unary* prepare_activation(Context context, Node* node, Tensor** x, Tensor** y, str name) except NULL:
    """One input and one output of its type and shape."""
    x[0] = operand(context, node, 0)
    y[0] = context.output(node, 0)
    if y[0] == NULL:
        raise ValueError(f"{name}: the output is missing")
    check_same_type(x[0], y[0], name)
    return prepare_unary(context, node)


cdef int check_symmetric(const Tensor* x, const Tensor* y, str name) except -1:
    """int16 has no zero point."""
    if x.type == INT16:
        check_zero_point_0(x, name)
        check_zero_point_0(y, name)
    return 0


# ---- both sides of zero rescaled: RELU and its kin, LEAKY_RELU, PRELU
cdef TwoSided* make_two_sided(Context context, const Tensor* x, const Tensor* y, Range32 limits, str name) except NULL:
    """Rescaled alike on both sides; in float32, x_scale / y_scale."""
    cdef TwoSided* t = <TwoSided*>context.persistent(sizeof(TwoSided))
    t.side[0] = rescale_of(<double>(x.scale / y.scale))
    t.side[1] = t.side[0]
    t.x_zero_point = x.zero_point
    t.y_zero_point = y.zero_point
    t.low = limits.low
    t.high = limits.high
    return t


cdef int use_two_sided(Context context, Node* node, Unary* op, const Tensor* x, const TwoSided* t) except -1:
    cdef uint8_t* table
    cdef int byte
    if x.type == INT16:
        op.params = t
        op.kernel = <UnaryKernel>two_sided_s16
        return share_function(context, node, RESCALED_TIME)
    table = <uint8_t*>context.persistent(256)
    for byte in range(256):
        table[byte] = <uint8_t>two_sided(byte_value(byte, x.type == INT8), t)
    return use_lookup(node, op, table)


cdef int prepare_clip(Context context, Node* node, float low, float high, bint bounded, int sixteen, str name) except -1:
    """RELU (not bounded above) and its kin."""
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    cdef Range32 limits
    cdef TwoSided* t
    cdef float* ends
    if x.type == FLOAT32:
        ends = <float*>context.persistent(2 * sizeof(float))
        ends[0], ends[1] = low, high
        op.params = ends
        op.kernel = <UnaryKernel>clip_run if bounded else <UnaryKernel>relu_run
        if AARCH64 and node.arithmetic != MICRO and not bounded:
            op.kernel = <UnaryKernel>relu_run_neon
        elif kernels().loops.clip != NULL:
            op.kernel = kernels().loops.clip if bounded else kernels().loops.relu
        return 0
    if x.type != INT8 and x.type != UINT8 and not (x.type == INT16 and sixteen == WITH_INT16):
        unsupported(x, name)
    check_symmetric(x, y, name)
    if gives_zeros(node, x, y):
        return 0
    limits = type_limits(x.type)
    if bounded and node.arithmetic == MICRO:
        limits.low = max(limits.low, x.zero_point)
        limits.high = max(limits.low, min(limits.high, quantize_edge(high, x.scale, x.zero_point)))
        return use_two_sided(context, node, op, x, make_two_sided(context, x, x, limits, name))     # not rescaled: the output counts as the input
    limits.low = max(limits.low, quantize_edge(low, y.scale, y.zero_point))
    if bounded:
        limits.high = min(limits.high, quantize_edge(high, y.scale, y.zero_point))
    t = make_two_sided(context, x, y, limits, name)
    if node.arithmetic == MICRO:
        t.side[0] = t.side[1] = rescale_of(<double>x.scale / <double>y.scale)
    return use_two_sided(context, node, op, x, t)


cdef int prepare_relu(Context context, Node* node) except -1:
    return prepare_clip(context, node, 0, 0, False, WITH_INT16, "RELU")


cdef int prepare_relu6(Context context, Node* node) except -1:
    return prepare_clip(context, node, 0, 6, True, WITH_INT16, "RELU6")


cdef int prepare_relu_n1_to_1(Context context, Node* node) except -1:
    return prepare_clip(context, node, -1, 1, True, NO_INT16, "RELU_N1_TO_1")


cdef int prepare_relu_0_to_1(Context context, Node* node) except -1:
    return prepare_clip(context, node, 0, 1, True, NO_INT16, "RELU_0_TO_1")


cdef int prepare_leaky_relu(Context context, Node* node) except -1:
    """A negative alpha makes a negative multiplier: -3 * -0.5 is 2, -3 * 0.5 is -1."""
    cdef str name = "LEAKY_RELU"
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    cdef float alpha = table_f32(node.options, LEAKY_RELU_ALPHA, 0)
    cdef float* params
    cdef TwoSided* t
    if x.type == FLOAT32:
        params = <float*>context.persistent(sizeof(float))
        params[0] = alpha
        op.params = params
        op.kernel = <UnaryKernel>leaky_relu_run
        if kernels().loops.leaky_relu != NULL:
            op.kernel = kernels().loops.leaky_relu
        return 0
    if x.type != INT8 and x.type != UINT8 and x.type != INT16:
        unsupported(x, name)
    check_symmetric(x, y, name)
    if gives_zeros(node, x, y):
        return 0
    t = make_two_sided(context, x, y, type_limits(x.type), name)
    t.side[1] = rescale_of(<double>(x.scale * alpha / y.scale))
    if node.arithmetic == MICRO:
        t.side[0] = rescale_of(<double>x.scale / <double>y.scale)
        t.side[1] = rescale_of(<double>x.scale * <double>alpha / <double>y.scale)
    return use_two_sided(context, node, op, x, t)


cdef struct PreluRuns:
    BinaryKernel kernel
    int64_t run


cdef void prelu_in_runs(const void* params, const float* x, const float* alpha, float* y, int64_t n) noexcept nogil:
    """One alpha for a run, whose whole vectors of 16 the optimized kernel multiplies in the other order than the rest. n: as sum_8_in_blocks."""
    cdef const PreluRuns* p = <const PreluRuns*>params
    cdef int64_t start = 0
    cdef int64_t end, body
    while start < n:
        end = min(start + p.run, n)
        body = end - (end - start) % 16
        p.kernel(NULL, x + start, alpha + start, y + start, body - start)
        p.kernel(params, x + body, alpha + body, y + body, end - body)
        start = end


cdef const void* prelu_in_runs_of(Context context, Binary* op) except NULL:
    cdef PreluRuns* p = <PreluRuns*>context.persistent(sizeof(PreluRuns))
    p.kernel = op.kernel
    p.run = op.plan.inner
    op.kernel = <BinaryKernel>prelu_in_runs
    return p


cdef int prepare_prelu(Context context, Node* node) except -1:
    cdef str name = "PRELU"
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* alpha = operand(context, node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef Binary* op
    cdef TwoSided* t
    if y != NULL:
        adopt_type(y, x.type)
    op = prepare_binary(context, node, name)
    if not same_shape(x, y):
        raise ShapedRefusalError("PRELU: alpha has more dimensions than the input (HaveSameShapes(input, output) was not true)")
    if alpha.type != x.type and not (x.type == INT16 and alpha.type == INT8):
        raise ValueError(f"PRELU: an input of {type_name(x.type)} does not go with an alpha of {type_name(alpha.type)}")
    if x.type == FLOAT32:
        op.kernel = <BinaryKernel>prelu_f32
        if kernels().loops.prelu != NULL:
            op.kernel = kernels().loops.prelu
        if node.arithmetic == OPTIMIZED and five_fold(&op.plan):        # else alpha's NaN comes out
            op.params = prelu_in_runs_of(context, op) if op.plan.b_repeats else node
        return 0
    if x.type != INT8 and x.type != UINT8 and x.type != INT16:
        unsupported(x, name)
    if alpha.scale_count == 0 and gives_zeros(node, x, y):
        return 0
    t = make_two_sided(context, x, y, type_limits(x.type), name)
    t.side[1] = rescale_of(<double>(x.scale * alpha.scale / y.scale))
    if node.arithmetic == MICRO:
        t.side[0] = rescale_of(<double>x.scale / <double>y.scale)
        t.side[1] = rescale_of(<double>x.scale * <double>alpha.scale / <double>y.scale)
    t.alpha_zero_point = alpha.zero_point
    op.params = t
    op.b_size = 1
    op.kernel = <BinaryKernel>prelu_s8 if x.type == INT8 else <BinaryKernel>prelu_u8 if x.type == UINT8 else <BinaryKernel>prelu_s16
    return share_values(context, node, op, RESCALED_TIME)


# ---- HARD_SWISH
cdef int32_t half_multiplier(int32_t value) noexcept nogil:
    """A 31-bit multiplier as a 15-bit one."""
    return 0x7FFF if value >= 0x7FFFFFFF - (1 << 15) else (value + (1 << 15)) >> 16


cdef int prepare_hard_swish(Context context, Node* node) except -1:
    cdef str name = "HARD_SWISH"
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    cdef HardSwish h
    cdef Multiplier out, gate
    cdef Range32 limits
    cdef float wide_scale
    cdef SwishTables* tables
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>hard_swish_run_blocks if node.arithmetic == OPTIMIZED else <UnaryKernel>hard_swish_run
        return 0
    if x.type != INT8 and x.type != UINT8:
        raise LateRefusalError(f"{name}: Only float32, uint8 and int8 are supported currently, got {type_name(x.type)}.")
    if gives_zeros(node, x, y):
        return 0
    wide_scale = (<float>1.0 / <float>128.0) * x.scale
    out = quantize_multiplier(<double>(wide_scale / y.scale))
    gate = quantize_multiplier(<double>(wide_scale / (<float>3.0 / <float>32768.0)))
    if out.shift > 0:
        raise ValueError(f"{name}: the output scale is too small beside the input's (output_multiplier_exponent <= 0 was not true)")
    limits = type_limits(x.type)
    h.x_zero_point = x.zero_point
    h.y_zero_point = y.zero_point
    h.out_value = half_multiplier(out.value)
    h.out_shift = -out.shift
    h.relu_value = half_multiplier(gate.value)
    h.relu_exponent = gate.shift
    h.low = limits.low
    h.high = limits.high
    tables = <SwishTables*>context.persistent(sizeof(SwishTables))
    fill_swish(tables.single, &h, x.type == INT8, False)
    use_lookup(node, op, tables.single)
    if AARCH64 and node.arithmetic == OPTIMIZED:
        fill_swish(tables.eights, &h, x.type == INT8, True)
    elif h.relu_exponent > 32 and node.arithmetic != MICRO:      # TensorFlow's vector code shifts the gate out
        h.relu_value = 0
        fill_swish(tables.eights, &h, x.type == INT8, False)
    else:
        return 0
    tables.lookup, op.params = op.kernel, tables
    op.kernel = <UnaryKernel>hard_swish_in_eights
    return 0


cdef void fill_swish(uint8_t* table, const HardSwish* h, bint signed, bint eights) noexcept nogil:
    cdef int byte
    for byte in range(256):
        table[byte] = <uint8_t>(hard_swish_eights(byte_value(byte, signed), h) if eights else hard_swish(byte_value(byte, signed), h))


cdef void hard_swish_in_eights(const void* params, const uint8_t* x, uint8_t* y, int64_t n) noexcept nogil:
    """What TensorFlow's vector code computes, which takes eight values at once, and then the values that are left over."""
    cdef const SwishTables* tables = <const SwishTables*>params
    cdef int64_t body = n - n % 8
    tables.lookup(tables.eights, x, y, body)
    tables.lookup(tables.single, x + body, y + body, n - body)


# ---- tables of float functions: LOGISTIC, TANH, GELU, ELU
cdef int use_table_8(Context context, const Node* node, Unary* op, Function function, const Tensor* x, float y_scale, int32_t y_zero_point) except -1:
    cdef uint8_t* table = <uint8_t*>context.persistent(256)
    fill_8(table, function, 0, x.scale, x.zero_point, y_scale, y_zero_point, x.type == INT8)
    return use_lookup(node, op, table)


cdef int use_fixed_point(Context context, Unary* op, const Tensor* x, bint is_tanh) except -1:
    """LOGISTIC and TANH of TFLM."""
    cdef uint8_t* table = <uint8_t*>context.persistent(256)
    cdef Argument params
    cdef int byte
    params = argument_of(x.scale, x.zero_point)
    for byte in range(256):
        table[byte] = <uint8_t>(tanh_s8(byte_value(byte, True), &params) if is_tanh else logistic_s8(byte_value(byte, True), &params))
    op.params = table
    op.kernel = <UnaryKernel>lookup_8
    return 0


cdef int prepare_logistic(Context context, Node* node) except -1:
    cdef str name = "LOGISTIC"
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>logistic_run_eigen if node.arithmetic == OPTIMIZED else <UnaryKernel>logistic_run
        if node.arithmetic == OPTIMIZED:
            use_rows(op, FLOAT32, False)
    elif x.type == FLOAT16:
        op.kernel = <UnaryKernel>logistic_half_run_eigen if node.arithmetic == OPTIMIZED else <UnaryKernel>logistic_half_run
        if node.arithmetic == OPTIMIZED:
            use_rows(op, FLOAT16, False)
    elif x.type == INT8 or x.type == UINT8:
        if y.scale != 1.0 / 256:
            raise ValueError(f"{name}: the output scale must be 1/256, is {y.scale} (output->params.scale == 1. / 256 was not true)")
        if node.arithmetic == MICRO and x.type == INT8:
            use_fixed_point(context, op, x, False)
        else:
            use_table_8(context, node, op, table_logistic, x, y.scale, y.zero_point)
    elif x.type == INT16:
        if y.scale != 1.0 / 32768:
            raise ValueError(f"{name}: the output scale must be 1/32768, is {y.scale} (output->params.scale == 1. / 32768 was not true)")
        check_symmetric(x, y, name)
        op.kernel = <UnaryKernel>logistic_s16
        if use_sigmoid_16(context, op, x, 0) != GENERAL and node.arithmetic == OPTIMIZED:
            op.kernel = <UnaryKernel>logistic_run_s16
            if kernels().lstm_i8.logistic != NULL:
                op.kernel = kernels().lstm_i8.logistic
    else:
        unsupported(x, name)
    return 0


cdef int prepare_tanh(Context context, Node* node) except -1:
    cdef str name = "TANH"
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    cdef int32_t y_log2 = 0
    cdef int32_t* left
    cdef int kind
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>tanh_run_eigen if node.arithmetic == OPTIMIZED else <UnaryKernel>tanh_run
        if node.arithmetic == OPTIMIZED:
            use_rows(op, FLOAT32, True)
    elif x.type == FLOAT16:
        op.kernel = <UnaryKernel>tanh_half_run_eigen if node.arithmetic == OPTIMIZED else <UnaryKernel>tanh_half_run
        if node.arithmetic == OPTIMIZED:
            use_rows(op, FLOAT16, True)
    elif x.type == INT8 or x.type == UINT8:
        if gives_zeros(node, x, y):
            return 0
        if node.arithmetic == MICRO and x.type == INT8:
            use_fixed_point(context, op, x, True)
        else:
            use_table_8(context, node, op, table_tanh, x, y.scale, y.zero_point)
    elif x.type == INT16:
        if not power_of_two(y.scale, &y_log2) or y_log2 != -15:
            raise ValueError(f"{name}: the output scale must be 1/32768, is {y.scale} "
                             "(output_scale_log2_rounded != -kOutputFractionalBits)")
        check_symmetric(x, y, name)
        op.kernel = <UnaryKernel>tanh_s16
        kind = use_sigmoid_16(context, op, x, 1)
        if kind != GENERAL and node.arithmetic == OPTIMIZED:
            left = <int32_t*>context.persistent(sizeof(int32_t))
            left[0] = 1 if kind == DOUBLED else 0
            op.params = left
            op.kernel = <UnaryKernel>tanh_run_s16
            if kernels().lstm_i8.tanh != NULL:
                op.kernel = kernels().lstm_i8.tanh
    else:
        unsupported(x, name)
    return 0


cdef enum:                       # how the optimized arithmetic computes LOGISTIC and TANH of int16
    GENERAL = 0                  # as the reference
    AS_IT_IS = 1                 # in gemmlowp's fixed point
    DOUBLED = 2


cdef int use_sigmoid_16(Context context, Unary* op, const Tensor* x, int largest_shift) except -1:
    """A scale of 2^-12 (TANH: or 2^-11) is a multiplication by 3; any other a multiplier in (2^14, 2^15] and a right shift. Scales that are
    too small or too large for one are taken for such powers of two."""
    cdef Sigmoid16* s = <Sigmoid16*>context.persistent(sizeof(Sigmoid16))
    cdef int32_t log2 = 0
    cdef int kind
    cdef bint exact = power_of_two(x.scale, &log2)
    cdef double multiplier = <double>x.scale * 4096.0 * 3.0
    fill_sigmoid(s)
    op.params = s
    if exact and 0 <= log2 + 12 <= largest_shift:
        s.multiplier = 3 << (log2 + 12)
        return AS_IT_IS if log2 == -12 else DOUBLED
    while multiplier <= 32767.0 / 2.0 and s.shift <= 30:
        s.shift += 1
        multiplier *= 2.0
    s.multiplier = low_bits(multiplier)
    kind = GENERAL if s.multiplier > 0 else AS_IT_IS if s.shift == 0 else DOUBLED
    if s.multiplier == 0:
        s.multiplier = <int32_t>(<uint32_t>3 << s.shift)
        s.shift = 0
    return kind


cdef int prepare_gelu(Context context, Node* node) except -1:
    cdef str name = "GELU"
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    cdef bint approximate = table_bool(node.options, GELU_APPROXIMATE, False)
    cdef Function function = table_gelu_approximate if approximate else table_gelu
    cdef int16_t* table
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>gelu_approximate_run if approximate else <UnaryKernel>gelu_run
        op.params = NULL if approximate else <void*>row_kernels()
    elif (x.type == INT8 or x.type == UINT8 or x.type == INT16) and gives_zeros(node, x, y):
        return 0
    elif x.type == INT8 or x.type == UINT8:
        use_table_8(context, node, op, function, x, y.scale, y.zero_point)
    elif x.type == INT16:
        table = <int16_t*>context.persistent(2 * TABLE_16)
        fill_16(table, function, 0, x.scale, x.zero_point, y.scale, y.zero_point)
        op.params = table
        op.kernel = <UnaryKernel>lookup_16
    else:
        raise LateRefusalError(f"GELU: Only float32, int8 and uint8 supported currently, got {type_name(x.type)}.")
    return 0


cdef int prepare_elu(Context context, Node* node) except -1:
    cdef str name = "ELU"
    cdef Tensor* x = NULL
    cdef Tensor* y = NULL
    cdef Unary* op = prepare_activation(context, node, &x, &y, name)
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>elu_run
    elif x.type == INT8 and gives_zeros(node, x, y):
        return 0
    elif x.type == INT8:
        use_table_8(context, node, op, elu_f32, x, y.scale, y.zero_point)
    else:
        raise LateRefusalError(f"ELU: Only float32 and int8 is supported currently, got {type_name(x.type)}.")
    return 0


OPERATORS = {
    "ELU": register(prepare_elu, version=1, reference_version=0),
    "GELU": register(prepare_gelu, version=2),
    "HARD_SWISH": register(prepare_hard_swish, version=1),
    "LEAKY_RELU": register(prepare_leaky_relu, version=2),
    "LOGISTIC": register(prepare_logistic, version=3),
    "PRELU": register(prepare_prelu, version=1),
    "RELU": register(prepare_relu, version=3),
    "RELU6": register(prepare_relu6, version=3),
    "RELU_0_TO_1": register(prepare_relu_0_to_1, version=1),
    "RELU_N1_TO_1": register(prepare_relu_n1_to_1, version=1),
    "TANH": register(prepare_tanh, version=3),
}
