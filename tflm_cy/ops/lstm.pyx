"""UNIDIRECTIONAL_SEQUENCE_LSTM, and LSTM's full kernel, which is one step of it.

| input | weights | output, output state | cell state | biases | peephole | layer normalisation |
| --- | --- | --- | --- | --- | --- | --- |
| float32 | float32 | float32 | float32 | float32 | float32 | float32 |
| float32 | int8 (hybrid; uint8 is read as int8) | float32 | float32 | float32 | int8 | float32 |
| int8 | int8 | int8 | int16, scale a power of two | int32 | int16 | int16 |

Without input-to-input weights the input gate is 1 - forget gate. A sequence [time, batch, input] (time_major) takes all batches of a step
together, [batch, time, input] one batch after the other; for float32 weights the products' bits depend on it.
The integer form needs five intermediate tensors, whose scales are those of the gates before layer normalisation and of the hidden state.

TensorFlow Lite Micro has plain gates only (arithmetic/micro/lstm*.pxd).

Refused, though TensorFlow takes it: an activation of NONE, diagonal recurrent weights, LSTM's integer kernel with 12
intermediates, LSTM's basic kernel.

Source: LiteRT:tflite/kernels/{unidirectional_sequence_lstm,lstm,lstm_eval}.cc.
"""
from libc.math cimport fabs, log2, round
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_TANH, Multiplier, quantize_multiplier
from tflm_cy.arithmetic.hybrid cimport RowScale, has_minimum, sum_rows
from tflm_cy.arithmetic.lstm cimport (
    CELL_GATE,
    FORGET_GATE,
    INPUT_GATE,
    OUTPUT_GATE,
    HybridMatrix,
    LstmGate,
    LstmProjection,
    LstmRoom,
    LstmShape,
    lstm_step,
)
from tflm_cy.arithmetic.lstm_quantized cimport IntegerGate, IntegerLstm, IntegerRoom, integer_step
from tflm_cy.arithmetic.activation cimport fill_sigmoid_table
from tflm_cy.arithmetic.micro.lstm cimport lstm_step_in_order
from tflm_cy.arithmetic.micro.lstm_quantized cimport MicroLstm, integer_step_in_layers
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, INT32, MAX_RANK, UINT8, VARIABLE, Tensor, count, is_constant, type_name
from tflm_cy.schema.table cimport table_bool, table_f32, table_i8
from tflm_cy.simd.lstm8 cimport Lstm8
from tflm_cy.simd.table cimport kernels

cdef enum:                       # UnidirectionalSequenceLSTMOptions, the first three of LSTMOptions
    FUSED_ACTIVATION_FUNCTION = 0
    CELL_CLIP = 1
    PROJ_CLIP = 2
    TIME_MAJOR = 3
    ASYMMETRIC_QUANTIZE_INPUTS = 4
    KERNEL_TYPE = 3              # LSTMOptions

cdef enum:                       # inputs, the four of a kind in the order input, forget, cell, output
    X = 0
    INPUT_WEIGHTS = 1
    RECURRENT_WEIGHTS = 5
    PEEPHOLES = 9                # input, forget, output
    BIASES = 12
    PROJECTION_WEIGHTS = 16
    PROJECTION_BIAS = 17
    OUTPUT_STATE = 18
    CELL_STATE = 19
    NORMS = 20

cdef struct Lstm:
    LstmShape shape
    ptrdiff_t batches
    ptrdiff_t steps
    bint time_major
    bint normed
    bint known_weights
    int32_t gates                # scratch handles
    int32_t products
    int32_t x
    int32_t h
    int32_t x_scales
    int32_t h_scales
    int32_t hidden
    HybridMatrix[9] matrices     # hybrid: input weights, recurrent weights, projection
    IntegerLstm integer
    IntegerGate[4] integer_gates
    MicroLstm* micro             # TFLM's multipliers and tables, else NULL
    Lstm8* fast                  # with a vector kernel
    int fast_room                # scratch
    void (*fast_step)(const Lstm8* s, const int8_t* x, int8_t* h, int16_t* c, int8_t* y, void* scratch) noexcept nogil


