"""MEAN and SUM of int8 and uint8 in XNNPACK's arithmetic: exact sums, then one float32 multiplication and one addition, fused on aarch64, as are
those that make the zero points' share.

    average_sums(sums, ready_average(x.scale, x.zero_point, y.scale, y.zero_point, n, True), -128, 127, y, outputs)

The zero points' share stays a float32 number; the result is rounded half away from zero.
Source: XNNPACK's rsum kernels, bytes checked against TensorFlow 2.21.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.machine cimport product_plus
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8

cdef struct Average:
    float scale
    float offset


cdef inline Average ready_average(
    float x_scale, int32_t x_zero_point, float y_scale, int32_t y_zero_point, int64_t n, bint mean,
) noexcept nogil:
    """n: elements of a sum."""
    cdef Average a
    a.scale = x_scale / y_scale
    if mean:
        a.scale = a.scale * (<float>1.0 / <float>n)
    a.offset = product_plus(-(<float>n * <float>x_zero_point), a.scale, <float>y_zero_point)
    return a


cdef inline void average_sums(const int32_t* sums, Average a, int32_t low, int32_t high, byte8* y, int64_t outputs) noexcept nogil:
    cdef int64_t i
    cdef int32_t whole
    cdef float v, rest
    for i in range(outputs):
        v = product_plus(<float>sums[i], a.scale, a.offset)
        if v != v:                              # of scales that are not finite: what x86 makes of NaN has the low byte 0
            y[i] = 0
            continue
        v = v if v > <float>low else <float>low
        v = v if v < <float>high else <float>high
        whole = <int32_t>v                      # roundf by hand: vectors have no rounding of halves away from zero
        rest = v - <float>whole
        y[i] = <byte8>(whole + (1 if rest >= <float>0.5 else 0) - (1 if rest <= <float>-0.5 else 0))
