"""From real numbers to whole ones: towards 0 as the machine converts, and halves away from zero.

What an int32 or int64 cannot hold is the minimum on x86; on aarch64 it is the nearest value, and NaN is 0.
"""
from libc.stdint cimport INT32_MIN, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.machine cimport AARCH64

cdef extern from *:
    """
    #ifndef TFLM_CY_CUT32
    #define TFLM_CY_CUT32
    #if defined(__x86_64__)
    static inline int32_t tflm_cy_cut32(float x) { return (int32_t)x; } /* the instruction's answer; also of vectors */
    static inline int32_t tflm_cy_cut32_f64(double x) { return (int32_t)x; }
    #include <xmmintrin.h>
    static inline int64_t tflm_cy_cut64(float x) { return _mm_cvttss_si64(_mm_set_ss(x)); } /* vectors of it would be made of several */
    #elif defined(__aarch64__)
    static inline int32_t tflm_cy_cut32(float x) { int32_t y; __asm__("fcvtzs %w0, %s1" : "=r"(y) : "w"(x)); return y; }
    static inline int32_t tflm_cy_cut32_f64(double x) { int32_t y; __asm__("fcvtzs %w0, %d1" : "=r"(y) : "w"(x)); return y; }
    static inline int64_t tflm_cy_cut64(float x) { int64_t y; __asm__("fcvtzs %x0, %s1" : "=r"(y) : "w"(x)); return y; }
    #else
    static inline int32_t tflm_cy_cut32(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN; }
    static inline int32_t tflm_cy_cut32_f64(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN; }
    static inline int64_t tflm_cy_cut64(float x) { return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int64_t)x : INT64_MIN; }
    #endif
    #endif
    """
    int32_t cut32 "tflm_cy_cut32"(float x) noexcept nogil        # towards 0; what int32 cannot hold as the machine converts it
    int32_t cut32_f64 "tflm_cy_cut32_f64"(double x) noexcept nogil
    int64_t cut64 "tflm_cy_cut64"(float x) noexcept nogil


cdef inline int32_t round_away(float x) noexcept nogil:
    """roundf(x) as an int32; without branches on x86."""
    cdef int32_t whole = cut32(x)
    cdef float rest = x - <float>whole
    cdef int32_t up = (rest >= <float>0.5) & (rest < <float>1.0)
    cdef int32_t down = (rest <= <float>-0.5) & (rest > <float>-1.0)
    return whole + up - down


cdef inline int32_t add_wrapping(int32_t a, int32_t b) noexcept nogil:
    return <int32_t>(<uint32_t>a + <uint32_t>b)


cdef inline int32_t round_away_f64(double x) noexcept nogil:
    """(int32)round(x) as the machine converts: NaN and what does not fit give the minimum, on aarch64 0 and the nearest value."""
    cdef int32_t whole
    cdef double rest
    if not (x < 2147483647.5 and x > -2147483648.5):
        return cut32_f64(x) if AARCH64 else INT32_MIN
    if x >= 2147483647.0:
        return 2147483647
    if x <= -2147483648.0:
        return INT32_MIN
    whole = <int32_t>x
    rest = x - whole
    return whole + <int32_t>(rest >= 0.5) - <int32_t>(rest <= -0.5)       # without branches: nobody could foresee them
