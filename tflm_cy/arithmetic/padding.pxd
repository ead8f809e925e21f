"""A tensor with a border of one value.

    padding.before[d], padding.after[d] = 1, 2             # for each dimension
    plan_padding(&padding, rank, dims, element_size)       # of the input
    pad_axis(&padding, 0, y, x)                            # `value`, `value_size` and `apart` are the caller's
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

from tflm_cy.arithmetic.copy_runs cimport copy_runs, fill

cdef enum:
    PADDED_RANK = 16
    SHORT_ROW = 512              # bytes; rows up to this are copied between borders that are already there

cdef struct Padding:             # dimensions without a border, behind all others, are merged into `run`
    int rank
    int64_t run                  # bytes copied at once
    int64_t[PADDED_RANK] before  # in steps of the dimension
    int64_t[PADDED_RANK] size    # of the input
    int64_t[PADDED_RANK] after
    int64_t[PADDED_RANK] step    # bytes of a step in the output
    int64_t[PADDED_RANK] source  # bytes of a step in the input
    int64_t offset               # mirrored: 1 when the edge is not repeated
    bint apart                   # the output does not lie over the input: the inside may be filled before it is copied
    int64_t value_size
    char[8] value                # of the border


cdef inline void plan_padding(Padding* p, int rank, const int32_t* dims, int64_t element_size) noexcept nogil:
    cdef int64_t step = element_size
    cdef int64_t source
    cdef int d
    p.rank = rank
    while p.rank > 0 and p.before[p.rank - 1] == 0 and p.after[p.rank - 1] == 0:
        p.rank -= 1
        step *= dims[p.rank]
    p.run = step
    source = step
    for d in range(p.rank - 1, -1, -1):
        p.size[d] = dims[d]
        p.step[d] = step
        p.source[d] = source
        step *= p.before[d] + dims[d] + p.after[d]
        source *= dims[d]


cdef inline void pad_axis(const Padding* p, int d, char* dst, const char* src) noexcept nogil:
    """Border, the inside one dimension further in, border."""
    cdef int64_t i
    if d == p.rank:
        if p.run > 0:
            memmove(dst, src, p.run)
        return
    fill(dst, p.before[d] * p.step[d], p.value, p.value_size)
    dst += p.before[d] * p.step[d]
    if d == p.rank - 1:
        if p.size[d] > 0:
            memmove(dst, src, p.size[d] * p.run)
    elif d == p.rank - 2 and p.apart and p.step[d] <= SHORT_ROW:
        fill(dst, p.size[d] * p.step[d], p.value, p.value_size)
        copy_runs(dst + p.before[d + 1] * p.run, p.step[d], src, p.source[d], p.size[d + 1] * p.run, p.size[d])
    else:
        for i in range(p.size[d]):
            pad_axis(p, d + 1, dst + i * p.step[d], src + i * p.source[d])
    fill(dst + p.size[d] * p.step[d], p.after[d] * p.step[d], p.value, p.value_size)
