"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and the custom Convolution2DTransposeBias in float32, filters and biases constant.

| node | kernel |
| --- | --- |
| CONV_2D, any groups; DEPTHWISE_CONV_2D with a multiplier (a group per input channel) | `convolve`: arithmetic/xnnpack/product.pxd |
| groups of one input and one output channel of either | `convolve_depthwise`: arithmetic/xnnpack/depthwise.pxd |
| TRANSPOSE_CONV, Convolution2DTransposeBias | `convolve_transposed` |

The first two have vector kernels (simd/), `convolve_vector` and `depthwise_vector`; a convolution that misses its image has none.

A transposed convolution takes its padding from the output's shape in the file (the constant input, or the stored shape of a custom node's
output); its real output follows from the padding and the real input: (size - 1) * stride + filter - padding, plus what VALID adjusts.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.copy_runs cimport copy_on
from tflm_cy.arithmetic.fixed_point cimport RangeF
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.window cimport SAME, VALID
from tflm_cy.arithmetic.xnnpack.depthwise cimport DepthwisePixels, depthwise_f32, pack_taps, table_length, tile_size
from tflm_cy.arithmetic.xnnpack.product cimport (
    ROWS, Taps, conv_f32, move_outside, pack_filters, packed_size, transpose_conv_f32, wraps_around,
)
from tflm_cy.graph.context cimport Context, Node, elide, iteration_space, packs, register
from tflm_cy.graph.tensor cimport FLOAT32, INT32, Tensor, count, is_constant, shape_of, type_name
from tflm_cy.ops.window_2d cimport misfit_text
from tflm_cy.ops.xnnpack.fused_pad cimport is_product_of_pixels, set_padded_window
from tflm_cy.arithmetic.xnnpack.product_order cimport order_of_matrix, order_of_windows, transposed_positions
from tflm_cy.ops.xnnpack.definitions cimport product_rules
from tflm_cy.ops.xnnpack.limits cimport float_limits
from tflm_cy.ops.xnnpack.rank cimport read_sides, refuse_other_rank, shape_of_windows, want_rank
from tflm_cy.ops.xnnpack.image_channels cimport channels_read, run_alone
from tflm_cy.ops.kernels.gemm_f32 cimport GemmF32, ready_f32, run_f32, run_range_f32, try_fuse_f32
from tflm_cy.ops.kernels.phases_f32 cimport PhasesF32, plan_phases_f32, run_phases_f32
from tflm_cy.ops.kernels.packed cimport parallelize_packed, run_packed, run_packed_range
from tflm_cy.schema.option_slots cimport (
    CONV_2D_DILATION_H_FACTOR, CONV_2D_DILATION_W_FACTOR, CONV_2D_FUSED_ACTIVATION_FUNCTION, CONV_2D_PADDING, CONV_2D_STRIDE_H,
    CONV_2D_STRIDE_W, DEPTHWISE_CONV_2D_DILATION_H_FACTOR, DEPTHWISE_CONV_2D_DILATION_W_FACTOR,
    DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION,
)
from tflm_cy.schema.table cimport load_i32, table_i8, table_i32
from tflm_cy.simd.conv_f32 cimport ConvF32
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32
from tflm_cy.simd.ranges cimport time_of
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import OwnRefusalError

cdef struct Convolution:
    ConvShape shape
    bint outside                 # no tap meets the image: all outputs are the first one
    RangeF range
    int order                    # of a product's terms, without a vector kernel
    float* packed
    const float* bias            # depthwise; else part of the packed filters
    const float* zeros           # what a tap outside of the image reads
    ptrdiff_t* starts            # of each tap in the packed filters
    int taps                     # scratch: pointers
    size_t taps_bytes            # of a worker
    GemmF32 fast                 # with a vector kernel
    DepthwiseF32 fast_depthwise
    DepthwisePixels pixels       # of other filters; NULL: the definition's
    int x                        # transposed: the input's index
    PhasesF32 phases             # transposed
    ConvF32* rows                # with filters as large as the strides: one per filter row


