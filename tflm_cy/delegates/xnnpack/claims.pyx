"""Which nodes TensorFlow's default delegate takes.

    claims = Claims(subgraph)
    claims.run()              # node indices, ascending
    claims.reasons            # node -> why it was not taken

The delegate looks at a subgraph once, before any operator has been prepared: every shape is the file's (or given by a
resize of an input before the first allocation), never a computed one. Nodes are judged one by one in plan order; what
passes from one to the next are quasi-static tensors (outputs of DEQUANTIZE and DENSIFY of constants, which are unpacked
once) and resource variables.

Words: *per tensor* is affine quantization with one scale along dimension 0, whose values nobody looks at here; *static* is
constant or quasi-static. Adding an operator: a rule here, its kernel in `ops/xnnpack` and `arithmetic/xnnpack`.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.math cimport fabsf
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.delegates.xnnpack.datatype cimport (
    NO_DATATYPE, block_size, datatype, has_blockwise, is_normal, same_parameters, zero_point_0,
)
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport (
    CONSTANT, FLOAT16, FLOAT32, INT2, INT4, INT8, INT32, INT64, UINT8, Tensor, count,
)
from tflm_cy.schema.table cimport load_i32, load_i64, table_bool, table_f32, table_i8, table_i32, table_vector

cdef enum:
    MOST_DIMS = 6

cdef enum:                       # slots of the options that the rules read
    ACTIVATION_OF_BINARY = 0     # AddOptions, SubOptions, MulOptions, DivOptions
    LEAKY_ALPHA = 0
    POOL_PADDING = 0
    POOL_STRIDE_W = 1
    POOL_STRIDE_H = 2
    POOL_FILTER_W = 3
    POOL_FILTER_H = 4
    POOL_ACTIVATION = 5
    SOFTMAX_BETA = 0
    SPLIT_COUNT = 0
    BLOCK_SIZE = 0
    SLICE_BEGIN_MASK = 0
    SLICE_END_MASK = 1
    SLICE_ELLIPSIS_MASK = 2
    SLICE_NEW_AXIS_MASK = 3
    SLICE_SHRINK_AXIS_MASK = 4
    FC_ACTIVATION = 0
    FC_WEIGHTS_FORMAT = 1
    CONV_PADDING = 0
    CONV_STRIDE_W = 1
    CONV_STRIDE_H = 2
    CONV_ACTIVATION = 3
    CONV_DILATION_W = 4
    CONV_DILATION_H = 5
    DEPTHWISE_MULTIPLIER = 3
    DEPTHWISE_ACTIVATION = 4
    DEPTHWISE_DILATION_W = 5
    DEPTHWISE_DILATION_H = 6
    TRANSPOSE_CONV_ACTIVATION = 3
    MATMUL_ADJ_Y = 1
    COMPOSITE_NAME = 0

MATRIX_OPERATORS = ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D")


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


cdef class Claims:
    """One look at one subgraph."""

    def __init__(self, Subgraph graph):
        self.g = graph
        self.quasi = {}
        self.elided = {}
        self.handles = {}
        self.proxies = {}
        self.unpacked = set()
        self.reasons = {}

    # ---------------------------------------------------------------- tensors of a node

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
        if n.inputs[i] not in self.quasi:
            constant(self.x(n, i))
        return 0

    cdef int float_type(self, int t):
        """The type that a tensor has for XNNPACK: FLOAT16 behind an elided DEQUANTIZE."""
        return FLOAT16 if t in self.elided else self.g.tensors[t].type

    cdef int agreeing_floats(self, int filter, int bias) except -1:
        cdef int type = self.float_type(filter)
        return need((type != FLOAT16 and type != FLOAT32) or self.float_type(bias) == type, "float types of filter and bias differ")

    # ---------------------------------------------------------------- element-wise

    cdef int unary(self, const Node* n, str op) except -1:
        cdef const Tensor* x
        cdef const Tensor* y
        cdef float alpha, p, negative
        counted(n, 1, 1, 1, 1)
        x = self.x(n, 0)
        y = self.y(n, 0)
        shaped(x, 0, MOST_DIMS)
        if op == "DEQUANTIZE":
            q8(x)
            is_f32(y)
        elif op == "ELU":
            f32_s8(x)
            f32_s8(y)
        elif op == "LOGISTIC" or op == "TANH":
            f32_q8(x)
            f32_q8(y)
        elif op == "LEAKY_RELU":
            f32_q8(x)
            f32_q8(y)
            alpha = table_f32(n.options, LEAKY_ALPHA, 0)
            need(is_normal(alpha), "alpha")
            if x.type != FLOAT32 and y.type != FLOAT32 and is_normal(x.scale) and is_normal(y.scale):
                p = x.scale / y.scale
                ratio(x.scale, y.scale, <float>(1.0 / 256), 128, True)
                negative = p * alpha
                need(<float>-127.99609375 <= negative <= 128 and fabsf(negative) >= <float>(1.0 / 256), "scale of the negative slope")
        elif op == "QUANTIZE":
            f32_q8(x)
            q8(y)
            if x.type != FLOAT32:
                need(x.type == y.type and datatype(self.g, x) != NO_DATATYPE and datatype(self.g, y) != NO_DATATYPE,
                     "requantization between types")
                ratio(x.scale, y.scale, <float>(1.0 / 256), 128, True)
        else:
            is_float(x)
            is_float(y)
        return 0

    cdef int binary(self, const Node* n, str op) except -1:
        cdef const Tensor* a
        cdef const Tensor* b
        cdef const Tensor* y
        counted(n, 2, 2, 1, 1)
        a = self.x(n, 0)
        b = self.x(n, 1)
        y = self.y(n, 0)
        shaped(a, 0, MOST_DIMS)
        shaped(b, 0, MOST_DIMS)
        if op == "ADD" or op == "SUB" or op == "MUL":
            f32_q8(a)
            f32_q8(b)
            f32_q8(y)
            need(a.type == b.type and b.type == y.type, "mixed types")
            if a.type != FLOAT32 and op == "MUL":
                ratio(a.scale * b.scale, y.scale, <float>(1.0 / 65536), 256, False)
            elif a.type != FLOAT32:
                ratio(a.scale, y.scale, <float>(1.0 / 1024), 256, False)
                ratio(b.scale, y.scale, <float>(1.0 / 1024), 256, False)
            return clips(table_i8(n.options, ACTIVATION_OF_BINARY, 0))
        is_f32(a)
        is_f32(b)
        is_f32(y)
        if op == "DIV":
            clips(table_i8(n.options, ACTIVATION_OF_BINARY, 0))
        if op == "PRELU":
            self.static_input(n, 1)
        return 0

    # ---------------------------------------------------------------- windows, shapes and movement

    cdef int pool(self, const Node* n, str op) except -1:
        cdef const Tensor* x
        cdef const Tensor* y
        cdef int sw = table_i32(n.options, POOL_STRIDE_W, 0)
        cdef int sh = table_i32(n.options, POOL_STRIDE_H, 0)
        cdef int fw = table_i32(n.options, POOL_FILTER_W, 0)
        cdef int fh = table_i32(n.options, POOL_FILTER_H, 0)
        counted(n, 1, 1, 1, 1)
        x = self.x(n, 0)
        y = self.y(n, 0)
        if op == "AVERAGE_POOL_2D":
            is_f32(x)
            is_f32(y)
        else:
            f32_q8(x)
            f32_q8(y)
        need(min(sw, sh, fw, fh) > 0 and sw <= fw and sh <= fh, "window")
        need(not (fw == 1 and fh == 1 and max(sw, sh) > 1), "window of one element with a stride")
        need(0 <= table_i8(n.options, POOL_PADDING, 0) <= 1, "padding")
        return clips(table_i8(n.options, POOL_ACTIVATION, 0))

    cdef int softmax(self, const Node* n, str op) except -1:
        need(table_f32(n.options, SOFTMAX_BETA, 0) == 1, "beta")
        counted(n, 1, 1, 1, 1)
        is_f32(self.x(n, 0))
        return is_f32(self.y(n, 0))

    cdef int concatenation(self, const Node* n, str op) except -1:
        cdef const Tensor* y
        cdef int i
        counted(n, 2, 5, 1, 1)
        y = self.y(n, 0)
        f32_q8(y)
        for i in range(n.input_count):
            if y.type == UINT8:
                need(same_parameters(self.x(n, i), y), "uint8 with other parameters")
        for i in range(n.input_count):
            f32_q8(self.x(n, i))
        return 0

    cdef int split(self, const Node* n, str op) except -1:
        cdef const Tensor* axis
        cdef int i
        need(table_i32(n.options, SPLIT_COUNT, 0) == n.output_count, "num_splits")
        counted(n, 2, 2, 2, 4)
        axis = self.x(n, 0)
        need(axis.type == INT32, "type of the axis")
        constant(axis)
        f32_q8(self.x(n, 1))
        for i in range(n.output_count):
            f32_q8(self.y(n, i))
        return 0

    cdef int depth_space(self, const Node* n, str op) except -1:
        cdef const Tensor* x
        cdef int block = table_i32(n.options, BLOCK_SIZE, 0)
        counted(n, 1, 1, 1, 1)
        x = self.x(n, 0)
        f32_q8(x)
        f32_q8(self.y(n, 0))
        need(block > 1, "block size")
        if op == "SPACE_TO_DEPTH":
            need(x.rank >= 3 and x.dims[1] % block == 0 and x.dims[2] % block == 0, "height and width are no multiples of the block")
        return 0

    cdef int reduce(self, const Node* n, str op) except -1:
        cdef const Tensor* axes
        counted(n, 2, 2, 1, 1)
        axes = self.x(n, 1)
        f32_q8(self.x(n, 0))
        need(axes.type == INT32 and axes.rank <= 1, "axes")
        constant(axes)
        need(count(axes) > 0, "no axes")
        return f32_q8(self.y(n, 0))

    cdef int pad(self, const Node* n, str op) except -1:
        cdef const Tensor* x
        cdef const Tensor* p
        counted(n, 2, 2, 1, 1)
        x = self.x(n, 0)
        p = self.x(n, 1)
        f32_q8(x)
        shaped(x, 1, MOST_DIMS)
        need(p.type == INT32 and p.rank == 2 and p.dims[0] == x.rank and p.dims[1] == 2, "paddings")
        constant(p)
        f32_q8(self.y(n, 0))
        shaped(self.y(n, 0), 1, MOST_DIMS)
        return need(min(integers(p)) >= 0, "negative padding")

    cdef int reshape(self, const Node* n, str op) except -1:
        cdef const Tensor* x
        cdef const Tensor* y
        cdef const Tensor* s
        counted(n, 1, 2, 1, 1)
        x = self.x(n, 0)
        y = self.y(n, 0)
        f32_q8(x)
        shaped(x, 0, MOST_DIMS)
        f32_q8(y)
        shaped(y, 0, MOST_DIMS)
        if y.type != FLOAT32:
            need(same_parameters(x, y), "parameters differ")
        if n.input_count == 2:
            s = self.x(n, 1)
            need(s.type == INT32, "type of the shape")
            shape_like(s, True)
            constant(s)
        return 0

    cdef int resize_bilinear(self, const Node* n, str op) except -1:
        cdef const Tensor* s
        counted(n, 2, 2, 1, 1)
        s = self.x(n, 1)
        f32_q8(self.x(n, 0))
        shaped(self.x(n, 0), 4, 4)
        need(s.type == INT32, "type of the size")
        shape_like(s, False)
        constant(s)
        f32_q8(self.y(n, 0))
        shaped(self.y(n, 0), 4, 4)
        sizes = integers(s)
        return need(len(sizes) > 0 and sizes[0] > 0, "height")       # only the first one is looked at

    cdef int slice(self, const Node* n, str op) except -1:
        cdef const Tensor* begin = self.x(n, 1)
        cdef const Tensor* size = self.x(n, 2)
        shape_like(begin, False)
        constant(begin)
        need(begin.type == INT32 or begin.type == INT64, "type of the index")
        shape_like(size, False)
        constant(size)
        need(size.type == INT32 or size.type == INT64, "type of the index")
        need(begin.dims[0] == size.dims[0], "begin and size")
        f32_q8(self.x(n, 0))
        f32_q8(self.y(n, 0))
        return need(min(integers(size), default=1) > 0, "a size is not positive")

    cdef int strided_slice(self, const Node* n, str op) except -1:
        cdef const Tensor* t
        cdef int i
        need(not (table_i32(n.options, SLICE_ELLIPSIS_MASK, 0) or table_i32(n.options, SLICE_NEW_AXIS_MASK, 0)
                  or table_i32(n.options, SLICE_SHRINK_AXIS_MASK, 0)), "masks")
        counted(n, 4, 4, 1, 1)
        for i in (3, 1, 2):
            t = self.x(n, i)
            shape_like(t, False)
            constant(t)
            need(t.type == INT32 and t.dims[0] == self.x(n, 0).rank, "index tensor")
        need(all([s == 1 for s in integers(self.x(n, 3))]), "stride")
        f32_q8(self.x(n, 0))
        return f32_q8(self.y(n, 0))

    cdef int transpose(self, const Node* n, str op) except -1:
        counted(n, 2, 2, 1, 1)
        f32_q8(self.x(n, 0))
        shaped(self.x(n, 0), 1, MOST_DIMS)
        return constant(self.x(n, 1))                  # neither the output nor the type of perm is looked at

    # ---------------------------------------------------------------- matrices and convolutions

    cdef int fully_connected_filter(self, const Tensor* w) except -1:
        if w.type == FLOAT32 or w.type == FLOAT16:
            return 0
        if w.type == UINT8:
            return need(per_tensor(w), "a uint8 filter has one scale")
        need(w.type == INT8 or w.type == INT4 or w.type == INT2, "type of the filter")
        if has_blockwise(self.g, w):
            need(block_size(self.g, w) % 32 == 0, "block size")
        elif w.scale_count > 0:
            need(w.scale_count == 1 or w.quantized_dimension == 0, "quantized dimension of the filter")
            need(w.type == INT8 or (0 <= w.quantized_dimension < w.rank and w.scale_count == w.dims[w.quantized_dimension]),
                 "4-bit and 2-bit filters have one scale per row")
        return 0                                       # without any quantization: taken, and refused when it is created

    cdef int fully_connected(self, const Node* n, str op) except -1:
        cdef const Tensor* x
        cdef const Tensor* w
        cdef const Tensor* b
        cdef const Tensor* y
        need(n.version != 8, "version 8 (sparse)")
        need(table_i8(n.options, FC_WEIGHTS_FORMAT, 0) == 0, "shuffled weights")
        counted(n, 2, 3, 1, 1)
        x = self.x(n, 0)
        w = self.x(n, 1)
        y = self.y(n, 0)
        f32_q8(x)
        shaped(w, 2, 2)
        self.fully_connected_filter(w)
        self.static_input(n, 1)
        if n.input_count == 3 and n.inputs[2] >= 0:
            b = self.x(n, 2)
            need(count(b) == w.dims[0], "size of the bias")
            bias_type(b)
            self.static_input(n, 2)
            self.agreeing_floats(n.inputs[1], n.inputs[2])
        f32_q8(y)
        need(x.type == y.type, "mixed types")
        need(x.type == w.type or ((x.type == FLOAT32 or x.type == INT8) and (w.type == INT8 or w.type == INT4 or w.type == INT2)),
             "mixed types")
        need(not (w.type == INT4 and w.dims[1] % 2 != 0) and not (w.type == INT2 and w.dims[1] % 4 != 0), "columns of packed weights")
        return clips(table_i8(n.options, FC_ACTIVATION, 0))

    cdef int convolution(self, const Node* n, str op) except -1:
        cdef bint depthwise = op == "DEPTHWISE_CONV_2D"
        cdef const Tensor* x
        cdef const Tensor* w
        cdef const Tensor* b
        cdef const Tensor* y
        cdef int multiplier
        counted(n, 3, 3, 1, 1)
        x = self.x(n, 0)
        w = self.x(n, 1)
        y = self.y(n, 0)
        f32_q8(x)
        shaped(x, 4, 4)
        f32_qc8(w, 3 if depthwise else 0)
        shaped(w, 4, 4)
        self.static_input(n, 1)
        need(n.inputs[2] >= 0, "there is no bias")
        b = self.x(n, 2)
        bias_type(b)
        shaped(b, 1, 1)
        self.static_input(n, 2)
        self.agreeing_floats(n.inputs[1], n.inputs[2])
        f32_q8(y)
        shaped(y, 4, 4)
        need(x.type == y.type, "mixed types")
        need(x.type == w.type or (not depthwise and x.type == FLOAT32 and w.type == INT8), "mixed types")
        need(table_i32(n.options, CONV_STRIDE_W, 0) > 0 and table_i32(n.options, CONV_STRIDE_H, 0) > 0, "strides")
        if depthwise:
            need(table_i32(n.options, DEPTHWISE_DILATION_W, 1) > 0 and table_i32(n.options, DEPTHWISE_DILATION_H, 1) > 0, "dilations")
            multiplier = table_i32(n.options, DEPTHWISE_MULTIPLIER, 0)
            need(multiplier > 0 and w.dims[3] % multiplier == 0, "depth multiplier")
        else:
            need(table_i32(n.options, CONV_DILATION_W, 1) > 0 and table_i32(n.options, CONV_DILATION_H, 1) > 0, "dilations")
            need(x.dims[3] // w.dims[3] != 0, "groups")
        need(0 <= table_i8(n.options, CONV_PADDING, 0) <= 1, "padding")
        return clips(table_i8(n.options, DEPTHWISE_ACTIVATION if depthwise else CONV_ACTIVATION, 0))

    cdef int backward_geometry(
        self, const Tensor* x, const Tensor* w, int64_t oh, int64_t ow, int64_t sh, int64_t sw, int padding,
    ) except -1:
        cdef int64_t kh = w.dims[1]
        cdef int64_t kw = w.dims[2]
        if padding == 1:                               # VALID
            return need(kh <= oh and kw <= ow, "the output is smaller than the filter")
        need(padding == 0 and sh > 0 and sw > 0, "padding")
        need((oh + sh - 1) // sh == x.dims[1] and (ow + sw - 1) // sw == x.dims[2], "size of the input")
        return need(kh >= sh and kw >= sw, "the stride exceeds the filter")

    cdef int transpose_conv(self, const Node* n, str op) except -1:
        cdef const Tensor* o
        cdef const Tensor* w
        cdef const Tensor* x
        cdef list sizes
        counted(n, 3, 4, 1, 1)
        o = self.x(n, 0)
        w = self.x(n, 1)
        x = self.x(n, 2)
        need(o.type == INT32, "type of the output shape")
        shape_like(o, False)
        constant(o)
        need(o.dims[0] == 4, "output shape")
        shaped(w, 4, 4)
        self.static_input(n, 1)
        f32_q8(x)
        shaped(x, 4, 4)
        f32_qc8(w, 0)
        if n.input_count == 4 and n.inputs[3] >= 0:
            bias_type(self.x(n, 3))
            shaped(self.x(n, 3), 1, 1)
            self.static_input(n, 3)
        f32_q8(self.y(n, 0))
        shaped(self.y(n, 0), 4, 4)
        sizes = integers(o)
        need(w.dims[0] == sizes[3] and w.dims[3] == x.dims[3], "channels")
        self.backward_geometry(
            x, w, sizes[1], sizes[2], table_i32(n.options, CONV_STRIDE_H, 0), table_i32(n.options, CONV_STRIDE_W, 0),
            table_i8(n.options, CONV_PADDING, 0))
        return clips(table_i8(n.options, TRANSPOSE_CONV_ACTIVATION, 0))

    cdef int batch_matmul(self, const Node* n, str op) except -1:
        cdef const Tensor* a = self.x(n, 0)
        cdef const Tensor* b = self.x(n, 1)
        f32_q8(a)
        f32_qc8(b, b.rank - (2 if table_bool(n.options, MATMUL_ADJ_Y, False) else 1))
        f32_q8(self.y(n, 0))
        need(datatype(self.g, a) == datatype(self.g, b) or (a.type == FLOAT32 and b.type == INT8), "mixed types")
        return need(a.rank >= 2 and b.rank >= 2, "rank")

    # ---------------------------------------------------------------- variables: one type and shape per handle

    cdef int variable(self, const Node* n, str op) except -1:
        cdef bint read = op == "READ_VARIABLE"
        cdef const Tensor* value
        cdef const Tensor* first
        cdef int d
        value = self.y(n, 0) if read else self.x(n, 1)
        handle = n.inputs[0]
        need(not read or value.rank > 0, "a scalar is read")
        f32_q8(value)
        need(handle in self.handles, "no VAR_HANDLE before it in this subgraph")
        first = &self.g.tensors[<int>self.proxies.setdefault(handle, value.index)]
        need(first.type == value.type and first.rank == value.rank, "type or shape differ from the first value's")
        for d in range(value.rank):
            need(first.dims[d] == value.dims[d], "type or shape differ from the first value's")
        return 0

    # ---------------------------------------------------------------- custom operators and composites

    cdef int custom(self, const Node* n, str op) except -1:
        cdef int32_t[7] fields
        cdef int padding
        fields[:] = [0, 0, 0, 0, 0, 0, 0]
        if n.custom_options != NULL:
            memcpy(fields, n.custom_options, min(n.custom_options_size, 28))
        padding = {1: 0, 2: 1}.get(fields[0], -1)      # as the other options: 0 SAME, 1 VALID
        if op == "Convolution2DTransposeBias":
            counted(n, 3, 3, 1, 1)
            is_f32(self.x(n, 0))
            shaped(self.x(n, 0), 4, 4)
            is_f32(self.x(n, 1))
            shaped(self.x(n, 1), 4, 4)
            self.static_input(n, 1)
            is_f32(self.x(n, 2))
            shaped(self.x(n, 2), 1, 1)
            self.static_input(n, 2)
            is_f32(self.y(n, 0))
            shaped(self.y(n, 0), 4, 4)
            need(fields[1] > 0 and fields[2] > 0, "strides")
            return self.backward_geometry(
                self.x(n, 0), self.x(n, 1), self.y(n, 0).dims[1], self.y(n, 0).dims[2], fields[2], fields[1], padding)
        if op == "MaxPoolingWithArgmax2D" or op == "MaxUnpooling2D":
            unpool = op == "MaxUnpooling2D"
            counted(n, 2 if unpool else 1, 2 if unpool else 1, 1 if unpool else 2, 1 if unpool else 2)
            is_f32(self.x(n, 0))
            shaped(self.x(n, 0), 4, 4)
            is_f32(self.y(n, 0))
            shaped(self.y(n, 0), 4, 4)
            shaped(self.x(n, 1) if unpool else self.y(n, 1), 4, 4)
            need(min(fields[1], fields[2], fields[3], fields[4]) > 0 and fields[3] == fields[1] and fields[4] == fields[2]
                 and 0 <= fields[5] <= 3, "window")
            return need(padding >= 0, "padding")
        if op == "odml.scaled_dot_product_attention":
            return self.attention(n)
        raise Reject("a custom operator")

    cdef int composite(self, const Node* n, str op) except -1:
        name = table_vector(n.options, COMPOSITE_NAME)
        need(name.data != NULL and (<const char*>name.data)[:name.length] == b"odml.scaled_dot_product_attention", "name of the composite")
        return self.attention(n)

    cdef int attention(self, const Node* n) except -1:
        cdef const Tensor* q = self.x(n, 0)
        cdef const Tensor* k = self.x(n, 1)
        cdef const Tensor* v = self.x(n, 2)
        cdef const Tensor* m
        is_f32(q)
        is_f32(k)
        is_f32(v)
        is_f32(self.y(n, 0))
        need(min(q.rank, k.rank, v.rank) > 1, "rank")
        need(q.dims[q.rank - 1] == k.dims[k.rank - 1] and k.dims[k.rank - 1] == v.dims[v.rank - 1], "size of a head")
        if n.input_count > 3:
            m = self.x(n, 3)
            is_f32(m)
            need(m.rank > 0 and k.dims[1] == v.dims[1] and v.dims[1] == m.dims[m.rank - 1], "length of the mask")
        return 0

    # ---------------------------------------------------------------- the whole subgraph

    cdef int judge(self, const Node* n, str op) except -1:
        """Raise Reject when the delegate leaves a node."""
        if n.index in self.g.custom_nodes:
            return self.custom(n, op)
        if op in UNARY:
            return self.unary(n, op)
        if op in BINARY:
            return self.binary(n, op)
        if op == "CONV_2D" or op == "DEPTHWISE_CONV_2D":
            return self.convolution(n, op)
        if op == "FULLY_CONNECTED":
            return self.fully_connected(n, op)
        if op in REDUCTIONS:
            return self.reduce(n, op)
        if op == "AVERAGE_POOL_2D" or op == "MAX_POOL_2D":
            return self.pool(n, op)
        if op == "SOFTMAX":
            return self.softmax(n, op)
        if op == "RESHAPE":
            return self.reshape(n, op)
        if op == "CONCATENATION":
            return self.concatenation(n, op)
        if op == "PAD":
            return self.pad(n, op)
        if op == "TRANSPOSE":
            return self.transpose(n, op)
        if op == "RESIZE_BILINEAR":
            return self.resize_bilinear(n, op)
        if op == "STRIDED_SLICE":
            return self.strided_slice(n, op)
        if op == "SLICE":
            return self.slice(n, op)
        if op == "SPLIT":
            return self.split(n, op)
        if op == "BATCH_MATMUL":
            return self.batch_matmul(n, op)
        if op == "TRANSPOSE_CONV":
            return self.transpose_conv(n, op)
        if op == "DEPTH_TO_SPACE" or op == "SPACE_TO_DEPTH":
            return self.depth_space(n, op)
        if op == "READ_VARIABLE" or op == "ASSIGN_VARIABLE":
            return self.variable(n, op)
        if op == "STABLEHLO_COMPOSITE":
            return self.composite(n, op)
        if op == "VAR_HANDLE":
            counted(n, 0, 0, 1, 1)
            self.handles[n.outputs[0]] = n.index
            raise Reject("a handle goes with its readers and writers")
        raise Reject("the delegate has no such operator")

    cdef bint is_unpacking(self, const Node* n, str op):
        """A DEQUANTIZE or DENSIFY of a constant, whose output is then quasi-static."""
        cdef const Tensor* x
        cdef const Tensor* y
        if (op != "DEQUANTIZE" and op != "DENSIFY") or n.input_count != 1 or n.output_count != 1:
            return False
        if n.inputs[0] < 0 or n.outputs[0] < 0:
            return False
        x = &self.g.tensors[n.inputs[0]]
        y = &self.g.tensors[n.outputs[0]]
        if op == "DENSIFY":
            return (x.allocation == CONSTANT and x.sparsity != NULL and y.type == x.type
                    and (x.type == FLOAT16 or x.type == INT8 or x.type == FLOAT32))
        if x.sparsity != NULL or not (x.allocation == CONSTANT or n.inputs[0] in self.quasi) or y.type != FLOAT32:
            return False
        if x.type == FLOAT16:
            if all([self.g.operator_names[user] in MATRIX_OPERATORS and self.g.nodes[<int>user].inputs[0] != n.outputs[0]
                    for user in self.readers_of(n.outputs[0])]):
                self.elided[n.outputs[0]] = n.inputs[0]
            return True
        return x.type == INT8 and (x.scale_count > 0 or has_blockwise(self.g, x))

    cdef list readers_of(self, int tensor):
        """Nodes of the plan; who reads what is noted when it is first asked, by models with float16 weights."""
        cdef const Node* n
        cdef int i
        if self.readers is None:
            self.readers = {}
            for index in self.g.execution_plan:
                n = &self.g.nodes[<int>index]
                for i in range(n.input_count):
                    self.readers.setdefault(n.inputs[i], []).append(index)
        return self.readers.get(tensor, [])

    def run(self):
        """Node indices of the plan that the delegate takes, ascending."""
        cdef const Node* n
        cdef set taken = set()
        cdef int i
        if self.g.name.startswith("VALIDATION:"):
            return []
        for index in self.g.execution_plan:
            n = &self.g.nodes[<int>index]
            op = self.g.operator_names[index]
            if self.is_unpacking(n, op):
                self.unpacked.add(index)
                self.quasi[n.outputs[0]] = index
                continue
            try:
                self.judge(n, op)
            except Reject as reject:
                self.reasons[index] = str(reject)
                for i in range(n.input_count):         # who reads it outside of the delegate keeps the node there
                    self.unpacked.discard(self.quasi.get(n.inputs[i]))
                continue
            taken.add(index)
        taken.update(self.handles[handle] for handle in self.proxies)
        return sorted(taken | self.unpacked)


UNARY = frozenset((
    "ABS", "CEIL", "COS", "DEQUANTIZE", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "NEG", "QUANTIZE", "RELU",
    "RELU6", "RELU_N1_TO_1", "ROUND", "RSQRT", "SIN", "SQRT", "SQUARE", "TANH",
))
BINARY = frozenset(("ADD", "DIV", "MAXIMUM", "MINIMUM", "MUL", "PRELU", "SQUARED_DIFFERENCE", "SUB"))
REDUCTIONS = frozenset(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"))
