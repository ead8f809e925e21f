"""MAX_POOL_2D, RESIZE_BILINEAR, MEAN, SUM, REDUCE_MAX and REDUCE_MIN on int8 and uint8 as XNNPACK computes them.

MAX_POOL_2D differs from the other arithmetics in the rounding of its clamp, and a VALID window larger than the image sees what there is.
RESIZE_BILINEAR, REDUCE_MAX and REDUCE_MIN take the raw bytes, whatever the quantization of input and output.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.math cimport isfinite
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.copy_runs cimport copy_run
from tflm_cy.arithmetic.fixed_point cimport Range32
from tflm_cy.arithmetic.image_rows cimport Rows, rows_at
from tflm_cy.arithmetic.pool_2d cimport MAXIMUM, pool_2d
from tflm_cy.arithmetic.reduction cimport FOLD_MAX, FOLD_MIN, FoldShape, fold_shape, sum_narrow
from tflm_cy.arithmetic.shapes cimport Pool2D
from tflm_cy.arithmetic.window cimport SAME, VALID, padding_before, window_size
from tflm_cy.arithmetic.xnnpack.generation cimport AVX2
from tflm_cy.arithmetic.xnnpack.quantized_image cimport Between, bilinear_11, fill_axis
from tflm_cy.arithmetic.xnnpack.quantized_reduction cimport EXACT_RUN, Average, average_sums, last_run, ready_average, sum_runs_16
from tflm_cy.arithmetic.xnnpack.requantize cimport quantized_range
from tflm_cy.graph.context cimport Context, IterationSpace, Node, register, row_window
from tflm_cy.graph.tensor cimport INT8, INT32, UINT8, Tensor, count, is_constant, shape_of, type_name
from tflm_cy.ops.generation cimport generation
from tflm_cy.ops.image_rows cimport row_range, rows_of_images
from tflm_cy.ops.integer_folds cimport fold_integers, sum_integers
from tflm_cy.ops.kernels.pool_i8 cimport largest_rows
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.xnnpack.rank cimport read_sides, refuse_other_rank
from tflm_cy.ops.xnnpack.reduced_axes cimport reduced_axes
from tflm_cy.platform.cpu cimport cpu_avxvnni
from tflm_cy.schema.option_slots cimport (
    POOL_2D_FILTER_HEIGHT, POOL_2D_FILTER_WIDTH, POOL_2D_FUSED_ACTIVATION_FUNCTION, POOL_2D_PADDING, POOL_2D_STRIDE_H,
    POOL_2D_STRIDE_W, RESIZE_BILINEAR_ALIGN_CORNERS, RESIZE_BILINEAR_HALF_PIXEL_CENTERS,
)
from tflm_cy.schema.table cimport table_bool, table_i8, table_i32
from tflm_cy.simd.elementwise_i8 cimport ElementwiseI8Kernels
from tflm_cy.simd.folds cimport FOLD_OF_S8, FOLD_OF_U8
from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.table cimport kernels

cdef struct MaxPool:
    Pool2D shape
    const ElementwiseI8Kernels* fast

cdef struct Resizing:
    int64_t batches, height, width, depth, out_height, out_width
    Between* rows
    Between* columns
    const ElementwiseI8Kernels* fast
    Between* gathered_columns    # as `columns`, of rows that hold only the pixels that are looked at; NULL: of whole rows
    int line                     # scratch: one row of the input, blended; two rows of gathered pixels

cdef struct Reduction:
    uint32_t reduced             # axes, one bit each
    FoldShape shape
    Average average
    int folding
    int sums                     # scratch
    int64_t run                  # elements of a run whose sum may overflow; 0: none does
    const Kernels* fast


cdef int want_bytes(const Tensor* x, const Tensor* y, str name) except -1:
    """int8 or uint8, the same on both sides."""
    if x.type != y.type or (x.type != INT8 and x.type != UINT8):
        raise ValueError(f"{name}: types {type_name(x.type)} and {type_name(y.type)} are not supported")
    return 0


cdef int want_numbers(const Tensor* tensor, str name, str what) except -1:
    """A constant int32 tensor."""
    if not is_constant(tensor) or tensor.type != INT32:
        raise ValueError(f"{name}: the {what} must be constant and INT32, is {type_name(tensor.type)}")
    return 0


cdef int prepare_max_pool(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    cdef int32_t padding = table_i8(node.options, POOL_2D_PADDING, 0)
    cdef int32_t[4] dims
    cdef int32_t[4] sides
    cdef bint is_clamp
    cdef Range32 limits
    cdef MaxPool* op
    cdef Pool2D* p
    cdef IterationSpace space
    want_bytes(x, y, "MAX_POOL_2D")
    if padding != SAME and padding != VALID:
        raise ValueError(f"MAX_POOL_2D: padding {padding} is neither SAME nor VALID")
    op = <MaxPool*>context.persistent(sizeof(MaxPool))
    op.fast = &kernels().elementwise_i8
    p = &op.shape
    read_sides(context, x, sides)
    p.batches, p.height, p.width, p.channels = sides[0], sides[1], sides[2], sides[3]
    p.kernel_height = table_i32(node.options, POOL_2D_FILTER_HEIGHT, 0)
    p.kernel_width = table_i32(node.options, POOL_2D_FILTER_WIDTH, 0)
    p.stride_height = table_i32(node.options, POOL_2D_STRIDE_H, 0)
    p.stride_width = table_i32(node.options, POOL_2D_STRIDE_W, 0)
    is_clamp = x.rank != 4 and p.kernel_height == 1 and p.kernel_width == 1      # of a tensor of any rank
    if is_clamp:
        p.batches, p.height, p.width, p.channels = 1, 1, 1, <int32_t>count(x)
    elif (p.height == 0 or p.width == 0 or p.channels == 0) and p.kernel_height * p.kernel_width > 1:
        raise ValueError(f"MAX_POOL_2D: an input {shape_of(x)} wants pixels and channels")
    p.out_height = windows(padding, p.height, p.kernel_height, p.stride_height)
    p.out_width = windows(padding, p.width, p.kernel_width, p.stride_width)
    p.pad_top = padding_before(p.height, p.kernel_height, p.stride_height, 1, p.out_height)
    p.pad_left = padding_before(p.width, p.kernel_width, p.stride_width, 1, p.out_width)
    limits = quantized_range(table_i8(node.options, POOL_2D_FUSED_ACTIVATION_FUNCTION, 0), y.scale, y.zero_point, y.type == INT8)
    p.low, p.high = limits.low, limits.high
    dims[0], dims[1], dims[2], dims[3] = p.batches, p.out_height, p.out_width, p.channels
    if is_clamp:
        context.set_shape(y, x.rank, x.dims)
    else:
        context.set_shape(y, 4, dims)
        refuse_other_rank(x, 4, "MAX_POOL_2D")
    node.data = op
    node.invoke = max_pool_8
    if op.fast.largest != NULL:
        node.invoke = max_pool_vector
        if p.pad_top < p.kernel_height and p.pad_left < p.kernel_width:
            space = rows_of_images(p.batches, p.out_height, p.out_width)
            space.window = row_window(p.batches, p.out_width, p.width, p.height, p.stride_height, p.pad_top, p.kernel_height)
            return context.parallelize(node, compute_max_pool, space, 0.02 * count(y) * p.kernel_height * p.kernel_width)
    return 0


cdef int32_t windows(int32_t padding, int32_t size, int32_t kernel, int32_t stride) except -1:
    if kernel <= 0 or stride <= 0 or <int64_t>size + stride + kernel > 0x7FFFFFFF:
        raise ValueError(f"MAX_POOL_2D: a window of {kernel} with stride {stride} does not fit an image of {size}")
    return 1 if padding == VALID and kernel > size and size > 0 else window_size(padding, size, kernel, stride, 1)


cdef int max_pool_8(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    if x.type == INT8:
        return pool_2d(&(<MaxPool*>node.data).shape, MAXIMUM, <const int8_t*>x.data, <int8_t*>y)
    return pool_2d(&(<MaxPool*>node.data).shape, MAXIMUM, <const uint8_t*>x.data, <uint8_t*>y)


cdef int max_pool_vector(Context context, Node* node) noexcept nogil:
    max_rows(context, node, 0, <int64_t>(<MaxPool*>node.data).shape.batches * (<MaxPool*>node.data).shape.out_height)
    return 0


cdef void max_rows(Context context, Node* node, int64_t first, int64_t end) noexcept nogil:
    """Output rows, counted over all images."""
    cdef MaxPool* op = <MaxPool*>node.data
    cdef Tensor* x = context.input(node, 0)
    largest_rows(op.fast, &op.shape, x.type == INT8, <const uint8_t*>x.data, first, end, <uint8_t*>context.output(node, 0).data)


cdef void compute_max_pool(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef int64_t row, stop
    row, stop = row_range((<MaxPool*>node.data).shape.out_width, first, end)
    max_rows(context, node, row, stop)


cdef int prepare_resize(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* size = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    cdef bint align_corners = table_bool(node.options, RESIZE_BILINEAR_ALIGN_CORNERS, False)
    cdef bint half_pixel_centers = table_bool(node.options, RESIZE_BILINEAR_HALF_PIXEL_CENTERS, False)
    cdef const int32_t* wanted
    cdef int32_t[4] dims
    cdef int32_t[4] sides
    cdef Resizing* r
    want_bytes(x, y, "RESIZE_BILINEAR")
    want_numbers(size, "RESIZE_BILINEAR", "size")
    if count(size) != 2:
        raise ValueError(f"RESIZE_BILINEAR: a size of {count(size)} numbers")
    wanted = <const int32_t*>size.data
    read_sides(context, x, sides)
    if wanted[0] <= 0 or wanted[1] <= 0 or sides[1] <= 0 or sides[2] <= 0 or sides[3] <= 0:
        raise ValueError(f"RESIZE_BILINEAR: from {sides[1]} x {sides[2]} to {wanted[0]} x {wanted[1]} pixels of {sides[3]} channels")
    dims = [sides[0], wanted[0], wanted[1], sides[3]]
    context.set_shape(y, 4, dims)
    refuse_other_rank(x, 4, "RESIZE_BILINEAR")
    r = <Resizing*>context.persistent(sizeof(Resizing))
    node.data = r
    r.batches, r.height, r.width, r.depth = x.dims[0], x.dims[1], x.dims[2], x.dims[3]
    r.out_height, r.out_width = wanted[0], wanted[1]
    r.gathered_columns = NULL
    if count(y) > 0:
        r.rows = <Between*>context.persistent(wanted[0] * sizeof(Between))
        r.columns = <Between*>context.persistent(wanted[1] * sizeof(Between))
        fill_axis(r.rows, x.dims[1], wanted[0], align_corners, half_pixel_centers)
        fill_axis(r.columns, x.dims[2], wanted[1], align_corners, half_pixel_centers)
    node.invoke = resize_8 if count(y) > 0 else nothing
    r.fast = &kernels().elementwise_i8
    if r.fast.blend_rows != NULL and count(y) > 0:
        r.line = context.request_scratch(context.for_all_workers(6 * r.width * r.depth))
        if 2 * r.out_width < r.width:
            r.gathered_columns = columns_of_pairs(context, r)
        node.invoke = resize_vector
        return context.parallelize(node, compute_resize, rows_of_images(r.batches, r.out_height, r.out_width), 0.2 * count(y))
    return 0


cdef int resize_vector(Context context, Node* node) noexcept nogil:
    cdef Resizing* r = <Resizing*>node.data
    compute_resize(context, node, 0, r.batches * r.out_height * r.out_width, 0)
    return 0


cdef Between* columns_of_pairs(Context context, const Resizing* r) except NULL:
    """Each output column between two pixels of its own, as `gather_pixels` puts them."""
    cdef Between* columns = <Between*>context.persistent(r.out_width * sizeof(Between))
    cdef int64_t ox
    for ox in range(r.out_width):
        columns[ox].first, columns[ox].second, columns[ox].weight = <int32_t>(2 * ox), <int32_t>(2 * ox + 1), r.columns[ox].weight
    return columns


cdef void gather_pixels(const Resizing* r, const uint8_t* row, uint8_t* pairs) noexcept nogil:
    """The pixels of a row that are looked at, two for each column: neighbours, or at the row's end the same twice."""
    cdef int64_t ox
    cdef const uint8_t* pixel
    for ox in range(r.out_width):
        pixel = row + r.columns[ox].first * r.depth
        if r.columns[ox].second != r.columns[ox].first:
            copy_run(<char*>pairs, <const char*>pixel, 2 * r.depth)
        else:
            copy_run(<char*>pairs, <const char*>pixel, r.depth)
            copy_run(<char*>pairs + r.depth, <const char*>pixel, r.depth)
        pairs += 2 * r.depth


