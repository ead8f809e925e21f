"""String tensors as TFLite serializes them: int32 count, count + 1 int32 offsets from the start, the characters.

    if not has_strings(data, bytes, n): ...                  # once, before anything is read
    total = strings_head(n) + lengths ...                    # bytes of the result
    begin_strings(&writer, memory, n)
    append_string(&writer, data, i)                          # n times

Source: LiteRT:tflite/core/string_util.h (its comment on the format).
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy


cdef struct StringWriter:
    char* data
    int32_t next             # index of the string to come
    int32_t end              # offset behind the last one


cdef inline int32_t string_offset(const void* data, int64_t i) noexcept nogil:
    """Where string i starts; where the one before ends."""
    cdef int32_t offset
    memcpy(&offset, <const char*>data + 4 * (i + 1), 4)
    return offset


cdef inline int64_t string_length(const void* data, int64_t i) noexcept nogil:
    return string_offset(data, i + 1) - string_offset(data, i)


cdef inline bint same_string(const void* a, int64_t i, const void* b, int64_t j) noexcept nogil:
    """String i of one tensor is string j of another."""
    cdef int64_t length = string_length(a, i)
    return length == string_length(b, j) and memcmp(<const char*>a + string_offset(a, i), <const char*>b + string_offset(b, j), length) == 0


cdef inline bint has_strings(const void* data, size_t bytes, int64_t n) noexcept nogil:
    """True when the memory holds at least n well-formed strings."""
    cdef int32_t count
    cdef int64_t i, start, end
    if data == NULL or bytes < 8:
        return False
    memcpy(&count, data, 4)
    if count < n or 4 * (<int64_t>count + 2) > <int64_t>bytes:
        return False
    end = string_offset(data, 0)
    if end < 0:
        return False
    for i in range(n):
        start = end
        end = string_offset(data, i + 1)
        if end < start:
            return False
    return end <= <int64_t>bytes


cdef inline int64_t strings_head(int64_t n) noexcept nogil:
    """Bytes before the characters."""
    return 4 * (n + 2)


cdef inline void begin_strings(StringWriter* writer, void* data, int32_t n) noexcept nogil:
    writer.data = <char*>data
    writer.next = 0
    writer.end = 4 * (n + 2)
    memcpy(writer.data, &n, 4)
    memcpy(writer.data + 4, &writer.end, 4)


cdef inline void append_string(StringWriter* writer, const void* source, int64_t i) noexcept nogil:
    """Write string i of another string tensor."""
    cdef int32_t start = string_offset(source, i)
    cdef int32_t length = string_offset(source, i + 1) - start
    memcpy(writer.data + writer.end, <const char*>source + start, length)
    writer.end += length
    writer.next += 1
    memcpy(writer.data + 4 * (writer.next + 1), &writer.end, 4)
