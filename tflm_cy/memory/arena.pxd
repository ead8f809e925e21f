"""The interface of every arena; its rules are told in `arena.pyx`."""
from libc.stdint cimport uintptr_t


cdef enum Kind:
    KIND_SUBGRAPH
    KIND_TENSOR
    KIND_NODE
    KIND_OP_DATA
    KIND_PERSISTENT_BUFFER
    KIND_VARIABLE
    KIND_PACKED_WEIGHTS
    KIND_QUANTIZATION
    KIND_OTHER
    KIND_COUNT


cdef class Arena:
    cdef readonly size_t alignment      # of the head's start; a power of two
    cdef readonly size_t slack          # bytes behind the head and each tail object that may be read
    cdef size_t temp_count              # temporaries that are not released yet
    cdef uintptr_t temp_addresses       # their addresses, combined by exclusive or

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL
    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL
    cdef int release_temp(self, void* address) except -1
    cpdef int reset_temp(self) except -1
    cdef void* set_head(self, size_t size) except NULL
    cpdef size_t mark(self) except? 0
    cpdef int rewind(self, size_t mark) except -1

    cdef char* head_start(self) noexcept
    cdef size_t head_bytes(self) noexcept
    cdef size_t tail_bytes(self) noexcept
    cdef size_t temp_bytes(self) noexcept
    cdef object head_owner(self)

    # for implementations: the ledger of temporaries
    cdef int note_temp(self, void* address) noexcept
    cdef int forget_temp(self, void* address) except -1
    cdef int expect_no_temp(self, str what) except -1

    cdef void* allocate_unfilled(self, size_t size, size_t alignment, int kind) except NULL


cdef int check_alignment(size_t alignment) except -1
