"""CAST from float32 to integers as TFLM does it: what does not fit is the type's nearest end, NaN is 0.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/cast.cc; observed on the tflite_micro package.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t


cdef inline int64_t nearest(double x, int64_t low, int64_t high) noexcept nogil:
    if x != x:
        return 0
    return low if x <= low else high if x >= high else <int64_t>x


cdef inline void store_nearest_s8(const double* block, int8_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <int8_t>nearest(block[i], -128, 127)


cdef inline void store_nearest_s16(const double* block, int16_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <int16_t>nearest(block[i], -32768, 32767)


cdef inline void store_nearest_s32(const double* block, int32_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <int32_t>nearest(block[i], -2147483648, 2147483647)


cdef inline void store_nearest_u32(const double* block, uint32_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <uint32_t>nearest(block[i], 0, 4294967295)
