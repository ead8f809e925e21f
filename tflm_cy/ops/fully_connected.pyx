"""FULLY_CONNECTED: inputs x (flattened to rows of the weights' depth), weights [outputs, depth], optional bias [outputs].

| x | weights | bias | output |
| --- | --- | --- | --- |
| float32 | float32 (constant ones may be sparse) | float32 | float32 |
| float32 | int8, int4 (uint8 is read as int8), one scale or one per row | float32 | float32, hybrid (arithmetic/hybrid.pxd) |
| int8 | int8 (constant ones may be sparse), int4: one zero point, or one scale per row | int32 | int8 |
| uint8 | uint8 | int32 | uint8 |
| int16 | int8, int4 | int64, or int32 with quantized_bias_type | int16 |

Quirks: weights of depth 0 give zeros and the bias is ignored; elements that do not fill a last row of x are ignored; without
quantized_bias_type an int32 bias of the int16 kernel is read as int64 by TensorFlow (garbage) and refused here.

The optimized arithmetic: float32 products in Eigen's order, sparse weights in blocks of four; quantized sums in fixed point, halves up, and
there an int32 bias of the int16 kernel needs no option; int4 weights of float32 activations by `arithmetic/optimized/hybrid.pxd`.
Sparse int8 weights, in blocks of 16 columns, have the fixed point of the reference's kernels in every arithmetic.

Source: LiteRT:tflite/kernels/fully_connected.cc.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport (
    ACT_NONE, ACT_RELU, ACT_RELU6, Multiplier, RangeF, activation_range_f32, clamp_f32, quantize_multiplier,
)
from tflm_cy.arithmetic.conv cimport ConvShape, Factor, Rescale, factor_of, repair_conv_f32
from tflm_cy.arithmetic.fully_connected cimport DoubleRescale, fully_connected_f32, fully_connected_quantized, rescale_whole
from tflm_cy.arithmetic.hybrid cimport (
    RowScale, accumulate_dot_f32, accumulate_rows, all_zero, has_minimum, quantize_asymmetric, quantize_symmetric, sum_rows,
)
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.optimized.hybrid cimport fully_connected_moved, move_weights, moves_weights, quantize_row
from tflm_cy.arithmetic.optimized.conv cimport conv_f32_eigen_slices
from tflm_cy.arithmetic.optimized.product cimport MATRIX_VECTOR, PANELS, Product, multiply_rows_eigen, pack_panels, packed_panels, plan_product
from tflm_cy.arithmetic.product_f32 cimport Run, finish_f32, pack_columns, packed_size
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT, LONGEST_16BIT, shift_values
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT4, INT8, INT16, INT32, INT64, MAX_RANK, UINT8, Tensor, count, is_constant, shape_of, type_name,
)
from tflm_cy.ops.fixed8 cimport FixedConv8, narrow_bias, ready_fixed8
from tflm_cy.ops.hybrid8 cimport BY_BOTH, BY_PRODUCT, Hybrid8, ready_hybrid8, run_hybrid8
from tflm_cy.ops.ordered32 cimport FastOrdered32, ready_ordered32
from tflm_cy.ops.weighted cimport (
    Bias, Weights, bias_values, check_bias_scale, check_bias_type, check_multiplier, check_quantized, check_zero_points, prepare_bias,
    prepare_bias_as, prepare_bias_micro, prepare_weights, set_activation_range, weight_bytes,
)
from tflm_cy.ops.densify cimport densify, sparse_block
from tflm_cy.ops.xnnpack.vector8 cimport ready_conv8
from tflm_cy.schema.table cimport table_bool, table_i8
from tflm_cy.simd.conv8 cimport Conv8
from tflm_cy.simd.ordered32 cimport RowsOrdered32
from tflm_cy.simd.table cimport kernels

cdef enum:                       # FullyConnectedOptions
    FUSED_ACTIVATION = 0
    WEIGHTS_FORMAT = 1
    KEEP_NUM_DIMS = 2
    ASYMMETRIC_QUANTIZE_INPUTS = 3
    QUANTIZED_BIAS_TYPE = 4

cdef struct FullyConnected:
    ptrdiff_t batches
    ptrdiff_t rows
    ptrdiff_t depth
    Weights weights
    Bias bias
    int sums                     # scratch: two rows of sums
    # float32
    RangeF range
    float* packed                # NULL when the weights are not constant
    int packing                  # scratch, then
    Product product              # of the optimized arithmetic
    FastOrdered32 fast32         # with a vector kernel
    RowsOrdered32 rows_kernel
    float* packed_rows
    int runs                     # scratch, for NaN
    # quantized
    DoubleRescale rescale
    Rescale fixed                # the optimized and the micro arithmetic's
    FixedConv8 fast              # with a vector kernel
    int shifted                  # scratch: two rows of x less the zero point, or one quantized row
    # hybrid
    bint asymmetric
    bint clamps
    Hybrid8 fast_hybrid          # with a vector kernel, when
    bint fast_rows
    const float* row_scales      # NULL: one scale
    float scale
    int32_t* row_sums            # NULL when the weights are not constant
    bint minimum
    int8_t* moved                # int4 weights of the optimized arithmetic, NULL when they are taken as the others
    int16_t* wide                # constant weights widened, NULL when one of them is -128 or they are not constant


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef FullyConnected* op
    cdef int activation = table_i8(node.options, FUSED_ACTIVATION, 0)
    if node.input_count < 2 or node.input_count > 3 or x == NULL or w == NULL or node.output_count != 1 or y == NULL:
        raise ValueError("FULLY_CONNECTED wants an input, weights, an optional bias and one output")
    if table_i8(node.options, WEIGHTS_FORMAT, 0) != 0:
        raise ValueError("FULLY_CONNECTED: shuffled weights (weights_format 1) are not supported")
    if w.rank != 2:
        raise ValueError(f"FULLY_CONNECTED: NumDimensions(filter) != 2 ({w.rank} != 2)")
    op = <FullyConnected*>context.persistent(sizeof(FullyConnected))
    node.data = op
    op.rows = w.dims[0]
    op.depth = w.dims[1]
    set_output_shape(context, node, op, x, y)
    if op.depth == 0:
        node.invoke = nothing_to_sum
        return 0
    if b != NULL and count(b) != op.rows:
        raise ValueError(f"FULLY_CONNECTED: NumElements(bias) != SizeOfDimension(filter, 0) ({count(b)} != {op.rows})")
    if x.type == FLOAT32 and w.type != FLOAT32:
        prepare_hybrid(context, node, op, activation)
        return 0
    if activation > ACT_RELU6 or activation < ACT_NONE:
        raise ValueError("FULLY_CONNECTED: params->activation == kTfLiteActRelu6 was not true: only clipping activations can be fused")
    if x.type == FLOAT32:
        prepare_float(context, node, op, activation)
    else:
        prepare_quantized(context, node, op, activation)
    return 0


cdef int set_output_shape(Context context, const Node* node, FullyConnected* op, const Tensor* x, Tensor* y) except -1:
    """[batches, outputs], or x's shape with another last dimension (keep_num_dims)."""
    cdef int32_t[MAX_RANK] dims
    cdef int64_t total = count(x)
    cdef int rank = 2
    cdef int d
    if op.depth == 0:
        total = 1
        for d in range(x.rank - 1):
            total *= x.dims[d]
    op.batches = total if op.depth == 0 else total / op.depth
    if op.batches > 0x7FFFFFFF:
        raise ValueError(f"FULLY_CONNECTED: {op.batches} rows are too many")
    dims[0] = <int32_t>op.batches
    dims[1] = <int32_t>op.rows
    if table_bool(node.options, KEEP_NUM_DIMS, False):
        if x.rank < 1 or (op.depth != 0 and x.dims[x.rank - 1] != op.depth):
            raise ValueError(f"FULLY_CONNECTED: keep_num_dims wants rows of {op.depth}, the input has the shape {shape_of(x)}")
        rank = x.rank
        for d in range(rank):
            dims[d] = x.dims[d]
        dims[rank - 1] = <int32_t>op.rows
    context.set_shape(y, rank, dims)
    return 0


