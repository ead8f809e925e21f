"""GELU without `approximate`, float32: 0.5 * x * erfc(-x / sqrt(2)) as Eigen computes it.

Eigen was compiled for AVX without fused multiply-add, for aarch64 with it. Up to 1 erfc is a polynomial, beyond it exp(-x^2) times a quotient of polynomials of
1 / x^2, a reciprocal that the CPU approximates and one step of Newton's refines. On aarch64 the values that fill no vector have the C library's exp
and a division.

Source: Eigen's unsupported/Eigen/src/SpecialFunctions/SpecialFunctionsImpl.h (generic_fast_erfc);
LiteRT:tflite/kernels/internal/reference/gelu.h.
"""
from libc.math cimport expf
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.eigen cimport eigen_exp, whole_vectors
from tflm_cy.arithmetic.machine cimport product_plus
from tflm_cy.arithmetic.optimized.normalization cimport inverse
from tflm_cy.arithmetic.row_kernels cimport RowKernels


cdef inline float clip_erfc(float v) noexcept nogil:
    return <float>-11 if v < <float>-11 else <float>11 if v > <float>11 else v


cdef inline float near_erfc(float x, float x2) noexcept nogil:
    cdef float p = <float>5.61802298761904239654541015625e-04
    p = product_plus(p, x2, <float>-4.91381669417023658752441406250e-03)
    p = product_plus(p, x2, <float>2.67075151205062866210937500000e-02)
    p = product_plus(p, x2, <float>-1.12800106406211853027343750000e-01)
    p = product_plus(p, x2, <float>3.76122951507568359375000000000e-01)
    p = product_plus(p, x2, <float>-1.12837910652160644531250000000e+00)
    return product_plus(x, p, <float>1)


cdef inline float far_erfc(float x, float x2, float e, float q) noexcept nogil:
    """e: exp(-x2); q: 1 / x2."""
    cdef float low = <float>(<double>x * <double>x - <double>x2)
    cdef float p, d
    e = product_plus(-e, low, e)
    p = <float>1.0208116471767425537109375e-01
    p = product_plus(p, q, <float>4.2920666933059692382812500e-01)
    p = product_plus(p, q, <float>3.2379078865051269531250000e-01)
    p = product_plus(p, q, <float>5.3971976041793823242187500e-02)
    d = <float>1.7251677811145782470703125e-02
    d = product_plus(d, q, <float>3.9137163758277893066406250e-01)
    d = product_plus(d, q, <float>1)
    d = product_plus(d, q, <float>6.2173241376876831054687500e-01)
    d = product_plus(d, q, <float>9.5662862062454223632812500e-02)
    return product_plus(e, p / (x * d), <float>2 if x < 0 else <float>0)


cdef inline float eigen_erfc(float v) noexcept nogil:
    cdef float x = clip_erfc(v)
    cdef float x2 = x * x
    return far_erfc(x, x2, eigen_exp(-x2), inverse(x2)) if x2 > 1 else near_erfc(x, x2)


cdef inline float scalar_erfc(float v) noexcept nogil:
    """By the C library's exponential and a division."""
    cdef float x = clip_erfc(v)
    cdef float x2 = x * x
    return far_erfc(x, x2, expf(-x2), <float>1 / x2) if x2 > 1 else near_erfc(x, x2)


cdef inline void gelu_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    """params: RowKernels, or NULL."""
    cdef int64_t body = whole_vectors(n)
    cdef int64_t i
    if params != NULL:
        (<const RowKernels*>params).gelu(x, y, body)
    for i in range(body if params == NULL else 0):
        y[i] = (<float>0.5 * x[i]) * eigen_erfc(x[i] * <float>-0.7071067811865476)
    for i in range(body, n):
        y[i] = (<float>0.5 * x[i]) * scalar_erfc(x[i] * <float>-0.7071067811865476)
