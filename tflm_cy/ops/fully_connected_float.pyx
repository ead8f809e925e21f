"""FULLY_CONNECTED on float32 values and weights; constant weights may be sparse.

The reference sums in order; the optimized kernel in Eigen's order, of sparse weights in blocks of four columns in four lanes.

Source: LiteRT:tflite/kernels/fully_connected.cc.
"""
from libc.math cimport INFINITY, fabsf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint32_t

from tflm_cy.arithmetic.conv cimport repair_conv_f32
from tflm_cy.arithmetic.eigen cimport matrix_vector_f32, top_block
from tflm_cy.arithmetic.fixed_point cimport RangeF, activation_range_f32, clamp_f32
from tflm_cy.arithmetic.fully_connected cimport fully_connected_f32
from tflm_cy.arithmetic.hybrid cimport accumulate_dot_f32
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product
from tflm_cy.arithmetic.nan_order cimport add_first, fused_first, mul_first
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.optimized.conv cimport conv_f32_eigen_slices
from tflm_cy.arithmetic.optimized.product cimport (
    MATRIX_VECTOR, PANELS, Product, enter_product, finish_eigen, leave_product, multiply_rows_eigen, multiply_together_eigen, pack_panels,
    packed_panels, plan_product,
)
from tflm_cy.arithmetic.product_f32 cimport Run, pack_columns, packed_size
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, is_constant, type_name
from tflm_cy.ops.densify cimport densify, mark_stored, sparse_block
from tflm_cy.ops.fully_connected_layer cimport Matrix, shape_of_product
from tflm_cy.ops.kernels.conv_f32_unfused cimport filter_of, ready_unfused, run_unfused
from tflm_cy.ops.quantized_weights cimport Bias, bias_values, prepare_bias, prepare_bias_as
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused, RowsConvF32Unfused
from tflm_cy.simd.table cimport kernels, row_kernels

ctypedef void (*PackRowsConvF32Unfused)(const float* w, ptrdiff_t n, ptrdiff_t k, float* packed) noexcept nogil

cdef enum:
    ROWS_TOGETHER = 32           # of values, whose products are made together

cdef struct FloatMatrix:
    Matrix m
    Bias bias
    RangeF range
    float* packed                # NULL when the weights are not constant
    int packing                  # scratch, then
    int sums                     # scratch: two rows of sums
    Product product              # of the optimized arithmetic
    ConvF32Unfused fast32         # with a vector kernel
    RowsConvF32Unfused rows_kernel
    float* packed_rows
    PackRowsConvF32Unfused pack_rows  # at the first invoke, then NULL
    int runs                     # scratch, for NaN
    const RowKernels* rows       # or NULL
    bint together                # products of weights that are not constant are made by them
    const float* dense           # sparse weights of the optimized kernel, written out
    const uint32_t* stored       # not 0 where they are stored: the others are not multiplied with infinities and NaN


cdef int prepare_float(Context context, Node* node, const Matrix* m, int activation) except -1:
    cdef FloatMatrix* op = <FloatMatrix*>context.persistent(sizeof(FloatMatrix))
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef const float* values = <const float*>w.data
    cdef char* dense
    if w.type != FLOAT32 or context.output(node, 0).type != FLOAT32 or (
            b != NULL and b.type != FLOAT32 and node.arithmetic != MICRO):
        raise ValueError(
            f"FULLY_CONNECTED: types FLOAT32 x {type_name(w.type)} -> {type_name(context.output(node, 0).type)} are not supported")
    op.m = m[0]
    op.range = activation_range_f32(activation)
    op.packed = NULL
    node.data = op
    if node.arithmetic == OPTIMIZED and w.sparsity == NULL:
        return prepare_eigen(context, node, op)
    if node.arithmetic == OPTIMIZED and sparse_block(w) != 1:
        return prepare_blocks(context, node, op)
    if is_constant(w) and w.sparsity == NULL:
        prepare_bias_as(context, b, FLOAT32, op.m.rows, &op.bias)
        if use_conv_f32_unfused(context, node, op, False):
            op.runs = context.request_scratch(sizeof(Run))
            node.invoke = fully_connected_gemm_f32
            return 0
    if is_constant(w):
        context.materialize(w)
        if w.sparsity != NULL:
            dense = <char*>context.persistent(4 * count(w))
            densify(w, dense, 4 * count(w))
            values = <const float*>dense
            keep_sparse(context, node, op, w, values)
        op.packed = <float*>context.persistent(4 * packed_size(op.m.rows, op.m.depth) + 4)
        pack_columns(values, op.m.rows, op.m.depth, op.m.depth, 1, op.packed)
    else:
        op.packing = context.request_scratch(4 * packed_size(op.m.rows, op.m.depth) + 4)
    prepare_bias_as(context, b, FLOAT32, op.m.rows, &op.bias)
    op.sums = context.request_scratch(2 * 4 * (op.m.rows + 3))
    node.invoke = fully_connected_float
    return 0


