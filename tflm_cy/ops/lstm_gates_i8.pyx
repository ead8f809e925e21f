"""LSTM's integer kernel with twelve intermediate tensors: int8 inputs, weights and outputs, int16 cell, gates summed from 8-bit products.

The intermediates come in threes, for the gates in the order input, forget, cell, output: scale and zero point of the gate's sum (the zero
point does not count), of its input product, of its recurrent product.

Layer normalisation, a projection and its bias must be there: TensorFlow, which does not ask, would read from nowhere. Peepholes are taken and
ignored, the input gate's weights likewise. The clips count only with a cell of scale 2^-15, and that of the cell only below 1.

Quirks: the output gate's recurrent product is added with the shift of the forget gate's (of its recurrent product) for a multiplier, and with
the zero point of the cell gate's input product.

Source: LiteRT:tflite/kernels/{lstm,lstm_eval}.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, FORGET_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.lstm_gates_i8 cimport Gate8, Gates8Room, LstmGates8, Product8, step_of_8bit_gates
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.ops.lstm_layer cimport (
    BIASES, CELL_STATE, INPUT_WEIGHTS, NORMS, OUTPUT_STATE, PROJECTION_BIAS, PROJECTION_WEIGHTS, RECURRENT_WEIGHTS, X, Lstm, data_of, required,
)
from tflm_cy.simd.table cimport row_kernels

cdef enum:                       # intermediates of a gate
    SUM = 0
    INPUT_PRODUCT = 1
    RECURRENT_PRODUCT = 2
    KINDS = 3


cdef int prepare_gates8(Context context, Node* node, Lstm* s) except -1:
    cdef LstmGates8* q = <LstmGates8*>context.persistent(sizeof(LstmGates8))
    cdef Tensor* x = context.input(node, X)
    cdef Tensor* h = context.input(node, OUTPUT_STATE)
    cdef Tensor* c = context.input(node, CELL_STATE)
    cdef Tensor* y = context.output(node, 0)
    cdef Tensor* projection = required(context, node, PROJECTION_WEIGHTS, "the projection")
    cdef int i
    required(context, node, PROJECTION_BIAS, "the projection's bias")
    if not s.normed:
        raise ValueError("LSTM: the kernel with 12 intermediates wants layer normalisation")
    if c.scale_count == 0 or y.scale_count == 0:
        raise ValueError("LSTM: the cell state and the output must be quantized")
    for i in range(12):
        if context.intermediate(node, i) == NULL or context.intermediate(node, i).scale_count == 0:
            raise ValueError(f"LSTM: intermediate tensor {i} must be there and be quantized")
    s.integers = q
    q.fast = row_kernels()
    q.inputs, q.cells, q.outputs = s.shape.inputs, s.shape.cells, s.shape.outputs
    q.x_zero_point, q.h_zero_point = x.zero_point, h.zero_point
    if c.scale == <float>(1.0 / 32768):
        if 0 < s.shape.cell_clip < 1:
            q.cell_clip = <int32_t><int16_t>min(max(<float>(s.shape.cell_clip / c.scale), <float>-32768), <float>32767)
        if s.shape.proj_clip > 0:
            q.proj_clip = <int32_t><int8_t>min(max(<float>(s.shape.proj_clip / y.scale), <float>-128), <float>127)
    q.projection_scale = quantize_multiplier(<float>(<double>projection.scale * (1.0 / 32768) / <double>h.scale))
    if q.projection_scale.shift > 14:
        raise ValueError("LSTM: the projection's scales give a multiplier that is out of range")
    prepare_gate(context, node, FORGET_GATE, &q.forget)
    prepare_gate(context, node, CELL_GATE, &q.cell)
    prepare_gate(context, node, OUTPUT_GATE, &q.output)
    q.output.recurrent.sum_scale.value = q.forget.recurrent.sum_scale.shift
    q.output.recurrent.zero_point = q.output.recurrent.sum_zero_point = q.cell.input.zero_point
    s.x = context.request_scratch(q.inputs * sizeof(int16_t))
    s.h = context.request_scratch(q.outputs * sizeof(int16_t))
    s.gates = context.request_scratch(3 * q.cells * sizeof(int16_t))
    s.products = context.request_scratch(q.cells * sizeof(int32_t))
    node.invoke = run_gates8
    return 0


cdef int prepare_gate(Context context, Node* node, int gate, Gate8* g) except -1:
    """Scales are float32 products, left to right, as the kernel's."""
    prepare_product(context, node, gate, INPUT_PRODUCT, context.input(node, INPUT_WEIGHTS + gate), context.input(node, X), &g.input)
    prepare_product(
        context, node, gate, RECURRENT_PRODUCT, context.input(node, RECURRENT_WEIGHTS + gate), context.input(node, OUTPUT_STATE), &g.recurrent)
    g.norm_scale = multiplier_as_float(context.input(node, NORMS + gate).scale)
    return 0


