"""AVERAGE_POOL_2D, MAX_POOL_2D and the custom MaxPoolingWithArgmax2D, MaxUnpooling2D in float32 over images NHWC.

- VALID: a filter larger than the image has one window; its average divides by all taps, of which those outside are 0.
- A filter of one element is a copy (denormals stay), or a clamp when there is an activation.
- Node.fusion = FUSED_CLAMP merges a clamp that followed: both limits are clamped to its range.
- Custom data: int32 padding (1 SAME, 2 VALID), stride_width, stride_height, filter_width, filter_height, activation (which is ignored); the
  strides are the filter's size. Places are uint32 in a tensor of any type of 4 bytes. Places outside of the window end TensorFlow's
  process, here they are an error.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport RangeF
from tflm_cy.arithmetic.image_rows cimport Rows, rows_at
from tflm_cy.arithmetic.window cimport SAME, VALID
from tflm_cy.arithmetic.xnnpack.pool cimport (
    GROUP, PoolShape, argmax_pool_f32, average_pool_f32, groups_of, max_pool_f32, table_row, unpool_f32,
)
from tflm_cy.arithmetic.xnnpack.unary cimport Parameters, map8, relu8
from tflm_cy.graph.context cimport FUSED_CLAMP, Context, IterationSpace, Node, WorkFunction, register, row_window
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, same_shape, shape_of, type_name, type_size
from tflm_cy.ops.image_rows cimport row_range, rows_of_images
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.ops.window_2d cimport pad_before, windows_along
from tflm_cy.ops.xnnpack.limits cimport float_limits
from tflm_cy.ops.xnnpack.rank cimport read_sides, refuse_other_rank, want_rank
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport (
    POOL_2D_FILTER_HEIGHT, POOL_2D_FILTER_WIDTH, POOL_2D_FUSED_ACTIVATION_FUNCTION, POOL_2D_PADDING, POOL_2D_STRIDE_H,
    POOL_2D_STRIDE_W,
)
from tflm_cy.schema.table cimport load_i32, table_i8, table_i32
from tflm_cy.simd.pool_f32 cimport AveragePoolKernel, MaxPoolKernel
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import OwnRefusalError

cdef struct Pool:
    PoolShape shape
    Parameters limits            # filters of one element
    const float* zeros
    int taps                     # scratch: pointers
    AveragePoolKernel fast_average       # with a vector kernel
    MaxPoolKernel fast
    int distances                # scratch of the vector kernels, for each worker: taps


cdef Pool* begin(Context context, Node* node) except NULL:
    """The input's sizes."""
    cdef str name = context.operator_name(node)
    cdef Tensor* x = context.input(node, 0)
    cdef int32_t[4] sides
    cdef Pool* op
    if x.type != FLOAT32 or context.output(node, 0).type != FLOAT32:
        raise ValueError(f"{name}: types {type_name(x.type)} -> {type_name(context.output(node, 0).type)} are not supported")
    op = <Pool*>context.persistent(sizeof(Pool))
    read_sides(context, x, sides)
    op.shape.batches, op.shape.ih, op.shape.iw, op.shape.channels = sides[0], sides[1], sides[2], sides[3]
    node.data = op
    return op


cdef int set_windows(Context context, const Node* node, Pool* op, int padding) except -1:
    """Checks of the filter, output size, padding, room for the taps."""
    cdef str name = context.operator_name(node)
    cdef PoolShape* p = &op.shape
    if p.kh <= 0 or p.kw <= 0 or p.stride_h <= 0 or p.stride_w <= 0 or p.stride_h > p.kh or p.stride_w > p.kw:
        raise ValueError(f"{name}: a filter of {p.kh}x{p.kw} with strides {p.stride_h}, {p.stride_w}")
    if (padding != SAME and padding != VALID) or ((p.ih <= 0 or p.iw <= 0 or p.channels <= 0) and p.kh * p.kw > 1):
        raise ValueError(f"{name}: padding {padding}, an image of {p.ih}x{p.iw}x{p.channels}")
    p.oh = max(windows_along(padding, p.ih, p.kh, p.stride_h, 1), <int64_t>(p.ih > 0))
    p.ow = max(windows_along(padding, p.iw, p.kw, p.stride_w, 1), <int64_t>(p.iw > 0))
    p.whole = padding == VALID
    if p.kh * p.kw > 0x7FFFFFF:
        raise ValueError(f"{name}: a filter of {p.kh}x{p.kw} is too large")
    if padding == SAME:
        p.pad_h = pad_before(p.ih, p.kh, p.stride_h, 1, p.oh)
        p.pad_w = pad_before(p.iw, p.kw, p.stride_w, 1, p.ow)
        p.pad_bottom = max((p.oh - 1) * p.stride_h + p.kh - p.ih, <int64_t>0) - p.pad_h
    return 0


