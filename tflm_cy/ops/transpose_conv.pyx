"""TRANSPOSE_CONV: output shape [4], filter [output channel, height, width, channel], input [batch, height, width, channel], optional bias.

| input | filter | bias |
| --- | --- | --- |
| float32 | float32 | float32 |
| int8 | int8, one scale or one per channel | int32 |
| uint8 | uint8, one scale | int32 |
| int16 | int8 | int64, or int32 with quantized_bias_type |
| float32 | int8 | float32, hybrid, always asymmetric |

The padding follows from the output's size alone, unchecked against the input's. A shape that is not constant makes the output dynamic.

Source: LiteRT:tflite/kernels/transpose_conv.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32
from tflm_cy.arithmetic.hybrid cimport quantize_row_by
from tflm_cy.arithmetic.row_kernels cimport COLUMN_BLOCK, RowKernels, RowScale
from tflm_cy.arithmetic.product_f32 cimport Run, pack_columns, packed_size
from tflm_cy.arithmetic.product_s16 cimport activation, weight8
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale
from tflm_cy.arithmetic.transpose_conv cimport transpose_conv_f32, transpose_conv_hybrid_image, transpose_conv_quantized, turn_filters
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, iteration_space, position_space, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, INT32, INT64, UINT8, Tensor, count, is_constant, shape_of, type_name, type_size
from tflm_cy.ops.kernels.phases_i16 cimport Phases16, plan_phases_i16, room_for_bytes, run_phases_bytes, run_phases_i16
from tflm_cy.ops.kernels.phases_i8 cimport Phases8, plan_phases_i8, run_phases_i8
from tflm_cy.ops.kernels.transposed_eigen cimport TransposedEigen, prepare_eigen, run_eigen
from tflm_cy.ops.kernels.requantize_fixed cimport constant_bias, fill_requantize_fixed, ready_requantize_fixed
from tflm_cy.ops.product_pairs cimport wraps_in_pairs
from tflm_cy.ops.quantized_weights cimport (
    Bias, bias_values, check_bias_type, check_bias_width, check_quantized, prepare_bias, prepare_bias_micro, prepare_rescale, read_as_bytes,
)
from tflm_cy.ops.window_2d cimport is_empty, pad_before, windows_along
from tflm_cy.schema.option_slots cimport (
    TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION, TRANSPOSE_CONV_PADDING, TRANSPOSE_CONV_QUANTIZED_BIAS_TYPE, TRANSPOSE_CONV_STRIDE_H,
    TRANSPOSE_CONV_STRIDE_W,
)
from tflm_cy.schema.table cimport table_i8, table_i32
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.requantize_fixed cimport RequantizeFixed
from tflm_cy.simd.table cimport row_kernels

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError
from tflm_cy.graph.shown import Shown

cdef struct TransposeConv:
    ConvShape shape              # without the output's size when that is dynamic
    ptrdiff_t height, width      # of the input; shape.ih and shape.iw are how its pixels are taken
    bint columns                 # by the optimized arithmetic: see take_columns
    int padding
    bint dynamic
    Bias bias
    RangeF range
    Rescale rescale
    Rescale whole                # `rescale` without the zero point, where int16 values are made of bytes
    Rescale tail                 # of the last elements: uint8 in the optimized arithmetic, else as `rescale`
    int block                    # which are those beyond a multiple of this
    bint in_pairs                # optimized/product_pairs.pxd
    float* packed                # NULL when the filter is not constant
    int packing                  # scratch, then
    TransposedEigen eigen        # of the optimized arithmetic
    int runs                     # scratch: kh * kw
    int sums                     # scratch: oc sums
    int image                    # scratch: one pixel, or one quantized image (hybrid)
    float* scales                # one per channel (hybrid)
    int8_t* turned               # the filter by depth (hybrid); NULL when it is not constant
    int turning                  # scratch, then
    const RowKernels* rows       # or NULL
    RequantizeFixed fixed        # with vector kernels for bytes
    Phases8 phases
    bint apart                   # of one image at a time
    Phases16 wide                # the same of int16 images
    int64_t exact                # elements of the output that the phases make; the definition makes the others


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* shape = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* x = context.input(node, 2)
    cdef Tensor* b = context.input(node, 3)
    cdef Tensor* y = context.output(node, 0)
    cdef int bias_option = table_i8(node.options, TRANSPOSE_CONV_QUANTIZED_BIAS_TYPE, 0)
    cdef TransposeConv* op
    if not 3 <= node.input_count <= 4 or node.output_count != 1 or shape == NULL or w == NULL or x == NULL or y == NULL:
        raise ValueError("TRANSPOSE_CONV wants an output shape, a filter, an input, an optional bias and one output")
    op = <TransposeConv*>context.persistent(sizeof(TransposeConv))
    node.data = op
    read_shape(node, shape, w, x, op)
    if y.type != x.type:
        raise ValueError(f"TRANSPOSE_CONV: output->type != input->type ({type_name(y.type)} != {type_name(x.type)})")
    if node.arithmetic == MICRO:
        bias_option = INT64        # there sums are always wide
    if node.arithmetic != MICRO:
        check_bias_type(x, b, bias_option, "TRANSPOSE_CONV")
        if x.type == INT16 and node.options == NULL:
            raise ValueError("TRANSPOSE_CONV: params->quantized_bias_type == kTfLiteInt32 || ... was not true: INT16 wants options")
    if b != NULL and count(b) != op.shape.oc:
        raise ValueError(f"TRANSPOSE_CONV: NumElements(bias) != SizeOfDimension(weights, 0) ({count(b)} != {op.shape.oc})")
    if op.shape.stride_h <= 0 or op.shape.stride_w <= 0:
        refuse_strides(context, op, shape, y)
    op.columns = (
        node.arithmetic == OPTIMIZED and not is_empty(&op.shape) and (x.type != FLOAT32 or w.type == FLOAT32)
        and (x.type != INT16 or bias_option == INT32))
    op.dynamic = not is_constant(shape) and node.arithmetic != MICRO
    if op.dynamic:
        context.set_dynamic(y)
    elif node.arithmetic == MICRO:     # TFLM does not look at the output shape that is given
        if y.rank != 4 or set_output_size(op, y.dims) != 0:
            raise ValueError(f"TRANSPOSE_CONV: output {shape_of(y)} does not fit {op.shape.batches} images and {op.shape.oc} channels")
    else:
        set_given_shape(context, op, shape, w, x, y)
    if node.arithmetic == MICRO:
        prepare_bias_micro(context, x, b, INT16 if b != NULL and b.type == INT16 else INT64, op.shape.oc, &op.bias)
    else:
        prepare_bias(context, b, op.shape.oc, &op.bias)
    op.range = activation_range_f32(table_i8(node.options, TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION, 0))
    op.runs = context.request_scratch(context.for_all_workers(op.shape.kh * op.shape.kw * sizeof(Run)))
    op.sums = context.request_scratch(context.for_all_workers(sizeof(int64_t) * (op.shape.oc + 3)))
    if x.type != FLOAT32:
        prepare_quantized(context, node, op, bias_option == INT32)
    elif w.type == FLOAT32:
        prepare_float(context, node, op)
    else:
        prepare_hybrid(context, node, op)
    if node.arithmetic != MICRO:
        check_bias_width(x, b, bias_option, "TRANSPOSE_CONV")
    return 0


cdef int set_given_shape(Context context, TransposeConv* op, const Tensor* shape, const Tensor* w, const Tensor* x, Tensor* y) except -1:
    """The constant one. Where it does not fit, TensorFlow looks at the weights first and refuses while invoking."""
    cdef const int32_t* given = <const int32_t*>shape.data
    text = f"TRANSPOSE_CONV: output shape {[given[d] for d in range(4)]} does not fit {op.shape.batches} images and {op.shape.oc} channels"
    if min([given[d] for d in range(4)]) < 0:
        raise ValueError(text)
    context.set_shape(y, 4, given)
    if set_output_size(op, given) != 0:
        if x.type == INT16 and w.type != INT8:
            raise ValueError(f"TRANSPOSE_CONV: types INT16 x {type_name(w.type)} are not supported")
        if x.type != FLOAT32 or w.type == INT8:
            check_quantized(w, "TRANSPOSE_CONV", "weights")
        raise LateRefusalError(text)
    return 0


cdef int read_shape(const Node* node, const Tensor* shape, const Tensor* w, const Tensor* x, TransposeConv* op) except -1:
    cdef ConvShape* g = &op.shape
    if shape.type != INT32 or shape.rank != 1 or (is_constant(shape) and shape.dims[0] != 4):
        raise ValueError(f"TRANSPOSE_CONV: the output shape must be int32 [4], got {type_name(shape.type)} {shape_of(shape)}")
    if x.rank != 4 or w.rank != 4:
        raise ValueError(f"TRANSPOSE_CONV: NumDimensions(input) != 4: input {shape_of(x)}, weights {shape_of(w)}")
    g.batches, g.ih, g.iw, g.ic = x.dims[0], x.dims[1], x.dims[2], x.dims[3]
    g.oc, g.kh, g.kw, g.group_ic = w.dims[0], w.dims[1], w.dims[2], w.dims[3]
    g.groups = g.dilation_h = g.dilation_w = 1
    g.stride_h = table_i32(node.options, TRANSPOSE_CONV_STRIDE_H, 0)
    g.stride_w = table_i32(node.options, TRANSPOSE_CONV_STRIDE_W, 0)
    if g.stride_h > 32767 or g.stride_w > 32767:
        raise ValueError(f"TRANSPOSE_CONV: strides {g.stride_h}, {g.stride_w} are too long")
    if (is_empty(g) and node.arithmetic == MICRO) or g.ic <= 0 or g.oc <= 0 or g.kh <= 0 or g.kw <= 0:
        raise ValueError(f"TRANSPOSE_CONV: empty input {shape_of(x)} or weights {shape_of(w)}")
    if g.ic != g.group_ic:
        raise ValueError(f"TRANSPOSE_CONV: SizeOfDimension(input, 3) != SizeOfDimension(weights, 3) ({g.ic} != {g.group_ic})")
    op.padding = table_i8(node.options, TRANSPOSE_CONV_PADDING, 0)
    op.height, op.width = g.ih, g.iw
    return 0


cdef int refuse_strides(Context context, const TransposeConv* op, const Tensor* shape, Tensor* y) except -1:
    """TensorFlow looks at them when it computes."""
    if is_constant(shape):
        context.set_shape(y, 4, <const int32_t*>shape.data)
    else:
        context.set_dynamic(y)
    raise LateRefusalError(f"TRANSPOSE_CONV: params->stride_height > 0 was not true (strides {op.shape.stride_h}, {op.shape.stride_w})")


cdef int set_output_size(TransposeConv* op, const int32_t* dims) noexcept nogil:
    """0, or -1 when the output does not have the input's batches and the filter's channels."""
    cdef ConvShape* g = &op.shape
    if dims[0] != g.batches or dims[3] != g.oc or dims[1] < 0 or dims[2] < 0:
        return -1
    g.oh, g.ow = dims[1], dims[2]
    g.pad_h = pad_before(g.oh, g.kh, g.stride_h, 1, windows_along(op.padding, g.oh, g.kh, g.stride_h, 1))
    g.pad_w = pad_before(g.ow, g.kw, g.stride_w, 1, windows_along(op.padding, g.ow, g.kw, g.stride_w, 1))
    if op.columns:
        take_columns(op)
    return 0


cdef void take_columns(TransposeConv* op) noexcept nogil:
    """TensorFlow's optimized kernels take as many rows and columns of products as the forward convolution has windows, one product after
    the other. Where that is less than the input it decides which pixel is which; where it is more (TensorFlow reads what lies behind)
    the input decides."""
    cdef ConvShape* g = &op.shape
    cdef ptrdiff_t rows = windows_between(g.oh, g.kh, g.stride_h, windows_along(op.padding, g.oh, g.kh, g.stride_h, 1))
    cdef ptrdiff_t columns = windows_between(g.ow, g.kw, g.stride_w, windows_along(op.padding, g.ow, g.kw, g.stride_w, 1))
    g.ih, g.iw = op.height, op.width
    if rows * columns <= op.height * op.width:
        g.ih, g.iw = rows, columns


cdef ptrdiff_t windows_between(ptrdiff_t size, ptrdiff_t filter, ptrdiff_t stride, ptrdiff_t out) noexcept nogil:
    """Windows over an axis with its padding; the quotient is truncated towards zero."""
    cdef ptrdiff_t total = max((out - 1) * stride + filter - size, <ptrdiff_t>0)
    return max((size + total - filter) / stride + 1, <ptrdiff_t>0)


cdef int prepare_float(Context context, Node* node, TransposeConv* op) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef ptrdiff_t depth = op.shape.kh * op.shape.kw * op.shape.ic
    op.packed = NULL
    if node.arithmetic == OPTIMIZED and not is_empty(&op.shape):
        prepare_eigen(context, &op.eigen, &op.shape, op.height * op.width, w)
        node.invoke = convolve_f32_eigen
        return 0
    if is_constant(w):
        op.packed = <float*>context.persistent(sizeof(float) * packed_size(op.shape.oc, depth))
        pack_columns(<const float*>w.data, op.shape.oc, depth, depth, 1, op.packed)
    else:
        op.packing = context.request_scratch(sizeof(float) * packed_size(op.shape.oc, depth))
    node.invoke = convolve_f32
    return 0


cdef int prepare_quantized(Context context, Node* node, TransposeConv* op, bint narrow_bias) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* x = context.input(node, 2)
    cdef Tensor* b = context.input(node, 3)
    cdef Tensor* y = context.output(node, 0)
    cdef int fused = table_i8(node.options, TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION, 0)
    cdef ptrdiff_t up = 0
    if (x.type != INT8 and x.type != UINT8 and x.type != INT16) or not read_as_bytes(x, w) or (
            x.type == INT16 and w.type != INT8 and node.arithmetic != MICRO) or (
            node.arithmetic == OPTIMIZED and type_size(w.type) != 1):        # which it puts into another order first
        if x.type != INT16:
            check_quantized(w, "TRANSPOSE_CONV", "weights")
        raise (OwnRefusalError if x.type == UINT8 or x.type == INT8 else ValueError)(
            f"TRANSPOSE_CONV: types {type_name(x.type)} x {type_name(w.type)} are not supported")
    if b != NULL and b.zero_point != 0 and x.type != UINT8:
        raise ValueError(f"TRANSPOSE_CONV: bias->params.zero_point != 0 ({b.zero_point} != 0)")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("TRANSPOSE_CONV: int16 zero_point != 0")
    if node.arithmetic == OPTIMIZED and (x.type == INT8 or x.type == INT16 and narrow_bias):
        up = op.shape.oc - op.shape.oc % 8
    elif node.arithmetic == OPTIMIZED and x.type == UINT8:
        up = op.shape.oc
    prepare_rescale(
        context, x, w, b, y, fused, op.shape.oc, x.type == INT16 and not narrow_bias, up, &op.rescale, "TRANSPOSE_CONV")
    op.tail = op.rescale
    op.block = 1
    if x.type == UINT8 and up != 0:
        prepare_rescale(context, x, w, b, y, fused, op.shape.oc, False, 0, &op.tail, "TRANSPOSE_CONV")
        op.block = 16
    op.image = context.request_scratch(context.for_all_workers(sizeof(int16_t) * op.shape.ic))
    node.invoke = convolve
    op.in_pairs = node.arithmetic == OPTIMIZED and x.type != INT16 and wraps_in_pairs(     # a pixel, times all taps at once
        op.shape.kh * op.shape.kw * op.shape.oc, op.shape.ic, w.data if is_constant(w) else NULL, x.type == UINT8,
        w.zero_point if x.type == UINT8 else 0)
    if op.in_pairs:
        return share_definition(context, node, op)
    if x.type != INT16 and node.arithmetic != MICRO and not op.dynamic and type_size(w.type) == 1 and use_phases(context, node, op, x, w, b):
        node.invoke = convolve_phases
        if op.exact == count(y):
            return context.parallelize(node, compute_phases, iteration_space(op.phases.count, 1), op.phases.time)
    if x.type == INT16 and node.arithmetic != MICRO and is_constant(w) and op.bias.values != NULL and not is_empty(&op.shape):
        op.rescale.bias = <const int64_t*>op.bias.values
        if plan_phases_i16(context, &op.wide, &op.shape, <const int8_t*>w.data, &op.rescale):
            node.invoke = convolve_phases_s16
            if not op.dynamic:
                return context.parallelize(
                    node, compute_phases_s16, iteration_space(op.shape.batches * op.shape.oh, 1),
                    count(y) * (0.01 * op.wide.depth + 1))
    if x.type == INT8 and op.dynamic and node.arithmetic != MICRO and is_constant(w) and w.type == INT8 and op.bias.values != NULL and not is_empty(&op.shape):
        op.whole = op.rescale
        op.whole.bias, op.whole.zero_point = <const int64_t*>op.bias.values, 0
        op.whole.low, op.whole.high = op.rescale.low - op.rescale.zero_point, op.rescale.high - op.rescale.zero_point
        if plan_phases_i16(context, &op.wide, &op.shape, <const int8_t*>w.data, &op.whole):
            op.image = context.request_scratch(room_for_bytes(&op.shape, op.height * op.width))
            node.invoke = convolve_phases_bytes
    return share_definition(context, node, op) if node.invoke == convolve else 0


cdef int share_definition(Context context, Node* node, TransposeConv* op) except -1:
    cdef const ConvShape* g = &op.shape
    cdef int64_t positions = g.batches * g.oh * g.ow
    cdef double taps = <double>g.kh * g.kw * g.ic / (g.stride_h * g.stride_w)
    if op.dynamic or op.bias.values == NULL or node.arithmetic == MICRO or is_empty(g):
        return 0
    op.rescale.bias = op.tail.bias = <const int64_t*>op.bias.values
    return context.parallelize(node, gather_range, position_space(positions, 1, 0), positions * g.oc * (0.3 * taps + 1))


cdef int convolve_phases_bytes(Context context, Node* node) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    cdef const Tensor* x = context.input(node, 2)
    if shape_output(context, node, op) != 0:
        return -1
    run_phases_bytes(
        context, &op.wide, &op.shape, op.height * op.width, <const int8_t*>x.data, x.zero_point, &op.whole, op.rescale.zero_point,
        <int16_t*>context.scratch(op.image), <int8_t*>context.output(node, 0).data)
    return 0


cdef int convolve_phases_s16(Context context, Node* node) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    if shape_output(context, node, op) != 0:
        return -1
    compute_phases_s16(context, node, 0, op.shape.batches * op.shape.oh, 0)
    return 0


cdef void compute_phases_s16(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some rows of the output."""
    cdef TransposeConv* op = <TransposeConv*>node.data
    run_phases_i16(
        context, &op.wide, &op.shape, op.height * op.width, <const int16_t*>context.input(node, 2).data, &op.rescale, first, end, worker,
        <int16_t*>context.output(node, 0).data)


