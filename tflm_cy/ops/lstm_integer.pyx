"""LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM on integers: int8 inputs, weights and outputs, an int16 cell whose scale is a power of two.

Peepholes and layer normalisation are int16, biases int32. Five intermediate tensors carry scales: of the four gates before layer
normalisation and of the hidden state. (LSTM with twelve of them is another kernel: lstm_gates_i8.pyx.)

TensorFlow Lite Micro has plain gates only, asks for no intermediates and has its own scales (arithmetic/micro/lstm_quantized.pxd).

Source: LiteRT:tflite/kernels/{unidirectional_sequence_lstm,lstm,lstm_eval}.cc.
"""
from libc.math cimport fabs, fabsf, log2, logf, round, roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.activation cimport fill_sigmoid
from tflm_cy.arithmetic.fixed_point cimport ACT_TANH, quantize_multiplier
from tflm_cy.arithmetic.gate_order cimport CELL_GATE
from tflm_cy.arithmetic.lstm cimport LstmShape
from tflm_cy.arithmetic.lstm_quantized cimport IntegerGate, IntegerLstm, IntegerRoom, integer_step
from tflm_cy.arithmetic.micro.lstm_quantized cimport MicroLstm, integer_step_in_layers
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.rounding cimport cut32
from tflm_cy.graph.context cimport MICRO, Context, Node
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.lstm_layer cimport (
    BIASES, CELL_STATE, INPUT_WEIGHTS, NORMS, OUTPUT_STATE, PEEPHOLES, PROJECTION_BIAS, PROJECTION_WEIGHTS, RECURRENT_WEIGHTS, X, Lstm,
    data_of, peephole_index,
)
from tflm_cy.simd.lstm_i8 cimport LstmI8
from tflm_cy.simd.table cimport kernels, row_kernels

cdef struct Integers:
    IntegerLstm integer
    IntegerGate[4] gates
    MicroLstm* micro             # TFLM's multipliers and tables, else NULL
    LstmI8* fast                  # with a vector kernel
    int fast_room                # scratch
    int hidden                   # scratch
    void (*fast_step)(const LstmI8* s, const int8_t* x, int8_t* h, int16_t* c, int8_t* y, void* scratch) noexcept nogil


cdef int prepare_integer(Context context, Node* node, Lstm* s) except -1:
    cdef LstmShape* shape = &s.shape
    cdef Integers* own = <Integers*>context.persistent(sizeof(Integers))
    cdef IntegerLstm* q = &own.integer
    cdef Tensor* x = context.input(node, X)
    cdef Tensor* h = context.input(node, OUTPUT_STATE)
    cdef Tensor* c = context.input(node, CELL_STATE)
    cdef Tensor* projection = context.input(node, PROJECTION_WEIGHTS)
    cdef Tensor* hidden
    cdef int gate
    s.integers = own
    if node.arithmetic == MICRO:
        return prepare_micro(context, node, s)
    if node.intermediate_count != 5:
        raise ValueError(f"num_intermediate_tensors == 5 was not true ({node.intermediate_count})")
    hidden = intermediate(context, node, 4)
    q.inputs, q.cells, q.outputs = shape.inputs, shape.cells, shape.outputs
    q.x_zero_point, q.h_zero_point, q.hidden_zero_point = x.zero_point, h.zero_point, hidden.zero_point
    if shape.cell_clip > 0:
        q.cell_clip = <int32_t><int16_t>min(max(<float>(shape.cell_clip / c.scale), <float>-32768), <float>32767)
    if shape.proj_clip > 0:
        q.proj_clip = <int32_t><int8_t>min(max(<float>(shape.proj_clip / context.output(node, 0).scale), <float>-128), <float>127)
    q.fast = row_kernels()
    if not read_exponent(c, &q.cell_log2) or (x.rank == 2 and q.cell_log2 > -9):         # LSTM looks at the power, too
        q.hidden_zero_point = 0
        request_step_memory(context, s, own)
        node.invoke = run_integer
        return 0
    q.hidden_scale = quantize_multiplier(<float>((1.0 / (1 << 15)) / <double>hidden.scale * (1.0 / (1 << 15))))
    if projection != NULL:
        q.projection_scale = quantize_multiplier(<float>(<float>(projection.scale * hidden.scale) / h.scale))
        if context.input(node, PEEPHOLES + 2) != NULL and shape.outputs != shape.cells:
            raise ValueError("LSTM: peepholes of the integer kernel need as many outputs as cells")
    for gate in range(4):
        if context.input(node, INPUT_WEIGHTS + gate) != NULL:
            prepare_integer_gate(context, node, s, gate)
    request_step_memory(context, s, own)
    node.invoke = run_integer
    return prepare_vector(context, node, s)


cdef int request_step_memory(Context context, Lstm* s, Integers* own) except -1:
    """Scratch memory of a step."""
    cdef const LstmShape* shape = &s.shape
    s.x = context.request_scratch(shape.inputs * sizeof(int16_t))
    s.h = context.request_scratch(shape.outputs * sizeof(int16_t))
    own.hidden = context.request_scratch(shape.cells * sizeof(int16_t))
    s.gates = context.request_scratch(4 * shape.cells * sizeof(int16_t))
    s.products = context.request_scratch(max(shape.cells, shape.outputs) * sizeof(int32_t))
    return 0


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


cdef bint shifts_fit(const Integers* own) noexcept:
    """Left shifts within 32 bits: by more the definition shifts as x86 does, the vectors give zero."""
    cdef int gate
    for gate in range(4):
        if max(own.gates[gate].w_scale.shift, own.gates[gate].r_scale.shift) > 31:
            return False
    return own.integer.hidden_scale.shift <= 31