cdef int request_taps(Context context, const Pool* op) except -1:
    return context.request_scratch(sizeof(float*) * GROUP * groups_of(&op.shape))


cdef int set_image(Context context, const Node* node, int i, int64_t batches, int64_t height, int64_t width, int64_t channels) except -1:
    cdef int32_t[4] dims
    if height > 0x7FFFFFFF or width > 0x7FFFFFFF:
        raise ValueError(f"{context.operator_name(node)}: an output of {height}x{width} pixels")
    dims = [<int32_t>batches, <int32_t>height, <int32_t>width, <int32_t>channels]
    return context.set_shape(context.output(node, i), 4, dims)


# ---- AVERAGE_POOL_2D, MAX_POOL_2D
cdef Pool* prepare_pool(Context context, Node* node) except NULL:
    cdef PoolShape* p
    cdef Pool* op
    cdef RangeF r
    expect_arity(context, node, 1, 1)
    op = begin(context, node)
    p = &op.shape
    p.kh = table_i32(node.options, POOL_2D_FILTER_HEIGHT, 0)
    p.kw = table_i32(node.options, POOL_2D_FILTER_WIDTH, 0)
    p.stride_h = table_i32(node.options, POOL_2D_STRIDE_H, 0)
    p.stride_w = table_i32(node.options, POOL_2D_STRIDE_W, 0)
    set_windows(context, node, op, table_i8(node.options, POOL_2D_PADDING, 0))
    if p.kh == 1 and p.kw == 1:              # a clamp, of a tensor of any rank
        context.set_shape(context.output(node, 0), context.input(node, 0).rank, context.input(node, 0).dims)
    else:
        set_image(context, node, 0, p.batches, p.oh, p.ow, p.channels)
        refuse_other_rank(context.input(node, 0), 4, context.operator_name(node))
    r = float_limits(table_i8(node.options, POOL_2D_FUSED_ACTIVATION_FUNCTION, 0))
    if node.fusion == FUSED_CLAMP:
        r.low = min(max(r.low, node.clamp_low), node.clamp_high)
        r.high = min(max(r.high, node.clamp_low), node.clamp_high)
    p.low, p.high = r.low, r.high
    op.limits.low, op.limits.high = r.low, r.high
    return op


cdef int prepare_average(Context context, Node* node) except -1:
    cdef Pool* op = prepare_pool(context, node)
    op.zeros = <const float*>context.persistent(sizeof(float) * op.shape.channels)
    if op.shape.kh == 1 and op.shape.kw == 1:
        node.invoke = single_tap
        return 0
    op.fast_average = kernels().pool_f32.average
    if op.fast_average != NULL:
        op.distances = context.request_scratch(context.for_all_workers(distance_bytes(op)))
        node.invoke = average_vector
        return share_rows(context, node, compute_average, 0.06)
    op.taps = request_taps(context, op)
    node.invoke = average
    return 0


cdef int prepare_max(Context context, Node* node) except -1:
    cdef Pool* op = prepare_pool(context, node)
    if op.shape.kh == 1 and op.shape.kw == 1:
        node.invoke = single_tap
        return 0
    op.fast = kernels().pool_f32.maximum
    if op.fast != NULL:
        op.distances = context.request_scratch(context.for_all_workers(distance_bytes(op)))
        node.invoke = maximum_vector
        return share_rows(context, node, compute_maximum, 0.04)
    op.taps = request_taps(context, op)
    node.invoke = maximum
    return 0