cdef bint use_phases(Context context, Node* node, TransposeConv* op, const Tensor* x, const Tensor* w, const Tensor* b) except -1:
    """As convolutions, one for each phase of the strides. Images of which not all pixels are taken are computed one by one."""
    cdef ConvShape* g = &op.shape
    cdef ConvShape together = op.shape
    cdef const int32_t* bias = constant_bias(context, b, g.oc)
    cdef ConvI8 common
    cdef int64_t outputs = g.batches * g.oh * g.ow * g.oc
    if not is_constant(w) or bias == NULL or is_empty(g) or outputs == 0:
        return False
    op.apart = g.ih * g.iw != op.height * op.width
    together.batches = 1 if op.apart else g.batches
    if g.ih * g.iw > op.height * op.width or not ready_requantize_fixed(context, &op.fixed, 1, g.oc, g.kh * g.kw * g.ic, x, bias, &op.rescale, NULL):
        return False
    memset(&common, 0, sizeof(common))
    fill_requantize_fixed(&common, &op.fixed, &together, x, w.zero_point if x.type == UINT8 else 0, bias)
    if not plan_phases_i8(context, &op.phases, &together, &common, x, w, 1):
        return False
    op.fixed.pack(&op.fixed)
    op.exact = outputs - outputs % op.block
    return True