cdef int prepare_float(Context context, Node* node, FullyConnected* op, int activation) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef const float* values = <const float*>w.data
    cdef char* dense
    if w.type != FLOAT32 or context.output(node, 0).type != FLOAT32 or (
            b != NULL and b.type != FLOAT32 and node.arithmetic != MICRO):
        raise ValueError(
            f"FULLY_CONNECTED: types FLOAT32 x {type_name(w.type)} -> {type_name(context.output(node, 0).type)} are not supported")
    op.range = activation_range_f32(activation)
    op.packed = NULL
    if node.arithmetic == OPTIMIZED and w.sparsity == NULL:
        return prepare_eigen(context, node, op)
    if node.arithmetic == OPTIMIZED and sparse_block(w) != 1:
        return prepare_blocks(context, node, op)
    if is_constant(w) and w.sparsity == NULL:
        prepare_bias_as(context, b, FLOAT32, op.rows, &op.bias)
        if use_ordered32(context, op, w, False):
            op.runs = context.request_scratch(sizeof(Run))
            node.invoke = fully_connected_vector32
            return 0
    if is_constant(w):
        if w.sparsity != NULL:
            dense = <char*>context.persistent(4 * count(w))
            densify(w, dense, 4 * count(w))
            values = <const float*>dense
        op.packed = <float*>context.persistent(4 * packed_size(op.rows, op.depth) + 4)
        pack_columns(values, op.rows, op.depth, op.depth, 1, op.packed)
    else:
        op.packing = context.request_scratch(4 * packed_size(op.rows, op.depth) + 4)
    prepare_bias_as(context, b, FLOAT32, op.rows, &op.bias)
    op.sums = context.request_scratch(2 * 4 * (op.rows + 3))
    node.invoke = fully_connected_float
    return 0


