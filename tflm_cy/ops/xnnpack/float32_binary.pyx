"""ADD, SUB, MUL, DIV, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM, PRELU in float32, broadcast as numpy does, up to six dimensions.

ADD, SUB, MUL, DIV have a fused activation. MAXIMUM and MINIMUM are clamps when one operand is a constant of one element.
Which operand comes first shows only when both are NaN, in MAXIMUM and MINIMUM with one NaN and with zeros of different signs:
| | an operand repeats along the innermost axis |
| --- | --- |
| ADD, MUL | that one comes first |
| MAXIMUM, MINIMUM, SQUARED_DIFFERENCE | that one comes second |
| SUB, DIV, PRELU | as written (PRELU of AVX2: the slope comes first) |

x * LOGISTIC(x) (FUSED_GATE) is computed piece by piece: the function's values of a piece, then their products.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc; XNNPACK's binary elementwise operators.
"""

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.fixed_point cimport RangeF
from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel
from tflm_cy.arithmetic.xnnpack.binary cimport (
    add_f32, div_f32, maximum_f32, minimum_f32, mul_f32, prelu_f32_avx2, prelu_f32_avx512, prelu_one_f32_avx2, squared_difference_f32,
    repeated_operand, sub_f32,
)
from tflm_cy.arithmetic.xnnpack.unary cimport Function8, Parameters, logistic8_avx2, logistic8_avx512, map8, relu8
from tflm_cy.arithmetic.xnnpack.unary_neon cimport logistic8_neon
from tflm_cy.graph.context cimport EPILOGUE_ADD, EPILOGUE_CLAMP, EPILOGUE_PRELU, EPILOGUE_PRELU_SIGNED, FUSED_GATE, Context, Node, epilogue_of, register
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, is_constant, type_name
from tflm_cy.ops.elementwise cimport Binary, prepare_binary, share_values
from tflm_cy.ops.operand cimport expect_arity, operand
from tflm_cy.ops.value_space cimport Values, channels_of, share_single, values_of_units
from tflm_cy.ops.xnnpack.definitions cimport definitions, of_form
from tflm_cy.ops.xnnpack.limits cimport float_limits
from tflm_cy.ops.xnnpack.rank cimport check_rank
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport ADD_FUSED_ACTIVATION_FUNCTION
from tflm_cy.schema.table cimport table_i8
from tflm_cy.simd.float32 cimport RowsKernel
from tflm_cy.simd.table cimport kernels

cdef double VALUE_TIME = 0.15    # nanoseconds
cdef double GATE_TIME = 0.55

cdef enum:
    PIECE = 512                  # values of a gate at a time

cdef struct Gate:
    RangeF range                 # first: the multiplication's `params`
    int operand                  # x; the other one is its LOGISTIC
    Function8 function
    UnaryKernel fast             # with a vector kernel
    BinaryKernel multiply

cdef struct Clamp:
    Parameters limits
    int operand                  # that is clamped
    UnaryKernel vector


cdef struct Limits:              # of the result: the kernels' `params`
    RangeF range
    RowsKernel rows              # a vector kernel for one row of b that meets many of a


cdef Binary* prepare_floats(Context context, Node* node, BinaryKernel kernel, bint swapped=False) except NULL:
    cdef str name = context.operator_name(node)
    cdef Binary* op = prepare_binary(context, node, name, swapped)
    cdef Tensor* a = context.input(node, 0)
    cdef Tensor* b = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef Limits* limits = <Limits*>context.persistent(sizeof(Limits))
    if a.type != FLOAT32 or b.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"{name}: types {type_name(a.type)}, {type_name(b.type)} -> {type_name(y.type)} are not supported")
    check_rank(a, name)
    check_rank(b, name)
    limits.range = float_limits(0)
    limits.rows = NULL
    op.params = limits
    op.kernel = kernel
    share_values(context, node, op, VALUE_TIME)
    return op