cdef int keep_sparse(Context context, const Node* node, FloatMatrix* op, const Tensor* w, const float* dense) except -1:
    cdef char* stored
    if node.arithmetic != OPTIMIZED:          # the reference multiplies dense weights
        return 0
    stored = <char*>context.persistent(4 * count(w))
    mark_stored(w, stored, 4 * count(w))
    op.dense = dense
    op.stored = <const uint32_t*>stored
    return 0


cdef bint all_finite(const float* x, ptrdiff_t n) noexcept nogil:
    cdef ptrdiff_t i
    cdef int beyond = 0
    for i in range(n):
        beyond |= not fabsf(x[i]) < INFINITY
    return not beyond


cdef void multiply_stored(const FloatMatrix* op, ptrdiff_t block, const float* x, const float* bias, float* y) noexcept nogil:
    """One row of values: in order, or in lanes of blocks of four. Terms are fused on aarch64, where lanes are added two by two."""
    cdef const float* w = op.dense
    cdef const uint32_t* stored = op.stored
    cdef float[4] sums
    cdef ptrdiff_t o, k
    for o in range(op.m.rows):
        sums[0] = sums[1] = sums[2] = sums[3] = 0
        for k in range(op.m.depth):
            if stored[k]:
                sums[k % block] = plus_product(sums[k % block], w[k], x[k])
        if block == 4 and AARCH64:
            sums[0] = 0 + ((sums[0] + sums[1]) + (sums[2] + sums[3]))
        elif block == 4:
            sums[0] = 0 + (((sums[0] + sums[1]) + sums[2]) + sums[3])
        if (AARCH64 or block == 4) and sums[0] != sums[0]:
            sums[0] = nan_of_stored(w, stored, x, op.m.depth, block)
        y[o] = clamp_f32(add_first(sums[0], bias[o]) if AARCH64 else sums[0] + bias[o], op.range.low, op.range.high)
        w += op.m.depth
        stored += op.m.depth


cdef float nan_of_stored(const float* w, const uint32_t* stored, const float* x, ptrdiff_t depth, ptrdiff_t block) noexcept nogil:
    """The first NaN of a lane; of the lanes' that of the last. On aarch64 the first lane's, and of a product's two NaN the value's in lanes, else the
    weight's."""
    cdef float[4] sums = [0, 0, 0, 0]
    cdef ptrdiff_t k
    for k in range(depth):
        if stored[k] and not AARCH64:
            sums[k % block] = add_first(sums[k % block], mul_first(w[k], x[k]))
        elif stored[k]:
            sums[k % block] = fused_first(sums[k % block], x[k] if block == 4 else w[k], w[k] if block == 4 else x[k])
    if not AARCH64:
        return add_first(sums[3], add_first(sums[2], add_first(sums[0], sums[1])))
    return add_first(add_first(sums[0], sums[1]), add_first(sums[2], sums[3])) if block == 4 else sums[0]


cdef bint use_conv_f32_unfused(Context context, const Node* node, FloatMatrix* op, bint panels) except -1:
    op.fast32.window.shape = shape_of_product(&op.m)
    op.fast32.window.low = op.range.low
    op.fast32.window.high = op.range.high
    op.fast32.panels = panels
    op.fast32.block = op.product.block if panels else 0
    op.fast32.bias = <const float*>op.bias.values
    op.fast32.column_stride, op.fast32.k_stride = op.m.depth, 1
    return ready_unfused(context, node, &op.fast32)


