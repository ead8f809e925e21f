"""FULLY_CONNECTED and BATCH_MATMUL in float32: each output one chain of fused multiply-adds over the depth.

FULLY_CONNECTED: constant weights [outputs, depth], dense or sparse, which TensorFlow's delegate takes for dense ones; optional constant
bias. BATCH_MATMUL: x [..., m, k] times y [..., k, n], either stored
transposed, batches broadcast, up to six dimensions; y constant or not.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.fixed_point cimport RangeF
from tflm_cy.arithmetic.signatures cimport TransposeBlocks
from tflm_cy.arithmetic.xnnpack.product cimport matrix_f32, pack_filters, packed_size
from tflm_cy.graph.context cimport Context, Node, iteration_space, packs, register
from tflm_cy.graph.tensor cimport FLOAT32, MAX_RANK, Tensor, count, count_range, is_constant, shape_of, type_name
from tflm_cy.ops.densify cimport dense_constant
from tflm_cy.arithmetic.xnnpack.product_order cimport order_of_matrix, order_of_rows
from tflm_cy.ops.xnnpack.definitions cimport product_rules
from tflm_cy.ops.xnnpack.limits cimport float_limits
from tflm_cy.ops.xnnpack.matrix_shapes cimport batch_dimension, check_matrices
from tflm_cy.ops.xnnpack.packed_matrix cimport multiply_matrix, pack_matrix, packed_matrix_bytes, set_product
from tflm_cy.ops.xnnpack.rank cimport XNNPACK_RANK, as_transposed, check_rank, refuse_other_rank
from tflm_cy.ops.kernels.gemm_f32 cimport GemmF32, ready_f32, run_f32, run_range_f32, try_fuse_f32
from tflm_cy.ops.kernels.packed cimport parallelize_packed, plan_packed, request_workers
from tflm_cy.ops.kernels.row_bands cimport band_begin, count_bands
from tflm_cy.ops.kernels.transpose_blocks cimport transpose_of
from tflm_cy.schema.option_slots cimport (
    BATCH_MAT_MUL_ADJ_X, BATCH_MAT_MUL_ADJ_Y, FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, FULLY_CONNECTED_KEEP_NUM_DIMS,
)
from tflm_cy.schema.table cimport table_bool, table_i8

from tflm_cy.graph.refusal import OwnRefusalError

cdef enum:
    BATCH_DIMS = 4               # of a matrix product of six dimensions

cdef struct FullyConnected:
    GemmF32 fast                # the first of both: `multiply_vector` wants nothing else
    ptrdiff_t rows
    ptrdiff_t depth
    ptrdiff_t outputs
    int order                    # without a vector kernel, as `packed`
    RangeF range
    float* packed                # without a vector kernel

cdef struct BatchMatmul:
    GemmF32 fast                # its plan has the only matrix of a constant y, and the limits in any case
    ptrdiff_t m
    ptrdiff_t k
    ptrdiff_t n
    int64_t[BATCH_DIMS] batches  # of the output
    int64_t[BATCH_DIMS] x_step   # matrices to the next index, 0 where x broadcasts
    int64_t[BATCH_DIMS] y_step
    bint adj_x
    bint adj_y
    ptrdiff_t column_stride      # of a matrix of y, in floats
    ptrdiff_t k_stride
    float** constant_columns     # all matrices of a constant y, packed; NULL:
    ptrdiff_t columns_bytes
    int columns                  # scratch: one of them, for each worker
    int rows                     # scratch: a matrix of x transposed, for each worker
    TransposeBlocks transpose
    bint vector                  # `fast` serves, else the scalar definition
    ptrdiff_t bands              # of the rows of a matrix, which threads share


# ---- FULLY_CONNECTED
cdef int prepare_fully_connected(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef const float* bias = NULL
    cdef FullyConnected* op
    if node.output_count != 1 or x == NULL or w == NULL or y == NULL:
        raise ValueError("FULLY_CONNECTED: an operand is missing")
    if x.type != FLOAT32 or w.type != FLOAT32 or y.type != FLOAT32 or (b != NULL and b.type != FLOAT32):
        raise ValueError(f"FULLY_CONNECTED: types {type_name(x.type)} x {type_name(w.type)} -> {type_name(y.type)} are not supported")
    if w.rank != 2 or w.dims[1] <= 0 or not is_constant(w) or (b != NULL and (not is_constant(b) or count(b) != w.dims[0])):
        raise ValueError(f"FULLY_CONNECTED: weights {shape_of(w)} must be a constant matrix, the bias constant with a value per row")
    w = dense_constant(context, w)
    op = <FullyConnected*>context.persistent(sizeof(FullyConnected))
    op.outputs, op.depth = w.dims[0], w.dims[1]
    set_fully_connected_shape(context, node, op, x, y)
    op.range = float_limits(table_i8(node.options, FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, 0))
    if b != NULL:
        bias = <const float*>b.data
    node.data = op
    op.order = order_of_matrix(product_rules(), op.rows, op.outputs)
    set_product(&op.fast.plan, op.rows, op.depth, op.outputs, op.range, op.order)
    if ready_f32(context, &op.fast.plan, w, 0, bias, op.depth, 1):
        node.invoke = multiply_vector
        node.try_fuse = try_fuse
        return parallelize_packed(context, node, &op.fast.plan, multiply_range)
    op.packed = <float*>context.persistent(sizeof(float) * packed_size(op.outputs, op.depth))
    context.materialize(w)
    pack_filters(<const float*>w.data, bias, op.outputs, op.depth, op.depth, 1, op.packed)
    node.invoke = fully_connected
    return 0


cdef int set_fully_connected_shape(Context context, const Node* node, FullyConnected* op, const Tensor* x, Tensor* y) except -1:
    """[rows, outputs], or x's shape with another last dimension (keep_num_dims)."""
    cdef int32_t[MAX_RANK] dims
    cdef int64_t total = count(x)
    cdef int rank = 2
    cdef int d
    check_rank(x, "FULLY_CONNECTED")
    cdef object refusal = None
    if total % op.depth != 0:
        refusal = f"FULLY_CONNECTED: an input of the shape {shape_of(x)} has no whole rows of {op.depth}"
        if not table_bool(node.options, FULLY_CONNECTED_KEEP_NUM_DIMS, False):
            raise ValueError(refusal)
    op.rows = total / op.depth
    dims[0] = <int32_t>op.rows
    dims[1] = <int32_t>op.outputs
    if table_bool(node.options, FULLY_CONNECTED_KEEP_NUM_DIMS, False):
        if x.rank < 1:
            raise ValueError(f"FULLY_CONNECTED: keep_num_dims wants rows of {op.depth}, the input has the shape {shape_of(x)}")
        if x.dims[x.rank - 1] != op.depth:
            refusal = f"FULLY_CONNECTED: keep_num_dims wants rows of {op.depth}, the input has the shape {shape_of(x)}"
        rank = x.rank
        for d in range(rank - 1):
            dims[d] = x.dims[d]
        dims[rank - 1] = <int32_t>op.outputs
    context.set_shape(y, rank, dims)
    if refusal is not None:                      # the delegate computes with the rows that there are
        raise OwnRefusalError(refusal)
    return 0


