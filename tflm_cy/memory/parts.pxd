"""Buffers that fall apart in time: behind the sections `cuts`, in rising order, no buffer is alive on both sides."""
from libc.stdint cimport int32_t
from libc.string cimport memset

from tflm_cy.memory.branch_and_bound cimport Entry


cdef inline int32_t part_of(int32_t begin, const int32_t* cuts, int32_t cut_count) noexcept nogil:
    """How many cuts lie before a section."""
    cdef int32_t low = 0, high = cut_count, middle
    while low < high:
        middle = (low + high) // 2
        if cuts[middle] < begin:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int32_t order_parts(
    const Entry* entries, int32_t count, const int32_t* cuts, int32_t cut_count, int32_t* start, int32_t* length, int32_t* order,
) noexcept nogil:
    """Where each part begins when they follow each other, how long it is, and those that are not empty by rising length: how many."""
    cdef int32_t k, part, i, part_count = 0
    memset(length, 0, (cut_count + 1) * sizeof(int32_t))
    for k in range(count):
        length[part_of(entries[k].begin, cuts, cut_count)] += 1
    start[0] = 0
    for part in range(cut_count + 1):
        start[part + 1] = start[part] + length[part]
        if length[part]:
            i = part_count
            while i > 0 and length[order[i - 1]] > length[part]:
                order[i] = order[i - 1]
                i -= 1
            order[i] = part
            part_count += 1
    return part_count


cdef inline void group_parts(
    const Entry* entries, int32_t count, const int32_t* cuts, int32_t cut_count, const int32_t* start, int32_t* length, Entry* grouped,
) noexcept nogil:
    """The entries, part by part."""
    cdef int32_t k, part
    memset(length, 0, (cut_count + 1) * sizeof(int32_t))
    for k in range(count):
        part = part_of(entries[k].begin, cuts, cut_count)
        grouped[start[part] + length[part]] = entries[k]
        length[part] += 1