cdef void matrix_shape(const FullyConnected* op, ConvShape* g) noexcept nogil:
    """A 1x1 convolution over images of one pixel."""
    g.batches = op.batches
    g.ih = g.iw = g.oh = g.ow = g.kh = g.kw = g.groups = 1
    g.stride_h = g.stride_w = g.dilation_h = g.dilation_w = 1
    g.pad_h = g.pad_w = 0
    g.ic = g.group_ic = op.depth
    g.oc = op.rows


cdef bint use_ordered32(Context context, FullyConnected* op, const Tensor* w, bint panels) except -1:
    matrix_shape(op, &op.fast32.plan.window.shape)
    op.fast32.plan.window.low = op.range.low
    op.fast32.plan.window.high = op.range.high
    op.fast32.plan.panels = panels
    op.fast32.plan.block = op.product.block if panels else 0
    return ready_ordered32(context, &op.fast32, <const float*>w.data, <const float*>op.bias.values, op.depth, 1)


cdef int prepare_blocks(Context context, Node* node, FullyConnected* op) except -1:
    """Sparse weights in blocks of four columns: summed in four lanes. Single values are summed in order, as the reference does."""
    cdef Tensor* w = context.input(node, 1)
    if sparse_block(w) != 4:
        raise ValueError("FULLY_CONNECTED: Unsupported sparse fully-connected weight format: blocks of "
                         f"{sparse_block(w)} columns, not of 4")
    op.packed = <float*>context.persistent(4 * count(w))
    densify(w, <char*>op.packed, 4 * count(w))
    prepare_bias(context, context.input(node, 2), op.rows, &op.bias)
    node.invoke = fully_connected_blocks
    return 0


cdef int prepare_eigen(Context context, Node* node, FullyConnected* op) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef ptrdiff_t o
    op.product = plan_product(op.rows, op.depth, op.batches, top_block(l1_data_bytes()), False)
    prepare_bias(context, b, op.rows, &op.bias)
    if b == NULL:
        for o in range(op.rows):           # nothing is added: a sum of -0.0 stays
            (<float*>op.bias.values)[o] = <float>-0.0
    if is_constant(w) and op.product.method == PANELS and use_ordered32(context, op, w, True):
        op.packing = context.request_scratch(16 * sizeof(float) * op.depth)          # for NaN
        op.sums = context.request_scratch(32 * sizeof(float))
        node.invoke = fully_connected_vector32_eigen
        return 0
    if is_constant(w):
        op.packed = <float*>context.persistent(4 * packed_panels(&op.product) + 4)
        pack_panels(&op.product, <const float*>w.data, op.packed)
    else:
        op.packing = context.request_scratch(4 * packed_panels(&op.product) + 4)
    op.sums = context.request_scratch(2 * 4 * op.rows + 4)
    node.invoke = fully_connected_eigen
    if op.product.method == MATRIX_VECTOR and is_constant(w) and kernels().ordered32.rows != NULL:
        op.packed_rows = <float*>context.persistent(kernels().ordered32.rows_bytes(op.rows, op.depth))
        kernels().ordered32.pack_rows(<const float*>w.data, op.rows, op.depth, op.packed_rows)
        op.rows_kernel = kernels().ordered32.rows
        node.invoke = fully_connected_vector32_row
    return 0


