"""What operators share that make one value of two, or that StableHLO describes with attributes: one number per dimension.

    combine = combine_of(x.type)                              # NULL where there is none
    size = attribute(vector, d, 1)
"""
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.combine cimport Combine, combine_bools, combine_halves, combine_run
from tflm_cy.graph.tensor cimport BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64
from tflm_cy.schema.table cimport Vector, vector_i64

cdef enum:
    MOST_ATTRIBUTES = 8          # dimensions that an attribute may describe


cdef inline Combine combine_of(int type) noexcept nogil:
    """NULL where there is none."""
    if type == FLOAT32:
        return <Combine>combine_run[float]
    if type == FLOAT64:
        return <Combine>combine_run[double]
    if type == FLOAT16:
        return <Combine>combine_halves
    if type == BOOL:
        return <Combine>combine_bools
    if type == INT8:
        return <Combine>combine_run[int8_t]
    if type == UINT8:
        return <Combine>combine_run[uint8_t]
    if type == INT16:
        return <Combine>combine_run[int16_t]
    if type == UINT16:
        return <Combine>combine_run[uint16_t]
    if type == INT32:
        return <Combine>combine_run[int32_t]
    if type == UINT32:
        return <Combine>combine_run[uint32_t]
    if type == INT64:
        return <Combine>combine_run[int64_t]
    if type == UINT64:
        return <Combine>combine_run[uint64_t]
    return NULL


cdef inline int64_t attribute(Vector vector, int i, int64_t default) except? -1:
    """An attribute of dimension i; a size beyond 32 bits is refused, so that products of two do not overflow."""
    cdef int64_t value = vector_i64(vector, i) if i < <int>vector.length else default
    if value > INT32_MAX or value < -INT32_MAX:
        raise ValueError(f"an attribute of {value} is too large")
    return value