cdef int prepare_blocks(Context context, Node* node, FloatMatrix* op) except -1:
    """Sparse weights in blocks of four columns: summed in four lanes. Single values are summed in order, as the reference does."""
    cdef Tensor* w = context.input(node, 1)
    if sparse_block(w) != 4:
        raise ValueError("FULLY_CONNECTED: Unsupported sparse fully-connected weight format: blocks of "
                         f"{sparse_block(w)} columns, not of 4")
    op.packed = <float*>context.persistent(4 * count(w))
    densify(w, <char*>op.packed, 4 * count(w))
    keep_sparse(context, node, op, w, op.packed)
    prepare_bias(context, context.input(node, 2), op.m.rows, &op.bias)
    node.invoke = fully_connected_blocks
    return 0


cdef int prepare_eigen(Context context, Node* node, FloatMatrix* op) except -1:
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef ptrdiff_t o
    op.product = plan_product(op.m.rows, op.m.depth, op.m.batches, top_block(l1_data_bytes()))
    prepare_bias(context, b, op.m.rows, &op.bias)
    if b == NULL:
        for o in range(op.m.rows):           # nothing is added: a sum of -0.0 stays
            (<float*>op.bias.values)[o] = <float>-0.0
    if is_constant(w) and op.product.method == PANELS and use_conv_f32_unfused(context, node, op, True):
        op.packing = context.request_scratch(16 * sizeof(float) * op.m.depth)          # for NaN
        op.sums = context.request_scratch(32 * sizeof(float))
        node.invoke = fully_connected_gemm_f32_eigen
        return 0
    op.sums = context.request_scratch(2 * 4 * op.m.rows + 4)
    if op.product.method == MATRIX_VECTOR and is_constant(w) and kernels().conv_f32_unfused.rows != NULL:
        op.packing = context.request_scratch(4 * packed_panels(&op.product) + 4)     # for NaN
        op.packed_rows = <float*>context.unfilled(kernels().conv_f32_unfused.rows_bytes(op.m.rows, op.m.depth))
        op.pack_rows = kernels().conv_f32_unfused.pack_rows
        op.rows_kernel = kernels().conv_f32_unfused.rows
        node.invoke = fully_connected_gemm_f32_row
        return 0
    if is_constant(w):
        if op.product.method == PANELS:
            context.materialize(w)
        op.packed = <float*>context.persistent(4 * packed_panels(&op.product) + 4)
        pack_panels(&op.product, <const float*>w.data, op.packed)
    else:
        op.packing = context.request_scratch(4 * packed_panels(&op.product) + 4)
        op.rows = row_kernels()
        if op.rows != NULL and (op.product.method == PANELS or op.product.method == MATRIX_VECTOR):
            op.together = True
            op.sums = context.request_scratch(4 * ROWS_TOGETHER * op.m.rows + 4)
    node.invoke = fully_connected_eigen
    return 0


