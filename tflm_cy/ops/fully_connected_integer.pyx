"""FULLY_CONNECTED on integers.

| output | x | weights | bias |
| --- | --- | --- | --- |
| int8 | int8 | int8 (constant ones may be sparse), int4, int2 | int32 |
| uint8 | uint8 | uint8 | int32 |
| int16 | int16 | int8, int4, int2 | int64, or int32 with quantized_bias_type |
| int16 | uint8 | uint8 | int32; the reference wants one |
| int16, and the operands | uint8 | uint8, shuffled | int32 |

The output and whether x is int16 decide on the kernel. Values, weights of whole bytes and biases of another integer type are read as those of
the kernel, as many bytes as it wants: what TensorFlow computes of models whose types do not belong together.

The reference rescales in double, the optimized kernels in fixed point, halves up; there an int32 bias of the int16 kernel needs no option,
int16 outputs of uint8 have no zero point, and int16 values with weights that have one are the reference's. Sparse int8 weights, in blocks of
16 columns, and shuffled ones have the fixed point of the reference's other kernels in every arithmetic.

Source: LiteRT:tflite/kernels/fully_connected.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.multipliers cimport Factor, Multiplier
from tflm_cy.arithmetic.optimized.product_pairs cimport row_sums_in_pairs
from tflm_cy.arithmetic.optimized.rounding cimport gemm_rounding, rounding_of_shift
from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.fully_connected cimport (
    DoubleRescale, fully_connected_quantized, fully_connected_shuffled, fully_connected_u8_s16, rescale_double, rescale_whole, shuffle_values,
)
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT, LONGEST_16BIT
from tflm_cy.arithmetic.sum_rescale cimport HALVES_AWAY, ONCE, Rescale, factor_of
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, REFERENCE, Context, Node, iteration_space
from tflm_cy.graph.tensor cimport INT2, INT4, INT8, INT16, INT32, INT64, UINT8, Tensor, count, is_constant, type_name
from tflm_cy.ops.densify cimport densify, sparse_block
from tflm_cy.ops.kernels.requantize_fixed cimport (
    LateRequantize, parallelize_fixed, ready_requantize_fixed, run_fixed, run_fixed_range,
)
from tflm_cy.ops.fully_connected_layer cimport Matrix, shape_of_product
from tflm_cy.ops.product_pairs cimport wraps_in_pairs
from tflm_cy.ops.quantized_weights cimport (
    Bias, Weights, bias_values, check_bias_scale, check_bias_type, check_bias_width, check_product, check_quantized, check_zero_points,
    prepare_bias_as,
    prepare_weights, set_activation_range, weight_bytes,
)
from tflm_cy.ops.kernels.gemm_i8 cimport plan_conv_i8
from tflm_cy.ops.kernels.rows_i16 cimport RowsI16, multiply_rows_i16, plan_rows_i16
from tflm_cy.schema.option_slots cimport FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, FULLY_CONNECTED_QUANTIZED_BIAS_TYPE
from tflm_cy.schema.table cimport table_i8
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    MOST_LANES = 16              # of a vector: kernels read whole vectors of scales

cdef struct IntegerMatrix:
    Matrix m
    Weights weights
    Bias bias
    int sums                     # scratch: two rows of sums
    DoubleRescale rescale
    Rescale fixed                # the optimized and the micro arithmetic's
    ConvI8 fast                  # with a vector kernel
    LateRequantize requantize
    RowsI16 rows
    int shifted                  # scratch: two rows of x less the zero point
    int32_t x_zero_point
    int32_t w_zero_point         # 0 with scales per row

cdef struct IntegerTypes:        # what the operands' types say
    int option                   # the bias's type, where it matters
    bint is_packed               # weights of 4 or 2 bits
    bint bytes_to_16             # from bytes to int16
    bint both_16                 # from int16 to int16
    bint is_unsigned             # bytes are uint8
    bint natural                 # all operands have the types that belong together
    bint gemm                    # the optimized product of matrices


cdef struct ShuffledMatrix:
    Matrix m
    Multiplier multiplier
    int32_t low
    int32_t high


cdef int prepare_integer(Context context, Node* node, const Matrix* m, int activation) except -1:
    cdef IntegerMatrix* op = <IntegerMatrix*>context.persistent(sizeof(IntegerMatrix))
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef IntegerTypes t
    read_types(node, x, w, b, y, &t)
    op.m = m[0]
    node.data = op
    if w.sparsity != NULL and (x.type != INT8 or w.type != INT8 or w.zero_point != 0 or sparse_block(w) != 16):
        raise LateRefusalError(
            "FULLY_CONNECTED: Unsupported sparse fully-connected weight format: int8 weights want zero point 0 and blocks of 16 columns")
    check_quantized(x, "FULLY_CONNECTED", "input")
    check_quantized(w, "FULLY_CONNECTED", "filter")
    read_zero_points(node, x, w, b, y, op, &t)
    check_bias(node, x, b, y, &t)
    if t.is_packed:
        check_zero_points(w, "FULLY_CONNECTED", "filter: Unsupported filter quantization zero-point value.")
    if t.both_16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("FULLY_CONNECTED: int16 zero_point != 0")
    set_activation_range(activation, y, &op.fixed)
    read_scales(context, x, w, b, y, op, &t)
    if w.sparsity != NULL:
        prepare_fixed(context, x, w, y, op, HALVES_AWAY, False)
    elif t.gemm:
        if t.bytes_to_16:
            op.fixed.zero_point = 0
        prepare_fixed(context, x, w, y, op, gemm_rounding(op.m.rows, op.m.batches, op.m.depth, not t.both_16), False)
    elif node.arithmetic == MICRO:
        prepare_fixed(context, x, w, y, op, HALVES_AWAY, op.rescale.wide)
    prepare_weights(context, w, &op.weights)
    if w.sparsity != NULL:
        op.weights.unpacked = <const uint8_t*>context.persistent(count(w))
        densify(w, <char*>op.weights.unpacked, count(w))
    prepare_bias_as(context, b, INT64 if op.rescale.wide else INT32, op.m.rows, &op.bias)      # of a constant int64 bias its first half
    return choose_kernel(context, node, op, &t)


cdef int read_types(const Node* node, const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, IntegerTypes* t) except -1:
    """What the types say about the product; refuse those that no kernel takes."""
    cdef bint plain_bias = b == NULL or b.type == INT32 or b.type == INT64
    t.option = table_i8(node.options, FULLY_CONNECTED_QUANTIZED_BIAS_TYPE, 0)
    t.is_packed = w.type == INT4 or w.type == INT2
    t.bytes_to_16 = y.type == INT16 and x.type != INT16
    t.both_16 = y.type == INT16 and x.type == INT16
    t.is_unsigned = y.type == UINT8 or t.bytes_to_16
    if not is_integer(x.type) or not is_integer(y.type) or not (w.type == INT8 or w.type == UINT8 or (t.is_packed and not t.is_unsigned)) or (
            t.bytes_to_16 and x.type == UINT8 and w.type != UINT8):
        if node.arithmetic == REFERENCE and is_integer(x.type) and t.is_packed and y.type == UINT8 and plain_bias:    # there the kernel itself looks
            raise LateRefusalError(f"FULLY_CONNECTED: filter->type != kTfLite{type_name(w.type).title()} was not true")
        read = w.type == INT4 and is_integer(x.type) and is_integer(y.type) and plain_bias and (
            x.type != UINT8 or y.type != INT16)      # TensorFlow reads the packed weights as bytes
        raise (OwnRefusalError if read else ValueError)(
            f"FULLY_CONNECTED: types {type_name(x.type)} x {type_name(w.type)} -> {type_name(y.type)} are not supported")
    t.natural = x.type == (UINT8 if t.is_unsigned else y.type) and (t.is_packed or w.type == (UINT8 if t.is_unsigned else INT8))
    if node.arithmetic == MICRO and (not t.natural or t.bytes_to_16 or w.type == INT2):
        raise ValueError(f"FULLY_CONNECTED: TFLM does not take {type_name(x.type)} x {type_name(w.type)} -> {type_name(y.type)}")
    return 0


cdef int read_zero_points(
    const Node* node, const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, IntegerMatrix* op, IntegerTypes* t,
) except -1:
    """Zero points as the kernel has them, and whether it is a product of matrices in the optimized arithmetic."""
    op.x_zero_point = x.zero_point
    op.w_zero_point = w.zero_point if w.scale_count == 1 else 0
    t.gemm = node.arithmetic == OPTIMIZED and not (t.both_16 and (op.w_zero_point != 0 or (b != NULL and b.type == INT64)))
    if t.gemm and t.is_unsigned:          # it keeps them as what it reads
        op.x_zero_point, op.w_zero_point = <uint8_t>op.x_zero_point, <uint8_t>op.w_zero_point
    elif t.gemm and y.type == INT8:
        op.x_zero_point, op.w_zero_point = <int8_t>op.x_zero_point, <int8_t>op.w_zero_point
    if b != NULL and (node.arithmetic == MICRO or (t.gemm and b.type == INT32)):
        t.option = b.type            # there the bias itself decides
    return 0


cdef int check_bias(const Node* node, const Tensor* x, const Tensor* b, const Tensor* y, const IntegerTypes* t) except -1:
    """Refuse a bias of another type; TFLM reads it as its kernel wants it, whatever its type."""
    if t.both_16 and node.arithmetic != MICRO:
        if node.options == NULL:
            raise ValueError("FULLY_CONNECTED: params->quantized_bias_type == kTfLiteInt64 was not true: there are no options")
        check_bias_type(x, b, t.option, "FULLY_CONNECTED")
        check_bias_width(x, b, t.option, "FULLY_CONNECTED")
    elif node.arithmetic != MICRO and b != NULL and b.type != INT32 and not (b.type == INT64 and is_constant(b)):
        raise ValueError(f"FULLY_CONNECTED: bias has type {type_name(b.type)}, expected INT32")
    if t.bytes_to_16 and b == NULL and node.arithmetic != OPTIMIZED:
        raise OwnRefusalError("FULLY_CONNECTED: the reference kernel from UINT8 to INT16 wants a bias")
    return 0


cdef int read_scales(
    Context context, const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, IntegerMatrix* op, const IntegerTypes* t,
) except -1:
    """The scale of each row's sums, in double precision."""
    cdef double* scales
    cdef double real
    cdef ptrdiff_t o
    if w.scale_count > 1:
        if not t.natural or t.is_unsigned or w.quantized_dimension != 0 or w.scale_count != op.m.rows:
            raise ValueError(f"FULLY_CONNECTED: {w.scale_count} scales along dimension {w.quantized_dimension} for {op.m.rows} rows")
    else:
        check_bias_scale(x, w, b, y, "FULLY_CONNECTED")
        check_product(x, w, "FULLY_CONNECTED")
    scales = <double*>context.persistent(sizeof(double) * (op.m.rows + MOST_LANES))
    memset(scales + op.m.rows, 0, sizeof(double) * MOST_LANES)
    real = <double>x.scale * <double>w.scale / <double>y.scale
    for o in range(op.m.rows):
        if w.scale_count > 1:
            real = <double>x.scale * <double>w.scales[o] / <double>y.scale
        scales[o] = real
    op.rescale.scales = scales
    op.rescale.low = op.fixed.low
    op.rescale.high = op.fixed.high
    op.rescale.zero_point = op.fixed.zero_point
    op.rescale.longest = LONGEST_8BIT if t.natural and x.type != INT16 else LONGEST_16BIT
    op.rescale.wide = t.both_16 and t.option != INT32
    return 0


