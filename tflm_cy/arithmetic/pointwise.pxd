"""Rarer functions of one or two values each: sign, angle, bits, buckets, fake quantization, parts of complex numbers.

All kernels walk plain arrays of n values. Integers wrap; a shift's distance is clamped to the type's width.
Source: LiteRT:tflite/kernels/{sign,atan2,bitwise_xor,right_shift,bucketize,add_n,fake_quant,complex_support,stablehlo_elementwise}.cc.
"""
from libc.math cimport atan2, atan2f, hypot, hypotf, roundf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from tflm_cy.arithmetic.half cimport eigen_half, half_to_f32
from tflm_cy.arithmetic.machine cimport product_plus
from tflm_cy.arithmetic.nan_order cimport add_runs
from tflm_cy.arithmetic.rounding cimport cut32

cdef extern from *:
    """
    #include "x86.h"
    /* 1, -1 or 0; NaN and both zeros become 0. */
    #define TFLM_CY_SIGNS(NAME, TYPE) \
      X86_TWICE(NAME, (const TYPE *x, TYPE *y, int64_t n), (x, y, n), { \
        _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) y[i] = (TYPE)((TYPE)(x[i] > 0) - (TYPE)(x[i] < 0)); \
      })
    TFLM_CY_SIGNS(tflm_cy_sign_f32, float)
    TFLM_CY_SIGNS(tflm_cy_sign_f64, double)
    TFLM_CY_SIGNS(tflm_cy_sign_s32, int32_t)
    """
    void sign_f32 "tflm_cy_sign_f32"(const float* x, float* y, int64_t n) noexcept nogil
    void sign_f64 "tflm_cy_sign_f64"(const double* x, double* y, int64_t n) noexcept nogil
    void sign_s32 "tflm_cy_sign_s32"(const int32_t* x, int32_t* y, int64_t n) noexcept nogil

cdef enum:
    FEW = 16                     # boundaries that are counted rather than searched
    NEAR = 1024                  # values that stay near from one pass to the next
    MOST_STEPS = 1 << 24         # of a fake quantization that is rounded by way of int32

ctypedef fused Signed:
    float
    double
    int32_t

ctypedef fused Whole:
    uint8_t
    uint16_t
    uint32_t

ctypedef fused Shifted:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t

ctypedef fused Bucketed:
    float
    double
    int32_t
    int64_t

ctypedef fused Real:
    float
    double

cdef struct FakeQuantization:
    float low
    float high
    float scale

cdef struct Buckets:
    const float* boundaries
    int64_t count
    bint has_nan                 # then they may be out of order, which nobody refuses


cdef inline void sign_of(const void* params, const Signed* x, Signed* y, int64_t n) noexcept nogil:
    """1, -1 or 0; NaN and both zeros become 0."""
    if Signed is float:
        sign_f32(x, y, n)
    elif Signed is double:
        sign_f64(x, y, n)
    else:
        sign_s32(x, y, n)


