"""The walk over a flatbuffer that nobody has looked at yet; see structure.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef struct Place:
    int layout               # the table
    int slot                 # its field; -1: the table itself
    int64_t index            # element of the field when that is a vector of tables, else -1


@cython.final
cdef class Structure:
    cdef const uint8_t* base
    cdef uint64_t size
    cdef uint64_t tables_left    # how many more tables may be visited
    cdef uint64_t bytes_left     # how many more bytes may be referred to
    cdef int depth
    cdef Place path[16]

    cdef int walk(self) except -1
    cdef int spend(self, uint64_t at, uint64_t count) except -1
    cdef uint64_t follow(self, uint64_t at) except 0
    cdef int table(self, uint64_t at, int layout) except -1
    cdef int field(self, uint64_t at, int kind, int child) except -1
    cdef int64_t vector(self, uint64_t start, int width, str what) except -1
    cdef int union_value(self, uint64_t vtable, uint64_t at, uint64_t offset, int slot, int union) except -1
    cdef int fail(self, uint64_t at, str reason) except -1
