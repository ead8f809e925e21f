"""A stable sort of 64-bit keys, smallest first, in runs that are merged without branches.

    sorted_keys = merge_sort(False, keys, other, NULL, NULL, n)              # in `keys` or `other`
    sorted_keys = merge_sort(True, keys, other, ids, other_ids, n)           # ids move with their keys, to the array of the same name
    n = insert(True, keys, ids, n, most, key, id)                            # one more into sorted ones
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    INSERTED = 8                 # keys of a run that is made by insertion


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


cdef inline int64_t insert(bint with_ids, uint64_t* keys, int32_t* ids, int64_t n, int64_t most, uint64_t key, int32_t id) noexcept nogil:
    """A key into n sorted ones, behind those that are equal; of `most` that are there already it replaces the last, which is greater. How many
    there are now."""
    cdef int64_t at = min(n, most - 1)           # a full row loses its last one
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        if with_ids:
            ids[at] = ids[at - 1]
        at -= 1
    keys[at] = key
    if with_ids:
        ids[at] = id
    return min(n + 1, most)


cdef inline uint64_t* merge_sort(bint with_ids, uint64_t* keys, uint64_t* other, int32_t* ids, int32_t* other_ids, int64_t n) noexcept nogil:
    """Runs of a few are made by insertion."""
    cdef int64_t run = INSERTED
    cdef int64_t at = 0
    cdef int64_t i
    while at < n:
        for i in range(1, min(run, n - at)):
            insert(with_ids, keys + at, ids + at if with_ids else NULL, i, i + 1, keys[at + i], ids[at + i] if with_ids else 0)
        at += run
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