cdef int use_vectors(Node* node, Binary* op, BinaryKernel kernel, RowsKernel rows) except -1:
    """Vector kernels instead, if they are not NULL."""
    cdef bint one_row = op.plan.loops == 1 and not op.plan.a_repeats and not op.plan.b_repeats and op.plan.b_step[0] == 0
    if kernel == NULL:
        return 0
    op.kernel = kernel
    if one_row and op.plan.a_step[0] == op.plan.inner:
        (<Limits*>op.params).rows = rows
        node.invoke = invoke_rows
        if node.work != NULL:
            node.work = compute_rows
    return 0


cdef int invoke_rows(Context context, Node* node) noexcept nogil:
    cdef Binary* op = <Binary*>node.data
    cdef const Tensor* a = context.input(node, op.swapped)
    cdef const Tensor* b = context.input(node, 1 - op.swapped)
    (<Limits*>op.params).rows(
        op.params, <const float*>a.data, <const float*>b.data, <float*>context.output(node, 0).data, op.plan.count[0], op.plan.inner)
    return 0


cdef void compute_rows(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Binary* op = <Binary*>node.data
    cdef int64_t n = op.plan.inner
    (<Limits*>op.params).rows(
        op.params, <const float*>context.input(node, op.swapped).data + first * n, <const float*>context.input(node, 1 - op.swapped).data,
        <float*>context.output(node, 0).data + first * n, end - first, n)


cdef Binary* prepare_clamped(Context context, Node* node, BinaryKernel kernel, bint swapped=False) except NULL:
    """With a fused activation."""
    cdef Binary* op = prepare_floats(context, node, kernel, swapped)
    (<Limits*>op.params).range = float_limits(table_i8(node.options, ADD_FUSED_ACTIVATION_FUNCTION, 0))
    return op


cdef int repeated(Context context, Node* node) except -2:
    """The operand that repeats along the innermost axis, -1: neither. XNNPACK's kernel holds it in a register."""
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* b = operand(context, node, 1)
    return repeated_operand(a.rank, a.dims, b.rank, b.dims)


cdef int prepare_add(Context context, Node* node) except -1:
    cdef Binary* op = prepare_clamped(context, node, <BinaryKernel>add_f32, repeated(context, node) == 1)
    cdef const RangeF* range = &(<Limits*>op.params).range
    if count(context.input(node, 0)) == count(context.input(node, 1)) == count(context.output(node, 0)) and not op.swapped:
        node.epilogue = epilogue_of(EPILOGUE_ADD, -1, range.low, range.high, 0)
    return use_vectors(node, op, kernels().float32.add, kernels().float32.add_rows)


cdef int prepare_sub(Context context, Node* node) except -1:
    cdef Binary* op = prepare_clamped(context, node, <BinaryKernel>sub_f32)
    return use_vectors(node, op, kernels().float32.sub, kernels().float32.sub_rows)


cdef int prepare_mul(Context context, Node* node) except -1:
    if node.fusion == FUSED_GATE:
        return prepare_gate(context, node)
    cdef Binary* op = prepare_clamped(context, node, <BinaryKernel>mul_f32, repeated(context, node) == 1)
    return use_vectors(node, op, kernels().float32.mul, kernels().float32.mul_rows)


cdef int prepare_div(Context context, Node* node) except -1:
    prepare_clamped(context, node, <BinaryKernel>div_f32)
    return 0


cdef int prepare_squared_difference(Context context, Node* node) except -1:
    prepare_floats(context, node, <BinaryKernel>squared_difference_f32, repeated(context, node) == 0)
    return 0


# ---- x * LOGISTIC(x)
cdef int prepare_gate(Context context, Node* node) except -1:
    cdef int i = 0 if node.inputs[0] >= 0 else 1
    cdef Tensor* x = operand(context, node, i)
    cdef Tensor* y = context.output(node, 0)
    cdef Gate* gate = <Gate*>context.persistent(sizeof(Gate))
    if x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"MUL: types {type_name(x.type)} -> {type_name(y.type)} are not supported")
    check_rank(x, "MUL")
    context.set_shape(y, x.rank, x.dims)
    gate.range = float_limits(table_i8(node.options, ADD_FUSED_ACTIVATION_FUNCTION, 0))
    gate.operand = i
    gate.function = of_form(definitions().logistic, logistic8_avx2, logistic8_avx512, logistic8_neon)
    if gate.function == logistic8_avx512:
        gate.fast = kernels().float32.logistic
    gate.multiply = <BinaryKernel>mul_f32 if kernels().float32.mul == NULL else kernels().float32.mul
    node.data = gate
    node.invoke = invoke_gate
    return share_single(context, node, i, compute_gate, GATE_TIME)