cdef Convolution* begin(Context context, Node* node, int x_index, int w_index, int b_index, bint bias_required) except NULL:
    """Checks of presence and types; the input's sizes."""
    cdef str name = context.operator_name(node)
    cdef Tensor* x = context.input(node, x_index)
    cdef Tensor* w = context.input(node, w_index)
    cdef Tensor* b = context.input(node, b_index)
    cdef Tensor* y = context.output(node, 0)
    cdef Convolution* op
    cdef int32_t[4] sides
    if node.output_count != 1 or x == NULL or w == NULL or y == NULL or (b == NULL and bias_required):
        raise ValueError(f"{name}: an operand is missing")
    if x.type != FLOAT32 or w.type != FLOAT32 or y.type != FLOAT32 or (b != NULL and b.type != FLOAT32):
        raise ValueError(f"{name}: types {type_name(x.type)} x {type_name(w.type)} -> {type_name(y.type)} are not supported")
    if not is_constant(w) or (b != NULL and not is_constant(b)):
        raise ValueError(f"{name}: filter and bias must be constants")
    if x.rank == 0 or w.rank != 4:
        raise ValueError(f"{name}: input and filter want 4 dimensions, have {shape_of(x)} and {shape_of(w)}")
    op = <Convolution*>context.persistent(sizeof(Convolution))
    read_sides(context, x, sides)
    op.shape.batches, op.shape.ih, op.shape.iw, op.shape.ic = sides[0], sides[1], sides[2], sides[3]
    op.shape.kh, op.shape.kw = w.dims[1], w.dims[2]
    op.shape.stride_h = table_i32(node.options, CONV_2D_STRIDE_H, 0)
    op.shape.stride_w = table_i32(node.options, CONV_2D_STRIDE_W, 0)
    op.shape.dilation_h = 1
    op.shape.dilation_w = 1
    node.data = op
    return op


cdef int check_bias(const Tensor* b, ptrdiff_t channels, str name) except -1:
    if b != NULL and count(b) != channels:
        raise ValueError(f"{name}: a bias of the shape {shape_of(b)} for {channels} output channels")
    return 0


cdef int finish_window(Context context, Node* node, Convolution* op) except -1:
    """Output size and padding from strides and dilations; the output's shape."""
    cdef ConvShape* g = &op.shape
    cdef int padding = table_i8(node.options, CONV_2D_PADDING, 0)
    cdef bint misfit = set_padded_window(context, node, g, padding, context.operator_name(node))
    shape_of_windows(context, context.input(node, 0), context.output(node, 0), g, is_product_of_pixels(node, g))
    if misfit:
        raise OwnRefusalError(misfit_text(g, context.operator_name(node)))
    refuse_other_rank(context.input(node, 0), 4, context.operator_name(node))
    if padding == SAME and g.batches > 0 and wraps_around(g):        # then one position is computed, and repeated
        move_outside(g)
        op.outside = True
    return 0


cdef int prepare_conv(Context context, Node* node) except -1:
    make_conv(context, node)
    return run_alone(context.input(node, 0), node, (<Convolution*>node.data).shape.ic)


cdef int make_conv(Context context, Node* node) except -1:
    cdef Convolution* op = begin(context, node, 0, 1, 2, True)
    cdef ConvShape* g = &op.shape
    cdef Tensor* w = context.input(node, 1)
    cdef ptrdiff_t channels = channels_read(context, node, context.input(node, 0), w, g.ic)
    g.oc, g.group_ic = w.dims[0], w.dims[3]
    g.dilation_h = table_i32(node.options, CONV_2D_DILATION_H_FACTOR, 1)
    g.dilation_w = table_i32(node.options, CONV_2D_DILATION_W_FACTOR, 1)
    if g.group_ic <= 0 or channels <= 0 or channels % g.group_ic != 0 or g.oc % (channels / g.group_ic) != 0:
        g.groups = 1
        finish_window(context, node, op)
        if count(context.output(node, 0)) == 0:
            return elide(node)
        raise OwnRefusalError(f"CONV_2D: {g.ic} input channels, filters of {g.group_ic}, {g.oc} output channels")
    g.ic = channels
    g.groups = g.ic / g.group_ic
    check_bias(context.input(node, 2), g.oc, "CONV_2D")
    finish_window(context, node, op)
    if g.oh == 0 or g.ow == 0:
        return elide(node)
    op.range = float_limits(table_i8(node.options, CONV_2D_FUSED_ACTIVATION_FUNCTION, 0))
    if g.group_ic == 1 and g.oc == g.groups:
        return use_depthwise(context, node, op, 1, g.kh * g.kw)
    return use_product(context, node, op, g.kh * g.kw * g.group_ic, 1)


