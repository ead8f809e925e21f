# tflm_cy: optimize=speed
"""What the rules of the default delegate ask of a node's tensors: their types, ranks and quantization. A node that is left raises Reject.

Words: *per tensor* is affine quantization with one scale along dimension 0, whose values nobody looks at here; *static* is
constant or quasi-static (the output of a DEQUANTIZE or DENSIFY of a constant, which is unpacked once).

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.delegates.xnnpack.datatype cimport datatype, is_normal, zero_point_0
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT8, INT32, INT64, UINT8, Tensor, count
from tflm_cy.schema.table cimport load_i32, load_i64


class Reject(Exception):
    """A node stays where it is; the text says why."""


cdef int need(bint condition, str why) except -1:
    if not condition:
        raise Reject(why)
    return 0


# -------------------------------------------------------------------- predicates of one tensor

cdef bint per_tensor(const Tensor* t) noexcept:
    return t.quantized_dimension == 0 and t.scale_count == 1


cdef int is_f32(const Tensor* t) except -1:
    return need(t.type == FLOAT32, "float32 is wanted")


cdef int is_float(const Tensor* t) except -1:
    return need(t.type == FLOAT32 or t.type == FLOAT16, "floats are wanted")


cdef int f32_s8(const Tensor* t) except -1:
    return need(t.type == FLOAT32 or (t.type == INT8 and per_tensor(t)), "float32 or per-tensor int8 is wanted")


cdef int q8(const Tensor* t) except -1:
    return need((t.type == INT8 or t.type == UINT8) and per_tensor(t), "per-tensor int8 or uint8 is wanted")


cdef int f32_q8(const Tensor* t) except -1:
    return need(
        t.type == FLOAT32 or ((t.type == INT8 or t.type == UINT8) and per_tensor(t)), "float32 or per-tensor int8 or uint8 is wanted")


cdef int valid_channels(const Tensor* t, int zero, int low, int high, int axis) except -1:
    cdef int i
    need(1 <= t.rank <= MOST_DIMS and 0 <= axis < t.rank and low <= zero <= high, "channelwise parameters")
    for i in range(min(t.dims[axis], t.scale_count)):
        need(is_normal(t.scales[i]) and t.scales[i] > 0, "a channel's scale")
    return 0


cdef int valid_quantized(const Tensor* t, int low, int high) except -1:
    return need(
        t.rank <= MOST_DIMS and low <= zero_point_0(t) <= high and is_normal(t.scale) and t.scale > 0, "quantization parameters")


cdef int f32_qc8(const Tensor* t, int axis) except -1:
    """float32, int8 per tensor or per channel along `axis`, uint8 per tensor; parameters are looked at."""
    if t.type == FLOAT32:
        return 0
    need((t.type == INT8 or t.type == UINT8) and t.scale_count > 0, "type of the filter")
    if t.type == UINT8:
        need(per_tensor(t), "a uint8 filter has one scale")
        return valid_quantized(t, 0, 255)
    if t.scale_count > 1:
        need(t.quantized_dimension == axis, "quantized dimension of the filter")
        return valid_channels(t, zero_point_0(t), -128, 127, axis)
    return valid_quantized(t, -128, 127)


cdef int bias_type(const Tensor* t) except -1:
    """float32, float16, or int32 with affine parameters along dimension 0; zero point 0 when per tensor."""
    if t.type == FLOAT32 or t.type == FLOAT16:
        return 0
    need(t.type == INT32 and t.scale_count > 0 and t.quantized_dimension == 0, "type of the bias")
    if t.scale_count > 1:
        return valid_channels(t, 0, 0, 0, 0)
    return valid_quantized(t, 0, 0)


cdef int shaped(const Tensor* t, int low, int high) except -1:
    """Rank within low .. high, and every dimension positive."""
    cdef int d
    need(low <= t.rank <= high, "rank")
    for d in range(t.rank):
        need(t.dims[d] > 0, "a dimension is not positive")
    return 0


cdef int constant(const Tensor* t) except -1:
    return need(t.allocation == CONSTANT, "a constant is wanted")


cdef int shape_like(const Tensor* t, bint squeeze) except -1:
    """A vector; with `squeeze` also any rank whose leading dimensions are 1, and rank 0."""
    cdef int d
    if t.rank == 1:
        return 0
    need(squeeze, "a vector is wanted")
    for d in range(t.rank - 1):
        need(t.dims[d] == 1, "a vector is wanted")
    return 0


cdef list integers(const Tensor* t):
    """Values of a constant int32 or int64 tensor."""
    cdef const uint8_t* at = <const uint8_t*>t.data
    cdef int64_t i, n = count(t)
    cdef int size = 8 if t.type == INT64 else 4
    if n * size > <int64_t>t.bytes:
        raise Reject("a constant is too short")
    return [load_i64(at + 8 * i) if size == 8 else load_i32(at + 4 * i) for i in range(n)]


cdef int ratio(float a, float b, float low, float high, bint closed) except -1:
    """low <= a / b < high (<= when closed), in float32; NaN passes."""
    cdef float r = a / b
    return need(not (r < low or (r > high if closed else r >= high)), "ratio of the scales")


cdef int clips(int activation) except -1:
    return need(activation != 4 and activation != 5, "a fused TANH or SIGN_BIT")      # what TensorFlow does not know is none


cdef int counted(const Node* n, int low, int high, int out_low, int out_high) except -1:
    return need(low <= n.input_count <= high and out_low <= n.output_count <= out_high, "number of inputs or outputs")


cdef class Operands:
    """Of the nodes of one subgraph."""

    def __cinit__(self, Subgraph graph):
        cdef Py_ssize_t n = graph.graph.tensor_count
        self.g = graph
        self.quasi = <int32_t*>PyMem_RawCalloc(6 * n + graph.graph.node_count + 1, 1)
        if self.quasi == NULL:
            raise MemoryError()
        self.types = <int8_t*>(self.quasi + n)
        self.elided = <uint8_t*>(self.types + n)
        self.unpacked = self.elided + n
        memset(self.quasi, -1, 5 * n)

    def __dealloc__(self):
        PyMem_RawFree(self.quasi)

    cdef const Tensor* x(self, const Node* n, int i) except NULL:
        """Input i, which must exist."""
        if i >= n.input_count or n.inputs[i] < 0:
            raise Reject(f"input {i} is missing")
        return &self.g.tensors[n.inputs[i]]

    cdef const Tensor* y(self, const Node* n, int i) except NULL:
        if i >= n.output_count or n.outputs[i] < 0:
            raise Reject(f"output {i} is missing")
        return &self.g.tensors[n.outputs[i]]

    cdef int static_input(self, const Node* n, int i) except -1:
        cdef const Tensor* t = self.x(n, i)
        return 0 if self.quasi[t.index] >= 0 else constant(t)

    cdef int datatype_of(self, int t) except -1:
        """As `datatype`, of which it keeps the answer."""
        if self.types[t] < 0:
            self.types[t] = datatype(self.g, &self.g.tensors[t])
        return self.types[t]

    cdef int float_type(self, int t) noexcept:
        """The type that a tensor has for XNNPACK: FLOAT16 behind an elided DEQUANTIZE."""
        return FLOAT16 if t >= 0 and self.elided[t] else self.g.tensors[t].type

    cdef int agreeing_floats(self, int filter, int bias) except -1:
        cdef int type = self.float_type(filter)
        return need((type != FLOAT16 and type != FLOAT32) or self.float_type(bias) == type, "float types of filter and bias differ")
