"""XNNPACK's tensors have at most six dimensions: checked again, because an input may have been resized since its node was claimed."""
from tflm_cy.graph.tensor cimport Tensor, shape_of

cdef enum:
    XNNPACK_RANK = 6


cdef inline int check_rank(const Tensor* tensor, str name) except -1:
    if tensor.rank > XNNPACK_RANK:
        raise ValueError(f"{name}: the shape {shape_of(tensor)} has more than {XNNPACK_RANK} dimensions")
    return 0
