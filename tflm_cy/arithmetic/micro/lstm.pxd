"""One step of an LSTM on float32 as TFLM computes it: each gate is two fully connected layers, added, then activated.

    gate = act((W x + b) + R h);  c = f * c + i * g, clipped;  h = o * tanh(c)

Sums run in order, the bias comes after the sum; the functions are the reference LOGISTIC and TANH. There are no peepholes,
no projection and no layer normalisation. A fused activation other than TANH leaves the cell gate as it is.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/lstm_eval.h.
"""
from libc.math cimport tanhf
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.activation cimport logistic_f32
from tflm_cy.arithmetic.fixed_point cimport ACT_TANH, clamp_f32
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, FORGET_GATE, INPUT_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.lstm cimport LstmGate, LstmShape
from tflm_cy.arithmetic.micro.svdf cimport dot_in_order


cdef inline void gate_in_order(const LstmShape* s, const LstmGate* g, bint cell, const float* x, const float* h, float* v) noexcept nogil:
    cdef float own, recurrent
    cdef ptrdiff_t k
    for k in range(s.cells):
        own = dot_in_order(<const float*>g.w + k * s.inputs, x, s.inputs) + g.bias[k]
        recurrent = dot_in_order(<const float*>g.r + k * s.outputs, h, s.outputs)
        v[k] = own + recurrent
        if not cell:
            v[k] = logistic_f32(v[k])
        elif s.activation == ACT_TANH:
            v[k] = tanhf(v[k])


cdef inline void lstm_step_in_order(const LstmShape* s, const LstmGate* gates, const float* x, float* h, float* c, float* y,
                                    float* room) noexcept nogil:
    """One batch; `room` holds 4 * cells numbers."""
    cdef float* i_gate = room
    cdef float* f_gate = room + s.cells
    cdef float* g_gate = room + 2 * s.cells
    cdef float* o_gate = room + 3 * s.cells
    cdef ptrdiff_t k
    gate_in_order(s, &gates[FORGET_GATE], False, x, h, f_gate)
    gate_in_order(s, &gates[INPUT_GATE], False, x, h, i_gate)
    gate_in_order(s, &gates[CELL_GATE], True, x, h, g_gate)
    gate_in_order(s, &gates[OUTPUT_GATE], False, x, h, o_gate)
    for k in range(s.cells):
        c[k] = f_gate[k] * c[k]
        c[k] = c[k] + i_gate[k] * g_gate[k]
        if s.cell_clip > 0:
            c[k] = clamp_f32(c[k], -s.cell_clip, s.cell_clip)
    for k in range(s.cells):
        h[k] = o_gate[k] * tanhf(c[k])
        y[k] = h[k]
