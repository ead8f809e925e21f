"""CONV_2D on integers.

| input | filter | bias | kernel |
| --- | --- | --- | --- |
| int8 | int8, int4: zero points 0, one scale or one per channel | int32 | `convolve_s8` |
| uint8 | uint8, one scale | int32 | `convolve_u8` |
| int16 | int8, int4 | int64, or int32 with quantized_bias_type | `convolve_s16` |

The optimized arithmetic, without groups: 8 bits, and int16 with an int32 bias, round halves up, or once (optimized/rounding.pxd).

Source: LiteRT:tflite/kernels/conv.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int64_t, uint8_t

from tflm_cy.arithmetic.conv cimport conv_quantized
from tflm_cy.arithmetic.optimized.product_pairs cimport conv_in_pairs
from tflm_cy.arithmetic.optimized.rounding cimport gemm_rounding
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport ONCE, Rescale
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, position_space
from tflm_cy.graph.tensor cimport INT4, INT8, INT16, UINT8, Tensor, is_constant, type_name
from tflm_cy.ops.conv_2d_layer cimport Conv, pad_filter
from tflm_cy.ops.kernels.columns_i16 cimport ColumnsI16, conv_columns_i16, plan_columns_i16
from tflm_cy.ops.kernels.requantize_fixed cimport LateRequantize, parallelize_fixed, ready_fixed, run_fixed, run_fixed_range
from tflm_cy.ops.product_pairs cimport wraps_in_pairs
from tflm_cy.ops.quantized_weights cimport (
    ROUND_ONCE, Multipliers, bias_values, check_quantized, check_zero_points, own_factors, plan_rescale, prepare_bias, read_as_bytes, weight_bytes,
)
from tflm_cy.simd.conv_i8 cimport ConvI8

from tflm_cy.graph.refusal import OwnRefusalError

cdef struct IntegerConv:
    Conv c
    Rescale rescale
    int sums                     # scratch: the sums of two positions
    int patches                  # scratch: two windows
    ConvI8 fast                  # with a vector kernel
    LateRequantize requantize
    ColumnsI16 wide              # with a vector kernel for int16


cdef int prepare_integer(Context context, Node* node, const Conv* c, int activation, bint narrow_bias) except -1:
    cdef IntegerConv* op = <IntegerConv*>context.persistent(sizeof(IntegerConv))
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef Multipliers multipliers
    cdef ptrdiff_t up = 0
    cdef bint in_pairs = False
    node.data = op
    op.c = c[0]
    if x.type != UINT8:
        check_quantized(w, "CONV_2D", "filter")
        check_zero_points(w, "CONV_2D", "filter")
    if not ((x.type == UINT8 and read_as_bytes(x, w)) or (x.type == INT8 and (w.type == INT8 or w.type == INT4))
            or (x.type == INT16 and (w.type == INT4 or read_as_bytes(x, w)))):
        raise (OwnRefusalError if x.type in (UINT8, INT8, INT16) else ValueError)(
            f"CONV_2D: types {type_name(x.type)} x {type_name(w.type)} are not supported")
    if b != NULL and b.zero_point != 0:
        raise ValueError(f"CONV_2D: bias->params.zero_point != 0 ({b.zero_point} != 0)")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("CONV_2D: int16 zero_point != 0")
    if node.arithmetic == OPTIMIZED and (x.type != INT16 or narrow_bias) and op.c.shape.groups == 1:
        up = op.c.shape.oc
        if gemm_rounding(op.c.shape.oc, op.c.shape.batches * op.c.shape.oh * op.c.shape.ow, op.c.depth, x.type != INT16) == ONCE:
            up = ROUND_ONCE
            in_pairs = x.type != INT16 and wraps_in_pairs(
                op.c.shape.oc, op.c.depth, weight_bytes(context, w, &op.c.weights) if is_constant(w) else NULL, x.type == UINT8,
                w.zero_point if x.type == UINT8 else 0)
    plan_rescale(
        context, x, w, b, y, activation, op.c.shape.oc, x.type == INT16 and not narrow_bias, up, &op.rescale, &multipliers, "CONV_2D")
    # TFLM's plans may lay the output over the image, which the vector kernel does not permit (ops/overlaps.py)
    if x.type != INT16 and node.arithmetic != MICRO and is_constant(w) and not in_pairs and ready_fixed(
            context, &op.fast, &op.requantize, &op.c.shape, x, w.zero_point if x.type == UINT8 else 0, weight_bytes(context, w, &op.c.weights),
            op.c.depth, b, &op.rescale, &multipliers):
        node.invoke = convolve_gemm_i8
        return parallelize_fixed(context, node, &op.fast, gemm_i8_range)
    own_factors(context, &multipliers, &op.rescale)
    if x.type == INT16 and node.arithmetic != MICRO and is_constant(w) and op.c.bias.values != NULL and use_columns(context, node, op, w):
        return 0
    if x.type != INT16 and node.arithmetic != MICRO:
        prepare_bias(context, b, op.c.shape.oc, &op.c.bias)
    pad_filter(context, w, &op.c)
    if in_pairs:
        return share_pairs(context, node, op, w)
    op.patches = context.request_scratch(2 * sizeof(int16_t) * op.c.shape.row)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.c.shape.oc)
    node.invoke = convolve_s8 if x.type == INT8 else convolve_u8 if x.type == UINT8 else convolve_s16
    return 0


cdef bint use_columns(Context context, Node* node, IntegerConv* op, Tensor* w) except -1:
    cdef const ConvShape* g = &op.c.shape
    cdef int64_t positions = g.batches * g.oh * g.ow
    op.rescale.bias = <const int64_t*>op.c.bias.values
    if op.c.depth <= 0 or not plan_columns_i16(
            context, &op.wide, <const int8_t*>weight_bytes(context, w, &op.c.weights), op.c.depth, g.oc // max(g.groups, 1), g.groups,
            op.c.depth, &op.rescale):
        return False
    node.invoke = convolve_columns
    context.parallelize(node, columns_range, position_space(positions, 1, 0), positions * g.oc * (0.01 * op.c.depth + 1))
    return True


cdef int convolve_columns(Context context, Node* node) noexcept nogil:
    cdef const ConvShape* g = &(<IntegerConv*>node.data).c.shape
    columns_range(context, node, 0, g.batches * g.oh * g.ow, 0)
    return 0


cdef void columns_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some output positions of int16 images."""
    cdef IntegerConv* op = <IntegerConv*>node.data
    if first < end:
        conv_columns_i16(
            context, &op.wide, &op.c.shape, <const int16_t*>context.input(node, 0).data, &op.rescale, first, end, worker,
            <int16_t*>context.output(node, 0).data)


