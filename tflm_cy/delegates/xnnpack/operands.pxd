"""What the rules of the default delegate ask of a node's tensors; told in operands.pyx."""
from libc.stdint cimport int8_t, int32_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor

cdef enum:
    MOST_DIMS = 6

cdef int need(bint condition, str why) except -1
cdef bint per_tensor(const Tensor* t) noexcept
cdef int is_f32(const Tensor* t) except -1
cdef int is_float(const Tensor* t) except -1
cdef int f32_s8(const Tensor* t) except -1
cdef int q8(const Tensor* t) except -1
cdef int f32_q8(const Tensor* t) except -1
cdef int valid_channels(const Tensor* t, int zero, int low, int high, int axis) except -1
cdef int valid_quantized(const Tensor* t, int low, int high) except -1
cdef int f32_qc8(const Tensor* t, int axis) except -1
cdef int bias_type(const Tensor* t) except -1
cdef int shaped(const Tensor* t, int low, int high) except -1
cdef int constant(const Tensor* t) except -1
cdef int shape_like(const Tensor* t, bint squeeze) except -1
cdef list integers(const Tensor* t)
cdef int ratio(float a, float b, float low, float high, bint closed) except -1
cdef int clips(int activation) except -1
cdef int counted(const Node* n, int low, int high, int out_low, int out_high) except -1


cdef class Operands:
    cdef Subgraph g
    cdef int32_t* quasi              # per tensor: the node that unpacks it if it is quasi-static, else -1
    cdef int8_t* types               # per tensor: its Datatype, once looked at
    cdef uint8_t* unpacked           # per node: it is unpacked once
    cdef uint8_t* elided             # per tensor: the float32 output of an elided DEQUANTIZE of a float16 constant

    cdef const Tensor* x(self, const Node* n, int i) except NULL
    cdef const Tensor* y(self, const Node* n, int i) except NULL
    cdef int static_input(self, const Node* n, int i) except -1
    cdef int datatype_of(self, int t) except -1
    cdef int float_type(self, int t) noexcept
    cdef int agreeing_floats(self, int filter, int bias) except -1
