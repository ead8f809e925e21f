"""Steps of a long short-term memory on int8 with an int16 cell: four gates, no peepholes, no layer normalisation, no projection.

    LstmI8 s                                     # fill in the first part; zeros elsewhere
    table.lstm_i8.plan(&s)
    s.packed = context.persistent(s.packed_bytes)
    handle = context.request_scratch(s.scratch_bytes)
    table.lstm_i8.pack(&s, gate, w, r, bias)      # each gate; w: [cells, inputs], r: [cells, cells]
    table.lstm_i8.step(&s, x, h, c, y, scratch)   # the bytes of integer_step in arithmetic/lstm_quantized.pxd
    table.lstm_i8.logistic(NULL, x, y, n)         # logistic_run_s16 of arithmetic/optimized/activation.pxd, and its tanh_run_s16:
    table.lstm_i8.tanh(&left, x, y, n)
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t


from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.signatures cimport UnaryKernel

cdef struct LstmI8:
    ptrdiff_t inputs
    ptrdiff_t cells
    int32_t x_zero_point
    int32_t h_zero_point
    int32_t hidden_zero_point
    int32_t cell_log2
    int32_t cell_clip            # 0: none
    Multiplier hidden_scale
    Multiplier[4] w_scales
    Multiplier[4] r_scales
    # the plan
    ptrdiff_t lanes              # cells, rounded up to 16
    ptrdiff_t x_steps            # of four values
    ptrdiff_t h_steps
    ptrdiff_t packed_bytes
    ptrdiff_t scratch_bytes
    # packed
    uint8_t* packed
    const uint8_t* w[4]
    const uint8_t* r[4]
    const int32_t* w_bias[4]     # with the zero points' share
    const int32_t* r_bias[4]

cdef struct LstmI8Kernels:
    void (*plan)(LstmI8* s) noexcept nogil
    void (*pack)(LstmI8* s, int gate, const int8_t* w, const int8_t* r, const int32_t* bias) noexcept nogil
    void (*step)(const LstmI8* s, const int8_t* x, int8_t* h, int16_t* c, int8_t* y, void* scratch) noexcept nogil
    UnaryKernel logistic
    UnaryKernel tanh
