"""How the kernels of aarch64 quantize a row of floats: the steps of dynamic_range.pxd, where they differ.

| | XNNPACK's own | packed, by KleidiAI |
| --- | --- | --- |
| taken by | convolutions; matrix products without dot products, or with blockwise scales | other matrix products of CPUs with dot products |
| range with NaN among the values | empty | NaN in whole blocks of eight hides what stands in these, elsewhere it is no value |
| infinite range | the inverse is infinite | the inverse is 0 |
| rounding | half to even | half away from zero |
| values outside of the range | saturate | in whole groups saturate to int16, then the zero point is added modulo 2^16 |

Such values there are only where NaN hides them. NaN itself becomes the zero point.

Source: XNNPACK:src/xnnpack/quantization.h, its f32-rminmax and f32-qs8-vcvt microkernels for NEON; KleidiAI:kai_lhs_quant_pack_qai8dxp_f32.c.
"""
from libc.math cimport INFINITY, NAN, isnan, roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t

from tflm_cy.arithmetic.rounding cimport cut32
from tflm_cy.arithmetic.xnnpack.requantize cimport rintf

cdef extern from "<math.h>" nogil:
    float fmaxf(float, float)
    float fminf(float, float)

cdef struct FloatRange:
    float low
    float high

cdef struct RowSteps:            # how a row is quantized
    float scale
    float inverse                # the real value of one step
    float zero_point


cdef inline FloatRange range_of(const float* x, ptrdiff_t n) noexcept nogil:
    """NaN when one of the values is."""
    cdef FloatRange r = FloatRange(INFINITY, -INFINITY)
    cdef ptrdiff_t i
    for i in range(n):
        if isnan(x[i]):
            return FloatRange(NAN, NAN)
        r.low = min(x[i], r.low)
        r.high = max(x[i], r.high)
    return r


cdef inline FloatRange packed_range_of(const float* x, ptrdiff_t n) noexcept nogil:
    cdef ptrdiff_t blocks = n - n % 8
    cdef FloatRange r = range_of(x, blocks)
    cdef ptrdiff_t i
    for i in range(blocks, n):
        r.low = fminf(x[i], r.low)
        r.high = fmaxf(x[i], r.high)
    return r


cdef inline RowSteps steps_of_neon(const float* x, ptrdiff_t n, bint packed) noexcept nogil:
    """A limit that is NaN is 0."""
    cdef FloatRange r = packed_range_of(x, n) if packed else range_of(x, n)
    cdef float low = fminf(0, r.low)
    cdef float high = fmaxf(0, r.high)
    cdef float scale = 1 if low == high else <float>255.0 / (high - low)
    cdef float zero = (<float>-128.0 + low * scale) + (<float>127.0 + high * scale)
    zero = <float>-128.0 - low * scale if zero > 0 else <float>127.0 - high * scale
    return RowSteps(scale, 0 if packed and scale == 0 else <float>1.0 / scale, rintf(fminf(fmaxf(zero, -128), 127)))


cdef inline int32_t between(int32_t low, int32_t v, int32_t high) noexcept nogil:
    return low if v < low else high if v > high else v


cdef inline int32_t add_wrapped(int32_t v, int32_t zero_point) noexcept nogil:
    """At 16 bits."""
    return <int16_t><uint16_t><uint32_t>(between(-32768, v, 32767) + zero_point)


cdef inline float quantize_row_neon(
    const float* x, ptrdiff_t n, bint packed, ptrdiff_t group, int32_t* zero_point, int16_t* q,
) noexcept nogil:
    """quantize_row of dynamic_range.pxd. group: values of a group of packed ones."""
    cdef RowSteps s = steps_of_neon(x, n, packed)
    cdef int32_t zero = <int32_t>s.zero_point
    cdef ptrdiff_t i
    cdef int32_t v
    zero_point[0] = zero
    for i in range(n):
        if not packed:
            v = between(-32768, cut32(rintf(x[i] * s.scale)), 32767) + zero
        elif i < n - n % group:
            v = add_wrapped(cut32(roundf(x[i] * s.scale)), zero)
        else:
            v = <int32_t>(<uint32_t>cut32(roundf(x[i] * s.scale)) + <uint32_t>zero)
        q[i] = <int16_t>(between(-128, v, 127) - zero)
    return s.inverse
