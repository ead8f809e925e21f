"""AVERAGE_POOL_2D, MAX_POOL_2D (float32, int8, uint8, int16) and L2_POOL_2D (float32) over NHWC.

A quantized pool does not rescale: the input's and the output's quantization are taken to be equal, and the fused activation is clamped in
the output's. Without an activation float outputs are still clamped to the finite floats: a maximum of +inf gives 3.4028235e38.

Source: LiteRT:tflite/kernels/pooling.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from tflm_cy.arithmetic.fixed_point cimport Range32, RangeF, activation_range_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport has_nan
from tflm_cy.arithmetic.optimized.normalization cimport l2_pool_f32_eigen
from tflm_cy.arithmetic.optimized.pool_neon cimport max_pool_f32_neon, sum_pool_f32_neon
from tflm_cy.arithmetic.pool_2d cimport AVERAGE, L2, MAXIMUM, pool_2d
from tflm_cy.arithmetic.shapes cimport Pool2D
from tflm_cy.arithmetic.window cimport padding_before, window_size
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, InvokeFunction, IterationSpace, Node, WorkFunction, register, row_window
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, UINT8, Tensor, count, count_unsigned, type_name, type_size
from tflm_cy.ops.kernels.pool_i8 cimport MOST_SUMS, average_rows, largest_rows
from tflm_cy.ops.fused_clamp cimport clamp_exists, fused_clamp, no_clamp_text
from tflm_cy.ops.image_rows cimport row_range, rows_of_images
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.schema.option_slots cimport (
    POOL_2D_FILTER_HEIGHT, POOL_2D_FILTER_WIDTH, POOL_2D_FUSED_ACTIVATION_FUNCTION, POOL_2D_PADDING, POOL_2D_STRIDE_H,
    POOL_2D_STRIDE_W,
)
from tflm_cy.schema.table cimport table_i8, table_i32
from tflm_cy.simd.elementwise_i8 cimport ElementwiseI8Kernels
from tflm_cy.simd.loops cimport PoolLoop
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError
from tflm_cy.simd import table


cdef struct Pool:
    Pool2D shape                 # first: what the scalar definitions take
    PoolLoop loop
    const ElementwiseI8Kernels* fast
    InvokeFunction without_nan   # on aarch64: of images that hold none
    bint unusual                 # windows that no padding gives, and the vector loops do not know


cdef Pool2D* prepare_shapes(Context context, Node* node, bint files_size) except NULL:
    """What the three operators share: checks, the output's shape; files_size: TFLM leaves that as it is in the file."""
    cdef Tensor* x
    cdef Tensor* y
    cdef Pool2D* p
    cdef int32_t padding = table_i8(node.options, POOL_2D_PADDING, 0)
    cdef int32_t[4] dims
    expect_arity(context, node, 1, 1)
    x = context.input(node, 0)
    y = context.output(node, 0)
    if x.rank != 4:
        raise ValueError(f"NumDimensions(input) != 4 ({x.rank} != 4)")
    if x.type != y.type:
        raise ValueError(f"input->type != output->type ({type_name(x.type)} != {type_name(y.type)})")
    p = <Pool2D*>context.persistent(sizeof(Pool))
    p.batches, p.height, p.width, p.channels = x.dims[0], x.dims[1], x.dims[2], x.dims[3]
    p.kernel_height = table_i32(node.options, POOL_2D_FILTER_HEIGHT, 0)
    p.kernel_width = table_i32(node.options, POOL_2D_FILTER_WIDTH, 0)
    p.stride_height = table_i32(node.options, POOL_2D_STRIDE_H, 0)
    p.stride_width = table_i32(node.options, POOL_2D_STRIDE_W, 0)
    if p.stride_height <= 0 or p.stride_width <= 0:
        raise ValueError("params->stride_height > 0 and params->stride_width > 0 was not true")
    if p.kernel_height < 0 or p.kernel_width < 0:
        raise ValueError(f"a pool of {p.kernel_height} x {p.kernel_width} elements")
    p.out_height = out_size(padding, p.height, p.kernel_height, p.stride_height)
    p.out_width = out_size(padding, p.width, p.kernel_width, p.stride_width)
    if (p.out_height < 0 or p.out_width < 0) and (node.arithmetic == MICRO or not counts_bytes(p, y.type)):
        raise ValueError(
            f"a window of {p.kernel_height}x{p.kernel_width} with strides {p.stride_height}, {p.stride_width} does not fit an image of "
            f"{p.height}x{p.width}")
    p.out_height, p.out_width = max(p.out_height, 0), max(p.out_width, 0)
    p.pad_top = padding_before(p.height, p.kernel_height, p.stride_height, 1, p.out_height)
    p.pad_left = padding_before(p.width, p.kernel_width, p.stride_width, 1, p.out_width)
    if node.arithmetic == MICRO and files_size:
        (<Pool*>p).unusual = take_size_of_file(p, y)
    dims[0], dims[1], dims[2], dims[3] = p.batches, p.out_height, p.out_width, p.channels
    context.set_shape(y, 4, dims)
    node.data = p
    return p


