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

from tflm_cy.arithmetic.eigen cimport activate
from tflm_cy.arithmetic.hybrid cimport accumulate_stored_rows, all_zero, has_minimum, quantize_row_by, sum_rows
from tflm_cy.arithmetic.hybrid_neon cimport FUSED, by_dots, product_flags, sparse_flags
from tflm_cy.arithmetic.hybrid_scaling cimport BY_BOTH, BY_PRODUCT
from tflm_cy.arithmetic.optimized.hybrid cimport (
    fully_connected_blocks4, fully_connected_moved, move_weights, moves_weights, quantize_row, sum_blocks4,
)
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport fused_first
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport OPTIMIZED, Context, IterationSpace, Node, iteration_space
from tflm_cy.graph.tensor cimport FLOAT16, FLOAT32, INT2, INT4, INT8, UINT8, Tensor, count, is_constant, type_name
from tflm_cy.ops.densify cimport densify, sparse_block, stored_rows
from tflm_cy.ops.fully_connected_layer cimport Matrix, shape_of_product
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.ops.kernels.hybrid_i8 cimport HybridI8, hybrid_rows, ready_hybrid_i8, run_hybrid_i8
from tflm_cy.ops.kernels.once cimport begin_once, end_once
from tflm_cy.ops.quantized_weights cimport Bias, Weights, bias_values, check_zero_points, prepare_bias, prepare_weights, weight_bytes
from tflm_cy.schema.option_slots cimport FULLY_CONNECTED_ASYMMETRIC_QUANTIZE_INPUTS
from tflm_cy.schema.table cimport table_bool
from tflm_cy.simd.table cimport row_kernels

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
    const char* stored           # of sparse weights' rows, where those without a block are left out; NULL: none is
    const uint16_t* block_scales  # float16, [rows, blocks]
    float* block_offsets
    ptrdiff_t block
    const RowKernels* rows       # or NULL
    HybridI8 packed              # with a vector kernel, when
    bint is_packed               # which is for weights without -128
    int waits                    # 1: constant weights are still to be looked at
    ptrdiff_t block_columns      # outputs that threads share together
    ptrdiff_t blocks
    const float* row_scales      # NULL: one scale
    float scale
    int32_t* row_sums            # NULL when the weights are not constant
    bint minimum
    int flags                    # hybrid_neon.pxd's ProductFlags
    int8_t* moved                # int4 weights of the optimized arithmetic, NULL when they are taken as the others


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
    op.asymmetric = table_bool(node.options, FULLY_CONNECTED_ASYMMETRIC_QUANTIZE_INPUTS, False)
    prepare_weights(context, w, &op.weights)
    op.sparse = w.sparsity != NULL
    if op.sparse:
        op.weights.unpacked = <const uint8_t*>context.persistent(count(w))
        densify(w, <char*>op.weights.unpacked, count(w))
        if AARCH64 and not by_dots(op.m.depth, has_dotprod()):
            op.stored = stored_rows(context, w)
    prepare_bias(context, b, op.m.rows, &op.bias)
    op.row_sums = NULL
    op.rows = row_kernels()
    op.flags = sparse_flags(op.m.depth, has_dotprod()) if op.sparse else product_flags(op.m.rows, op.m.depth, op.m.batches, has_dotprod())
    op.shifted = context.request_scratch(context.for_all_workers(2 * op.m.depth + 2))
    if node.arithmetic == OPTIMIZED and w.type == INT4 and is_constant(w) and moves_weights(op.m.rows, op.m.depth) and m.batches > 0:
        if w.block_size != 0:
            return prepare_blocks(context, node, op)
        op.moved = <int8_t*>context.persistent(op.m.rows * op.m.depth)
        move_weights(<const int8_t*>weight_bytes(context, w, &op.weights), op.m.rows, op.m.depth, op.moved)
        node.invoke = fully_connected_int4
        if op.bias.values == NULL:
            return 0
        return context.parallelize(node, int4_range, iteration_space(op.m.batches, 1), <double>op.m.batches * op.m.rows * op.m.depth * 0.02)
    op.sums = context.request_scratch(4 * op.m.rows + 4)
    op.is_packed = is_constant(w) and not op.sparse and use_hybrid_i8(context, op, context.input(node, 0), w)
    op.waits = is_constant(w)
    if op.waits and op.asymmetric:
        op.row_sums = <int32_t*>context.unfilled(4 * op.m.rows + 4)
    op.blocks = hybrid_rows(&op.packed) if op.is_packed else 1
    op.block_columns = op.packed.sums.plan.panel_columns if op.blocks > 1 else op.m.rows
    node.invoke = fully_connected_sparse if op.sparse else fully_connected_hybrid
    if op.sparse or not is_constant(w) or op.bias.values == NULL:
        return 0
    return context.parallelize(node, hybrid_range, shared_space(op), <double>op.m.batches * op.m.rows * op.m.depth * 0.01)


cdef IterationSpace shared_space(const HybridMatrix* op) noexcept nogil:
    """Blocks of outputs, row by row: each range quantizes its rows."""
    cdef IterationSpace space = iteration_space(op.m.batches * op.blocks, 1)
    space.min_chunk = min(op.blocks, max(<int64_t>1, space.units / 8))
    return space


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
    op.block_offsets = <float*>context.persistent(sizeof(float) * op.m.rows + 4)
    sum_blocks4(<const int8_t*>op.weights.unpacked, op.m.rows, op.m.depth, op.block, op.block_scales, op.block_offsets)
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
        quantize_row_by(op.rows, True, x + b * op.m.depth, op.m.depth, q, &s)
        fully_connected_blocks4(w, op.m.rows, op.m.depth, op.block, op.block_scales, op.block_offsets, q, &s, bias, op.rows, y + b * op.m.rows)
    return 0


