"""One step of a basic recurrent network, h = act(W x + R h + b), float32 with float32 or int8 weights (hybrid).

The bidirectional operator may have a second input (aux), whose product is added behind W x, and rows of the output that lie y_step apart.
Dot products have four lanes, whole blocks first. The hybrid form quantizes x and h row by row and leaves out what is all zero.

Source: LiteRT:tflite/kernels/internal/kernel_utils.cc (RnnBatchStep).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport activate
from tflm_cy.arithmetic.hybrid cimport (
    RowScale,
    accumulate_dots_f32,
    accumulate_rows,
    all_zero,
    quantize_row_by,
)
from tflm_cy.arithmetic.hybrid_neon cimport product_flags
from tflm_cy.arithmetic.row_kernels cimport RowKernels

cdef struct RnnShape:
    ptrdiff_t inputs, units
    ptrdiff_t aux_inputs         # 0: no second input
    int32_t activation
    bint dotprod                 # hybrid_neon.pxd
    const RowKernels* fast       # or NULL

cdef struct RnnMatrix:           # int8 weights
    const int8_t* w
    ptrdiff_t columns
    float scale
    bint minimum                 # a weight is -128
    int32_t* row_sums


cdef inline void rnn_step_f32(const RnnShape* s, const float* w, const float* aux_w, const float* r, const float* bias, ptrdiff_t batches, const float* x,
                              const float* aux, float* h, float* y, ptrdiff_t y_step) noexcept nogil:
    cdef ptrdiff_t b
    cdef float* out
    for b in range(batches):
        out = y + b * y_step
        accumulate_dots_f32(bias, w, s.units, s.inputs, x + b * s.inputs, s.fast, out)
        if s.aux_inputs > 0:
            accumulate_dots_f32(out, aux_w, s.units, s.aux_inputs, aux + b * s.aux_inputs, s.fast, out)
        accumulate_dots_f32(out, r, s.units, s.units, h + b * s.units, s.fast, out)
    finish_step(s, batches, h, y, y_step)


cdef inline void finish_step(const RnnShape* s, ptrdiff_t batches, float* h, float* y, ptrdiff_t y_step) noexcept nogil:
    cdef ptrdiff_t b
    for b in range(batches):
        activate(y + b * y_step, s.units, s.activation, s.fast)
        memcpy(h + b * s.units, y + b * y_step, s.units * sizeof(float))


cdef inline void add_rows(const RnnShape* s, const RnnMatrix* m, bint asymmetric, ptrdiff_t batches, const float* x, float* y, ptrdiff_t y_step,
                          int16_t* q) noexcept nogil:
    cdef RowScale scale
    cdef ptrdiff_t b
    if all_zero(x, batches * m.columns):
        return
    for b in range(batches):
        quantize_row_by(s.fast, asymmetric, x + b * m.columns, m.columns, q, &scale)
        accumulate_rows(
            m.w, s.units, m.columns, q, scale.scale * m.scale, NULL, scale.zero_point, m.row_sums, m.minimum,
            product_flags(s.units, m.columns, batches, s.dotprod), s.fast, y + b * y_step)


cdef inline void rnn_step_hybrid(const RnnShape* s, const RnnMatrix* w, const RnnMatrix* aux_w, const RnnMatrix* r, const float* bias, bint asymmetric,
                                 ptrdiff_t batches, const float* x, const float* aux, float* h, float* y, ptrdiff_t y_step, int16_t* q) noexcept nogil:
    """`q` holds max(inputs, aux_inputs, units) numbers."""
    cdef ptrdiff_t b
    for b in range(batches):
        memcpy(y + b * y_step, bias, s.units * sizeof(float))
    add_rows(s, w, asymmetric, batches, x, y, y_step, q)
    if s.aux_inputs > 0:
        add_rows(s, aux_w, asymmetric, batches, aux, y, y_step, q)
    add_rows(s, r, asymmetric, batches, h, y, y_step, q)
    finish_step(s, batches, h, y, y_step)
