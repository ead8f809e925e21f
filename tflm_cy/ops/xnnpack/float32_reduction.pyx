"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN over constant axes, SOFTMAX over the last axis, RESIZE_BILINEAR to a constant size, all float32.

- Node.fusion = FUSED_SQUARE: the mean or sum of the squares of input 0.
- Axes must be inside and differ (`reduced_axes`), SOFTMAX wants values along its axis.
- Where the input is empty XNNPACK writes nothing; here the outputs are zeros.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc; XNNPACK:src/operators/reduce-nd.c.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.image_rows cimport Rows, rows_at
from tflm_cy.arithmetic.nan_order cimport has_nan
from tflm_cy.arithmetic.xnnpack.generation cimport AVX512, NEON
from tflm_cy.arithmetic.xnnpack.reduction cimport (
    MAXIMUM, MINIMUM, RUNS, ReduceShape, extreme_columns, extreme_rows, reduce_shape,
)
from tflm_cy.arithmetic.xnnpack.resize cimport ResizeShape, Step, fill_steps, resize_bilinear_f32
from tflm_cy.arithmetic.xnnpack.softmax cimport SoftmaxRow
from tflm_cy.graph.context cimport FUSED_SQUARE, Context, Node, WorkFunction, iteration_space, position_space, register
from tflm_cy.graph.tensor cimport FLOAT32, INT32, Tensor, count, is_constant, shape_of, type_name
from tflm_cy.ops.generation cimport generation
from tflm_cy.ops.image_rows cimport row_range, rows_of_images
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.ops.xnnpack.definitions cimport Definitions, SumAxes, definitions
from tflm_cy.ops.xnnpack.rank cimport check_rank, read_sides, refuse_other_rank
from tflm_cy.ops.xnnpack.reduced_axes cimport reduced_axes
from tflm_cy.schema.option_slots cimport RESIZE_BILINEAR_ALIGN_CORNERS, RESIZE_BILINEAR_HALF_PIXEL_CENTERS
from tflm_cy.schema.table cimport table_bool
from tflm_cy.simd.reductions cimport COLUMN_SUM, LARGEST_LAST, SMALLEST_LAST, ExtremesKernel, FloatFoldKernel, ScaledSums, SoftmaxRows
from tflm_cy.simd.table cimport kernels

cdef enum:
    LARGEST_SIDE = 1 << 24       # of an image that XNNPACK resizes
    TOGETHER = 64                # rows whose extremes are found at once
    PIECE = 2048                 # columns of long rows that are summed together
    CHANNELS = 64                # that a thread takes at least: whole vectors of every definition

cdef struct Reduction:
    ReduceShape shape
    float scale
    SumAxes sum
    bint wide                    # AVX-512's order
    int extreme
    FloatFoldKernel columns      # kernels that have the same values, but for NaN; NULL: none
    ScaledSums rows
    ExtremesKernel extremes
    int sums                     # scratch: of the channels, for each worker
    ptrdiff_t sums_bytes
    int axis                     # that threads share; -1: none

cdef struct Softmax:
    int64_t rows
    int64_t depth
    SoftmaxRow row
    SoftmaxRows fast             # NULL: none

cdef struct Resizing:
    ResizeShape shape
    Step* rows
    Step* columns


cdef int check_floats(Context context, const Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"{context.operator_name(node)}: types {type_name(x.type)} -> {type_name(y.type)} are not supported")
    return check_rank(x, context.operator_name(node))


# ---- reductions
cdef Reduction* prepare_reduction(Context context, Node* node) except NULL:
    cdef Tensor* x
    cdef Reduction* op
    cdef uint32_t reduced
    expect_arity(context, node, 2, 1)
    check_floats(context, node)
    x = context.input(node, 0)
    reduced = reduced_axes(context, node)
    op = <Reduction*>context.persistent(sizeof(Reduction))
    op.shape = reduce_shape(x.rank, x.dims, reduced)
    op.axis = kept_axis(&op.shape)
    op.scale = 1
    op.wide = generation() == AVX512
    op.extremes = kernels().reductions.extremes
    node.data = op
    return op


