"""CONV_2D on float32 images and filters.

The reference sums in order; the optimized arithmetic, without groups, in Eigen's order, and where more than one thread is asked for as
TensorFlow's threads do it (arithmetic/optimized/contraction.pxd).

Source: LiteRT:tflite/kernels/conv.cc.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.conv cimport conv_f32, repair_conv_f32
from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.optimized.cache cimport cache_sizes, l1_data_bytes
from tflm_cy.arithmetic.optimized.contraction cimport (
    Contraction, conv_f32_contraction, pack_contraction, piece, plan_contraction,
)
from tflm_cy.arithmetic.optimized.conv cimport conv_f32_eigen, conv_f32_eigen_slices
from tflm_cy.arithmetic.optimized.product cimport PANELS, Product, pack_panels, packed_panels, plan_product
from tflm_cy.arithmetic.product_f32 cimport Run, pack_columns, packed_size
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.conv_2d_layer cimport Conv
from tflm_cy.ops.kernels.conv_f32_unfused cimport filter_of, pack_unfused, ready_unfused, run_unfused
from tflm_cy.ops.quantized_weights cimport bias_values
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused

cdef struct FloatConv:
    Conv c
    int sums                     # scratch: the sums of two positions
    RangeF range
    float* packed                # NULL when the filter is not constant
    int packing                  # scratch, then
    int patches                  # scratch: two windows
    int runs
    Product product              # of the optimized arithmetic
    Contraction contraction      # its product with several threads
    ConvF32Unfused fast32         # with a vector kernel


cdef int prepare_float(Context context, Node* node, const Conv* c, int activation) except -1:
    cdef FloatConv* op = <FloatConv*>context.persistent(sizeof(FloatConv))
    cdef Tensor* w = context.input(node, 1)
    node.data = op
    op.c = c[0]
    op.range = activation_range_f32(activation)
    op.packed = NULL
    if node.arithmetic == OPTIMIZED and op.c.shape.groups == 1:
        return prepare_eigen(context, node, op)
    op.runs = context.request_scratch(op.c.shape.kh * op.c.shape.kw * sizeof(Run))
    node.invoke = convolve_f32
    if is_constant(w) and not op.c.unusual and use_unfused(context, node, op, False):
        op.packed = op.fast32.packed
        node.invoke = choose_kernel
    elif is_constant(w):
        context.materialize(w)
        op.packed = <float*>context.persistent(packed_bytes(op))
        pack_filter(op, <const float*>w.data, op.packed)
    else:
        op.packing = context.request_scratch(packed_bytes(op))
    op.sums = context.request_scratch(2 * sizeof(float) * (op.c.shape.oc / op.c.shape.groups + 3))
    return 0


cdef bint use_unfused(Context context, const Node* node, FloatConv* op, bint panels) except -1:
    op.fast32.window.shape = op.c.shape
    op.fast32.window.low = op.range.low
    op.fast32.window.high = op.range.high
    op.fast32.panels = panels
    op.fast32.block = op.product.block if panels else 0
    op.fast32.bias = <const float*>op.c.bias.values
    op.fast32.column_stride, op.fast32.k_stride = op.c.depth, 1
    return ready_unfused(context, node, &op.fast32, 0 if panels else packed_bytes(op))


cdef int prepare_eigen(Context context, Node* node, FloatConv* op) except -1:
    """Two threads and more take another product for filters that TensorFlow keeps, without dilation."""
    cdef Tensor* w = context.input(node, 1)
    cdef ConvShape* g = &op.c.shape
    op.patches = context.request_scratch(2 * sizeof(float) * op.c.depth)
    if not AARCH64 and context.num_threads > 1 and is_constant(w) and g.dilation_h == 1 and g.dilation_w == 1 and context.kept_by_tensorflow(w):
        plan_threads(op, context.num_threads)
        if op.contraction.parts > 1 or op.contraction.blocks > 1:
            return prepare_contraction(context, node, op)
        op.product = piece(&op.contraction, 0, 0)
    else:
        op.product = plan_product(g.oc, op.c.depth, g.batches * g.oh * g.ow, top_block(l1_data_bytes()))
    if is_constant(w) and op.product.method == PANELS and use_unfused(context, node, op, True):
        op.packing = context.request_scratch(16 * sizeof(float) * op.c.depth)          # for NaN
        op.sums = context.request_scratch(32 * sizeof(float))
        node.invoke = convolve_gemm_f32_eigen
        return 0
    node.invoke = convolve_f32_eigen
    if is_constant(w):
        op.packed = <float*>context.unfilled(sizeof(float) * packed_panels(&op.product) + 1)
        node.invoke = pack_first
    else:
        op.packing = context.request_scratch(sizeof(float) * packed_panels(&op.product) + 1)
    op.sums = context.request_scratch(2 * sizeof(float) * g.oc)
    return 0


cdef int plan_threads(FloatConv* op, int threads) noexcept nogil:
    cdef ConvShape* g = &op.c.shape
    cdef bint pixels = g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1
    cdef bint images = g.kh == g.ih and g.kw == g.iw and g.pad_h == 0 and g.pad_w == 0
    op.contraction = plan_contraction(g.oc, op.c.depth, g.batches * g.oh * g.ow, threads, not pixels and not images, cache_sizes())
    return 0


cdef int prepare_contraction(Context context, Node* node, FloatConv* op) except -1:
    context.materialize(context.input(node, 1))
    op.packed = <float*>context.persistent(sizeof(float) * op.c.shape.oc * op.c.depth + 1)
    pack_contraction(&op.contraction, <const float*>context.input(node, 1).data, op.packed)
    op.sums = context.request_scratch(2 * sizeof(float) * op.contraction.parts * op.c.shape.oc)
    node.invoke = convolve_f32_contraction
    return 0


cdef size_t packed_bytes(const FloatConv* op) noexcept nogil:
    return op.c.shape.groups * packed_size(op.c.shape.oc / op.c.shape.groups, op.c.depth) * sizeof(float)


cdef void pack_filter(const FloatConv* op, const float* w, float* packed) noexcept nogil:
    """Each group on its own."""
    cdef ptrdiff_t columns = op.c.shape.oc / op.c.shape.groups
    cdef ptrdiff_t group
    for group in range(op.c.shape.groups):
        pack_columns(w + group * columns * op.c.depth, columns, op.c.depth, op.c.depth, 1, packed + group * packed_size(columns, op.c.depth))


cdef int convolve_f32(Context context, Node* node) noexcept nogil:
    cdef FloatConv* op = <FloatConv*>node.data
    cdef float* packed = op.packed
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_filter(op, <const float*>context.input(node, 1).data, packed)
    conv_f32(
        &op.c.shape, <const float*>context.input(node, 0).data, packed,
        <const float*>bias_values(context, context.input(node, 2), op.c.shape.oc, &op.c.bias), op.range.low, op.range.high,
        <Run*>context.scratch(op.runs), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int choose_kernel(Context context, Node* node) noexcept nogil:
    """The first invoke: the weights say whether the vector kernel serves."""
    cdef FloatConv* op = <FloatConv*>node.data
    if pack_unfused(context, node, &op.fast32):
        node.invoke = convolve_gemm_f32
    else:
        pack_filter(op, <const float*>context.input(node, 1).data, op.packed)
        node.invoke = convolve_f32
    return node.invoke(context, node)


cdef int convolve_gemm_f32(Context context, Node* node) noexcept nogil:
    cdef FloatConv* op = <FloatConv*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if run_unfused(context, node, &op.fast32, x, y):
        repair_conv_f32(&op.c.shape, x, filter_of(context, node), <Run*>context.scratch(op.runs), y)
    return 0


cdef int convolve_gemm_f32_eigen(Context context, Node* node) noexcept nogil:
    cdef FloatConv* op = <FloatConv*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if run_unfused(context, node, &op.fast32, x, y):
        conv_f32_eigen_slices(
            &op.c.shape, &op.product, x, filter_of(context, node), <const float*>op.c.bias.values, op.range.low,
            op.range.high, <float*>context.scratch(op.packing), <float*>context.scratch(op.patches),
            <float*>context.scratch(op.sums), y,
        )
    return 0


cdef int convolve_f32_eigen(Context context, Node* node) noexcept nogil:
    cdef FloatConv* op = <FloatConv*>node.data
    cdef const float* w = <const float*>context.input(node, 1).data
    cdef float* packed = op.packed
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_panels(&op.product, w, packed)
    conv_f32_eigen(
        &op.c.shape, &op.product, <const float*>context.input(node, 0).data, w, packed,
        <const float*>bias_values(context, context.input(node, 2), op.c.shape.oc, &op.c.bias), op.range.low, op.range.high,
        <float*>context.scratch(op.patches), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int pack_first(Context context, Node* node) noexcept nogil:
    """The first invoke."""
    cdef FloatConv* op = <FloatConv*>node.data
    pack_panels(&op.product, <const float*>context.input(node, 1).data, op.packed)
    node.invoke = convolve_f32_eigen
    return convolve_f32_eigen(context, node)


cdef int convolve_f32_contraction(Context context, Node* node) noexcept nogil:
    cdef FloatConv* op = <FloatConv*>node.data
    conv_f32_contraction(
        &op.c.shape, &op.contraction, <const float*>context.input(node, 0).data, op.packed,
        <const float*>bias_values(context, context.input(node, 2), op.c.shape.oc, &op.c.bias), op.range.low, op.range.high,
        <float*>context.scratch(op.patches), <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0