cdef int choose_kernel(Context context, Node* node, IntegerMatrix* op, const IntegerTypes* t) except -1:
    """A vector kernel if it takes this product, else the scalar definition."""
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef int y_type = context.output(node, 0).type
    # TFLM's plans may lay the output over the input, which the vector kernels do not permit (ops/overlaps.py)
    cdef bint may_be_fast = node.arithmetic != MICRO and is_constant(w)
    if t.gemm and not t.both_16 and gemm_rounding(op.m.rows, op.m.batches, op.m.depth, True) == ONCE and wraps_in_pairs(
            op.m.rows, op.m.depth, weight_bytes(context, w, &op.weights) if is_constant(w) else NULL, t.is_unsigned, op.w_zero_point):
        op.shifted = context.request_scratch(context.for_all_workers(2 * op.m.depth + 2))
        op.sums = context.request_scratch(context.for_all_workers(8 * op.m.rows + 8))
        node.invoke = fully_connected_in_pairs
        if is_constant(w) and op.bias.values != NULL:
            op.fixed.bias = op.rescale.bias = <const int64_t*>op.bias.values
            context.parallelize(
                node, pairs_range, iteration_space(op.m.batches, 1), <double>op.m.batches * op.m.rows * (0.3 * op.m.depth + 1))
        return 0
    if may_be_fast and t.natural and y_type != INT16 and ready_gemm_i8(context, op, x, w):
        node.invoke = fully_connected_gemm_i8
        return parallelize_fixed(context, node, &op.fast, gemm_i8_range)
    if may_be_fast and t.both_16 and op.w_zero_point == 0 and op.bias.values != NULL and plan_rows_i16(
            context, &op.rows, <const int8_t*>weight_bytes(context, w, &op.weights), op.m.depth, op.m.rows, op.m.depth):
        node.invoke = fully_connected_rows
        return context.parallelize(
            node, rows_range, iteration_space(op.m.batches, 1), <double>op.m.batches * op.m.rows * (0.02 * op.m.depth + 3))
    op.shifted = context.request_scratch(2 * 2 * op.m.depth + 2)
    op.sums = context.request_scratch(2 * 8 * op.m.rows + 8)
    node.invoke = fully_connected_s8
    if t.bytes_to_16:
        node.invoke = fully_connected_bytes_to_16
    elif y_type == INT16:
        node.invoke = fully_connected_s16
    elif y_type == UINT8:
        node.invoke = fully_connected_u8
    return 0