cdef int prepare_depthwise(Context context, Node* node) except -1:
    make_depthwise(context, node)
    return run_alone(context.input(node, 0), node, (<Convolution*>node.data).shape.ic)


cdef int make_depthwise(Context context, Node* node) except -1:
    cdef Convolution* op = begin(context, node, 0, 1, 2, True)
    cdef ConvShape* g = &op.shape
    cdef Tensor* w = context.input(node, 1)
    cdef ptrdiff_t channels = channels_read(context, node, context.input(node, 0), w, g.ic)
    g.oc, g.group_ic, g.groups = w.dims[3], 1, channels
    g.dilation_h = table_i32(node.options, DEPTHWISE_CONV_2D_DILATION_H_FACTOR, 1)
    g.dilation_w = table_i32(node.options, DEPTHWISE_CONV_2D_DILATION_W_FACTOR, 1)
    if w.dims[0] != 1 or channels <= 0 or g.oc % channels != 0:
        finish_window(context, node, op)
        raise OwnRefusalError(f"DEPTHWISE_CONV_2D: {g.ic} input channels, a filter of the shape {shape_of(w)}")
    g.ic = channels
    check_bias(context.input(node, 2), g.oc, "DEPTHWISE_CONV_2D")
    finish_window(context, node, op)
    op.range = float_limits(table_i8(node.options, DEPTHWISE_CONV_2D_FUSED_ACTIVATION_FUNCTION, 0))
    if g.oc == g.ic:
        return use_depthwise(context, node, op, g.oc, 1)
    return use_product(context, node, op, 1, g.oc)


cdef int use_depthwise(Context context, Node* node, Convolution* op, ptrdiff_t tap_stride, ptrdiff_t channel_stride) except -1:
    cdef ConvShape* g = &op.shape
    cdef ptrdiff_t tile = tile_size(g.kh * g.kw)
    cdef DepthwiseF32* fast = &op.fast_depthwise
    fast.shape = g[0]
    fast.low, fast.high = op.range.low, op.range.high
    if ready_f32(
        context, fast, context.input(node, 1), 0, <const float*>context.input(node, 2).data, tap_stride, channel_stride,
    ):
        node.invoke = depthwise_vector
        return parallelize_packed(context, node, fast, compute_depthwise)
    op.packed = <float*>context.persistent(sizeof(float) * tile * g.ic)
    context.materialize(context.input(node, 1))
    pack_taps(g, <const float*>context.input(node, 1).data, tap_stride, channel_stride, op.packed)
    op.bias = <const float*>context.input(node, 2).data
    op.zeros = <const float*>context.persistent(sizeof(float) * g.ic)
    op.taps_bytes = sizeof(float*) * table_length(g)
    op.taps = context.request_scratch(context.for_all_workers(op.taps_bytes))
    op.pixels = kernels().depthwise_f32.pixels
    node.invoke = convolve_depthwise
    if op.outside:
        return 0
    return context.parallelize(node, depthwise_range, iteration_space(g.batches * g.oh, 1), <double>g.batches * g.oh * g.ow * (tile * (3 + g.ic / 16.)))


cdef int use_product(Context context, Node* node, Convolution* op, ptrdiff_t column_stride, ptrdiff_t k_stride) except -1:
    cdef ConvShape* g = &op.shape
    cdef const Tensor* w = context.input(node, 1)
    cdef const float* b = <const float*>context.input(node, 2).data
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ptrdiff_t size = packed_size(group_oc, depth)
    cdef ptrdiff_t group, tap
    op.fast.plan.shape = g[0]
    op.fast.plan.low, op.fast.plan.high = op.range.low, op.range.high
    op.order = order_of_windows(product_rules(), g.oh * g.ow, group_oc)
    if depth == g.group_ic == g.ic and g.stride_h == g.stride_w == 1:
        op.order = order_of_matrix(product_rules(), g.batches * g.oh * g.ow, g.oc)
    op.fast.plan.order = op.order
    if ready_f32(context, &op.fast.plan, w, 0, b, column_stride, k_stride):
        node.invoke = convolve_vector
        node.try_fuse = try_fuse
        return parallelize_packed(context, node, &op.fast.plan, compute_range)
    op.packed = <float*>context.persistent(sizeof(float) * size * g.groups)
    context.materialize(w)
    for group in range(g.groups):
        pack_filters(
            <const float*>w.data + group * group_oc * column_stride, b + group * group_oc, group_oc, depth, column_stride, k_stride,
            op.packed + group * size,
        )
    op.starts = <ptrdiff_t*>context.persistent(sizeof(ptrdiff_t) * g.kh * g.kw)
    for tap in range(g.kh * g.kw):
        op.starts[tap] = tap * g.group_ic
    op.zeros = <const float*>context.persistent(sizeof(float) * g.group_ic)
    op.taps = context.request_scratch(ROWS * sizeof(float*) * g.kh * g.kw)
    node.invoke = convolve
    return 0