cdef int prepare_sum(Context context, Node* node) except -1:
    cdef Reduction* op = prepare_reduction(context, node)
    return prepare_sums(context, node, op)


cdef int prepare_sums(Context context, Node* node, Reduction* op) except -1:
    op.sum = sum_of(op, node.fusion == FUSED_SQUARE)
    if node.fusion != FUSED_SQUARE and generation() < NEON:
        op.rows = kernels().reductions.scaled_sums[op.wide]
        op.columns = kernels().reductions.columns[COLUMN_SUM]
        op.sums_bytes = 0 if op.shape.last_reduced else op.shape.dims[RUNS - 1] * sizeof(float)
        op.sums = context.request_scratch(context.for_all_workers(op.sums_bytes))
    node.invoke = sum_values
    return parallelize_reduction(context, node, op, sum_range)


cdef SumAxes sum_of(const Reduction* op, bint square) except NULL:
    cdef const Definitions* d = definitions()
    if op.shape.last_reduced:
        return d.square_rows if square else d.sum_rows
    return d.square_columns if square else d.sum_columns


cdef int prepare_mean(Context context, Node* node) except -1:
    cdef Reduction* op = prepare_reduction(context, node)
    op.scale = <float>1 / <float>op.shape.count
    return prepare_sums(context, node, op)


cdef int prepare_max(Context context, Node* node) except -1:
    return prepare_extreme(context, node, MAXIMUM)


cdef int prepare_min(Context context, Node* node) except -1:
    return prepare_extreme(context, node, MINIMUM)


cdef int prepare_extreme(Context context, Node* node, int extreme) except -1:
    cdef Reduction* op = prepare_reduction(context, node)
    op.extreme = extreme
    if generation() < NEON:
        op.columns = kernels().reductions.columns[LARGEST_LAST if extreme == MAXIMUM else SMALLEST_LAST]
    node.invoke = extreme_values
    return parallelize_reduction(context, node, op, extreme_range)


cdef int parallelize_reduction(Context context, Node* node, const Reduction* op, WorkFunction work) except -1:
    """By the outermost axis that is kept and has several steps; the channels in whole vectors."""
    cdef int64_t values = count(context.input(node, 0))
    if op.axis < 0 or values == 0:
        return 0
    return context.parallelize(node, work, iteration_space(op.shape.dims[op.axis], CHANNELS if op.axis == RUNS - 1 else 1), 0.15 * values)


cdef int kept_axis(const ReduceShape* s) noexcept nogil:
    """The outermost one of several steps, the channels if there is no other; -1: there is none."""
    cdef int d = 0 if s.last_reduced else 1
    while d < RUNS - 1 and s.dims[d] == 1:
        d += 2
    return d if d < RUNS else -1


cdef struct Part:                # some steps of the axis that is shared: a smaller reduction
    Reduction op
    const float* x
    float* y
    int64_t outputs


cdef Part whole_of(Context context, Node* node) noexcept nogil:
    cdef Part part
    part.op = (<const Reduction*>node.data)[0]
    part.x = <const float*>context.input(node, 0).data
    part.y = <float*>context.output(node, 0).data
    part.outputs = count(context.output(node, 0))
    return part


cdef Part part_of(Context context, Node* node, int64_t first, int64_t end) noexcept nogil:
    cdef Part part = whole_of(context, node)
    cdef ReduceShape* s = &part.op.shape
    cdef int64_t outputs = part.outputs / s.dims[part.op.axis]            # of a step
    part.x += first * s.strides[part.op.axis]
    part.y += first * outputs
    part.outputs = (end - first) * outputs
    s.dims[part.op.axis] = end - first
    return part