cdef bint use_hybrid_i8(Context context, HybridMatrix* op, const Tensor* x, const Tensor* w) except -1:
    """A row at a time; limits are the caller's."""
    cdef ConvShape g = shape_of_product(&op.m)
    if not ready_hybrid_i8(
            context, &op.packed, &g, x, <const int8_t*>weight_bytes(context, w, &op.weights),
            op.row_scales if op.row_scales != NULL else &op.scale, BY_PRODUCT if op.row_scales != NULL else BY_BOTH, op.asymmetric,
            <const float*>op.bias.values, -INFINITY, INFINITY):
        return False
    op.packed.out.fused = op.flags & FUSED
    return True


cdef inline void look_at_weights(Context context, const Node* node, HybridMatrix* op) noexcept nogil:
    """The first invoke: a weight of -128 is not for the packed kernel."""
    cdef const int8_t* bytes
    if not begin_once(&op.waits):
        return
    bytes = <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights)
    op.minimum = has_minimum(bytes, op.m.rows, op.m.depth)
    op.is_packed = op.is_packed and not op.minimum
    if op.row_sums != NULL:
        sum_rows(bytes, op.m.rows, op.m.depth, op.row_sums)
    end_once(&op.waits)


cdef int fully_connected_hybrid(Context context, Node* node) noexcept nogil:
    """Each row of x is quantized on its own; when the whole of x is zero the outputs are the bias."""
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    if not is_constant(context.input(node, 1)):
        op.row_sums = <int32_t*>context.scratch(op.sums)
        op.waits = 1
    hybrid_range(context, node, 0, op.m.batches * op.blocks, 0)
    return 0


cdef void hybrid_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some blocks of outputs."""
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef bint skip = all_zero(x, count(context.input(node, 0)))
    cdef ptrdiff_t b, column, columns
    cdef int64_t stop
    look_at_weights(context, node, op)
    if op.is_packed and not skip:
        run_hybrid_i8(context, &op.packed, x, y, first, end, worker)
    while first < end:
        b = first / op.blocks
        stop = min(end, (b + 1) * op.blocks)
        column = (first - b * op.blocks) * op.block_columns
        columns = min(op.m.rows, (stop - b * op.blocks) * op.block_columns) - column
        if skip or not op.is_packed:
            multiply_row(context, node, op, x + b * op.m.depth, skip, column, columns, worker, y + b * op.m.rows + column)
        activate(y + b * op.m.rows + column, columns, op.activation, op.rows)
        first = stop


cdef int fully_connected_sparse(Context context, Node* node) noexcept nogil:
    """When all rows that TensorFlow gives a thread are zero, the outputs are the bias."""
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t threads = max(1, min(<ptrdiff_t>context.num_threads, op.m.batches))
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t end, b, t
    cdef bint skip
    look_at_weights(context, node, op)
    for t in range(threads):
        end = start + op.m.batches / threads + (1 if t < op.m.batches % threads else 0)
        skip = all_zero(x + start * op.m.depth, (end - start) * op.m.depth)
        for b in range(start, end):
            multiply_row(context, node, op, x + b * op.m.depth, skip, 0, op.m.rows, 0, y + b * op.m.rows)
            activate(y + b * op.m.rows, op.m.rows, op.activation, op.rows)
        start = end
    return 0


cdef inline void multiply_row(
    Context context, const Node* node, const HybridMatrix* op, const float* row, bint skip, ptrdiff_t column, ptrdiff_t columns, int worker,
    float* y,
) noexcept nogil:
    """Some outputs of one row of values: the bias, and the products unless they are skipped."""
    cdef int16_t* q = <int16_t*>context.worker_scratch(op.shifted, 2 * op.m.depth + 2, worker)
    cdef const int8_t* w = <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights) + column * op.m.depth
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias) + column
    cdef const float* scales = op.row_scales + column if op.row_scales != NULL else NULL
    cdef const int32_t* row_sums = op.row_sums + column if op.row_sums != NULL else NULL
    cdef RowScale s
    cdef float scale, offset, part
    cdef ptrdiff_t o
    for o in range(columns):
        y[o] = bias[o]
    if skip:
        return
    quantize_row_by(op.rows, op.asymmetric, row, op.m.depth, q, &s)
    scale = s.scale if scales != NULL else s.scale * op.scale
    if op.sparse and op.asymmetric:
        offset = scale * <float>s.zero_point
        for o in range(columns):
            part = offset if scales == NULL else offset * scales[o]
            y[o] = fused_first(y[o], -part, <float>row_sums[o]) if AARCH64 else y[o] - part * <float>row_sums[o]
        s.zero_point = 0
    accumulate_stored_rows(
        w, columns, op.m.depth, q, scale, scales, s.zero_point, row_sums, op.minimum, op.flags, op.rows,
        op.stored + column if op.stored != NULL else NULL, y)


cdef int fully_connected_int4(Context context, Node* node) noexcept nogil:
    int4_range(context, node, 0, (<HybridMatrix*>node.data).m.batches, 0)
    return 0


cdef void int4_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some rows of values."""
    cdef HybridMatrix* op = <HybridMatrix*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data + first * op.m.rows
    cdef int16_t* q = <int16_t*>context.worker_scratch(op.shifted, 2 * op.m.depth + 2, worker)
    cdef int64_t b
    cdef float scale
    for b in range(first, end):
        scale = quantize_row(x + b * op.m.depth, op.m.depth, q)
        fully_connected_moved(
            op.moved, op.m.rows, op.m.depth, q, scale, op.row_scales, op.scale, bias, op.m.batches == 1, op.rows, y)
        activate(y, op.m.rows, op.activation, op.rows)
        y += op.m.rows
