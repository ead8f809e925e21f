"""The one check of a model file; see verifier.pyx."""
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

cdef object verify(const uint8_t* base, size_t size)
