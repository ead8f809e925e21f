"""BIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_LSTM: a sequence run through a cell forwards and through another backwards.

Input float32 [batch, time, input], or [time, batch, input] (time_major); weights float32 or int8 (hybrid; uint8 is read
as int8). The outputs are two, or one with the
backward cell's values behind the forward cell's (merge_outputs). An auxiliary input is added to both cells by weights of its own; without
such weights it is the backward cell's input.

Quirks, copied where they are deterministic:
- The auxiliary input's steps are the input's: one that is wider is read at places that are not its own (RNN with float32 weights, batches first: at its own).
- RNN, batches first: without auxiliary weights the backward cell reads the input all the same.
- RNN, hybrid, time first: the whole sequence is run as often as it has steps, the states going on.

Source: LiteRT:tflite/kernels/{bidirectional_sequence_rnn,bidirectional_sequence_lstm,lstm_eval}.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_SIGN_BIT
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.hybrid cimport has_minimum, sum_rows
from tflm_cy.arithmetic.row_kernels cimport RowScale
from tflm_cy.arithmetic.lstm cimport HybridMatrix, LstmGate, LstmProjection, LstmRoom, LstmShape, lstm_step
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.rnn cimport RnnMatrix, RnnShape, rnn_step_f32, rnn_step_hybrid
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, UINT8, VARIABLE, Tensor, count, is_constant, shape_of, type_name
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.schema.option_slots cimport (
    BIDIRECTIONAL_SEQUENCE_LSTM_ASYMMETRIC_QUANTIZE_INPUTS, BIDIRECTIONAL_SEQUENCE_LSTM_CELL_CLIP,
    BIDIRECTIONAL_SEQUENCE_LSTM_FUSED_ACTIVATION_FUNCTION, BIDIRECTIONAL_SEQUENCE_LSTM_MERGE_OUTPUTS,
    BIDIRECTIONAL_SEQUENCE_LSTM_PROJ_CLIP, BIDIRECTIONAL_SEQUENCE_LSTM_TIME_MAJOR,
    BIDIRECTIONAL_SEQUENCE_RNN_ASYMMETRIC_QUANTIZE_INPUTS, BIDIRECTIONAL_SEQUENCE_RNN_FUSED_ACTIVATION_FUNCTION,
    BIDIRECTIONAL_SEQUENCE_RNN_MERGE_OUTPUTS, BIDIRECTIONAL_SEQUENCE_RNN_TIME_MAJOR,
)
from tflm_cy.schema.table cimport table_bool, table_f32, table_i8
from tflm_cy.simd.table cimport row_kernels

from tflm_cy.graph.refusal import OwnRefusalError

cdef enum:                       # inputs of the RNN; of a cell: weights, recurrent weights, bias, state
    RNN_CELL = 1
    RNN_CELL_INPUTS = 4
    RNN_AUX = 9
    RNN_AUX_WEIGHTS = 10

cdef enum:                       # inputs of the LSTM, those of a cell in the order of UNIDIRECTIONAL_SEQUENCE_LSTM
    LSTM_CELL = 1
    LSTM_CELL_INPUTS = 17
    RECURRENT = 4                # behind the cell's first
    PEEPHOLES = 8
    BIASES = 11
    PROJECTION = 15
    PROJECTION_BIAS = 16
    STATES = 35                  # output state and cell state of the forward cell, then of the backward cell
    LSTM_AUX = 39
    LSTM_AUX_WEIGHTS = 40

cdef struct Sequence:            # what both operators know
    ptrdiff_t batches, steps, inputs
    ptrdiff_t aux_inputs         # 0 without auxiliary weights
    bint time_major
    bint merged
    bint asymmetric
    bint hybrid
    ptrdiff_t[2] units           # values of an output

cdef struct RnnCells:
    Sequence q
    RnnShape[2] shape
    RnnMatrix[6] matrices        # of a cell: weights, auxiliary weights, recurrent weights
    int32_t quantized            # scratch handle

cdef struct LstmCells:
    Sequence q
    LstmShape[2] shape
    HybridMatrix[26] matrices    # of a cell, by gate: weights 0 .. 3, auxiliary 4 .. 7, recurrent 8 .. 11, projection 12
    int32_t[8] scratch           # handles: gates, products, x, aux, h, and the scales of the latter three


# ---------------------------------------------------------------- what both share

cdef bint start_sequence(Context context, Node* node, Sequence* q, const Tensor* aux, const Tensor* aux_weights) except? -1:
    """False where the auxiliary input does not fit, which TensorFlow does not look at."""
    cdef Tensor* x = operand(context, node, 0)
    cdef bint has_weights = aux_weights != NULL
    if x.type != FLOAT32 or x.rank != 3:
        raise ValueError(f"input->type != kTfLiteFloat32, or not 3 dimensions: {type_name(x.type)} {shape_of(x)}")
    q.batches, q.steps, q.inputs = x.dims[0], x.dims[1], x.dims[2]
    if q.time_major:
        q.batches, q.steps = x.dims[1], x.dims[0]
    if has_weights and aux == NULL:
        raise ValueError("auxiliary weights want an auxiliary input")
    if aux != NULL:
        if aux.type != FLOAT32:
            raise ValueError(f"the auxiliary input must be FLOAT32, is {type_name(aux.type)}")
        q.aux_inputs = aux_weights.dims[aux_weights.rank - 1] if has_weights and aux_weights.rank > 0 else 0
        return (aux.rank == 3 and aux.dims[0] == x.dims[0] and aux.dims[1] == x.dims[1]
                and aux.dims[2] == (q.aux_inputs if has_weights else x.dims[2]))
    return True


cdef int shape_outputs(Context context, Node* node, const Sequence* q) except -1:
    cdef int32_t[3] dims
    cdef int i
    if node.output_count != (1 if q.merged else 2):
        raise ValueError(f"node->outputs->size != params->merge_outputs ? 1 : 2 ({node.output_count})")
    dims[0] = <int32_t>(q.steps if q.time_major else q.batches)
    dims[1] = <int32_t>(q.batches if q.time_major else q.steps)
    for i in range(node.output_count):
        if result(context, node, i).type != FLOAT32:
            raise ValueError(f"output {i} must be FLOAT32, is {type_name(context.output(node, i).type)}")
        dims[2] = <int32_t>(q.units[0] + q.units[1] if q.merged else q.units[i])
        context.set_shape(context.output(node, i), 3, dims)
    return 0


cdef int expect(Context context, Node* node, int index, int type, ptrdiff_t rows, ptrdiff_t columns=-1) except -1:
    """The type and shape of a weight; columns -1: a vector."""
    cdef Tensor* t = operand(context, node, index)
    cdef bint fits = t.rank == (1 if columns < 0 else 2) and t.dims[0] == rows and (columns < 0 or t.dims[1] == columns)
    if t.type != type or not fits:
        raise ValueError(f"input {index} must be {type_name(type)} {[rows] if columns < 0 else [rows, columns]}, is {type_name(t.type)} {shape_of(t)}")
    if type != FLOAT32 and columns >= 0 and not is_constant(t):
        raise ValueError(f"input {index}: 8-bit weights must be constant")
    return 0


cdef int expect_state(Context context, Node* node, int index, ptrdiff_t size) except -1:
    cdef Tensor* t = operand(context, node, index)
    if t.allocation != VARIABLE or t.type != FLOAT32 or count(t) != size:
        raise ValueError(f"input {index} must be a FLOAT32 variable of {size} values, is {type_name(t.type)} {shape_of(t)}")
    return 0


cdef inline const float* data_of(Context context, const Node* node, int index) noexcept nogil:
    cdef Tensor* t = context.input(node, index)
    return NULL if t == NULL else <float*>t.data


cdef inline ptrdiff_t place(const Sequence* q, int direction, ptrdiff_t b, ptrdiff_t t) noexcept nogil:
    """The row of a sequence's step; batch 0 of those that go together when time comes first."""
    if direction:
        t = q.steps - 1 - t
    return t * q.batches + b if q.time_major else b * q.steps + t


