from libc.stdint cimport int64_t


cdef int64_t least_distance(const int64_t* lowest, Py_ssize_t count, int64_t output_element,
                            int64_t input_element) noexcept nogil
