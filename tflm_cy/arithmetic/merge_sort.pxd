"""A stable sort of 64-bit keys, smallest first, in runs that are merged without branches.

    sorted_keys = merge_sort(False, keys, other, NULL, NULL, n)              # in `keys` or `other`
    sorted_keys = merge_sort(True, keys, other, ids, other_ids, n)           # ids move with their keys, to the array of the same name
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy


cdef inline void merge_runs(bint with_ids, const uint64_t* x, const int32_t* x_ids, int64_t middle, int64_t end, uint64_t* y, int32_t* y_ids) noexcept nogil:
    """Two sorted runs, 0 .. middle and middle .. end; of equal keys the first run's come first."""
    cdef int64_t a = 0
    cdef int64_t b = middle
    cdef int64_t o = 0
    cdef bint second
    while a < middle and b < end:
        second = x[b] < x[a]
        y[o] = x[b] if second else x[a]
        if with_ids:
            y_ids[o] = x_ids[b if second else a]
        b += second
        a += 1 - second
        o += 1
    b = b if a == middle else a
    memcpy(y + o, x + b, (end - o) * sizeof(uint64_t))
    if with_ids:
        memcpy(y_ids + o, x_ids + b, (end - o) * sizeof(int32_t))


cdef inline uint64_t* merge_sort(bint with_ids, uint64_t* keys, uint64_t* other, int32_t* ids, int32_t* other_ids, int64_t n) noexcept nogil:
    cdef int64_t run = 1
    cdef int64_t at
    while run < n:
        at = 0
        while at < n:
            merge_runs(with_ids, keys + at, ids + at if with_ids else NULL, min(run, n - at), min(2 * run, n - at), other + at,
                       other_ids + at if with_ids else NULL)
            at += 2 * run
        keys, other = other, keys
        ids, other_ids = other_ids, ids
        run *= 2
    return keys