cdef inline float* row_of_output(Context context, const Node* node, const Sequence* q, int direction, ptrdiff_t row) noexcept nogil:
    if not q.merged:
        return <float*>context.output(node, direction).data + row * q.units[direction]
    return <float*>context.output(node, 0).data + row * (q.units[0] + q.units[1]) + (q.units[0] if direction else 0)


cdef inline ptrdiff_t output_step(const Sequence* q, int direction) noexcept nogil:
    return q.units[0] + q.units[1] if q.merged else q.units[direction]


# ---------------------------------------------------------------- BIDIRECTIONAL_SEQUENCE_RNN

cdef int prepare_rnn(Context context, Node* node) except -1:
    cdef RnnCells* s = <RnnCells*>context.persistent(sizeof(RnnCells))
    cdef Sequence* q = &s.q
    cdef int activation = table_i8(node.options, BIDIRECTIONAL_SEQUENCE_RNN_FUSED_ACTIVATION_FUNCTION, 0)
    cdef Tensor* aux
    cdef int type, first, direction
    cdef ptrdiff_t widest
    if node.input_count != 12:
        raise ValueError(f"node->inputs->size != 12 ({node.input_count})")
    q.time_major = table_bool(node.options, BIDIRECTIONAL_SEQUENCE_RNN_TIME_MAJOR, False)
    q.merged = table_bool(node.options, BIDIRECTIONAL_SEQUENCE_RNN_MERGE_OUTPUTS, False)
    q.asymmetric = table_bool(node.options, BIDIRECTIONAL_SEQUENCE_RNN_ASYMMETRIC_QUANTIZE_INPUTS, False)
    aux = context.input(node, RNN_AUX)
    if (context.input(node, RNN_AUX_WEIGHTS) == NULL) != (context.input(node, RNN_AUX_WEIGHTS + 1) == NULL):
        raise ValueError("aux_inputs_weights_or_none was not true")
    cdef bint fits = start_sequence(context, node, q, aux, context.input(node, RNN_AUX_WEIGHTS))
    type = operand(context, node, RNN_CELL).type
    if type != FLOAT32 and type != INT8 and type != UINT8:
        raise ValueError("Type not currently supported.")
    if activation < ACT_NONE or activation > ACT_SIGN_BIT:
        activation = ACT_NONE                    # what TensorFlow does not know is none
    q.hybrid = type != FLOAT32
    widest = max(q.inputs, q.aux_inputs)
    for direction in range(2):
        first = RNN_CELL + RNN_CELL_INPUTS * direction
        if operand(context, node, first).rank != 2:
            raise ValueError(f"input {first} must be a matrix")
        q.units[direction] = context.input(node, first).dims[0]
        s.shape[direction].inputs, s.shape[direction].units = q.inputs, q.units[direction]
        s.shape[direction].aux_inputs, s.shape[direction].activation = q.aux_inputs, activation
        s.shape[direction].fast = row_kernels()
        s.shape[direction].dotprod = has_dotprod()
        expect(context, node, first, type, q.units[direction], q.inputs)
        expect(context, node, first + 1, type, q.units[direction], q.units[direction])
        expect(context, node, first + 2, FLOAT32, q.units[direction])
        expect_state(context, node, first + 3, q.batches * q.units[direction])
        if q.aux_inputs > 0:
            expect(context, node, RNN_AUX_WEIGHTS + direction, type, q.units[direction], q.aux_inputs)
        widest = max(widest, q.units[direction])
        if q.hybrid:
            inspect_rnn(context, &s.matrices[3 * direction], context.input(node, first))
            inspect_rnn(context, &s.matrices[3 * direction + 2], context.input(node, first + 1))
            if q.aux_inputs > 0:
                inspect_rnn(context, &s.matrices[3 * direction + 1], context.input(node, RNN_AUX_WEIGHTS + direction))
    s.quantized = context.request_scratch(widest * sizeof(int16_t) + 2)
    shape_outputs(context, node, q)
    if not fits:
        raise OwnRefusalError("the auxiliary input does not go with the input")
    node.data = s
    node.invoke = run_rnn
    return 0


