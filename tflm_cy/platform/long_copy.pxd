"""memcpy and memmove of what may be long.

    copy_bytes(dst, src, bytes)        # they do not overlap
    move_bytes(dst, src, bytes)        # they may
"""
from libc.stdint cimport int64_t

cdef extern from "long_copy.h":
    void copy_bytes "tflm_cy_copy_bytes"(void* dst, const void* src, int64_t bytes) noexcept nogil
    void move_bytes "tflm_cy_move_bytes"(void* dst, const void* src, int64_t bytes) noexcept nogil
