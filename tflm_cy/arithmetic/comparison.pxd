"""Comparisons, MAXIMUM, MINIMUM and logical functions on arrays of equal length; `broadcast` brings operands into that form.

Of a greater-than comparison the operands are swapped before. Quantized 8-bit operands are compared as their table's int32 values:
(value - zero point) * 256, times the scale. Results are bytes of 0 and 1.
Source: LiteRT:tflite/kernels/internal/reference/comparisons.h, maximum_minimum.cc, logical.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport high_product, round_shift, round_shift_in_block
from tflm_cy.arithmetic.half cimport half_to_f32
from tflm_cy.arithmetic.multipliers cimport Multiplier, Rescale
from tflm_cy.arithmetic.rescale cimport rescale

cdef struct Scaled:              # of a quantized int16 comparison
    Rescale a
    Rescale b
    int32_t a_zero_point
    int32_t b_zero_point

cdef struct Fours:               # of a quantized comparison with a multiplier above 1: blocks of four
    Multiplier a
    Multiplier b
    int32_t a_zero_point
    int32_t b_zero_point
    bint orders                  # whether the left side is to be less, else equal
    bint negated                 # NOT_EQUAL; LESS_EQUAL is a right side that is not less, with the sides swapped
    bint swapped

ctypedef fused Stored:
    int8_t
    uint8_t
    int16_t

ctypedef fused Ordered:
    float
    uint8_t
    int16_t
    int32_t
    int64_t

ctypedef fused Number:
    float
    int8_t
    uint8_t
    int16_t
    int32_t
    int64_t

cdef struct Sides:               # of a quantized comparison, by byte
    int32_t a[256]
    int32_t b[256]


cdef inline void equal(const void* params, const Ordered* a, const Ordered* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] == b[i]


cdef inline void not_equal(const void* params, const Ordered* a, const Ordered* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] != b[i]


cdef inline void less(const void* params, const Ordered* a, const Ordered* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] < b[i]


cdef inline void less_equal(const void* params, const Ordered* a, const Ordered* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] <= b[i]


# ---- float16
cdef inline void never(const void* params, const int16_t* a, const int16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = 0


cdef inline void equal_half(const void* params, const uint16_t* a, const uint16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = half_to_f32(a[i]) == half_to_f32(b[i])


cdef inline void not_equal_half(const void* params, const uint16_t* a, const uint16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = half_to_f32(a[i]) != half_to_f32(b[i])


cdef inline void less_half(const void* params, const uint16_t* a, const uint16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = half_to_f32(a[i]) < half_to_f32(b[i])


cdef inline void less_equal_half(const void* params, const uint16_t* a, const uint16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = half_to_f32(a[i]) <= half_to_f32(b[i])


# ---- quantized, int8 and uint8
cdef inline int32_t side_value(int32_t x, int32_t zero_point, Rescale scale) noexcept nogil:
    """A quantized value as it is compared."""
    return rescale(<int32_t>((<uint32_t>x - <uint32_t>zero_point) << 8), scale)


cdef inline void equal_8(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef const Sides* s = <const Sides*>params
    cdef int64_t i
    for i in range(n):
        y[i] = s.a[a[i]] == s.b[b[i]]


cdef inline void not_equal_8(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef const Sides* s = <const Sides*>params
    cdef int64_t i
    for i in range(n):
        y[i] = s.a[a[i]] != s.b[b[i]]


cdef inline void less_8(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef const Sides* s = <const Sides*>params
    cdef int64_t i
    for i in range(n):
        y[i] = s.a[a[i]] < s.b[b[i]]


cdef inline void less_equal_8(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef const Sides* s = <const Sides*>params
    cdef int64_t i
    for i in range(n):
        y[i] = s.a[a[i]] <= s.b[b[i]]


cdef inline int32_t side_in_block(int32_t x, int32_t zero_point, Multiplier m, bint in_block) noexcept nogil:
    cdef int32_t high = high_product(<int32_t>((<uint32_t>x - <uint32_t>zero_point) << 8), m.value)
    return round_shift_in_block(high, -m.shift) if in_block and m.shift > 0 else round_shift(high, -m.shift)


cdef inline void compare_in_fours(const void* params, const Stored* a, const Stored* b, uint8_t* y, int64_t n) noexcept nogil:
    """n is the whole tensor. A multiplier above 1 shifts right by a negative count."""
    cdef Fours s = (<const Fours*>params)[0]
    cdef int64_t body = n - n % 4
    cdef int32_t left, right
    cdef int64_t i
    for i in range(n):
        left = side_in_block(a[i], s.a_zero_point, s.a, i < body)
        right = side_in_block(b[i], s.b_zero_point, s.b, i < body)
        y[i] = ((right < left if s.swapped else left < right) if s.orders else left == right) != s.negated


# ---- quantized int16: equality of scaled values only, order is that of raw ones
cdef inline void equal_scaled_s16(const void* params, const int16_t* a, const int16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef Scaled s = (<const Scaled*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = side_value(a[i], s.a_zero_point, s.a) == side_value(b[i], s.b_zero_point, s.b)


cdef inline void not_equal_scaled_s16(const void* params, const int16_t* a, const int16_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef Scaled s = (<const Scaled*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = side_value(a[i], s.a_zero_point, s.a) != side_value(b[i], s.b_zero_point, s.b)


# ---- the larger and the smaller; the second operand unless the first is larger (smaller)
cdef inline void maximum(const void* params, const Number* a, const Number* b, Number* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] if a[i] > b[i] else b[i]


cdef inline void minimum(const void* params, const Number* a, const Number* b, Number* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] if a[i] < b[i] else b[i]


cdef inline void maximum_half(const void* params, const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] if half_to_f32(a[i]) > half_to_f32(b[i]) else b[i]


cdef inline void minimum_half(const void* params, const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] if half_to_f32(a[i]) < half_to_f32(b[i]) else b[i]


# ---- bool
cdef inline void logical_and(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] & b[i]


cdef inline void logical_or(const void* params, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = a[i] | b[i]
