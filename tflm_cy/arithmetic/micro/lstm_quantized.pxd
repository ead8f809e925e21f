"""One step of an LSTM on int8 with an int16 cell, as TFLM computes it: from fully connected layers, MUL, ADD, LOGISTIC, TANH.

    gate = act(sat16(m_w (W x + b)) + sat16(m_r R h));  c = sat16(f * c) + sat16(i * g), clipped;  h = sat8(o * tanh(c))

Every product of two int16 is rescaled by a multiplier with two roundings, though its real value is a power of two. Gates are
fractions of 2^15, their arguments of 2^12; the functions are those of the operators on int16, with their table.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/{lstm_eval.h,lstm_eval_common.cc}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint32_t

from tflm_cy.arithmetic.activation cimport Sigmoid16, logistic_s16, tanh_s16
from tflm_cy.arithmetic.fixed_point cimport multiply
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, FORGET_GATE, INPUT_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.lstm_quantized cimport IntegerGate, IntegerLstm, IntegerRoom
from tflm_cy.arithmetic.matrix_vector cimport multiply_rows_s8, widen_s8
from tflm_cy.arithmetic.multipliers cimport Multiplier

cdef struct MicroLstm:
    Sigmoid16 gate               # the arguments of LOGISTIC and of the cell gate's TANH
    Sigmoid16 cell               # of the cell's TANH
    Multiplier forget            # f * c -> c
    Multiplier enter             # i * g -> c
    Multiplier leave             # o * tanh(c) -> h


cdef inline int32_t saturated(int32_t x) noexcept nogil:
    return max(-32768, min(x, 32767))


cdef inline void gate_in_layers(const IntegerLstm* s, const MicroLstm* q, const IntegerGate* g, int which, const IntegerRoom* room) noexcept nogil:
    cdef int16_t* v = room.gates + which * s.cells
    cdef ptrdiff_t i
    multiply_rows_s8(g.w, s.cells, s.inputs, room.x, s.fast, room.products)
    for i in range(s.cells):
        v[i] = <int16_t>saturated(multiply(<int32_t>(<uint32_t>room.products[i] + <uint32_t>g.bias[i]), g.w_scale.value, g.w_scale.shift))
    multiply_rows_s8(g.r, s.cells, s.outputs, room.h, s.fast, room.products)
    for i in range(s.cells):
        v[i] = <int16_t>saturated(v[i] + saturated(multiply(room.products[i], g.r_scale.value, g.r_scale.shift)))
    if which == CELL_GATE:
        tanh_s16(&q.gate, v, v, s.cells)
    else:
        logistic_s16(&q.gate, v, v, s.cells)


cdef inline void integer_step_in_layers(const IntegerLstm* s, const MicroLstm* q, const IntegerGate* gates, const int8_t* x, int8_t* h, int16_t* c,
                                        int8_t* y, const IntegerRoom* room) noexcept nogil:
    """One batch; h and c are updated, y becomes a copy of h."""
    cdef const int16_t* i_gate = room.gates + INPUT_GATE * s.cells
    cdef const int16_t* f_gate = room.gates + FORGET_GATE * s.cells
    cdef const int16_t* g_gate = room.gates + CELL_GATE * s.cells
    cdef const int16_t* o_gate = room.gates + OUTPUT_GATE * s.cells
    cdef int32_t kept, entering, value
    cdef ptrdiff_t k
    cdef int which
    widen_s8(x, s.inputs, s.x_zero_point, room.x)
    widen_s8(h, s.outputs, s.h_zero_point, room.h)
    for which in range(4):
        gate_in_layers(s, q, &gates[which], which, room)
    for k in range(s.cells):
        kept = saturated(multiply(<int32_t>f_gate[k] * c[k], q.forget.value, q.forget.shift))
        entering = saturated(multiply(<int32_t>i_gate[k] * g_gate[k], q.enter.value, q.enter.shift))
        value = saturated(kept + entering)
        if s.cell_clip > 0:
            value = max(-s.cell_clip, min(value, s.cell_clip))
        c[k] = <int16_t>value
    tanh_s16(&q.cell, c, room.hidden, s.cells)
    for k in range(s.cells):
        value = multiply(<int32_t>o_gate[k] * room.hidden[k], q.leave.value, q.leave.shift) + s.h_zero_point
        h[k] = <int8_t>max(-128, min(value, 127))
        y[k] = h[k]