cdef inline int peephole_index(int gate) noexcept nogil:
    """-1 for the cell gate, which has none."""
    return -1 if gate == CELL_GATE else PEEPHOLES + (2 if gate == OUTPUT_GATE else gate)


cdef Tensor* required(Context context, Node* node, int index, str what) except NULL:
    cdef Tensor* tensor = context.input(node, index)
    if tensor == NULL:
        raise ValueError(f"{context.operator_name(node)}: {what} (input {index}) is missing")
    return tensor


cdef int expect(Context context, const Tensor* tensor, int type, str what, ptrdiff_t rows, ptrdiff_t columns=-1) except -1:
    """Type and shape of a weight; columns -1: a vector."""
    cdef int rank = 1 if columns < 0 else 2
    if tensor.type != type:
        raise ValueError(f"LSTM: {what} of type {type_name(tensor.type)}, expected {type_name(type)}")
    if tensor.rank != rank or tensor.dims[0] != rows or (rank == 2 and tensor.dims[1] != columns):
        raise ValueError(f"LSTM: {what} must have the shape {[rows, columns][:rank]}")
    return 0


cdef int prepare_sequence(Context context, Node* node) except -1:
    cdef Tensor* x = expect_inputs(context, node)
    cdef Lstm* s
    if x.rank != 3:
        raise ValueError(f"input->dims->size != 3 ({x.rank}): the input is a sequence of batches")
    s = prepare_shapes(context, node, x, table_bool(node.options, TIME_MAJOR, False),
                       table_bool(node.options, ASYMMETRIC_QUANTIZE_INPUTS, False))
    return prepare_kind(context, node, s, x)