cdef int share_rows(Context context, Node* node, WorkFunction work, double tap_time) except -1:
    """Among threads; nanoseconds that a tap takes."""
    cdef const PoolShape* p = &(<Pool*>node.data).shape
    cdef IterationSpace space = rows_of_images(p.batches, p.oh, p.ow)
    if sees_its_rows(p):
        space.window = row_window(p.batches, p.ow, p.iw, p.ih, p.stride_h, p.pad_h, p.kh)
    return context.parallelize(node, work, space, tap_time * count(context.output(node, 0)) * p.kh * p.kw)


cdef bint sees_its_rows(const PoolShape* p) noexcept nogil:
    """Each output row, and no other one's."""
    cdef int64_t row
    for row in range(p.oh):
        if table_row(p, row) != row:
            return False
    return True


cdef size_t distance_bytes(const Pool* op) noexcept nogil:
    return 2 * sizeof(int64_t) * GROUP * groups_of(&op.shape)


cdef int single_tap(Context context, Node* node) noexcept nogil:
    cdef Pool* op = <Pool*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef float* y = <float*>context.output(node, 0).data
    if op.limits.low - op.limits.low == 0 or op.limits.high - op.limits.high == 0:       # one of them is finite
        map8(relu8, &op.limits, <const float*>x.data, y, count(x))
    else:
        copy_bytes(y, x.data, count(x) * sizeof(float))
    return 0


cdef int average(Context context, Node* node) noexcept nogil:
    cdef Pool* op = <Pool*>node.data
    average_pool_f32(
        &op.shape, <const float*>context.input(node, 0).data, op.zeros, <const float**>context.scratch(op.taps),
        <float*>context.output(node, 0).data,
    )
    return 0


cdef int average_vector(Context context, Node* node) noexcept nogil:
    run_average(context, node, &(<Pool*>node.data).shape, 0, 0, (<Pool*>node.data).shape.oh, 0)
    return 0


cdef int64_t* taps_of(Context context, const Pool* op, int worker) noexcept nogil:
    return <int64_t*>context.worker_scratch(op.distances, distance_bytes(op), worker)


