"""FULLY_CONNECTED and BATCH_MATMUL as XNNPACK computes them, on int8 and uint8 or with dynamic range.

| x | right side | operators |
| --- | --- | --- |
| int8 | int8 | both |
| int8 | int4, int2: one scale per row | FULLY_CONNECTED |
| uint8 | uint8 | FULLY_CONNECTED |
| float32 | int8, one scale or one per row (per column in BATCH_MATMUL) | both |
| float32 | int4, int2: one scale per row; int4: one per block of a row | FULLY_CONNECTED |

Quirks: the zero point of an int8 right side is ignored; int4 weights of zero point 8 are unsigned (0 to 15, less 8) beside float32 and
the same as those of zero point 0 beside int8; sparse filters, which TensorFlow's delegate takes for dense ones, are right here; with
float32 activations each row of x is quantized on its own, always asymmetric.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc, XNNPACK's src/subgraph/{fully-connected,batch-matrix-multiply}.c.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.multipliers cimport Requantize, Scaling
from tflm_cy.arithmetic.shapes cimport matrix_shape, padded_row
from tflm_cy.arithmetic.xnnpack.blockwise cimport Blocks, fill_sums, multiply_blockwise
from tflm_cy.arithmetic.xnnpack.quantized_matrix cimport multiply_8, multiply_dynamic, multiply_int2
from tflm_cy.graph.context cimport Context, Node, iteration_space, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT2, INT4, INT8, MAX_RANK, UINT8, Tensor, count, count_range, is_constant, shape_of, type_name,
)
from tflm_cy.ops.densify cimport dense_constant
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.kernels.batched_i8 cimport Batched8, multiply_batch8, plan_batched_i8
from tflm_cy.ops.kernels.row_bands cimport band_begin, count_bands
from tflm_cy.ops.xnnpack.constant_weights cimport (
    prepare_requantize, prepare_scaling, requantize_late, want_activations, want_constant, weight_rows,
)
from tflm_cy.ops.kernels.gemm_i8 cimport ready_conv_i8
from tflm_cy.ops.kernels.packed cimport parallelize_packed, run_packed, run_packed_range
from tflm_cy.ops.xnnpack.blockwise_weights cimport blocks_i4_time, prepare_blocks, ready_blocks_i4
from tflm_cy.ops.xnnpack.matrix_shapes cimport batch_dimension, check_matrices
from tflm_cy.ops.xnnpack.rank cimport as_transposed, refuse_other_rank
from tflm_cy.schema.option_slots cimport (
    BATCH_MAT_MUL_ADJ_X, BATCH_MAT_MUL_ADJ_Y, FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, FULLY_CONNECTED_KEEP_NUM_DIMS,
)
from tflm_cy.schema.table cimport table_bool, table_i8
from tflm_cy.simd.blocks_i4 cimport BlocksI4
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.ranges cimport conv_i8_time

from tflm_cy.graph.refusal import OwnRefusalError

cdef enum:
    BATCH_AXES = MAX_RANK - 2

cdef struct Matrix:
    ptrdiff_t m
    ptrdiff_t n
    ptrdiff_t k
    ptrdiff_t stride             # values of a row of w in memory
    Requantize out               # 8-bit activations
    Scaling scaling              # float32 activations
    const uint8_t* w             # rows of `stride` values; BATCH_MATMUL: of all matrices, NULL when they are not constant
    int32_t w_zero_point
    int rows                     # scratch: two rows of int16 values
    int sums                     # scratch: two rows of sums
    Blocks blocks                # blockwise scales
    BlocksI4 by_blocks           # their products, with a vector kernel
    # BATCH_MATMUL
    bint adj_x
    bint adj_y
    int batch_axes
    ptrdiff_t[BATCH_AXES] batches
    ptrdiff_t[BATCH_AXES] x_step  # matrices to the next index, 0 where x broadcasts
    ptrdiff_t[BATCH_AXES] w_step
    int transposed                   # scratch: one matrix of x as rows (adj_x)
    int columns                  # scratch: one matrix of w as rows
    ConvI8 fast                 # with a vector kernel: FULLY_CONNECTED, BATCH_MATMUL as one product
    Batched8 batched             # BATCH_MATMUL
    ptrdiff_t bands              # of the rows of a matrix, which threads share


cdef int prepare_fully_connected(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = result(context, node, 0)
    cdef int activation = table_i8(node.options, FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, 0)
    cdef Matrix* op
    want_activations(x, w, y, "FULLY_CONNECTED")
    want_constant(w, "FULLY_CONNECTED", "filter")
    if w.rank != 2 or w.dims[1] <= 0:
        raise ValueError(f"FULLY_CONNECTED: a filter {shape_of(w)} wants two dimensions")
    w = dense_constant(context, w)
    op = <Matrix*>context.persistent(sizeof(Matrix))
    node.data = op
    op.n = w.dims[0]
    op.k = w.dims[1]
    op.stride = padded_row(op.k)
    shape_fully_connected(context, node, op, x, y)
    op.w_zero_point = w.zero_point if w.type == UINT8 else 0
    if x.type == FLOAT32:
        prepare_scaling(context, w, b, activation, op.n, True, op.m, &op.scaling, "FULLY_CONNECTED")
        node.invoke = fully_connected_int2 if w.type == INT2 else fully_connected_dynamic
        if w.block_size != 0:
            node.invoke = fully_connected_blockwise
    else:
        prepare_requantize(context, x, w, b, y, activation, op.n, True, &op.out, "FULLY_CONNECTED")
        node.invoke = fully_connected_8
    if w.block_size == 0 and (w.type == INT8 or w.type == UINT8) and use_vector(context, node, op, x, w.data, op.k):
        return 0
    op.w = weight_rows(context, w, op.n, op.k, op.stride, x.type == FLOAT32 and w.type == INT4 and w.zero_point_count > 0 and w.zero_points[0] == 8)
    op.fast.four_bits = w.type == INT4 or w.type == INT2
    if w.block_size == 0 and (w.type == INT4 or w.type == INT2 and x.type == INT8) and use_vector(context, node, op, x, op.w, op.stride):
        return 0
    if node.invoke == fully_connected_blockwise:
        prepare_blocks(context, w, op.n, op.k, &op.scaling, &op.blocks)
        fill_sums(&op.blocks, <const int8_t*>op.w, op.n, op.k, op.stride, <float*>op.blocks.sums)
        if use_blocks(context, node, op):
            return 0
    request_rows(context, op)
    return 0


cdef bint use_blocks(Context context, Node* node, Matrix* op) except -1:
    """Of blockwise weights."""
    cdef BlocksI4* b = &op.by_blocks
    b.m, b.n, b.k = op.m, op.n, op.k
    b.blocks, b.scaling = op.blocks, op.scaling
    if not ready_blocks_i4(context, b, <const int8_t*>op.w, op.stride):
        return False
    node.invoke = multiply_by_blocks
    context.parallelize(node, blocks_range, iteration_space(b.panels, 1), blocks_i4_time(b))
    return True


cdef int multiply_by_blocks(Context context, Node* node) noexcept nogil:
    blocks_range(context, node, 0, (<Matrix*>node.data).by_blocks.panels, 0)
    return 0


cdef void blocks_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const BlocksI4* b = &(<Matrix*>node.data).by_blocks
    b.run(b, <const float*>context.input(node, 0).data, context.worker_scratch(b.scratch, b.scratch_bytes, worker),
          <float*>context.output(node, 0).data, first, end)


cdef bint use_vector(Context context, Node* node, Matrix* op, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    """w: rows of `row` bytes."""
    plan_vector(op, x)
    if not ready_conv_i8(context, &op.fast, x, w, row):
        return False
    node.invoke = fully_connected_vector
    parallelize_packed(context, node, &op.fast, compute_range)
    return True


cdef void plan_vector(Matrix* op, const Tensor* x) noexcept:
    cdef ConvI8* c = &op.fast
    c.shape = matrix_shape(op.m, op.k, op.n)
    c.is_signed = x.type != UINT8
    c.dynamic = x.type == FLOAT32
    c.x_zero_point = x.zero_point
    c.w_zero_point = op.w_zero_point
    c.out = op.out
    c.scaling = op.scaling
    requantize_late(&op.out, &c.finish, &c.params, &c.y_size)


cdef int fully_connected_vector(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    run_packed(context, &op.fast, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef void compute_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    run_packed_range(context, &(<Matrix*>node.data).fast, context.input(node, 0).data, context.output(node, 0).data, first, end, worker)


cdef int shape_fully_connected(Context context, const Node* node, Matrix* op, const Tensor* x, Tensor* y) except -1:
    """[rows, outputs], or x's shape with another last dimension (keep_num_dims)."""
    cdef int32_t[MAX_RANK] dims
    cdef int rank = 2
    cdef int d
    cdef object refusal = None
    op.m = count(x) / op.k
    if op.m > 0x7FFFFFFF:
        raise ValueError(f"FULLY_CONNECTED: an input {shape_of(x)} has too many rows of {op.k}")
    if count(x) % op.k != 0:
        refusal = f"FULLY_CONNECTED: an input {shape_of(x)} is not made of rows of {op.k}"
        if not table_bool(node.options, FULLY_CONNECTED_KEEP_NUM_DIMS, False):
            raise ValueError(refusal)
    dims[0] = <int32_t>op.m
    if table_bool(node.options, FULLY_CONNECTED_KEEP_NUM_DIMS, False):
        if x.rank < 1:
            raise ValueError(f"FULLY_CONNECTED: keep_num_dims wants rows of {op.k}, the input has the shape {shape_of(x)}")
        if x.dims[x.rank - 1] != op.k:
            refusal = f"FULLY_CONNECTED: keep_num_dims wants rows of {op.k}, the input has the shape {shape_of(x)}"
        rank = x.rank
        for d in range(rank):
            dims[d] = x.dims[d]
    dims[rank - 1] = <int32_t>op.n
    context.set_shape(y, rank, dims)
    if refusal is not None:                      # the delegate computes with the rows that there are
        raise OwnRefusalError(refusal)
    return 0


