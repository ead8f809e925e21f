"""QUANTIZE, DEQUANTIZE, ADD, SUB, MUL, LEAKY_RELU, LOGISTIC, TANH, ELU on int8 and uint8 as XNNPACK computes them.

Functions of one 8-bit value are tables of 256 entries, made in prepare. Quirk: MUL of a tensor with itself is the function x * x,
which rounds otherwise than MUL of two tensors.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.stdint cimport int8_t, uint8_t

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, Range32
from tflm_cy.arithmetic.lookup cimport lookup_8
from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel
from tflm_cy.arithmetic.xnnpack.quantized_elementwise cimport (
    ELU, LOGISTIC, SQUARE, TANH, Dequantize8, Product8, Quantize8, Rescale8, Sum8, add_8, dequantize_8, fill_function, fill_rescale,
    fits_words, multiply_8, multiply_table, quantize_8, ready_sum, rescale_8,
)
from tflm_cy.arithmetic.xnnpack.requantize cimport quantized_range, scale_of
from tflm_cy.graph.context cimport FUSED_GATE, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, UINT8, Tensor, count, type_name
from tflm_cy.ops.elementwise cimport Binary, Unary, invoke_unary, prepare_binary, share_function, share_values
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.xnnpack.rank cimport check_rank
from tflm_cy.schema.option_slots cimport ADD_FUSED_ACTIVATION_FUNCTION, LEAKY_RELU_ALPHA
from tflm_cy.schema.table cimport table_f32, table_i8
from tflm_cy.simd.table cimport kernels

cdef double VALUE_TIME = 0.1     # nanoseconds
cdef double LOOKUP_TIME = 0.09


cdef int want_8_bits(const Tensor* tensor, str name) except -1:
    if tensor.type != INT8 and tensor.type != UINT8:
        raise ValueError(f"{name}: type {type_name(tensor.type)} is not 8 bits wide")
    if tensor.scale_count != 1 or not tensor.scale > 0:
        raise ValueError(f"{name}: tensor {tensor.index} wants one positive scale, has {tensor.scale_count} (first: {tensor.scale})")
    return 0


cdef int want_alike(const Tensor* a, const Tensor* b, str name) except -1:
    """Two quantized tensors of the same type."""
    want_8_bits(a, name)
    want_8_bits(b, name)
    if a.type != b.type:
        raise ValueError(f"{name}: types {type_name(a.type)} and {type_name(b.type)} differ")
    return 0


cdef Range32 range_of(const Tensor* y, int activation) noexcept nogil:
    return quantized_range(activation, y.scale, y.zero_point, y.type == INT8)


cdef Unary* prepare_one(Context context, Node* node) except NULL:
    """The output is shaped like input 0; the kernel and its struct are the caller's to set."""
    cdef const Tensor* x = operand(context, node, 0)
    cdef Unary* op = <Unary*>context.persistent(sizeof(Unary))
    op.count = count(x)
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    node.data = op
    node.invoke = invoke_unary
    return op


cdef uint8_t* prepare_table(Context context, Node* node, str name) except NULL:
    """A function of one value: the table is the caller's to fill."""
    cdef Unary* op
    cdef uint8_t* table
    want_alike(operand(context, node, 0), result(context, node, 0), name)
    op = prepare_one(context, node)
    table = <uint8_t*>context.persistent(256)
    op.params = table
    op.kernel = <UnaryKernel>lookup_8
    if kernels().bytes.lookup != NULL:
        op.kernel = kernels().bytes.lookup
    share_function(context, node, LOOKUP_TIME)
    return table


cdef int prepare_add(Context context, Node* node) except -1:
    return prepare_sum(context, node, 1, "ADD")


cdef int prepare_sub(Context context, Node* node) except -1:
    return prepare_sum(context, node, -1, "SUB")