cdef int prepare_quantized(Context context, Node* node, FullyConnected* op, int activation) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef int option = table_i8(node.options, QUANTIZED_BIAS_TYPE, 0)
    cdef double* scales
    cdef ptrdiff_t o
    if not ((x.type == INT8 and (w.type == INT8 or w.type == INT4) and y.type == INT8)
            or (x.type == UINT8 and w.type == UINT8 and y.type == UINT8)
            or (x.type == INT16 and (w.type == INT8 or w.type == INT4) and y.type == INT16)):
        raise ValueError(f"FULLY_CONNECTED: types {type_name(x.type)} x {type_name(w.type)} -> {type_name(y.type)} are not supported")
    if w.sparsity != NULL and (x.type != INT8 or w.type != INT8 or w.zero_point != 0 or sparse_block(w) != 16):
        raise ValueError("FULLY_CONNECTED: Unsupported sparse fully-connected weight format: int8 weights want zero point 0 and blocks of 16 columns")
    check_quantized(x, "FULLY_CONNECTED", "input")
    check_quantized(w, "FULLY_CONNECTED", "filter")
    if b != NULL and (node.arithmetic == MICRO or (node.arithmetic == OPTIMIZED and b.type == INT32)):
        option = b.type            # there the bias itself decides
    if node.arithmetic != MICRO:
        check_bias_type(x, b, option, "FULLY_CONNECTED")
    if w.type == INT4:
        check_zero_points(w, "FULLY_CONNECTED", "filter: Unsupported filter quantization zero-point value.")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("FULLY_CONNECTED: int16 zero_point != 0")
    set_activation_range(activation, y, &op.fixed, "FULLY_CONNECTED")
    if w.scale_count > 1:
        if x.type == UINT8 or w.quantized_dimension != 0 or w.scale_count != op.rows:
            raise ValueError(f"FULLY_CONNECTED: {w.scale_count} scales along dimension {w.quantized_dimension} for {op.rows} rows")
    else:
        check_bias_scale(x, w, b, y, "FULLY_CONNECTED")
    scales = <double*>context.persistent(8 * op.rows + 8)
    for o in range(op.rows):
        scales[o] = <double>x.scale * <double>w.scales[o if w.scale_count > 1 else 0] / <double>y.scale
    op.rescale.scales = scales
    op.rescale.low = op.fixed.low
    op.rescale.high = op.fixed.high
    op.rescale.zero_point = op.fixed.zero_point
    op.rescale.longest = LONGEST_16BIT if x.type == INT16 else LONGEST_8BIT
    op.rescale.wide = x.type == INT16 and option != INT32
    if w.sparsity != NULL:
        prepare_fixed(context, x, w, y, op, False, False)
    elif node.arithmetic == OPTIMIZED and (b == NULL or b.type != INT64):
        prepare_fixed(context, x, w, y, op, True, False)
    elif node.arithmetic == MICRO:
        prepare_fixed(context, x, w, y, op, False, op.rescale.wide)
    prepare_weights(context, w, &op.weights)
    if w.sparsity != NULL:
        op.weights.unpacked = <const uint8_t*>context.persistent(count(w))
        densify(w, <char*>op.weights.unpacked, count(w))
    if node.arithmetic == MICRO:
        prepare_bias_micro(context, x, b, INT32 if option == INT32 else INT64, op.rows, &op.bias)
    else:
        prepare_bias(context, b, op.rows, &op.bias)
    # TFLM's plans may lay the output over the input, which the vector kernel does not permit (ops/overlaps.py)
    if x.type != INT16 and node.arithmetic != MICRO and is_constant(w) and ready_vector8(context, op, x, w):
        node.invoke = fully_connected_vector8
        return 0
    op.shifted = context.request_scratch(2 * 2 * op.depth + 2)
    op.sums = context.request_scratch(2 * 8 * op.rows + 8)
    node.invoke = fully_connected_s8
    if x.type == INT16:
        node.invoke = fully_connected_s16
    elif x.type == UINT8:
        node.invoke = fully_connected_u8
    return 0


