"""What operators share that make one value of two, or that StableHLO describes with attributes: one number per dimension.

    combine = combine_of(x.type)                              # NULL where there is none
    size = attribute(vector, d, 1)
"""
from libc.stdint cimport INT32_MAX, int64_t

from tflm_cy.arithmetic.combine cimport Combine
from tflm_cy.schema.table cimport Vector, vector_i64

cdef enum:
    MOST_ATTRIBUTES = 8          # dimensions that an attribute may describe


cdef Combine combine_of(int type) noexcept nogil           # NULL where there is none


cdef inline int64_t attribute(Vector vector, int i, int64_t default) except? -1:
    """An attribute of dimension i; a size beyond 32 bits is refused, so that products of two do not overflow."""
    cdef int64_t value = vector_i64(vector, i) if i < <int>vector.length else default
    if value > INT32_MAX or value < -INT32_MAX:
        raise ValueError(f"an attribute of {value} is too large")
    return value
