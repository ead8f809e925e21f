"""FULLY_CONNECTED on float32 values with integer weights: each row of values is quantized while invoking (arithmetic/hybrid.pxd).

Weights: int8, uint8 (read as int8), int4, int2, with one scale or one per row; constant int8 ones may be sparse, in blocks of 16 columns.
Any fused activation. Bias and output are float32.

The optimized kernel of int4 weights is `arithmetic/optimized/hybrid.pxd`; it alone knows blockwise scales, elsewhere they count as a scale of 0.
Sparse weights: the zero point's part is taken off first, in float32; when all rows that TensorFlow gives a thread are zero, the outputs are the bias.

Source: LiteRT:tflite/kernels/fully_connected.cc.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

from tflm_cy.arithmetic.conv cimport ConvShape
from tflm_cy.arithmetic.eigen cimport activate
from tflm_cy.arithmetic.hybrid cimport (
    RowScale, accumulate_rows, all_zero, has_minimum, quantize_asymmetric, quantize_symmetric, sum_rows,
)
from tflm_cy.arithmetic.optimized.hybrid cimport fully_connected_blocks4, fully_connected_moved, move_weights, moves_weights, quantize_row
from tflm_cy.arithmetic.product_s16 cimport shift_values
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node
from tflm_cy.graph.tensor cimport FLOAT16, FLOAT32, INT2, INT4, INT8, UINT8, Tensor, count, is_constant, type_name
from tflm_cy.ops.densify cimport densify, sparse_block
from tflm_cy.ops.fully_connected_layer cimport Matrix, matrix_shape
from tflm_cy.ops.kernels.hybrid_i8 cimport BY_BOTH, BY_PRODUCT, HybridI8, ready_hybrid_i8, run_hybrid_i8
from tflm_cy.ops.quantized_weights cimport Bias, Weights, bias_values, check_zero_points, prepare_bias, prepare_weights, weight_bytes
from tflm_cy.schema.table cimport table_bool

cdef enum:                       # FullyConnectedOptions
    ASYMMETRIC_QUANTIZE_INPUTS = 3

cdef enum:
    MOST_SPARSE_COLUMNS = 4096   # TensorFlow counts blocks in bytes
    LONGEST_BLOCK = 16384        # products that fit 24 bits

cdef struct HybridMatrix:
    Matrix m
    Weights weights
    Bias bias
    int sums                     # scratch: the rows' sums of weights that are not constant
    int shifted                  # scratch: one quantized row
    int activation               # of any kind, infinities stay
    bint asymmetric
    bint sparse
    const uint16_t* block_scales  # float16, [rows, blocks]
    ptrdiff_t block
    HybridI8 fast_hybrid          # with a vector kernel, when
    bint fast_rows
    const float* row_scales      # NULL: one scale
    float scale
    int32_t* row_sums            # NULL when the weights are not constant
    bint minimum
    int8_t* moved                # int4 weights of the optimized arithmetic, NULL when they are taken as the others
    int16_t* wide                # constant weights widened, NULL when one of them is -128 or they are not constant


cdef int prepare_hybrid(Context context, Node* node, const Matrix* m, int activation) except -1:
    cdef HybridMatrix* op = <HybridMatrix*>context.persistent(sizeof(HybridMatrix))
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    if ((w.type != INT8 and w.type != INT4 and w.type != INT2 and w.type != UINT8) or context.output(node, 0).type != FLOAT32
            or (b != NULL and b.type != FLOAT32)):
        raise ValueError(
            f"FULLY_CONNECTED: types FLOAT32 x {type_name(w.type)} -> {type_name(context.output(node, 0).type)} are not supported")
    if w.sparsity != NULL and (w.type == INT4 or w.type == INT2 or sparse_block(w) != 16 or m.depth > MOST_SPARSE_COLUMNS):
        raise ValueError("FULLY_CONNECTED: Unsupported sparse fully-connected weight format: float32 values want int8 weights in blocks of 16 columns")
    if w.type == INT4 or w.type == INT2:
        check_zero_points(w, "FULLY_CONNECTED", "filter: Unsupported filter quantization zero-point value.")
    op.m = m[0]
    node.data = op
    op.row_scales = NULL
    op.scale = w.scale
    if w.scale_count > 1:
        if w.scale_count != op.m.rows:
            raise ValueError(f"FULLY_CONNECTED: {w.scale_count} scales for {op.m.rows} rows")
        op.row_scales = w.scales
    op.activation = activation
    op.asymmetric = table_bool(node.options, ASYMMETRIC_QUANTIZE_INPUTS, False)
    prepare_weights(context, w, &op.weights)
    op.sparse = w.sparsity != NULL
    if op.sparse:
        op.weights.unpacked = <const uint8_t*>context.persistent(count(w))
        densify(w, <char*>op.weights.unpacked, count(w))
    prepare_bias(context, b, op.m.rows, &op.bias)
    op.row_sums = NULL
    op.wide = NULL
    op.shifted = context.request_scratch(2 * op.m.depth + 2)
    if node.arithmetic == OPTIMIZED and w.type == INT4 and is_constant(w) and moves_weights(op.m.rows, op.m.depth) and m.batches > 0:
        if w.block_size != 0:
            return prepare_blocks(context, node, op)
        op.moved = <int8_t*>context.persistent(op.m.rows * op.m.depth)
        move_weights(<const int8_t*>weight_bytes(context, w, &op.weights), op.m.rows, op.m.depth, op.moved)
        node.invoke = fully_connected_int4
        return 0
    op.fast_rows = is_constant(w) and not op.sparse and use_hybrid_i8(context, op, context.input(node, 0), w)
    op.sums = context.request_scratch(4 * op.m.rows + 4)
    if op.fast_rows:
        if op.asymmetric:
            op.row_sums = <int32_t*>context.unfilled(4 * op.m.rows + 4)
        node.invoke = choose_kernel
        return 0
    if is_constant(w):
        op.minimum = has_minimum(<const int8_t*>weight_bytes(context, w, &op.weights), op.m.rows, op.m.depth)
        if not op.minimum:
            op.wide = <int16_t*>context.persistent(2 * op.m.rows * op.m.depth + 2)
            shift_values(<const int8_t*>weight_bytes(context, w, &op.weights), op.m.rows * op.m.depth, 0, op.wide)
        if op.asymmetric:
            op.row_sums = <int32_t*>context.persistent(4 * op.m.rows + 4)
            sum_rows(<const int8_t*>weight_bytes(context, w, &op.weights), op.m.rows, op.m.depth, op.row_sums)
    node.invoke = fully_connected_hybrid
    return 0


cdef int prepare_blocks(Context context, Node* node, HybridMatrix* op) except -1:
    """Blockwise scales: a constant of float16."""
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* scales
    if w.block_scales < 0 or w.block_scales >= context.tensor_count:
        raise ValueError(f"FULLY_CONNECTED: tensor {w.block_scales}, the scales, does not exist")
    scales = &context.tensors[w.block_scales]
    if w.block_size < 1 or w.block_size > LONGEST_BLOCK or scales.type != FLOAT16 or scales.data == NULL:
        raise ValueError(f"FULLY_CONNECTED: blocks of {w.block_size} weights with scales {type_name(scales.type)}")
    if <int64_t>scales.bytes < 2 * op.m.rows * (op.m.depth / w.block_size):
        raise ValueError(f"FULLY_CONNECTED: {count(scales)} scales for {op.m.rows * (op.m.depth / w.block_size)} blocks")
    op.block_scales = <const uint16_t*>scales.data
    op.block = w.block_size
    node.invoke = fully_connected_blockwise
    return 0


cdef int fully_connected_blockwise(Context context, Node* node) noexcept nogil:
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef const int8_t* w = <const int8_t*>op.weights.unpacked
    cdef const float* bias = NULL
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int16_t* q = <int16_t*>context.scratch(op.shifted)
    cdef RowScale s
    cdef ptrdiff_t b
    if context.input(node, 2) != NULL:
        bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    for b in range(op.m.batches):
        quantize_asymmetric(x + b * op.m.depth, op.m.depth, q, &s)
        fully_connected_blocks4(w, op.m.rows, op.m.depth, op.block, op.block_scales, q, &s, bias, y + b * op.m.rows)
    return 0


cdef bint use_hybrid_i8(Context context, HybridMatrix* op, const Tensor* x, const Tensor* w) except -1:
    """A row at a time; limits are the caller's."""
    cdef ConvShape g
    matrix_shape(&op.m, &g)
    g.batches = 1
    return ready_hybrid_i8(
        context, &op.fast_hybrid, &g, x, <const int8_t*>weight_bytes(context, w, &op.weights),
        op.row_scales if op.row_scales != NULL else &op.scale, BY_PRODUCT if op.row_scales != NULL else BY_BOTH,
        <const float*>op.bias.values, -INFINITY, INFINITY)


