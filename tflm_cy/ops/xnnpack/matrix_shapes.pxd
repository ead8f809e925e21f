"""Shapes of XNNPACK's products of matrices: the larger one of two batch dimensions counts, of 0 and 1 the 1. Matrices without a side are
refused, and a batch without matrices where the product has some.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.tensor cimport Tensor, count, shape_of


cdef inline int32_t batch_dimension(int32_t x_dim, int32_t y_dim, const Tensor* x, const Tensor* y) except -1:
    """A batch dimension of the product of x and y."""
    if x_dim != y_dim and x_dim != 1 and y_dim != 1:
        raise ValueError(f"BATCH_MATMUL: batches do not broadcast: shapes {shape_of(x)} and {shape_of(y)}")
    return max(x_dim, y_dim)


cdef inline int check_matrices(const Tensor* x, const Tensor* y, const int32_t* dims, int rank, int64_t depth) except -1:
    """Refuse what XNNPACK cannot set up; `dims` are the product's."""
    cdef bint empty = False
    cdef int d
    if dims[rank - 2] <= 0 or dims[rank - 1] <= 0 or depth <= 0:
        raise ValueError(f"BATCH_MATMUL: empty matrices: shapes {shape_of(x)} and {shape_of(y)}")
    for d in range(rank - 2):
        empty = empty or dims[d] == 0
    if not empty and (count(x) == 0 or count(y) == 0):
        raise ValueError(f"BATCH_MATMUL: a batch without matrices: shapes {shape_of(x)} and {shape_of(y)}")
    return 0
