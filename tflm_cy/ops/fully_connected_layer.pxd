"""What the kernels of FULLY_CONNECTED share: how large the product is, as prepare found it."""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.shapes cimport ConvShape, matrix_shape


cdef struct Matrix:
    ptrdiff_t batches            # rows of values
    ptrdiff_t rows               # of weights, outputs
    ptrdiff_t depth


cdef inline ConvShape shape_of_product(const Matrix* m) noexcept nogil:
    return matrix_shape(m.batches, m.depth, m.rows)
