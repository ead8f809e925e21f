"""CONV_3D and CONV_3D_TRANSPOSE: float32, images [batch, depth, height, width, channel], the bias optional.

CONV_3D_TRANSPOSE's inputs are the output's shape, filter, input, bias; its output is dynamic unless the shape is constant. Dilated ones have the reference's
sums in every arithmetic.

Source: LiteRT:tflite/kernels/{conv3d,conv3d_transpose}.cc.
"""
from libc.math cimport INFINITY, isfinite
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memset

from tflm_cy.arithmetic.bias_rows cimport finish_rows
from tflm_cy.arithmetic.conv_3d cimport Volume, conv_3d_f32, copy_windows_3d, is_pointwise_3d, transpose_conv_3d_f32
from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.optimized.conv_3d cimport add_patches, clamp_sums, conv_3d_f32_fused, transpose_conv_3d_f32_eigen
from tflm_cy.arithmetic.optimized.product cimport plan_product
from tflm_cy.arithmetic.shapes cimport ConvShape, matrix_shape
from tflm_cy.arithmetic.window cimport SAME, VALID
from tflm_cy.platform.denormals cimport flush_denormals, restore_denormals
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node, position_space, register
from tflm_cy.graph.tensor cimport FLOAT32, INT32, Tensor, count, counts_as_empty, is_constant, shape_of, type_name
from tflm_cy.ops.operand cimport expect_arity_between, index_at, operand, result, want_type_of
from tflm_cy.ops.kernels.conv_f32_unfused cimport filter_of, ready_unfused
from tflm_cy.ops.kernels.gemm_f32 cimport ready_f32
from tflm_cy.ops.kernels.pixel_products cimport PixelProducts, multiply_pixels, pack_pixel_products, plan_pixel_products
from tflm_cy.ops.kernels.packed cimport plan_packed, request_workers, reserve_packed
from tflm_cy.schema.option_slots cimport (
    CONV_3D_DILATION_D_FACTOR, CONV_3D_DILATION_H_FACTOR, CONV_3D_DILATION_W_FACTOR, CONV_3D_FUSED_ACTIVATION_FUNCTION,
    CONV_3D_PADDING, CONV_3D_STRIDE_D, CONV_3D_STRIDE_H, CONV_3D_STRIDE_W,
)
from tflm_cy.schema.table cimport table_i8, table_i32
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused
from tflm_cy.simd.conv_f32 cimport ConvF32

cdef enum ProductKind:           # of copied windows and the filter
    NONE = 0
    FUSED = 1
    ROUNDED = 2

cdef enum:
    WINDOW_BYTES = 1 << 18       # of windows that are copied at a time

cdef struct Conv3D:
    Volume volume
    int padding
    bint dilated
    bint fused                   # the optimized arithmetic's sums
    int32_t sums                 # scratch handles
    int32_t products
    size_t sum_bytes
    ProductKind product
    int64_t window_rows
    int32_t windows              # scratch
    size_t window_bytes
    ConvF32 chains
    ConvF32Unfused ordered
    PixelProducts pixels         # transposed
    bint pointwise               # windows are the input's pixels
    bint fed                     # the filter or the bias is not constant
    bint unserved                # of this invoke: by the definition
    const float* no_bias         # zeros


cdef Conv3D* read_options(Context context, Node* node) except NULL:
    cdef Conv3D* op = <Conv3D*>context.persistent(sizeof(Conv3D))
    cdef Volume* v = &op.volume
    cdef RangeF range_f = activation_range_f32(table_i8(node.options, CONV_3D_FUSED_ACTIVATION_FUNCTION, 0))
    cdef int axis
    op.padding = table_i8(node.options, CONV_3D_PADDING, 0)
    v.stride[0], v.stride[1], v.stride[2] = (
        table_i32(node.options, CONV_3D_STRIDE_D, 0), table_i32(node.options, CONV_3D_STRIDE_H, 0), table_i32(node.options, CONV_3D_STRIDE_W, 0))
    v.dilation[0], v.dilation[1], v.dilation[2] = (
        table_i32(node.options, CONV_3D_DILATION_D_FACTOR, 1), table_i32(node.options, CONV_3D_DILATION_H_FACTOR, 1),
        table_i32(node.options, CONV_3D_DILATION_W_FACTOR, 1))
    v.low, v.high = range_f.low, range_f.high
    for axis in range(3):
        if v.stride[axis] < 0 or v.dilation[axis] < 1:
            raise ValueError(f"a stride of {v.stride[axis]} and a dilation of {v.dilation[axis]}")
        op.dilated = op.dilated or v.dilation[axis] > 1
    node.data = op
    return op