cdef int choose_kernel(Context context, Node* node) noexcept nogil:
    """The first invoke: a weight of -128 is not for the vector kernel."""
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef const int8_t* bytes = <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights)
    op.minimum = has_minimum(bytes, op.m.rows, op.m.depth)
    op.fast_rows = not op.minimum
    if op.minimum and op.asymmetric:
        sum_rows(bytes, op.m.rows, op.m.depth, op.row_sums)
    node.invoke = fully_connected_hybrid
    return fully_connected_hybrid(context, node)


cdef int fully_connected_hybrid(Context context, Node* node) noexcept nogil:
    """Each row of x is quantized on its own; when the whole of x is zero the outputs are the bias."""
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef const int8_t* bytes = <const int8_t*>weight_bytes(context, w, &op.weights)
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef int32_t* row_sums = op.row_sums
    cdef const float* row = <const float*>x.data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t threads = max(1, min(<ptrdiff_t>context.num_threads, op.m.batches)) if op.sparse else 1
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t end, b, o, t
    cdef bint skip = all_zero(row, count(x))
    if not is_constant(w):
        row_sums = <int32_t*>context.scratch(op.sums)
        sum_rows(bytes, op.m.rows, op.m.depth, row_sums)
    for t in range(threads):
        end = start + op.m.batches / threads + (1 if t < op.m.batches % threads else 0)
        if op.sparse:
            skip = all_zero(row, (end - start) * op.m.depth)
        for b in range(start, end):
            for o in range(op.m.rows):
                y[o] = bias[o]
            if not skip:
                multiply_row(context, op, bytes, op.minimum or not is_constant(w), row_sums, row, y)
            activate(y, op.m.rows, op.activation)
            row += op.m.depth
            y += op.m.rows
        start = end
    return 0