cdef int inspect_rnn(Context context, RnnMatrix* m, const Tensor* w) except -1:
    m.row_sums = <int32_t*>context.persistent(w.dims[0] * sizeof(int32_t) + 4)
    m.w, m.columns, m.scale = <int8_t*>w.data, w.dims[1], w.scale
    m.minimum = has_minimum(<const int8_t*>w.data, w.dims[0], w.dims[1])
    sum_rows(<const int8_t*>w.data, w.dims[0], w.dims[1], m.row_sums)
    return 0


cdef int run_rnn(Context context, Node* node) noexcept nogil:
    cdef const RnnCells* s = <const RnnCells*>node.data
    cdef const Sequence* q = &s.q
    cdef ptrdiff_t rounds = q.steps if q.hybrid and q.time_major else 1
    cdef ptrdiff_t together = q.batches if q.time_major else 1
    cdef ptrdiff_t t, b
    cdef int direction
    while rounds > 0:
        for direction in range(2):
            b = 0
            while b < q.batches:
                for t in range(q.steps):
                    rnn_step(context, node, s, direction, b, t, together)
                b += together
        rounds -= 1
    return 0


cdef void rnn_step(Context context, Node* node, const RnnCells* s, int direction, ptrdiff_t b, ptrdiff_t t, ptrdiff_t together) noexcept nogil:
    cdef const Sequence* q = &s.q
    cdef const RnnMatrix* m = &s.matrices[3 * direction]
    cdef int first = RNN_CELL + RNN_CELL_INPUTS * direction
    cdef ptrdiff_t row = place(q, direction, b, t)
    cdef bint other_input = direction == 1 and q.aux_inputs == 0 and q.time_major and context.input(node, RNN_AUX) != NULL
    cdef ptrdiff_t aux_step = q.aux_inputs if q.aux_inputs < q.inputs or not (q.time_major or q.hybrid) else q.inputs
    cdef const float* x = data_of(context, node, RNN_AUX if other_input else 0) + row * q.inputs
    cdef const float* aux = NULL
    cdef float* h = <float*>data_of(context, node, first + 3) + b * q.units[direction]
    cdef float* y = row_of_output(context, node, q, direction, row)
    if q.aux_inputs > 0:
        aux = data_of(context, node, RNN_AUX) + row * aux_step
    if q.hybrid:
        rnn_step_hybrid(&s.shape[direction], m, m + 1, m + 2, data_of(context, node, first + 2), q.asymmetric, together, x, aux, h, y,
                        output_step(q, direction), <int16_t*>context.scratch(s.quantized))
        return
    rnn_step_f32(&s.shape[direction], data_of(context, node, first), data_of(context, node, RNN_AUX_WEIGHTS + direction),
                 data_of(context, node, first + 1), data_of(context, node, first + 2), together, x, aux, h, y, output_step(q, direction))