cdef int prepare_product(Context context, Node* node, int gate, int kind, const Tensor* w, const Tensor* x, Product8* p) except -1:
    cdef const Tensor* product = context.intermediate(node, KINDS * gate + kind)
    cdef float total = context.intermediate(node, KINDS * gate + SUM).scale
    p.scale = quantize_multiplier(<float>(<float>(w.scale * x.scale) / product.scale))
    p.sum_scale = quantize_multiplier(<float>(product.scale / total))
    if max(p.scale.shift, p.sum_scale.shift) > 31:
        raise ValueError(f"LSTM: the scales of gate {gate} give multipliers that are out of range")
    p.zero_point = p.sum_zero_point = <int8_t>product.zero_point
    return 0


cdef float multiplier_as_float(float scale) noexcept nogil:
    """A scale after it was a fixed-point multiplier."""
    cdef double value = quantize_multiplier(scale).value
    cdef int shift = quantize_multiplier(scale).shift - 31
    while shift < 0:
        value *= 0.5
        shift += 1
    while shift > 0:
        value *= 2
        shift -= 1
    return <float>value


cdef int run_gates8(Context context, Node* node) noexcept nogil:
    cdef Lstm* s = <Lstm*>node.data
    cdef LstmGates8* q = <LstmGates8*>s.integers
    cdef Gate8* gates[4]
    cdef Gates8Room room
    cdef const int8_t* x = <const int8_t*>context.input(node, X).data
    cdef int8_t* h = <int8_t*>context.input(node, OUTPUT_STATE).data
    cdef int16_t* c = <int16_t*>context.input(node, CELL_STATE).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef ptrdiff_t b
    cdef int gate
    if s.batches == 0 or q.cells == 0:
        return 0
    gates[FORGET_GATE], gates[CELL_GATE], gates[OUTPUT_GATE] = &q.forget, &q.cell, &q.output
    for gate in range(FORGET_GATE, OUTPUT_GATE + 1):
        gates[gate].input.w = <const int8_t*>data_of(context.input(node, INPUT_WEIGHTS + gate))
        gates[gate].recurrent.w = <const int8_t*>data_of(context.input(node, RECURRENT_WEIGHTS + gate))
        gates[gate].bias = <const int32_t*>data_of(context.input(node, BIASES + gate))
        gates[gate].norm = <const int16_t*>data_of(context.input(node, NORMS + gate))
    q.projection = <const int8_t*>data_of(context.input(node, PROJECTION_WEIGHTS))
    q.projection_bias = <const int32_t*>data_of(context.input(node, PROJECTION_BIAS))
    room.x = <int16_t*>context.scratch(s.x)
    room.h = <int16_t*>context.scratch(s.h)
    room.products = <int32_t*>context.scratch(s.products)
    room.gates = <int16_t*>context.scratch(s.gates)
    for b in range(s.batches):
        step_of_8bit_gates(q, x + b * q.inputs, h + b * q.outputs, c + b * q.cells, y + b * q.outputs, &room)
    return 0