cdef int convolve_gemm_i8(Context context, Node* node) noexcept nogil:
    cdef IntegerConv* op = <IntegerConv*>node.data
    run_fixed(context, &op.fast, &op.requantize, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef void gemm_i8_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef IntegerConv* op = <IntegerConv*>node.data
    run_fixed_range(
        context, &op.fast, &op.requantize, context.input(node, 0).data, context.output(node, 0).data, first, end, worker)


cdef int share_pairs(Context context, Node* node, IntegerConv* op, const Tensor* w) except -1:
    """Products that wrap around in pairs (optimized/product_pairs.pxd), shared where the operands that are packed are constant."""
    cdef const ConvShape* g = &op.c.shape
    cdef int64_t positions = g.batches * g.oh * g.ow
    op.patches = context.request_scratch(context.for_all_workers(sizeof(int16_t) * g.row))
    op.sums = context.request_scratch(context.for_all_workers(sizeof(int64_t) * g.oc))
    node.invoke = convolve_pairs
    if is_constant(w) and op.c.bias.values != NULL:
        op.rescale.bias = <const int64_t*>op.c.bias.values
        context.parallelize(node, pairs_range, position_space(positions, 1, 0), positions * g.oc * (0.3 * op.c.depth + 1))
    return 0


cdef int convolve_pairs(Context context, Node* node) noexcept nogil:
    cdef IntegerConv* op = <IntegerConv*>node.data
    cdef const ConvShape* g = &op.c.shape
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), g.oc, &op.c.bias)
    pairs_range(context, node, 0, g.batches * g.oh * g.ow, 0)
    return 0


cdef void pairs_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some output positions of images of bytes."""
    cdef IntegerConv* op = <IntegerConv*>node.data
    cdef const ConvShape* g = &op.c.shape
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* w = context.input(node, 1)
    cdef const uint8_t* weights = weight_bytes(context, w, &op.c.weights)
    cdef int16_t* patches = <int16_t*>context.worker_scratch(op.patches, sizeof(int16_t) * g.row, worker)
    cdef int64_t* sums = <int64_t*>context.worker_scratch(op.sums, sizeof(int64_t) * g.oc, worker)
    cdef void* y = context.output(node, 0).data
    if x.type == INT8:
        conv_in_pairs(
            g, <const int8_t*>x.data, x.zero_point, <const int8_t*>weights, 0, &op.rescale, patches, sums, <int8_t*>y, first, end)
    else:
        conv_in_pairs(g, <const uint8_t*>x.data, x.zero_point, weights, w.zero_point, &op.rescale, patches, sums, <uint8_t*>y, first, end)


cdef int convolve_s8(Context context, Node* node) noexcept nogil:
    cdef IntegerConv* op = <IntegerConv*>node.data
    cdef Tensor* x = context.input(node, 0)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.c.shape.oc, &op.c.bias)
    conv_quantized(
        &op.c.shape, <const int8_t*>x.data, x.zero_point, <const int8_t*>weight_bytes(context, context.input(node, 1), &op.c.weights), 0,
        &op.rescale, <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums),
        <int8_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_u8(Context context, Node* node) noexcept nogil:
    cdef IntegerConv* op = <IntegerConv*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.c.shape.oc, &op.c.bias)
    conv_quantized(
        &op.c.shape, <const uint8_t*>x.data, x.zero_point, weight_bytes(context, w, &op.c.weights), w.zero_point, &op.rescale,
        <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums), <uint8_t*>context.output(node, 0).data,
    )
    return 0


cdef int convolve_s16(Context context, Node* node) noexcept nogil:
    cdef IntegerConv* op = <IntegerConv*>node.data
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.c.shape.oc, &op.c.bias)
    conv_quantized(
        &op.c.shape, <const int16_t*>context.input(node, 0).data, 0,
        <const int8_t*>weight_bytes(context, context.input(node, 1), &op.c.weights), 0, &op.rescale,
        <int16_t*>context.scratch(op.patches), <int64_t*>context.scratch(op.sums), <int16_t*>context.output(node, 0).data,
    )
    return 0