cdef int convolve_phases(Context context, Node* node) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    compute_phases(context, node, 0, op.phases.count, 0)
    if op.exact == count(context.output(node, 0)):
        return 0
    return gather(context, node, op.exact / op.shape.oc)


cdef void compute_phases(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    cdef const ConvShape* g = &op.shape
    cdef const char* x = <const char*>context.input(node, 2).data
    cdef char* y = <char*>context.output(node, 0).data
    for _ in range(g.batches if op.apart else 1):
        run_phases_i8(context, &op.phases, x, y, <int>first, <int>end, worker)
        x += op.height * op.width * g.ic
        y += g.oh * g.ow * g.oc


cdef int prepare_hybrid(Context context, Node* node, TransposeConv* op) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef ptrdiff_t c
    if w.type != INT8:
        raise OwnRefusalError(f"TRANSPOSE_CONV: types FLOAT32 x {type_name(w.type)} are not supported")
    check_quantized(w, "TRANSPOSE_CONV", "weights")
    if w.scale_count != 1 and w.scale_count != op.shape.oc:
        raise ValueError(f"TRANSPOSE_CONV: {w.scale_count} scales for {op.shape.oc} output channels")
    if w.scale_count == 1 and node.arithmetic != MICRO:
        context.keep(Shown(w.index, repeats=op.shape.oc))
    op.scales = <float*>context.persistent(sizeof(float) * op.shape.oc)
    for c in range(op.shape.oc):
        op.scales[c] = w.scales[c if w.scale_count > 1 else 0]
    op.image = context.request_scratch(sizeof(int16_t) * op.shape.ih * op.shape.iw * op.shape.ic)
    op.turned = NULL
    op.rows = row_kernels() if node.arithmetic != MICRO else NULL
    if is_constant(w):
        op.turned = <int8_t*>context.unfilled(count(w) + COLUMN_BLOCK)
        turn_filters(<const int8_t*>w.data, op.shape.oc, op.shape.kh * op.shape.kw * op.shape.ic, op.turned)
    else:
        op.turning = context.request_scratch(count(w) + COLUMN_BLOCK)
    node.invoke = convolve_hybrid
    return 0


cdef int shape_output(Context context, Node* node, TransposeConv* op) noexcept nogil:
    """A dynamic output gets its shape."""
    cdef const int32_t* dims = <const int32_t*>context.input(node, 0).data
    if not op.dynamic:
        return 0
    if context.input(node, 0).dims[0] != 4:
        return context.fail(b"TRANSPOSE_CONV: the output shape must be int32 [4]: NumElements(output_shape) != 4")
    if set_output_size(op, dims) != 0:
        return context.fail_with(b"TRANSPOSE_CONV: the output shape does not fit %ld images and %ld channels", op.shape.batches, op.shape.oc)
    return context.resize(context.output(node, 0), 4, dims)


cdef int convolve_f32(Context context, Node* node) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    cdef ptrdiff_t depth = op.shape.kh * op.shape.kw * op.shape.ic
    cdef float* packed = op.packed
    if shape_output(context, node, op) != 0:
        return -1
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_columns(<const float*>context.input(node, 1).data, op.shape.oc, depth, depth, 1, packed)
    transpose_conv_f32(
        &op.shape, <const float*>context.input(node, 2).data, packed,
        <const float*>bias_values(context, context.input(node, 3), op.shape.oc, &op.bias), op.range.low, op.range.high,
        <Run*>context.scratch(op.runs), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data)
    return 0


cdef int convolve_f32_eigen(Context context, Node* node) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    if shape_output(context, node, op) != 0:
        return -1
    run_eigen(
        context, &op.eigen, &op.shape, <const float*>context.input(node, 2).data, <const float*>context.input(node, 1).data,
        <const float*>bias_values(context, context.input(node, 3), op.shape.oc, &op.bias), op.range.low, op.range.high,
        <float*>context.output(node, 0).data)
    return 0


cdef int convolve(Context context, Node* node) noexcept nogil:
    return -1 if shape_output(context, node, <TransposeConv*>node.data) != 0 else gather(context, node, 0)


cdef int gather(Context context, Node* node, int64_t first) noexcept nogil:
    """The definition, from position `first` on."""
    cdef TransposeConv* op = <TransposeConv*>node.data
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 3), op.shape.oc, &op.bias)
    op.tail.bias = op.rescale.bias
    gather_range(context, node, first, op.shape.batches * op.shape.oh * op.shape.ow, 0)
    return 0


