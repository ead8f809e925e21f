# tflm_cy: optimize=size
"""NumericVerify: by how much a quantized tensor (int8, uint8, int16, float16) differs from the float32 one that it stands for.

With the options log_if_failed and a tolerance of 0.1 and more, a difference above tolerance * scale fails the invoke; otherwise TensorFlow logs
deviation and mean, which is left out here. What a constant input gives is computed once, with the reference of the first invoke, and stays so after
other allocations; where that invoke fails, the others give what it has computed.

Source: LiteRT:tflite/kernels/numeric_verify.cc.
"""
from libc.math cimport fabsf
from libc.stdint cimport int8_t, int16_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.conversion cimport dequantized
from tflm_cy.arithmetic.optimized.conversion cimport FLOAT_BLOCK, dequantized_in_block
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node, register
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT8, INT16, UINT8, Tensor, count, type_name
from tflm_cy.ops.elementwise cimport Unary
from tflm_cy.ops.flex_options cimport options_of
from tflm_cy.ops.operand cimport adopt_type, expect_arity_between, operand, result
from tflm_cy.ops.quantization cimport choose_dequantize

from tflm_cy.graph.refusal import OwnRefusalError

cdef struct Verification:
    Unary dequantize             # but for int16
    int64_t body                 # int16 values of the optimized kernel's full blocks
    int values                   # scratch: the dequantized input
    bint checks
    float tolerance
    int64_t* known               # whether a constant input has been looked at; NULL: it is not constant
    float* kept                  # what it gave then


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
    if x.allocation == CONSTANT:             # its shape is the file's
        keep_first(context, node, op)
    node.data = op
    node.invoke = verify
    if count(reference) < count(x) and not (op.known != NULL and op.known[0]):
        raise OwnRefusalError(f"NumericVerify: {count(reference)} reference values for {count(x)}")
    return 0


cdef int keep_first(Context context, const Node* node, Verification* op) except -1:
    cdef Subgraph graph = <Subgraph>context
    cdef bytearray kept = graph.shared.kept.setdefault(
        (graph.index, node.index), bytearray(sizeof(int64_t) + op.dequantize.count * sizeof(float)))
    context.keep(kept)
    op.known = <int64_t*><char*>kept
    op.kept = <float*>(op.known + 1)
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
    if op.known != NULL and op.known[0]:
        memcpy(y, op.kept, n * sizeof(float))
        return 0
    if x.type == INT16:
        for i in range(op.body):
            values[i] = dequantized_in_block((<const int16_t*>x.data)[i], x.scale, x.zero_point)
        for i in range(op.body, n):
            values[i] = dequantized((<const int16_t*>x.data)[i], x.scale, x.zero_point)
    else:
        op.dequantize.kernel(op.dequantize.params, x.data, values, n)
    if op.known != NULL:
        op.known[0] = True
    for i in range(n):
        y[i] = values[i] - reference[i]
        if op.known != NULL:
            op.kept[i] = y[i]
        if op.checks and fabsf(y[i]) > most:
            return mismatch(context, node, i, values[i], most)
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