# ---- transposed
cdef int prepare_transpose(Context context, Node* node) except -1:
    cdef Convolution* op = begin(context, node, 2, 1, 3, False)
    cdef Tensor* shape = context.input(node, 0)
    cdef const int32_t* size
    if shape == NULL or shape.type != INT32 or count(shape) != 4 or not is_constant(shape):
        raise ValueError("TRANSPOSE_CONV: the output shape must be four constant int32")
    size = <const int32_t*>shape.data
    op.range = float_limits(table_i8(node.options, TRANSPOSE_CONV_FUSED_ACTIVATION_FUNCTION, 0))
    return finish_transposed(context, node, op, context.input(node, 3), table_i8(node.options, CONV_2D_PADDING, 0), size[1], size[2])


cdef int prepare_custom_transpose(Context context, Node* node) except -1:
    """Custom data: int32 padding (1 SAME, 2 VALID), stride_width, stride_height."""
    cdef Convolution* op = begin(context, node, 0, 1, 2, True)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t padding
    want_rank(context.input(node, 0), 4, "Convolution2DTransposeBias")
    if node.custom_options_size < 12 or y.rank != 4:
        raise ValueError("Convolution2DTransposeBias wants 12 bytes of custom data and an output of 4 dimensions")
    padding = load_i32(node.custom_options)
    if padding != 1 and padding != 2:
        raise ValueError(f"Convolution2DTransposeBias: padding {padding} is neither SAME (1) nor VALID (2)")
    op.shape.stride_w = load_i32(node.custom_options + 4)
    op.shape.stride_h = load_i32(node.custom_options + 8)
    op.range = float_limits(0)
    return finish_transposed(
        context, node, op, context.input(node, 2), SAME if padding == 1 else VALID, y.dims[1], y.dims[2])


cdef int64_t transposed_size(
    int padding, int64_t size, int64_t filter, int64_t stride, int64_t stored, ptrdiff_t* before, str name,
) except -1:
    """Size of the real output along one axis from that of the stored one; `before` is what is cut off in front."""
    cdef int64_t total = 0
    cdef int64_t out = (size - 1) * stride + filter
    if padding == SAME:
        total = max(((stored + stride - 1) / stride - 1) * stride + filter - stored, <int64_t>0)
    elif stored >= filter:
        out += (stored - filter) % stride
    before[0] = total / 2
    out -= total
    if out < 0 or out > 0x7FFFFFFF:
        raise ValueError(f"{name}: {size} values along an axis give {out}")
    return out


