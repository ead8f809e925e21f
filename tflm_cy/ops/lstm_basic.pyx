"""LSTM's basic kernel (kernel_type BASIC): five inputs, four outputs, whose new state is also written over the old one.

| input, activation, operands, new activation | weights | bias | state, new state | gates |
| --- | --- | --- | --- | --- |
| float32 | float32 | float32 | float32 | float32 |
| uint8 | uint8 | int32 | int16, scale 2^-11 | int16 |

inputs: x [batch, inputs], activation [batch, cells], weights [4 * cells, inputs + cells], bias [4 * cells], state [batch, cells]
outputs: new activation, new state, operands [batch, inputs + cells] (x beside the activation), gates [batch, 4 * cells]

The fused activation and the clips of LSTMOptions do not count here. Other types fail when invoked, as TensorFlow does. An activation or state
that is a constant is refused: TensorFlow gives it memory that nobody wrote.

Source: LiteRT:tflite/kernels/lstm.cc.
"""
from libc.math cimport fabs, log2, round
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.lstm_basic cimport BasicShape, basic_lstm_f32, basic_lstm_u8
from tflm_cy.arithmetic.multipliers cimport Factor, Multiplier
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.optimized.rounding cimport gemm_rounding, rounding_of_shift
from tflm_cy.arithmetic.sum_rescale cimport ONCE, factor_of
from tflm_cy.graph.context cimport Context, Node, iteration_space
from tflm_cy.graph.tensor cimport DYNAMIC, FLOAT32, INT16, INT32, UINT8, Tensor, is_constant
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.simd.table cimport row_kernels

cdef enum:                       # inputs
    X = 0
    ACTIVATION = 1
    WEIGHTS = 2
    BIAS = 3
    STATE = 4

cdef enum:                       # outputs
    NEW_ACTIVATION = 0
    NEW_STATE = 1
    OPERANDS = 2
    GATES = 3

cdef struct BasicLstm:
    BasicShape shape
    ptrdiff_t top_block
    const RowKernels* fast
    Factor factor                # from sums to gates
    int32_t w_zero_point
    bint in_pairs                # optimized/product_pairs.pxd
    int sums                     # scratch: of a batch, quantized
    int row