cdef bint is_integer(int type) noexcept nogil:
    return type == INT8 or type == UINT8 or type == INT16


cdef int prepare_shuffled(Context context, Node* node, const Matrix* m) except -1:
    """The second output holds the operands; without a batch of 1 or 4 rows TensorFlow computes nothing."""
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef Tensor* operands = context.output(node, 1)
    cdef ShuffledMatrix* op = <ShuffledMatrix*>context.persistent(sizeof(ShuffledMatrix))
    cdef Rescale out
    cdef double real
    if x.type != UINT8 or w.type != UINT8 or y.type != INT16:
        raise ValueError(f"FULLY_CONNECTED: shuffled weights take UINT8 x UINT8 -> INT16, not {type_name(x.type)} x {type_name(w.type)} -> "
                         f"{type_name(y.type)}")
    if operands == NULL:
        raise ValueError("FULLY_CONNECTED: shuffled weights want a second output")
    if b == NULL or not (b.type == INT32 or (b.type == INT64 and is_constant(b))):
        raise ValueError("FULLY_CONNECTED: shuffled weights want an INT32 bias")
    if m.depth % 16 != 0 or m.rows % 4 != 0 or (m.batches != 1 and m.batches != 4 and m.batches != 0):
        raise OwnRefusalError(f"FULLY_CONNECTED: shuffled weights want blocks of 4 x 16 and 1 or 4 rows of values, not {m.rows} x {m.depth} and {m.batches}")
    check_quantized(x, "FULLY_CONNECTED", "input")
    check_quantized(w, "FULLY_CONNECTED", "filter")
    if w.scale_count > 1:
        raise ValueError("FULLY_CONNECTED: input->type == kTfLiteInt8 || input->type == kTfLiteInt16 was not true: scales per row")
    check_bias_scale(x, w, b, y, "FULLY_CONNECTED")
    check_product(x, w, "FULLY_CONNECTED")
    set_activation_range(table_i8(node.options, FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, 0), y, &out)
    real = <double><float>(x.scale * w.scale) / <double>y.scale
    op.m = m[0]
    op.low = -32768 if node.arithmetic == OPTIMIZED else out.low
    op.high = 32767 if node.arithmetic == OPTIMIZED else out.high
    op.multiplier = quantize_multiplier(real)
    context.set_shape(operands, operands.rank, operands.dims)          # as the file has it
    node.data = op
    node.invoke = refuse_operands
    if operands.type == UINT8:
        if count(operands) < m.batches * m.depth:
            raise OwnRefusalError(f"FULLY_CONNECTED: {count(operands)} operands are too few for {m.batches} rows of {m.depth}")
        node.invoke = run_shuffled
    return 0


