"""Byte strings in a tensor: count, offsets, characters; told in `strings.pyx`."""
from tflm_cy.graph.allocator cimport Allocator
from tflm_cy.graph.tensor cimport Tensor


cdef int store_strings(Allocator allocator, Tensor* tensor, list items) except -1
cdef list load_strings(const Tensor* tensor)