cdef int invoke_gate(Context context, Node* node) noexcept nogil:
    cdef Gate* gate = <Gate*>node.data
    cdef const Tensor* x = context.input(node, gate.operand)
    open_gate(gate, <const float*>x.data, <float*>context.output(node, 0).data, count(x))
    return 0


cdef void compute_gate(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Gate* gate = <Gate*>node.data
    cdef Values values = values_of_units(context.output(node, 0), first, end)
    cdef const float* x = <const float*>context.input(node, gate.operand).data + values.first
    open_gate(gate, x, <float*>context.output(node, 0).data + values.first, values.count)


cdef void open_gate(const Gate* gate, const float* x, float* y, int64_t n) noexcept nogil:
    """y may be x: a piece is read before it is written."""
    cdef Parameters parameters
    cdef float[PIECE] values
    cdef int64_t i = 0
    cdef int64_t m
    parameters.low = -INFINITY
    parameters.high = INFINITY
    parameters.slope = 0
    while i < n:
        m = PIECE if n - i > PIECE else n - i
        if gate.fast != NULL:
            gate.fast(&parameters, x + i, values, m)
        else:
            map8(gate.function, &parameters, x + i, values, m)
        if gate.operand == 0:
            gate.multiply(&gate.range, x + i, values, y + i, m)
        else:
            gate.multiply(&gate.range, values, x + i, y + i, m)
        i += m


# ---- MAXIMUM, MINIMUM
cdef int prepare_maximum(Context context, Node* node) except -1:
    cdef int constant = scalar_constant(context, node)
    if constant < 0:
        prepare_floats(context, node, <BinaryKernel>maximum_f32, repeated(context, node) == 0)
        return 0
    return prepare_clamp(context, node, 1 - constant, constant_value(context, node, constant), INFINITY)


cdef int prepare_minimum(Context context, Node* node) except -1:
    cdef int constant = scalar_constant(context, node)
    if constant < 0:
        prepare_floats(context, node, <BinaryKernel>minimum_f32, repeated(context, node) == 0)
        return 0
    return prepare_clamp(context, node, 1 - constant, -INFINITY, constant_value(context, node, constant))


cdef int scalar_constant(Context context, Node* node) except -2:
    """The operand that is a constant of one element, -1: none."""
    cdef Tensor* tensor
    cdef int i
    for i in range(1, -1, -1):
        tensor = operand(context, node, i)
        if is_constant(tensor) and count(tensor) == 1 and tensor.type == FLOAT32:
            return i
    return -1


cdef float constant_value(Context context, Node* node, int i) noexcept:
    """-0 becomes +0."""
    cdef float value = (<const float*>context.input(node, i).data)[0]
    return <float>0 if value == 0 else value


cdef int prepare_clamp(Context context, Node* node, int i, float low, float high) except -1:
    """The output has the shape of operand i alone. Infinite limits make a copy, which keeps denormals."""
    cdef Tensor* x = context.input(node, i)
    cdef Tensor* y = context.output(node, 0)
    cdef Clamp* op = <Clamp*>context.persistent(sizeof(Clamp))
    expect_arity(context, node, 2, 1)
    if x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"{context.operator_name(node)}: types {type_name(x.type)} -> {type_name(y.type)} are not supported")
    check_rank(x, context.operator_name(node))
    context.set_shape(y, x.rank, x.dims)
    op.operand = i
    op.vector = kernels().float32.relu
    op.limits.low = low
    op.limits.high = high
    node.data = op
    node.invoke = clamp_operand if kernels().float32.relu == NULL else clamp_operand_vector
    if low == -INFINITY and high == INFINITY:
        node.invoke = copy_operand
        return 0
    node.epilogue = epilogue_of(EPILOGUE_CLAMP, i, low, high, 0)
    return share_single(context, node, i, compute_clamp, VALUE_TIME)