cdef int prepare_vector(Context context, Node* node, Lstm* s) except -1:
    """With vector kernels: weights packed."""
    cdef Integers* own = <Integers*>s.integers
    cdef const IntegerLstm* q = &own.integer
    cdef LstmI8* fast
    cdef int gate
    if kernels().lstm_i8.plan == NULL or not is_plain(context, node, s) or q.cells == 0 or not -15 <= q.cell_log2 <= -9:
        return 0
    if not shifts_fit(own):
        return 0
    fast = <LstmI8*>context.persistent(sizeof(LstmI8))
    own.fast = fast
    fast.inputs, fast.cells = q.inputs, q.cells
    fast.x_zero_point, fast.h_zero_point, fast.hidden_zero_point = q.x_zero_point, q.h_zero_point, q.hidden_zero_point
    fast.cell_log2, fast.cell_clip, fast.hidden_scale = q.cell_log2, q.cell_clip, q.hidden_scale
    kernels().lstm_i8.plan(fast)
    fast.packed = <unsigned char*>context.persistent(fast.packed_bytes)
    own.fast_room = context.request_scratch(fast.scratch_bytes)
    for gate in range(4):
        fast.w_scales[gate] = own.gates[gate].w_scale
        fast.r_scales[gate] = own.gates[gate].r_scale
        kernels().lstm_i8.pack(
            fast, gate, <const int8_t*>context.input(node, INPUT_WEIGHTS + gate).data,
            <const int8_t*>context.input(node, RECURRENT_WEIGHTS + gate).data, <const int32_t*>context.input(node, BIASES + gate).data)
    own.fast_step = kernels().lstm_i8.step
    node.invoke = run_vector
    return 0


cdef int run_vector(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef const Integers* own = <const Integers*>s.integers
    cdef ptrdiff_t cells = own.integer.cells
    cdef const int8_t* x = <const int8_t*>context.input(node, X).data
    cdef int8_t* h = <int8_t*>context.input(node, OUTPUT_STATE).data
    cdef int16_t* c = <int16_t*>context.input(node, CELL_STATE).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef ptrdiff_t b, t, at
    for b in range(s.batches):
        for t in range(s.steps):
            at = t * s.batches + b if s.time_major else b * s.steps + t
            own.fast_step(own.fast, x + at * own.integer.inputs, h + b * cells, c + b * cells, y + at * cells, context.scratch(own.fast_room))
    return 0


cdef Multiplier product_scale(double a, double b, double y) noexcept nogil:
    return quantize_multiplier(a * b / y)


cdef int prepare_micro(Context context, Node* node, Lstm* s) except -1:
    """TFLM asks for no intermediates; real multipliers are in double, but for the products of the layers' scales, in float32."""
    cdef LstmShape* shape = &s.shape
    cdef Integers* own = <Integers*>s.integers
    cdef IntegerLstm* q = &own.integer
    cdef MicroLstm* m = <MicroLstm*>context.persistent(sizeof(MicroLstm))
    cdef Tensor* x = context.input(node, X)
    cdef Tensor* h = context.input(node, OUTPUT_STATE)
    cdef Tensor* c = context.input(node, CELL_STATE)
    cdef double fraction = 1.0 / (1 << 15)
    cdef int gate, left
    if shape.activation != ACT_TANH:
        raise ValueError("LSTM: TFLM's integer kernel has the activation TANH")
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
        own.gates[gate].w_scale = layer_scale(x, context.input(node, INPUT_WEIGHTS + gate))
        own.gates[gate].r_scale = layer_scale(h, context.input(node, RECURRENT_WEIGHTS + gate))
    m.forget = product_scale(fraction, c.scale, c.scale)
    m.enter = product_scale(fraction, fraction, c.scale)
    m.leave = product_scale(fraction, fraction, h.scale)
    fill_sigmoid(&m.gate)
    fill_sigmoid(&m.cell)
    left = 12 + q.cell_log2
    m.gate.multiplier = 3
    m.cell.multiplier = 3 << max(left, 0)
    m.cell.shift = max(-left, 0)
    own.micro = m
    request_step_memory(context, s, own)
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


cdef bint read_exponent(const Tensor* c, int32_t* exponent) noexcept nogil:
    """The power of two that the cell's scale is. False where it is none: TensorFlow then leaves every multiplier and zero point of the layer
    at 0, and runs."""
    cdef float found = logf(c.scale) * (<float>1 / logf(2))
    cdef float whole = roundf(found)
    exponent[0] = cut32(whole)
    return fabsf(found - whole) < <float>1e-3


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
    cdef Integers* own = <Integers*>s.integers
    cdef IntegerGate* g = &own.gates[gate]
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
        g.peephole_scale = quantize_multiplier(<float>(1.0 / (1 << -own.integer.cell_log2) * <double>peephole.scale / <double>scale))
    return 0


cdef int run_integer(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef Integers* own = <Integers*>s.integers
    cdef IntegerLstm* q = &own.integer
    cdef IntegerGate* gates = own.gates
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
    room.hidden = <int16_t*>context.scratch(own.hidden)
    room.gates = <int16_t*>context.scratch(s.gates)
    room.products = <int32_t*>context.scratch(s.products)
    for b in range(s.batches):
        for t in range(s.steps):
            at = t * s.batches + b if s.time_major else b * s.steps + t
            if own.micro != NULL:
                integer_step_in_layers(q, own.micro, gates, x + at * q.inputs, h + b * q.outputs, c + b * q.cells, y + at * q.outputs, &room)
                continue
            integer_step(q, gates, x + at * q.inputs, h + b * q.outputs, c + b * q.cells, y + at * q.outputs, &room)
    return 0
