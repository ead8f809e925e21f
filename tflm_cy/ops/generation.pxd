cdef int generation() except -1