cdef int refuse_operands(Context context, Node* node) noexcept nogil:
    return context.fail(b"Unexpected data type")


cdef int run_shuffled(Context context, Node* node) noexcept nogil:
    cdef ShuffledMatrix* op = <ShuffledMatrix*>node.data
    cdef uint8_t* operands = <uint8_t*>context.output(node, 1).data
    if op.m.batches == 0 or op.m.rows == 0:
        return 0
    shuffle_values(<const uint8_t*>context.input(node, 0).data, op.m.batches, op.m.depth, operands)
    fully_connected_shuffled(
        <const int8_t*>operands, op.m.batches, <const int8_t*>context.input(node, 1).data,
        <const int32_t*>context.input(node, 2).data, op.m.rows, op.m.depth, op.multiplier, op.low, op.high,
        <int16_t*>context.output(node, 0).data)
    return 0


cdef int prepare_fixed(
    Context context, const Tensor* x, const Tensor* w, const Tensor* y, IntegerMatrix* op, int rounding, bint wide,
) except -1:
    """Multipliers of the optimized and TFLM's kernels: without scales per row the input scales' product is a float32.

    `rounding`: of 32-bit sums; `wide`: 64-bit sums, with one rounding.
    """
    cdef Factor* factors = <Factor*>context.persistent(sizeof(Factor) * op.m.rows + 1)
    cdef double real = <double><float>(x.scale * w.scale) / <double>y.scale
    cdef Multiplier m
    cdef Factor factor
    cdef ptrdiff_t o
    for o in range(op.m.rows):
        if w.scale_count > 1:
            real = op.rescale.scales[o]
        if w.scale_count > 1 or o == 0:
            m = quantize_multiplier(real)
            factor = factor_of(m, rounding_of_shift(rounding, m.shift))
        factors[o] = factor
    op.fixed.factors = factors
    op.fixed.wide = wide
    op.rescale.fixed = &op.fixed
    return 0


