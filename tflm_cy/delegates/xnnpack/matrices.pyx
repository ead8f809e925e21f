# tflm_cy: optimize=speed
"""Which matrix products and convolutions the default delegate takes: FULLY_CONNECTED, CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, BATCH_MATMUL.

Each rule raises Reject for a node that is left.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.stdint cimport int64_t

from tflm_cy.delegates.xnnpack.datatype cimport block_size, has_blockwise
from tflm_cy.delegates.xnnpack.operands cimport (
    Operands, bias_type, clips, constant, counted, f32_q8, f32_qc8, integers, need, per_tensor, shape_like, shaped,
)
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport FLOAT16, FLOAT32, INT2, INT4, INT8, INT32, UINT8, Tensor, count
from tflm_cy.schema.builtins cimport BUILTIN_DEPTHWISE_CONV_2D
from tflm_cy.schema.table cimport table_bool, table_i8, table_i32

cdef enum:                       # slots of the options that the rules read
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


cdef int fully_connected_filter(Subgraph g, const Tensor* w) except -1:
    if w.type == FLOAT32 or w.type == FLOAT16:
        return 0
    if w.type == UINT8:
        return need(per_tensor(w), "a uint8 filter has one scale")
    need(w.type == INT8 or w.type == INT4 or w.type == INT2, "type of the filter")
    if has_blockwise(g, w):
        need(block_size(g, w) % 32 == 0, "block size")
    elif w.scale_count > 0:
        need(w.scale_count == 1 or w.quantized_dimension == 0, "quantized dimension of the filter")
        need(w.type == INT8 or (0 <= w.quantized_dimension < w.rank and w.scale_count == w.dims[w.quantized_dimension]),
             "4-bit and 2-bit filters have one scale per row")
    return 0                                       # without any quantization: taken, and refused when it is created


cdef int fully_connected(Operands o, const Node* n) except -1:
    cdef const Tensor* x
    cdef const Tensor* w
    cdef const Tensor* b
    cdef const Tensor* y
    need(n.version != 8, "version 8 (sparse)")
    need(table_i8(n.options, FC_WEIGHTS_FORMAT, 0) == 0, "shuffled weights")
    counted(n, 2, 3, 1, 1)
    x = o.x(n, 0)
    w = o.x(n, 1)
    y = o.y(n, 0)
    f32_q8(x)
    shaped(w, 2, 2)
    fully_connected_filter(o.g, w)
    o.static_input(n, 1)
    if n.input_count == 3 and n.inputs[2] >= 0:
        b = o.x(n, 2)
        need(count(b) == w.dims[0], "size of the bias")
        bias_type(b)
        o.static_input(n, 2)
        o.agreeing_floats(n.inputs[1], n.inputs[2])
    f32_q8(y)
    need(x.type == y.type, "mixed types")
    need(x.type == w.type or ((x.type == FLOAT32 or x.type == INT8) and (w.type == INT8 or w.type == INT4 or w.type == INT2)),
         "mixed types")
    need(not (w.type == INT4 and w.dims[1] % 2 != 0) and not (w.type == INT2 and w.dims[1] % 4 != 0), "columns of packed weights")
    return clips(table_i8(n.options, FC_ACTIVATION, 0))


cdef int convolution(Operands o, const Node* n) except -1:
    cdef bint depthwise = n.code == BUILTIN_DEPTHWISE_CONV_2D
    cdef const Tensor* x
    cdef const Tensor* w
    cdef const Tensor* b
    cdef const Tensor* y
    cdef int multiplier
    counted(n, 3, 3, 1, 1)
    x = o.x(n, 0)
    w = o.x(n, 1)
    y = o.y(n, 0)
    f32_q8(x)
    shaped(x, 4, 4)
    f32_qc8(w, 3 if depthwise else 0)
    shaped(w, 4, 4)
    o.static_input(n, 1)
    need(n.inputs[2] >= 0, "there is no bias")
    b = o.x(n, 2)
    bias_type(b)
    shaped(b, 1, 1)
    o.static_input(n, 2)
    o.agreeing_floats(n.inputs[1], n.inputs[2])
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
    const Tensor* x, const Tensor* w, int64_t oh, int64_t ow, int64_t sh, int64_t sw, int padding,
) except -1:
    cdef int64_t kh = w.dims[1]
    cdef int64_t kw = w.dims[2]
    if padding == 1:                               # VALID
        return need(kh <= oh and kw <= ow, "the output is smaller than the filter")
    need(padding == 0 and sh > 0 and sw > 0, "padding")
    need((oh + sh - 1) // sh == x.dims[1] and (ow + sw - 1) // sw == x.dims[2], "size of the input")
    return need(kh >= sh and kw >= sw, "the stride exceeds the filter")


cdef int transpose_conv(Operands o, const Node* n) except -1:
    cdef const Tensor* shape
    cdef const Tensor* w
    cdef const Tensor* x
    cdef list sizes
    counted(n, 3, 4, 1, 1)
    shape = o.x(n, 0)
    w = o.x(n, 1)
    x = o.x(n, 2)
    need(shape.type == INT32, "type of the output shape")
    shape_like(shape, False)
    constant(shape)
    need(shape.dims[0] == 4, "output shape")
    shaped(w, 4, 4)
    o.static_input(n, 1)
    f32_q8(x)
    shaped(x, 4, 4)
    f32_qc8(w, 0)
    if n.input_count == 4 and n.inputs[3] >= 0:
        bias_type(o.x(n, 3))
        shaped(o.x(n, 3), 1, 1)
        o.static_input(n, 3)
    f32_q8(o.y(n, 0))
    shaped(o.y(n, 0), 4, 4)
    sizes = integers(shape)
    need(w.dims[0] == sizes[3] and w.dims[3] == x.dims[3], "channels")
    backward_geometry(
        x, w, sizes[1], sizes[2], table_i32(n.options, CONV_STRIDE_H, 0), table_i32(n.options, CONV_STRIDE_W, 0),
        table_i8(n.options, CONV_PADDING, 0))
    return clips(table_i8(n.options, TRANSPOSE_CONV_ACTIVATION, 0))


cdef int batch_matmul(Operands o, const Node* n) except -1:
    cdef const Tensor* a = o.x(n, 0)
    cdef const Tensor* b = o.x(n, 1)
    f32_q8(a)
    f32_qc8(b, b.rank - (2 if table_bool(n.options, MATMUL_ADJ_Y, False) else 1))
    f32_q8(o.y(n, 0))
    need(o.datatype_of(n.inputs[0]) == o.datatype_of(n.inputs[1]) or (a.type == FLOAT32 and b.type == INT8), "mixed types")
    return need(a.rank >= 2 and b.rank >= 2, "rank")