cdef int prepare_basic(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* h
    cdef BasicLstm* s
    cdef ptrdiff_t depth, cells
    if node.input_count != 5:
        raise ValueError(f"node->inputs->size == kInputNum was not true ({node.input_count} inputs)")
    if node.output_count != 4:
        raise ValueError(f"node->outputs->size == kOutputNum was not true ({node.output_count} outputs)")
    x, h = matrix(context, node, X), matrix(context, node, ACTIVATION)
    cells, depth = h.dims[1], <ptrdiff_t>x.dims[1] + h.dims[1]
    if depth > 0x1FFFFFFF:
        raise ValueError(f"LSTM: {depth} operands are too many")
    expect_shape(h, [x.dims[0], cells], "activation")
    expect_shape(matrix(context, node, WEIGHTS), [4 * cells, depth], "weights")
    expect_shape(present(context, node, BIAS), [4 * cells], "bias")
    expect_shape(matrix(context, node, STATE), [x.dims[0], cells], "state")
    expect_writable(h)
    expect_writable(context.input(node, STATE))
    set_matrix(context, node, NEW_ACTIVATION, x.dims[0], cells)
    set_matrix(context, node, NEW_STATE, x.dims[0], cells)
    set_matrix(context, node, OPERANDS, x.dims[0], depth)
    set_matrix(context, node, GATES, x.dims[0], 4 * cells)
    s = <BasicLstm*>context.persistent(sizeof(BasicLstm))
    s.shape.batches, s.shape.inputs, s.shape.cells = x.dims[0], x.dims[1], cells
    s.top_block = top_block(l1_data_bytes())
    s.fast = row_kernels()
    node.data = s
    if has_types(context, node, FLOAT32, FLOAT32, FLOAT32, FLOAT32):
        node.invoke = run_float
    elif has_types(context, node, UINT8, UINT8, INT32, INT16):
        prepare_quantized(context, node, s)
    else:
        node.invoke = refuse_types
    return 0


cdef Tensor* present(Context context, Node* node, int index) except NULL:
    cdef Tensor* tensor = context.input(node, index)
    if tensor == NULL:
        raise ValueError(f"LSTM: input {index} is missing")
    return tensor


cdef Tensor* matrix(Context context, Node* node, int index) except NULL:
    cdef Tensor* tensor = present(context, node, index)
    if tensor.rank != 2:
        raise ValueError(f"LSTM: input {index} has {tensor.rank} dimensions, expected 2")
    return tensor


cdef int expect_shape(const Tensor* tensor, list dims, str what) except -1:
    cdef list found = [tensor.dims[d] for d in range(tensor.rank)]
    if found != dims:
        raise ValueError(f"LSTM: the {what} of the basic kernel has the shape {found}, expected {dims}")
    return 0


cdef int expect_writable(const Tensor* tensor) except -1:
    if is_constant(tensor) or tensor.allocation == DYNAMIC:
        raise ValueError("LSTM: the basic kernel writes over its activation and state, which are a constant or dynamic here")
    return 0


cdef int set_matrix(Context context, Node* node, int index, ptrdiff_t rows, ptrdiff_t columns) except -1:
    cdef int32_t[2] dims
    if context.output(node, index) == NULL:
        raise ValueError(f"LSTM: output {index} is missing")
    dims[0], dims[1] = <int32_t>rows, <int32_t>columns
    context.set_shape(context.output(node, index), 2, dims)
    return 0


cdef bint has_types(Context context, Node* node, int values, int weights, int bias, int wide) noexcept:
    """wide: of the states and the gates."""
    return (
        context.input(node, X).type == values and context.input(node, ACTIVATION).type == values
        and context.input(node, WEIGHTS).type == weights and context.input(node, BIAS).type == bias
        and context.input(node, STATE).type == wide and context.output(node, NEW_STATE).type == wide
        and context.output(node, NEW_ACTIVATION).type == values and context.output(node, OPERANDS).type == values
        and context.output(node, GATES).type == wide
    )


cdef int prepare_quantized(Context context, Node* node, BasicLstm* s) except -1:
    cdef double scale = context.output(node, NEW_STATE).scale
    cdef double exponent = log2(scale) if scale > 0 else 0.5
    cdef double real = 4096 * <double>context.input(node, BIAS).scale
    cdef Multiplier m
    cdef int rounding
    s.w_zero_point = context.input(node, WEIGHTS).zero_point
    if not fabs(exponent - round(exponent)) < 1e-3:
        node.invoke = refuse_scale
        return 0
    if round(exponent) != -11:
        node.invoke = refuse_bits
        return 0
    rounding = gemm_rounding(4 * s.shape.cells, s.shape.batches, s.shape.inputs + s.shape.cells, True)
    m = quantize_multiplier(real)
    s.factor = factor_of(m, rounding_of_shift(rounding, m.shift))
    s.in_pairs = rounding == ONCE and not has_dotprod()
    s.sums = context.request_scratch(context.for_all_workers(sums_bytes(&s.shape)))
    s.row = context.request_scratch(context.for_all_workers(row_bytes(&s.shape)))
    node.invoke = run_quantized
    return context.parallelize(
        node, quantized_range, iteration_space(s.shape.batches, 1),
        <double>s.shape.batches * s.shape.cells * (s.shape.inputs + s.shape.cells + 100))


cdef inline size_t sums_bytes(const BasicShape* s) noexcept nogil:
    return 4 * s.cells * sizeof(int64_t) + 8


cdef inline size_t row_bytes(const BasicShape* s) noexcept nogil:
    return (s.inputs + s.cells) * sizeof(int16_t) + 8


cdef int refuse_types(Context context, Node* node) noexcept nogil:
    return context.fail(b"Unsupported combination of data types for LstmCell")


cdef int refuse_scale(Context context, Node* node) noexcept nogil:
    return context.fail(b"The internal state of a LSTM cell must have a power-of-two scale.")


cdef int refuse_bits(Context context, Node* node) noexcept nogil:
    return context.fail(b"The only case of quantized LstmCell currently supported is with StateIntegerBits==4")


cdef void join_operands(Context context, Node* node, size_t size, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    """x beside the activation, of some batches; size: of an element."""
    cdef const BasicShape* s = &(<BasicLstm*>node.data).shape
    cdef const char* x = <const char*>context.input(node, X).data
    cdef const char* h = <const char*>context.input(node, ACTIVATION).data
    cdef char* y = <char*>context.output(node, OPERANDS).data
    cdef ptrdiff_t b
    for b in range(first, end):
        memcpy(y + b * (s.inputs + s.cells) * size, x + b * s.inputs * size, s.inputs * size)
        memcpy(y + (b * (s.inputs + s.cells) + s.inputs) * size, h + b * s.cells * size, s.cells * size)


cdef void keep_states(Context context, Node* node, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    """The outputs over the inputs, of some batches."""
    keep_rows(context.input(node, ACTIVATION), context.output(node, NEW_ACTIVATION), first, end)
    keep_rows(context.input(node, STATE), context.output(node, NEW_STATE), first, end)


cdef inline void keep_rows(Tensor* to, const Tensor* rows, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    cdef size_t row = to.bytes / to.dims[0]
    memcpy(<char*>to.data + first * row, <const char*>rows.data + first * row, (end - first) * row)


cdef int run_float(Context context, Node* node) noexcept nogil:
    cdef BasicLstm* s = <BasicLstm*>node.data
    if s.shape.batches == 0 or s.shape.cells == 0:
        return 0
    join_operands(context, node, sizeof(float), 0, s.shape.batches)
    basic_lstm_f32(
        &s.shape, <const float*>context.output(node, OPERANDS).data, <const float*>context.input(node, WEIGHTS).data,
        <const float*>context.input(node, BIAS).data, <const float*>context.input(node, STATE).data,
        <float*>context.output(node, GATES).data, <float*>context.output(node, NEW_STATE).data,
        <float*>context.output(node, NEW_ACTIVATION).data, s.top_block, s.fast,
    )
    keep_states(context, node, 0, s.shape.batches)
    return 0


cdef int run_quantized(Context context, Node* node) noexcept nogil:
    quantized_range(context, node, 0, (<BasicLstm*>node.data).shape.batches, 0)
    return 0


cdef void quantized_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some batches."""
    cdef BasicLstm* s = <BasicLstm*>node.data
    if s.shape.batches == 0 or s.shape.cells == 0:
        return
    join_operands(context, node, 1, first, end)
    basic_lstm_u8(
        &s.shape, <const uint8_t*>context.output(node, OPERANDS).data, <const uint8_t*>context.input(node, WEIGHTS).data, s.w_zero_point,
        <const int32_t*>context.input(node, BIAS).data, &s.factor, s.in_pairs, <const int16_t*>context.input(node, STATE).data,
        <int64_t*>context.worker_scratch(s.sums, sums_bytes(&s.shape), worker),
        <int16_t*>context.worker_scratch(s.row, row_bytes(&s.shape), worker),
        <int16_t*>context.output(node, GATES).data, <int16_t*>context.output(node, NEW_STATE).data,
        <uint8_t*>context.output(node, NEW_ACTIVATION).data, first, end,
    )
    keep_states(context, node, first, end)