cdef int fully_connected_float(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef Tensor* w = context.input(node, 1)
    cdef float* packed = op.packed
    if op.stored != NULL and (AARCH64 or not all_finite(<const float*>context.input(node, 0).data, op.m.batches * op.m.depth)):
        return fully_connected_stored(context, node)
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_columns(<const float*>w.data, op.m.rows, op.m.depth, op.m.depth, 1, packed)
    fully_connected_f32(
        <const float*>context.input(node, 0).data, op.m.batches, packed,
        <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias), op.m.rows, op.m.depth, op.range.low, op.range.high,
        False, <float*>context.scratch(op.sums), <float*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_gemm_f32(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if run_unfused(context, node, &op.fast32, x, y):
        repair_conv_f32(
            &op.fast32.window.shape, x, filter_of(context, node), <Run*>context.scratch(op.runs), y)
    return 0


cdef int fully_connected_gemm_f32_eigen(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    if run_unfused(context, node, &op.fast32, x, y):
        conv_f32_eigen_slices(
            &op.fast32.window.shape, &op.product, x, filter_of(context, node), <const float*>op.bias.values,
            op.range.low, op.range.high, <float*>context.scratch(op.packing), NULL, <float*>context.scratch(op.sums), y,
        )
    return 0


cdef int fully_connected_gemm_f32_row(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    if op.pack_rows != NULL:
        op.pack_rows(<const float*>context.input(node, 1).data, op.m.rows, op.m.depth, op.packed_rows)
        op.pack_rows = NULL
    if op.rows_kernel(
            op.packed_rows, <const float*>context.input(node, 1).data, op.m.rows, op.m.depth,
            <const float*>context.input(node, 0).data, bias, op.range.low, op.range.high, <float*>context.output(node, 0).data):
        return fully_connected_eigen(context, node)
    return 0


cdef int fully_connected_eigen(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* w = <const float*>context.input(node, 1).data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float* sums = <float*>context.scratch(op.sums)
    cdef float* packed = op.packed
    cdef ptrdiff_t j = 0
    cdef bint pair
    cdef unsigned long long mode
    if packed == NULL and op.together:
        return fully_connected_together(context, node)
    if packed == NULL:
        packed = <float*>context.scratch(op.packing)
        pack_panels(&op.product, w, packed)
    mode = enter_product(&op.product)
    while j < op.m.batches:
        pair = j + 1 < op.m.batches
        multiply_rows_eigen(&op.product, w, packed, x, x + op.m.depth if pair else NULL, j, sums, sums + op.m.rows)
        finish_eigen(sums, bias, op.m.rows, op.range.low, op.range.high, y)
        if pair:
            finish_eigen(sums + op.m.rows, bias, op.m.rows, op.range.low, op.range.high, y + op.m.rows)
        x += 2 * op.m.depth
        y += 2 * op.m.rows
        j += 2
    leave_product(&op.product, mode)
    return 0


cdef int fully_connected_together(Context context, Node* node) noexcept nogil:
    """Weights that another invoke may change, as they lie in memory."""
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* w = <const float*>context.input(node, 1).data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float* sums = <float*>context.scratch(op.sums)
    cdef float* packed
    cdef ptrdiff_t j = 0
    cdef ptrdiff_t rows, i
    while j < op.m.batches:
        rows = min(<ptrdiff_t>ROWS_TOGETHER, op.m.batches - j)
        if op.product.method == MATRIX_VECTOR:
            matrix_vector_f32(w, op.m.rows, op.m.depth, x, True, sums, op.rows)
        elif not multiply_together_eigen(&op.product, w, x, j, rows, op.rows, sums):
            packed = <float*>context.scratch(op.packing)
            pack_panels(&op.product, w, packed)
            rows = min(<ptrdiff_t>2, rows)
            multiply_rows_eigen(&op.product, w, packed, x, x + op.m.depth if rows > 1 else NULL, j, sums, sums + op.m.rows)
        for i in range(rows):
            finish_eigen(sums + i * op.m.rows, bias, op.m.rows, op.range.low, op.range.high, y + i * op.m.rows)
        x += rows * op.m.depth
        y += rows * op.m.rows
        j += rows
    return 0


cdef int fully_connected_stored(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t block = 1 if node.invoke == fully_connected_float else 4
    cdef ptrdiff_t b
    for b in range(op.m.batches):
        multiply_stored(op, block, x + b * op.m.depth, bias, y + b * op.m.rows)
    return 0


cdef int fully_connected_blocks(Context context, Node* node) noexcept nogil:
    cdef FloatMatrix* op = <FloatMatrix*>node.data
    cdef const float* bias = <const float*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t b, o
    if not all_finite(x, op.m.batches * op.m.depth):
        return fully_connected_stored(context, node)
    for b in range(op.m.batches):
        for o in range(op.m.rows):
            y[o] = clamp_f32(
                accumulate_dot_f32(0, op.packed + o * op.m.depth, x, op.m.depth) + bias[o], op.range.low, op.range.high)
        x += op.m.depth
        y += op.m.rows
    return 0