cdef int64_t fit_window(Conv3D* op, int axis, int64_t size) except? -1:
    """How many windows the sliding gives over so many elements, fewer than none if it is larger by more than the stride, none with stride 0
    or an unknown padding; sets the paddings."""
    cdef Volume* v = &op.volume
    cdef int64_t span = (<int64_t>v.kernel[axis] - 1) * v.dilation[axis] + 1
    cdef int64_t windows, total
    if size + v.stride[axis] + span > INT32_MAX:
        raise ValueError(f"a window of {span} elements with stride {v.stride[axis]} over {size} is too large")
    if v.stride[axis] == 0 or (op.padding != SAME and op.padding != VALID):
        v.pad[axis] = v.pad_behind[axis] = 0
        return 0
    windows = (size + v.stride[axis] - (1 if op.padding == SAME else span)) // v.stride[axis]
    total = max((windows - 1) * v.stride[axis] + span - size, 0)
    v.pad[axis] = total // 2
    v.pad_behind[axis] = total // 2 + total % 2
    return windows


cdef int check(Context context, Node* node, const Tensor* x, const Tensor* w, const Tensor* bias, const Tensor* y, int channels) except -1:
    """Types and ranks; `channels` is the filter's dimension of output channels."""
    if x.rank != 5 or w.rank != 5:
        raise ValueError(f"input->dims->size != 5: input {shape_of(x)}, filter {shape_of(w)}")
    if x.type != FLOAT32 or w.type != FLOAT32:
        raise ValueError(f"input_type != kTfLiteFloat32: {type_name(x.type)}, {type_name(w.type)}")
    want_type_of(y, x)
    if x.dims[4] != w.dims[7 - channels]:
        raise ValueError(f"input of {x.dims[4]} channels, filter {shape_of(w)}")
    if bias != NULL and (bias.type != FLOAT32 or count(bias) != w.dims[channels]):
        raise ValueError(f"NumElements(bias) != SizeOfDimension(filter, {channels}): {type_name(bias.type)} {shape_of(bias)}")
    return 0


# ---- CONV_3D