cdef int multiply_vector(Context context, Node* node) noexcept nogil:
    run_f32(context, node, <const GemmF32*>node.data, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data)
    return 0


cdef void multiply_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_range_f32(
        context, node, <const GemmF32*>node.data, <const float*>context.input(node, 0).data, <float*>context.output(node, 0).data,
        first, end, worker)


cdef bint try_fuse(Context context, Node* node, const Node* reader, int operand, int other) noexcept:
    return try_fuse_f32(<GemmF32*>node.data, context, node, reader, operand, other)


cdef int fully_connected(Context context, Node* node) noexcept nogil:
    cdef FullyConnected* op = <FullyConnected*>node.data
    matrix_f32(
        <const float*>context.input(node, 0).data, op.rows, op.depth, op.packed, op.outputs, op.range.low, op.range.high, op.order,
        <float*>context.output(node, 0).data,
    )
    return 0


# ---- BATCH_MATMUL
cdef int prepare_batch_matmul(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.input(node, 1)
    cdef Tensor* z = context.output(node, 0)
    cdef BatchMatmul* op
    cdef Tensor seen
    cdef ptrdiff_t size
    cdef int64_t matrices, i
    cdef int order
    if node.input_count != 2 or node.output_count != 1 or x == NULL or y == NULL or z == NULL:
        raise ValueError("BATCH_MATMUL wants two inputs and one output")
    if x.type != FLOAT32 or y.type != FLOAT32 or z.type != FLOAT32:
        raise ValueError(f"BATCH_MATMUL: types {type_name(x.type)} x {type_name(y.type)} -> {type_name(z.type)} are not supported")
    op = <BatchMatmul*>context.persistent(sizeof(BatchMatmul))
    op.adj_x = table_bool(node.options, BATCH_MAT_MUL_ADJ_X, False)
    op.adj_y = table_bool(node.options, BATCH_MAT_MUL_ADJ_Y, False)
    seen = as_transposed(context, node, x, op.adj_x)
    set_product_shape(context, op, &seen, y, z)
    refuse_other_rank(x, seen.rank, "BATCH_MATMUL")
    order = order_of_rows(product_rules(), op.m)
    node.data = op
    node.invoke = batch_matmul
    matrices = count_range(y, 0, y.rank - 2)
    if matrices == 1 and not op.adj_x:
        join_rows(op)
    set_product(&op.fast.plan, op.m, op.k, op.n, float_limits(0), order)
    if matrices == 1 and not op.adj_x and is_constant(y):
        if ready_f32(context, &op.fast.plan, y, 0, NULL, op.column_stride, op.k_stride):
            node.invoke = multiply_vector
            return parallelize_packed(context, node, &op.fast.plan, multiply_range)
    op.vector = plan_packed(&op.fast.plan)
    size = packed_matrix_bytes(&op.fast.plan, op.vector)
    if is_constant(y):
        op.constant_columns = <float**>context.persistent(sizeof(float*) * matrices)
        for i in range(matrices):
            op.constant_columns[i] = pack_matrix(
                &op.fast.plan, op.vector, <const float*>y.data + i * op.k * op.n, op.column_stride, op.k_stride, <float*>context.unfilled(size))
    else:
        op.columns_bytes = size
        op.columns = context.request_scratch(context.for_all_workers(size))
    if op.vector:
        request_workers(context, &op.fast.plan)
    if op.adj_x:
        op.transpose = transpose_of(sizeof(float))
        op.rows = context.request_scratch(context.for_all_workers(sizeof(float) * op.m * op.k))
    matrices = matrix_count(op)
    op.bands = count_bands(matrices, op.m, context.workers)
    return context.parallelize(node, batch_range, iteration_space(matrices * op.bands, 1), matrices * op.k * (op.n + op.m * op.n * 0.02))


cdef void join_rows(BatchMatmul* op) noexcept nogil:
    """All matrices of x meet the same one: they are one."""
    cdef int d
    for d in range(BATCH_DIMS):
        op.m *= op.batches[d]
        op.batches[d] = 1


cdef int set_product_shape(Context context, BatchMatmul* op, const Tensor* x, const Tensor* y, Tensor* z) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef int64_t x_size = 1
    cdef int64_t y_size = 1
    cdef int32_t x_dim, y_dim
    cdef int rank = max(x.rank, y.rank)
    cdef int d
    if x.rank < 2 or y.rank < 2 or rank > XNNPACK_RANK:
        raise ValueError(f"BATCH_MATMUL: shapes {shape_of(x)} and {shape_of(y)}")
    op.m = x.dims[x.rank - 1 if op.adj_x else x.rank - 2]
    op.k = x.dims[x.rank - 2 if op.adj_x else x.rank - 1]
    op.n = y.dims[y.rank - 2 if op.adj_y else y.rank - 1]
    op.column_stride = op.k if op.adj_y else 1
    op.k_stride = 1 if op.adj_y else op.n
    if op.k != y.dims[y.rank - 1 if op.adj_y else y.rank - 2]:
        raise ValueError(f"BATCH_MATMUL: depths differ: shapes {shape_of(x)} and {shape_of(y)}")
    for d in range(BATCH_DIMS):                             # from the innermost batch dimension outwards
        x_dim = x.dims[x.rank - 3 - d] if x.rank >= 3 + d else 1
        y_dim = y.dims[y.rank - 3 - d] if y.rank >= 3 + d else 1
        op.batches[BATCH_DIMS - 1 - d] = batch_dimension(x_dim, y_dim, x, y)
        op.x_step[BATCH_DIMS - 1 - d] = 0 if x_dim == 1 else x_size
        op.y_step[BATCH_DIMS - 1 - d] = 0 if y_dim == 1 else y_size
        x_size *= x_dim
        y_size *= y_dim
    for d in range(rank - 2):
        dims[d] = <int32_t>op.batches[BATCH_DIMS - rank + 2 + d]
    dims[rank - 2] = <int32_t>op.m
    dims[rank - 1] = <int32_t>op.n
    check_matrices(x, y, dims, rank, op.k)
    return context.set_shape(z, rank, dims)


cdef int batch_matmul(Context context, Node* node) noexcept nogil:
    cdef const BatchMatmul* op = <const BatchMatmul*>node.data
    batch_range(context, node, 0, matrix_count(op) * op.bands, 0)
    return 0


cdef int64_t matrix_count(const BatchMatmul* op) noexcept nogil:
    """Of the output."""
    return op.batches[0] * op.batches[1] * op.batches[2] * op.batches[3]


cdef void batch_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some bands of the output's matrices. Those of y are packed when first met; a run of batches that share one packs it once."""
    cdef const BatchMatmul* op = <const BatchMatmul*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef const float* y = <const float*>context.input(node, 1).data
    cdef float* z = <float*>context.output(node, 0).data
    cdef float* columns = NULL
    cdef float* turned
    cdef int64_t packed = -1
    cdef int64_t unit, i, xi, yi
    cdef ptrdiff_t row, stop
    cdef const float* rows
    for unit in range(first, end):
        i = unit / op.bands
        row = band_begin(op.m, unit % op.bands, op.bands)
        stop = band_begin(op.m, unit % op.bands + 1, op.bands)
        xi = matrix_at(op, op.x_step, i)
        yi = matrix_at(op, op.y_step, i)
        if op.constant_columns != NULL:
            columns = op.constant_columns[yi]
        elif packed != yi:
            columns = pack_matrix(
                &op.fast.plan, op.vector, y + yi * op.k * op.n, op.column_stride, op.k_stride,
                <float*>context.worker_scratch(op.columns, op.columns_bytes, worker))
            packed = yi
        if op.adj_x:
            turned = <float*>context.worker_scratch(op.rows, sizeof(float) * op.m * op.k, worker)
            op.transpose(<const uint8_t*>(x + xi * op.m * op.k + row), 4 * op.m, op.k, stop - row, <uint8_t*>turned, 4 * op.k)
            rows = turned
        else:
            rows = x + (xi * op.m + row) * op.k
        multiply_matrix(context, &op.fast.plan, op.vector, rows, stop - row, columns, z + (i * op.m + row) * op.n, worker)


cdef int64_t matrix_at(const BatchMatmul* op, const int64_t* step, int64_t i) noexcept nogil:
    """The matrix of an operand that the output's i-th one is made of."""
    cdef int64_t at = 0
    cdef int d
    for d in range(BATCH_DIMS - 1, -1, -1):
        at += i % op.batches[d] * step[d]
        i /= op.batches[d]
    return at


OPERATORS = {
    "BATCH_MATMUL": register(prepare_batch_matmul, version=99),
    "FULLY_CONNECTED": packs(register(prepare_fully_connected, version=99, reference_version=99, lowest_version=1, sparse_input=1), 1),
}
