# tflm_cy: again=avx2
"""QUANTIZE (float32 or quantized to quantized) and DEQUANTIZE (quantized or float16 to float32).

QUANTIZE: float32 -> int8, uint8, int16, int4, per tensor; int8, uint8, int16 per channel; int8, uint8 -> int8, uint8;
int16 -> int8, int16, int32; int32 -> int8, int16. TensorFlow 2.21 refuses int8, uint8 -> int16; TFLM takes int8 -> int16, int32.
DEQUANTIZE: int8, uint8, int4, int2 per tensor and per channel; int16 with zero point 0; float16. What is constant is computed once: when the node
is first run or its value asked for. TFLM dequantizes with the first scale, whatever their number.

Source: LiteRT:tflite/kernels/{quantize.cc,dequantize.h}.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.conversion cimport (
    Affine, Channels, Requantize, dequantize_2, dequantize_4, dequantize_8, dequantize_bytes, dequantize_channels, dequantize_channels_2,
    dequantize_channels_4, dequantize_s16, dequantized, quantize, quantize_4, quantize_channels, requantize_s16, requantize_s32,
    requantize_s8, requantized,
)
from tflm_cy.arithmetic.fixed_point cimport Range32, quantize_multiplier
from tflm_cy.arithmetic.half cimport halves_to_f32
from tflm_cy.arithmetic.lookup cimport byte_value, lookup_8
from tflm_cy.arithmetic.optimized.conversion cimport (
    SplitBytes, SplitFloats, dequantize_split_4, dequantize_split_bytes, dequantize_split_s16, dequantized_in_block, lookup_split,
    quantize_split,
)
from tflm_cy.arithmetic.rescale cimport ready_up
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, defers, register
from tflm_cy.graph.tensor cimport (
    FLOAT16, FLOAT32, INT2, INT4, INT8, INT16, INT32, UINT8, Tensor, count_range, is_constant, type_name,
)
from tflm_cy.ops.elementwise cimport Unary, check_zero_point_0, invoke_unary, prepare_unary, rescale_of, type_limits
from tflm_cy.ops.operand cimport adopt_type, operand
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import OwnRefusalError


cdef Channels* prepare_channels(Context context, const Tensor* shape, const Tensor* quantized, Range32 limits, str name) except NULL:
    """A per-channel tensor as [outer, channels, inner]; of channels that have become fewer, the first scales."""
    cdef Channels* q = <Channels*>context.persistent(sizeof(Channels))
    cdef int axis = quantized.quantized_dimension
    if axis < 0 or axis >= shape.rank or shape.dims[axis] > quantized.scale_count:
        raise OwnRefusalError(f"{name}: {quantized.scale_count} scales along dimension {axis} do not fit the shape")
    if quantized.zero_point_count < 1:
        raise ValueError(f"{name}: tensor {quantized.index} has no zero point")
    q.scales = quantized.scales
    q.zero_points = quantized.zero_points
    q.zero_point_step = 1 if quantized.zero_point_count == quantized.scale_count else 0
    q.outer = count_range(shape, 0, axis)
    q.channels = shape.dims[axis]
    q.inner = count_range(shape, axis + 1, shape.rank)
    q.low = limits.low
    q.high = limits.high
    return q


cdef int prepare_quantize(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Unary* op
    if y == NULL or y.scale_count < 1:
        raise ValueError("QUANTIZE: the output has no scale (output->quantization.type != kTfLiteAffineQuantization)")
    op = prepare_unary(context, node)
    if x.type == FLOAT32:
        if y.scale_count > 1:
            use_quantize_channels(context, op, x, y)
        else:
            use_quantize(context, op, y, node.arithmetic == OPTIMIZED)
    else:
        use_requantize(context, op, x, y, node.arithmetic == OPTIMIZED, node.arithmetic == MICRO)
    return 0


cdef int use_quantize(Context context, Unary* op, const Tensor* y, bint optimized) except -1:
    cdef Affine* q = <Affine*>context.persistent(sizeof(Affine))
    cdef Range32 limits = type_limits(y.type)
    q.scale = y.scale
    q.zero_point = y.zero_point
    q.low = limits.low
    q.high = limits.high
    op.params = q
    if y.type == INT8:
        op.kernel = <UnaryKernel>quantize_split[int8_t] if optimized else <UnaryKernel>quantize[int8_t]
    elif y.type == UINT8:
        op.kernel = <UnaryKernel>quantize_split[uint8_t] if optimized else <UnaryKernel>quantize[uint8_t]
    elif y.type == INT16:
        op.kernel = <UnaryKernel>quantize_split[int16_t] if optimized else <UnaryKernel>quantize[int16_t]
    elif y.type == INT4:
        q.low = -8
        q.high = 7
        op.kernel = <UnaryKernel>quantize_4
    else:
        raise ValueError(f"QUANTIZE: float32 to {type_name(y.type)} is not supported (output->type == kTfLiteInt16 || ...)")
    return 0


cdef int use_quantize_channels(Context context, Unary* op, const Tensor* x, const Tensor* y) except -1:
    if y.type == INT8:
        op.kernel = <UnaryKernel>quantize_channels[int8_t]
    elif y.type == UINT8:
        op.kernel = <UnaryKernel>quantize_channels[uint8_t]
    elif y.type == INT16:
        op.kernel = <UnaryKernel>quantize_channels[int16_t]
    else:
        raise ValueError(f"Input type FLOAT32 with Output type {type_name(y.type)} is not currently supported.")
    op.params = prepare_channels(context, x, y, type_limits(y.type), "QUANTIZE")
    return 0


cdef int use_requantize(Context context, Unary* op, const Tensor* x, const Tensor* y, bint optimized, bint micro) except -1:
    cdef Requantize* r = <Requantize*>context.persistent(sizeof(Requantize))
    cdef Range32 limits = type_limits(y.type)
    cdef SplitBytes* table
    cdef int byte
    if x.type == INT16 and y.type == INT16:
        check_zero_point_0(x, "QUANTIZE")
        check_zero_point_0(y, "QUANTIZE")
    r.rescale = rescale_of(<double>x.scale / <double>y.scale)
    r.x_zero_point = x.zero_point
    r.y_zero_point = y.zero_point
    r.low = limits.low if y.type != INT32 else INT32_MIN
    r.high = limits.high if y.type != INT32 else INT32_MAX
    op.params = r
    if (x.type == INT8 or x.type == UINT8) and (y.type == INT8 or y.type == UINT8):
        table = <SplitBytes*>context.persistent(sizeof(SplitBytes))
        for byte in range(256):
            table.tail[byte] = <uint8_t>requantized(byte_value(byte, x.type == INT8), r)
        r.rescale = ready_up(quantize_multiplier(<double>x.scale / <double>y.scale))
        for byte in range(256):
            table.body[byte] = <uint8_t>requantized(byte_value(byte, x.type == INT8), r)
        op.params = table if optimized else <void*>table.tail
        op.kernel = <UnaryKernel>lookup_split if optimized else <UnaryKernel>lookup_8
        if not micro and kernels().bytes.lookup != NULL:       # TFLM's plans may overlap: ops/overlaps.py
            op.kernel = kernels().bytes.lookup_split if optimized else kernels().bytes.lookup
        if not micro and flips_signs(table):
            op.kernel = flip_signs
    elif x.type == INT16 and y.type == INT8:
        op.kernel = <UnaryKernel>requantize_s8[int16_t]
    elif x.type == INT16 and y.type == INT16:
        op.kernel = <UnaryKernel>requantize_s16[int16_t]
    elif x.type == INT16 and y.type == INT32:
        op.kernel = <UnaryKernel>requantize_s32[int16_t]
    elif x.type == INT8 and y.type == INT16 and micro:
        op.kernel = <UnaryKernel>requantize_s16[int8_t]
    elif x.type == INT8 and y.type == INT32 and micro:
        op.kernel = <UnaryKernel>requantize_s32[int8_t]
    elif x.type == INT32 and y.type == INT8:
        op.kernel = <UnaryKernel>requantize_s8[int32_t]
    elif x.type == INT32 and y.type == INT16:
        op.kernel = <UnaryKernel>requantize_s16[int32_t]
    else:
        raise ValueError(f"Input type {type_name(x.type)} with Output type {type_name(y.type)} is not currently supported "
                         "(output->type == kTfLiteUInt8 || output->type == kTfLiteInt8 was not true).")
    return 0


cdef bint flips_signs(const SplitBytes* table) noexcept nogil:
    """Whether int8 becomes uint8 of the same values, or the other way round."""
    cdef int byte
    for byte in range(256):
        if table.tail[byte] != byte ^ 0x80 or table.body[byte] != byte ^ 0x80:
            return False
    return True


cdef void flip_signs(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        (<uint8_t*>y)[i] = (<const uint8_t*>x)[i] ^ 0x80


cdef int prepare_dequantize(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Unary* op
    if y != NULL:
        adopt_type(y, FLOAT32)
    op = prepare_unary(context, node)
    choose_dequantize(context, node, op, x)
    if is_constant(x):
        node.work = NULL
        node.invoke = invoke_unary
        context.defer(node, y)
    return 0


cdef int choose_dequantize(Context context, const Node* node, Unary* op, const Tensor* x) except -1:
    if x.type == FLOAT16:
        op.kernel = <UnaryKernel>halves_to_f32
        if kernels().bytes.widen_halves != NULL:
            op.kernel = kernels().bytes.widen_halves
    elif x.scale_count > 1 and node.arithmetic != MICRO:
        use_dequantize_channels(context, op, x)
    else:
        use_dequantize(context, op, x, node.arithmetic == OPTIMIZED, node.arithmetic == MICRO)
    return 0


cdef int use_dequantize(Context context, Unary* op, const Tensor* x, bint optimized, bint micro) except -1:
    cdef Affine* q
    if (x.type == INT8 or x.type == UINT8) and micro:
        op.params = dequantize_table(context, x, 8, x.type == INT8)
        op.kernel = <UnaryKernel>dequantize_8
    elif x.type == INT8 or x.type == UINT8:
        q = <Affine*>context.persistent(sizeof(Affine))
        q.scale = x.scale
        q.zero_point = x.zero_point
        op.params = q
        if x.type == INT8:
            op.kernel = <UnaryKernel>dequantize_split_bytes[int8_t] if optimized else <UnaryKernel>dequantize_bytes[int8_t]
        else:
            op.kernel = <UnaryKernel>dequantize_split_bytes[uint8_t] if optimized else <UnaryKernel>dequantize_bytes[uint8_t]
    elif x.type == INT4 and optimized:
        op.params = split_table(context, x, 4, True)
        op.kernel = <UnaryKernel>dequantize_split_4
    elif x.type == INT4:
        op.params = dequantize_table(context, x, 4, True)
        op.kernel = <UnaryKernel>dequantize_4
    elif x.type == INT2:
        op.params = dequantize_table(context, x, 2, True)
        op.kernel = <UnaryKernel>dequantize_2
    elif x.type == INT16:
        check_zero_point_0(x, "DEQUANTIZE")
        q = <Affine*>context.persistent(sizeof(Affine))
        q.scale = x.scale
        op.params = q
        op.kernel = <UnaryKernel>dequantize_split_s16 if optimized else <UnaryKernel>dequantize_s16
    else:
        raise ValueError(f"DEQUANTIZE: Type {type_name(x.type)} not supported.")
    return 0


cdef float* dequantize_table(Context context, const Tensor* x, int bits, bint signed) except NULL:
    """The result of every pattern of `bits` bits."""
    cdef float* table = <float*>context.persistent(4 << bits)
    cdef int pattern
    for pattern in range(1 << bits):
        table[pattern] = dequantized(pattern_value(pattern, bits, signed), x.scale, x.zero_point)
    return table


cdef SplitFloats* split_table(Context context, const Tensor* x, int bits, bint signed) except NULL:
    """Both results of every pattern."""
    cdef SplitFloats* table = <SplitFloats*>context.persistent(sizeof(SplitFloats))
    cdef int pattern
    for pattern in range(1 << bits):
        table.body[pattern] = dequantized_in_block(pattern_value(pattern, bits, signed), x.scale, x.zero_point)
        table.tail[pattern] = dequantized(pattern_value(pattern, bits, signed), x.scale, x.zero_point)
    return table


cdef int32_t pattern_value(int pattern, int bits, bint signed) noexcept nogil:
    return pattern - (1 << bits) if signed and pattern >> (bits - 1) else pattern


cdef int use_dequantize_channels(Context context, Unary* op, const Tensor* x) except -1:
    if x.type == INT8:
        op.kernel = <UnaryKernel>dequantize_channels[int8_t]
    elif x.type == UINT8:
        op.kernel = <UnaryKernel>dequantize_channels[uint8_t]
    elif x.type == INT4:
        op.kernel = <UnaryKernel>dequantize_channels_4
    elif x.type == INT2:
        op.kernel = <UnaryKernel>dequantize_channels_2
    else:
        raise ValueError(f"Type {x.type} not supported for per-channel.")
    op.params = prepare_channels(context, x, x, type_limits(INT8), "DEQUANTIZE")
    return 0


OPERATORS = {
    "DEQUANTIZE": defers(register(prepare_dequantize, version=7), 0),
    "QUANTIZE": register(prepare_quantize, version=4),
}