cdef void run_average(Context context, Node* node, const PoolShape* p, int64_t image, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some output rows of each of the images from one on that the shape has."""
    cdef Pool* op = <Pool*>node.data
    op.fast_average(
        p, <const float*>context.input(node, 0).data + image * p.ih * p.iw * p.channels, op.zeros, taps_of(context, op, worker), first, end,
        <float*>context.output(node, 0).data + image * p.oh * p.ow * p.channels)


cdef void compute_average(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef PoolShape p = (<Pool*>node.data).shape
    cdef int64_t row, stop
    cdef Rows rows
    p.batches = 1
    row, stop = row_range(p.ow, first, end)
    while row < stop:
        row = rows_at(p.oh, row, stop, &rows)
        run_average(context, node, &p, rows.image, rows.first, rows.end, worker)


cdef int maximum(Context context, Node* node) noexcept nogil:
    cdef Pool* op = <Pool*>node.data
    max_pool_f32(
        &op.shape, <const float*>context.input(node, 0).data, <const float**>context.scratch(op.taps),
        <float*>context.output(node, 0).data,
    )
    return 0


cdef int maximum_vector(Context context, Node* node) noexcept nogil:
    cdef Pool* op = <Pool*>node.data
    op.fast(
        &op.shape, <const float*>context.input(node, 0).data, taps_of(context, op, 0),
        <float*>context.output(node, 0).data,
    )
    return 0


cdef void compute_maximum(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Rows of an image are one of their own, whose first window begins inside."""
    cdef Pool* op = <Pool*>node.data
    cdef const PoolShape* p = &op.shape
    cdef PoolShape band = op.shape
    cdef int64_t row, stop
    cdef Rows rows
    band.batches = 1
    row, stop = row_range(p.ow, first, end)
    while row < stop:
        row = rows_at(p.oh, row, stop, &rows)
        band.oh = rows.end - rows.first
        band.pad_h = p.pad_h - rows.first * p.stride_h
        op.fast(
            &band, <const float*>context.input(node, 0).data + rows.image * p.ih * p.iw * p.channels, taps_of(context, op, worker),
            <float*>context.output(node, 0).data + (rows.image * p.oh + rows.first) * p.ow * p.channels)


# ---- MaxPoolingWithArgmax2D, MaxUnpooling2D
cdef int read_custom(Context context, const Node* node, PoolShape* p) except -1:
    """The filter, which is the stride, too; returns the padding as builtin operators count it."""
    cdef int32_t padding
    if node.custom_options_size < 24:
        raise ValueError(f"{context.operator_name(node)} wants 24 bytes of custom data, has {node.custom_options_size}")
    padding = load_i32(node.custom_options)
    p.stride_w = p.kw = load_i32(node.custom_options + 4)
    p.stride_h = p.kh = load_i32(node.custom_options + 8)
    if p.kw != load_i32(node.custom_options + 12) or p.kh != load_i32(node.custom_options + 16) or padding < 1 or padding > 2:
        raise ValueError(f"{context.operator_name(node)}: padding {padding}; the strides must be the filter's size")
    return SAME if padding == 1 else VALID


cdef int prepare_argmax(Context context, Node* node) except -1:
    cdef PoolShape* p
    cdef Pool* op
    cdef int padding
    expect_arity(context, node, 1, 2)
    op = begin(context, node)
    want_rank(context.input(node, 0), 4, "MaxPoolingWithArgmax2D")
    p = &op.shape
    padding = read_custom(context, node, p)
    check_places(context, node, context.output(node, 1))
    set_windows(context, node, op, padding)
    set_image(context, node, 0, p.batches, p.oh, p.ow, p.channels)
    set_image(context, node, 1, p.batches, p.oh, p.ow, p.channels)
    if padding == VALID and (p.ih < p.kh or p.iw < p.kw):
        raise OwnRefusalError(f"MaxPoolingWithArgmax2D: a window of {p.kh}x{p.kw} does not fit the {p.ih}x{p.iw} image")
    op.taps = request_taps(context, op)
    node.invoke = argmax
    return 0


cdef int check_places(Context context, const Node* node, const Tensor* places) except -1:
    if type_size(places.type) != 4:
        raise ValueError(f"{context.operator_name(node)}: places are of a type of 4 bytes, not {type_name(places.type)}")
    return 0


cdef int argmax(Context context, Node* node) noexcept nogil:
    cdef Pool* op = <Pool*>node.data
    argmax_pool_f32(
        &op.shape, <const float*>context.input(node, 0).data, <const float**>context.scratch(op.taps),
        <float*>context.output(node, 0).data, <uint32_t*>context.output(node, 1).data,
    )
    return 0


cdef int prepare_unpool(Context context, Node* node) except -1:
    cdef PoolShape* p
    cdef Pool* op
    expect_arity(context, node, 2, 1)
    op = begin(context, node)
    want_rank(context.input(node, 0), 4, "MaxUnpooling2D")
    p = &op.shape
    read_custom(context, node, p)
    check_places(context, node, context.input(node, 1))
    if not same_shape(context.input(node, 0), context.input(node, 1)):
        raise ValueError(
            f"MaxUnpooling2D: values {shape_of(context.input(node, 0))} and places {shape_of(context.input(node, 1))} differ in shape")
    if p.kh <= 0 or p.kw <= 0:
        raise ValueError(f"MaxUnpooling2D: windows of {p.kh}x{p.kw}")
    set_image(context, node, 0, p.batches, p.ih * p.kh, p.iw * p.kw, p.channels)
    node.invoke = unpool
    return 0


cdef int unpool(Context context, Node* node) noexcept nogil:
    cdef Pool* op = <Pool*>node.data
    cdef int64_t wrong = unpool_f32(
        &op.shape, <const uint32_t*>context.input(node, 0).data, <const uint32_t*>context.input(node, 1).data,
        <uint32_t*>context.output(node, 0).data,
    )
    if wrong != 0:
        return context.fail_with(b"MaxUnpooling2D: %ld places lie outside of a window of %ld taps", wrong, op.shape.kh * op.shape.kw)
    return 0


OPERATORS = {
    "AVERAGE_POOL_2D": register(prepare_average, version=99),
    "MAX_POOL_2D": register(prepare_max, version=99),
    "MaxPoolingWithArgmax2D": register(prepare_argmax, version=99),
    "MaxUnpooling2D": register(prepare_unpool, version=99),
}
