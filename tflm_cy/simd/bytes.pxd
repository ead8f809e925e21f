"""Kernels on single bytes: tables of 256 entries.

    table.bytes.lookup(table, x, y, n)           # y[i] = table[x[i]]; as arithmetic/lookup.pxd's lookup_8
"""
from libc.stdint cimport int64_t

ctypedef void (*ByteKernel)(const void* how, const void* x, void* y, int64_t n) noexcept nogil

cdef struct ByteKernels:
    ByteKernel lookup
