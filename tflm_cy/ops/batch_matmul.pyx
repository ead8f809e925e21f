"""BATCH_MATMUL: x [..., m, k] times y [..., k, n]; adj_x and adj_y: that operand is stored transposed; batches broadcast. Ranks 2 to 5.

| x | y | output |
| --- | --- | --- |
| float32 | float32 | float32 |
| int8 | int8 | int8, int32 (the raw sums; zero points are ignored) |
| int16 | int16 | int16, zero points 0 |
| float32 | int8, one scale or one per column | float32, hybrid: every row of x is quantized on its own |

Quirk of the hybrid kernel: with batch indices b0, b1, b2 it takes the scales, zero points and column sums of batch b0 + b1 + b2, which is
another batch as soon as two batch dimensions exceed 1. Smallest case: x [2, 2, 1, 1], y [2, 2, 1, 1].

Source: LiteRT:tflite/kernels/{batch_matmul.cc,internal/reference/batch_matmul.h}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.fully_connected cimport fully_connected_f32
from tflm_cy.arithmetic.hybrid cimport sum_rows
from tflm_cy.arithmetic.hybrid_quantization cimport quantize_asymmetric, quantize_symmetric
from tflm_cy.arithmetic.multipliers cimport Factor, Multiplier
from tflm_cy.arithmetic.row_kernels cimport RowScale
from tflm_cy.arithmetic.product_f32 cimport pack_columns, packed_size
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT, accumulate_one, shift_values, subtract_weight_zero
from tflm_cy.arithmetic.signatures cimport TransposeBlocks
from tflm_cy.arithmetic.sum_rescale cimport Rescale, factor_of, rescale_sums
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT8, INT16, INT32, MAX_RANK, Tensor, count_range, is_constant, shape_of, type_name, type_size,
)
from tflm_cy.ops.kernels.transpose_blocks cimport transpose_of
from tflm_cy.ops.quantized_weights cimport check_product, check_quantized
from tflm_cy.schema.option_slots cimport BATCH_MAT_MUL_ADJ_X, BATCH_MAT_MUL_ADJ_Y, BATCH_MAT_MUL_ASYMMETRIC_QUANTIZE_INPUTS
from tflm_cy.schema.table cimport table_bool

cdef struct BatchMatmul:
    ptrdiff_t m
    ptrdiff_t k
    ptrdiff_t n
    ptrdiff_t[3] batches         # of the output
    ptrdiff_t[3] x_step          # matrices to the next index, 0 where x broadcasts
    ptrdiff_t[3] y_step
    ptrdiff_t x_matrices
    ptrdiff_t y_matrices
    bint adj_x
    bint adj_y
    bint asymmetric
    TransposeBlocks transpose_x  # a matrix
    TransposeBlocks transpose_y
    int rows                     # scratch: x of one batch as rows of k values
    int columns                  # scratch: y of one batch as columns: packed (float32) or rows of k values
    void* constant_columns       # all batches of a constant y, or NULL
    int sums                     # scratch
    int scales                   # scratch: one RowScale per row of x (hybrid)
    int column_sums              # scratch: one per column of y (hybrid)
    int turned                   # scratch: one matrix of x as rows (hybrid with adj_x)
    void* zeros                  # a bias of n zeros
    Rescale rescale
    const float* column_scales   # hybrid; NULL: one scale


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.input(node, 1)
    cdef Tensor* z = context.output(node, 0)
    cdef BatchMatmul* op
    if node.input_count != 2 or node.output_count != 1 or x == NULL or y == NULL or z == NULL:
        raise ValueError("BATCH_MATMUL wants two inputs and one output")
    op = <BatchMatmul*>context.persistent(sizeof(BatchMatmul))
    node.data = op
    op.adj_x = table_bool(node.options, BATCH_MAT_MUL_ADJ_X, False)
    op.adj_y = table_bool(node.options, BATCH_MAT_MUL_ADJ_Y, False)
    op.asymmetric = table_bool(node.options, BATCH_MAT_MUL_ASYMMETRIC_QUANTIZE_INPUTS, False)
    set_output_shape(context, op, x, y, z)
    op.transpose_x = transpose_of(type_size(x.type))
    op.transpose_y = transpose_of(type_size(y.type))
    op.zeros = context.persistent(sizeof(int64_t) * op.n + 8)
    op.sums = context.request_scratch(2 * sizeof(int64_t) * (op.n + 3))
    if x.type == FLOAT32 and y.type == FLOAT32 and z.type == FLOAT32:
        prepare_float(context, node, op)
    elif x.type == FLOAT32 and y.type == INT8 and z.type == FLOAT32:
        prepare_hybrid(context, node, op)
    elif x.type == INT8 and y.type == INT8 and (z.type == INT8 or z.type == INT32):
        prepare_quantized(context, node, op)
        node.invoke = multiply_s8 if z.type == INT8 else multiply_s8_s32
    elif x.type == INT16 and y.type == INT16 and z.type == INT16:
        prepare_quantized(context, node, op)
        node.invoke = multiply_s16
    else:
        raise ValueError(f"BATCH_MATMUL: lhs_data->type == rhs_data->type was not true: types {type_name(x.type)} x {type_name(y.type)} "
                         f"-> {type_name(z.type)} are not supported")
    return 0


cdef int set_output_shape(Context context, BatchMatmul* op, const Tensor* x, const Tensor* y, Tensor* z) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef int32_t[5] xd
    cdef int32_t[5] yd
    cdef int rank = max(x.rank, y.rank)
    cdef int d
    if x.rank < 2 or x.rank > 5 or y.rank < 2 or y.rank > 5:
        raise ValueError(f"BATCH_MATMUL: NumDimensions(lhs_data) <= 5 was not true: shapes {shape_of(x)} and {shape_of(y)}")
    for d in range(5):
        xd[d] = x.dims[d - 5 + x.rank] if d >= 5 - x.rank else 1
        yd[d] = y.dims[d - 5 + y.rank] if d >= 5 - y.rank else 1
    op.m = xd[4] if op.adj_x else xd[3]
    op.k = xd[3] if op.adj_x else xd[4]
    op.n = yd[3] if op.adj_y else yd[4]
    if op.k != (yd[4] if op.adj_y else yd[3]):
        raise ValueError(f"BATCH_MATMUL: accum_dim_lhs != accum_dim_rhs: shapes {shape_of(x)} and {shape_of(y)}")
    op.x_matrices = count_range(x, 0, x.rank - 2)
    op.y_matrices = count_range(y, 0, y.rank - 2)
    for d in range(3):
        if xd[d] != yd[d] and xd[d] != 1 and yd[d] != 1:
            raise ValueError(f"BATCH_MATMUL: batches do not broadcast: shapes {shape_of(x)} and {shape_of(y)}")
        op.batches[d] = yd[d] if xd[d] == 1 else xd[d]
        op.x_step[d] = 0 if xd[d] == 1 else <ptrdiff_t>product(xd, d + 1)
        op.y_step[d] = 0 if yd[d] == 1 else <ptrdiff_t>product(yd, d + 1)
    for d in range(rank - 2):
        dims[d] = <int32_t>op.batches[d + 5 - rank]
    dims[rank - 2] = <int32_t>op.m
    dims[rank - 1] = <int32_t>op.n
    context.set_shape(z, rank, dims)
    return 0


cdef int64_t product(const int32_t* dims, int first) noexcept nogil:
    """Of the batch dimensions first .. 2."""
    cdef int64_t total = 1
    cdef int d
    for d in range(first, 3):
        total *= dims[d]
    return total


cdef int prepare_float(Context context, Node* node, BatchMatmul* op) except -1:
    cdef Tensor* y = context.input(node, 1)
    cdef ptrdiff_t size = packed_size(op.n, op.k)
    cdef ptrdiff_t i
    op.rows = context.request_scratch(sizeof(float) * op.m * op.k)
    op.constant_columns = NULL
    if is_constant(y):
        op.constant_columns = context.persistent(sizeof(float) * op.y_matrices * size + 4)
        for i in range(op.y_matrices):
            pack_matrix(op, <const float*>y.data + i * op.k * op.n, <float*>op.constant_columns + i * size)
    else:
        op.columns = context.request_scratch(sizeof(float) * size)
    node.invoke = multiply_f32
    return 0


cdef void pack_matrix(const BatchMatmul* op, const float* y, float* packed) noexcept nogil:
    if op.adj_y:
        pack_columns(y, op.n, op.k, op.k, 1, packed)
    else:
        pack_columns(y, op.n, op.k, 1, op.n, packed)


cdef int prepare_quantized(Context context, Node* node, BatchMatmul* op) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.input(node, 1)
    cdef Tensor* z = context.output(node, 0)
    cdef Factor* factors
    cdef Multiplier m
    cdef double real
    cdef ptrdiff_t j
    cdef bint bare = y.scale_count == 0 and x.scale_count == 0 and z.scale_count == 0      # everything is 0
    op.rows = context.request_scratch(sizeof(int16_t) * op.m * op.k)
    prepare_columns(context, y, op)
    if z.type == INT32:
        return 0
    if not bare:
        check_quantized(x, "BATCH_MATMUL", "lhs")
        check_quantized(y, "BATCH_MATMUL", "rhs")
        check_product(x, y, "BATCH_MATMUL")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0 or z.zero_point != 0):
        raise ValueError("BATCH_MATMUL: int16 zero_point != 0")
    real = 0 if bare else <double><float>(x.scale * y.scale) / <double>z.scale
    m = quantize_multiplier(real)
    factors = <Factor*>context.persistent(sizeof(Factor) * op.n + 8)
    for j in range(op.n):
        factors[j] = factor_of(m, False)
    op.rescale.factors = factors
    op.rescale.bias = <const int64_t*>op.zeros
    op.rescale.zero_point = z.zero_point
    op.rescale.low = -128 if z.type == INT8 else -32768
    op.rescale.high = 127 if z.type == INT8 else 32767
    op.rescale.wide = x.type == INT16
    return 0


cdef int prepare_columns(Context context, const Tensor* y, BatchMatmul* op) except -1:
    """Room for the columns of y as rows; a constant y is transposed now."""
    cdef size_t element = 1 if y.type == INT8 else 2
    cdef ptrdiff_t size = op.k * op.n
    cdef ptrdiff_t i
    op.constant_columns = NULL
    if not is_constant(y):
        op.columns = context.request_scratch(element * size)
        return 0
    op.constant_columns = <void*>y.data
    if not op.adj_y:
        op.constant_columns = context.persistent(element * size * op.y_matrices + 8)
        for i in range(op.y_matrices):
            op.transpose_y(
                <const uint8_t*>y.data + element * i * size, element * op.n, op.k, op.n,
                <uint8_t*>op.constant_columns + element * i * size, element * op.k)
    return 0


cdef int prepare_hybrid(Context context, Node* node, BatchMatmul* op) except -1:
    cdef Tensor* y = context.input(node, 1)
    check_quantized(y, "BATCH_MATMUL", "rhs")
    op.column_scales = NULL
    if y.scale_count > 1:
        if y.scale_count != op.n:
            raise ValueError(f"BATCH_MATMUL: {y.scale_count} scales for {op.n} columns")
        op.column_scales = y.scales
    prepare_columns(context, y, op)
    op.rows = context.request_scratch(sizeof(int16_t) * op.x_matrices * op.m * op.k)
    op.scales = context.request_scratch(sizeof(RowScale) * op.x_matrices * op.m)
    op.column_sums = context.request_scratch(sizeof(int32_t) * op.y_matrices * op.n)
    op.turned = context.request_scratch(sizeof(float) * (op.m * op.k if op.adj_x else 1))
    node.invoke = multiply_hybrid
    return 0


cdef int multiply_f32(Context context, Node* node) noexcept nogil:
    cdef BatchMatmul* op = <BatchMatmul*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef const float* y = <const float*>context.input(node, 1).data
    cdef float* z = <float*>context.output(node, 0).data
    cdef float infinity = <float>1e39
    cdef float* rows = <float*>context.scratch(op.rows)
    cdef ptrdiff_t size = packed_size(op.n, op.k)
    cdef ptrdiff_t b0, b1, b2, at, packed_at
    cdef const float* matrix
    cdef float* packed
    packed_at = -1
    packed = NULL
    for b0 in range(op.batches[0]):
        for b1 in range(op.batches[1]):
            for b2 in range(op.batches[2]):
                matrix = x + (b0 * op.x_step[0] + b1 * op.x_step[1] + b2 * op.x_step[2]) * op.m * op.k
                if op.adj_x:
                    op.transpose_x(<const uint8_t*>matrix, 4 * op.m, op.k, op.m, <uint8_t*>rows, 4 * op.k)
                    matrix = rows
                at = b0 * op.y_step[0] + b1 * op.y_step[1] + b2 * op.y_step[2]
                if op.constant_columns != NULL:
                    packed = <float*>op.constant_columns + at * size
                elif at != packed_at:
                    packed = <float*>context.scratch(op.columns)
                    pack_matrix(op, y + at * op.k * op.n, packed)
                    packed_at = at
                fully_connected_f32(
                    matrix, op.m, packed, <const float*>op.zeros, op.n, op.k, -infinity, infinity,
                    True, <float*>context.scratch(op.sums), z,
                )
                z += op.m * op.n
    return 0


cdef inline const int8_t* columns_s8(Context context, const BatchMatmul* op, const int8_t* y, ptrdiff_t at) noexcept nogil:
    """The columns of matrix `at` of y as rows of k values."""
    cdef int8_t* room
    if op.constant_columns != NULL:
        return <const int8_t*>op.constant_columns + at * op.k * op.n
    if op.adj_y:
        return y + at * op.k * op.n
    room = <int8_t*>context.scratch(op.columns)
    op.transpose_y(<const uint8_t*>(y + at * op.k * op.n), op.n, op.k, op.n, <uint8_t*>room, op.k)
    return room


cdef inline void shifted_rows(const BatchMatmul* op, const int8_t* x, int32_t zero_point, int16_t* rows) noexcept nogil:
    """One matrix of x as rows of k values less the zero point."""
    cdef ptrdiff_t i, j
    if not op.adj_x:
        shift_values(x, op.m * op.k, zero_point, rows)
        return
    for i in range(op.k):
        for j in range(op.m):
            rows[j * op.k + i] = <int16_t>(x[i * op.m + j] - zero_point)


cdef int multiply_s8(Context context, Node* node) noexcept nogil:
    return multiply_bytes(context, node, False)


cdef int multiply_s8_s32(Context context, Node* node) noexcept nogil:
    return multiply_bytes(context, node, True)


cdef inline int multiply_bytes(Context context, Node* node, bint raw) noexcept nogil:
    cdef BatchMatmul* op = <BatchMatmul*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.input(node, 1)
    cdef Tensor* z = context.output(node, 0)
    cdef int16_t* rows = <int16_t*>context.scratch(op.rows)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    cdef int32_t x_zero = 0 if raw else x.zero_point
    cdef int32_t y_zero = 0 if raw else y.zero_point
    cdef ptrdiff_t b0, b1, b2, i, j
    cdef ptrdiff_t done = 0
    cdef const int8_t* columns
    for b0 in range(op.batches[0]):
        for b1 in range(op.batches[1]):
            for b2 in range(op.batches[2]):
                shifted_rows(
                    op, <const int8_t*>x.data + (b0 * op.x_step[0] + b1 * op.x_step[1] + b2 * op.x_step[2]) * op.m * op.k, x_zero, rows)
                columns = columns_s8(
                    context, op, <const int8_t*>y.data, b0 * op.y_step[0] + b1 * op.y_step[1] + b2 * op.y_step[2])
                for i in range(op.m):
                    for j in range(op.n):
                        sums[j] = 0
                    accumulate_one(rows + i * op.k, columns, op.n, op.k, op.k, LONGEST_8BIT, sums)
                    subtract_weight_zero(rows + i * op.k, op.k, y_zero, op.n, sums)
                    if raw:
                        for j in range(op.n):
                            (<int32_t*>z.data)[done + j] = <int32_t>sums[j]
                    else:
                        rescale_sums(sums, &op.rescale, op.n, <int8_t*>z.data + done)
                    done += op.n
    return 0


cdef int multiply_s16(Context context, Node* node) noexcept nogil:
    """Products of two int16 need 64-bit sums from the second on."""
    cdef BatchMatmul* op = <BatchMatmul*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef const int16_t* y = <const int16_t*>context.input(node, 1).data
    cdef int16_t* z = <int16_t*>context.output(node, 0).data
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    cdef int16_t* rows = <int16_t*>context.scratch(op.rows)
    cdef const int16_t* matrix
    cdef const int16_t* columns
    cdef ptrdiff_t b0, b1, b2, i, j, k
    cdef int64_t total
    for b0 in range(op.batches[0]):
        for b1 in range(op.batches[1]):
            for b2 in range(op.batches[2]):
                matrix = x + (b0 * op.x_step[0] + b1 * op.x_step[1] + b2 * op.x_step[2]) * op.m * op.k
                if op.adj_x:
                    op.transpose_x(<const uint8_t*>matrix, 2 * op.m, op.k, op.m, <uint8_t*>rows, 2 * op.k)
                    matrix = rows
                columns = y + (b0 * op.y_step[0] + b1 * op.y_step[1] + b2 * op.y_step[2]) * op.k * op.n
                if op.constant_columns != NULL:
                    columns = <const int16_t*>op.constant_columns + (columns - y)
                elif not op.adj_y:
                    op.transpose_y(<const uint8_t*>columns, 2 * op.n, op.k, op.n, <uint8_t*>context.scratch(op.columns), 2 * op.k)
                    columns = <const int16_t*>context.scratch(op.columns)
                for i in range(op.m):
                    for j in range(op.n):
                        total = 0
                        for k in range(op.k):
                            total += <int32_t>matrix[i * op.k + k] * <int32_t>columns[j * op.k + k]
                        sums[j] = total
                    rescale_sums(sums, &op.rescale, op.n, z)
                    z += op.n
    return 0


cdef int multiply_hybrid(Context context, Node* node) noexcept nogil:
    cdef BatchMatmul* op = <BatchMatmul*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef Tensor* y = context.input(node, 1)
    cdef float* z = <float*>context.output(node, 0).data
    cdef int16_t* rows = <int16_t*>context.scratch(op.rows)
    cdef RowScale* scales = <RowScale*>context.scratch(op.scales)
    cdef int32_t* column_sums = <int32_t*>context.scratch(op.column_sums)
    cdef int64_t* sums = <int64_t*>context.scratch(op.sums)
    cdef const int8_t* columns
    cdef const int16_t* row
    cdef RowScale* s
    cdef const int32_t* less
    cdef ptrdiff_t b0, b1, b2, i, j
    cdef int32_t total
    cdef float scale
    quantize_rows(op, x, <float*>context.scratch(op.turned), rows, scales)
    for i in range(op.y_matrices):
        columns = columns_s8(context, op, <const int8_t*>y.data, i)
        sum_rows(columns, op.n, op.k, column_sums + i * op.n)
    for b0 in range(op.batches[0]):
        for b1 in range(op.batches[1]):
            for b2 in range(op.batches[2]):
                columns = columns_s8(
                    context, op, <const int8_t*>y.data, b0 * op.y_step[0] + b1 * op.y_step[1] + b2 * op.y_step[2])
                row = rows + (b0 * op.x_step[0] + b1 * op.x_step[1] + b2 * op.x_step[2]) * op.m * op.k
                s = scales + index_sum(op.x_step, b0, b1, b2) * op.m
                less = column_sums + index_sum(op.y_step, b0, b1, b2) * op.n
                for i in range(op.m):
                    for j in range(op.n):
                        sums[j] = 0
                    accumulate_one(row + i * op.k, columns, op.n, op.k, op.k, LONGEST_8BIT, sums)
                    for j in range(op.n):
                        total = <int32_t>(<float><int32_t>sums[j] - <float>less[j] * <float>s[i].zero_point)
                        scale = s[i].scale * op.column_scales[j] if op.column_scales != NULL else s[i].scale * y.scale
                        z[j] = <float>0 + scale * <float>total
                    z += op.n
    return 0


cdef inline ptrdiff_t index_sum(const ptrdiff_t* step, ptrdiff_t b0, ptrdiff_t b1, ptrdiff_t b2) noexcept nogil:
    """b0 + b1 + b2 over the dimensions that do not broadcast (the kernel's mistake)."""
    return (b0 if step[0] != 0 else 0) + (b1 if step[1] != 0 else 0) + (b2 if step[2] != 0 else 0)


cdef void quantize_rows(const BatchMatmul* op, const float* x, float* turned, int16_t* rows, RowScale* scales) noexcept nogil:
    """Every row of k values of every matrix of x; turned: room for one matrix."""
    cdef const float* matrix
    cdef ptrdiff_t b, i
    for b in range(op.x_matrices):
        matrix = x + b * op.m * op.k
        if op.adj_x:
            op.transpose_x(<const uint8_t*>matrix, 4 * op.m, op.k, op.m, <uint8_t*>turned, 4 * op.k)
            matrix = turned
        for i in range(op.m):
            if op.asymmetric:
                quantize_asymmetric(matrix + i * op.k, op.k, rows, scales)
            else:
                quantize_symmetric(matrix + i * op.k, op.k, rows, scales)
            rows += op.k
            scales += 1


OPERATORS = {
    "BATCH_MATMUL": register(prepare, version=4, reference_version=3),
}