cdef bint counts_bytes(const Pool2D* p, int type) noexcept nogil:
    """TensorFlow takes numbers of windows below 0 as long as the bytes that it counts with them do not overflow: no windows, then."""
    cdef uint64_t n = 1
    return (
        count_unsigned(&n, p.batches) and count_unsigned(&n, p.out_height) and count_unsigned(&n, p.out_width)
        and count_unsigned(&n, p.channels) and count_unsigned(&n, type_size(type)))


cdef bint take_size_of_file(Pool2D* p, const Tensor* y) noexcept nogil:
    """TFLM computes as many windows as the file's output has, whatever the padding's name; True when those are others."""
    if y.rank != 4 or y.dims[0] != p.batches or y.dims[3] != p.channels or (y.dims[1] == p.out_height and y.dims[2] == p.out_width):
        return False
    p.out_height = y.dims[1]
    p.out_width = y.dims[2]
    return True


cdef int32_t out_size(int32_t padding, int32_t size, int32_t kernel, int32_t stride) except? -1:
    cdef int64_t reach = <int64_t>size + stride + kernel
    if reach > 0x7FFFFFFF:
        raise ValueError(f"a window of {kernel} with stride {stride} does not fit an image of {size}")
    return window_size(padding, size, kernel, stride, 1)


cdef int set_clamp(Context context, Node* node) except -1:
    cdef Pool2D* p = <Pool2D*>node.data
    cdef const Tensor* y = context.output(node, 0)
    cdef int activation = activation_of(node)
    cdef Range32 r
    cdef RangeF f = activation_range_f32(activation)
    p.low_f, p.high_f = f.low, f.high
    if y.type == FLOAT32 or count(y) == 0:
        return 0
    if not clamp_exists(activation, y.scale):
        raise OwnRefusalError(no_clamp_text(y.scale))
    r = fused_clamp(activation, y)
    p.low, p.high = r.low, r.high
    return 0


cdef int activation_of(const Node* node) noexcept nogil:
    return table_i8(node.options, POOL_2D_FUSED_ACTIVATION_FUNCTION, 0)


cdef int prepare_average(Context context, Node* node) except -1:
    prepare_shapes(context, node, True)
    cdef int type = context.input(node, 0).type
    if type == UINT8 and not clamp_exists(activation_of(node), context.output(node, 0).scale):
        node.invoke = no_clamp                   # the only kernel that asks, when it runs
        return 0
    if type not in (FLOAT32, INT8, UINT8, INT16):
        raise LateRefusalError(f"Type {type_name(type)} not currently supported.")
    (<Pool*>node.data).shape.last_nan = node.arithmetic == OPTIMIZED
    node.invoke = average
    set_clamp(context, node)
    if (type == INT8 or type == UINT8) and node.arithmetic != MICRO and kernels().elementwise_i8.sum_rows != NULL:
        if least_sums() <= (<Pool*>node.data).shape.channels <= MOST_SUMS:
            (<Pool*>node.data).fast = &kernels().elementwise_i8
            node.invoke = average_bytes
            return 0
    if type != INT16 and not (<Pool*>node.data).unusual and kernels().loops.average_pool[loop_of(type)] != NULL:
        (<Pool*>node.data).loop = kernels().loops.average_pool[loop_of(type)]
        node.invoke = average_loop
    mind_nan(node, type, average_with_nan)
    return 0


