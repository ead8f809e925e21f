"""The branch and bound of `optimal` and `overlap`; its rules are told in `branch_and_bound.pyx`."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from tflm_cy.memory.problem cimport Problem


cdef enum:
    LARGEST = 1 << 30   # units, so that sums stay within int32


cdef enum Verdict:
    NONE        # no packing of that height exists
    FOUND
    SPENT       # the budget ended first


cdef struct Entry:      # an unplaced buffer
    int32_t low         # the lowest offset that the placed ones leave it
    int32_t size
    int32_t begin       # alive in the sections [begin, end)
    int32_t end
    int32_t rank
    int32_t item


cdef struct Link:       # a pair that may overlap in part, or shares no section but must be kept apart
    int32_t item        # the other buffer
    int32_t out         # least offset(other) - offset(this) if the other one lies above
    int32_t back        # least offset(this) - offset(other) if this one lies above


cdef class Packing:
    cdef readonly int64_t unit          # bytes per unit of every int32 here
    cdef readonly Py_ssize_t count      # buffers with bytes
    cdef readonly int64_t nodes         # search nodes so far
    cdef bint exact                     # every relaxed row of the problem is represented
    cdef Problem problem
    cdef Py_ssize_t* buffer_of          # item -> index in the problem
    cdef Entry* root
    cdef int32_t* fixed                 # an offset, or -1
    cdef uint64_t* identity             # equal for interchangeable buffers
    cdef double* life
    cdef int32_t* begin_of
    cdef int32_t* end_of
    cdef Py_ssize_t* link_start
    cdef Link* links
    cdef int32_t* offset                # of the last packing that was tried
    cdef int32_t sections
    cdef int32_t* reach                 # per section, for the bound
    cdef int64_t* load                  # per section, for the ranks
    cdef int32_t* cover                 # per border behind a section: unplaced buffers and links across it
    cdef int32_t* pushed                # per item, while one is placed
    cdef int32_t* position              # per item, while ranks are given
    cdef char* placed
    cdef uint64_t* table
    cdef uint64_t table_mask
    cdef char* heap
    cdef char* top
    cdef char* heap_end
    cdef int32_t capacity
    cdef int64_t budget_end
    cdef double deadline
    cdef int order
    cdef void* _memory

    cdef int attempt(self, int64_t height, int order, int64_t budget) noexcept nogil
    cdef int64_t bound(self) noexcept nogil

    cdef int solve(self, const Entry* entries, int32_t count, int32_t floor_low, int32_t floor_rank) noexcept nogil
    cdef bint tried_before(self, const Entry* entries, const int32_t* candidates, int32_t j) noexcept nogil
    cdef int place(self, const Entry* entries, int32_t count, int32_t k) noexcept nogil
    cdef bint raise_others(self, const Entry* entries, int32_t count, int32_t k, Entry* kept, Entry* raised) noexcept nogil
    cdef int solve_others(self, const Entry* chosen, const Entry* others, int32_t count) noexcept nogil
    cdef int parts(self, const Entry* entries, int32_t count, const int32_t* cuts, int32_t cut_count, bint fresh,
                   int32_t floor_low, int32_t floor_rank) noexcept nogil
    cdef int solve_parts(self, Entry* grouped, const int32_t* start, const int32_t* length, const int32_t* order, int32_t part_count) noexcept nogil
    cdef int parts_of_root(self) noexcept nogil
    cdef bint fits(self, const Entry* entries, int32_t count, int32_t floor_low, int32_t floor_rank) noexcept nogil
    cdef int32_t push(self, const Entry* entries, int32_t count, int32_t k, int32_t floor_low) noexcept nogil
    cdef void cover_by(self, const Entry* entry, int32_t change) noexcept nogil
    cdef bint rank(self, Entry* entries, int32_t count) noexcept nogil
    cdef int32_t rank_one(self, Entry* entries, int32_t k, int32_t next_rank) noexcept nogil
    cdef bint known(self, uint64_t key) noexcept nogil
    cdef void learn(self, uint64_t key) noexcept nogil
    cdef void* take(self, size_t size) noexcept nogil


cdef double seconds_now() noexcept nogil
cdef bint late(Packing packing) noexcept nogil
