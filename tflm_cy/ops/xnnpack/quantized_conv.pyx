"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV as XNNPACK computes them, on int8 and uint8 or with dynamic range.

| input | weights | operators |
| --- | --- | --- |
| int8 | int8, one scale or one per channel | all three |
| uint8 | uint8, one scale | all three |
| float32 | int8, one scale or one per channel | CONV_2D, TRANSPOSE_CONV |

Quirks: zero points of int8 weights are ignored; SAME padding that would be negative loses the image
(arithmetic/xnnpack/quantized_conv.pxd); a dynamic CONV_2D of 1x1 with stride 1 quantizes each pixel on its own, every other one each image;
a VALID TRANSPOSE_CONV takes from the wanted output size only what is left over modulo the stride. A filter that is larger than the image
(VALID) is refused, where TensorFlow reads outside of it.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc, XNNPACK's src/operators/{convolution,deconvolution}-nhwc.c.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.multipliers cimport Requantize, Scaling
from tflm_cy.arithmetic.product_f32 cimport Run
from tflm_cy.arithmetic.shapes cimport ConvShape, padded_row
from tflm_cy.arithmetic.window cimport SAME, VALID
from tflm_cy.arithmetic.xnnpack.product_order cimport transposed_positions
from tflm_cy.arithmetic.xnnpack.quantized_conv cimport (
    conv_8, conv_dynamic, depthwise_8, lost, only_bias_8, only_bias_dynamic, transpose_conv_8, transpose_conv_dynamic,
)
from tflm_cy.graph.context cimport Context, IterationSpace, Node, elide, iteration_space, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT32, UINT8, Tensor, count, shape_of, type_name
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.window_2d cimport is_delegated_product, misfit_text, pad_before, set_delegated_window, windows_along
from tflm_cy.ops.xnnpack.constant_weights cimport (
    prepare_requantize, prepare_scaling, requantize_late, want_activations, want_constant, weight_at, weight_rows, wide_weights,
)
from tflm_cy.ops.xnnpack.rank cimport read_sides, refuse_other_rank, shape_of_windows
from tflm_cy.ops.xnnpack.image_channels cimport channels_read, run_alone
from tflm_cy.ops.kernels.phases_i8 cimport Phases8, plan_phases_i8, run_phases_i8
from tflm_cy.ops.kernels.gemm_i8 cimport ready_conv_i8, ready_depthwise_i8
from tflm_cy.ops.kernels.packed cimport parallelize_packed, run_packed, run_packed_range
from tflm_cy.schema.option_slots cimport (
    CONV_2D_DILATION_H_FACTOR, CONV_2D_DILATION_W_FACTOR, CONV_2D_FUSED_ACTIVATION_FUNCTION, CONV_2D_PADDING, CONV_2D_STRIDE_H,
    CONV_2D_STRIDE_W, DEPTHWISE_CONV_2D_DILATION_H_FACTOR, DEPTHWISE_CONV_2D_DILATION_W_FACTOR,
    DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION,
)
from tflm_cy.schema.table cimport table_i8, table_i32
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8
from tflm_cy.simd.ranges cimport Ranges, ranges_of

from tflm_cy.graph.refusal import OwnRefusalError


cdef enum:
    LARGEST_DEPTHWISE = 25       # taps of XNNPACK's depthwise kernels; larger filters take the matrix kernels

cdef struct Conv:
    ConvShape shape
    Requantize out               # 8-bit activations
    Scaling scaling              # float32 activations
    const void* w                # rows of shape.row bytes (TRANSPOSE_CONV on 8 bits: of int16 values)
    int32_t w_zero_point
    int patches                  # scratch: two windows
    int sums                     # scratch: of two positions
    int image                    # scratch: one image less its zero point
    int runs                     # scratch: kh * kw runs
    ConvI8 fast                 # with a vector kernel
    DepthwiseI8 fast_depthwise
    Phases8 phases               # TRANSPOSE_CONV


