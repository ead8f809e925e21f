"""CAST from floating point to integers on aarch64. The instructions saturate, and NaN is 0; TensorFlow's compiler keeps low bits of what they give.

| from | to | tail | whole blocks |
| --- | --- | --- | --- |
| float64 | 8, 16, 32 bits | low bits of the conversion to 32 bits | of that to 64 bits |
| float32 | uint16 | low bits of the int32 conversion | of the uint32 conversion |
| the others | 8, 16 bits | low bits of the int32 conversion | the same |
| the others | 32, 64 bits | the conversion | the same |

uint32 is converted without sign, the others with it. From float32 uint8, int16 and int32 saturate by design, as in cast.pxd; NaN is 0, 0 and
the highest value.
Source: LiteRT:tflite/kernels/cast.cc; blocks and table observed on TensorFlow 2.21.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, UINT32_MAX, UINT64_MAX, int32_t, int64_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.cast cimport Pattern


# ---- the instructions
cdef inline int32_t whole_s32(double x) noexcept nogil:
    if x >= 2147483648.0:
        return INT32_MAX
    if x <= -2147483649.0:
        return INT32_MIN
    return <int32_t>x if x == x else 0


cdef inline uint32_t whole_u32(double x) noexcept nogil:
    if x >= 4294967296.0:
        return UINT32_MAX
    return <uint32_t>x if x > 0 else 0


cdef inline int64_t whole_s64(double x) noexcept nogil:
    if x >= 9223372036854775808.0:
        return INT64_MAX
    if x < -9223372036854775808.0:
        return INT64_MIN
    return <int64_t>x if x == x else 0


cdef inline uint64_t whole_u64(double x) noexcept nogil:
    if x >= 18446744073709551616.0:
        return UINT64_MAX
    return <uint64_t>x if x > 0 else 0


# ---- out of a block of doubles, as the functions of cast.pxd
cdef inline void store_low_bits(const double* block, Pattern* y, int64_t n, int64_t whole) noexcept nogil:
    """To integers of up to 32 bits but uint32."""
    cdef int64_t i
    for i in range(whole):
        y[i] = <Pattern>whole_s64(block[i])
    for i in range(whole, n):
        y[i] = <Pattern>whole_s32(block[i])


cdef inline void store_u32_neon(const double* block, uint32_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(whole):
        y[i] = <uint32_t>whole_u64(block[i])
    for i in range(whole, n):
        y[i] = whole_u32(block[i])


cdef inline void store_s64_neon(const double* block, int64_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = whole_s64(block[i])


# ---- straight from float32
cdef inline void f32_to_u16_neon(const float* x, uint16_t* y, int64_t n) noexcept nogil:
    """Of whole blocks."""
    cdef int64_t i
    for i in range(n):
        y[i] = <uint16_t>whole_u32(x[i])


cdef inline void f32_to_u32_neon(const float* x, uint32_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = whole_u32(x[i])
