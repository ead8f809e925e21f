"""One step of LSTM's basic kernel: one product of [x, h] with all the weights; its operands and sums are outputs of the operator, too.

    gates = W [x, h] + b;  c = logistic(i) * tanh(g) + logistic(f) * c;  h = logistic(o) * tanh(c)

The gates come in the order input, cell, forget, output. The quantized form has uint8 for x, h and weights, gates in Q3.12, a cell in Q4.11
and gemmlowp's 16-bit functions; x and h have the zero point 128 and the scale 1 / 128, whatever the file says.

Source: LiteRT:tflite/kernels/{lstm.cc,internal/optimized/optimized_ops.h}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.eigen cimport activate, logistic_in_place, matrix_product_f32
from tflm_cy.arithmetic.fixed_point cimport ACT_TANH, clamp_f32, round_shift
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Factor
from tflm_cy.arithmetic.optimized.product_pairs cimport subtract_pairs
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT, accumulate_one, shift_values, sum_values
from tflm_cy.arithmetic.gemmlowp cimport high_product16, logistic_s16, rescale16, saturate16, tanh_s16
from tflm_cy.arithmetic.sum_rescale cimport rescale

cdef enum:
    ACTIVATED = 64               # cells whose gates are activated together

cdef struct BasicShape:
    ptrdiff_t batches, inputs, cells


cdef inline void activate_cells(
    const float* g, ptrdiff_t step, ptrdiff_t n, ptrdiff_t offset, const float* c, const RowKernels* fast, float* new_c, float* new_h,
) noexcept nogil:
    """At most ACTIVATED neighbouring cells, whose gates lie `step` apart. offset: of the first among all batches' cells."""
    cdef float[ACTIVATED] i_gate
    cdef float[ACTIVATED] g_gate
    cdef float[ACTIVATED] f_gate
    cdef float[ACTIVATED] o_gate
    cdef ptrdiff_t i
    memcpy(i_gate, g, n * sizeof(float))
    memcpy(g_gate, g + step, n * sizeof(float))
    memcpy(f_gate, g + 2 * step, n * sizeof(float))
    memcpy(o_gate, g + 3 * step, n * sizeof(float))
    logistic_in_place(i_gate, n, fast, offset)
    activate(g_gate, n, ACT_TANH, fast)
    logistic_in_place(f_gate, n, fast, offset)
    logistic_in_place(o_gate, n, fast, offset)
    for i in range(n):
        new_c[i] = i_gate[i] * g_gate[i] + f_gate[i] * c[i]
    memcpy(g_gate, new_c, n * sizeof(float))
    activate(g_gate, n, ACT_TANH, fast)
    for i in range(n):
        new_h[i] = o_gate[i] * g_gate[i]


cdef inline void basic_lstm_f32(
    const BasicShape* s, const float* operands, const float* w, const float* bias, const float* c, float* gates, float* new_c, float* new_h,
    ptrdiff_t top_block, const RowKernels* fast,
) noexcept nogil:
    """operands [batches, inputs + cells], w [4 * cells, inputs + cells]; gates [batches, 4 * cells]."""
    cdef float limit = <float>3.4028234663852886e38
    cdef ptrdiff_t n = 4 * s.cells
    cdef ptrdiff_t b, i, some
    cdef const float* g
    matrix_product_f32(w, operands, gates, n, s.inputs + s.cells, s.batches, top_block, fast)
    for b in range(s.batches):
        for i in range(n):
            gates[b * n + i] = clamp_f32(gates[b * n + i] + bias[i], -limit, limit)
        i = 0
        while i < s.cells:
            g = gates + b * n + i
            some = min(<ptrdiff_t>ACTIVATED - (b * s.cells + i & 3), s.cells - i)        # to where a vector begins
            activate_cells(g, s.cells, some, b * s.cells + i, c + b * s.cells + i, fast, new_c + b * s.cells + i, new_h + b * s.cells + i)
            i += some


cdef inline void basic_lstm_u8(
    const BasicShape* s, const uint8_t* operands, const uint8_t* w, int32_t w_zero_point, const int32_t* bias, const Factor* factor,
    bint in_pairs, const int16_t* c, int64_t* sums, int16_t* row, int16_t* gates, int16_t* new_c, uint8_t* new_h, ptrdiff_t first, ptrdiff_t end,
) noexcept nogil:
    """The batches first to end. in_pairs: the sums are product_pairs'; sums: as many as a batch has gates; row: as a batch has operands."""
    cdef ptrdiff_t n = 4 * s.cells
    cdef ptrdiff_t depth = s.inputs + s.cells
    cdef ptrdiff_t b, i
    cdef uint32_t total, zero
    cdef const int16_t* g
    cdef int32_t entering, kept, state
    for b in range(first, end):
        shift_values(operands + b * depth, depth, 128, row)
        zero = <uint32_t>sum_values(row, depth) * <uint32_t>w_zero_point
        memset(sums, 0, n * sizeof(int64_t))
        accumulate_one(row, w, n, depth, depth, LONGEST_8BIT, sums)
        if AARCH64 and in_pairs:
            subtract_pairs(row, 128, w, n, depth, depth, w_zero_point, sums)
        for i in range(n):
            total = <uint32_t>bias[i] + <uint32_t>sums[i] - zero
            gates[b * n + i] = <int16_t>max(-32768, min(rescale(<int32_t>total, factor), 32767))
        g = gates + b * n
        for i in range(b * s.cells, (b + 1) * s.cells):
            entering = high_product16(logistic_s16(g[0], 3), tanh_s16(g[s.cells], 3))
            kept = high_product16(logistic_s16(g[2 * s.cells], 3), c[i])
            state = saturate16(round_shift(entering, 4) + kept)
            new_c[i] = <int16_t>state
            state = high_product16(logistic_s16(g[3 * s.cells], 3), tanh_s16(rescale16(state, 1), 3))
            new_h[i] = <uint8_t>(128 + max(-128, min(round_shift(state, 8), 127)))
            g += 1
