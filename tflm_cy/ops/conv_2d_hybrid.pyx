"""CONV_2D on float32 images, quantized one by one, and a filter of int8 or int4; uint8 is read as int8.

| filter | kernel |
| --- | --- |
| equal scales | `convolve_hybrid`: symmetric |
| differing scales | `convolve_hybrid_channels`: asymmetric, exact |

Symmetric products have the sign error of arithmetic/hybrid.pxd unless the number of output channels is a multiple of 4; none on aarch64. In
the optimized arithmetic, without groups, differing scales multiply the image's scale first, and products may wrap around on aarch64
(arithmetic/hybrid_neon.pxd).

Source: LiteRT:tflite/kernels/conv.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from tflm_cy.arithmetic.conv cimport gather_patch, position_sums
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32, clamp_f32
from tflm_cy.arithmetic.hybrid cimport LONGEST_DOT, has_minimum, quantize_row_by, sign_error
from tflm_cy.arithmetic.hybrid_neon cimport WRAPS, product_flags, wrap_error
from tflm_cy.arithmetic.hybrid_scaling cimport BY_BOTH, BY_FILTER_FIRST, BY_PRODUCT, bias_first_of
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first, has_nan
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node
from tflm_cy.graph.tensor cimport INT4, INT8, UINT8, Tensor, is_constant, type_name
from tflm_cy.ops.conv_2d_layer cimport Conv, pad_filter
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.ops.kernels.hybrid_i8 cimport HybridI8, all_rows, parallelize_hybrid_i8, ready_hybrid_i8, run_hybrid_i8
from tflm_cy.ops.quantized_weights cimport bias_values, check_quantized, weight_bytes

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError
from tflm_cy.simd.table cimport row_kernels

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
    bint sign_errors             # symmetric products have them (arithmetic/hybrid.pxd)
    bint row_sign_errors         # and so have those of the kernel for rows
    bint wrap_errors             # products have them (arithmetic/hybrid_neon.pxd)
    const RowKernels* rows       # or NULL
    int sums32                   # scratch: the sums of a position
    HybridI8 packed              # with a vector kernel


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
    op.sign_errors = op.c.shape.oc % 4 != 0 and not AARCH64
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
    if node.invoke == convolve_hybrid_channels_optimized:
        op.wrap_errors = product_flags(
            op.c.shape.oc, op.c.depth, op.c.shape.batches * op.c.shape.oh * op.c.shape.ow, has_dotprod()) & WRAPS
    op.image = context.request_scratch(sizeof(int16_t) * op.c.shape.ih * op.c.shape.iw * op.c.shape.ic)
    op.rows = row_kernels()
    if use_hybrid_i8(context, node, op):
        node.invoke = convolve_packed
        return parallelize_hybrid_i8(context, node, &op.packed, packed_range)
    op.row_sign_errors = op.sign_errors and node.invoke == convolve_hybrid
    op.sums32 = context.request_scratch(sizeof(int32_t) * op.c.shape.oc + 4)
    pad_filter(context, w, &op.c)
    op.patches = context.request_scratch(2 * sizeof(int16_t) * op.c.shape.row)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.c.shape.oc)
    return 0


cdef bint use_hybrid_i8(Context context, Node* node, HybridConv* op) except -1:
    """Weights without -128, or products without the sign error."""
    cdef Tensor* w = context.input(node, 1)
    cdef ConvShape g = op.c.shape
    cdef const int8_t* bytes
    cdef int params = BY_BOTH if node.invoke == convolve_hybrid else BY_FILTER_FIRST if node.invoke == convolve_hybrid_channels else BY_PRODUCT
    if not is_constant(w):
        return False
    bytes = <const int8_t*>weight_bytes(context, w, &op.c.weights)
    if (op.wrap_errors or (params == BY_BOTH and op.sign_errors)) and has_minimum(bytes, g.oc, op.c.depth):
        return False
    if params == BY_PRODUCT and op.c.bias.values != NULL and has_nan(<const float*>op.c.bias.values, g.oc):
        return False                     # which NaN comes out depends on where a row lies: `bias_is_first`
    if not ready_hybrid_i8(
            context, &op.packed, &g, context.input(node, 0), bytes, op.scales, params, params != BY_BOTH, <const float*>op.c.bias.values,
            op.range.low, op.range.high):
        return False
    op.packed.out.bias_first = bias_first_of(<const float*>op.c.bias.values, g.oc) if params == BY_BOTH else 0
    return True


cdef int convolve_packed(Context context, Node* node) noexcept nogil:
    packed_range(context, node, 0, all_rows(&(<HybridConv*>node.data).packed), 0)
    return 0


cdef void packed_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_hybrid_i8(
        context, &(<HybridConv*>node.data).packed, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data, first, end,
        worker)


cdef int convolve_hybrid(Context context, Node* node) noexcept nogil:
    """One scale: y = (float)sum * (image scale * weight scale) + bias."""
    return hybrid_images(context, node, SYMMETRIC)


cdef int convolve_hybrid_channels(Context context, Node* node) noexcept nogil:
    """A scale per channel: y = ((float)sum * weight scale) * image scale + bias."""
    return hybrid_images(context, node, CHANNELS)


cdef int convolve_hybrid_channels_optimized(Context context, Node* node) noexcept nogil:
    """A scale per channel: y = (float)sum * (weight scale * image scale) + bias."""
    return hybrid_images(context, node, CHANNELS_OPTIMIZED)


cdef inline void sums_of_position(
    const HybridConv* op, const int16_t* image, int32_t zero_point, const int8_t* w, ptrdiff_t position, int16_t* patch, int32_t* found,
    int64_t* sums,
) noexcept nogil:
    """By a vector kernel for rows, with the sign errors of symmetric products; exact, in stretches that an int32 holds."""
    cdef const ConvShape* g = &op.c.shape
    cdef ptrdiff_t columns = g.oc / g.groups
    cdef ptrdiff_t group, c, start, n
    for c in range(g.oc):
        sums[c] = 0
    for group in range(g.groups):
        gather_patch(g, image, zero_point, group, position / g.ow, position % g.ow, patch)
        start = 0
        while start < op.c.depth:
            n = min(op.c.depth - start, <ptrdiff_t>LONGEST_DOT / 2)
            op.rows.multiply(
                patch + start, 0, 1, w + group * columns * g.row + start, g.row, columns, n, op.row_sign_errors, found, 0)
            for c in range(columns):
                sums[group * columns + c] += found[c]
            start += n


cdef inline bint bias_is_first(int params, ptrdiff_t at, ptrdiff_t c, ptrdiff_t n) noexcept nogil:
    """Which operand of the last sum keeps its NaN. Symmetric products: the bias in whole vectors of four, the product behind them. Products of
    both scales: the product in vectors of eight at multiples of eight floats, the bias before and behind them; `at`: where the row begins."""
    cdef ptrdiff_t head = min(-at & 7, n)
    if params == SYMMETRIC:
        return c < n - n % 4
    return params == CHANNELS_OPTIMIZED and (c < head or c >= n - (n - head) % 8)


cdef inline int hybrid_images(Context context, Node* node, int params) noexcept nogil:
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
    cdef ptrdiff_t at = 0
    cdef ptrdiff_t n, c, position
    cdef int columns, i
    cdef RowScale s
    cdef float v
    for n in range(g.batches):
        quantize_row_by(op.rows, params != SYMMETRIC, x, size, image, &s)
        position = 0
        while position < positions:
            columns = 2 if position + 2 <= positions and op.rows == NULL else 1
            if op.rows != NULL:
                sums_of_position(op, image, s.zero_point, w, position, patches, <int32_t*>context.scratch(op.sums32), sums)
            else:
                position_sums(g, image, s.zero_point, w, 0, LONGEST_8BIT, position, columns, patches, sums)
            for i in range(columns):
                for c in range(g.oc):
                    if params == CHANNELS:
                        v = <float>sums[i * g.oc + c] * op.scales[c] * s.scale
                    elif params == CHANNELS_OPTIMIZED:
                        if op.wrap_errors:
                            sums[i * g.oc + c] += wrap_error(patches + i * g.row, w + c * g.row, op.c.depth)
                        v = <float>sums[i * g.oc + c] * (op.scales[c] * s.scale)
                    else:
                        if op.sign_errors and op.rows == NULL:
                            sums[i * g.oc + c] += sign_error(patches + i * g.row, w + c * g.row, op.c.depth)
                        v = <float>sums[i * g.oc + c] * (s.scale * op.scales[0])
                    v = add_first(bias[c], v) if bias_is_first(params, at, c, g.oc) else add_first(v, bias[c])
                    y[c] = clamp_f32(v, op.range.low, op.range.high)
                y += g.oc
                at += g.oc
            position += columns
        x += size
    return 0
