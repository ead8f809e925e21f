"""A tensor's type as XNNPACK sees it, with its quantization looked at."""
from libc.math cimport fabsf

from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor

cdef enum Datatype:
    NO_DATATYPE = 0
    FP32 = 1
    FP16 = 2
    QINT8 = 3
    QUINT8 = 4
    QINT32 = 5
    QCINT8 = 6                   # one scale per channel
    QCINT4 = 7
    QCINT2 = 8
    QCINT32 = 9
    QBINT4 = 10                  # one scale per row and block of columns


cdef inline bint is_normal(float value) noexcept nogil:
    """Finite, neither zero nor subnormal."""
    return <float>1.17549435e-38 <= fabsf(value) <= <float>3.4028234664e38


cdef int datatype(Subgraph g, const Tensor* t) except -1
cdef bint has_blockwise(Subgraph g, const Tensor* t) except -1
cdef int block_size(Subgraph g, const Tensor* t) except? -1
cdef int zero_point_0(const Tensor* t) noexcept
cdef float single_scale(const Tensor* t) noexcept
cdef int single_zero_point(const Tensor* t) noexcept
cdef bint same_parameters(const Tensor* a, const Tensor* b) noexcept
