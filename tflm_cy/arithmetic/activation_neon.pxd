"""RELU of float32 on aarch64, but by the delegate: FMAX in whole blocks of four.

It gives 0 for -0, and a signalling NaN becomes quiet; in the tail both stay.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.activation cimport relu_run


cdef inline void relu_run_neon(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    relu_run(params, x, y, n)
    for i in range(n - n % 4):
        y[i] = y[i] + <float>0
