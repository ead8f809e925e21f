"""Kernels on float16 values.

    table.halves.widen(NULL, x, y, n)            # the bytes of arithmetic/half.pxd's halves_to_f32
"""
from libc.stdint cimport int64_t

cdef struct HalfKernels:
    void (*widen)(const void* how, const void* x, void* y, int64_t n) noexcept nogil