# ---------------------------------------------------------------- BIDIRECTIONAL_SEQUENCE_LSTM

cdef int prepare_lstm(Context context, Node* node) except -1:
    cdef LstmCells* s = <LstmCells*>context.persistent(sizeof(LstmCells))
    cdef Sequence* q = &s.q
    cdef bint has_aux_weights
    cdef int type, direction
    if node.input_count != 48:
        raise ValueError(f"node->inputs->size != 48 ({node.input_count})")
    q.time_major = node.options != NULL and table_bool(node.options, BIDIRECTIONAL_SEQUENCE_LSTM_TIME_MAJOR, True)
    q.merged = table_bool(node.options, BIDIRECTIONAL_SEQUENCE_LSTM_MERGE_OUTPUTS, False)
    q.asymmetric = table_bool(node.options, BIDIRECTIONAL_SEQUENCE_LSTM_ASYMMETRIC_QUANTIZE_INPUTS, False)
    has_aux_weights = context.input(node, LSTM_AUX_WEIGHTS + 1) != NULL
    cdef bint fits = start_sequence(context, node, q, context.input(node, LSTM_AUX), context.input(node, LSTM_AUX_WEIGHTS + 1))
    type = operand(context, node, LSTM_CELL + OUTPUT_GATE).type
    if type != FLOAT32 and type != INT8 and type != UINT8:
        raise ValueError(f"Type {type_name(type)} is not currently supported.")
    q.hybrid = type != FLOAT32
    for direction in range(2):
        prepare_cell(context, node, s, direction, type, has_aux_weights)
    if s.shape[0].cells != s.shape[1].cells or s.shape[0].outputs != s.shape[1].outputs:
        raise ValueError(
            f"input_to_forget_weights->dims->data[0] != n_cell ({s.shape[0].cells} != {s.shape[1].cells}): TensorFlow wants both cells alike")
    request_step_memory(context, s)
    shape_outputs(context, node, q)
    if not fits:
        raise OwnRefusalError("the auxiliary input does not go with the input")
    node.data = s
    node.invoke = run_lstm
    return 0


