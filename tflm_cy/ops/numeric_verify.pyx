# tflm_cy: optimize=size
"""NumericVerify: by how much a quantized tensor (int8, uint8, int16, float16) differs from the float32 one that it stands for.

With the options log_if_failed and a tolerance of 0.1 and more, a difference above tolerance * scale fails the invoke; otherwise TensorFlow logs
deviation and mean, which is left out here. What a constant input gives is computed once, with the reference of the first invoke.

Source: LiteRT:tflite/kernels/numeric_verify.cc.
"""
from libc.math cimport fabsf
from libc.stdint cimport int8_t, int16_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.conversion cimport dequantized
from tflm_cy.arithmetic.optimized.conversion cimport FLOAT_BLOCK, dequantized_in_block
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT16, FLOAT32, INT8, INT16, UINT8, Tensor, count, is_constant, type_name
from tflm_cy.ops.arity cimport expect_arity_between
from tflm_cy.ops.elementwise cimport Unary
from tflm_cy.ops.flex_options cimport options_of
from tflm_cy.ops.operand cimport adopt_type, operand, result
from tflm_cy.ops.quantization cimport choose_dequantize

from tflm_cy.graph.refusal import OwnRefusalError

cdef struct Verification:
    Unary dequantize             # but for int16
    int64_t body                 # int16 values of the optimized kernel's full blocks
    int values                   # scratch: the dequantized input
    bint checks
    float tolerance
    float* kept                  # of a constant input
    bint known


cdef int prepare(Context context, Node* node) except -1:
    cdef Verification* op
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* reference = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if x.type != UINT8 and x.type != INT8 and x.type != INT16 and x.type != FLOAT16:
        raise ValueError(f"NumericVerify: op_context.input->type == kTfLiteUInt8 (INT8, INT16, FLOAT16) was not true: {type_name(x.type)}")
    if reference.type != FLOAT32:
        raise ValueError(f"NumericVerify: op_context.ref->type == kTfLiteFloat32 was not true: {type_name(reference.type)}")
    if node.custom_options_size == 0:
        raise ValueError("NumericVerify: there are no custom options")
    options = options_of(node)
    op = <Verification*>context.persistent(sizeof(Verification))
    adopt_type(y, FLOAT32)
    context.set_shape(y, x.rank, x.dims)
    op.tolerance = options.get("tolerance", 0)
    op.checks = bool(options.get("log_if_failed", False)) and <double>op.tolerance >= 0.1
    op.dequantize.count = count(x)
    op.body = count(x) - count(x) % FLOAT_BLOCK if node.arithmetic == OPTIMIZED else 0
    if x.type != INT16:
        choose_dequantize(context, node, &op.dequantize, x)
    elif x.scale_count > 1:
        raise ValueError(f"Type {x.type} not supported for per-channel.")
    op.values = context.request_scratch(4 * count(x) + 4)
    if is_constant(x):
        op.kept = <float*>context.persistent(4 * count(x) + 4)
    node.data = op
    node.invoke = verify
    if count(reference) < count(x):
        raise OwnRefusalError(f"NumericVerify: {count(reference)} reference values for {count(x)}")
    return 0


cdef int verify(Context context, Node* node) noexcept nogil:
    cdef Verification* op = <Verification*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef const float* reference = <const float*>context.input(node, 1).data
    cdef float* values = <float*>context.scratch(op.values)
    cdef float* y = <float*>context.output(node, 0).data
    cdef float most = op.tolerance * x.scale
    cdef int64_t n = op.dequantize.count
    cdef int64_t i
    if op.known:
        memcpy(y, op.kept, n * sizeof(float))
        return 0
    if x.type == INT16:
        for i in range(op.body):
            values[i] = dequantized_in_block((<const int16_t*>x.data)[i], x.scale, x.zero_point)
        for i in range(op.body, n):
            values[i] = dequantized((<const int16_t*>x.data)[i], x.scale, x.zero_point)
    else:
        op.dequantize.kernel(op.dequantize.params, x.data, values, n)
    for i in range(n):
        y[i] = values[i] - reference[i]
        if op.checks and fabsf(y[i]) > most:
            return mismatch(context, node, i, values[i], most)
    if op.kept != NULL:
        memcpy(op.kept, y, n * sizeof(float))
        op.known = True
    return 0


cdef int mismatch(Context context, Node* node, int64_t i, float value, float most) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef float reference = (<const float*>context.input(node, 1).data)[i]
    cdef int64_t q = 0
    if x.type == INT16:
        q = (<const int16_t*>x.data)[i]
    elif x.type == INT8:
        q = (<const int8_t*>x.data)[i]
    elif x.type == UINT8:
        q = (<const uint8_t*>x.data)[i]
    with gil:
        return context.fail_because(ValueError(
            f"Mismatch: {reference:f} is quantized to {q} with ({x.scale:f}, {x.zero_point}). "
            f"abs({reference:f} - {value:f}) = {fabsf(value - reference):f} > {most:f} (tolerance) range percentage "
            f"{(<Verification*>node.data).tolerance:f}."))


CUSTOM_OPERATORS = {
    "NumericVerify": register(prepare, version=1, reference_version=1),
}