cdef int prepare_sum(Context context, Node* node, int sign, str name) except -1:
    cdef const Tensor* a = operand(context, node, 0)
    cdef const Tensor* b = operand(context, node, 1)
    cdef const Tensor* y = result(context, node, 0)
    cdef Binary* op
    cdef Sum8* params
    want_alike(a, b, name)
    want_alike(a, y, name)
    check_rank(a, name)
    check_rank(b, name)
    op = prepare_binary(context, node, name)
    params = <Sum8*>context.persistent(sizeof(Sum8))
    if not ready_sum(params, a.scale, a.zero_point, b.scale, b.zero_point, y.scale, sign):
        raise ValueError(f"{name}: scales {a.scale} and {b.scale} are out of range for an output scale of {y.scale}")
    params.zero_point = y.zero_point
    params.limits = range_of(y, table_i8(node.options, ADD_FUSED_ACTIVATION_FUNCTION, ACT_NONE))
    op.params = params
    op.kernel = <BinaryKernel>add_8[int8_t] if y.type == INT8 else <BinaryKernel>add_8[uint8_t]
    if kernels().elementwise_i8.add[0] != NULL:
        op.kernel = kernels().elementwise_i8.add[y.type == UINT8]
    return share_values(context, node, op, VALUE_TIME)


cdef int prepare_mul(Context context, Node* node) except -1:
    cdef const Tensor* a = operand(context, node, 0)
    cdef const Tensor* b = operand(context, node, 1)
    cdef const Tensor* y = result(context, node, 0)
    cdef int activation = table_i8(node.options, ADD_FUSED_ACTIVATION_FUNCTION, ACT_NONE)
    cdef Range32 limits
    cdef Product8* params
    cdef Binary* op
    want_alike(a, b, "MUL")
    want_alike(a, y, "MUL")
    check_rank(a, "MUL")
    check_rank(b, "MUL")
    limits = range_of(y, activation)
    if node.inputs[0] == node.inputs[1]:
        fill_function(
            prepare_table(context, node, "MUL"), SQUARE, a.scale, a.zero_point, y.scale, y.zero_point, limits, y.type == INT8)
        return 0
    if node.fusion == FUSED_GATE:
        return prepare_gate(context, node, limits)
    op = prepare_binary(context, node, "MUL")
    params = <Product8*>context.persistent(sizeof(Product8))
    params[0] = product_of(a, b, y, limits)
    op.params = params
    op.kernel = <BinaryKernel>multiply_8[int8_t] if y.type == INT8 else <BinaryKernel>multiply_8[uint8_t]
    if kernels().elementwise_i8.multiply[0] != NULL:
        op.kernel = kernels().elementwise_i8.multiply[y.type == UINT8]
    return share_values(context, node, op, VALUE_TIME)


cdef Product8 product_of(const Tensor* a, const Tensor* b, const Tensor* y, Range32 limits) noexcept nogil:
    cdef Product8 params
    params.a_zero_point = a.zero_point
    params.b_zero_point = b.zero_point
    params.scale = scale_of(a.scale, b.scale, y.scale)
    params.low = limits.low - y.zero_point
    params.high = limits.high - y.zero_point
    params.zero_point = y.zero_point
    return params


cdef int prepare_gate(Context context, Node* node, Range32 limits) except -1:
    """x * LOGISTIC(x): both are functions of one value, so their product is one table."""
    cdef const Tensor* x = operand(context, node, 0)
    cdef const Tensor* gate = operand(context, node, 1)
    cdef const Tensor* y = result(context, node, 0)
    cdef uint8_t* table = prepare_table(context, node, "MUL")
    cdef Product8 params = product_of(x, gate, y, limits)
    fill_function(table, LOGISTIC, x.scale, x.zero_point, gate.scale, gate.zero_point, range_of(gate, ACT_NONE), y.type == INT8)
    multiply_table(table, &params, y.type == INT8)
    return 0