cdef int finish_transposed(
    Context context, Node* node, Convolution* op, const Tensor* b, int padding, int64_t stored_h, int64_t stored_w,
) except -1:
    cdef str name = context.operator_name(node)
    cdef ConvShape* g = &op.shape
    cdef Tensor* w = context.input(node, 1)
    cdef const float* values = NULL
    cdef int32_t[4] dims
    cdef ptrdiff_t depth
    if b != NULL:
        values = <const float*>b.data
    g.oc, g.group_ic, g.groups = w.dims[0], w.dims[3], 1
    if g.oc <= 0 or g.kh <= 0 or g.kw <= 0 or g.ih <= 0 or g.iw <= 0 or stored_h < 0 or stored_w < 0:
        raise ValueError(f"{name}: a filter of the shape {shape_of(w)} for an image {g.ih}x{g.iw}x{g.ic}")
    if g.stride_h <= 0 or g.stride_w <= 0 or (padding != SAME and padding != VALID):
        raise ValueError(f"{name}: strides {g.stride_h}, {g.stride_w}, padding {padding}")
    check_bias(b, g.oc, name)
    g.oh = transposed_size(padding, g.ih, g.kh, g.stride_h, stored_h, &g.pad_h, name)
    g.ow = transposed_size(padding, g.iw, g.kw, g.stride_w, stored_w, &g.pad_w, name)
    dims = [<int32_t>g.batches, <int32_t>g.oh, <int32_t>g.ow, <int32_t>g.oc]
    context.set_shape(context.output(node, 0), 4, dims)
    op.x = 2 if node.inputs[0] >= 0 and context.input(node, 0).type == INT32 else 0
    refuse_other_rank(context.input(node, op.x), 4, name)
    if g.group_ic != g.ic:
        raise OwnRefusalError(f"{name}: a filter of the shape {shape_of(w)} for an image {g.ih}x{g.iw}x{g.ic}")
    depth = g.kh * g.kw * g.ic
    op.order = order_of_windows(product_rules(), transposed_positions(g), g.oc)
    if g.kh == g.stride_h and g.kw == g.stride_w and g.oh == g.ih * g.kh and g.ow == g.iw * g.kw and g.oh * g.ow > 0:
        if prepare_spread(context, op, w, values):
            node.invoke = spread
            return context.parallelize(
                node, compute_spread, iteration_space(g.batches * g.ih, 1), g.batches * g.ih * g.kh * time_of(&op.rows[0]))
    context.materialize(w)
    if plan_phases_f32(context, &op.phases, g, op.order, op.range.low, op.range.high, <const float*>w.data, values):
        node.invoke = convolve_phases
        return context.parallelize(node, phases_range, iteration_space(g.batches * g.oh, 1), op.phases.time)
    op.packed = <float*>context.persistent(sizeof(float) * packed_size(g.oc, depth))
    pack_filters(<const float*>w.data, values, g.oc, depth, depth, 1, op.packed)
    op.starts = <ptrdiff_t*>context.persistent(sizeof(ptrdiff_t) * g.kh * g.kw)
    op.zeros = <const float*>context.persistent(sizeof(float) * g.ic)
    op.taps = context.request_scratch(ROWS * sizeof(float*) * g.kh * g.kw)
    node.invoke = convolve_transposed if op.x == 2 else convolve_transposed_custom
    return 0


cdef bint prepare_spread(Context context, Convolution* op, const Tensor* w, const float* bias) except -1:
    """Filters as large as the strides: an output has one tap, and a filter row makes of an input row one output row."""
    cdef ConvShape* g = &op.shape
    cdef ConvShape row
    cdef ConvF32* fast
    cdef ptrdiff_t ky
    row.batches, row.ih, row.iw, row.ic = 1, 1, g.iw, g.ic
    row.oh, row.ow, row.oc, row.kh, row.kw, row.group_ic, row.groups = 1, g.iw, g.kw * g.oc, 1, 1, g.ic, 1
    row.stride_h = row.stride_w = row.dilation_h = row.dilation_w = 1
    row.pad_h = row.pad_w = row.row = 0
    op.rows = <ConvF32*>context.persistent(sizeof(ConvF32) * g.kh)
    for ky in range(g.kh):
        fast = &op.rows[ky]
        fast.shape = row
        fast.low, fast.high = op.range.low, op.range.high
        fast.period, fast.period_stride = g.oc, g.ic
        fast.order = op.order
        if not ready_f32(context, fast, w, ky * g.kw * g.ic, bias, g.kh * g.kw * g.ic, 1):
            return False
    return True


cdef int spread(Context context, Node* node) noexcept nogil:
    compute_spread(context, node, 0, node_rows(node), 0)
    return 0


cdef int64_t node_rows(const Node* node) noexcept nogil:
    return (<Convolution*>node.data).shape.batches * (<Convolution*>node.data).shape.ih


