"""Sparse constants made dense, for operators that take them as weights; told in `densify.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int64_t

from tflm_cy.graph.tensor cimport Tensor


cdef int densify(const Tensor* x, char* dense, size_t bytes) except -1
cdef int64_t sparse_block(const Tensor* x) except -1     # columns of a block of a sparse matrix, 1: single values