cdef int sum_values(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef Part whole = whole_of(context, node)
    if count(context.input(node, 0)) == 0:
        memset(y.data, 0, y.bytes)
    else:
        sum_part(&whole, sums_of(context, &whole.op, 0))
    return 0


cdef void sum_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Part part = part_of(context, node, first, end)
    sum_part(&part, sums_of(context, &part.op, worker))


cdef float* sums_of(Context context, const Reduction* op, int worker) noexcept nogil:
    return <float*>context.worker_scratch(op.sums, op.sums_bytes, worker) if op.sums_bytes > 0 else NULL


cdef void sum_part(const Part* p, float* sums) noexcept nogil:
    """Where the kernel finds a NaN, which one it is depends on the order: the definition computes all again."""
    cdef const Reduction* op = &p.op
    cdef bint fast = op.rows != NULL if op.shape.last_reduced else op.columns != NULL
    if fast:
        if op.shape.last_reduced:
            memset(p.y, 0, p.outputs * sizeof(float))
            fast_row_sums(op, p.x, p.y)
        else:
            fast_column_sums(op, p.x, sums, p.y)
    if not fast or has_nan(p.y, p.outputs):
        op.sum(&op.shape, p.x, op.scale, p.y)


cdef void fast_row_sums(const Reduction* op, const float* x, float* y) noexcept nogil:
    """As arithmetic.xnnpack.reduction's sum_rows, but for the bits of NaN. y: zeros."""
    cdef const ReduceShape* s = &op.shape
    cdef int64_t a, b, i, j
    for a in range(s.dims[0]):
        for b in range(s.dims[2]):
            for i in range(s.dims[1]):
                for j in range(s.dims[3]):
                    op.rows(x + a * s.strides[0] + i * s.strides[1] + b * s.strides[2] + j * s.strides[3], s.dims[4], s.strides[4], s.dims[5],
                            op.scale, y)
            y += s.dims[4]


cdef void fast_column_sums(const Reduction* op, const float* x, float* sums, float* y) noexcept nogil:
    """As arithmetic.xnnpack.reduction's sum_columns, but for the bits of NaN."""
    cdef const ReduceShape* s = &op.shape
    cdef int64_t a, b, k, j
    for a in range(s.dims[1]):
        for b in range(s.dims[3]):
            for k in range(s.dims[0]):
                for j in range(s.dims[2]):
                    add_column_sums(op, x + k * s.strides[0] + a * s.strides[1] + j * s.strides[2] + b * s.strides[3], k + j == 0, sums, y)
            y += s.dims[5]


cdef inline void add_column_sums(const Reduction* op, const float* x, bint first, float* sums, float* y) noexcept nogil:
    """Of one run of rows, to 0 or to y; long ones piece by piece, whose sums stay in the cache."""
    cdef int64_t rows = op.shape.dims[4]
    cdef int64_t channels = op.shape.dims[5]
    cdef int64_t piece, at, c, some
    for piece in range((channels + PIECE - 1) // PIECE):
        at = piece * PIECE
        some = min(channels - at, <int64_t>PIECE)
        memset(sums, 0, some * sizeof(float))
        op.columns(x + at, rows, op.shape.strides[4], some, sums)
        if first:
            for c in range(some):
                y[at + c] = sums[c] * op.scale + 0
        else:
            for c in range(some):
                y[at + c] = sums[c] * op.scale + y[at + c]


cdef int extreme_values(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef Part whole = whole_of(context, node)
    if count(context.input(node, 0)) == 0:
        memset(y.data, 0, y.bytes)
    else:
        extreme_part(&whole)
    return 0


cdef void extreme_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Part part = part_of(context, node, first, end)
    extreme_part(&part)


cdef void extreme_part(const Part* p) noexcept nogil:
    cdef const Reduction* op = &p.op
    if op.shape.last_reduced and op.extremes != NULL:
        fast_row_extremes(op, p.x, p.y)
    elif op.shape.last_reduced:
        extreme_rows(op.extreme, &op.shape, p.x, op.wide, p.y)
    elif op.columns != NULL:
        fast_column_extremes(op, p.x, p.y)
    else:
        extreme_columns(op.extreme, &op.shape, p.x, p.y)


cdef void fast_row_extremes(const Reduction* op, const float* x, float* y) noexcept nogil:
    """As extreme_rows: some rows at a time, by the kernel unless their order shows."""
    cdef const ReduceShape* s = &op.shape
    cdef ReduceShape few = op.shape
    cdef const float* at
    cdef int64_t a, b, c
    few.dims[0] = few.dims[2] = 1
    for a in range(s.dims[0]):
        for b in range(s.dims[2]):
            c = 0
            while c < s.dims[4]:
                few.dims[4] = min(s.dims[4] - c, <int64_t>TOGETHER)
                at = x + a * s.strides[0] + b * s.strides[2] + c * s.strides[4]
                if not few_extremes(op, &few, at, y):
                    extreme_rows(op.extreme, &few, at, op.wide, y)
                y += few.dims[4]
                c += few.dims[4]


cdef bint few_extremes(const Reduction* op, const ReduceShape* s, const float* x, float* y) noexcept nogil:
    """Of at most TOGETHER rows; False where the order decides."""
    cdef float[TOGETHER] found
    cdef bint largest = op.extreme == MAXIMUM
    cdef bint mixed = False
    cdef int64_t i, j, r
    for r in range(s.dims[4]):
        y[r] = -INFINITY if largest else INFINITY
    for i in range(s.dims[1]):
        for j in range(s.dims[3]):
            if op.extremes(x + i * s.strides[1] + j * s.strides[3], s.dims[4], s.strides[4], s.dims[5], largest, found) < s.dims[4]:
                return False
            for r in range(s.dims[4]):
                mixed |= (found[r] == y[r]) & ((<const int32_t*>found)[r] != (<const int32_t*>y)[r])
                y[r] = found[r] if (found[r] > y[r] if largest else found[r] < y[r]) else y[r]
    return not mixed


cdef void fast_column_extremes(const Reduction* op, const float* x, float* y) noexcept nogil:
    """As extreme_columns."""
    cdef const ReduceShape* s = &op.shape
    cdef int64_t channels = s.dims[5]
    cdef int64_t a, b, c, k, j
    for a in range(s.dims[1]):
        for b in range(s.dims[3]):
            for c in range(channels):
                y[c] = -INFINITY if op.extreme == MAXIMUM else INFINITY
            for k in range(s.dims[0]):
                for j in range(s.dims[2]):
                    op.columns(x + k * s.strides[0] + a * s.strides[1] + j * s.strides[2] + b * s.strides[3], s.dims[4], s.strides[4], channels, y)
            y += channels


# ---- SOFTMAX
cdef int prepare_softmax(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Softmax* op
    expect_arity(context, node, 1, 1)
    check_floats(context, node)
    x = context.input(node, 0)
    if x.rank < 1 or x.dims[x.rank - 1] == 0:
        raise ValueError(f"SOFTMAX: an input of the shape {shape_of(x)} has no values along its last axis")
    op = <Softmax*>context.persistent(sizeof(Softmax))
    op.depth = x.dims[x.rank - 1]
    op.rows = count(x) / op.depth
    op.row = definitions().softmax
    op.fast = kernels().reductions.softmax[generation() == AVX512] if generation() < NEON else NULL
    context.set_shape(context.output(node, 0), x.rank, x.dims)
    node.data = op
    node.invoke = softmax
    return context.parallelize(node, softmax_range, position_space(op.rows, 1, 1), op.rows * (30 + 0.5 * op.depth))


cdef int softmax(Context context, Node* node) noexcept nogil:
    softmax_range(context, node, 0, (<const Softmax*>node.data).rows, 0)
    return 0


cdef void softmax_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Rows of which the kernel knows nothing have NaN."""
    cdef const Softmax* op = <const Softmax*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    while first < end:
        if op.fast != NULL:
            first += op.fast(x + first * op.depth, end - first, op.depth, y + first * op.depth)
        if first < end:
            op.row(x + first * op.depth, op.depth, y + first * op.depth)
            first += 1


# ---- RESIZE_BILINEAR
cdef int prepare_resize(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* size
    cdef Resizing* op
    cdef ResizeShape* p
    cdef int32_t[4] dims
    cdef int32_t[4] sides
    cdef bint align_corners = table_bool(node.options, RESIZE_BILINEAR_ALIGN_CORNERS, False)
    cdef bint half_pixel_centers = table_bool(node.options, RESIZE_BILINEAR_HALF_PIXEL_CENTERS, False)
    expect_arity(context, node, 2, 1)
    check_floats(context, node)
    x, size = context.input(node, 0), context.input(node, 1)
    if size.type != INT32 or not is_constant(size) or count(size) != 2:
        raise ValueError("RESIZE_BILINEAR: the size must be two constant int32")
    op = <Resizing*>context.persistent(sizeof(Resizing))
    p = &op.shape
    read_sides(context, x, sides)
    p.batches, p.ih, p.iw, p.channels = sides[0], sides[1], sides[2], sides[3]
    p.oh, p.ow = (<const int32_t*>size.data)[0], (<const int32_t*>size.data)[1]
    if min(p.ih, p.iw, p.channels, p.oh, p.ow) <= 0 or max(p.ih, p.iw, p.oh, p.ow) >= LARGEST_SIDE:
        raise ValueError(f"RESIZE_BILINEAR: from {p.ih}x{p.iw} to {p.oh}x{p.ow} pixels")
    dims = [<int32_t>p.batches, <int32_t>p.oh, <int32_t>p.ow, <int32_t>p.channels]
    context.set_shape(context.output(node, 0), 4, dims)
    refuse_other_rank(x, 4, "RESIZE_BILINEAR")
    op.rows = <Step*>context.persistent(sizeof(Step) * p.oh)
    op.columns = <Step*>context.persistent(sizeof(Step) * p.ow)
    fill_steps(p.ih, p.oh, align_corners, half_pixel_centers, op.rows)
    fill_steps(p.iw, p.ow, align_corners, half_pixel_centers, op.columns)
    node.data = op
    node.invoke = resize_bilinear
    return context.parallelize(node, compute_resize, rows_of_images(p.batches, p.oh, p.ow), 0.15 * count(context.output(node, 0)))


cdef int resize_bilinear(Context context, Node* node) noexcept nogil:
    cdef Resizing* op = <Resizing*>node.data
    resize_bilinear_f32(
        &op.shape, <const float*>context.input(node, 0).data, op.rows, op.columns, <float*>context.output(node, 0).data)
    return 0


cdef void compute_resize(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Resizing* op = <Resizing*>node.data
    cdef const ResizeShape* p = &op.shape
    cdef ResizeShape band = op.shape
    cdef int64_t row, stop
    cdef Rows rows
    band.batches = 1
    row, stop = row_range(p.ow, first, end)
    while row < stop:
        row = rows_at(p.oh, row, stop, &rows)
        band.oh = rows.end - rows.first
        resize_bilinear_f32(
            &band, <const float*>context.input(node, 0).data + rows.image * p.ih * p.iw * p.channels, op.rows + rows.first, op.columns,
            <float*>context.output(node, 0).data + (rows.image * p.oh + rows.first) * p.ow * p.channels)


OPERATORS = {
    "MEAN": register(prepare_mean, version=99),
    "REDUCE_MAX": register(prepare_max, version=99),
    "REDUCE_MIN": register(prepare_min, version=99),
    "RESIZE_BILINEAR": register(prepare_resize, version=99),
    "SOFTMAX": register(prepare_softmax, version=99),
    "SUM": register(prepare_sum, version=99),
}