cdef int prepare_quantize(Context context, Node* node) except -1:
    cdef const Tensor* x = operand(context, node, 0)
    cdef const Tensor* y = result(context, node, 0)
    cdef Range32 limits
    cdef Quantize8* params
    cdef Unary* op
    if x.type != FLOAT32:
        return prepare_rescale(context, node, "QUANTIZE", 1)
    want_8_bits(y, "QUANTIZE")
    limits = range_of(y, ACT_NONE)
    params = <Quantize8*>context.persistent(sizeof(Quantize8))
    params.inverse = <float>1.0 / y.scale
    params.low = limits.low - y.zero_point
    params.high = limits.high - y.zero_point
    params.zero_point = y.zero_point
    op = prepare_one(context, node)
    op.params = params
    op.kernel = <UnaryKernel>quantize_8[int8_t] if y.type == INT8 else <UnaryKernel>quantize_8[uint8_t]
    if kernels().elementwise_i8.quantize[0] != NULL:
        op.kernel = kernels().elementwise_i8.quantize[y.type == UINT8]
    return share_function(context, node, VALUE_TIME)


cdef int prepare_dequantize(Context context, Node* node) except -1:
    cdef const Tensor* x = operand(context, node, 0)
    cdef const Tensor* y = result(context, node, 0)
    cdef Dequantize8* params
    cdef Unary* op
    want_8_bits(x, "DEQUANTIZE")
    if y.type != FLOAT32:
        raise ValueError(f"DEQUANTIZE: output type {type_name(y.type)} is not FLOAT32")
    params = <Dequantize8*>context.persistent(sizeof(Dequantize8))
    params.scale = x.scale
    params.zero_point = x.zero_point
    op = prepare_one(context, node)
    op.params = params
    op.kernel = <UnaryKernel>dequantize_8[int8_t] if x.type == INT8 else <UnaryKernel>dequantize_8[uint8_t]
    if kernels().elementwise_i8.dequantize[0] != NULL:
        op.kernel = kernels().elementwise_i8.dequantize[x.type == UINT8]
    return share_function(context, node, VALUE_TIME)


cdef int prepare_leaky_relu(Context context, Node* node) except -1:
    return prepare_rescale(context, node, "LEAKY_RELU", table_f32(node.options, LEAKY_RELU_ALPHA, 0))


cdef int prepare_rescale(Context context, Node* node, str name, float alpha) except -1:
    """A table, or a kernel where there is one for such multipliers."""
    cdef uint8_t* table = prepare_table(context, node, name)
    cdef const Tensor* x = operand(context, node, 0)
    cdef const Tensor* y = result(context, node, 0)
    cdef Rescale8* params = <Rescale8*>context.persistent(sizeof(Rescale8))
    cdef Unary* op = <Unary*>node.data
    params[0] = rescale_8(x.scale, x.zero_point, y.scale, y.zero_point, alpha)
    fill_rescale(table, params, y.type == INT8)
    if fits_words(params) and kernels().elementwise_i8.rescale[0] != NULL:
        op.params = params
        op.kernel = kernels().elementwise_i8.rescale[y.type == UINT8]
    return 0


cdef int prepare_function(Context context, Node* node, int function, str name) except -1:
    cdef uint8_t* table = prepare_table(context, node, name)
    cdef const Tensor* x = operand(context, node, 0)
    cdef const Tensor* y = result(context, node, 0)
    fill_function(table, function, x.scale, x.zero_point, y.scale, y.zero_point, range_of(y, ACT_NONE), y.type == INT8)
    return 0


cdef int prepare_logistic(Context context, Node* node) except -1:
    return prepare_function(context, node, LOGISTIC, "LOGISTIC")


cdef int prepare_tanh(Context context, Node* node) except -1:
    return prepare_function(context, node, TANH, "TANH")


cdef int prepare_elu(Context context, Node* node) except -1:
    return prepare_function(context, node, ELU, "ELU")


OPERATORS = {
    "ADD": register(prepare_add, version=99),
    "DEQUANTIZE": register(prepare_dequantize, version=99),
    "ELU": register(prepare_elu, version=99),
    "LEAKY_RELU": register(prepare_leaky_relu, version=99),
    "LOGISTIC": register(prepare_logistic, version=99),
    "MUL": register(prepare_mul, version=99),
    "QUANTIZE": register(prepare_quantize, version=99),
    "SUB": register(prepare_sub, version=99),
    "TANH": register(prepare_tanh, version=99),
}