cdef int request_rows(Context context, Matrix* op) except -1:
    op.rows = context.request_scratch(2 * sizeof(int16_t) * op.stride + 2)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * op.n + 8)
    return 0


cdef int fully_connected_8(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef void* y = context.output(node, 0).data
    cdef int16_t* rows = <int16_t*>context.scratch(op.rows)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    if x.type == INT8:
        multiply_8(
            <const int8_t*>x.data, x.zero_point, op.m, <const int8_t*>op.w, 0, op.n, op.k, op.stride, &op.out, rows, sums, <int8_t*>y)
    else:
        multiply_8(
            <const uint8_t*>x.data, x.zero_point, op.m, op.w, op.w_zero_point, op.n, op.k, op.stride, &op.out, rows, sums, <uint8_t*>y)
    return 0


cdef int fully_connected_dynamic(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    multiply_dynamic(
        <const float*>context.input(node, 0).data, op.m, <const int8_t*>op.w, op.n, op.k, op.stride, &op.scaling,
        <int16_t*>context.scratch(op.rows), <int64_t*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_int2(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    multiply_int2(
        <const float*>context.input(node, 0).data, op.m, <const int8_t*>op.w, op.n, op.k, op.stride, &op.scaling,
        <int16_t*>context.scratch(op.rows), <int64_t*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_blockwise(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    multiply_blockwise(
        <const float*>context.input(node, 0).data, op.m, <const int8_t*>op.w, op.n, op.k, op.stride, &op.blocks, &op.scaling,
        <int16_t*>context.scratch(op.rows), <float*>context.output(node, 0).data,
    )
    return 0


cdef int prepare_batch_matmul(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* w = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    cdef Matrix* op
    cdef Tensor seen
    want_activations(x, w, y, "BATCH_MATMUL")
    if w.type != INT8 or (x.type != FLOAT32 and w.scale_count != 1):
        raise ValueError(f"BATCH_MATMUL: types {type_name(x.type)} x {type_name(w.type)} with {w.scale_count} scales are not supported")
    op = <Matrix*>context.persistent(sizeof(Matrix))
    node.data = op
    op.adj_x = table_bool(node.options, BATCH_MAT_MUL_ADJ_X, False)
    op.adj_y = table_bool(node.options, BATCH_MAT_MUL_ADJ_Y, False)
    seen = as_transposed(context, node, x, op.adj_x)
    shape_batch_matmul(context, op, &seen, w, y)
    refuse_other_rank(x, seen.rank, "BATCH_MATMUL")
    if x.type == FLOAT32:
        want_constant(w, "BATCH_MATMUL", "right side")
        prepare_scaling(context, w, NULL, 0, op.n, True, op.m, &op.scaling, "BATCH_MATMUL")
        node.invoke = batch_matmul_dynamic
    else:
        prepare_requantize(context, x, w, NULL, y, 0, op.n, True, &op.out, "BATCH_MATMUL")
        node.invoke = batch_matmul_8
    if plan_batches(context, node, op, x, w):
        return 0
    op.stride = padded_row(op.k)
    prepare_columns(context, op, w)
    op.transposed = context.request_scratch(count_range(x, x.rank - 2, x.rank) * sizeof(float) if op.adj_x else 4)
    request_rows(context, op)
    return 0


cdef bint plan_batches(Context context, Node* node, Matrix* op, const Tensor* x, const Tensor* w) except -1:
    """True when the vector kernels multiply; all matrices of x by one constant matrix are one product."""
    cdef Batched8* b = &op.batched
    cdef ptrdiff_t matrices = count_range(w, 0, w.rank - 2)
    cdef ptrdiff_t batches = batch_total(op)
    if batches <= 0:
        return False
    if matrices == 1 and not op.adj_x and count(x) == batches * op.m * op.k:
        op.m *= batches
        op.batch_axes = 0
        batches = 1
    plan_vector(op, x)
    b.plan = op.fast
    b.m, b.n, b.k = op.m, op.n, op.k
    b.adj_x, b.adj_y = op.adj_x, op.adj_y
    if not plan_batched_i8(context, b, x, w, matrices):
        return False
    node.invoke = batch_matmul_vector
    op.bands = 1
    if batches == 1 and b.packed != NULL and not op.adj_x:
        op.fast = b.packed[0]
        op.fast.scratch = b.scratch
        parallelize_packed(context, node, &op.fast, compute_range)
        return True
    op.bands = count_bands(batches, op.m, context.workers)
    context.parallelize(node, multiply_batches, iteration_space(batches * op.bands, 1), batches * conv_i8_time(&b.plan))
    return True


cdef int shape_batch_matmul(Context context, Matrix* op, const Tensor* x, const Tensor* w, Tensor* y) except -1:
    """Batches broadcast as in numpy."""
    cdef int32_t[MAX_RANK] dims
    cdef int rank = max(x.rank, w.rank)
    cdef ptrdiff_t x_step = 1
    cdef ptrdiff_t w_step = 1
    cdef int32_t xd, wd
    cdef int d
    if x.rank < 2 or w.rank < 2:
        raise ValueError(f"BATCH_MATMUL: shapes {shape_of(x)} and {shape_of(w)} want two dimensions at least")
    op.m = x.dims[x.rank - 1] if op.adj_x else x.dims[x.rank - 2]
    op.k = x.dims[x.rank - 2] if op.adj_x else x.dims[x.rank - 1]
    op.n = w.dims[w.rank - 2] if op.adj_y else w.dims[w.rank - 1]
    if op.k != (w.dims[w.rank - 1] if op.adj_y else w.dims[w.rank - 2]):
        raise ValueError(f"BATCH_MATMUL: shapes {shape_of(x)} and {shape_of(w)} do not go together")
    op.batch_axes = rank - 2
    for d in range(rank - 3, -1, -1):
        xd = x.dims[d - rank + x.rank] if d >= rank - x.rank else 1
        wd = w.dims[d - rank + w.rank] if d >= rank - w.rank else 1
        op.batches[d] = batch_dimension(xd, wd, x, w)
        op.x_step[d] = 0 if xd == 1 else x_step
        op.w_step[d] = 0 if wd == 1 else w_step
        x_step *= xd
        w_step *= wd
        dims[d] = <int32_t>op.batches[d]
    dims[rank - 2] = <int32_t>op.m
    dims[rank - 1] = <int32_t>op.n
    check_matrices(x, w, dims, rank, op.k)
    return context.set_shape(y, rank, dims)


cdef int prepare_columns(Context context, Matrix* op, const Tensor* w) except -1:
    """Room for one matrix of w with its columns as rows; constant ones are transposed now."""
    cdef ptrdiff_t matrices = count_range(w, 0, w.rank - 2)
    cdef ptrdiff_t i
    cdef int8_t* columns
    op.w = NULL
    op.columns = context.request_scratch(op.n * op.stride + 1)
    if is_constant(w):
        columns = <int8_t*>context.persistent(matrices * op.n * op.stride + 1)
        for i in range(matrices):
            transpose_columns(op, <const int8_t*>w.data + i * op.n * op.k, columns + i * op.n * op.stride)
        op.w = <const uint8_t*>columns
    return 0


cdef void transpose_columns(const Matrix* op, const int8_t* w, int8_t* columns) noexcept nogil:
    cdef ptrdiff_t row = op.k if op.adj_y else 1
    cdef ptrdiff_t step = 1 if op.adj_y else op.n
    cdef ptrdiff_t i, j
    for j in range(op.n):
        for i in range(op.k):
            columns[j * op.stride + i] = w[j * row + i * step]
        for i in range(op.k, op.stride):
            columns[j * op.stride + i] = 0


ctypedef fused value:
    int8_t
    float


cdef void transpose_rows(const Matrix* op, const value* x, value* rows) noexcept nogil:
    cdef ptrdiff_t i, j
    for i in range(op.m):
        for j in range(op.k):
            rows[i * op.k + j] = x[j * op.m + i]


cdef ptrdiff_t batch_total(const Matrix* op) noexcept nogil:
    cdef ptrdiff_t total = 1
    cdef int d
    for d in range(op.batch_axes):
        total *= op.batches[d]
    return total


cdef ptrdiff_t matrix_of(const Matrix* op, const ptrdiff_t* steps, ptrdiff_t batch) noexcept nogil:
    """The operand's matrix for an output matrix."""
    cdef ptrdiff_t at = 0
    cdef int d
    for d in range(op.batch_axes - 1, -1, -1):
        at += batch % op.batches[d] * steps[d]
        batch = batch / op.batches[d]
    return at


cdef const int8_t* columns_of(Context context, const Matrix* op, const int8_t* w, ptrdiff_t at) noexcept nogil:
    cdef int8_t* columns
    if op.w != NULL:
        return <const int8_t*>op.w + at * op.n * op.stride
    columns = <int8_t*>context.scratch(op.columns)
    transpose_columns(op, w + at * op.n * op.k, columns)
    return columns


cdef int batch_matmul_vector(Context context, Node* node) noexcept nogil:
    cdef const Matrix* op = <const Matrix*>node.data
    multiply_batches(context, node, 0, batch_total(op) * op.bands, 0)
    return 0


cdef void multiply_batches(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    cdef const int8_t* w = <const int8_t*>context.input(node, 1).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef ptrdiff_t bytes = op.m * op.n * (4 if op.batched.plan.dynamic else 1)
    cdef ptrdiff_t bands = op.bands
    cdef ptrdiff_t batch
    cdef int64_t unit
    for unit in range(first, end):
        batch = unit / bands
        multiply_batch8(
            context, &op.batched, context.input(node, 0).data, w, y + batch * bytes, matrix_of(op, op.x_step, batch),
            matrix_of(op, op.w_step, batch), band_begin(op.m, unit % bands, bands), band_begin(op.m, unit % bands + 1, bands), worker)


cdef int batch_matmul_8(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef const int8_t* w = <const int8_t*>context.input(node, 1).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef int8_t* transposed = <int8_t*>context.scratch(op.transposed)
    cdef const int8_t* matrix
    cdef ptrdiff_t batch
    for batch in range(batch_total(op)):
        matrix = <const int8_t*>x.data + matrix_of(op, op.x_step, batch) * op.m * op.k
        if op.adj_x:
            transpose_rows(op, matrix, transposed)
            matrix = transposed
        multiply_8(
            matrix, x.zero_point, op.m, columns_of(context, op, w, matrix_of(op, op.w_step, batch)), 0, op.n, op.k, op.stride, &op.out,
            <int16_t*>context.scratch(op.rows), <int64_t*>context.scratch(op.sums), y,
        )
        y += op.m * op.n
    return 0


cdef int batch_matmul_dynamic(Context context, Node* node) noexcept nogil:
    cdef Matrix* op = <Matrix*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float* transposed = <float*>context.scratch(op.transposed)
    cdef const float* matrix
    cdef ptrdiff_t batch
    for batch in range(batch_total(op)):
        matrix = x + matrix_of(op, op.x_step, batch) * op.m * op.k
        if op.adj_x:
            transpose_rows(op, matrix, transposed)
            matrix = transposed
        multiply_dynamic(
            matrix, op.m, columns_of(context, op, NULL, matrix_of(op, op.w_step, batch)), op.n, op.k, op.stride, &op.scaling,
            <int16_t*>context.scratch(op.rows), <int64_t*>context.scratch(op.sums), y,
        )
        y += op.m * op.n
    return 0


OPERATORS = {
    "BATCH_MATMUL": register(prepare_batch_matmul, version=99),
    "FULLY_CONNECTED": register(prepare_fully_connected, version=99, reference_version=99, lowest_version=1, sparse_input=1),
}