cdef int prepare_conv_3d(Context context, Node* node) except -1:
    cdef int32_t[5] dims
    cdef Conv3D* op
    cdef int axis
    expect_arity_between(context, node, 2, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    check(context, node, x, w, context.input(node, 2), y, 4)
    op = read_options(context, node)
    op.volume.batches, op.volume.ic, op.volume.oc = x.dims[0], x.dims[4], w.dims[4]
    dims[0], dims[4] = x.dims[0], w.dims[4]
    for axis in range(3):
        op.volume.size[axis], op.volume.kernel[axis] = x.dims[1 + axis], w.dims[axis]
        dims[1 + axis] = <int32_t>fit_window(op, axis, x.dims[1 + axis])
    if min(dims[1], dims[2], dims[3]) < 0 and not counts_as_empty(5, dims):
        raise ValueError(f"a window of {shape_of(w)[:3]} elements does not fit {shape_of(x)[1:4]}")
    for axis in range(3):
        op.volume.out[axis] = dims[1 + axis] = max(dims[1 + axis], 0)
    context.set_shape(y, 5, dims)
    op.sum_bytes = op.volume.oc * sizeof(float) + 4
    op.sums = context.request_scratch(context.for_all_workers(op.sum_bytes))
    op.fused = node.arithmetic == OPTIMIZED
    node.invoke = convolve
    if count(x) == 0 or count(w) == 0 or count(y) == 0:
        return 0
    use_product(context, node, op, w)
    if op.fed and op.product != NONE:            # packed before the first range
        return 0
    return context.parallelize(
        node, convolve_range, position_space(count(y) / op.volume.oc, 1, 0), count(w) / op.volume.oc * (0.03 if op.product != NONE else 1.) * count(y))


cdef const float* bias_of(Context context, const Node* node, int i) noexcept nogil:
    cdef const Tensor* bias = context.input(node, i)
    return NULL if bias == NULL else <float*>bias.data


cdef int use_product(Context context, Node* node, Conv3D* op, Tensor* w) except -1:
    """Windows, copied one behind the other, are rows of a matrix that meets the filter. Its kernels: chains of fused multiply-adds that begin
    with the bias, for the optimized arithmetic; rounded products and sums for the reference, whose zeros outside of the image make no NaN.
    A filter that is fed is packed by each invoke. On aarch64 the orders are others, and the definition serves."""
    cdef const Tensor* bias = context.input(node, 2)
    cdef int64_t depth = count(w) / op.volume.oc
    cdef int64_t positions = count(context.output(node, 0)) / op.volume.oc
    cdef const float* biases = bias_of(context, node, 2)
    cdef ConvShape shape
    op.pointwise = is_pointwise_3d(&op.volume)
    op.fed = not is_constant(w) or (bias != NULL and not is_constant(bias))
    if AARCH64:
        return 0
    if is_constant(w):
        context.materialize(w)
        if not op.fused and not all_finite(<const float*>w.data, count(w)):
            return 0
    op.window_rows = min(max(WINDOW_BYTES / (depth * <int64_t>sizeof(float)), <int64_t>8), positions)
    shape = matrix_shape(op.window_rows, depth, op.volume.oc)
    if op.fused:
        op.chains.shape = shape
        op.chains.low, op.chains.high = -INFINITY, INFINITY        # the definition clamps: NaN its own way
        if op.fed:
            op.chains.workers = 1
            if plan_packed(&op.chains):
                reserve_packed(context, &op.chains)
                request_workers(context, &op.chains)
                op.product = FUSED
        elif ready_f32(context, &op.chains, w, 0, biases, 1, op.volume.oc):
            op.product = FUSED
    else:
        if bias == NULL:
            op.no_bias = biases = <const float*>context.persistent(op.volume.oc * sizeof(float))
        op.ordered.window.shape = shape
        op.ordered.window.low, op.ordered.window.high = op.volume.low, op.volume.high
        op.ordered.bias = biases
        op.ordered.column_stride, op.ordered.k_stride = 1, op.volume.oc
        if op.fed:
            if plan_packed(&op.ordered):
                reserve_packed(context, &op.ordered)
                op.product = ROUNDED
        elif ready_unfused(context, node, &op.ordered):
            op.product = ROUNDED
            op.ordered.pack(&op.ordered, <const float*>w.data)
    if op.product != NONE:
        op.window_bytes = op.window_rows * depth * sizeof(float) + op.ordered.scratch_bytes
        op.windows = context.request_scratch(context.for_all_workers(op.window_bytes))
    return 0


cdef bint pack_fed(Context context, const Node* node, Conv3D* op) noexcept nogil:
    """False where the definition must serve."""
    cdef const Tensor* w = context.input(node, 1)
    cdef const float* bias = bias_of(context, node, 2)
    if op.product == FUSED:
        op.chains.pack(&op.chains, <const float*>w.data, bias, 1, op.volume.oc)
        return True
    op.ordered.bias = op.no_bias if bias == NULL else bias
    return all_finite(<const float*>w.data, count(w)) and op.ordered.pack(&op.ordered, <const float*>w.data)


cdef bint all_finite(const float* x, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if not isfinite(x[i]):
            return False
    return True


cdef int convolve(Context context, Node* node) noexcept nogil:
    cdef Conv3D* op = <Conv3D*>node.data
    op.unserved = op.fed and op.product != NONE and not pack_fed(context, node, op)
    convolve_range(context, node, 0, count(context.output(node, 0)) / max(op.volume.oc, <ptrdiff_t>1), 0)
    return 0


cdef void convolve_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some of the output's positions. The matrix product of TensorFlow's optimized kernel takes denormals for zeros; on x86-64 here alone."""
    cdef const Conv3D* op = <const Conv3D*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data + first * op.volume.oc
    cdef int64_t next
    cdef unsigned long long mode = flush_denormals() if op.fused else 0
    while first < end:
        next = min(first + op.window_rows, end) if op.product != NONE else end
        if op.product == NONE or op.unserved or not multiply(context, node, op, x, first, next, worker, y):
            compute(context, node, op, x, first, next, worker, y)
        y += (next - first) * op.volume.oc
        first = next
    if op.fused:
        restore_denormals(mode)


cdef void compute(Context context, const Node* node, const Conv3D* op, const float* x, int64_t first, int64_t end, int worker, float* y) noexcept nogil:
    """By the definition."""
    cdef const float* w = filter_of(context, node)
    cdef float* sums = <float*>context.worker_scratch(op.sums, op.sum_bytes, worker)
    if op.fused:
        conv_3d_f32_fused(&op.volume, x, w, bias_of(context, node, 2), first, end, sums, y)
    else:
        conv_3d_f32(&op.volume, x, w, bias_of(context, node, 2), first, end, sums, y)


cdef bint multiply(Context context, const Node* node, const Conv3D* op, const float* x, int64_t first, int64_t end, int worker, float* y) noexcept nogil:
    """False where the definition must say which NaN an output is."""
    cdef float* scratch = <float*>context.worker_scratch(op.windows, op.window_bytes, worker)
    cdef const float* windows = scratch
    cdef ConvF32 chains
    cdef ConvF32Unfused ordered
    if op.pointwise:
        windows = x + first * op.volume.ic
    else:
        copy_windows_3d(&op.volume, x, first, end, scratch)
    if op.product == FUSED:
        chains = op.chains
        chains.shape.batches = end - first
        op.chains.run(&chains, windows, context.worker_scratch(op.chains.scratch, chains.scratch_bytes, worker), y)
        clamp_sums(&op.volume, y, end - first, y)
        return True
    ordered = op.ordered
    ordered.window.shape.batches = ordered.last_positions = end - first
    return not op.ordered.run(&ordered, windows, scratch + op.window_rows * ordered.window.length, y)


# ---- CONV_3D_TRANSPOSE

cdef int prepare_transpose(Context context, Node* node) except -1:
    cdef int32_t[5] dims
    cdef Conv3D* op
    cdef int64_t products, pixels
    cdef int axis
    expect_arity_between(context, node, 3, 4, 1)
    cdef Tensor* shape = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* x = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    if shape.rank != 1 or shape.dims[0] != 5 or shape.type != INT32:
        raise ValueError(f"NumElements(output_shape) != 5: the output's shape is {type_name(shape.type)} {shape_of(shape)}")
    check(context, node, x, w, context.input(node, 3), y, 3)
    op = read_options(context, node)
    op.volume.batches, op.volume.ic, op.volume.oc = x.dims[0], x.dims[4], w.dims[3]
    products = op.volume.oc
    for axis in range(3):
        op.volume.size[axis], op.volume.kernel[axis] = x.dims[1 + axis], w.dims[axis]
        products *= max(op.volume.kernel[axis], 1)
        products *= max(op.volume.size[axis], 1)
        if products > INT32_MAX:
            raise ValueError("CONV_3D_TRANSPOSE: too many products of pixels and taps")
    op.products = -1
    if node.arithmetic == OPTIMIZED and not op.dilated:
        pixels = op.volume.size[0] * op.volume.size[1] * op.volume.size[2]
        plan_pixel_products(
            context, &op.pixels, plan_product(count(w) / max(op.volume.ic, <ptrdiff_t>1), op.volume.ic, pixels, top_block(l1_data_bytes())))
        if not op.pixels.served:
            op.products = context.request_scratch(products * sizeof(float))
    if not is_constant(shape):
        context.set_dynamic(y)
        node.invoke = transpose_dynamic
        return 0
    for axis in range(5):
        dims[axis] = <int32_t>index_at(INT32, shape.data, axis)
    plan_transpose(op, dims, w)
    context.set_shape(y, 5, dims)
    node.invoke = transpose
    return 0


cdef int plan_transpose(Conv3D* op, const int32_t* dims, const Tensor* w) except -1:
    cdef int axis
    if dims[0] != op.volume.batches or dims[4] != w.dims[3]:
        raise ValueError(f"shape_data[0] != SizeOfDimension(input, 0), or channels: {dims[0]} images of {dims[4]} channels")
    for axis in range(3):
        if dims[1 + axis] < 0:
            raise ValueError("a dimension of the output is negative")
        op.volume.out[axis] = dims[1 + axis]
        if fit_window(op, axis, dims[1 + axis]) != op.volume.size[axis]:
            raise ValueError(f"an output of {dims[1 + axis]} does not come from an input of {op.volume.size[axis]}")
    op.volume.pad_behind[0] += op.volume.pad[1] - op.volume.pad[0]      # see arithmetic/optimized/conv_3d.pxd
    return 0


cdef int transpose_dynamic(Context context, Node* node) noexcept nogil:
    cdef Conv3D* op = <Conv3D*>node.data
    cdef int32_t[5] dims
    cdef int axis
    for axis in range(5):
        dims[axis] = <int32_t>index_at(INT32, context.input(node, 0).data, axis)
    with gil:
        try:
            plan_transpose(op, dims, context.input(node, 1))
        except Exception as error:
            return context.fail_because(error)
    if context.resize(context.output(node, 0), 5, dims) != 0:
        return -1
    return transpose(context, node)


cdef int transpose(Context context, Node* node) noexcept nogil:
    cdef Conv3D* op = <Conv3D*>node.data
    cdef const float* w = <const float*>context.input(node, 1).data
    cdef const float* x = <const float*>context.input(node, 2).data
    cdef const float* bias = bias_of(context, node, 3)
    cdef float* y = <float*>context.output(node, 0).data
    if op.pixels.served:
        add_pixel_products(context, node, op, x, w, bias, y)
    elif op.products < 0:
        transpose_conv_3d_f32(&op.volume, x, w, bias, y)
    else:
        transpose_conv_3d_f32_eigen(&op.volume, x, w, bias, top_block(l1_data_bytes()), <float*>context.scratch(op.products), y)
    return 0


cdef void add_pixel_products(
    Context context, const Node* node, Conv3D* op, const float* x, const float* w, const float* bias, float* y,
) noexcept nogil:
    """transpose_conv_3d_f32_eigen by the vector kernel."""
    cdef const Volume* v = &op.volume
    cdef ptrdiff_t inputs = op.pixels.product.m
    cdef ptrdiff_t outputs = v.out[0] * v.out[1] * v.out[2] * v.oc
    cdef ptrdiff_t b, first, end
    if not op.pixels.packed or not is_constant(context.input(node, 1)):
        pack_pixel_products(&op.pixels, w)
    memset(y, 0, v.batches * outputs * sizeof(float))
    for b in range(v.batches):
        first = 0
        while first < inputs:
            end = min(first + op.pixels.together, inputs)
            add_patches(v, multiply_pixels(context, &op.pixels, w, x, first, end), first, end, y + b * outputs)
            first = end
        x += inputs * v.ic
    finish_rows(bias, v.batches * v.out[0] * v.out[1] * v.out[2], v.oc, v.low, v.high, False, y)


OPERATORS = {
    "CONV_3D": register(prepare_conv_3d, version=1, reference_version=1),
    "CONV_3D_TRANSPOSE": register(prepare_transpose, version=1, reference_version=1),
}
