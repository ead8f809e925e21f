"""Ranks, checked again because an input may have been resized since its node was claimed.

XNNPACK's tensors have at most six dimensions. Kernels of images look at four of them, whatever the rank, and so read what is not the tensor's:
here they are refused when they are reached.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.tensor cimport Tensor, shape_of

cdef enum:
    XNNPACK_RANK = 6


cdef inline int check_rank(const Tensor* tensor, str name) except -1:
    if tensor.rank > XNNPACK_RANK:
        raise ValueError(f"{name}: the shape {shape_of(tensor)} has more than {XNNPACK_RANK} dimensions")
    return 0


cdef inline int32_t side_of(const Tensor* tensor, int d) noexcept:
    """A dimension as XNNPACK sees it: behind the last one all are 1."""
    return tensor.dims[d] if d < tensor.rank else 1


cdef inline int want_rank(const Tensor* tensor, int rank, str name) except -1:
    if tensor.rank != rank:
        raise ValueError(f"{name} wants {rank} dimensions, the input has the shape {shape_of(tensor)}")
    return 0


cdef inline int refuse_other_rank(const Tensor* tensor, int rank, str name) except -1:
    """Behind the output's shape."""
    if tensor.rank != rank:
        from tflm_cy.graph.refusal import OwnRefusalError

        raise OwnRefusalError(f"{name} wants {rank} dimensions, the input has the shape {shape_of(tensor)}")
    return 0
