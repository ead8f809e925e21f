"""Ranks, checked again because an input may have been resized since its node was claimed.

XNNPACK's tensors have at most six dimensions. Kernels of images look at four of them, whatever the rank: behind the last one is what was there
when the tensor had more. Their outputs have shapes of these; the node itself is refused when it is reached.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Context
from tflm_cy.graph.passes.partition cimport partition_in_preparation
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor, shape_of

cdef enum:
    XNNPACK_RANK = 6


cdef inline int check_rank(const Tensor* tensor, str name) except -1:
    if tensor.rank > XNNPACK_RANK:
        raise ValueError(f"{name}: the shape {shape_of(tensor)} has more than {XNNPACK_RANK} dimensions")
    return 0


cdef inline int read_sides(Context context, const Tensor* image, int32_t* sides) except -1:
    """The four dimensions that XNNPACK sees; 0 where there were never more."""
    cdef dict seen = partition_in_preparation(<Subgraph>context).sides
    cdef list before = seen.get(image.index)
    cdef int d
    for d in range(4):
        sides[d] = image.dims[d] if d < image.rank else 0 if before is None else before[d]
    seen[image.index] = [sides[0], sides[1], sides[2], sides[3]]
    return 0


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