cdef void compute_clamp(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Clamp* op = <Clamp*>node.data
    cdef Values values = values_of_units(context.output(node, 0), first, end)
    cdef const float* x = <const float*>context.input(node, op.operand).data + values.first
    cdef float* y = <float*>context.output(node, 0).data + values.first
    if op.vector != NULL:
        op.vector(&op.limits, x, y, values.count)
    else:
        map8(relu8, &op.limits, x, y, values.count)


cdef int clamp_operand(Context context, Node* node) noexcept nogil:
    cdef Clamp* op = <Clamp*>node.data
    cdef Tensor* x = context.input(node, op.operand)
    map8(relu8, &op.limits, <const float*>x.data, <float*>context.output(node, 0).data, count(x))
    return 0


cdef int clamp_operand_vector(Context context, Node* node) noexcept nogil:
    cdef Clamp* op = <Clamp*>node.data
    cdef Tensor* x = context.input(node, op.operand)
    op.vector(&op.limits, x.data, context.output(node, 0).data, count(x))
    return 0


cdef int copy_operand(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, (<Clamp*>node.data).operand)
    copy_bytes(context.output(node, 0).data, x.data, count(x) * sizeof(float))
    return 0


# ---- PRELU
cdef int prepare_prelu(Context context, Node* node) except -1:
    cdef bint one = repeated(context, node) == 1
    cdef Binary* op
    if not definitions().slope_by_sign:
        op = prepare_floats(context, node, <BinaryKernel>prelu_f32_avx512)
        offer_bend(context, node, EPILOGUE_PRELU)
        return use_vectors(node, op, kernels().float32.prelu, kernels().float32.prelu_rows)
    if not one:
        op = prepare_floats(context, node, <BinaryKernel>prelu_f32_avx2)
        offer_bend(context, node, EPILOGUE_PRELU_SIGNED)
        return use_vectors(node, op, kernels().float32.prelu_signed, kernels().float32.prelu_signed_rows)
    op = prepare_floats(context, node, <BinaryKernel>prelu_one_f32_avx2)
    if kernels().float32.prelu_one_signed != NULL:
        op.kernel = kernels().float32.prelu_one_signed
    if is_constant(context.input(node, 1)) and not isnan((<const float*>context.input(node, 1).data)[0]):      # of two NaNs the slope's would win
        offer_bend(context, node, EPILOGUE_PRELU_SIGNED)
    return 0


cdef void offer_bend(Context context, Node* node, int kind) noexcept:
    if count(context.input(node, 0)) == count(context.output(node, 0)) and is_row(context.input(node, 1), context.output(node, 0)):
        node.epilogue = epilogue_of(kind, 0, 0, 0, 0)


cdef bint is_row(const Tensor* slopes, const Tensor* y) noexcept:
    """A constant for each channel."""
    return is_constant(slopes) and slopes.rank > 0 and count(slopes) == slopes.dims[slopes.rank - 1] == channels_of(y)


OPERATORS = {
    "ADD": register(prepare_add, version=99),
    "DIV": register(prepare_div, version=99),
    "MAXIMUM": register(prepare_maximum, version=99),
    "MINIMUM": register(prepare_minimum, version=99),
    "MUL": register(prepare_mul, version=99),
    "PRELU": register(prepare_prelu, version=99),
    "SQUARED_DIFFERENCE": register(prepare_squared_difference, version=99),
    "SUB": register(prepare_sub, version=99),
}
