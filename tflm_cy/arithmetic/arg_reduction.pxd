"""Index of the largest or smallest element along an axis, the first one at ties.

A tensor is seen as [outer, axis, inner].

Source: LiteRT:tflite/kernels/internal/{optimized/optimized_ops.h,reference/arg_min_max.h}.
"""
from libc.math cimport isnan
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.machine cimport AARCH64

cdef enum:
    MOST_COLUMNS = 64

ctypedef fused comparable:
    float
    int32_t
    int8_t
    uint8_t


cdef inline bint better(comparable a, comparable b, bint largest) noexcept nogil:
    return a > b if largest else a < b


cdef inline int32_t arg_row(const comparable* x, int64_t size, bint largest) noexcept nogil:
    """A NaN is never better than anything, and nothing is better than it."""
    cdef comparable best = x[0]
    cdef int64_t i, index = 0
    for i in range(1, size):
        if better(x[i], best, largest):
            best = x[i]
            index = i
    return <int32_t>index


cdef inline void arg_columns(const comparable* x, int64_t size, int64_t stride, int columns, bint largest, int32_t* index) noexcept nogil:
    """As arg_row, of neighbouring columns, at most MOST_COLUMNS, whose values lie `stride` apart."""
    cdef comparable[MOST_COLUMNS] best
    cdef int64_t i
    cdef int c
    if stride == 1:
        index[0] = arg_row(x, size, largest)
        return
    for c in range(columns):
        best[c] = x[c]
        index[c] = 0
    for i in range(1, size):
        for c in range(columns):
            if better(x[i * stride + c], best[c], largest):
                best[c] = x[i * stride + c]
                index[c] = <int32_t>i


cdef inline float extreme(float a, float b, bint largest) noexcept nogil:
    """SSE's maxps and minps: b when the two do not compare; on aarch64 NaN."""
    if AARCH64 and isnan(a):
        return a
    if largest:
        return a if a > b else b
    return a if a < b else b


cdef inline float paired(float a, float b, bint largest) noexcept nogil:
    """The better of two lanes at the end: a when they do not compare; on aarch64 NaN."""
    if AARCH64 and isnan(b):
        return b
    return b if better(b, a, largest) else a


cdef inline int32_t arg_row_f32(const float* x, int64_t size, bint largest) noexcept nogil:
    """A contiguous row of float32 goes in four lanes. Without NaN that is the first best index; with one, a lane can be lost, and the
    index is that of TensorFlow's lanes (2147483647 when no lane equals the extreme).
    """
    cdef float[4] best
    cdef int32_t[4] lane_index
    cdef float value
    cdef int64_t i
    cdef int32_t index
    cdef int k
    if size < 4:
        return arg_row(x, size, largest)
    for k in range(4):
        best[k] = x[k]
        lane_index[k] = k
    i = 4
    while i <= size - 4:
        for k in range(4):
            if better(x[i + k], best[k], largest):
                lane_index[k] = <int32_t>i + k
            best[k] = extreme(best[k], x[i + k], largest)
        i += 4
    value = paired(paired(best[0], best[1], largest), paired(best[2], best[3], largest), largest)
    index = INT32_MAX
    for k in range(4):
        if best[k] == value and lane_index[k] < index:
            index = lane_index[k]
    while i < size:
        if better(x[i], value, largest):
            value = x[i]
            index = <int32_t>i
        i += 1
    return index