cdef bint ready_gemm_i8(Context context, IntegerMatrix* op, const Tensor* x, const Tensor* w) except -1:
    """A 1x1 convolution over images of one pixel."""
    cdef ConvI8* c = &op.fast
    cdef const int64_t* bias = <const int64_t*>op.bias.values
    cdef int32_t* narrow
    cdef ptrdiff_t o
    if bias == NULL or (w.type != UINT8 and w.scale_count == 1 and w.zero_point != 0):
        return False
    narrow = <int32_t*>context.unfilled(4 * op.m.rows + 4)
    for o in range(op.m.rows):
        narrow[o] = <int32_t>bias[o]             # sums are int32 and wrap
    c.finish = finish_double if kernels().requantize_double.finish == NULL else kernels().requantize_double.finish
    c.params = &op.rescale
    if op.rescale.fixed != NULL:
        op.fixed.bias = bias
        if not ready_requantize_fixed(context, &op.requantize.fixed, 1, op.m.rows, op.m.depth, x, narrow, &op.fixed, NULL):
            return False
        c.finish = kernels().requantize_fixed.finish
        c.params = &op.requantize.fixed
    c.shape = shape_of_product(&op.m)
    c.is_signed = x.type == INT8
    c.x_zero_point = x.zero_point
    c.w_zero_point = w.zero_point if w.type == UINT8 else 0
    c.out.bias = narrow
    c.y_size = 1
    op.requantize.packing = plan_conv_i8(context, c, x, weight_bytes(context, w, &op.weights), op.m.depth)
    op.requantize.waits = op.requantize.packing != NULL
    return op.requantize.waits


cdef void finish_double(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y,
    ptrdiff_t y_row,
) noexcept nogil:
    """The reference's rescaling of whole sums."""
    cdef const DoubleRescale* out = <const DoubleRescale*>params
    cdef ptrdiff_t r, o
    for r in range(rows):
        for o in range(n):
            y[o] = <uint8_t>rescale_whole(sums[o], out, first + o)
        sums += sum_row
        y += y_row


cdef int fully_connected_gemm_i8(Context context, Node* node) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    run_fixed(context, &op.fast, &op.requantize, context.input(node, 0).data, context.output(node, 0).data)
    return 0


cdef void gemm_i8_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    run_fixed_range(
        context, &op.fast, &op.requantize, context.input(node, 0).data, context.output(node, 0).data, first, end, worker)


