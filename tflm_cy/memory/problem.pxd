"""The planning problem and its answer, as C arrays of int64; their meaning is told in `problem.pyx`."""
from libc.stdint cimport int64_t


cdef enum:
    ONLINE = -1         # fixed_of: the planner chooses the offset
    ORDER_KEYS = 4      # order_of: tensor index, producing node, node of a temporary, arena


cdef class Problem:
    cdef readonly Py_ssize_t count
    cdef readonly int64_t alignment
    cdef int64_t* size_of           # bytes, not rounded
    cdef int64_t* first_of          # alive from first_of[i] to last_of[i], both inclusive
    cdef int64_t* last_of
    cdef int64_t* fixed_of          # an offset, or ONLINE
    cdef int64_t* order_of          # count rows of ORDER_KEYS, or NULL
    cdef int64_t* relaxed_of        # relaxed_count rows: output, input, least offset(input) - offset(output)
    cdef Py_ssize_t relaxed_count
    cdef void* _memory
    cdef void* _relaxed_memory

    cdef int validate(self) except -1
    cdef int64_t rounded(self, Py_ssize_t i) noexcept nogil
    cdef int64_t load(self) except -1


cdef class Plan:
    cdef readonly Py_ssize_t count
    cdef int64_t* offset_of
    cdef readonly int64_t high_water_mark
    cdef int64_t lower_bound        # -1: not computed yet
    cdef Problem problem            # None for a plan that was given


cdef Problem new_problem(Py_ssize_t count, int64_t alignment, bint ordered=*)
cdef Problem problem_from_arrays(Py_ssize_t count, const int64_t* sizes, const int64_t* first_use,
                                 const int64_t* last_use, const int64_t* fixed_offsets, int64_t alignment)
cdef int set_relaxed(Problem problem, Py_ssize_t count, const int64_t* rows) except -1
cdef Plan new_plan(Problem problem)
