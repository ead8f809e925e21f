"""One step of a basic recurrent network, h = act(W x + R h + b), float32 with float32 or int8 weights (hybrid).

Dot products have four lanes, whole blocks first. The hybrid form quantizes x and h row by row and leaves out what is all zero.

Source: LiteRT:tflite/kernels/internal/kernel_utils.cc (RnnBatchStep).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport activate
from tflm_cy.arithmetic.hybrid cimport (
    RowScale,
    accumulate_dot_f32,
    accumulate_rows,
    all_zero,
    quantize_asymmetric,
    quantize_symmetric,
)

cdef struct RnnShape:
    ptrdiff_t inputs, units
    int32_t activation

cdef struct RnnMatrix:           # int8 weights
    const int8_t* w
    ptrdiff_t columns
    float scale
    bint minimum                 # a weight is -128
    int32_t* row_sums


cdef inline void rnn_step_f32(const RnnShape* s, const float* w, const float* r, const float* bias, ptrdiff_t batches, const float* x,
                              float* h, float* y) noexcept nogil:
    cdef ptrdiff_t b, u
    cdef float v
    for b in range(batches):
        for u in range(s.units):
            v = accumulate_dot_f32(bias[u], w + u * s.inputs, x + b * s.inputs, s.inputs)
            y[b * s.units + u] = accumulate_dot_f32(v, r + u * s.units, h + b * s.units, s.units)
    activate(y, batches * s.units, s.activation)
    memcpy(h, y, batches * s.units * sizeof(float))


cdef inline void add_rows(const RnnShape* s, const RnnMatrix* m, bint asymmetric, ptrdiff_t batches, const float* x, float* y, int16_t* q) noexcept nogil:
    cdef RowScale scale
    cdef ptrdiff_t b
    if all_zero(x, batches * m.columns):
        return
    for b in range(batches):
        if asymmetric:
            quantize_asymmetric(x + b * m.columns, m.columns, q, &scale)
        else:
            quantize_symmetric(x + b * m.columns, m.columns, q, &scale)
        accumulate_rows(m.w, s.units, m.columns, q, scale.scale * m.scale, NULL, scale.zero_point, m.row_sums, m.minimum, y + b * s.units)


cdef inline void rnn_step_hybrid(const RnnShape* s, const RnnMatrix* w, const RnnMatrix* r, const float* bias, bint asymmetric,
                                 ptrdiff_t batches, const float* x, float* h, float* y, int16_t* q) noexcept nogil:
    """`q` holds max(inputs, units) numbers."""
    cdef ptrdiff_t b
    for b in range(batches):
        memcpy(y + b * s.units, bias, s.units * sizeof(float))
    add_rows(s, w, asymmetric, batches, x, y, q)
    add_rows(s, r, asymmetric, batches, h, y, q)
    activate(y, batches * s.units, s.activation)
    memcpy(h, y, batches * s.units * sizeof(float))
