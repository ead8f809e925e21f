"""UNIDIRECTIONAL_SEQUENCE_LSTM, and LSTM's full kernel, which is one step of it.

| input | weights | output, output state | cell state | biases | peephole | layer normalisation |
| --- | --- | --- | --- | --- | --- | --- |
| float32 | float32 | float32 | float32 | float32 | float32 | float32 |
| float32 | int8 (hybrid; uint8 is read as int8) | float32 | float32 | float32 | int8 | float32 |
| int8 | int8 | int8 | int16, scale a power of two | int32 | int16 | int16 |

LSTM's basic kernel, of five inputs, is in lstm_basic.pyx, the integer forms are in lstm_integer.pyx and lstm_gates_i8.pyx.

Recurrent weights of a sequence on float32 states may be diagonal: float32 vectors [cells], each gate's for itself.
Without input-to-input weights the input gate is 1 - forget gate. A sequence [time, batch, input] (time_major) takes all batches of a step
together, [batch, time, input] one batch after the other; for float32 weights the products' bits depend on it.
The hybrid weights of LSTM may be sparse constants in blocks of 16 columns, all of them or, without asymmetric quantization, some, but always
the output gate's input weights. TensorFlow crashes there without a projection. A sequence has no sparse weights.
Without an activation the cell gate is left where the sums lie: see `arithmetic/lstm.pxd`.

TensorFlow Lite Micro has plain gates only (arithmetic/micro/lstm*.pxd).

Source: LiteRT:tflite/kernels/{unidirectional_sequence_lstm,lstm,lstm_eval}.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_SIGN_BIT
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, FORGET_GATE, INPUT_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.hybrid cimport has_minimum, sum_rows
from tflm_cy.arithmetic.hybrid_neon cimport by_dots
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.row_kernels cimport RowScale
from tflm_cy.arithmetic.lstm cimport HybridMatrix, LstmGate, LstmProjection, LstmRoom, LstmShape, lstm_step
from tflm_cy.arithmetic.micro.lstm cimport lstm_step_in_order
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.graph.context cimport EVERY_INPUT, MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, INT32, MAX_RANK, UINT8, VARIABLE, Tensor, bytes_of, count, is_constant, type_name
from tflm_cy.ops.densify cimport densify, sparse_block, stored_rows
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.ops.lstm_basic cimport prepare_basic
from tflm_cy.ops.lstm_gates_i8 cimport prepare_gates8
from tflm_cy.ops.lstm_integer cimport prepare_integer
from tflm_cy.ops.lstm_layer cimport (
    BIASES, CELL_STATE, INPUT_WEIGHTS, NORMS, OUTPUT_STATE, PEEPHOLES, PROJECTION_BIAS, PROJECTION_WEIGHTS, RECURRENT_WEIGHTS, X, Lstm,
    data_of, expect_type, peephole_index, required,
)
from tflm_cy.schema.option_slots cimport (
    LSTM_KERNEL_TYPE, UNIDIRECTIONAL_SEQUENCE_LSTM_ASYMMETRIC_QUANTIZE_INPUTS, UNIDIRECTIONAL_SEQUENCE_LSTM_CELL_CLIP,
    UNIDIRECTIONAL_SEQUENCE_LSTM_FUSED_ACTIVATION_FUNCTION, UNIDIRECTIONAL_SEQUENCE_LSTM_PROJ_CLIP,
    UNIDIRECTIONAL_SEQUENCE_LSTM_TIME_MAJOR,
)
from tflm_cy.schema.table cimport table_bool, table_f32, table_i8
from tflm_cy.simd.table cimport row_kernels

from tflm_cy.graph.refusal import OwnRefusalError

cdef enum:
    SPARSE_BLOCK = 16
    MOST_SPARSE_COLUMNS = 4096   # TensorFlow counts blocks in bytes

cdef enum:                       # LSTMKernelType
    FULL = 0
    BASIC = 1


cdef inline bint is_diagonal(const Tensor* x, const Tensor* r) noexcept nogil:
    """Recurrent weights that are a vector: of a sequence of floats."""
    return r.rank == 1 and x.rank == 3 and x.type == FLOAT32


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
    cdef Tensor seen = x[0]
    cdef Lstm* s
    if x.rank < 3:
        raise ValueError(f"input->dims->size != 3 ({x.rank}): the input is a sequence of batches")
    seen.rank = 3                                # TensorFlow looks at no more of them
    s = prepare_shapes(context, node, &seen, table_bool(node.options, UNIDIRECTIONAL_SEQUENCE_LSTM_TIME_MAJOR, False),
                       table_bool(node.options, UNIDIRECTIONAL_SEQUENCE_LSTM_ASYMMETRIC_QUANTIZE_INPUTS, False))
    if x.rank > 3:
        if context.input(node, INPUT_WEIGHTS + OUTPUT_GATE).dims[1] != seen.dims[2]:
            raise ValueError("input_to_output_weights->dims->data[1] != n_input")
        raise OwnRefusalError("input->dims->size != 3: the input is a sequence of batches")
    return prepare_kind(context, node, s, x)


cdef int prepare_step(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Lstm* s
    if table_i8(node.options, LSTM_KERNEL_TYPE, FULL) == BASIC:
        expect_dense(context, node)
        return prepare_basic(context, node)
    if table_i8(node.options, LSTM_KERNEL_TYPE, FULL) != FULL:
        raise ValueError(f"Unhandled LSTM kernel type: {table_i8(node.options, LSTM_KERNEL_TYPE, FULL)}")
    x = expect_inputs(context, node)
    if x.rank != 2:
        raise ValueError(f"input->dims->size != 2 ({x.rank})")
    s = prepare_shapes(context, node, x, True, table_bool(node.options, UNIDIRECTIONAL_SEQUENCE_LSTM_ASYMMETRIC_QUANTIZE_INPUTS, False))
    if is_sparse(context.input(node, INPUT_WEIGHTS + OUTPUT_GATE)) and s.shape.hybrid:
        expect_sparse(context, node, s)
    else:
        expect_dense(context, node)
    prepare_kind(context, node, s, x)
    if s.kept_scales != NULL:
        unpack_sparse(context, node, s)
    return 0


cdef inline bint is_sparse(const Tensor* tensor) noexcept nogil:
    return tensor != NULL and tensor.sparsity != NULL


cdef int expect_dense(Context context, const Node* node) except -1:
    """Where sparse constants are read as dense ones there must be as many values."""
    cdef const Tensor* tensor
    cdef int i
    for i in range(node.input_count):
        tensor = context.input(node, i)
        if is_sparse(tensor) and <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims):
            raise ValueError(f"input {i} is a sparse constant")
    return 0


cdef int expect_sparse(Context context, const Node* node, Lstm* s) except -1:
    """Sparse matrices where TensorFlow reads them as such."""
    cdef const Tensor* w
    cdef int i
    for i in range(node.input_count):
        w = context.input(node, i)
        if w == NULL:
            continue
        if X < i <= INPUT_WEIGHTS + 7 or i == PROJECTION_WEIGHTS:
            if w.sparsity == NULL and s.shape.asymmetric:
                raise ValueError(f"LSTM: input {i} is dense beside sparse weights, which want symmetric quantization then")
            if w.sparsity == NULL:
                continue
            if w.type != INT8 or w.rank != 2 or sparse_block(w) != SPARSE_BLOCK or w.dims[1] > MOST_SPARSE_COLUMNS:
                raise ValueError(
                    f"LSTM: input {i}: sparse weights want blocks of {SPARSE_BLOCK} int8 columns, at most {MOST_SPARSE_COLUMNS}")
        elif w.sparsity != NULL:
            raise ValueError(f"input {i} is a sparse constant")
    s.kept_scales = <RowScale*>context.persistent(s.batches * sizeof(RowScale) + 1)
    return 0


cdef int unpack_sparse(Context context, Node* node, Lstm* s) except -1:
    cdef const Tensor* w
    cdef size_t bytes
    cdef int matrix
    for matrix in range(9):
        w = context.input(node, matrix_index(matrix))
        if is_sparse(w):
            bytes = bytes_of(w.type, w.rank, w.dims)
            s.dense[matrix] = <int8_t*>context.persistent(bytes + 1)
            densify(w, <char*>s.dense[matrix], bytes)
            s.matrices[matrix].sparse = True
            if AARCH64 and not by_dots(w.dims[1], has_dotprod()):
                s.matrices[matrix].stored = stored_rows(context, w)
    inspect_weights(context, node)
    return 0


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
    if w.rank != 2 or not (r.rank == 2 or is_diagonal(x, r)):
        raise ValueError("LSTM: the output gate's weights must be matrices")
    s = <Lstm*>context.persistent(sizeof(Lstm))
    shape = &s.shape
    s.time_major = time_major
    s.batches = x.dims[0] if x.rank == 2 or not time_major else x.dims[1]
    s.steps = 1 if x.rank == 2 else x.dims[0] if time_major else x.dims[1]
    s.normed = node.input_count == 24 and context.input(node, NORMS + FORGET_GATE) != NULL
    shape.inputs, shape.cells, shape.outputs = x.dims[x.rank - 1], w.dims[0], r.dims[r.rank - 1]
    shape.activation = table_i8(node.options, UNIDIRECTIONAL_SEQUENCE_LSTM_FUSED_ACTIVATION_FUNCTION, 0)
    shape.cell_clip = table_f32(node.options, UNIDIRECTIONAL_SEQUENCE_LSTM_CELL_CLIP, 0)
    shape.proj_clip = table_f32(node.options, UNIDIRECTIONAL_SEQUENCE_LSTM_PROJ_CLIP, 0)
    shape.asymmetric = asymmetric
    shape.hybrid = x.type == FLOAT32 and w.type in (INT8, UINT8)
    if not shape.cell_clip >= 0 or not shape.proj_clip >= 0:
        raise ValueError("params->cell_clip >= 0 and params->proj_clip >= 0 was not true.")
    if shape.activation < ACT_NONE or shape.activation > ACT_SIGN_BIT:
        shape.activation = ACT_NONE              # what TensorFlow does not know is none
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
    if integer and x.rank == 2 and node.intermediate_count == 12 and node.arithmetic != MICRO:
        return prepare_gates8(context, node, s)
    if integer:
        return prepare_integer(context, node, s)
    return prepare_float(context, node, s)


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
        t = required(context, node, RECURRENT_WEIGHTS + gate, "recurrent weights")
        if is_diagonal(context.input(node, X), t):
            expect(context, t, FLOAT32, "diagonal recurrent weights", shape.cells)
            if shape.outputs < shape.cells:
                raise ValueError(f"LSTM: diagonal recurrent weights of {shape.cells} cells need as many outputs, not {shape.outputs}")
        else:
            expect(context, t, matrix, "recurrent weights", shape.cells, shape.outputs)
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


cdef bint has_diagonals(Context context, Node* node) noexcept nogil:
    cdef int gate
    for gate in range(4):
        if context.input(node, RECURRENT_WEIGHTS + gate) != NULL and context.input(node, RECURRENT_WEIGHTS + gate).rank == 1:
            return True
    return False


cdef int prepare_float(Context context, Node* node, Lstm* s) except -1:
    cdef LstmShape* shape = &s.shape
    cdef ptrdiff_t together = s.batches if s.time_major else 1
    cdef ptrdiff_t widest = max(shape.cells, shape.outputs)
    cdef Tensor* w
    cdef int matrix
    shape.top_block = top_block(l1_data_bytes())
    if node.arithmetic != MICRO:
        shape.fast = row_kernels()
        shape.dotprod = has_dotprod()
    if node.arithmetic == MICRO and (shape.hybrid or s.normed or has_diagonals(context, node) or context.input(node, PROJECTION_WEIGHTS) != NULL
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
        if s.known_weights and s.kept_scales == NULL:            # else they are still to be unpacked
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
        if w != NULL and w.rank == 2:
            m.scale = w.scale
            m.minimum = has_minimum(<const int8_t*>values_of(s, matrix, w), w.dims[0], w.dims[1])
            sum_rows(<const int8_t*>values_of(s, matrix, w), w.dims[0], w.dims[1], m.row_sums)


cdef inline void* values_of(const Lstm* s, int matrix, Tensor* w) noexcept nogil:
    return data_of(w) if s.dense[matrix] == NULL else <void*>s.dense[matrix]


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
        gates[gate].w = values_of(s, gate, context.input(node, INPUT_WEIGHTS + gate))
        gates[gate].r = values_of(s, 4 + gate, context.input(node, RECURRENT_WEIGHTS + gate))
        gates[gate].diagonal = gates[gate].r != NULL and context.input(node, RECURRENT_WEIGHTS + gate).rank == 1
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
    projection.w = values_of(s, 8, context.input(node, PROJECTION_WEIGHTS))
    projection.bias = <const float*>data_of(context.input(node, PROJECTION_BIAS))
    projection.hybrid = s.matrices[8]
    room.all_batches, room.batch = s.batches, 0
    room.gates = <float*>context.scratch(s.gates)
    room.products = <float*>context.scratch(s.products)
    if shape.hybrid:
        room.x = <int16_t*>context.scratch(s.x)
        room.h = <int16_t*>context.scratch(s.h)
        room.x_scales = s.kept_scales if s.kept_scales != NULL else <RowScale*>context.scratch(s.x_scales)
        room.h_scales = <RowScale*>context.scratch(s.h_scales)
    if s.time_major:
        for t in range(s.steps):
            at = t * s.batches
            lstm_step(shape, gates, &projection, s.batches, x + at * shape.inputs, NULL, h, c, y + at * shape.outputs, shape.outputs, &room)
        return 0
    for b in range(s.batches):
        room.batch = b
        for t in range(s.steps):
            at = b * s.steps + t
            lstm_step(shape, gates, &projection, 1, x + at * shape.inputs, NULL, h + b * shape.outputs, c + b * shape.cells,
                      y + at * shape.outputs, shape.outputs, &room)
    return 0


OPERATORS = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": register(prepare_sequence, version=4, reference_version=3),
    "LSTM": register(prepare_step, version=4, reference_version=4, lowest_version=1, sparse_input=EVERY_INPUT),
}
