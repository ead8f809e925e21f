"""Values that are told apart: what UNIQUE does.

    nans = fill_keys(<const int32_t*>x, n, keys)      # numbers that are equal for equal values; how many of n values are NaN; -0 equals 0
    found = number_values(keys, n, values, mask, table, firsts, y)
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

ctypedef fused Countable:
    uint8_t
    int16_t
    int32_t
    int64_t
    float

ctypedef fused Index:
    int32_t
    int64_t


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


cdef inline int32_t number_values(
    int64_t* keys, int64_t n, const float* values, uint64_t mask, int32_t* table, int32_t* firsts, Index* y,
) noexcept nogil:
    """Each value's number into y, and where each number was first met into `firsts`; how many there are.

    table: mask + 1 numbers, a power of two, more than there can be values; keys of numbers move to the front. values: NULL, or with NaN: then one
    of them has the smallest number so far, and so has every value behind a NaN at the front.
    """
    cdef int32_t smallest = 0
    cdef int32_t found = 0
    cdef int32_t number
    cdef uint64_t slot
    cdef int64_t i, key
    memset(table, 0, sizeof(int32_t) * (mask + 1))
    for i in range(n):
        key = keys[i]
        if values != NULL and i > 0 and (values[i] != values[i] or values[0] != values[0]):
            y[i] = smallest
            continue
        slot = (<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15 >> 29) & mask
        number = table[slot] - 1
        while number >= 0 and keys[number] != key:
            slot = (slot + 1) & mask
            number = table[slot] - 1
        if number < 0:
            number = found
            found += 1
            table[slot] = found
            keys[number] = key
            firsts[number] = <int32_t>i
            if values != NULL and values[i] < values[firsts[smallest]]:
                smallest = number
        y[i] = number
    return found