cdef int prepare_fixed(
    Context context, const Tensor* x, const Tensor* w, const Tensor* y, FullyConnected* op, bint up, bint wide,
) except -1:
    """Multipliers of the optimized and TFLM's kernels: without scales per row the input scales' product is a float32.

    `up`: the second rounding takes halves up, not away from zero; `wide`: 64-bit sums, with one rounding.
    """
    cdef Factor* factors = <Factor*>context.persistent(sizeof(Factor) * op.rows + 1)
    cdef double real = <double><float>(x.scale * w.scale) / <double>y.scale
    cdef Multiplier m
    cdef ptrdiff_t o
    for o in range(op.rows):
        if w.scale_count > 1:
            real = op.rescale.scales[o]
        m = quantize_multiplier(real)
        check_multiplier(m, real, wide, "FULLY_CONNECTED")
        factors[o] = factor_of(m, up)
    op.fixed.factors = factors
    op.fixed.wide = wide
    op.rescale.fixed = &op.fixed
    return 0


cdef bint ready_vector8(Context context, FullyConnected* op, const Tensor* x, const Tensor* w) except -1:
    """A 1x1 convolution over images of one pixel."""
    cdef Conv8* c = &op.fast.fast.plan
    cdef const int64_t* bias = <const int64_t*>op.bias.values
    if bias == NULL or (w.type != UINT8 and w.scale_count == 1 and w.zero_point != 0):
        return False
    c.finish = finish_double
    c.how = &op.rescale
    if op.rescale.fixed != NULL:
        op.fixed.bias = bias
        if not ready_fixed8(context, &op.fast.fixed, 1, op.rows, op.depth, x, bias, &op.fixed):
            return False
        c.finish = kernels().fixed8.finish
        c.how = &op.fast.fixed
    matrix_shape(op, &c.shape)
    c.is_signed = x.type == INT8
    c.x_zero_point = x.zero_point
    c.w_zero_point = w.zero_point if w.type == UINT8 else 0
    c.out.bias = narrow_bias(context, bias, op.rows)
    c.y_size = 1
    op.rescale.columns = op.rows
    return ready_conv8(context, &op.fast.fast, x, weight_bytes(context, w, &op.weights), op.depth)


cdef void finish_double(
    const void* how, ptrdiff_t group, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y, ptrdiff_t y_row,
) noexcept nogil:
    """The reference's rescaling of whole sums."""
    cdef const DoubleRescale* out = <const DoubleRescale*>how
    cdef ptrdiff_t r, o
    for r in range(rows):
        for o in range(out.columns):
            y[o] = <uint8_t>rescale_whole(sums[o], out, o)
        sums += sum_row
        y += y_row


cdef int prepare_hybrid(Context context, Node* node, FullyConnected* op, int activation) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    if ((w.type != INT8 and w.type != INT4 and w.type != UINT8) or context.output(node, 0).type != FLOAT32
            or (b != NULL and b.type != FLOAT32)):
        raise ValueError(
            f"FULLY_CONNECTED: types FLOAT32 x {type_name(w.type)} -> {type_name(context.output(node, 0).type)} are not supported")
    if w.sparsity != NULL:
        raise ValueError("FULLY_CONNECTED: Unsupported sparse fully-connected weight format. (hybrid)")
    if activation > ACT_RELU6 or activation < ACT_NONE:
        raise ValueError(f"FULLY_CONNECTED: fused activation {activation} of a hybrid layer is not supported")
    if w.type == INT4:
        check_zero_points(w, "FULLY_CONNECTED", "filter: Unsupported filter quantization zero-point value.")
    op.row_scales = NULL
    op.scale = w.scale
    if w.scale_count > 1:
        if w.scale_count != op.rows:
            raise ValueError(f"FULLY_CONNECTED: {w.scale_count} scales for {op.rows} rows")
        op.row_scales = w.scales
    op.range = activation_range_f32(activation)
    op.clamps = activation != ACT_NONE      # otherwise infinities stay, unlike in the float kernel
    if activation == ACT_RELU:
        op.range.high = float("inf")
    op.asymmetric = table_bool(node.options, ASYMMETRIC_QUANTIZE_INPUTS, False)
    prepare_weights(context, w, &op.weights)
    prepare_bias(context, b, op.rows, &op.bias)
    op.row_sums = NULL
    op.wide = NULL
    op.shifted = context.request_scratch(2 * op.depth + 2)
    if node.arithmetic == OPTIMIZED and w.type == INT4 and is_constant(w) and moves_weights(op.rows, op.depth):
        op.moved = <int8_t*>context.persistent(op.rows * op.depth)
        move_weights(<const int8_t*>weight_bytes(context, w, &op.weights), op.rows, op.depth, op.moved)
        node.invoke = fully_connected_int4
        return 0
    if is_constant(w):
        op.minimum = has_minimum(<const int8_t*>weight_bytes(context, w, &op.weights), op.rows, op.depth)
        op.fast_rows = not op.minimum and use_hybrid8(context, op, context.input(node, 0), w)
        if op.fast_rows:
            node.invoke = fully_connected_hybrid
            return 0
        if not op.minimum:
            op.wide = <int16_t*>context.persistent(2 * op.rows * op.depth + 2)
            shift_values(<const int8_t*>weight_bytes(context, w, &op.weights), op.rows * op.depth, 0, op.wide)
        if op.asymmetric:
            op.row_sums = <int32_t*>context.persistent(4 * op.rows + 4)
            sum_rows(<const int8_t*>weight_bytes(context, w, &op.weights), op.rows, op.depth, op.row_sums)
    op.sums = context.request_scratch(4 * op.rows + 4)
    node.invoke = fully_connected_hybrid
    return 0