cdef int least_sums() except -1:
    """From how many channels on the kernel of sums is the faster one: AVX-512 loads parts of vectors."""
    return 8 if table.name() in ("amx", "avx512") else 32


cdef int loop_of(int type) noexcept nogil:
    return 0 if type == FLOAT32 else 1 if type == INT8 else 2


cdef int prepare_max(Context context, Node* node) except -1:
    prepare_shapes(context, node, True)
    cdef int type = context.input(node, 0).type
    if type not in (FLOAT32, INT8, UINT8, INT16):
        raise LateRefusalError(f"Type {type_name(type)} not currently supported.")
    node.invoke = maximum
    set_clamp(context, node)
    if (type == INT8 or type == UINT8) and node.arithmetic != MICRO and kernels().elementwise_i8.largest != NULL:
        (<Pool*>node.data).fast = &kernels().elementwise_i8
        node.invoke = max_bytes
        return share_rows(context, node, compute_max)
    if type != INT16 and not (<Pool*>node.data).unusual and kernels().loops.max_pool[loop_of(type)] != NULL:
        (<Pool*>node.data).loop = kernels().loops.max_pool[loop_of(type)]
        node.invoke = max_loop
    mind_nan(node, type, maximum_with_nan)
    return 0


cdef void mind_nan(Node* node, int type, InvokeFunction with_nan) noexcept:
    """The optimized kernels of aarch64 have an order of their own for NaN."""
    if AARCH64 and type == FLOAT32 and node.arithmetic == OPTIMIZED:
        (<Pool*>node.data).without_nan = node.invoke
        node.invoke = with_nan


cdef int share_rows(Context context, Node* node, WorkFunction work) except -1:
    cdef const Pool2D* p = <const Pool2D*>node.data
    cdef IterationSpace space = rows_of_images(p.batches, p.out_height, p.out_width)
    space.window = row_window(p.batches, p.out_width, p.width, p.height, p.stride_height, p.pad_top, p.kernel_height)
    return context.parallelize(node, work, space, 0.03 * space.units * p.channels * p.kernel_height * p.kernel_width)


cdef int prepare_l2(Context context, Node* node) except -1:
    cdef Pool2D* p = prepare_shapes(context, node, False)
    cdef int type = context.input(node, 0).type
    if node.arithmetic == MICRO and p.out_height * p.out_width == 0:
        raise ValueError("an output without elements, for which TFLM has no memory")
    if type == INT8 or type == UINT8:
        raise ValueError(f"input->type != kTfLiteFloat32 ({type_name(type)} != FLOAT32)")
    if type != FLOAT32:
        raise LateRefusalError(f"Type {type_name(type)} not currently supported.")
    set_clamp(context, node)
    node.invoke = l2_f32_optimized if node.arithmetic == OPTIMIZED else l2_f32
    mind_nan(node, type, l2_with_nan)
    return 0


cdef int no_clamp(Context context, Node* node) noexcept nogil:
    return context.fail(b"no_integer_overflow_from_quantization was not true.")


cdef int no_taps(Context context) noexcept nogil:
    return context.fail(b"a window of the average lies outside of the image")


cdef int average_loop(Context context, Node* node) noexcept nogil:
    cdef Pool* p = <Pool*>node.data
    if p.loop(&p.shape, context.input(node, 0).data, context.output(node, 0).data):
        return no_taps(context)
    return 0


