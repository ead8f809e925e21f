"""The pool of threads: one per process, shared by all interpreters; told in pool.pyx.

    if engage(2, True):                                  # else: another thread has the pool, compute alone
        share(&job)                                      # returns when all of its parts are done
        ...
        nanoseconds = release()

    cdef void compute_part(void* argument, int part, int parts, int thread) noexcept nogil:
        ...                                              # thread: 0 for the caller, below `count_workers(2)` for the others
"""

from libc.stdint cimport int32_t, int64_t

ctypedef void (*Part)(void* argument, int part, int parts, int thread) noexcept nogil

cdef enum:
    MOST_THREADS = 64              # that compute a job, the caller's included
    MOST_PARTS = 4096

cdef struct Job:
    Part part
    void* argument
    int32_t parts
    const Job* next              # shared directly behind it, in the same engagement, with nothing done in between that its parts could tell; or NULL

cdef int count_workers(int threads) noexcept nogil                       # how many can take part when so many are asked for
cdef bint engage(int threads, bint wake) noexcept nogil             # False: busy, or asleep and not worth waking
cdef int64_t release() noexcept nogil                            # since engage; -1: not to be judged by, as threads had to be woken
cdef void share(const Job* job) noexcept nogil
cdef bint workers_sleep() noexcept nogil                         # all of them
