"""One step of a long short-term memory whose gates are summed from 8-bit products: int8 inputs, weights and outputs, int16 cell and gates.

The products of input and state with their weights are rescaled to int8 each, with a scale and zero point of their own, and added with a
rescaling each (Q3.12). Layer normalisation, the logistic and tanh are computed in float32, one value at a time, and truncated to Q0.15.
Gates that are all equal may have a variance below zero by rounding: then they become 0.
There is always layer normalisation and a projection, and the input gate is 1 - forget gate, whether it has weights or not.

Quirks, of the output gate's recurrent product: it is rescaled by a shift of another product taken for a multiplier, and its zero point is
that of the cell gate's input product (`prepare` puts both in place; see ops/lstm_gates_i8.pyx).

Source: LiteRT:tflite/kernels/{lstm_eval.cc,internal/reference/portable_tensor_utils.cc}.
"""
from libc.math cimport expf, roundf, sqrtf, tanhf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport clamp32, clamp_f32, multiply, multiply_wide, round_shift, wrap32
from tflm_cy.arithmetic.gemmlowp cimport saturate16
from tflm_cy.arithmetic.matrix_vector cimport multiply_rows_s8, widen_s8
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.row_kernels cimport RowKernels

cdef struct Product8:            # of a matrix and a vector
    const int8_t* w
    Multiplier scale             # of the sums, to 8 bits
    int32_t zero_point           # of the 8 bits
    Multiplier sum_scale         # of the 8 bits, to the gate's sum
    int32_t sum_zero_point

cdef struct Gate8:
    Product8 input               # [cells, inputs]
    Product8 recurrent           # [cells, outputs]
    const int16_t* norm
    const int32_t* bias
    float norm_scale

cdef struct LstmGates8:
    ptrdiff_t inputs, cells, outputs
    int32_t x_zero_point
    int32_t h_zero_point         # of the output state
    int32_t cell_clip            # 0: none
    int32_t proj_clip
    const int8_t* projection     # [outputs, cells]
    const int32_t* projection_bias
    Multiplier projection_scale
    Gate8 forget
    Gate8 cell
    Gate8 output
    const RowKernels* fast       # or NULL

cdef struct Gates8Room:
    int16_t* x                   # inputs
    int16_t* h                   # outputs
    int32_t* products            # cells
    int16_t* gates               # 3 * cells


cdef inline int32_t to_8bits(int32_t total, const Product8* p) noexcept nogil:
    return clamp32(wrap32(<int64_t>multiply(total, p.scale.value, p.scale.shift) + p.zero_point), -128, 127)


cdef inline void normalize_in_floats(const Gate8* g, int16_t* v, ptrdiff_t n) noexcept nogil:
    cdef float total = 0
    cdef float squares = 0
    cdef float bias_scale = <float>0.0009765625 * g.norm_scale
    cdef float value, mean, variance, inverse
    cdef ptrdiff_t i
    for i in range(n):
        value = <float>v[i]
        total += value
        squares += value * value
    mean = total / <float>n
    variance = squares / <float>n - mean * mean
    inverse = <float>1 / sqrtf(<float>1e-8 if variance == 0 else variance)
    for i in range(n):
        value = (<float>v[i] - mean) * inverse * <float>g.norm[i] * g.norm_scale + <float>g.bias[i] * bias_scale
        value = roundf(value * <float>4096)
        v[i] = 0 if value != value else <int16_t>clamp_f32(value, -32768, 32767)


cdef inline int16_t to_fraction(float value) noexcept nogil:
    """Q0.15, truncated."""
    return <int16_t>min(<int32_t>(value * <float>32768), 32767)


cdef inline void gate_of_8bits(const LstmGates8* s, const Gate8* g, bint is_tanh, const Gates8Room* room, int16_t* v) noexcept nogil:
    cdef ptrdiff_t i
    cdef int32_t a
    multiply_rows_s8(g.input.w, s.cells, s.inputs, room.x, s.fast, room.products)
    for i in range(s.cells):
        v[i] = <int16_t>to_8bits(room.products[i], &g.input)
    multiply_rows_s8(g.recurrent.w, s.cells, s.outputs, room.h, s.fast, room.products)
    for i in range(s.cells):
        a = to_8bits(room.products[i], &g.recurrent) - g.recurrent.sum_zero_point
        a = multiply(a, g.recurrent.sum_scale.value, g.recurrent.sum_scale.shift)
        a = wrap32(<int64_t>a + multiply(v[i] - g.input.sum_zero_point, g.input.sum_scale.value, g.input.sum_scale.shift))
        v[i] = <int16_t>saturate16(a)
    normalize_in_floats(g, v, s.cells)
    for i in range(s.cells):
        if is_tanh:
            v[i] = to_fraction(tanhf(<float>v[i] * <float>(1.0 / 4096)))
        else:
            v[i] = to_fraction(<float>1 / (<float>1 + expf(-(<float>v[i] * <float>(1.0 / 4096)))))


cdef inline void project_16bits(const LstmGates8* s, const int16_t* hidden, int8_t* h) noexcept nogil:
    """A 64-bit sum with one rounding."""
    cdef ptrdiff_t i, k
    cdef int64_t total
    cdef int32_t value
    for i in range(s.outputs):
        total = s.projection_bias[i]
        for k in range(s.cells):
            total += <int32_t>hidden[k] * <int32_t>s.projection[i * s.cells + k]
        value = multiply_wide(total, s.projection_scale.value, s.projection_scale.shift)
        value = <int32_t>max(<int64_t>-128, min(<int64_t>value + s.h_zero_point, <int64_t>127))
        if s.proj_clip > 0:
            value = clamp32(value, -s.proj_clip, s.proj_clip)
        h[i] = <int8_t>value


cdef inline void step_of_8bit_gates(const LstmGates8* s, const int8_t* x, int8_t* h, int16_t* c, int8_t* y, const Gates8Room* room) noexcept nogil:
    """One batch: x [inputs], h [outputs], c [cells]; h and c are updated, y becomes a copy of h."""
    cdef int16_t* f_gate = room.gates
    cdef int16_t* g_gate = room.gates + s.cells
    cdef int16_t* o_gate = room.gates + 2 * s.cells
    cdef int32_t value
    cdef ptrdiff_t k
    widen_s8(x, s.inputs, s.x_zero_point, room.x)
    widen_s8(h, s.outputs, s.h_zero_point, room.h)
    gate_of_8bits(s, &s.forget, False, room, f_gate)
    gate_of_8bits(s, &s.cell, True, room, g_gate)
    for k in range(s.cells):
        value = round_shift((32767 - f_gate[k]) * g_gate[k], 15) + round_shift(<int32_t>f_gate[k] * c[k], 15)
        value = saturate16(value)
        if s.cell_clip > 0:
            value = clamp32(value, -s.cell_clip, s.cell_clip)
        c[k] = <int16_t>value
    gate_of_8bits(s, &s.output, False, room, o_gate)
    for k in range(s.cells):
        f_gate[k] = <int16_t>round_shift(<int32_t>o_gate[k] * to_fraction(tanhf(<float>c[k] * <float>(1.0 / 32768))), 15)
    project_16bits(s, f_gate, h)
    memcpy(y, h, s.outputs)