cdef void compute_spread(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some of the input's rows."""
    cdef Convolution* op = <Convolution*>node.data
    cdef ConvShape* g = &op.shape
    cdef const float* x = <const float*>context.input(node, op.x).data + first * g.iw * g.ic
    cdef float* y = <float*>context.output(node, 0).data + first * g.kh * g.ow * g.oc
    cdef ConvF32* fast
    cdef ptrdiff_t _i, ky
    for _i in range(first, end):
        for ky in range(g.kh):
            fast = &op.rows[ky]
            fast.run(fast, x, context.worker_scratch(fast.scratch, fast.scratch_bytes, worker), y)
            y += g.ow * g.oc
        x += g.iw * g.ic


# ---- invoke
cdef int convolve(Context context, Node* node) noexcept nogil:
    cdef Convolution* op = <Convolution*>node.data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ConvShape g = computed_shape(op)
    cdef Taps t
    t.x = <const float**>context.scratch(op.taps)
    t.k = op.starts
    t.order = op.order
    conv_f32(&g, <const float*>context.input(node, 0).data, op.packed, op.zeros, op.range.low, op.range.high, &t, y)
    if op.outside:
        repeat_first(op, y)
    return 0


cdef ConvShape computed_shape(const Convolution* op) noexcept nogil:
    """Where all outputs are the same, one position."""
    cdef ConvShape g = op.shape
    if op.outside:
        g.batches = g.oh = g.ow = 1
    return g


cdef void repeat_first(const Convolution* op, float* y) noexcept nogil:
    copy_on(<char*>y, op.shape.oc * sizeof(float), op.shape.batches * op.shape.oh * op.shape.ow)


cdef int convolve_vector(Context context, Node* node) noexcept nogil:
    run_f32(
        context, node, &(<Convolution*>node.data).fast, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data)
    return 0


cdef bint try_fuse(Context context, Node* node, const Node* reader, int operand, int other) noexcept:
    return try_fuse_f32(&(<Convolution*>node.data).fast, context, node, reader, operand, other)


cdef int depthwise_vector(Context context, Node* node) noexcept nogil:
    run_packed(context, &(<Convolution*>node.data).fast_depthwise, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef void compute_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_range_f32(
        context, node, &(<Convolution*>node.data).fast, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data,
        first, end, worker)


cdef void compute_depthwise(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_packed_range(
        context, &(<Convolution*>node.data).fast_depthwise, context.input(node, 0).data, context.output(node, 0).data, first, end, worker)


cdef int convolve_depthwise(Context context, Node* node) noexcept nogil:
    cdef const Convolution* op = <const Convolution*>node.data
    cdef ConvShape g = computed_shape(op)
    depthwise_range(context, node, 0, g.batches * g.oh, 0)
    if op.outside:
        repeat_first(op, <float*>context.output(node, 0).data)
    return 0


cdef void depthwise_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some output rows."""
    cdef Convolution* op = <Convolution*>node.data
    cdef ConvShape g = computed_shape(op)
    depthwise_f32(
        &g, <const float*>context.input(node, 0).data, op.packed, op.bias, op.zeros, op.range.low, op.range.high,
        <const float**>context.worker_scratch(op.taps, op.taps_bytes, worker), first, end, <float*>context.output(node, 0).data,
        op.pixels,
    )


cdef int convolve_phases(Context context, Node* node) noexcept nogil:
    cdef const ConvShape* g = &(<Convolution*>node.data).shape
    phases_range(context, node, 0, g.batches * g.oh, 0)
    return 0


cdef void phases_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Convolution* op = <Convolution*>node.data
    cdef const float* x = <const float*>context.input(node, op.x).data
    run_phases_f32(context, &op.phases, x, <float*>context.output(node, 0).data, first, end, worker)


cdef int transposed(Context context, Node* node, const Tensor* x) noexcept nogil:
    cdef Convolution* op = <Convolution*>node.data
    cdef Taps t
    t.x = <const float**>context.scratch(op.taps)
    t.k = op.starts
    t.order = op.order
    transpose_conv_f32(
        &op.shape, <const float*>x.data, op.packed, op.zeros, op.range.low, op.range.high, &t, <float*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_transposed(Context context, Node* node) noexcept nogil:
    return transposed(context, node, context.input(node, 2))


cdef int convolve_transposed_custom(Context context, Node* node) noexcept nogil:
    return transposed(context, node, context.input(node, 0))


OPERATORS = {
    "CONV_2D": packs(register(prepare_conv, version=99), 1),
    "Convolution2DTransposeBias": packs(register(prepare_custom_transpose, version=99), 1),
    "DEPTHWISE_CONV_2D": packs(register(prepare_depthwise, version=99), 1),
    "TRANSPOSE_CONV": packs(register(prepare_transpose, version=99), 1),
}
