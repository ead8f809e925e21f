"""CONV_2D on float32 images, quantized one by one, and a filter of int8 or int4; uint8 is read as int8.

| filter | kernel |
| --- | --- |
| equal scales | `convolve_hybrid`: symmetric |
| differing scales | `convolve_hybrid_channels`: asymmetric, exact |

Symmetric products have the sign error of arithmetic/hybrid.pxd unless the number of output channels is a multiple of 4. In the optimized
arithmetic, without groups, differing scales multiply the image's scale first.

Source: LiteRT:tflite/kernels/conv.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int64_t

from tflm_cy.arithmetic.conv cimport ConvShape, position_sums
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32, clamp_f32
from tflm_cy.arithmetic.hybrid cimport RowScale, has_minimum, quantize_asymmetric, quantize_symmetric, sign_error
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node
from tflm_cy.graph.tensor cimport INT4, INT8, UINT8, Tensor, is_constant, type_name
from tflm_cy.ops.conv_2d_layer cimport Conv, pad_filter
from tflm_cy.ops.kernels.hybrid_i8 cimport BY_BOTH, BY_FILTER_FIRST, BY_PRODUCT, HybridI8, ready_hybrid_i8, run_hybrid_i8
from tflm_cy.ops.quantized_weights cimport bias_values, check_quantized, weight_bytes

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum Hybrid:
    SYMMETRIC = 0                # one scale
    CHANNELS = 1                 # asymmetric
    CHANNELS_OPTIMIZED = 2

cdef struct HybridConv:
    Conv c
    RangeF range
    int sums                     # scratch: the sums of two positions
    int patches                  # scratch: two windows
    int image                    # scratch: one quantized image
    const float* scales
    bint wraps                   # products have the sign error
    HybridI8 fast_hybrid          # with a vector kernel, when
    bint fast_images


cdef int prepare_hybrid(Context context, Node* node, const Conv* conv, int activation) except -1:
    cdef HybridConv* op = <HybridConv*>context.persistent(sizeof(HybridConv))
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef int c
    node.data = op
    op.c = conv[0]
    op.range = activation_range_f32(activation)
    if w.type != INT8 and w.type != INT4 and w.type != UINT8:
        raise OwnRefusalError(f"CONV_2D: types FLOAT32 x {type_name(w.type)} are not supported")
    check_quantized(w, "CONV_2D", "filter")
    op.wraps = op.c.shape.oc % 4 != 0
    node.invoke = convolve_hybrid
    if op.c.shape.groups != 1:
        node.invoke = convolve_hybrid_channels
    for c in range(1, w.scale_count):
        if w.scales[c] != w.scales[0] and w.type != UINT8:
            node.invoke = convolve_hybrid_channels
    op.scales = w.scales
    if node.invoke == convolve_hybrid_channels and node.arithmetic == OPTIMIZED and op.c.shape.groups == 1:
        node.invoke = convolve_hybrid_channels_optimized
    if node.invoke != convolve_hybrid and (w.scale_count != op.c.shape.oc or w.quantized_dimension != 0):
        raise ValueError(f"CONV_2D: {w.scale_count} scales along dimension {w.quantized_dimension} for {op.c.shape.oc} channels")
    if x.dims[0] == 0:
        raise LateRefusalError("CONV_2D: batch_size != 0 was not true")
    op.image = context.request_scratch(sizeof(int16_t) * op.c.shape.ih * op.c.shape.iw * op.c.shape.ic)
    op.fast_images = use_hybrid_i8(context, node, op)
    if op.fast_images:
        return 0
    pad_filter(context, w, &op.c)
    op.patches = context.request_scratch(2 * sizeof(int16_t) * op.c.shape.row)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.c.shape.oc)
    return 0


cdef bint use_hybrid_i8(Context context, Node* node, HybridConv* op) except -1:
    """Weights without -128, or products without the sign error."""
    cdef Tensor* w = context.input(node, 1)
    cdef ConvShape g = op.c.shape
    cdef const int8_t* bytes
    cdef int how = BY_BOTH if node.invoke == convolve_hybrid else BY_FILTER_FIRST if node.invoke == convolve_hybrid_channels else BY_PRODUCT
    if not is_constant(w):
        return False
    bytes = <const int8_t*>weight_bytes(context, w, &op.c.weights)
    if how == BY_BOTH and op.wraps and has_minimum(bytes, g.oc, op.c.depth):
        return False
    g.batches = 1
    return ready_hybrid_i8(
        context, &op.fast_hybrid, &g, context.input(node, 0), bytes, op.scales, how, <const float*>op.c.bias.values, op.range.low,
        op.range.high)


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
    cdef HybridConv* op = <HybridConv*>node.data
    cdef ConvShape* g = &op.c.shape
    cdef const int8_t* w = <const int8_t*>weight_bytes(context, context.input(node, 1), &op.c.weights)
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), g.oc, &op.c.bias)
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
            run_hybrid_i8(
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
                            sums[i * g.oc + c] += sign_error(patches + i * g.row, w + c * g.row, op.c.depth)
                        v = <float>sums[i * g.oc + c] * (s.scale * op.scales[0])
                    y[c] = clamp_f32(v + bias[c], op.range.low, op.range.high)
                y += g.oc
            position += columns
        x += size
    return 0
