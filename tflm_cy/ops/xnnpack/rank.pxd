"""Ranks, as XNNPACK sees them; told in `rank.pyx`."""
from libc.stdint cimport int32_t

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor

cdef enum:
    XNNPACK_RANK = 6


cdef int check_rank(const Tensor* tensor, str name) except -1
cdef int read_sides(Context context, const Tensor* image, int32_t* sides, bint converted=*) except -1
cdef int shape_of_windows(Context context, const Tensor* x, Tensor* y, const ConvShape* g, bint product) except -1
cdef Tensor as_transposed(Context context, const Node* node, const Tensor* x, bint transposed) except *
cdef int want_rank(const Tensor* tensor, int rank, str name) except -1
cdef int refuse_other_rank(const Tensor* tensor, int rank, str name) except -1
