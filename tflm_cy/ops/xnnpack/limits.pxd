"""The clamp of a fused activation in the xnnpack arithmetic: without one the limits are infinite."""
from libc.math cimport INFINITY

from tflm_cy.arithmetic.fixed_point cimport ACT_RELU, ACT_RELU6, ACT_RELU_N1_TO_1, RangeF


cdef inline RangeF float_limits(int activation) noexcept nogil:
    cdef RangeF r
    r.low = -INFINITY
    r.high = INFINITY
    if activation == ACT_RELU or activation == ACT_RELU6:
        r.low = 0
    if activation == ACT_RELU6:
        r.high = 6
    if activation == ACT_RELU_N1_TO_1:
        r.low = -1
        r.high = 1
    return r
