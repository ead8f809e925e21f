"""Activations of the optimized kernels where their bytes are not the reference's.

LOGISTIC and TANH in float32 and float16 are Eigen's: float16 TANH is rounded once (the last n % 8 values are libm's), LOGISTIC is
e / (1 + e) with e = exp(x), every step rounded to float16, and 1 where e is infinite. In int16, for the scales that are powers of two,
they are gemmlowp's fixed point. HARD_SWISH multiplies by 1/6 first in whole blocks of four values, last in the tail; on aarch64 bytes are
computed in blocks of eight, where products and shifts round halves up and the last product is rounded down (`hard_swish_eights`).

Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h.
"""
from libc.math cimport INFINITY, tanhf
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t

from tflm_cy.arithmetic.activation cimport HardSwish
from tflm_cy.arithmetic.eigen cimport eigen_exp, eigen_logistic, eigen_tanh, whole_vectors, scalar_logistic
from tflm_cy.arithmetic.gemmlowp cimport logistic_s16, saturate16, tanh_s16
from tflm_cy.arithmetic.fixed_point cimport clamp32
from tflm_cy.arithmetic.half cimport eigen_half, half_to_f32
from tflm_cy.arithmetic.machine cimport AARCH64

cdef enum:
    INTEGER_BITS = 3


cdef inline void logistic_run_eigen(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t body = whole_vectors(n)
    cdef int64_t i
    for i in range(body):
        y[i] = eigen_logistic(x[i])
    for i in range(body, n):
        y[i] = scalar_logistic(x[i])


cdef inline void tanh_run_eigen(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = eigen_tanh(x[i])


cdef inline void logistic_half_run_eigen(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef float e, sum
    cdef int64_t i
    for i in range(n):
        e = half_to_f32(eigen_half(eigen_exp(half_to_f32(x[i]))))
        sum = half_to_f32(eigen_half(1 + e))
        y[i] = eigen_half(1 if e == INFINITY else e / sum)


cdef inline void tanh_half_run_eigen(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef int64_t body = 0 if AARCH64 else n - n % 8      # vectors
    for i in range(body):
        y[i] = eigen_half(eigen_tanh(half_to_f32(x[i])))
    for i in range(body, n):
        y[i] = eigen_half(tanhf(half_to_f32(x[i])))


cdef inline float gate(float x) noexcept nogil:
    """x + 3 between 0 and 6; NaN passes."""
    x = x + <float>3
    x = <float>0 if x < 0 else x
    return <float>6 if x > 6 else x


cdef inline void hard_swish_run_blocks(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef float sixth = <float>1 / <float>6
    cdef int64_t body = n - n % 4
    cdef int64_t i
    for i in range(body):
        y[i] = x[i] * sixth * gate(x[i])
    for i in range(body, n):
        y[i] = x[i] * gate(x[i]) * sixth


cdef inline int32_t saturated_left(int32_t x, int32_t n) noexcept nogil:
    """x * 2^n as an int16; n from 0 on."""
    return clamp32(x * (1 << min(n, 16)), -32768, 32767)


cdef inline int32_t high_half_up(int32_t a, int32_t b) noexcept nogil:
    return clamp32((a * b + 16384) >> 15, -32768, 32767)


cdef inline int32_t right_half_up(int32_t x, int32_t n) noexcept nogil:
    n = min(n, 17)
    return x if n == 0 else (x + (1 << (n - 1))) >> n


cdef inline int32_t hard_swish_eights(int32_t x, const HardSwish* h) noexcept nogil:
    """As `hard_swish`, with other roundings; every step is an int16."""
    cdef int32_t wide = <int16_t>((x - h.x_zero_point) * 128)
    cdef int32_t out = high_half_up(wide, h.out_value)
    cdef int32_t gate = high_half_up(saturated_left(wide, max(h.relu_exponent - 1, 0)), h.relu_value)
    gate = right_half_up(saturated_left(gate, 1 if h.relu_exponent > 0 else 0), max(-h.relu_exponent, 0))
    gate = (gate + 32768) >> 1
    return clamp32(<int16_t>(right_half_up((gate * out) >> 15, h.out_shift) + h.y_zero_point), h.low, h.high)


cdef inline void logistic_run_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = logistic_s16(x[i], INTEGER_BITS)


cdef inline void tanh_run_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    """how: int32, 1 when the values are to be doubled."""
    cdef int32_t left = (<const int32_t*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = tanh_s16(saturate16(<int32_t>x[i] << left), INTEGER_BITS)
