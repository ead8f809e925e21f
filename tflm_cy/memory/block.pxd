cdef class Block:
    cdef char* data                 # the first usable byte, on the asked alignment
    cdef readonly size_t size       # usable bytes
    cdef readonly Py_ssize_t exports
    cdef void* _memory              # what is freed, NULL over a caller's buffer
    cdef Py_buffer _view            # the caller's buffer
    cdef bint _pinned
    cdef size_t _mapped             # bytes of a mapping of its own, else 0


cdef Block new_block(size_t size, size_t alignment)
cdef Block new_mapped_block(size_t size, size_t alignment)
cdef Block block_over(object buffer)
cdef void prefer_huge_pages(char* start, char* end) noexcept
cdef void end_huge_pages(char* start, char* used, char* end) noexcept
cdef void give_back(char* start, char* end) noexcept nogil
