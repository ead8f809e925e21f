"""DEPTHWISE_CONV_2D: input [batch, height, width, channel], filter [1, height, width, output channel], optional bias [output channel].

| input | filter | bias |
| --- | --- | --- |
| float32 | float32 | float32 |
| int8 | int8, int4: one scale or one per channel | int32 |
| uint8 | uint8, one scale | int32 |
| int16 | int8 | int64 |
| float32 | int8: a scale per channel | float32, hybrid, always asymmetric |

Quirk: depth_multiplier in the options is not looked at, the shapes decide. Zero points of int8 filters are ignored, as in TensorFlow.

Source: LiteRT:tflite/kernels/depthwise_conv.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.conv cimport conv_f32, conv_quantized
from tflm_cy.arithmetic.depthwise cimport Taps, depthwise_f32, depthwise_quantized, depthwise_sums, window_taps
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32, clamp_f32
from tflm_cy.arithmetic.hybrid_quantization cimport quantize_asymmetric
from tflm_cy.arithmetic.hybrid_scaling cimport BY_FOURS, BY_PRODUCT
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.product_f32 cimport Run, pack_columns, packed_size
from tflm_cy.arithmetic.row_kernels cimport RowScale
from tflm_cy.arithmetic.shapes cimport ConvShape, padded_row
from tflm_cy.arithmetic.sum_rescale cimport Rescale
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, REFERENCE, Context, Node, WorkFunction, defers, elide, position_space, register
from tflm_cy.graph.tensor cimport FLOAT32, INT4, INT8, INT16, INT64, UINT8, Tensor, count, is_constant, shape_of, type_name
from tflm_cy.ops.kernels.columns_i16 cimport ColumnsI16, conv_columns_i16, plan_columns_i16
from tflm_cy.ops.kernels.depthwise_i16 cimport DepthwiseI16, depthwise_positions_i16, plan_depthwise_i16
from tflm_cy.ops.kernels.requantize_fixed cimport LateRequantize, parallelize_fixed, ready_fixed, run_fixed, run_fixed_range
from tflm_cy.ops.kernels.hybrid_i8 cimport HybridI8, all_rows, parallelize_hybrid_i8, ready_hybrid_depthwise_i8, run_hybrid_i8
from tflm_cy.ops.kernels.conv_f32_unfused cimport filter_of, ready_unfused, run_unfused
from tflm_cy.ops.quantized_weights cimport (
    Bias, Multipliers, Weights, bias_values, check_bias_type, check_quantized, own_factors, plan_rescale, prepare_bias, prepare_bias_micro,
    prepare_weights, read_as_bytes, weight_bytes,
)
from tflm_cy.ops.window_2d cimport set_window, take_size_of_file
from tflm_cy.schema.option_slots cimport (
    DEPTHWISE_CONV_2D_DILATION_H_FACTOR, DEPTHWISE_CONV_2D_DILATION_W_FACTOR, DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION,
    DEPTHWISE_CONV_2D_PADDING, DEPTHWISE_CONV_2D_STRIDE_H, DEPTHWISE_CONV_2D_STRIDE_W,
)
from tflm_cy.schema.table cimport table_i8, table_i32
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_f32_unfused cimport DepthwiseF32Unfused
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef union Kernel:               # the one that serves
    DepthwiseI8 bytes
    ConvI8 single
    DepthwiseF32Unfused floats
    HybridI8 hybrid
    DepthwiseI16 words
    ColumnsI16 single_words

cdef struct Depthwise:
    ConvShape shape
    Weights weights
    Bias bias
    RangeF range
    bint bias_first
    Rescale rescale
    Multipliers multipliers
    int sums                     # scratch: oc float32 or uint32 sums
    int wide                     # scratch: oc int64 sums
    int image                    # scratch: one quantized image (hybrid)
    const float* scales
    ptrdiff_t scaled_apart       # channels that the optimized hybrid kernel scales by the filter first, then by the image
    void* packed                 # the filter of a single input channel: packed columns (float32) or rows of taps; NULL: there are several channels
    int runs                     # scratch: kh * kw runs, then
    Kernel fast                  # with a vector kernel
    LateRequantize requantize    # `bytes` and `single`


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef Depthwise* op
    cdef int32_t[4] dims
    cdef bint single, unusual
    if node.input_count < 2 or node.input_count > 3 or node.output_count != 1 or x == NULL or w == NULL or y == NULL:
        raise ValueError("DEPTHWISE_CONV_2D wants an input, a filter, an optional bias and one output")
    if node.input_count == 3 and b == NULL:
        raise ValueError("DEPTHWISE_CONV_2D: Tensor at index 2 was optional but was expected")
    op = <Depthwise*>context.persistent(sizeof(Depthwise))
    node.data = op
    read_shape(node, x, w, &op.shape)
    unusual = node.arithmetic == MICRO and take_size_of_file(&op.shape, y)
    if y.type != x.type:
        raise ValueError(f"DEPTHWISE_CONV_2D: output->type != data_type ({type_name(y.type)} != {type_name(x.type)})")
    if node.arithmetic != MICRO:
        check_bias_type(x, b, INT64, "DEPTHWISE_CONV_2D")
    if b != NULL and (b.rank != 1 or b.dims[0] != op.shape.oc):
        raise ValueError(f"DEPTHWISE_CONV_2D: SizeOfDimension(filter, 3) != SizeOfDimension(bias, 0) ({op.shape.oc}, {shape_of(b)})")
    dims = [<int32_t>op.shape.batches, <int32_t>op.shape.oh, <int32_t>op.shape.ow, <int32_t>op.shape.oc]
    context.set_shape(y, 4, dims)
    if op.shape.ic <= 0 or op.shape.oc % op.shape.ic != 0:
        return refuse_channels(context, node, op)
    if count(y) == 0 and op.shape.batches > 0:
        elide(node)
        return 0
    if w.type != FLOAT32:
        context.materialize(w)
    prepare_weights(context, w, &op.weights)
    if node.arithmetic == MICRO:
        prepare_bias_micro(context, x, b, INT64, op.shape.oc, &op.bias)
    elif x.type != INT8 and x.type != UINT8:
        prepare_bias(context, b, op.shape.oc, &op.bias)
    op.range = activation_range_f32(table_i8(node.options, DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, 0))
    op.sums = context.request_scratch(4 * op.shape.oc)
    single = op.shape.ic == 1 and is_constant(w)
    if x.type != FLOAT32:
        prepare_quantized(context, node, op)
        if single:
            prepare_single_channel(context, node, op)
    elif w.type == FLOAT32:
        op.bias_first = node.arithmetic == OPTIMIZED
        node.invoke = convolve_f32
        if single and not op.bias_first:
            prepare_single_channel(context, node, op)
        elif is_constant(w) and not unusual and use_conv_f32_unfused(context, node, op):
            node.invoke = convolve_gemm_f32
    elif w.type == INT8:
        prepare_hybrid(context, node, op)
    elif w.type != INT4:
        raise ValueError(f"DEPTHWISE_CONV_2D: filter->type == data_type was not true (FLOAT32 and {type_name(w.type)})")
    else:
        raise LateRefusalError(f"DEPTHWISE_CONV_2D: Type FLOAT32 with filter type {type_name(w.type)} not currently supported.")
    return 0


cdef int refuse_channels(Context context, Node* node, Depthwise* op) except -1:
    """Channels that do not go together. Without any, the optimized hybrid kernel gives the biases; the other kernels that do not look write
    beyond their output, or not at all."""
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* w = context.input(node, 1)
    cdef bint hybrid = x.type == FLOAT32 and w.type == INT8
    cdef bint mixed = (w.type not in (x.type, INT4) and not hybrid and x.type != INT16) or (x.type != FLOAT32 and w.scale_count == 0)
    if hybrid and node.arithmetic == OPTIMIZED and op.shape.ic == 0:
        prepare_bias(context, context.input(node, 2), op.shape.oc, &op.bias)
        op.range = activation_range_f32(table_i8(node.options, DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, 0))
        node.invoke = copy_biases
        return 0
    raise (ValueError if mixed else OwnRefusalError if hybrid or x.type == INT16 else LateRefusalError)(
        f"DEPTHWISE_CONV_2D: num_filter_channels % num_input_channels != 0 ({op.shape.oc}, {op.shape.ic})")


cdef int copy_biases(Context context, Node* node) noexcept nogil:
    cdef const Depthwise* op = <const Depthwise*>node.data
    cdef const float* bias = <const float*>op.bias.values
    cdef float* y = <float*>context.output(node, 0).data
    cdef int64_t i
    for i in range(count(context.output(node, 0))):
        y[i] = clamp_f32(bias[i % op.shape.oc], op.range.low, op.range.high)
    return 0


cdef int read_shape(const Node* node, const Tensor* x, const Tensor* w, ConvShape* g) except -1:
    if x.rank != 4 or w.rank != 4:
        raise ValueError(f"DEPTHWISE_CONV_2D: NumDimensions(input) != 4: input {shape_of(x)}, filter {shape_of(w)}")
    if w.dims[0] != 1:
        raise ValueError(f"DEPTHWISE_CONV_2D: SizeOfDimension(filter, 0) != 1 ({w.dims[0]} != 1)")
    g.batches = x.dims[0]
    g.ih = x.dims[1]
    g.iw = x.dims[2]
    g.ic = x.dims[3]
    g.kh = w.dims[1]
    g.kw = w.dims[2]
    g.oc = w.dims[3]
    g.group_ic = 1
    g.groups = g.ic
    g.stride_h = table_i32(node.options, DEPTHWISE_CONV_2D_STRIDE_H, 0)
    g.stride_w = table_i32(node.options, DEPTHWISE_CONV_2D_STRIDE_W, 0)
    g.dilation_h = table_i32(node.options, DEPTHWISE_CONV_2D_DILATION_H_FACTOR, 1)
    g.dilation_w = table_i32(node.options, DEPTHWISE_CONV_2D_DILATION_W_FACTOR, 1)
    if max(g.stride_h, g.stride_w, g.dilation_h, g.dilation_w) > 32767:
        raise ValueError("DEPTHWISE_CONV_2D: params->stride_width <= INT16_MAX was not true (strides and dilations)")
    if node.arithmetic == MICRO and (g.ic <= 0 or g.oc % g.ic != 0):
        raise ValueError(f"DEPTHWISE_CONV_2D: output_channels % input_channels != 0 ({g.oc}, {g.ic})")
    return set_window(
        g, table_i8(node.options, DEPTHWISE_CONV_2D_PADDING, 0), "DEPTHWISE_CONV_2D", node.arithmetic != MICRO, node.arithmetic != MICRO)


cdef bint use_conv_f32_unfused(Context context, const Node* node, Depthwise* op) except -1:
    op.fast.floats.shape = op.shape
    op.fast.floats.low = op.range.low
    op.fast.floats.high = op.range.high
    op.fast.floats.bias_first = op.bias_first
    op.fast.floats.bias = <const float*>op.bias.values
    return ready_unfused(context, node, &op.fast.floats)


cdef int prepare_single_channel(Context context, Node* node, Depthwise* op) except -1:
    """With one input channel and a constant filter this is CONV_2D: the filter is turned into one row of taps per output channel."""
    cdef Tensor* x = context.input(node, 0)
    cdef const float* values = <const float*>context.input(node, 1).data
    cdef const uint8_t* bytes = weight_bytes(context, context.input(node, 1), &op.weights)
    cdef ConvShape* g = &op.shape
    cdef ptrdiff_t taps = g.kh * g.kw
    cdef ptrdiff_t c, k
    g.groups = 1
    if x.type == FLOAT32:
        context.materialize(context.input(node, 1))
        op.packed = context.persistent(sizeof(float) * packed_size(g.oc, taps))
        pack_columns(values, g.oc, taps, 1, g.oc, <float*>op.packed)
        op.runs = context.request_scratch(sizeof(Run) * taps)
        op.sums = context.request_scratch(2 * sizeof(float) * (g.oc + 3))
        node.invoke = convolve_single_f32
        return 0
    g.row = padded_row(taps)
    op.packed = context.persistent(g.oc * g.row)
    for c in range(g.oc):
        for k in range(taps):
            (<uint8_t*>op.packed)[c * g.row + k] = bytes[k * g.oc + c]
    if node.arithmetic != MICRO and ready_fixed(      # TFLM's plans may overlap: ops/overlaps.py
            context, &op.fast.single, &op.requantize, g, x, context.input(node, 1).zero_point if x.type == UINT8 else 0, op.packed, g.row,
            context.input(node, 2), &op.rescale, &op.multipliers):
        node.invoke = convolve_gemm_i8
        return parallelize_fixed(context, node, &op.fast.single, gemm_i8_range)
    if x.type == INT16 and node.arithmetic != MICRO and set_constant_bias(op) and plan_columns_i16(
            context, &op.fast.single_words, <const int8_t*>op.packed, g.row, g.oc, 1, taps, &op.rescale):
        node.invoke = convolve_words
        return share_positions(context, node, g, words_range)
    op.image = context.request_scratch(2 * sizeof(int16_t) * g.row)
    op.wide = context.request_scratch(2 * sizeof(int64_t) * g.oc)
    node.invoke = convolve_single_quantized
    return 0


cdef ptrdiff_t halves_up(const ConvShape* g, int type) noexcept nogil:
    """Of how many channels the optimized kernels round halves up; those of uint8 only in aarch64's kernel for 3x3 windows
    (depthwiseconv_3x3_filter_common.h, Fast3x3FilterKernelSupported)."""
    cdef ptrdiff_t below = (g.oh - 1) * g.stride_h - g.pad_h + 3 - g.ih
    cdef ptrdiff_t beside = (g.ow - 1) * g.stride_w - g.pad_w + 3 - g.iw
    if type == INT8:
        return g.oc - g.oc % 8
    if (
        AARCH64 and type == UINT8 and g.kh == 3 and g.kw == 3 and g.ic == g.oc and g.oc % 8 == 0 and g.stride_h == g.stride_w <= 2
        and g.pad_h == g.pad_w <= 1 and g.dilation_h == 1 and g.dilation_w == 1 and below <= g.pad_h and beside <= g.pad_w
        and (g.pad_h == 0 or (g.ih == 1) == (g.iw == 1))
    ):
        return g.oc
    return 0


cdef int prepare_quantized(Context context, Node* node, Depthwise* op) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    if not ((x.type == UINT8 and w.type == UINT8) or (x.type == INT8 and (w.type == INT8 or w.type == INT4))
            or (x.type == INT16 and (w.type == INT8 or (node.arithmetic == OPTIMIZED and read_as_bytes(x, w))))):
        raise (OwnRefusalError if x.type == INT16 or (w.type == INT4 and (x.type == UINT8 or x.type == INT8)) else ValueError)(
            f"DEPTHWISE_CONV_2D: types {type_name(x.type)} x {type_name(w.type)} are not supported")
    if b != NULL and b.zero_point != 0:
        raise ValueError(f"DEPTHWISE_CONV_2D: bias->params.zero_point != 0 ({b.zero_point} != 0)")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("DEPTHWISE_CONV_2D: int16 zero_point != 0")
    plan_rescale(
        context, x, w, b, y, table_i8(node.options, DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, 0), op.shape.oc, x.type == INT16,
        halves_up(&op.shape, x.type) if node.arithmetic == OPTIMIZED else 0, &op.rescale, &op.multipliers, "DEPTHWISE_CONV_2D",
    )
    if node.arithmetic != MICRO and is_constant(w) and op.shape.ic > 1 and ready_fixed(
            context, &op.fast.bytes, &op.requantize, &op.shape, x, w.zero_point if w.type == UINT8 else 0,
            weight_bytes(context, w, &op.weights), 0, b, &op.rescale, &op.multipliers):
        node.invoke = convolve_gemm_i8
        return parallelize_fixed(context, node, &op.fast.bytes, gemm_i8_range)
    own_factors(context, &op.multipliers, &op.rescale)
    if x.type == INT16 and node.arithmetic != MICRO and is_constant(w) and op.shape.ic > 1 and set_constant_bias(op) and plan_depthwise_i16(
            context, &op.fast.words, &op.shape, weight_bytes_s8(context, w, op), &op.rescale):
        node.invoke = convolve_words
        return share_positions(context, node, &op.shape, words_range)
    if x.type != INT16 and node.arithmetic != MICRO:
        prepare_bias(context, b, op.shape.oc, &op.bias)
    op.wide = context.request_scratch(sizeof(int64_t) * op.shape.oc)
    node.invoke = convolve_s8 if x.type == INT8 else convolve_u8 if x.type == UINT8 else convolve_s16
    return 0


cdef int prepare_hybrid(Context context, Node* node, Depthwise* op) except -1:
    cdef Tensor* w = context.input(node, 1)
    check_quantized(w, "DEPTHWISE_CONV_2D", "filter")
    if w.scale_count != op.shape.oc:
        raise (ValueError if node.arithmetic == REFERENCE else OwnRefusalError)(
            f"DEPTHWISE_CONV_2D: affine_quantization->scale->size {w.scale_count} != {op.shape.oc} output channels")
    if op.shape.batches == 0:
        raise LateRefusalError("DEPTHWISE_CONV_2D: batch_size != 0 was not true")
    op.scales = w.scales
    if is_constant(w) and ready_hybrid_depthwise_i8(
            context, &op.fast.hybrid, &op.shape, weight_bytes_s8(context, w, op), op.scales, BY_FOURS if node.arithmetic == OPTIMIZED else BY_PRODUCT,
            <const float*>op.bias.values, op.range.low, op.range.high):
        node.invoke = convolve_gemm_hybrid
        return parallelize_hybrid_i8(context, node, &op.fast.hybrid, hybrid_range)
    op.image = context.request_scratch(sizeof(int16_t) * op.shape.ih * op.shape.iw * op.shape.ic)
    op.scaled_apart = op.shape.oc - op.shape.oc % 4
    node.invoke = convolve_hybrid_optimized if node.arithmetic == OPTIMIZED else convolve_hybrid
    return 0


cdef inline const int8_t* weight_bytes_s8(Context context, Tensor* w, Depthwise* op) noexcept nogil:
    return <const int8_t*>weight_bytes(context, w, &op.weights)


cdef int convolve_gemm_hybrid(Context context, Node* node) noexcept nogil:
    hybrid_range(context, node, 0, all_rows(&(<Depthwise*>node.data).fast.hybrid), 0)
    return 0


cdef void hybrid_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_hybrid_i8(
        context, &(<Depthwise*>node.data).fast.hybrid, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data, first, end,
        worker)


cdef int convolve_gemm_f32(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    if run_unfused(
            context, node, &op.fast.floats, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data):
        return convolve_f32(context, node)
    return 0


cdef int convolve_f32(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    depthwise_f32(
        &op.shape, <const float*>context.input(node, 0).data, filter_of(context, node),
        <const float*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias), op.bias_first, op.range.low,
        op.range.high, <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_gemm_i8(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    cdef const void* x = context.input(node, 0).data
    cdef void* y = context.output(node, 0).data
    if op.packed != NULL:
        run_fixed(context, &op.fast.single, &op.requantize, x, y)
    else:
        run_fixed(context, &op.fast.bytes, &op.requantize, x, y)
    return 0


cdef void gemm_i8_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    cdef const void* x = context.input(node, 0).data
    cdef void* y = context.output(node, 0).data
    if op.packed != NULL:
        run_fixed_range(context, &op.fast.single, &op.requantize, x, y, first, end, worker)
    else:
        run_fixed_range(context, &op.fast.bytes, &op.requantize, x, y, first, end, worker)


cdef bint set_constant_bias(Depthwise* op) noexcept nogil:
    """False where the bias may be another one in each invoke."""
    op.rescale.bias = <const int64_t*>op.bias.values
    return op.bias.values != NULL


cdef int share_positions(Context context, Node* node, const ConvShape* g, WorkFunction work) except -1:
    cdef int64_t positions = g.batches * g.oh * g.ow
    return context.parallelize(node, work, position_space(positions, 1, 0), positions * (20 + g.oc * (0.1 * g.kh * g.kw + 1)))


cdef int convolve_words(Context context, Node* node) noexcept nogil:
    cdef const ConvShape* g = &(<Depthwise*>node.data).shape
    words_range(context, node, 0, g.batches * g.oh * g.ow, 0)
    return 0


cdef void words_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some output positions of int16 images."""
    cdef Depthwise* op = <Depthwise*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    if op.packed == NULL:
        depthwise_positions_i16(context, &op.fast.words, &op.shape, x, first, end, worker, y)
    elif first < end:
        conv_columns_i16(context, &op.fast.single_words, &op.shape, x, &op.rescale, first, end, worker, y)