cdef inline void multiply_row(
    Context context, HybridMatrix* op, const int8_t* bytes, bint minimum, const int32_t* row_sums, const float* row, float* y,
) noexcept nogil:
    """Added to y."""
    cdef int16_t* q = <int16_t*>context.scratch(op.shifted)
    cdef RowScale s
    cdef float scale, offset
    cdef ptrdiff_t o
    if op.asymmetric:
        quantize_asymmetric(row, op.m.depth, q, &s)
    else:
        quantize_symmetric(row, op.m.depth, q, &s)
    scale = s.scale if op.row_scales != NULL else s.scale * op.scale
    if op.sparse and op.asymmetric:
        offset = scale * <float>s.zero_point
        for o in range(op.m.rows):
            y[o] -= (offset if op.row_scales == NULL else offset * op.row_scales[o]) * <float>row_sums[o]
        s.zero_point = 0
    if op.fast_rows:
        run_hybrid_i8(
            &op.fast_hybrid, q, s.zero_point, s.scale, context.scratch(op.fast_hybrid.narrow),
            context.scratch(op.fast_hybrid.sums.scratch), y)
    elif op.wide != NULL:
        accumulate_rows(<const int16_t*>op.wide, op.m.rows, op.m.depth, q, scale, op.row_scales, s.zero_point, row_sums, False, y)
    else:
        accumulate_rows(bytes, op.m.rows, op.m.depth, q, scale, op.row_scales, s.zero_point, row_sums, minimum, y)


cdef int fully_connected_int4(Context context, Node* node) noexcept nogil:
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int16_t* q = <int16_t*>context.scratch(op.shifted)
    cdef ptrdiff_t b
    cdef float scale
    for b in range(op.m.batches):
        scale = quantize_row(x + b * op.m.depth, op.m.depth, q)
        fully_connected_moved(op.moved, op.m.rows, op.m.depth, q, scale, op.row_scales, op.scale, bias, y)
        activate(y, op.m.rows, op.activation)
        y += op.m.rows
    return 0