cdef inline void read_rescale(Context context, const Node* node, IntegerMatrix* op) noexcept nogil:
    """The bias, which may be another one in each invoke."""
    op.rescale.bias = <const int64_t*>bias_values(context, context.input(node, 2), op.m.rows, &op.bias)
    op.fixed.bias = op.rescale.bias


cdef int fully_connected_rows(Context context, Node* node) noexcept nogil:
    rows_range(context, node, 0, (<IntegerMatrix*>node.data).m.batches, 0)
    return 0


cdef void rows_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some rows of int16 values."""
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    cdef DoubleRescale out = op.rescale
    cdef Rescale fixed = op.fixed
    out.bias = fixed.bias = <const int64_t*>op.bias.values
    if out.fixed != NULL:
        out.fixed = &fixed
    multiply_rows_i16(
        context, &op.rows, <const int16_t*>context.input(node, 0).data,
        <const int8_t*>weight_bytes(context, context.input(node, 1), &op.weights), &out, first, end, worker,
        <int16_t*>context.output(node, 0).data)


cdef int fully_connected_s8(Context context, Node* node) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    read_rescale(context, node, op)
    fully_connected_quantized(
        <const int8_t*>x.data, op.x_zero_point, op.m.batches, <const int8_t*>weight_bytes(context, w, &op.weights),
        op.w_zero_point, op.m.rows, op.m.depth, &op.rescale,
        <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums), <int8_t*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_u8(Context context, Node* node) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    read_rescale(context, node, op)
    fully_connected_quantized(
        <const uint8_t*>x.data, op.x_zero_point, op.m.batches, weight_bytes(context, w, &op.weights), op.w_zero_point, op.m.rows, op.m.depth,
        &op.rescale, <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums),
        <uint8_t*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_in_pairs(Context context, Node* node) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    read_rescale(context, node, op)
    pairs_range(context, node, 0, op.m.batches, 0)
    return 0


cdef void pairs_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some rows of bytes, times bytes, to outputs of any type."""
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef const uint8_t* w = <const uint8_t*>weight_bytes(context, context.input(node, 1), &op.weights)
    cdef Tensor* y = context.output(node, 0)
    cdef int16_t* shifted = <int16_t*>context.worker_scratch(op.shifted, 2 * op.m.depth + 2, worker)
    cdef int64_t* sums = <int64_t*>context.worker_scratch(op.sums, 8 * op.m.rows + 8, worker)
    cdef ptrdiff_t rows = op.m.rows
    cdef ptrdiff_t depth = op.m.depth
    cdef ptrdiff_t b
    for b in range(first, end):
        if y.type == INT8:
            row_sums_in_pairs(
                <const int8_t*>x + b * depth, op.x_zero_point, <const int8_t*>w, op.w_zero_point, rows, depth, op.rescale.longest, shifted, sums)
            rescale_double(sums, &op.rescale, rows, <int8_t*>y.data + b * rows)
            continue
        row_sums_in_pairs(
            <const uint8_t*>x + b * depth, op.x_zero_point, w, op.w_zero_point, rows, depth, op.rescale.longest, shifted, sums)
        if y.type == UINT8:
            rescale_double(sums, &op.rescale, rows, <uint8_t*>y.data + b * rows)
        else:
            rescale_double(sums, &op.rescale, rows, <int16_t*>y.data + b * rows)


cdef int fully_connected_bytes_to_16(Context context, Node* node) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    read_rescale(context, node, op)
    fully_connected_u8_s16(
        <const uint8_t*>x.data, op.x_zero_point, op.m.batches, <const uint8_t*>w.data, op.w_zero_point, op.m.rows, op.m.depth, &op.rescale,
        <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums), <int16_t*>context.output(node, 0).data,
    )
    return 0


cdef int fully_connected_s16(Context context, Node* node) noexcept nogil:
    cdef IntegerMatrix* op = <IntegerMatrix*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    read_rescale(context, node, op)
    fully_connected_quantized(
        <const int16_t*>x.data, 0, op.m.batches, <const int8_t*>weight_bytes(context, w, &op.weights),
        op.w_zero_point, op.m.rows, op.m.depth, &op.rescale,
        <int16_t*>context.scratch(op.shifted), <int64_t*>context.scratch(op.sums), <int16_t*>context.output(node, 0).data,
    )
    return 0