cdef void compute_resize(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Rows first, of all columns or those that are looked at: the two weights are exact in either order."""
    cdef Resizing* r = <Resizing*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef const uint8_t* image
    cdef int64_t line_values = r.width * r.depth
    cdef int32_t* line = <int32_t*>context.worker_scratch(r.line, 6 * line_values, worker)
    cdef uint8_t* pairs = <uint8_t*>(line + line_values)             # of the row above, then of the row below
    cdef int64_t pair_values = 2 * r.out_width * r.depth
    cdef uint8_t* y
    cdef const uint8_t* above
    cdef const uint8_t* below
    cdef const uint8_t* gathered = NULL
    cdef int64_t row, stop, oy
    cdef Rows rows
    row, stop = row_range(r.out_width, first, end)
    y = <uint8_t*>context.output(node, 0).data + row * r.out_width * r.depth
    while row < stop:
        row = rows_at(r.out_height, row, stop, &rows)
        image = <const uint8_t*>x.data + rows.image * r.height * line_values
        for oy in range(rows.first, rows.end):
            above, below = image + r.rows[oy].first * line_values, image + r.rows[oy].second * line_values
            if r.gathered_columns == NULL:
                r.fast.blend_rows(above, below, line_values, x.type == INT8, r.rows[oy].weight, line)
                r.fast.blend_columns(line, <const int32_t*>r.columns, r.out_width, r.depth, x.type == INT8, y)
            else:
                if above != gathered:
                    gather_pixels(r, above, pairs)
                    gather_pixels(r, below, pairs + pair_values)
                    gathered = above
                r.fast.blend_rows(pairs, pairs + pair_values, pair_values, x.type == INT8, r.rows[oy].weight, line)
                r.fast.blend_columns(line, <const int32_t*>r.gathered_columns, r.out_width, r.depth, x.type == INT8, y)
            y += r.out_width * r.depth


cdef int nothing(Context context, Node* node) noexcept nogil:
    """The output is empty."""
    return 0


cdef int resize_8(Context context, Node* node) noexcept nogil:
    cdef Resizing* r = <Resizing*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    if x.type == INT8:
        bilinear_11(
            <const int8_t*>x.data, r.batches, r.height, r.width, r.depth, r.rows, r.out_height, r.columns, r.out_width, <int8_t*>y)
    else:
        bilinear_11(
            <const uint8_t*>x.data, r.batches, r.height, r.width, r.depth, r.rows, r.out_height, r.columns, r.out_width, <uint8_t*>y)
    return 0


cdef Reduction* prepare_reduction(Context context, Node* node, str name) except NULL:
    """The axes, and the output's shape."""
    cdef Tensor* x = operand(context, node, 0)
    cdef Reduction* r
    want_bytes(x, result(context, node, 0), name)
    r = <Reduction*>context.persistent(sizeof(Reduction))
    node.data = r
    r.reduced = reduced_axes(context, node)
    r.shape = fold_shape(x.rank, x.dims, r.reduced)
    r.fast = kernels()
    return r


cdef int prepare_average(Context context, Node* node, bint mean, str name) except -1:
    cdef Reduction* r = prepare_reduction(context, node, name)
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if not (x.scale > 0 and y.scale > 0):
        raise ValueError(f"{name}: the scales {x.scale} and {y.scale} are not positive")
    r.average = ready_average(x.scale, x.zero_point, y.scale, y.zero_point, r.shape.folded, mean)
    r.sums = context.request_scratch(sizeof(int32_t) * r.shape.outputs + 4)
    r.run = 0
    if x.type == INT8 and generation() == AVX2 and not cpu_avxvnni():
        r.run = last_run(x.rank, x.dims, r.reduced)
        r.run = r.run if r.run > EXACT_RUN else 0
    node.invoke = average_8
    if r.fast.elementwise_i8.average_sums != NULL and r.shape.inputs > 0 and isfinite(r.average.scale) and isfinite(r.average.offset):
        node.invoke = average_vector
    return 0


cdef int average_vector(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef int32_t* sums = <int32_t*>context.scratch(r.sums)
    memset(sums, 0, sizeof(int32_t) * r.shape.outputs)
    if r.run > 0:
        sum_runs_16(&r.shape, r.run, <const int8_t*>x.data, sums, r.fast.folds.sum_lanes_s8)
    elif x.type == INT8:
        sum_integers(r.fast, &r.shape, <const int8_t*>x.data, sums)
    else:
        sum_integers(r.fast, &r.shape, <const uint8_t*>x.data, sums)
    r.fast.elementwise_i8.average_sums(
        sums, r.average.scale, r.average.offset, x.type == INT8, <uint8_t*>context.output(node, 0).data, r.shape.outputs)
    return 0


cdef int prepare_mean(Context context, Node* node) except -1:
    return prepare_average(context, node, True, "MEAN")


cdef int prepare_sum(Context context, Node* node) except -1:
    return prepare_average(context, node, False, "SUM")


cdef int average_8(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    cdef int32_t* sums = <int32_t*>context.scratch(r.sums)
    memset(sums, 0, sizeof(int32_t) * r.shape.outputs)
    if x.type == INT8:
        if r.run > 0:
            sum_runs_16(&r.shape, r.run, <const int8_t*>x.data, sums, NULL)
        else:
            sum_narrow(&r.shape, <const int8_t*>x.data, sums)
        average_sums(sums, r.average, -128, 127, <int8_t*>y, r.shape.outputs)
    else:
        sum_narrow(&r.shape, <const uint8_t*>x.data, sums)
        average_sums(sums, r.average, 0, 255, <uint8_t*>y, r.shape.outputs)
    return 0


cdef int prepare_max(Context context, Node* node) except -1:
    prepare_reduction(context, node, "REDUCE_MAX").folding = FOLD_MAX
    node.invoke = fold_8
    return 0


cdef int prepare_min(Context context, Node* node) except -1:
    prepare_reduction(context, node, "REDUCE_MIN").folding = FOLD_MIN
    node.invoke = fold_8
    return 0


cdef int fold_8(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    if r.shape.inputs == 0:
        memset(y, 0, context.output(node, 0).bytes)
    elif x.type == INT8:
        fold_integers(&r.fast.folds, &r.shape, r.folding, FOLD_OF_S8, <const int8_t*>x.data, <int8_t*>y)
    else:
        fold_integers(&r.fast.folds, &r.shape, r.folding, FOLD_OF_U8, <const uint8_t*>x.data, <uint8_t*>y)
    return 0


OPERATORS = {
    "MAX_POOL_2D": register(prepare_max_pool, version=99),
    "MEAN": register(prepare_mean, version=99),
    "REDUCE_MAX": register(prepare_max, version=99),
    "REDUCE_MIN": register(prepare_min, version=99),
    "RESIZE_BILINEAR": register(prepare_resize, version=99),
    "SUM": register(prepare_sum, version=99),
}
