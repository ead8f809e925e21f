"""Which axes a reduction reduces (the delegate's: xnnpack/reduced_axes.pxd), and the dimensions that are left.

    reduced = read_axes(axes, x.rank)                        # bit d set: axis d; -1: one is outside
    rank = output_dims(x, <uint32_t>reduced, keep_dims, dims)
"""
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.graph.tensor cimport Tensor, count


cdef inline int32_t output_dims(const Tensor* x, uint32_t reduced, bint keep_dims, int32_t* dims) noexcept nogil:
    """Fill the output's dimensions, return their number."""
    cdef int32_t rank = 0
    cdef int d
    for d in range(x.rank):
        if not (reduced >> d) & 1:
            dims[rank] = x.dims[d]
            rank += 1
        elif keep_dims:
            dims[rank] = 1
            rank += 1
    return rank


cdef inline int64_t read_axes(const Tensor* axes, int32_t rank, bint leave_out=False) noexcept nogil:
    """Bit d set: axis d is reduced; -1 when an axis is out of range, unless such axes are left out."""
    cdef const int32_t* values = <const int32_t*>axes.data
    cdef int64_t reduced = 0
    cdef int64_t i
    cdef int32_t axis
    if rank == 0:
        return 0
    for i in range(count(axes)):
        axis = values[i] + rank if values[i] < 0 else values[i]
        if 0 <= axis < rank:
            reduced |= <int64_t>1 << axis
        elif not leave_out:
            return -1
    return reduced


cdef inline int64_t count_of(int32_t rank, const int32_t* dims) noexcept nogil:
    cdef int64_t total = 1
    cdef int32_t d
    for d in range(rank):
        total *= dims[d]
    return total