cdef int prepare_conv(Context context, Node* node) except -1:
    make_conv(context, node)
    return run_alone(context.input(node, 0), node, (<Conv*>node.data).shape.ic)


cdef int make_conv(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = result(context, node, 0)
    cdef int padding = table_i8(node.options, CONV_2D_PADDING, 0)
    cdef int activation = table_i8(node.options, CONV_2D_FUSED_ACTIVATION_FUNCTION, 0)
    cdef Conv* op
    cdef ConvShape* g
    cdef ptrdiff_t channels
    cdef bint misses
    want_activations(x, w, y, "CONV_2D")
    want_constant(w, "CONV_2D", "filter")
    op = <Conv*>context.persistent(sizeof(Conv))
    node.data = op
    g = &op.shape
    read_image(context, node, x, w, g, "CONV_2D")
    g.oc = w.dims[0]
    g.group_ic = w.dims[3]
    g.dilation_w = table_i32(node.options, CONV_2D_DILATION_W_FACTOR, 1)
    g.dilation_h = table_i32(node.options, CONV_2D_DILATION_H_FACTOR, 1)
    channels = channels_read(context, node, x, w, g.ic)
    if g.group_ic <= 0 or channels % g.group_ic != 0 or channels == 0 or g.oc % (channels / g.group_ic) != 0:
        g.groups = 1
        shape_windows(context, g, padding, x, y, "CONV_2D", is_delegated_product(g))
        if count(y) == 0:
            return elide(node)
        raise OwnRefusalError(f"CONV_2D: {g.ic} channels do not fit a filter of {g.group_ic} and {g.oc} output channels")
    g.ic = channels
    g.groups = g.ic / g.group_ic
    shape_windows(context, g, padding, x, y, "CONV_2D", is_delegated_product(g))
    if g.oh == 0 or g.ow == 0:
        return elide(node)
    misses = lost(g, padding)
    flatten_pointwise(g, x.type == FLOAT32)
    if x.type == FLOAT32:
        prepare_scaling(
            context, w, b, activation, g.oc, g.groups == 1 and is_pointwise(g) and g.ic + g.oc > 2, g.oh * g.ow, &op.scaling, "CONV_2D")
        node.invoke = lost_dynamic if misses else convolve_dynamic
    else:
        prepare_requantize(context, x, w, b, y, activation, g.oc, True, &op.out, "CONV_2D")
        node.invoke = lost_8 if misses else convolve_8
    op.w_zero_point = w.zero_point if w.type == UINT8 else 0
    g.row = padded_row(g.kh * g.kw * g.group_ic)
    if not misses and prepare_vector(context, op, x, w, <const uint8_t*>w.data, g.kh * g.kw * g.group_ic):
        node.invoke = convolve_vector
        return parallelize_packed(context, node, &op.fast, compute_range)
    if x.type == FLOAT32:
        op.image = context.request_scratch(sizeof(int16_t) * g.ih * g.iw * g.ic)
    op.w = weight_rows(context, w, g.oc, g.kh * g.kw * g.group_ic, g.row)
    request_positions(context, op)
    return 0


cdef bint prepare_vector(Context context, Conv* op, const Tensor* x, const Tensor* w, const uint8_t* filters, ptrdiff_t row) except -1:
    """Filters of `row` bytes each."""
    fill_plan(op, x)
    if w.type != INT8 and w.type != UINT8:
        return False
    return ready_conv_i8(context, &op.fast, x, filters, row)


cdef void fill_plan(Conv* op, const Tensor* x) noexcept:
    op.fast.shape = op.shape
    op.fast.is_signed = x.type != UINT8
    op.fast.dynamic = x.type == FLOAT32
    op.fast.x_zero_point = x.zero_point
    op.fast.w_zero_point = op.w_zero_point
    op.fast.out = op.out
    op.fast.scaling = op.scaling
    requantize_late(&op.out, &op.fast.finish, &op.fast.params, &op.fast.y_size)


cdef int convolve_vector(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    run_packed(context, &op.fast, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef void compute_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_packed_range(context, &(<Conv*>node.data).fast, context.input(node, 0).data, context.output(node, 0).data, first, end, worker)


cdef void compute_depthwise(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_packed_range(
        context, &(<Conv*>node.data).fast_depthwise, context.input(node, 0).data, context.output(node, 0).data, first, end, worker)


cdef int read_image(Context context, const Node* node, const Tensor* x, const Tensor* w, ConvShape* g, str name) except -1:
    cdef int32_t[4] sides
    if x.rank == 0 or w.rank != 4:
        raise ValueError(f"{name}: input {shape_of(x)} and filter {shape_of(w)} want four dimensions")
    read_sides(context, x, sides, x.type == FLOAT32)
    g.batches, g.ih, g.iw, g.ic = sides[0], sides[1], sides[2], sides[3]
    g.kh = w.dims[1]
    g.kw = w.dims[2]
    g.stride_h = table_i32(node.options, CONV_2D_STRIDE_H, 0)
    g.stride_w = table_i32(node.options, CONV_2D_STRIDE_W, 0)
    g.dilation_h = 1
    g.dilation_w = 1
    return 0


cdef int shape_windows(Context context, ConvShape* g, int padding, const Tensor* x, Tensor* y, str name, bint product=False) except -1:
    """Output size, padding, and the output's shape."""
    cdef bint misfit = set_delegated_window(g, padding, name, product)
    shape_of_windows(context, x, y, g, product)
    if misfit:
        raise OwnRefusalError(misfit_text(g, name))
    return refuse_other_rank(x, 4, name)


cdef int request_positions(Context context, Conv* op) except -1:
    op.patches = context.request_scratch(2 * sizeof(int16_t) * op.shape.row)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.shape.oc)
    return 0


cdef bint is_pointwise(const ConvShape* g) noexcept:
    return g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1


cdef int flatten_pointwise(ConvShape* g, bint dynamic) except -1:
    """A 1x1 filter with stride 1 is a matrix product: all pixels of all images are one row of positions. Dynamic: each is an image."""
    if not is_pointwise(g):
        return 0
    if dynamic and (g.groups != 1 or g.ic + g.oc <= 2):
        return 0
    g.ow = g.batches * g.ih * g.iw
    g.oh = 1
    g.batches = 1
    if dynamic:
        g.batches = g.ow
        g.ow = 1
    g.ih = g.oh
    g.iw = g.ow
    return 0


cdef int convolve_8(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    cdef int16_t* patches = <int16_t*>context.scratch(op.patches)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    if x.type == INT8:
        conv_8(&op.shape, <const int8_t*>x.data, x.zero_point, <const int8_t*>op.w, 0, &op.out, patches, sums, <int8_t*>y)
    else:
        conv_8(
            &op.shape, <const uint8_t*>x.data, x.zero_point, <const uint8_t*>op.w, op.w_zero_point, &op.out, patches, sums, <uint8_t*>y)
    return 0


cdef int convolve_dynamic(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    conv_dynamic(
        &op.shape, <const float*>context.input(node, 0).data, <const int8_t*>op.w, &op.scaling, <int16_t*>context.scratch(op.image),
        <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int lost_8(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    if y.type == INT8:
        only_bias_8(&op.shape, &op.out, sums, <int8_t*>y.data)
    else:
        only_bias_8(&op.shape, &op.out, sums, <uint8_t*>y.data)
    return 0


cdef int lost_dynamic(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    only_bias_dynamic(
        &op.shape, <const float*>context.input(node, 0).data, &op.scaling, <int64_t*>context.scratch(op.sums),
        <float*>context.output(node, 0).data)
    return 0


cdef int prepare_depthwise(Context context, Node* node) except -1:
    make_depthwise(context, node)
    return run_alone(context.input(node, 0), node, (<Conv*>node.data).shape.ic)


cdef int make_depthwise(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = result(context, node, 0)
    cdef int padding = table_i8(node.options, CONV_2D_PADDING, 0)
    cdef Conv* op
    cdef ConvShape* g
    cdef ptrdiff_t channels
    want_activations(x, w, y, "DEPTHWISE_CONV_2D")
    want_constant(w, "DEPTHWISE_CONV_2D", "filter")
    if x.type == FLOAT32 or w.type != x.type:
        raise ValueError(f"DEPTHWISE_CONV_2D: types {type_name(x.type)} x {type_name(w.type)} are not supported")
    op = <Conv*>context.persistent(sizeof(Conv))
    node.data = op
    g = &op.shape
    read_image(context, node, x, w, g, "DEPTHWISE_CONV_2D")
    g.oc = w.dims[3]
    g.group_ic = 1
    g.dilation_w = table_i32(node.options, DEPTHWISE_CONV_2D_DILATION_W_FACTOR, 1)
    g.dilation_h = table_i32(node.options, DEPTHWISE_CONV_2D_DILATION_H_FACTOR, 1)
    channels = channels_read(context, node, x, w, g.ic)
    if w.dims[0] != 1 or channels <= 0 or g.oc % channels != 0:
        shape_windows(context, g, padding, x, y, "DEPTHWISE_CONV_2D")
        raise OwnRefusalError(f"DEPTHWISE_CONV_2D: {g.ic} channels do not fit a filter {shape_of(w)}")
    g.ic = g.groups = channels
    shape_windows(context, g, padding, x, y, "DEPTHWISE_CONV_2D")
    prepare_requantize(
        context, x, w, b, y, table_i8(node.options, DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, 0), g.oc,
        g.oc != g.ic or g.kh * g.kw > LARGEST_DEPTHWISE, &op.out, "DEPTHWISE_CONV_2D",
    )
    op.w_zero_point = w.zero_point if w.type == UINT8 else 0
    op.w = w.data
    node.invoke = convolve_depthwise
    if lost(g, padding):
        node.invoke = lost_8
    elif g.ic == 1:
        transpose_filter(context, op, w)
        node.invoke = convolve_8
        if prepare_vector(context, op, x, w, <const uint8_t*>op.w, g.row):
            node.invoke = convolve_vector
            return parallelize_packed(context, node, &op.fast, compute_range)
    elif prepare_vector_depthwise(context, op, x):
        node.invoke = convolve_depthwise_vector
        return parallelize_packed(context, node, &op.fast_depthwise, compute_depthwise)
    request_positions(context, op)
    return 0


cdef bint prepare_vector_depthwise(Context context, Conv* op, const Tensor* x) except -1:
    op.fast_depthwise.shape = op.shape
    op.fast_depthwise.is_signed = x.type != UINT8
    op.fast_depthwise.x_zero_point = x.zero_point
    op.fast_depthwise.w_zero_point = op.w_zero_point
    op.fast_depthwise.w = <const uint8_t*>op.w
    op.fast_depthwise.out = op.out
    requantize_late(&op.out, &op.fast_depthwise.finish, &op.fast_depthwise.params, &op.fast_depthwise.y_size)
    return ready_depthwise_i8(context, &op.fast_depthwise)


cdef int convolve_depthwise_vector(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    run_packed(context, &op.fast_depthwise, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef int transpose_filter(Context context, Conv* op, const Tensor* w) except -1:
    """With one input channel this is CONV_2D: one row of taps per output channel."""
    cdef ConvShape* g = &op.shape
    cdef ptrdiff_t taps = g.kh * g.kw
    cdef uint8_t* rows
    cdef ptrdiff_t c, k
    g.row = padded_row(taps)
    rows = <uint8_t*>context.persistent(g.oc * g.row)
    for c in range(g.oc):
        for k in range(taps):
            rows[c * g.row + k] = <uint8_t>weight_at(w, k * g.oc + c)
    op.w = rows
    return 0


cdef int convolve_depthwise(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    cdef uint32_t* sums = <uint32_t*>context.scratch(op.sums)
    if x.type == INT8:
        depthwise_8(&op.shape, <const int8_t*>x.data, x.zero_point, <const int8_t*>op.w, 0, &op.out, sums, <int8_t*>y)
    else:
        depthwise_8(&op.shape, <const uint8_t*>x.data, x.zero_point, <const uint8_t*>op.w, op.w_zero_point, &op.out, sums, <uint8_t*>y)
    return 0


cdef int prepare_transpose(Context context, Node* node) except -1:
    cdef Tensor* size = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* x = operand(context, node, 2)
    cdef Tensor* b = context.input(node, 3)
    cdef Tensor* y = result(context, node, 0)
    cdef int activation = table_i8(node.options, TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION, 0)
    cdef Conv* op
    cdef ConvShape* g
    want_activations(x, w, y, "TRANSPOSE_CONV")
    want_constant(w, "TRANSPOSE_CONV", "weights")
    want_constant(size, "TRANSPOSE_CONV", "output shape")
    if size.type != INT32 or size.rank != 1 or size.dims[0] != 4:
        raise ValueError(f"TRANSPOSE_CONV: the output shape must be int32 [4], is {type_name(size.type)} {shape_of(size)}")
    op = <Conv*>context.persistent(sizeof(Conv))
    node.data = op
    g = &op.shape
    read_image(context, node, x, w, g, "TRANSPOSE_CONV")
    g.oc = w.dims[0]
    g.group_ic = w.dims[3]
    g.groups = 1
    if g.oc <= 0 or g.kh <= 0 or g.kw <= 0 or g.ih <= 0 or g.iw <= 0:
        raise ValueError(f"TRANSPOSE_CONV: input {shape_of(x)} does not fit weights {shape_of(w)}")
    if g.stride_h <= 0 or g.stride_w <= 0:
        raise ValueError(f"TRANSPOSE_CONV: strides {g.stride_h}, {g.stride_w} are not positive")
    set_output_size(g, table_i8(node.options, CONV_2D_PADDING, 0), <const int32_t*>size.data)
    shape_of_windows(context, x, y, g, False)
    refuse_other_rank(x, 4, "TRANSPOSE_CONV")
    if g.ic != g.group_ic:
        raise OwnRefusalError(f"TRANSPOSE_CONV: input {shape_of(x)} does not fit weights {shape_of(w)}")
    op.w_zero_point = w.zero_point if w.type == UINT8 else 0
    if x.type == FLOAT32:
        prepare_scaling(context, w, b, activation, g.oc, False, transposed_positions(g), &op.scaling, "TRANSPOSE_CONV")
    else:
        prepare_requantize(context, x, w, b, y, activation, g.oc, True, &op.out, "TRANSPOSE_CONV")
    if w.type == INT8 or w.type == UINT8:
        fill_plan(op, x)
        if plan_phases_i8(context, &op.phases, g, &op.fast, x, w, 4 if x.type == FLOAT32 else 1):
            node.invoke = transpose_vector
            return parallelize_phases(context, node, op)
    op.runs = context.request_scratch(sizeof(Run) * g.kh * g.kw)
    op.image = context.request_scratch(sizeof(int16_t) * g.ih * g.iw * g.ic)
    op.sums = context.request_scratch(sizeof(int64_t) * g.oc)
    if x.type == FLOAT32:
        op.w = weight_rows(context, w, g.oc, g.kh * g.kw * g.ic, g.kh * g.kw * g.ic)
        node.invoke = transpose_dynamic
        return 0
    op.w = wide_weights(context, w, op.w_zero_point)
    node.invoke = transpose_8
    return 0


cdef int parallelize_phases(Context context, Node* node, Conv* op) except -1:
    """Threads share a convolution by its rows, several by whole phases."""
    cdef IterationSpace space
    cdef Ranges ranges
    if not op.phases.direct:
        return context.parallelize(node, compute_phases, iteration_space(op.phases.count, 1), op.phases.time)
    op.fast = op.phases.phases[0].fast
    op.fast.scratch = op.phases.scratch
    ranges = ranges_of(&op.fast)
    space = iteration_space(ranges.units, ranges.granularity)
    space.min_chunk = ranges.min_chunk
    return context.parallelize(node, compute_transposed, space, op.phases.time)


cdef int transpose_vector(Context context, Node* node) noexcept nogil:
    compute_phases(context, node, 0, (<Conv*>node.data).phases.count, 0)
    return 0


cdef void compute_phases(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_phases_i8(context, &(<Conv*>node.data).phases, context.input(node, 2).data, context.output(node, 0).data, <int>first, <int>end, worker)


cdef void compute_transposed(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_packed_range(context, &(<Conv*>node.data).fast, context.input(node, 2).data, context.output(node, 0).data, first, end, worker)


cdef int set_output_size(ConvShape* g, int padding, const int32_t* dims) except -1:
    """oh, ow and the padding, from the input's size and the wanted [batch, height, width, channel]."""
    if padding != SAME and padding != VALID:
        raise ValueError(f"TRANSPOSE_CONV: padding {padding} is neither SAME nor VALID")
    if dims[1] <= 0 or dims[2] <= 0:
        raise ValueError(f"TRANSPOSE_CONV: an output of {dims[1]} x {dims[2]}")
    g.oh = (g.ih - 1) * g.stride_h + g.kh
    g.ow = (g.iw - 1) * g.stride_w + g.kw
    g.pad_h = 0
    g.pad_w = 0
    if padding == VALID:
        g.oh += max(dims[1] - g.kh, 0) % g.stride_h
        g.ow += max(dims[2] - g.kw, 0) % g.stride_w
    else:
        g.pad_h = pad_before(dims[1], g.kh, g.stride_h, 1, windows_along(padding, dims[1], g.kh, g.stride_h, 1))
        g.pad_w = pad_before(dims[2], g.kw, g.stride_w, 1, windows_along(padding, dims[2], g.kw, g.stride_w, 1))
        g.oh -= padding_of(dims[1], g.kh, g.stride_h)
        g.ow -= padding_of(dims[2], g.kw, g.stride_w)
    if g.oh <= 0 or g.ow <= 0 or g.oh > 0x7FFFFFFF or g.ow > 0x7FFFFFFF:
        raise ValueError(f"TRANSPOSE_CONV: an output of {g.oh} x {g.ow}")
    return 0


cdef ptrdiff_t padding_of(ptrdiff_t out, ptrdiff_t taps, ptrdiff_t stride) noexcept nogil:
    """On both sides together (SAME)."""
    cdef ptrdiff_t total = ((out + stride - 1) / stride - 1) * stride + taps - out
    return total if total > 0 else 0


cdef int transpose_8(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef Tensor* x = context.input(node, 2)
    cdef void* y = context.output(node, 0).data
    cdef const int16_t* w = <const int16_t*>op.w
    cdef Run* runs = <Run*>context.scratch(op.runs)
    cdef int16_t* image = <int16_t*>context.scratch(op.image)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    if x.type == INT8:
        transpose_conv_8(&op.shape, <const int8_t*>x.data, x.zero_point, w, &op.out, runs, image, sums, <int8_t*>y)
    else:
        transpose_conv_8(&op.shape, <const uint8_t*>x.data, x.zero_point, w, &op.out, runs, image, sums, <uint8_t*>y)
    return 0


cdef int transpose_dynamic(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    transpose_conv_dynamic(
        &op.shape, <const float*>context.input(node, 2).data, <const int8_t*>op.w, &op.scaling, <Run*>context.scratch(op.runs),
        <int16_t*>context.scratch(op.image), <int64_t*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


OPERATORS = {
    "CONV_2D": register(prepare_conv, version=99),
    "DEPTHWISE_CONV_2D": register(prepare_depthwise, version=99),
    "TRANSPOSE_CONV": register(prepare_transpose, version=99),
}
