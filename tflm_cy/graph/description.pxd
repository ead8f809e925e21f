"""What code of a user's is told about nodes and tensors; told in `description.pyx`."""
from libc.stddef cimport size_t

from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor


cdef bint is_viewable(const Tensor* tensor) noexcept
cdef str tensor_name(Subgraph g, int t)
cdef object tensor_info(Subgraph g, int t)
cdef object node_info(Subgraph g, int n)
cdef object array_of(Subgraph g, const Tensor* tensor, bint readonly)
cdef object memory_of(Subgraph g, void* data, size_t bytes, shape, dtype, bint readonly)
cdef object strings_of(Subgraph g, const Tensor* tensor)
cdef int store_value(Subgraph g, Tensor* tensor, value, str what) except -1
