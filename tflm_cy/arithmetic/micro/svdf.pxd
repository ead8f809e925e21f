"""SVDF on float32 as TFLM computes it: sums in order, without fused multiply-adds.

The state moves left by one over the whole buffer and the feature products enter its last columns; the products with the time
weights are then added to the bias, one rank after the other.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/svdf_common.cc.
"""
from libc.math cimport tanhf
from libc.stddef cimport ptrdiff_t
from libc.string cimport memmove

from tflm_cy.arithmetic.eigen cimport activate
from tflm_cy.arithmetic.fixed_point cimport ACT_RELU6, ACT_RELU_N1_TO_1, ACT_TANH
from tflm_cy.arithmetic.svdf cimport SvdfShape


cdef inline float dot_in_order(const float* a, const float* b, ptrdiff_t n) noexcept nogil:
    cdef float total = 0
    cdef ptrdiff_t i
    for i in range(n):
        total += a[i] * b[i]
    return total


cdef inline void svdf_f32_in_order(const SvdfShape* s, const float* x, const float* feature, const float* time, const float* bias, float* state,
                                   float* y) noexcept nogil:
    cdef ptrdiff_t b, f, u, units = s.filters / s.rank
    cdef float* row
    memmove(state, state + 1, (s.batches * s.filters * s.memory - 1) * sizeof(float))
    for b in range(s.batches):
        row = state + b * s.filters * s.memory
        for f in range(s.filters):
            row[f * s.memory + s.memory - 1] = dot_in_order(feature + f * s.inputs, x + b * s.inputs, s.inputs)
        for u in range(units):
            y[b * units + u] = <float>0 if bias == NULL else bias[u]
        for f in range(s.filters):
            y[b * units + f / s.rank] += dot_in_order(time + f * s.memory, row + f * s.memory, s.memory)
    if s.activation == ACT_TANH:
        for f in range(s.batches * units):
            y[f] = tanhf(y[f])
        return
    if s.activation == ACT_RELU6 or s.activation == ACT_RELU_N1_TO_1:
        for f in range(s.batches * units):
            if y[f] != y[f]:
                y[f] = 6 if s.activation == ACT_RELU6 else 1       # the upper limit, by fminf
    activate(y, s.batches * units, s.activation)
