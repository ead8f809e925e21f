cdef int generation() except -1
cdef bint has_dotprod() except -1        # on aarch64: products of bytes, four at once
