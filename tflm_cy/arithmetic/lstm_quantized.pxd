"""One step of a long short-term memory on integers: int8 inputs, weights and outputs, int16 cell and gates.

Gates are Q3.12 before and Q0.15 after their activation; the cell's scale is a power of two. Every product of a matrix, of a peephole, of the
output is rescaled, rounded and clamped on its own. The batches are independent.

Source: LiteRT:tflite/kernels/{lstm_eval.cc,internal/reference/portable_tensor_utils.cc,internal/optimized/neon_tensor_utils.cc}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport high_product, multiply, round_shift, round_shift_in_block, wrap32
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, INPUT_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.gemmlowp cimport inverse_sqrt, logistic_s16, saturate16, tanh_s16
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.matrix_vector cimport multiply_rows_s8, widen_s8

cdef enum:
    BLOCK = 8                    # cells that TensorFlow multiplies at once

cdef struct IntegerGate:
    const int8_t* w              # [cells, inputs]; NULL: no such gate
    const int8_t* r              # [cells, outputs]
    const int16_t* peephole      # [cells] or NULL
    const int16_t* norm          # layer normalisation's coefficients or NULL
    const int32_t* bias          # [cells], of the product or, with layer normalisation, of that
    Multiplier w_scale
    Multiplier r_scale
    Multiplier peephole_scale
    Multiplier norm_scale
    int32_t variance_guard

cdef struct IntegerLstm:
    ptrdiff_t inputs, cells, outputs
    int32_t x_zero_point
    int32_t h_zero_point         # of the output state
    int32_t hidden_zero_point
    int32_t cell_log2            # the cell's scale is 2^cell_log2
    int32_t cell_clip            # 0: none
    int32_t proj_clip
    Multiplier hidden_scale
    const int8_t* projection     # [outputs, cells] or NULL
    const int32_t* projection_bias
    Multiplier projection_scale
    const RowKernels* fast       # or NULL

cdef struct IntegerRoom:
    int16_t* x                   # inputs
    int16_t* h                   # outputs
    int32_t* products            # max(cells, outputs)
    int16_t* gates               # 4 * cells
    int16_t* hidden              # cells


cdef inline void add_rescaled(const int32_t* products, const int32_t* bias, Multiplier m, int16_t* v, ptrdiff_t n) noexcept nogil:
    cdef ptrdiff_t i
    cdef int32_t acc
    for i in range(n):
        acc = products[i] if bias == NULL else <int32_t>(<uint32_t>products[i] + <uint32_t>bias[i])
        v[i] = <int16_t>saturate16(wrap32(<int64_t>multiply(acc, m.value, m.shift) + v[i]))


cdef inline int32_t multiply_ties_up(int32_t x, Multiplier m) noexcept nogil:
    """`multiply` with halves rounded towards +infinity in the last step."""
    cdef int32_t y = high_product(<int32_t>(<uint32_t>x << (m.shift if m.shift > 0 else 0)), m.value)
    return y if m.shift >= 0 else <int32_t>((<int64_t>y + (<int64_t>1 << (-m.shift - 1))) >> -m.shift)


cdef inline void add_peephole(const int16_t* p, const int16_t* c, Multiplier m, int16_t* v, ptrdiff_t n) noexcept nogil:
    """Full blocks of 16 cells round ties up, the rest away from zero."""
    cdef ptrdiff_t i
    cdef int32_t product
    for i in range(n):
        product = <int32_t>p[i] * <int32_t>c[i]
        product = multiply_ties_up(product, m) if i < n - n % 16 else multiply(product, m.value, m.shift)
        v[i] = <int16_t>saturate16(wrap32(<int64_t>product + v[i]))


cdef inline void normalize_gate(const IntegerGate* g, int16_t* v, ptrdiff_t n) noexcept nogil:
    """What the weights multiply wraps but on aarch64, where full blocks of 16 cells round ties up and four squares in blocks of 8 wrap."""
    cdef Multiplier deviation, scale
    cdef ptrdiff_t blocks = n - n % 16 if AARCH64 else 0
    cdef int64_t total = 0
    cdef int64_t squares = 0
    cdef uint32_t four = 0
    cdef int64_t scaled
    cdef int32_t mean, variance, value
    cdef ptrdiff_t i
    scale.value, scale.shift = g.norm_scale.value, g.norm_scale.shift + 12
    for i in range(n):
        total += v[i]
        four += <uint32_t>(<int32_t>v[i] * <int32_t>v[i])
        if i % 4 == 3 or not AARCH64 or i >= n - n % 8:
            squares += <int32_t>four
            four = 0
    mean = <int32_t>(total * 1024 / n)
    variance = <int32_t>((squares * ((1 << 20) / n) - <int64_t>mean * mean) / (1 << 20))
    if variance < 1:
        variance = g.variance_guard
    inverse_sqrt(variance, &deviation.value, &deviation.shift)
    for i in range(blocks):
        value = multiply_ties_up(1024 * <int32_t>v[i] - mean, deviation)
        scaled = <int64_t>value * g.norm[i] + g.bias[i]
        v[i] = <int16_t>saturate16(multiply_ties_up(<int32_t>((scaled + 512) >> 10), scale))
    for i in range(blocks, n):
        value = multiply(1024 * <int32_t>v[i] - mean, deviation.value, deviation.shift)
        scaled = <int64_t>value * g.norm[i] + g.bias[i]
        scaled = scaled if AARCH64 else wrap32(scaled)
        value = <int32_t>((scaled + (512 if scaled > 0 else -512)) / 1024)
        v[i] = <int16_t>saturate16(multiply(value, scale.value, scale.shift))


cdef inline void integer_gate(const IntegerLstm* s, const IntegerGate* g, int which, const int16_t* c, const IntegerRoom* room) noexcept nogil:
    cdef int16_t* v = room.gates + which * s.cells
    cdef ptrdiff_t i
    for i in range(s.cells):
        v[i] = 0
    multiply_rows_s8(g.w, s.cells, s.inputs, room.x, s.fast, room.products)
    add_rescaled(room.products, NULL if g.norm != NULL else g.bias, g.w_scale, v, s.cells)
    multiply_rows_s8(g.r, s.cells, s.outputs, room.h, s.fast, room.products)
    add_rescaled(room.products, NULL, g.r_scale, v, s.cells)
    if g.peephole != NULL and which != CELL_GATE:
        add_peephole(g.peephole, c, g.peephole_scale, v, s.cells)
    if g.norm != NULL:
        normalize_gate(g, v, s.cells)
    for i in range(s.cells):
        v[i] = tanh_s16(v[i], 3) if which == CELL_GATE else logistic_s16(v[i], 3)


cdef inline void integer_project(const IntegerLstm* s, int8_t* h, const IntegerRoom* room) noexcept nogil:
    cdef ptrdiff_t i
    cdef int32_t acc
    multiply_rows_s8(s.projection, s.outputs, s.cells, room.hidden, s.fast, room.products)
    for i in range(s.outputs):
        acc = room.products[i]
        if s.projection_bias != NULL:
            acc = <int32_t>(<uint32_t>acc + <uint32_t>s.projection_bias[i])
        acc = wrap32(<int64_t>multiply(acc, s.projection_scale.value, s.projection_scale.shift) + s.h_zero_point)
        acc = max(-128, min(acc, 127))
        if s.proj_clip > 0:
            acc = max(-s.proj_clip, min(acc, s.proj_clip))
        h[i] = <int8_t>acc


cdef inline bint has_tanh(const IntegerLstm* s) noexcept nogil:
    """There are tables for 0 to 6 integer bits; other cells leave what is in the memory of the hidden state, the input gate."""
    return 0 <= 15 + s.cell_log2 <= 6


cdef inline int32_t enter_cell(const IntegerLstm* s, int32_t product, ptrdiff_t k) noexcept nogil:
    """The product of the input's and the cell's gate in steps of cell k. Shifts beyond 32 bits differ in whole blocks of cells."""
    cdef int shift = 30 + s.cell_log2
    if 0 <= shift <= 31 or k >= s.cells - s.cells % BLOCK:
        return round_shift(product, shift)
    return round_shift_in_block(product, shift)


cdef inline void integer_step(const IntegerLstm* s, const IntegerGate* gates, const int8_t* x, int8_t* h, int16_t* c, int8_t* y,
                              const IntegerRoom* room) noexcept nogil:
    """One batch: x [inputs], h [outputs], c [cells]; h and c are updated, y becomes a copy of h."""
    cdef int16_t* i_gate = room.gates
    cdef int16_t* f_gate = room.gates + s.cells
    cdef int16_t* g_gate = room.gates + 2 * s.cells
    cdef int16_t* o_gate = room.gates + 3 * s.cells
    cdef ptrdiff_t k
    cdef int32_t value
    cdef int which
    widen_s8(x, s.inputs, s.x_zero_point, room.x)
    widen_s8(h, s.outputs, s.h_zero_point, room.h)
    for which in range(OUTPUT_GATE):
        if gates[which].w != NULL:
            integer_gate(s, &gates[which], which, c, room)
    for k in range(s.cells):
        value = i_gate[k] if gates[INPUT_GATE].w != NULL else 32767 - f_gate[k]
        value = <int16_t>enter_cell(s, value * g_gate[k], k) + <int16_t>round_shift(<int32_t>f_gate[k] * c[k], 15)
        value = saturate16(value)
        if s.cell_clip > 0:
            value = max(-s.cell_clip, min(value, s.cell_clip))
        c[k] = <int16_t>value
    integer_gate(s, &gates[OUTPUT_GATE], OUTPUT_GATE, c, room)
    for k in range(s.cells):
        value = tanh_s16(c[k], 15 + s.cell_log2) if has_tanh(s) else i_gate[k] if gates[INPUT_GATE].w != NULL else 0
        value = multiply(o_gate[k] * value, s.hidden_scale.value, s.hidden_scale.shift)
        if s.projection == NULL:
            h[k] = <int8_t>max(-128, min(wrap32(<int64_t>value + s.hidden_zero_point), 127))
        else:
            # the product of the projection takes the zero point away again
            value = max(-128, min(wrap32(<int64_t>value - s.hidden_zero_point), 127))
            room.hidden[k] = <int16_t>(value + s.hidden_zero_point)
    if s.projection != NULL:
        integer_project(s, h, room)
    memcpy(y, h, s.outputs)
