"""Which matrix products and convolutions the default delegate takes; told in matrices.pyx."""
from libc.stdint cimport int64_t

from tflm_cy.delegates.xnnpack.operands cimport Operands
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport Tensor


cdef int fully_connected(Operands o, const Node* n) except -1
cdef int convolution(Operands o, const Node* n) except -1
cdef int transpose_conv(Operands o, const Node* n) except -1
cdef int batch_matmul(Operands o, const Node* n) except -1
cdef int backward_geometry(const Tensor* x, const Tensor* w, int64_t oh, int64_t ow, int64_t sh, int64_t sw, int padding) except -1