cdef void gather_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const void* x = context.input(node, 2).data
    cdef const void* w = context.input(node, 1).data
    cdef Tensor* y = context.output(node, 0)
    if y.type == INT8:
        gather_positions(context, node, first, end, worker, <const int8_t*>x, <const int8_t*>w, <int8_t*>y.data)
    elif y.type == UINT8:
        gather_positions(context, node, first, end, worker, <const uint8_t*>x, <const uint8_t*>w, <uint8_t*>y.data)
    else:
        gather_positions(context, node, first, end, worker, <const int16_t*>x, <const int8_t*>w, <int16_t*>y.data)


cdef inline void gather_positions(
    Context context, Node* node, int64_t first, int64_t end, int worker, const activation* x, const weight8* w, activation* y,
) noexcept nogil:
    cdef TransposeConv* op = <TransposeConv*>node.data
    cdef const ConvShape* g = &op.shape
    transpose_conv_quantized(
        g, op.height * op.width, x, context.input(node, 2).zero_point, w, context.input(node, 1).zero_point if weight8 is uint8_t else 0,
        &op.rescale, &op.tail, op.block, first, end, op.in_pairs,
        <Run*>context.worker_scratch(op.runs, g.kh * g.kw * sizeof(Run), worker),
        <int16_t*>context.worker_scratch(op.image, sizeof(int16_t) * g.ic, worker),
        <int64_t*>context.worker_scratch(op.sums, sizeof(int64_t) * (g.oc + 3), worker), y)


