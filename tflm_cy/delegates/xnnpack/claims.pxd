"""Which nodes the default delegate takes."""
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor
from libc.stdint cimport int64_t


cdef class Claims:
    cdef Subgraph g
    cdef readonly dict quasi         # quasi-static tensor -> the node that unpacks it
    cdef readonly dict elided        # float32 output of an elided DEQUANTIZE -> its float16 constant
    cdef readonly dict handles       # resource tensor -> VAR_HANDLE node
    cdef readonly dict proxies       # resource tensor -> the first value that was taken
    cdef readonly set unpacked       # nodes that are unpacked once
    cdef readonly dict reasons       # node -> why it is left
    cdef dict readers                # tensor -> the nodes that read it; None: nobody has asked

    cdef const Tensor* x(self, const Node* n, int i) except NULL
    cdef const Tensor* y(self, const Node* n, int i) except NULL
    cdef int static_input(self, const Node* n, int i) except -1
    cdef int float_type(self, int t)
    cdef int agreeing_floats(self, int filter, int bias) except -1
    cdef int unary(self, const Node* n, str op) except -1
    cdef int binary(self, const Node* n, str op) except -1
    cdef int pool(self, const Node* n, str op) except -1
    cdef int softmax(self, const Node* n, str op) except -1
    cdef int concatenation(self, const Node* n, str op) except -1
    cdef int split(self, const Node* n, str op) except -1
    cdef int depth_space(self, const Node* n, str op) except -1
    cdef int reduce(self, const Node* n, str op) except -1
    cdef int pad(self, const Node* n, str op) except -1
    cdef int reshape(self, const Node* n, str op) except -1
    cdef int resize_bilinear(self, const Node* n, str op) except -1
    cdef int slice(self, const Node* n, str op) except -1
    cdef int strided_slice(self, const Node* n, str op) except -1
    cdef int transpose(self, const Node* n, str op) except -1
    cdef int fully_connected_filter(self, const Tensor* w) except -1
    cdef int fully_connected(self, const Node* n, str op) except -1
    cdef int convolution(self, const Node* n, str op) except -1
    cdef int backward_geometry(
        self, const Tensor* x, const Tensor* w, int64_t oh, int64_t ow, int64_t sh, int64_t sw, int padding) except -1
    cdef int transpose_conv(self, const Node* n, str op) except -1
    cdef int batch_matmul(self, const Node* n, str op) except -1
    cdef int variable(self, const Node* n, str op) except -1
    cdef int custom(self, const Node* n, str op) except -1
    cdef int composite(self, const Node* n, str op) except -1
    cdef int attention(self, const Node* n) except -1
    cdef int judge(self, const Node* n, str op) except -1
    cdef bint is_unpacking(self, const Node* n, str op)
    cdef list readers_of(self, int tensor)