cdef inline void atan2_f32(const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = atan2f(a[i], b[i])


cdef inline void atan2_f64(const double* a, const double* b, double* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = atan2(a[i], b[i])


cdef inline void atan2_half(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = eigen_half(atan2f(half_to_f32(a[i]), half_to_f32(b[i])))


cdef inline void xor_bits(const void* params, const Whole* a, const Whole* b, Whole* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <Whole>(a[i] ^ b[i])


cdef inline void shift_right(const void* params, const Shifted* a, const Shifted* b, Shifted* y, int64_t n) noexcept nogil:
    """Arithmetic on signed types."""
    cdef int64_t widest = 8 * sizeof(Shifted) - 1
    cdef int64_t i, by
    for i in range(n):
        by = <int64_t>b[i]
        by = 0 if by < 0 else widest if by > widest else by
        y[i] = <Shifted>(a[i] >> by)


cdef inline bint lies_below(Bucketed x, float boundary) noexcept nogil:
    """Integers are compared as float32."""
    if Bucketed is double:
        return x < <double>boundary
    else:
        return <float>x < boundary


cdef inline int64_t bucket(const float* boundaries, int64_t n, Bucketed x) noexcept nogil:
    """How many boundaries are not above x. NaN lies above all."""
    cdef int64_t first = 0
    cdef int64_t half
    while n > 0:
        half = n >> 1
        if lies_below(x, boundaries[first + half]):
            n = half
        else:
            first += half + 1
            n -= half + 1
    return first


cdef inline void count_boundaries(const Buckets* params, const Real* x, int32_t* y, int64_t n) noexcept nogil:
    """`bucket` of many values where the boundaries are few, sorted and no NaN."""
    cdef int64_t i, k
    for i in range(n):
        y[i] = 0
    for k in range(params.count):
        for i in range(n):
            y[i] += not x[i] < <Real>params.boundaries[k]


cdef inline void bucketize(const Buckets* params, const Bucketed* x, int32_t* y, int64_t n) noexcept nogil:
    cdef float[NEAR] real
    cdef int64_t i, j, block
    if params.count > FEW or params.has_nan:
        for i in range(n):
            y[i] = <int32_t>bucket(params.boundaries, params.count, x[i])
        return
    if params.count == 0:
        for i in range(n):
            y[i] = 0
        return
    i = 0
    while i < n:
        block = min(n - i, <int64_t>NEAR)
        if Bucketed is float or Bucketed is double:
            count_boundaries(params, x + i, y + i, block)
        else:
            for j in range(block):
                real[j] = <float>x[i + j]
            count_boundaries(params, <const float*>real, y + i, block)
        i += block


cdef inline FakeQuantization fake_quantization(float low, float high, int bits) noexcept nogil:
    """The range moved so that 0 is one of its 2^bits values."""
    cdef FakeQuantization q
    cdef float top = <float>((<int64_t>1 << bits) - 1)
    cdef float zero
    q.scale = (high - low) / top
    zero = -low / q.scale
    zero = 0 if zero < 0 else top if zero > top else roundf(zero)
    q.low = (0 - zero) * q.scale
    q.high = (top - zero) * q.scale
    return q


cdef inline void fake_quantize(const FakeQuantization* q, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t done = 0
    while done < n:
        fake_quantize_block(q, x + done, y + done, min(n - done, <int64_t>NEAR))
        done += NEAR


cdef inline void fake_quantize_block(const FakeQuantization* q, const float* x, float* y, int64_t n) noexcept nogil:
    cdef float inverse = <float>1.0 / q.scale
    cdef bint small = (q.high - q.low) * inverse < <float>MOST_STEPS
    cdef int64_t i
    cdef float value
    for i in range(n):
        value = x[i] if q.low < x[i] else q.low
        value = q.high if q.high < value else value
        y[i] = (value - q.low) * inverse
    if small:                                # a loop without a call
        for i in range(n):
            y[i] = product_plus(half_up(y[i]), q.scale, q.low)
    else:
        for i in range(n):
            y[i] = product_plus(roundf(y[i]), q.scale, q.low)


cdef inline float half_up(float x) noexcept nogil:
    """roundf of what is neither negative nor beyond int32."""
    cdef float whole = <float>cut32(x)
    return whole + <float>(x - whole >= <float>0.5)


cdef inline void accumulate_f32(const float* x, float* y, int64_t n) noexcept nogil:
    """y += x within the finite numbers: an infinite sum becomes the largest one. Of two NaN y's stays."""
    cdef float largest = 3.4028234663852886e38
    cdef int64_t i = 0
    cdef int64_t j, block
    cdef float total
    while i < n:
        block = min(n - i, <int64_t>NEAR)
        add_runs(y + i, x + i, y + i, block)
        for j in range(i, i + block):
            total = -largest if y[j] < -largest else y[j]
            y[j] = largest if largest < total else total
        i += block


cdef inline void accumulate_unbounded_f32(const float* x, float* y, int64_t n) noexcept nogil:
    """y += x, as TensorFlow Lite Micro does it."""
    cdef int64_t i
    for i in range(n):
        y[i] = y[i] + x[i]


cdef inline void accumulate_u32(const uint32_t* x, uint32_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] += x[i]


cdef inline void every_second(const void* params, const Real* x, Real* y, int64_t n) noexcept nogil:
    """Real parts, or imaginary ones when x starts at the first of them."""
    cdef int64_t i
    for i in range(n):
        y[i] = x[2 * i]


cdef inline void complex_magnitude(const void* params, const Real* x, Real* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if Real is float:
            y[i] = hypotf(x[2 * i], x[2 * i + 1])
        else:
            y[i] = hypot(x[2 * i], x[2 * i + 1])