cdef int max_loop(Context context, Node* node) noexcept nogil:
    cdef Pool* p = <Pool*>node.data
    return p.loop(&p.shape, context.input(node, 0).data, context.output(node, 0).data)


cdef int average_bytes(Context context, Node* node) noexcept nogil:
    cdef const Pool* pool = <const Pool*>node.data
    cdef const Tensor* x = context.input(node, 0)
    if average_rows(
            pool.fast, &pool.shape, x.type == INT8, <const uint8_t*>x.data, 0, <int64_t>pool.shape.batches * pool.shape.out_height,
            <uint8_t*>context.output(node, 0).data):
        return 0
    return no_taps(context)


cdef int max_bytes(Context context, Node* node) noexcept nogil:
    cdef const Pool2D* p = <const Pool2D*>node.data
    max_rows(context, node, 0, <int64_t>p.batches * p.out_height)
    return 0


cdef void compute_max(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef int64_t row, stop
    row, stop = row_range((<const Pool2D*>node.data).out_width, first, end)
    max_rows(context, node, row, stop)


cdef void max_rows(Context context, Node* node, int64_t first, int64_t end) noexcept nogil:
    cdef const Pool* pool = <const Pool*>node.data
    cdef const Tensor* x = context.input(node, 0)
    largest_rows(pool.fast, &pool.shape, x.type == INT8, <const uint8_t*>x.data, first, end, <uint8_t*>context.output(node, 0).data)


cdef int average(Context context, Node* node) noexcept nogil:
    return no_taps(context) if pool_values(context, node, AVERAGE) else 0


cdef int average_with_nan(Context context, Node* node) noexcept nogil:
    return sums_with_nan(context, node, False)


cdef int l2_with_nan(Context context, Node* node) noexcept nogil:
    return sums_with_nan(context, node, True)


cdef int sums_with_nan(Context context, Node* node, bint squares) noexcept nogil:
    cdef const Pool* pool = <const Pool*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef int status = pool.without_nan(context, node)
    if status == 0 and has_nan(<const float*>x.data, count(x)):
        sum_pool_f32_neon(&pool.shape, squares, <const float*>x.data, <float*>context.output(node, 0).data)
    return status


cdef int maximum_with_nan(Context context, Node* node) noexcept nogil:
    cdef const Pool* pool = <const Pool*>node.data
    cdef const Tensor* x = context.input(node, 0)
    if not has_nan(<const float*>x.data, count(x)):
        return pool.without_nan(context, node)
    max_pool_f32_neon(&pool.shape, <const float*>x.data, <float*>context.output(node, 0).data)
    return 0


cdef int maximum(Context context, Node* node) noexcept nogil:
    return pool_values(context, node, MAXIMUM)


cdef int pool_values(Context context, Node* node, int pooling) noexcept nogil:
    cdef const Pool2D* p = <const Pool2D*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    if x.type == FLOAT32:
        return pool_2d(p, pooling, <const float*>x.data, <float*>y)
    if x.type == INT8:
        return pool_2d(p, pooling, <const int8_t*>x.data, <int8_t*>y)
    if x.type == UINT8:
        return pool_2d(p, pooling, <const uint8_t*>x.data, <uint8_t*>y)
    return pool_2d(p, pooling, <const int16_t*>x.data, <int16_t*>y)


cdef int l2_f32(Context context, Node* node) noexcept nogil:
    return pool_2d(<Pool2D*>node.data, L2, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data)


cdef int l2_f32_optimized(Context context, Node* node) noexcept nogil:
    l2_pool_f32_eigen(<Pool2D*>node.data, <float*>context.input(node, 0).data, <float*>context.output(node, 0).data)
    return 0


OPERATORS = {
    "AVERAGE_POOL_2D": register(prepare_average, version=3, reference_version=3),
    "MAX_POOL_2D": register(prepare_max, version=3, reference_version=3),
    "L2_POOL_2D": register(prepare_l2, version=1, reference_version=1),
}
