"""Which nodes the default delegate takes."""
cimport cython

from tflm_cy.delegates.xnnpack.operands cimport Operands
from tflm_cy.graph.context cimport Node


@cython.final
cdef class Support(Operands):
    cdef readonly dict handles       # resource tensor -> VAR_HANDLE node
    cdef readonly dict proxies       # resource tensor -> the first value that was taken
    cdef readonly dict reasons       # node -> why it is left
    cdef dict readers                # tensor -> the nodes that read it; None: nobody has asked

    cdef int unary(self, const Node* n) except -1
    cdef int binary(self, const Node* n) except -1
    cdef int pool(self, const Node* n) except -1
    cdef int softmax(self, const Node* n) except -1
    cdef int concatenation(self, const Node* n) except -1
    cdef int split(self, const Node* n) except -1
    cdef int depth_space(self, const Node* n) except -1
    cdef int reduce(self, const Node* n) except -1
    cdef int pad(self, const Node* n) except -1
    cdef int reshape(self, const Node* n) except -1
    cdef int resize_bilinear(self, const Node* n) except -1
    cdef int slice(self, const Node* n) except -1
    cdef int strided_slice(self, const Node* n) except -1
    cdef int transpose(self, const Node* n) except -1
    cdef int variable(self, const Node* n) except -1
    cdef int custom(self, const Node* n) except -1
    cdef int composite(self, const Node* n) except -1
    cdef int attention(self, const Node* n) except -1
    cdef int judge(self, const Node* n) except -1
    cdef bint is_unpacking(self, const Node* n) except -1
    cdef bint is_matrix_weight(self, int tensor) except -1
    cdef list readers_of(self, int tensor)
