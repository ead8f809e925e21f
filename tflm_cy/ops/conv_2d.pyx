"""CONV_2D: input [batch, height, width, channel], filter [output channel, height, width, channel of its group], bias [output channel].

| input | filter | bias | kernel |
| --- | --- | --- | --- |
| float32 | float32 | float32 | `convolve_f32` |
| int8 | int8, int4: zero points 0, one scale or one per channel | int32 | `convolve_s8` |
| uint8 | uint8, one scale | int32 | `convolve_u8` |
| int16 | int8, int4 | int64, or int32 with quantized_bias_type | `convolve_s16` |
| float32 | int8, int4 (uint8 is read as int8) with equal scales | float32 | `convolve_hybrid`: symmetric |
| float32 | int8, int4 with differing scales | float32 | `convolve_hybrid_channels`: asymmetric, exact |

Quirks: the bias is required; TANH and SIGN_BIT as fused activation are ignored; symmetric hybrid products have the sign error of
arithmetic/hybrid.pxd unless the number of output channels is a multiple of 4.

The optimized arithmetic, without groups: float32 products in Eigen's order (`convolve_f32_eigen`); 8 bits, and int16 with an int32 bias,
round halves up; differing scales of a hybrid filter multiply the image's scale first. Where more than one thread is asked for, float32 is
summed as TensorFlow's threads do it (arithmetic/optimized/contraction.pxd).

More than 500 lines, since it is one operator: what its kernels need is one struct, and which of them serves is decided in one place.

Source: LiteRT:tflite/kernels/conv.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.conv cimport ConvShape, Rescale, conv_f32, conv_quantized, padded_row, position_sums, repair_conv_f32
from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32, clamp_f32
from tflm_cy.arithmetic.hybrid cimport RowScale, has_minimum, quantize_asymmetric, quantize_symmetric, sign_error
from tflm_cy.arithmetic.optimized.cache cimport cache_sizes, l1_data_bytes
from tflm_cy.arithmetic.optimized.contraction cimport (
    Contraction, conv_f32_contraction, pack_contraction, piece, plan_contraction,
)
from tflm_cy.arithmetic.optimized.conv cimport conv_f32_eigen, conv_f32_eigen_slices
from tflm_cy.arithmetic.optimized.product cimport PANELS, Product, pack_panels, packed_panels, plan_product
from tflm_cy.arithmetic.product_f32 cimport Run, pack_columns, packed_size
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, reads_late, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT4, INT8, INT16, INT32, INT64, UINT8, Tensor, count, is_constant, shape_of, type_name,
)
from tflm_cy.ops.fixed8 cimport FixedConv8, ready_fixed_conv8, run_fixed_conv8
from tflm_cy.ops.hybrid8 cimport BY_BOTH, BY_FILTER_FIRST, BY_PRODUCT, Hybrid8, ready_hybrid8, run_hybrid8
from tflm_cy.ops.ordered32 cimport FastOrdered32, pack_ordered32, ready_ordered32, run_ordered32
from tflm_cy.ops.weighted cimport (
    Bias, Multipliers, Weights, bias_values, check_bias_type, check_quantized, check_zero_points, fill_factors, plan_rescale,
    prepare_bias, prepare_bias_micro, prepare_weights, read_as_bytes, weight_bytes,
)
from tflm_cy.ops.window_2d cimport set_window, take_size_of_file
from tflm_cy.schema.table cimport table_i8, table_i32

cdef enum:                       # Conv2DOptions
    PADDING = 0
    STRIDE_W = 1
    STRIDE_H = 2
    FUSED_ACTIVATION = 3
    DILATION_W = 4
    DILATION_H = 5
    QUANTIZED_BIAS_TYPE = 6

cdef enum Hybrid:
    SYMMETRIC = 0                # one scale
    CHANNELS = 1                 # asymmetric
    CHANNELS_OPTIMIZED = 2

cdef struct Conv:
    ConvShape shape
    ptrdiff_t depth              # values of one window: kh * kw * group_ic
    bint unusual                 # windows that no padding gives
    Weights weights
    Bias bias
    int sums                     # scratch: the sums of two positions
    # float32
    RangeF range
    float* packed                # NULL when the filter is not constant
    int packing                  # scratch, then
    int runs
    Product product              # of the optimized arithmetic
    Contraction contraction      # its product with several threads
    # quantized
    Rescale rescale
    int patches                  # scratch: two windows
    FixedConv8 fast              # with a vector kernel
    FastOrdered32 fast32
    # hybrid
    int image                    # scratch: one quantized image
    const float* scales
    bint wraps                   # products have the sign error
    Hybrid8 fast_hybrid          # with a vector kernel, when
    bint fast_images


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef int activation = table_i8(node.options, FUSED_ACTIVATION, 0)
    cdef int bias_option = table_i8(node.options, QUANTIZED_BIAS_TYPE, 0)
    cdef Conv* op
    cdef int32_t[4] dims
    if node.input_count == 2 and node.arithmetic != MICRO:
        raise ValueError("CONV_2D: has_bias was not true")
    if node.input_count > 3 or node.output_count != 1 or x == NULL or w == NULL or (b == NULL and node.arithmetic != MICRO) or y == NULL:
        raise ValueError("CONV_2D wants an input, a filter, a bias and one output")
    op = <Conv*>context.persistent(sizeof(Conv))
    node.data = op
    read_shape(node, x, w, &op.shape)
    op.unusual = node.arithmetic == MICRO and take_size_of_file(&op.shape, y)
    op.depth = op.shape.kh * op.shape.kw * op.shape.group_ic
    if y.type != x.type:
        raise ValueError(f"CONV_2D: output->type != input_type ({type_name(y.type)} != {type_name(x.type)})")
    if node.arithmetic == MICRO and b != NULL:
        bias_option = b.type       # there the bias itself decides
    if node.arithmetic != MICRO:
        check_bias_type(x, b, bias_option, "CONV_2D")
    if b != NULL and count(b) != op.shape.oc:
        raise ValueError(f"CONV_2D: NumElements(bias) != SizeOfDimension(filter, 0) ({count(b)} != {op.shape.oc})")
    dims = [<int32_t>op.shape.batches, <int32_t>op.shape.oh, <int32_t>op.shape.ow, <int32_t>op.shape.oc]
    context.set_shape(y, 4, dims)
    flatten_pointwise(&op.shape)
    if w.type != FLOAT32:
        context.settle(w)
    prepare_weights(context, w, &op.weights)
    if node.arithmetic == MICRO:
        prepare_bias_micro(context, x, b, INT32 if bias_option == INT32 else INT64, op.shape.oc, &op.bias)
    elif x.type != INT8 and x.type != UINT8:
        prepare_bias(context, b, op.shape.oc, &op.bias)
    op.range = activation_range_f32(activation)
    if x.type != FLOAT32:
        prepare_quantized(context, node, op, activation, bias_option == INT32)
    elif w.type == FLOAT32:
        prepare_float(context, node, op)
    else:
        prepare_hybrid(context, node, op)
    return 0


cdef int read_shape(const Node* node, const Tensor* x, const Tensor* w, ConvShape* g) except -1:
    if x.rank != 4 or w.rank != 4:
        raise ValueError(f"CONV_2D: input->dims->size != 4: input {shape_of(x)}, filter {shape_of(w)}")
    g.batches = x.dims[0]
    g.ih = x.dims[1]
    g.iw = x.dims[2]
    g.ic = x.dims[3]
    g.oc = w.dims[0]
    g.kh = w.dims[1]
    g.kw = w.dims[2]
    g.group_ic = w.dims[3]
    g.stride_h = table_i32(node.options, STRIDE_H, 0)
    g.stride_w = table_i32(node.options, STRIDE_W, 0)
    g.dilation_h = table_i32(node.options, DILATION_H, 1)
    g.dilation_w = table_i32(node.options, DILATION_W, 1)
    if g.group_ic <= 0 or g.ic % g.group_ic != 0 or g.ic == 0 or g.oc % (g.ic / g.group_ic) != 0:
        raise ValueError(
            f"CONV_2D: input_channel % filter_input_channel != 0: {g.ic} channels, filter of {g.group_ic}, {g.oc} output channels")
    g.groups = g.ic / g.group_ic
    return set_window(g, table_i8(node.options, PADDING, 0), "CONV_2D")


cdef int flatten_pointwise(ConvShape* g) except -1:
    """A 1x1 filter with stride 1 sees all pixels of all images as one row."""
    if g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1 and g.oh == g.ih and g.ow == g.iw:
        g.iw = g.batches * g.ih * g.iw
        g.ow = g.iw
        g.ih = 1
        g.oh = 1
        g.batches = 1
    return 0


cdef int prepare_float(Context context, Node* node, Conv* op) except -1:
    cdef Tensor* w = context.input(node, 1)
    op.packed = NULL
    if node.arithmetic == OPTIMIZED and op.shape.groups == 1:
        return prepare_eigen(context, node, op)
    op.runs = context.request_scratch(op.shape.kh * op.shape.kw * sizeof(Run))
    node.invoke = convolve_f32
    if is_constant(w) and not op.unusual and use_ordered32(context, op, w, False):
        op.packed = op.fast32.plan.packed
        node.invoke = choose_kernel
    elif is_constant(w):
        context.settle(w)
        op.packed = <float*>context.persistent(packed_bytes(op))
        pack_filter(op, <const float*>w.data, op.packed)
    else:
        op.packing = context.request_scratch(packed_bytes(op))
    op.sums = context.request_scratch(2 * sizeof(float) * (op.shape.oc / op.shape.groups + 3))
    return 0


cdef bint use_ordered32(Context context, Conv* op, const Tensor* w, bint panels) except -1:
    op.fast32.plan.window.shape = op.shape
    op.fast32.plan.window.low = op.range.low
    op.fast32.plan.window.high = op.range.high
    op.fast32.plan.panels = panels
    op.fast32.plan.block = op.product.block if panels else 0
    return ready_ordered32(
        context, &op.fast32, <const float*>w.data, <const float*>op.bias.values, op.depth, 1, 0 if panels else packed_bytes(op))


cdef int prepare_eigen(Context context, Node* node, Conv* op) except -1:
    """Two threads and more take another product for filters that TensorFlow keeps, without dilation."""
    cdef Tensor* w = context.input(node, 1)
    cdef ConvShape* g = &op.shape
    op.patches = context.request_scratch(2 * sizeof(float) * op.depth)
    if context.num_threads > 1 and is_constant(w) and g.dilation_h == 1 and g.dilation_w == 1 and context.kept_by_tensorflow(w):
        plan_threads(op, context.num_threads)
        if op.contraction.parts > 1 or op.contraction.blocks > 1:
            return prepare_contraction(context, node, op)
        op.product = piece(&op.contraction, 0, 0)
    else:
        op.product = plan_product(g.oc, op.depth, g.batches * g.oh * g.ow, top_block(l1_data_bytes()))
    if is_constant(w) and op.product.method == PANELS and use_ordered32(context, op, w, True):
        op.packing = context.request_scratch(16 * sizeof(float) * op.depth)          # for NaN
        op.sums = context.request_scratch(32 * sizeof(float))
        node.invoke = convolve_vector32_eigen
        return 0
    node.invoke = convolve_f32_eigen
    if is_constant(w):
        op.packed = <float*>context.unfilled(sizeof(float) * packed_panels(&op.product) + 1)
        node.invoke = pack_first
    else:
        op.packing = context.request_scratch(sizeof(float) * packed_panels(&op.product) + 1)
    op.sums = context.request_scratch(2 * sizeof(float) * g.oc)
    return 0


cdef int plan_threads(Conv* op, int threads) noexcept nogil:
    cdef ConvShape* g = &op.shape
    cdef bint pixels = g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1
    cdef bint images = g.kh == g.ih and g.kw == g.iw and g.pad_h == 0 and g.pad_w == 0
    op.contraction = plan_contraction(g.oc, op.depth, g.batches * g.oh * g.ow, threads, not pixels and not images, cache_sizes())
    return 0


cdef int prepare_contraction(Context context, Node* node, Conv* op) except -1:
    context.settle(context.input(node, 1))
    op.packed = <float*>context.persistent(sizeof(float) * op.shape.oc * op.depth + 1)
    pack_contraction(&op.contraction, <const float*>context.input(node, 1).data, op.packed)
    op.sums = context.request_scratch(2 * sizeof(float) * op.contraction.parts * op.shape.oc)
    node.invoke = convolve_f32_contraction
    return 0


cdef size_t packed_bytes(const Conv* op) noexcept nogil:
    return op.shape.groups * packed_size(op.shape.oc / op.shape.groups, op.depth) * sizeof(float)


cdef void pack_filter(const Conv* op, const float* w, float* packed) noexcept nogil:
    """Each group on its own."""
    cdef ptrdiff_t columns = op.shape.oc / op.shape.groups
    cdef ptrdiff_t group
    for group in range(op.shape.groups):
        pack_columns(w + group * columns * op.depth, columns, op.depth, op.depth, 1, packed + group * packed_size(columns, op.depth))


cdef int pad_filter(Context context, Node* node, Conv* op) except -1:
    """Rows of the filter padded with zeros, when it is constant and short."""
    cdef Tensor* w = context.input(node, 1)
    cdef const uint8_t* bytes
    cdef uint8_t* padded
    cdef ptrdiff_t c
    op.shape.row = op.depth
    if not is_constant(w) or padded_row(op.depth) == op.depth:
        return 0
    bytes = weight_bytes(context, w, &op.weights)
    op.shape.row = padded_row(op.depth)
    padded = <uint8_t*>context.persistent(op.shape.oc * op.shape.row)
    for c in range(op.shape.oc):
        memcpy(padded + c * op.shape.row, bytes + c * op.depth, op.depth)
    op.weights.unpacked = padded
    return 0


cdef int prepare_quantized(Context context, Node* node, Conv* op, int activation, bint narrow_bias) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef Multipliers multipliers
    cdef ptrdiff_t up = 0
    if not ((x.type == UINT8 and read_as_bytes(x, w)) or (x.type == INT8 and (w.type == INT8 or w.type == INT4))
            or (x.type == INT16 and (w.type == INT4 or read_as_bytes(x, w)))):
        raise ValueError(f"CONV_2D: types {type_name(x.type)} x {type_name(w.type)} are not supported")
    if x.type != UINT8:
        check_quantized(w, "CONV_2D", "filter")
        check_zero_points(w, "CONV_2D", "filter")
    if b != NULL and b.zero_point != 0:
        raise ValueError(f"CONV_2D: bias->params.zero_point != 0 ({b.zero_point} != 0)")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("CONV_2D: int16 zero_point != 0")
    if node.arithmetic == OPTIMIZED and (x.type != INT16 or narrow_bias) and op.shape.groups == 1:
        up = op.shape.oc
    plan_rescale(
        context, x, w, b, y, activation, op.shape.oc, x.type == INT16 and not narrow_bias, up, &op.rescale, &multipliers, "CONV_2D")
    # TFLM's plans may lay the output over the image, which the vector kernel does not permit (ops/overlaps.py)
    if x.type != INT16 and node.arithmetic != MICRO and is_constant(w) and ready_fixed_conv8(
            context, &op.fast, &op.shape, x, w.zero_point if x.type == UINT8 else 0, weight_bytes(context, w, &op.weights), op.depth,
            b, &op.rescale, &multipliers):
        node.invoke = convolve_vector8
        return 0
    fill_factors(&multipliers)
    if x.type != INT16 and node.arithmetic != MICRO:
        prepare_bias(context, b, op.shape.oc, &op.bias)
    pad_filter(context, node, op)
    op.patches = context.request_scratch(2 * sizeof(int16_t) * op.shape.row)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.shape.oc)
    node.invoke = convolve_s8 if x.type == INT8 else convolve_u8 if x.type == UINT8 else convolve_s16
    return 0


cdef int prepare_hybrid(Context context, Node* node, Conv* op) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef int c
    if w.type != INT8 and w.type != INT4 and w.type != UINT8:
        raise ValueError(f"CONV_2D: types FLOAT32 x {type_name(w.type)} are not supported")
    check_quantized(w, "CONV_2D", "filter")
    op.wraps = op.shape.oc % 4 != 0
    node.invoke = convolve_hybrid
    if op.shape.groups != 1:
        node.invoke = convolve_hybrid_channels
    for c in range(1, w.scale_count):
        if w.scales[c] != w.scales[0] and w.type != UINT8:
            node.invoke = convolve_hybrid_channels
    op.scales = w.scales
    if node.invoke == convolve_hybrid_channels and node.arithmetic == OPTIMIZED and op.shape.groups == 1:
        node.invoke = convolve_hybrid_channels_optimized
    if node.invoke != convolve_hybrid and (w.scale_count != op.shape.oc or w.quantized_dimension != 0):
        raise ValueError(f"CONV_2D: {w.scale_count} scales along dimension {w.quantized_dimension} for {op.shape.oc} channels")
    if x.dims[0] == 0:
        raise ValueError("CONV_2D: batch_size != 0 was not true")
    # A flattened shape would quantize all images together.
    read_shape(node, x, w, &op.shape)
    op.image = context.request_scratch(sizeof(int16_t) * op.shape.ih * op.shape.iw * op.shape.ic)
    op.fast_images = use_hybrid8(context, node, op)
    if op.fast_images:
        return 0
    pad_filter(context, node, op)
    op.patches = context.request_scratch(2 * sizeof(int16_t) * op.shape.row)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.shape.oc)
    return 0


cdef bint use_hybrid8(Context context, Node* node, Conv* op) except -1:
    """Weights without -128, or products without the sign error."""
    cdef Tensor* w = context.input(node, 1)
    cdef ConvShape g = op.shape
    cdef const int8_t* bytes
    cdef int how = BY_BOTH if node.invoke == convolve_hybrid else BY_FILTER_FIRST if node.invoke == convolve_hybrid_channels else BY_PRODUCT
    if not is_constant(w):
        return False
    bytes = <const int8_t*>weight_bytes(context, w, &op.weights)
    if how == BY_BOTH and op.wraps and has_minimum(bytes, g.oc, op.depth):
        return False
    g.batches = 1
    return ready_hybrid8(
        context, &op.fast_hybrid, &g, context.input(node, 0), bytes, op.scales, how, <const float*>op.bias.values, op.range.low,
        op.range.high)


cdef int convolve_f32(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef float* packed = op.packed
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_filter(op, <const float*>context.input(node, 1).data, packed)
    conv_f32(
        &op.shape, <const float*>context.input(node, 0).data, packed,
        <const float*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias), op.range.low, op.range.high,
        <Run*>context.scratch(op.runs), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int choose_kernel(Context context, Node* node) noexcept nogil:
    """The first invoke: the weights say whether the vector kernel serves."""
    cdef Conv* op = <Conv*>node.data
    if pack_ordered32(&op.fast32):
        node.invoke = convolve_vector32
    else:
        pack_filter(op, <const float*>context.input(node, 1).data, op.packed)
        node.invoke = convolve_f32
    return node.invoke(context, node)


cdef int convolve_vector32(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if run_ordered32(&op.fast32, x, context.scratch(op.fast32.scratch), y):
        repair_conv_f32(&op.shape, x, <const float*>context.input(node, 1).data, <Run*>context.scratch(op.runs), y)
    return 0


cdef int convolve_vector32_eigen(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if run_ordered32(&op.fast32, x, context.scratch(op.fast32.scratch), y):
        conv_f32_eigen_slices(
            &op.shape, &op.product, x, <const float*>context.input(node, 1).data, <const float*>op.bias.values, op.range.low,
            op.range.high, <float*>context.scratch(op.packing), <float*>context.scratch(op.patches),
            <float*>context.scratch(op.sums), y,
        )
    return 0


cdef int convolve_f32_eigen(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef const float* w = <const float*>context.input(node, 1).data
    cdef float* packed = op.packed
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_panels(&op.product, w, packed)
    conv_f32_eigen(
        &op.shape, &op.product, <const float*>context.input(node, 0).data, w, packed,
        <const float*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias), op.range.low, op.range.high,
        <float*>context.scratch(op.patches), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int pack_first(Context context, Node* node) noexcept nogil:
    """The first invoke."""
    cdef Conv* op = <Conv*>node.data
    pack_panels(&op.product, <const float*>context.input(node, 1).data, op.packed)
    node.invoke = convolve_f32_eigen
    return convolve_f32_eigen(context, node)


cdef int convolve_f32_contraction(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    conv_f32_contraction(
        &op.shape, &op.contraction, <const float*>context.input(node, 0).data, op.packed,
        <const float*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias), op.range.low, op.range.high,
        <float*>context.scratch(op.patches), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_vector8(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    run_fixed_conv8(context, &op.fast, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef int convolve_s8(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef Tensor* x = context.input(node, 0)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    conv_quantized(
        &op.shape, <const int8_t*>x.data, x.zero_point, <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights), 0,
        &op.rescale, <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums),
        <int8_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_u8(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    conv_quantized(
        &op.shape, <const uint8_t*>x.data, x.zero_point, weight_bytes(context, w, &op.weights), w.zero_point, &op.rescale,
        <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums), <uint8_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_s16(Context context, Node* node) noexcept nogil:
    cdef Conv* op = <Conv*>node.data
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.shape.oc, &op.bias)
    conv_quantized(
        &op.shape, <const int16_t*>context.input(node, 0).data, 0,
        <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights), 0, &op.rescale,
        <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums), <int16_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_hybrid(Context context, Node* node) noexcept nogil:
    """One scale: y = (float)sum * (image scale * weight scale) + bias."""
    return hybrid_images(context, node, SYMMETRIC)


cdef int convolve_hybrid_channels(Context context, Node* node) noexcept nogil:
    """A scale per channel: y = ((float)sum * weight scale) * image scale + bias."""
    return hybrid_images(context, node, CHANNELS)


cdef int convolve_hybrid_channels_optimized(Context context, Node* node) noexcept nogil:
    """A scale per channel: y = (float)sum * (weight scale * image scale) + bias."""
    return hybrid_images(context, node, CHANNELS_OPTIMIZED)


cdef inline int hybrid_images(Context context, Node* node, int how) noexcept nogil:
    """Every image of the batch is quantized on its own."""
    cdef Conv* op = <Conv*>node.data
    cdef ConvShape* g = &op.shape
    cdef const int8_t* w = <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights)
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), g.oc, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int16_t* image = <int16_t*>context.scratch(op.image)
    cdef int16_t* patches = <int16_t*>context.scratch(op.patches)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef ptrdiff_t positions = g.oh * g.ow
    cdef ptrdiff_t n, c, position
    cdef int columns, i
    cdef RowScale s
    cdef float v
    for n in range(g.batches):
        if how != SYMMETRIC:
            quantize_asymmetric(x, size, image, &s)
        else:
            quantize_symmetric(x, size, image, &s)
        if op.fast_images:
            run_hybrid8(
                &op.fast_hybrid, image, s.zero_point, s.scale, context.scratch(op.fast_hybrid.narrow),
                context.scratch(op.fast_hybrid.sums.scratch), y)
            x += size
            y += positions * g.oc
            continue
        position = 0
        while position < positions:
            columns = 2 if position + 2 <= positions else 1
            position_sums(g, image, s.zero_point, w, 0, LONGEST_8BIT, position, columns, patches, sums)
            for i in range(columns):
                for c in range(g.oc):
                    if how == CHANNELS:
                        v = <float>sums[i * g.oc + c] * op.scales[c] * s.scale
                    elif how == CHANNELS_OPTIMIZED:
                        v = <float>sums[i * g.oc + c] * (op.scales[c] * s.scale)
                    else:
                        if op.wraps:
                            sums[i * g.oc + c] += sign_error(patches + i * g.row, w + c * g.row, op.depth)
                        v = <float>sums[i * g.oc + c] * (s.scale * op.scales[0])
                    y[c] = clamp_f32(v + bias[c], op.range.low, op.range.high)
                y += g.oc
            position += columns
        x += size
    return 0


OPERATORS = {
    "CONV_2D": reads_late(register(prepare, version=8), 1),
}