cdef int convolve_s8(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    cdef Tensor* x = context.input(node, 0)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    depthwise_quantized(
        &op.shape, <const int8_t*>x.data, x.zero_point, <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights), 0,
        &op.rescale, <uint32_t*>context.scratch(op.sums), <int64_t*>context.scratch(op.wide), <int8_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_u8(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    depthwise_quantized(
        &op.shape, <const uint8_t*>x.data, x.zero_point, <const uint8_t*>w.data, w.zero_point, &op.rescale,
        <uint32_t*>context.scratch(op.sums), <int64_t*>context.scratch(op.wide), <uint8_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_s16(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    depthwise_quantized(
        &op.shape, <const int16_t*>context.input(node, 0).data, 0, <const int8_t*>context.input(node, 1).data, 0, &op.rescale,
        <uint32_t*>context.scratch(op.sums), <int64_t*>context.scratch(op.wide), <int16_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_single_f32(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    conv_f32(
        &op.shape, <const float*>context.input(node, 0).data, <const float*>op.packed,
        <const float*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias), op.range.low, op.range.high,
        <Run*>context.scratch(op.runs), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_single_quantized(Context context, Node* node) noexcept nogil:
    cdef Depthwise* op = <Depthwise*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    cdef int16_t* patches = <int16_t*>context.scratch(op.image)
    cdef int64_t* sums = <int64_t*>context.scratch(op.wide)
    cdef const int8_t* w = <const int8_t*>op.packed
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    if x.type == INT8:
        conv_quantized(&op.shape, <const int8_t*>x.data, x.zero_point, w, 0, &op.rescale, patches, sums, <int8_t*>y)
    elif x.type == INT16:
        conv_quantized(&op.shape, <const int16_t*>x.data, 0, w, 0, &op.rescale, patches, sums, <int16_t*>y)
    else:
        conv_quantized(
            &op.shape, <const uint8_t*>x.data, x.zero_point, <const uint8_t*>w, context.input(node, 1).zero_point, &op.rescale,
            patches, sums, <uint8_t*>y,
        )
    return 0


cdef int convolve_hybrid(Context context, Node* node) noexcept nogil:
    """y = (float)sum * (weight scale * image scale) + bias."""
    return hybrid_images(context, node, False)


cdef int convolve_hybrid_optimized(Context context, Node* node) noexcept nogil:
    """y = ((float)sum * weight scale) * image scale + bias, the last channels ((float)sum * image scale) * weight scale + bias."""
    return hybrid_images(context, node, True)


cdef inline int hybrid_images(Context context, Node* node, bint optimized) noexcept nogil:
    """Every image is quantized on its own."""
    cdef Depthwise* op = <Depthwise*>node.data
    cdef ConvShape* g = &op.shape
    cdef const int8_t* w = <const int8_t*>context.input(node, 1).data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), g.oc, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int16_t* image = <int16_t*>context.scratch(op.image)
    cdef uint32_t* sums = <uint32_t*>context.scratch(op.sums)
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef ptrdiff_t n, oy, ox, c
    cdef RowScale s
    cdef Taps t
    cdef float v
    for n in range(g.batches):
        quantize_asymmetric(x, size, image, &s)
        for oy in range(g.oh):
            for ox in range(g.ow):
                t = window_taps(g, oy, ox)
                depthwise_sums(g, &t, g.oc / g.ic, image, s.zero_point, w, 0, sums)
                for c in range(g.oc):
                    if not optimized:
                        v = <float><int32_t>sums[c] * (op.scales[c] * s.scale)
                    elif c < op.scaled_apart:
                        v = <float><int32_t>sums[c] * op.scales[c] * s.scale + bias[c]
                        v = v if v > op.range.low else op.range.low          # NaN gives low
                        y[c] = v if v < op.range.high else op.range.high
                        continue
                    else:
                        v = <float><int32_t>sums[c] * s.scale * op.scales[c]
                    y[c] = clamp_f32(v + bias[c], op.range.low, op.range.high)
                y += g.oc
        x += size
    return 0


OPERATORS = {
    "DEPTHWISE_CONV_2D": defers(register(prepare, version=7, reference_version=6), 1),
}