cdef int prepare_step(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Lstm* s
    if table_i8(node.options, KERNEL_TYPE, 0) != 0:
        raise ValueError("LSTM: only the full kernel is supported, not the basic one")
    x = expect_inputs(context, node)
    if x.rank != 2:
        raise ValueError(f"input->dims->size != 2 ({x.rank})")
    s = prepare_shapes(context, node, x, True, table_bool(node.options, ASYMMETRIC_QUANTIZE_INPUTS, False))
    return prepare_kind(context, node, s, x)


cdef Tensor* expect_inputs(Context context, Node* node) except NULL:
    if node.input_count != 20 and node.input_count != 24:
        raise ValueError(f"The LSTM Full kernel expects 20 or 24 inputs. Got {node.input_count} inputs")
    if node.output_count != 1 or context.output(node, 0) == NULL:
        raise ValueError(f"node->outputs->size != 1 ({node.output_count} != 1)")
    return required(context, node, X, "the input")


cdef Lstm* prepare_shapes(Context context, Node* node, const Tensor* x, bint time_major, bint asymmetric) except NULL:
    """Sizes, options and states; the output's shape is the input's with the last dimension replaced."""
    cdef Tensor* w = required(context, node, INPUT_WEIGHTS + OUTPUT_GATE, "the output gate's input weights")
    cdef Tensor* r = required(context, node, RECURRENT_WEIGHTS + OUTPUT_GATE, "the output gate's recurrent weights")
    cdef Tensor* h = required(context, node, OUTPUT_STATE, "the output state")
    cdef Tensor* c = required(context, node, CELL_STATE, "the cell state")
    cdef Lstm* s
    cdef LstmShape* shape
    cdef int32_t[MAX_RANK] dims
    cdef int d
    if w.rank != 2 or r.rank != 2:
        raise ValueError("LSTM: the output gate's weights must be matrices")
    s = <Lstm*>context.persistent(sizeof(Lstm))
    shape = &s.shape
    s.time_major = time_major
    s.batches = x.dims[0] if x.rank == 2 or not time_major else x.dims[1]
    s.steps = 1 if x.rank == 2 else x.dims[0] if time_major else x.dims[1]
    s.normed = node.input_count == 24 and context.input(node, NORMS + FORGET_GATE) != NULL
    shape.inputs, shape.cells, shape.outputs = x.dims[x.rank - 1], w.dims[0], r.dims[1]
    shape.activation = table_i8(node.options, FUSED_ACTIVATION_FUNCTION, 0)
    shape.cell_clip = table_f32(node.options, CELL_CLIP, 0)
    shape.proj_clip = table_f32(node.options, PROJ_CLIP, 0)
    shape.asymmetric = asymmetric
    shape.hybrid = x.type == FLOAT32 and w.type in (INT8, UINT8)
    if not shape.cell_clip >= 0 or not shape.proj_clip >= 0:
        raise ValueError("params->cell_clip >= 0 and params->proj_clip >= 0 was not true.")
    if shape.activation <= ACT_NONE or shape.activation > ACT_TANH:
        raise ValueError(f"LSTM: activation {shape.activation} is not supported")
    if h.allocation != VARIABLE or c.allocation != VARIABLE:
        raise ValueError("output_state != nullptr was not true: the states of an LSTM must be variable tensors")
    if count(h) != s.batches * shape.outputs or count(c) != s.batches * shape.cells:
        raise ValueError("NumElements(output_state) != n_batch * n_output: the states' sizes do not fit")
    for d in range(x.rank):
        dims[d] = x.dims[d]
    dims[x.rank - 1] = <int32_t>shape.outputs
    context.set_shape(context.output(node, 0), x.rank, dims)
    node.data = s
    return s


cdef int prepare_kind(Context context, Node* node, Lstm* s, const Tensor* x) except -1:
    cdef Tensor* w = context.input(node, INPUT_WEIGHTS + OUTPUT_GATE)
    cdef bint integer = x.type == INT8
    if not ((x.type == FLOAT32 and w.type in (FLOAT32, INT8, UINT8)) or (integer and w.type == INT8)):
        raise ValueError(f"LSTM: an input of {type_name(x.type)} with weights of {type_name(w.type)} is not currently supported.")
    check_weights(context, node, s, w.type, INT32 if integer else FLOAT32, INT16 if integer else w.type, INT16 if integer else FLOAT32)
    expect_type(context.output(node, 0), x.type, "output")
    expect_type(context.input(node, OUTPUT_STATE), x.type, "output state")
    expect_type(context.input(node, CELL_STATE), INT16 if integer else FLOAT32, "cell state")
    if integer:
        return prepare_integer(context, node, s)
    return prepare_float(context, node, s)


cdef int expect_type(const Tensor* tensor, int type, str what) except -1:
    if tensor.type != type:
        raise ValueError(f"LSTM: {what} of type {type_name(tensor.type)}, expected {type_name(type)}")
    return 0


cdef int check_weights(Context context, Node* node, const Lstm* s, int matrix, int bias, int peephole, int norm) except -1:
    """Types and shapes of all weights; which of them may be missing together."""
    cdef const LstmShape* shape = &s.shape
    cdef bint coupled = context.input(node, INPUT_WEIGHTS) == NULL
    cdef bint peepholes = context.input(node, PEEPHOLES + 2) != NULL
    cdef Tensor* t
    cdef int gate
    if coupled != (context.input(node, RECURRENT_WEIGHTS) == NULL):
        raise ValueError("cifg_weights_all_or_none == true was not true.")
    for gate in range(4):
        if gate == INPUT_GATE and coupled:
            if context.input(node, BIASES) != NULL or context.input(node, PEEPHOLES) != NULL:
                raise ValueError("input_gate_bias == nullptr was not true: an input gate without weights")
            continue
        expect(context, required(context, node, INPUT_WEIGHTS + gate, "input weights"), matrix, "input weights", shape.cells, shape.inputs)
        expect(context, required(context, node, RECURRENT_WEIGHTS + gate, "recurrent weights"), matrix, "recurrent weights",
               shape.cells, shape.outputs)
        expect(context, required(context, node, BIASES + gate, "a bias"), bias, "a bias", shape.cells)
        if s.normed:
            expect(context, required(context, node, NORMS + gate, "a layer normalisation"), norm, "a layer normalisation", shape.cells)
        if gate != CELL_GATE:
            t = context.input(node, peephole_index(gate))
            if (t != NULL) != peepholes:
                raise ValueError("peephole_weights_all_or_none == true was not true.")
            if t != NULL:
                expect(context, t, peephole, "a peephole", shape.cells)
    t = context.input(node, PROJECTION_WEIGHTS)
    if t != NULL:
        expect(context, t, matrix, "the projection", shape.outputs, shape.cells)
    elif shape.outputs != shape.cells:
        raise ValueError(f"LSTM: {shape.cells} cells and {shape.outputs} outputs need a projection")
    if context.input(node, PROJECTION_BIAS) != NULL:
        if t == NULL:
            raise ValueError("projecton_tensors_consistent == true was not true: a bias without a projection")
        expect(context, context.input(node, PROJECTION_BIAS), bias, "the projection's bias", shape.outputs)
    return 0


# ---- float32 and hybrid

cdef int matrix_index(int matrix) noexcept nogil:
    """The input that holds matrix 0 .. 8 of `Lstm.matrices`."""
    return PROJECTION_WEIGHTS if matrix == 8 else INPUT_WEIGHTS + matrix


cdef int prepare_float(Context context, Node* node, Lstm* s) except -1:
    cdef LstmShape* shape = &s.shape
    cdef ptrdiff_t together = s.batches if s.time_major else 1
    cdef ptrdiff_t widest = max(shape.cells, shape.outputs)
    cdef Tensor* w
    cdef int matrix
    shape.top_block = top_block(l1_data_bytes())
    if node.arithmetic == MICRO and (shape.hybrid or s.normed or context.input(node, PROJECTION_WEIGHTS) != NULL
                                     or context.input(node, PEEPHOLES + 2) != NULL or context.input(node, INPUT_WEIGHTS) == NULL):
        raise ValueError("LSTM: TFLM has no hybrid form, no peepholes, projection or layer normalisation, and wants all four gates")
    s.gates = context.request_scratch(4 * together * shape.cells * sizeof(float))
    s.products = context.request_scratch(together * widest * sizeof(float))
    if shape.hybrid:
        s.x = context.request_scratch(together * shape.inputs * sizeof(int16_t))
        s.h = context.request_scratch(together * widest * sizeof(int16_t))
        s.x_scales = context.request_scratch(together * sizeof(RowScale))
        s.h_scales = context.request_scratch(together * sizeof(RowScale))
        s.known_weights = True
        for matrix in range(9):
            w = context.input(node, matrix_index(matrix))
            if w != NULL:
                s.matrices[matrix].row_sums = <int32_t*>context.persistent(w.dims[0] * sizeof(int32_t) + 4)
                s.known_weights = s.known_weights and is_constant(w)
        if s.known_weights:
            inspect_weights(context, node)
    node.invoke = run_float
    return 0


cdef void inspect_weights(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef Tensor* w
    cdef HybridMatrix* m
    cdef int matrix
    for matrix in range(9):
        w = context.input(node, matrix_index(matrix))
        m = &s.matrices[matrix]
        if w != NULL:
            m.scale = w.scale
            m.minimum = has_minimum(<const int8_t*>w.data, w.dims[0], w.dims[1])
            sum_rows(<const int8_t*>w.data, w.dims[0], w.dims[1], m.row_sums)


cdef inline void* data_of(Tensor* tensor) noexcept nogil:
    return NULL if tensor == NULL else tensor.data


cdef int run_float(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef LstmShape* shape = &s.shape
    cdef LstmGate[4] gates
    cdef LstmProjection projection
    cdef LstmRoom room
    cdef Tensor* peephole
    cdef const float* x = <const float*>context.input(node, X).data
    cdef float* h = <float*>context.input(node, OUTPUT_STATE).data
    cdef float* c = <float*>context.input(node, CELL_STATE).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t b, t, at
    cdef int gate
    if s.batches == 0 or shape.cells == 0:
        return 0
    if shape.hybrid and not s.known_weights:
        inspect_weights(context, node)
    for gate in range(4):
        gates[gate].w = data_of(context.input(node, INPUT_WEIGHTS + gate))
        gates[gate].r = data_of(context.input(node, RECURRENT_WEIGHTS + gate))
        gates[gate].bias = <const float*>data_of(context.input(node, BIASES + gate))
        gates[gate].norm = <const float*>data_of(context.input(node, NORMS + gate)) if s.normed else NULL
        gates[gate].w_hybrid = s.matrices[gate]
        gates[gate].r_hybrid = s.matrices[4 + gate]
        peephole = NULL if gate == CELL_GATE else context.input(node, peephole_index(gate))
        gates[gate].peephole = data_of(peephole)
        gates[gate].peephole_scale = 0 if peephole == NULL else peephole.scale
    if node.arithmetic == MICRO:
        for b in range(s.batches):
            for t in range(s.steps):
                at = t * s.batches + b if s.time_major else b * s.steps + t
                lstm_step_in_order(shape, gates, x + at * shape.inputs, h + b * shape.outputs, c + b * shape.cells, y + at * shape.outputs,
                                   <float*>context.scratch(s.gates))
        return 0
    projection.w = data_of(context.input(node, PROJECTION_WEIGHTS))
    projection.bias = <const float*>data_of(context.input(node, PROJECTION_BIAS))
    projection.hybrid = s.matrices[8]
    room.gates = <float*>context.scratch(s.gates)
    room.products = <float*>context.scratch(s.products)
    if shape.hybrid:
        room.x = <int16_t*>context.scratch(s.x)
        room.h = <int16_t*>context.scratch(s.h)
        room.x_scales = <RowScale*>context.scratch(s.x_scales)
        room.h_scales = <RowScale*>context.scratch(s.h_scales)
    if s.time_major:
        for t in range(s.steps):
            at = t * s.batches
            lstm_step(shape, gates, &projection, s.batches, x + at * shape.inputs, NULL, h, c, y + at * shape.outputs, shape.outputs, &room)
        return 0
    for b in range(s.batches):
        for t in range(s.steps):
            at = b * s.steps + t
            lstm_step(shape, gates, &projection, 1, x + at * shape.inputs, NULL, h + b * shape.outputs, c + b * shape.cells,
                      y + at * shape.outputs, shape.outputs, &room)
    return 0


# ---- int8 with an int16 cell

cdef int prepare_integer(Context context, Node* node, Lstm* s) except -1:
    cdef LstmShape* shape = &s.shape
    cdef IntegerLstm* q = &s.integer
    cdef Tensor* x = context.input(node, X)
    cdef Tensor* h = context.input(node, OUTPUT_STATE)
    cdef Tensor* c = context.input(node, CELL_STATE)
    cdef Tensor* projection = context.input(node, PROJECTION_WEIGHTS)
    cdef Tensor* hidden
    cdef int gate
    if shape.activation != ACT_TANH:
        raise ValueError("LSTM: the integer kernel's activation is TANH")
    if node.arithmetic == MICRO:
        return prepare_micro(context, node, s)
    if node.intermediate_count != 5:
        raise ValueError(f"num_intermediate_tensors == 5 was not true ({node.intermediate_count})")
    hidden = intermediate(context, node, 4)
    q.inputs, q.cells, q.outputs = shape.inputs, shape.cells, shape.outputs
    q.x_zero_point, q.h_zero_point, q.hidden_zero_point = x.zero_point, h.zero_point, hidden.zero_point
    q.cell_log2 = cell_exponent(c)
    if shape.cell_clip > 0:
        q.cell_clip = <int32_t><int16_t>min(max(<float>(shape.cell_clip / c.scale), <float>-32768), <float>32767)
    if shape.proj_clip > 0:
        q.proj_clip = <int32_t><int8_t>min(max(<float>(shape.proj_clip / context.output(node, 0).scale), <float>-128), <float>127)
    q.hidden_scale = quantize_multiplier(<float>((1.0 / (1 << 15)) / <double>hidden.scale * (1.0 / (1 << 15))))
    if projection != NULL:
        q.projection_scale = quantize_multiplier(<float>(<float>(projection.scale * hidden.scale) / h.scale))
        if context.input(node, PEEPHOLES + 2) != NULL and shape.outputs != shape.cells:
            raise ValueError("LSTM: peepholes of the integer kernel need as many outputs as cells")
    for gate in range(4):
        if context.input(node, INPUT_WEIGHTS + gate) != NULL:
            prepare_integer_gate(context, node, s, gate)
    s.x = context.request_scratch(shape.inputs * sizeof(int16_t))
    s.h = context.request_scratch(shape.outputs * sizeof(int16_t))
    s.hidden = context.request_scratch(shape.cells * sizeof(int16_t))
    s.gates = context.request_scratch(4 * shape.cells * sizeof(int16_t))
    s.products = context.request_scratch(max(shape.cells, shape.outputs) * sizeof(int32_t))
    node.invoke = run_integer
    return prepare_vector(context, node, s)


cdef bint is_plain(Context context, const Node* node, const Lstm* s) noexcept:
    """Four gates of constants and nothing else."""
    cdef int gate
    if s.normed or s.shape.cells != s.shape.outputs or context.input(node, PROJECTION_WEIGHTS) != NULL:
        return False
    for gate in range(3):
        if context.input(node, PEEPHOLES + gate) != NULL:
            return False
    for gate in range(4):
        if not (
            is_known(context.input(node, INPUT_WEIGHTS + gate)) and is_known(context.input(node, RECURRENT_WEIGHTS + gate))
            and is_known(context.input(node, BIASES + gate))
        ):
            return False
    return True


cdef bint is_known(const Tensor* tensor) noexcept:
    return tensor != NULL and is_constant(tensor)


cdef int prepare_vector(Context context, Node* node, Lstm* s) except -1:
    """With vector kernels: weights packed."""
    cdef const IntegerLstm* q = &s.integer
    cdef Lstm8* fast
    cdef int gate
    if kernels().lstm8.plan == NULL or not is_plain(context, node, s) or q.cells == 0 or not -15 <= q.cell_log2 <= -9:
        return 0
    fast = <Lstm8*>context.persistent(sizeof(Lstm8))
    s.fast = fast
    fast.inputs, fast.cells = q.inputs, q.cells
    fast.x_zero_point, fast.h_zero_point, fast.hidden_zero_point = q.x_zero_point, q.h_zero_point, q.hidden_zero_point
    fast.cell_log2, fast.cell_clip, fast.hidden_scale = q.cell_log2, q.cell_clip, q.hidden_scale
    kernels().lstm8.plan(fast)
    fast.packed = <unsigned char*>context.persistent(fast.packed_bytes)
    s.fast_room = context.request_scratch(fast.scratch_bytes)
    for gate in range(4):
        fast.w_scales[gate] = s.integer_gates[gate].w_scale
        fast.r_scales[gate] = s.integer_gates[gate].r_scale
        kernels().lstm8.pack(
            fast, gate, <const int8_t*>context.input(node, INPUT_WEIGHTS + gate).data,
            <const int8_t*>context.input(node, RECURRENT_WEIGHTS + gate).data, <const int32_t*>context.input(node, BIASES + gate).data)
    s.fast_step = kernels().lstm8.step
    node.invoke = run_vector
    return 0


cdef int run_vector(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef ptrdiff_t cells = s.integer.cells
    cdef const int8_t* x = <const int8_t*>context.input(node, X).data
    cdef int8_t* h = <int8_t*>context.input(node, OUTPUT_STATE).data
    cdef int16_t* c = <int16_t*>context.input(node, CELL_STATE).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef ptrdiff_t b, t, at
    for b in range(s.batches):
        for t in range(s.steps):
            at = t * s.batches + b if s.time_major else b * s.steps + t
            s.fast_step(s.fast, x + at * s.integer.inputs, h + b * cells, c + b * cells, y + at * cells, context.scratch(s.fast_room))
    return 0


cdef Multiplier product_scale(double a, double b, double y) noexcept nogil:
    return quantize_multiplier(a * b / y)


cdef int prepare_micro(Context context, Node* node, Lstm* s) except -1:
    """TFLM asks for no intermediates; real multipliers are in double, but for the products of the layers' scales, in float32."""
    cdef LstmShape* shape = &s.shape
    cdef IntegerLstm* q = &s.integer
    cdef MicroLstm* m = <MicroLstm*>context.persistent(sizeof(MicroLstm))
    cdef Tensor* x = context.input(node, X)
    cdef Tensor* h = context.input(node, OUTPUT_STATE)
    cdef Tensor* c = context.input(node, CELL_STATE)
    cdef double fraction = 1.0 / (1 << 15)
    cdef int gate, left
    if s.normed or context.input(node, PROJECTION_WEIGHTS) != NULL or context.input(node, PEEPHOLES + 2) != NULL:
        raise ValueError("LSTM: TFLM has no peepholes, projection or layer normalisation")
    q.inputs, q.cells, q.outputs = shape.inputs, shape.cells, shape.outputs
    q.x_zero_point, q.h_zero_point = x.zero_point, h.zero_point
    q.cell_log2 = cell_exponent(c)
    if shape.cell_clip > 0:
        q.cell_clip = <int32_t><int16_t>min(max(<float>(shape.cell_clip / c.scale), <float>-32768), <float>32767)
    for gate in range(4):
        if context.input(node, INPUT_WEIGHTS + gate) == NULL:
            raise ValueError("LSTM: TFLM wants all four gates")
        s.integer_gates[gate].w_scale = layer_scale(x, context.input(node, INPUT_WEIGHTS + gate))
        s.integer_gates[gate].r_scale = layer_scale(h, context.input(node, RECURRENT_WEIGHTS + gate))
    m.forget = product_scale(fraction, c.scale, c.scale)
    m.enter = product_scale(fraction, fraction, c.scale)
    m.leave = product_scale(fraction, fraction, h.scale)
    fill_sigmoid_table(m.gate.table)
    fill_sigmoid_table(m.cell.table)
    left = 12 + q.cell_log2
    m.gate.multiplier = 3
    m.cell.multiplier = 3 << max(left, 0)
    m.cell.shift = max(-left, 0)
    s.micro = m
    s.x = context.request_scratch(shape.inputs * sizeof(int16_t))
    s.h = context.request_scratch(shape.outputs * sizeof(int16_t))
    s.hidden = context.request_scratch(shape.cells * sizeof(int16_t))
    s.gates = context.request_scratch(4 * shape.cells * sizeof(int16_t))
    s.products = context.request_scratch(max(shape.cells, shape.outputs) * sizeof(int32_t))
    node.invoke = run_integer
    return 0


cdef Multiplier layer_scale(const Tensor* x, const Tensor* w) noexcept nogil:
    """From sums of products to a gate's argument, in steps of 2^-12."""
    return quantize_multiplier(<double><float>(x.scale * w.scale) / <double><float>(1.0 / (1 << 12)))


cdef Tensor* intermediate(Context context, Node* node, int index) except NULL:
    cdef Tensor* tensor = context.intermediate(node, index)
    if tensor == NULL or tensor.scale_count == 0:
        raise ValueError(f"LSTM: intermediate tensor {index} must be there and be quantized")
    return tensor


cdef int32_t cell_exponent(const Tensor* c) except? -99:
    cdef double exponent
    if not c.scale > 0:
        raise ValueError("LSTM: the cell state must be quantized")
    exponent = log2(<double>c.scale)
    if not fabs(exponent - round(exponent)) < 1e-3:
        raise ValueError(f"CheckedLog2(cell_state->params.scale, &cell_scale) was not true: {c.scale} is no power of two")
    if round(exponent) < -15 or round(exponent) > -9:
        raise ValueError(f"LSTM: a cell of scale 2^{round(exponent):.0f}, expected 2^-15 to 2^-9")
    return <int32_t>round(exponent)


cdef int prepare_integer_gate(Context context, Node* node, Lstm* s, int gate) except -1:
    """Scales are float32 products, left to right, as the kernel's."""
    cdef IntegerGate* g = &s.integer_gates[gate]
    cdef Tensor* w = context.input(node, INPUT_WEIGHTS + gate)
    cdef Tensor* r = context.input(node, RECURRENT_WEIGHTS + gate)
    cdef Tensor* peephole = NULL if gate == CELL_GATE else context.input(node, peephole_index(gate))
    cdef Tensor* norm
    cdef float scale = <float>(1.0 / (1 << 12))
    if s.normed:
        scale = intermediate(context, node, gate).scale
        norm = context.input(node, NORMS + gate)
        g.norm_scale = quantize_multiplier(norm.scale)
        g.variance_guard = max(1, <int32_t><float>(10000 * norm.scale))
    g.w_scale = quantize_multiplier(<float>(<float>(w.scale * context.input(node, X).scale) / scale))
    g.r_scale = quantize_multiplier(<float>(<float>(r.scale * context.input(node, OUTPUT_STATE).scale) / scale))
    if peephole != NULL:
        g.peephole_scale = quantize_multiplier(<float>(1.0 / (1 << -s.integer.cell_log2) * <double>peephole.scale / <double>scale))
    return 0


cdef int run_integer(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef IntegerLstm* q = &s.integer
    cdef IntegerGate* gates = s.integer_gates
    cdef IntegerRoom room
    cdef const int8_t* x = <const int8_t*>context.input(node, X).data
    cdef int8_t* h = <int8_t*>context.input(node, OUTPUT_STATE).data
    cdef int16_t* c = <int16_t*>context.input(node, CELL_STATE).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef ptrdiff_t b, t, at
    cdef int gate
    if s.batches == 0 or q.cells == 0:
        return 0
    for gate in range(4):
        gates[gate].w = <const int8_t*>data_of(context.input(node, INPUT_WEIGHTS + gate))
        gates[gate].r = <const int8_t*>data_of(context.input(node, RECURRENT_WEIGHTS + gate))
        gates[gate].bias = <const int32_t*>data_of(context.input(node, BIASES + gate))
        gates[gate].norm = <const int16_t*>data_of(context.input(node, NORMS + gate)) if s.normed else NULL
        gates[gate].peephole = NULL if gate == CELL_GATE else <const int16_t*>data_of(context.input(node, peephole_index(gate)))
    q.projection = <const int8_t*>data_of(context.input(node, PROJECTION_WEIGHTS))
    q.projection_bias = <const int32_t*>data_of(context.input(node, PROJECTION_BIAS))
    room.x = <int16_t*>context.scratch(s.x)
    room.h = <int16_t*>context.scratch(s.h)
    room.hidden = <int16_t*>context.scratch(s.hidden)
    room.gates = <int16_t*>context.scratch(s.gates)
    room.products = <int32_t*>context.scratch(s.products)
    for b in range(s.batches):
        for t in range(s.steps):
            at = t * s.batches + b if s.time_major else b * s.steps + t
            if s.micro != NULL:
                integer_step_in_layers(q, s.micro, gates, x + at * q.inputs, h + b * q.outputs, c + b * q.cells, y + at * q.outputs, &room)
                continue
            integer_step(q, gates, x + at * q.inputs, h + b * q.outputs, c + b * q.cells, y + at * q.outputs, &room)
    return 0


OPERATORS = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": register(prepare_sequence, version=4, reference_version=3),
    "LSTM": register(prepare_step, version=4, reference_version=4),
}