cdef int convolve_hybrid(Context context, Node* node) noexcept nogil:
    """Every image of the batch is quantized on its own."""
    cdef TransposeConv* op = <TransposeConv*>node.data
    cdef ConvShape* g = &op.shape
    cdef int16_t* image = <int16_t*>context.scratch(op.image)
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef const float* bias
    cdef const float* x
    cdef float* y
    cdef int8_t* turned = op.turned
    cdef RowScale s
    cdef ptrdiff_t n
    if shape_output(context, node, op) != 0:
        return -1
    if turned == NULL:
        turned = <int8_t*>context.scratch(op.turning)
        turn_filters(<const int8_t*>context.input(node, 1).data, g.oc, g.kh * g.kw * g.ic, turned)
    x = <const float*>context.input(node, 2).data
    y = <float*>context.output(node, 0).data
    bias = <const float*>bias_values(context, context.input(node, 3), g.oc, &op.bias)
    for n in range(g.batches):
        quantize_row_by(op.rows, True, x, size, image, &s)
        transpose_conv_hybrid_image(
            g, image, s.zero_point, s.scale, turned, op.scales, bias, op.range.low, op.range.high,
            <Run*>context.scratch(op.runs), <float*>context.scratch(op.sums), y, op.rows,
        )
        x += size
        y += g.oh * g.ow * g.oc
    return 0


OPERATORS = {
    "TRANSPOSE_CONV": register(prepare, version=5),
}
