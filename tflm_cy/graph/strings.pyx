# tflm_cy: optimize=speed
"""Byte strings in a tensor, as TensorFlow Lite stores them: int32 count, count + 1 int32 offsets, the characters."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.graph.tensor cimport count

cdef enum:
    MOST_STRINGS = 1 << 27   # in one tensor


cdef int store_strings(Allocator allocator, Tensor* tensor, list items) except -1:
    """Store byte strings in a string tensor, in memory of its own."""
    cdef bytes body = b"".join(items)
    cdef int length = len(items)
    cdef int64_t total = 4 * (<int64_t>length + 2) + len(body)
    cdef int32_t* head
    cdef int i
    if total > 0x7FFFFFFF:
        raise ValueError("a string tensor holds at most 2 GiB")
    head = <int32_t*>allocator.own(tensor.index, total)
    if head == NULL:
        raise MemoryError(f"no memory for {total} bytes of strings")
    tensor.data = head
    head[0] = length
    head[1] = 4 * (length + 2)
    for i in range(length):
        head[i + 2] = head[i + 1] + <int32_t>len(items[i])
    memcpy(<char*>head + head[1], <const char*>body, len(body))
    tensor.bytes = total
    return 0


cdef list load_strings(const Tensor* tensor):
    """The byte strings of a string tensor; empty ones as long as it was never set."""
    cdef const char* start = <const char*>tensor.data
    cdef int32_t[2] edges
    cdef int32_t stored = 0
    cdef int i
    cdef list items = []
    if count(tensor) > MOST_STRINGS:
        raise MemoryError(f"no memory for {count(tensor)} strings")
    if start == NULL:
        return [b""] * count(tensor)
    if tensor.bytes >= 8:
        memcpy(&stored, start, 4)
    if tensor.bytes < 8 or stored < 0 or 4 * (<size_t>stored + 2) > tensor.bytes:
        raise ValueError(f"tensor {tensor.index} holds no strings")
    for i in range(stored):
        memcpy(edges, start + 4 * (i + 1), 8)
        if edges[0] < 0 or edges[1] < edges[0] or <size_t>edges[1] > tensor.bytes:
            raise ValueError(f"tensor {tensor.index} holds no strings")
        items.append(start[edges[0]:edges[1]])
    return items