cdef bint use_hybrid8(Context context, FullyConnected* op, const Tensor* x, const Tensor* w) except -1:
    """A row at a time; limits are the caller's."""
    cdef ConvShape g
    matrix_shape(op, &g)
    g.batches = 1
    return ready_hybrid8(
        context, &op.fast_hybrid, &g, x, <const int8_t*>weight_bytes(context, w, &op.weights),
        op.row_scales if op.row_scales != NULL else &op.scale, BY_PRODUCT if op.row_scales != NULL else BY_BOTH,
        <const float*>op.bias.values, -INFINITY, INFINITY)


cdef int nothing_to_sum(Context context, Node* node) noexcept nogil:
    """Depth 0: zeros, whatever the bias."""
    cdef Tensor* y = context.output(node, 0)
    memset(y.data, 0, y.bytes)
    return 0


cdef int fully_connected_float(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef Tensor* w = context.input(node, 1)
    cdef float* packed = op.packed
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_columns(<const float*>w.data, op.rows, op.depth, op.depth, 1, packed)
    fully_connected_f32(
        <const float*>context.input(node, 0).data, op.batches, packed,
        <const float*>bias_values(context, context.input(node, 2), op.rows, &op.bias), op.rows, op.depth, op.range.low, op.range.high,
        False, <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_vector32(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if op.fast32.run(&op.fast32.plan, x, context.scratch(op.fast32.scratch), y):
        repair_conv_f32(
            &op.fast32.plan.window.shape, x, <const float*>context.input(node, 1).data, <Run*>context.scratch(op.runs), y)
    return 0


cdef int fully_connected_vector32_eigen(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if op.fast32.run(&op.fast32.plan, x, context.scratch(op.fast32.scratch), y):
        conv_f32_eigen_slices(
            &op.fast32.plan.window.shape, &op.product, x, <const float*>context.input(node, 1).data, <const float*>op.bias.values,
            op.range.low, op.range.high, <float*>context.scratch(op.packing), NULL, <float*>context.scratch(op.sums), y,
        )
    return 0


cdef int fully_connected_vector32_row(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    if op.rows_kernel(
            op.packed_rows, <const float*>context.input(node, 1).data, op.rows, op.depth,
            <const float*>context.input(node, 0).data, bias, op.range.low, op.range.high, <float*>context.output(node, 0).data):
        return fully_connected_eigen(context, node)
    return 0


cdef int fully_connected_eigen(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef const float* w = <const float*>context.input(node, 1).data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float* sums = <float*>context.scratch(op.sums)
    cdef float* packed = op.packed
    cdef ptrdiff_t j = 0
    cdef bint pair
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_panels(&op.product, w, packed)
    while j < op.batches:
        pair = j + 1 < op.batches
        multiply_rows_eigen(&op.product, w, packed, x, x + op.depth if pair else NULL, j, sums, sums + op.rows)
        finish_f32(sums, bias, op.rows, op.range.low, op.range.high, y)
        if pair:
            finish_f32(sums + op.rows, bias, op.rows, op.range.low, op.range.high, y + op.rows)
        x += 2 * op.depth
        y += 2 * op.rows
        j += 2
    return 0


cdef int fully_connected_blocks(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t b, o
    for b in range(op.batches):
        for o in range(op.rows):
            y[o] = clamp_f32(
                accumulate_dot_f32(0, op.packed + o * op.depth, x, op.depth) + bias[o], op.range.low, op.range.high)
        x += op.depth
        y += op.rows
    return 0


cdef int fully_connected_vector8(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    op.fast.fast.plan.run(
        &op.fast.fast.plan, context.input(node, 0).data, context.scratch(op.fast.fast.scratch), context.output(node, 0).data)
    return 0


cdef int fully_connected_s8(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    op.fixed.bias = op.rescale.bias
    fully_connected_quantized(
        <const int8_t*>x.data, x.zero_point, op.batches, <const int8_t*>weight_bytes(context, w, &op.weights),
        w.zero_point if w.scale_count == 1 else 0, op.rows, op.depth, &op.rescale,
        <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums), <int8_t*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_u8(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    op.fixed.bias = op.rescale.bias
    fully_connected_quantized(
        <const uint8_t*>x.data, x.zero_point, op.batches, weight_bytes(context, w, &op.weights), w.zero_point, op.rows, op.depth,
        &op.rescale, <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums),
        <uint8_t*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_s16(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    op.fixed.bias = op.rescale.bias
    fully_connected_quantized(
        <const int16_t*>x.data, 0, op.batches, <const int8_t*>weight_bytes(context, w, &op.weights),
        w.zero_point if w.scale_count == 1 else 0, op.rows, op.depth, &op.rescale,
        <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums), <int16_t*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_hybrid(Context context, Node* node) noexcept nogil:
    """Each row of x is quantized on its own; when the whole of x is zero the outputs are the bias."""
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef const int8_t* bytes = <const int8_t*>weight_bytes(context, w, &op.weights)
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    cdef int32_t* row_sums = op.row_sums
    cdef int16_t* q = <int16_t*>context.scratch(op.shifted)
    cdef const float* row = <const float*>x.data
    cdef float* y = <float*>context.output(node, 0).data
    cdef bint skip = all_zero(row, count(x))
    cdef bint minimum = op.minimum
    cdef RowScale s
    cdef float scale
    cdef ptrdiff_t b, o
    if not is_constant(w):
        minimum = True
        row_sums = <int32_t*>context.scratch(op.sums)
        sum_rows(bytes, op.rows, op.depth, row_sums)
    for b in range(op.batches):
        for o in range(op.rows):
            y[o] = bias[o]
        if not skip:
            if op.asymmetric:
                quantize_asymmetric(row, op.depth, q, &s)
            else:
                quantize_symmetric(row, op.depth, q, &s)
            scale = s.scale if op.row_scales != NULL else s.scale * op.scale
            if op.fast_rows:
                run_hybrid8(
                    &op.fast_hybrid, q, s.zero_point, s.scale, context.scratch(op.fast_hybrid.narrow),
                    context.scratch(op.fast_hybrid.sums.scratch), y)
            elif op.wide != NULL:
                accumulate_rows(
                    <const int16_t*>op.wide, op.rows, op.depth, q, scale, op.row_scales, s.zero_point, row_sums, False, y)
            else:
                accumulate_rows(bytes, op.rows, op.depth, q, scale, op.row_scales, s.zero_point, row_sums, minimum, y)
        clamp_row(op, y)
        row += op.depth
        y += op.rows
    return 0


cdef inline void clamp_row(const FullyConnected* op, float* y) noexcept nogil:
    cdef ptrdiff_t o
    if op.clamps:
        for o in range(op.rows):       # max(low, min(y, high)): NaN gives low
            y[o] = op.range.high if op.range.high < y[o] else y[o]
            y[o] = y[o] if op.range.low < y[o] else op.range.low


cdef int fully_connected_int4(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int16_t* q = <int16_t*>context.scratch(op.shifted)
    cdef ptrdiff_t b
    cdef float scale
    for b in range(op.batches):
        scale = quantize_row(x + b * op.depth, op.depth, q)
        fully_connected_moved(op.moved, op.rows, op.depth, q, scale, op.row_scales, op.scale, bias, y)
        clamp_row(op, y)
        y += op.rows
    return 0


OPERATORS = {
    "FULLY_CONNECTED": register(prepare, version=14, reference_version=14, lowest_version=1, sparse_input=1),
}
