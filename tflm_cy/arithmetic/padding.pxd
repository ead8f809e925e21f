"""A tensor with a border of one value.

    padding.before[d], padding.after[d] = 1, 2             # for each dimension
    plan_padding(&padding, rank, dims, element_size)       # of the input
    pad_tensor(&padding, y, x)                             # `value`, `value_size` and `apart` are the caller's
    pad_axis(&padding, shared_axis(&padding), first, end, y, x)    # some of its steps: each byte is written once
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.copy_runs cimport fill
from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, finish_walk, walk_copy
from tflm_cy.platform.long_copy cimport move_bytes

cdef enum:
    PADDED_RANK = 16
    SHORT_ROW = 512              # bytes; rows up to this are copied between borders that are already there
    FILLED = 8192                # bytes of rows that are filled before they are copied to: they stay in the cache

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


cdef inline int shared_axis(const Padding* p) noexcept nogil:
    """The outermost axis with more than one step or a border, which threads can share; `rank`: there is none."""
    cdef int d = 0
    while d < p.rank and p.size[d] == 1 and p.before[d] == 0 and p.after[d] == 0:
        d += 1
    return d


cdef inline void pad_tensor(const Padding* p, char* dst, const char* src) noexcept nogil:
    if p.rank > 0:
        pad_axis(p, 0, 0, p.size[0], dst, src)
    elif p.run > 0:
        move_bytes(dst, src, p.run)


cdef inline void copy_inside(const Padding* p, int d, int64_t count, char* dst, const char* src) noexcept nogil:
    """What lies inside of the borders, of some steps of axis d whose borders are there."""
    cdef Walk walk
    cdef int a
    begin_walk(&walk, p.size[p.rank - 1] * p.run)
    add_axis(&walk, count, p.step[d], p.source[d])
    for a in range(d + 1, p.rank):
        dst += p.before[a] * p.step[a]
        if a < p.rank - 1:
            add_axis(&walk, p.size[a], p.step[a], p.source[a])
    finish_walk(&walk)
    walk_copy(&walk, dst, src)


cdef inline void pad_rows(const Padding* p, int d, int64_t first, int64_t end, char* dst, const char* src) noexcept nogil:
    """Short rows, some at a time."""
    cdef int64_t step = p.step[d]
    cdef int64_t together = max(FILLED // max(step, <int64_t>1), <int64_t>1)
    cdef int64_t some
    while first < end:
        some = min(together, end - first)
        fill(dst + first * step, some * step, p.value, p.value_size)
        copy_inside(p, d, some, dst + first * step, src + first * p.source[d])
        first += some


cdef inline void pad_axis(const Padding* p, int d, int64_t first, int64_t end, char* dst, const char* src) noexcept nogil:
    """Some of an axis' steps: the border in front of the first one, the inside one axis further in, the border behind the last one."""
    cdef int64_t step = p.step[d]
    cdef int64_t i
    if first == 0:
        fill(dst, p.before[d] * step, p.value, p.value_size)
    dst += p.before[d] * step
    if d == p.rank - 1:
        if first < end:
            move_bytes(dst + first * p.run, src + first * p.run, (end - first) * p.run)
    elif p.apart and step <= SHORT_ROW:
        pad_rows(p, d, first, end, dst, src)
    else:
        for i in range(first, end):
            pad_axis(p, d + 1, 0, p.size[d + 1], dst + i * step, src + i * p.source[d])
    if end == p.size[d]:
        fill(dst + end * step, p.after[d] * step, p.value, p.value_size)