cdef int prepare_cell(Context context, Node* node, LstmCells* s, int direction, int type, bint has_aux_weights) except -1:
    cdef const Sequence* q = &s.q
    cdef LstmShape* shape = &s.shape[direction]
    cdef int first = LSTM_CELL + LSTM_CELL_INPUTS * direction
    cdef Tensor* w = operand(context, node, first + OUTPUT_GATE)
    cdef Tensor* r = operand(context, node, first + RECURRENT + OUTPUT_GATE)
    cdef bint coupled = context.input(node, first) == NULL
    cdef bint peepholes = context.input(node, first + PEEPHOLES + 2) != NULL
    cdef bint projected = context.input(node, first + PROJECTION) != NULL
    cdef int gate, i
    if w.rank != 2 or r.rank != 2:
        raise ValueError("the output gate's weights must be matrices")
    shape.inputs, shape.cells, shape.outputs, shape.aux_inputs = q.inputs, w.dims[0], r.dims[1], q.aux_inputs
    shape.activation = table_i8(node.options, BIDIRECTIONAL_SEQUENCE_LSTM_FUSED_ACTIVATION_FUNCTION, 0)
    shape.cell_clip = table_f32(node.options, BIDIRECTIONAL_SEQUENCE_LSTM_CELL_CLIP, 0)
    shape.proj_clip = table_f32(node.options, BIDIRECTIONAL_SEQUENCE_LSTM_PROJ_CLIP, 0)
    shape.hybrid, shape.asymmetric = q.hybrid, q.asymmetric
    shape.top_block = top_block(l1_data_bytes())
    shape.fast = row_kernels()
    shape.dotprod = has_dotprod()
    s.q.units[direction] = shape.outputs
    if not shape.cell_clip >= 0 or not shape.proj_clip >= 0:
        raise ValueError("params->cell_clip >= 0 and params->proj_clip >= 0 was not true.")
    if shape.activation < ACT_NONE or shape.activation > ACT_SIGN_BIT:
        shape.activation = ACT_NONE              # what TensorFlow does not know is none
    if coupled != (context.input(node, first + RECURRENT) == NULL) or (coupled and context.input(node, first + BIASES) != NULL):
        raise ValueError("cifg_weights_all_or_none == true was not true.")
    for gate in range(1 if coupled else 0, 4):
        expect(context, node, first + gate, type, shape.cells, shape.inputs)
        expect(context, node, first + RECURRENT + gate, type, shape.cells, shape.outputs)
        expect(context, node, first + BIASES + gate, FLOAT32, shape.cells)
        if has_aux_weights:
            expect(context, node, LSTM_AUX_WEIGHTS + 4 * direction + gate, type, shape.cells, q.aux_inputs)
        elif context.input(node, LSTM_AUX_WEIGHTS + 4 * direction + gate) != NULL:
            raise ValueError("aux_inputs_weights_all_or_none was not true")
    for i in range(3):
        if peepholes and not (coupled and i == 0):
            expect(context, node, first + PEEPHOLES + i, type, shape.cells)
        elif context.input(node, first + PEEPHOLES + i) != NULL:
            raise ValueError("peephole_weights_all_or_none == true was not true.")
    if projected:
        expect(context, node, first + PROJECTION, type, shape.outputs, shape.cells)
    elif shape.outputs != shape.cells:
        raise ValueError(f"{shape.cells} cells and {shape.outputs} outputs need a projection")
    if context.input(node, first + PROJECTION_BIAS) != NULL:
        if not projected:
            raise ValueError("projecton_tensors_consistent == true was not true.")
        expect(context, node, first + PROJECTION_BIAS, FLOAT32, shape.outputs)
    expect_state(context, node, STATES + 2 * direction, q.batches * shape.outputs)
    expect_state(context, node, STATES + 2 * direction + 1, q.batches * shape.cells)
    if q.hybrid:
        for gate in range(4):
            inspect_lstm(context, &s.matrices[13 * direction + gate], context.input(node, first + gate))
            inspect_lstm(context, &s.matrices[13 * direction + 8 + gate], context.input(node, first + RECURRENT + gate))
            inspect_lstm(context, &s.matrices[13 * direction + 4 + gate], context.input(node, LSTM_AUX_WEIGHTS + 4 * direction + gate))
        inspect_lstm(context, &s.matrices[13 * direction + 12], context.input(node, first + PROJECTION))
    return 0


cdef int inspect_lstm(Context context, HybridMatrix* m, const Tensor* w) except -1:
    if w == NULL:
        return 0
    m.row_sums = <int32_t*>context.persistent(w.dims[0] * sizeof(int32_t) + 4)
    m.scale = w.scale
    m.minimum = has_minimum(<const int8_t*>w.data, w.dims[0], w.dims[1])
    sum_rows(<const int8_t*>w.data, w.dims[0], w.dims[1], m.row_sums)
    return 0


