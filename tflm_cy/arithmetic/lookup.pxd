"""Lookup tables that stand for a function of one quantized value: 256 entries for 8 bits, 513 interpolated ones for int16.

An 8-bit table is indexed by the byte (for int8 the table's second half holds the negative values), so that one loop serves int8 and uint8.
All float32, in the order written here; on aarch64 products are fused with the sums that take them.

Source: LiteRT:tflite/kernels/internal/common.h (LUTPopulate).

    fill_8(table, relu, params, x_scale, x_zero_point, y_scale, y_zero_point, True)
    lookup_8(table, x, y, n)
"""
from libc.math cimport roundf
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.machine cimport plus_product, product_plus
from tflm_cy.arithmetic.rounding cimport cut32

cdef enum:
    TABLE_16 = 513

ctypedef float (*Function)(float x, float parameter) noexcept nogil


cdef inline int32_t byte_value(int byte, bint signed) noexcept nogil:
    """The number that a byte stands for."""
    return byte - 256 if signed and byte >= 128 else byte


cdef inline int32_t truncate(float x) noexcept nogil:
    """To int32 as the x86 instruction does: what does not fit, NaN too, is the lowest value."""
    return cut32(x)


cdef inline int32_t saturate_8(float x, bint signed) noexcept nogil:
    """int8 is clamped before it is truncated, so that infinity is the highest value, and NaN, which passes, has lowest bits of 0;
    uint8 is truncated before."""
    cdef int32_t whole
    cdef float near
    if signed:
        near = <float>127.0 if x > <float>127.0 else x
        near = near if near > <float>-128.0 else <float>-128.0
        whole = cut32(near)
        return whole if x == x else 0
    whole = cut32(x)
    whole = 0 if whole < 0 else whole
    return 255 if whole > 255 else whole


cdef inline void fill_8(uint8_t* table, Function function, float parameter, float x_scale, int32_t x_zero_point, float y_scale,
                        int32_t y_zero_point, bint signed) noexcept nogil:
    cdef float inverse = <float>1.0 / y_scale
    cdef float value
    cdef int byte
    for byte in range(256):
        value = function(x_scale * <float>(byte_value(byte, signed) - x_zero_point), parameter)
        table[byte] = <uint8_t>saturate_8(roundf(value * inverse) + <float>y_zero_point, signed)


cdef inline void lookup_8(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = table[x[i]]


cdef inline int16_t saturate_16(float x) noexcept nogil:
    """min(max(x, -32768), 32767) as the C++ library's, then to an integer."""
    if x < <float>-32768.0:
        x = <float>-32768.0
    return <int16_t>truncate(<float>32767.0 if <float>32767.0 < x else x)


cdef inline void fill_16(int16_t* table, Function function, float parameter, float x_scale, int32_t x_zero_point, float y_scale,
                         int32_t y_zero_point) noexcept nogil:
    """Entry i is the value at step i less half of the error that interpolation makes in the middle of the step."""
    cdef float x_low = x_scale * <float>(-32768 - x_zero_point)
    cdef float x_high = x_scale * <float>(32767 - x_zero_point)
    cdef float y_low = y_scale * <float>(-32768 - y_zero_point)
    cdef float y_high = y_scale * <float>(32767 - y_zero_point)
    cdef float step = (x_high - x_low) / <float>512.0
    cdef float half_step = step / <float>2.0
    cdef float inverse = <float>65536.0 / (y_high - y_low)
    cdef float sample, middle, interpolated
    cdef int i
    for i in range(512):
        sample = roundf(function(plus_product(x_low, <float>i, step), parameter) * inverse)
        middle = roundf(function(plus_product(x_low, <float>i, step) + half_step, parameter) * inverse)
        interpolated = roundf(product_plus(function(plus_product(x_low, <float>(i + 1), step), parameter), inverse, sample) / <float>2.0)
        table[i] = saturate_16(sample - roundf((interpolated - middle) / <float>2.0))
    table[512] = saturate_16(roundf(function(x_high, parameter) * inverse))


cdef inline void lookup_16(const int16_t* table, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    """The slope wraps as int16, the result too."""
    cdef int64_t i
    cdef int16_t base, slope
    cdef const int16_t* at
    for i in range(n):
        at = table + 256 + (x[i] >> 7)
        base = at[0]
        slope = <int16_t>(at[1] - base)
        y[i] = <int16_t>(base + ((slope * (x[i] & 127) + 64) >> 7))
