"""Numbers that are equal for equal values, by which UNIQUE finds them again.

    nans = fill_keys(<const int32_t*>x, n, keys)      # how many of n values are NaN; -0 equals 0
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

ctypedef fused Countable:
    uint8_t
    int16_t
    int32_t
    int64_t
    float


cdef inline int64_t fill_keys(const Countable* x, int64_t n, int64_t* keys) noexcept nogil:
    cdef int64_t nans = 0
    cdef int32_t bits
    cdef float positive
    cdef int64_t i
    for i in range(n):
        if Countable is float:
            positive = x[i] + <float>0
            memcpy(&bits, &positive, sizeof(bits))
            keys[i] = bits
            nans += x[i] != x[i]
        else:
            keys[i] = x[i]
    return nans