cdef int request_step_memory(Context context, LstmCells* s) except -1:
    """Memory for one step of the larger cell."""
    cdef ptrdiff_t together = s.q.batches if s.q.time_major else 1
    cdef ptrdiff_t cells = max(s.shape[0].cells, s.shape[1].cells)
    cdef ptrdiff_t widest = max(cells, s.shape[0].outputs, s.shape[1].outputs)
    s.scratch[0] = context.request_scratch(4 * together * cells * sizeof(float))
    s.scratch[1] = context.request_scratch(together * widest * sizeof(float))
    s.scratch[2] = context.request_scratch(together * s.q.inputs * sizeof(int16_t))
    s.scratch[3] = context.request_scratch(together * s.q.aux_inputs * sizeof(int16_t))
    s.scratch[4] = context.request_scratch(together * widest * sizeof(int16_t))
    s.scratch[5] = context.request_scratch(together * sizeof(RowScale))
    s.scratch[6] = context.request_scratch(together * sizeof(RowScale))
    s.scratch[7] = context.request_scratch(together * sizeof(RowScale))
    return 0


cdef int run_lstm(Context context, Node* node) noexcept nogil:
    cdef const LstmCells* s = <const LstmCells*>node.data
    cdef const Sequence* q = &s.q
    cdef LstmGate[4] gates
    cdef LstmProjection projection
    cdef LstmRoom room
    cdef ptrdiff_t together = q.batches if q.time_major else 1
    cdef ptrdiff_t aux_step = min(q.aux_inputs, q.inputs)
    cdef ptrdiff_t b, t, row
    cdef const float* x
    cdef const float* aux
    cdef int direction
    room.gates, room.products = <float*>context.scratch(s.scratch[0]), <float*>context.scratch(s.scratch[1])
    room.x, room.aux, room.h = (
        <int16_t*>context.scratch(s.scratch[2]), <int16_t*>context.scratch(s.scratch[3]), <int16_t*>context.scratch(s.scratch[4]))
    room.x_scales, room.aux_scales, room.h_scales = (
        <RowScale*>context.scratch(s.scratch[5]), <RowScale*>context.scratch(s.scratch[6]), <RowScale*>context.scratch(s.scratch[7]))
    for direction in range(2):
        gather_cell(context, node, s, direction, gates, &projection)
        x = data_of(context, node, 0)
        aux = data_of(context, node, LSTM_AUX)
        if q.aux_inputs == 0 and direction == 1 and aux != NULL:
            x = aux
        b = 0
        while b < q.batches and s.shape[direction].cells > 0:
            room.all_batches, room.batch = q.batches, b
            for t in range(q.steps):
                row = place(q, direction, b, t)
                lstm_step(&s.shape[direction], gates, &projection, together, x + row * q.inputs,
                          aux + row * aux_step if q.aux_inputs > 0 else NULL,
                          <float*>data_of(context, node, STATES + 2 * direction) + b * s.shape[direction].outputs,
                          <float*>data_of(context, node, STATES + 2 * direction + 1) + b * s.shape[direction].cells,
                          row_of_output(context, node, q, direction, row), output_step(q, direction), &room)
            b += together
    return 0


cdef void gather_cell(Context context, Node* node, const LstmCells* s, int direction, LstmGate* gates, LstmProjection* projection) noexcept nogil:
    cdef int first = LSTM_CELL + LSTM_CELL_INPUTS * direction
    cdef Tensor* peephole
    cdef int gate
    for gate in range(4):
        gates[gate].w = data_of(context, node, first + gate)
        gates[gate].aux = data_of(context, node, LSTM_AUX_WEIGHTS + 4 * direction + gate)
        gates[gate].r = data_of(context, node, first + RECURRENT + gate)
        gates[gate].diagonal = False
        gates[gate].bias = data_of(context, node, first + BIASES + gate)
        gates[gate].norm = NULL
        gates[gate].w_hybrid = s.matrices[13 * direction + gate]
        gates[gate].aux_hybrid = s.matrices[13 * direction + 4 + gate]
        gates[gate].r_hybrid = s.matrices[13 * direction + 8 + gate]
        peephole = NULL if gate == CELL_GATE else context.input(node, first + PEEPHOLES + (2 if gate == OUTPUT_GATE else gate))
        gates[gate].peephole = NULL if peephole == NULL else peephole.data
        gates[gate].peephole_scale = 0 if peephole == NULL else peephole.scale
    projection.w = data_of(context, node, first + PROJECTION)
    projection.bias = data_of(context, node, first + PROJECTION_BIAS)
    projection.hybrid = s.matrices[13 * direction + 12]


OPERATORS = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": register(prepare_lstm, version=3, reference_version=3),
    "BIDIRECTIONAL_SEQUENCE_RNN": register(prepare_rnn, version=3, reference_version=3),
}
