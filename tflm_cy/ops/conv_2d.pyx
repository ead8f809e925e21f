# tflm_cy: optimize=size
"""CONV_2D: input [batch, height, width, channel], filter [output channel, height, width, channel of its group], bias [output channel].

float32 in conv_2d_float.pyx, float32 images with an integer filter in conv_2d_hybrid.pyx, integers in conv_2d_integer.pyx.

Quirks: the bias is required; TANH and SIGN_BIT as fused activation are ignored.

Source: LiteRT:tflite/kernels/conv.cc.
"""
from libc.stdint cimport int32_t
from libc.string cimport memset

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport MICRO, Context, Node, defers, elide, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT32, INT64, UINT8, Tensor, count, shape_of, type_name
from tflm_cy.ops.conv_2d_float cimport prepare_float
from tflm_cy.ops.conv_2d_hybrid cimport prepare_hybrid
from tflm_cy.ops.conv_2d_integer cimport prepare_integer
from tflm_cy.ops.conv_2d_layer cimport Conv
from tflm_cy.ops.quantized_weights cimport check_bias_type, check_bias_width, prepare_bias, prepare_bias_micro, prepare_weights
from tflm_cy.ops.window_2d cimport set_window, take_size_of_file
from tflm_cy.schema.option_slots cimport (
    CONV_2D_DILATION_H_FACTOR, CONV_2D_DILATION_W_FACTOR, CONV_2D_FUSED_ACTIVATION_FUNCTION, CONV_2D_PADDING,
    CONV_2D_QUANTIZED_BIAS_TYPE, CONV_2D_STRIDE_H, CONV_2D_STRIDE_W,
)
from tflm_cy.schema.table cimport table_i8, table_i32

from tflm_cy.graph.refusal import OwnRefusalError


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef int activation = table_i8(node.options, CONV_2D_FUSED_ACTIVATION_FUNCTION, 0)
    cdef int bias_option = table_i8(node.options, CONV_2D_QUANTIZED_BIAS_TYPE, 0)
    cdef Conv c
    cdef int32_t[4] dims
    if node.input_count == 2 and node.arithmetic != MICRO:
        raise ValueError("CONV_2D: has_bias was not true")
    if node.input_count > 3 or node.output_count != 1 or x == NULL or w == NULL or (b == NULL and node.arithmetic != MICRO) or y == NULL:
        raise ValueError("CONV_2D wants an input, a filter, a bias and one output")
    memset(&c, 0, sizeof(Conv))
    read_shape(node, x, w, &c.shape)
    c.unusual = node.arithmetic == MICRO and take_size_of_file(&c.shape, y)
    c.depth = c.shape.kh * c.shape.kw * c.shape.group_ic
    if y.type != x.type:
        raise ValueError(f"CONV_2D: output->type != input_type ({type_name(y.type)} != {type_name(x.type)})")
    if node.arithmetic == MICRO and b != NULL:
        bias_option = b.type       # there the bias itself decides
    if node.arithmetic != MICRO:
        check_bias_type(x, b, bias_option, "CONV_2D")
    if b != NULL and count(b) != c.shape.oc:
        raise ValueError(f"CONV_2D: NumElements(bias) != SizeOfDimension(filter, 0) ({count(b)} != {c.shape.oc})")
    dims = [<int32_t>c.shape.batches, <int32_t>c.shape.oh, <int32_t>c.shape.ow, <int32_t>c.shape.oc]
    context.set_shape(y, 4, dims)
    if c.shape.oc % c.shape.groups != 0:
        raise OwnRefusalError("CONV_2D: the output channels are no multiple of the groups")
    if count(y) == 0 and c.shape.batches > 0:
        elide(node)
        return 0
    if x.type != FLOAT32 or w.type == FLOAT32:         # else all images would be quantized together
        flatten_pointwise(&c.shape)
    if w.type != FLOAT32:
        context.materialize(w)
    prepare_weights(context, w, &c.weights)
    if node.arithmetic == MICRO:
        prepare_bias_micro(context, x, b, INT32 if bias_option == INT32 else INT64, c.shape.oc, &c.bias)
    elif x.type != INT8 and x.type != UINT8:
        prepare_bias(context, b, c.shape.oc, &c.bias)
    if x.type != FLOAT32:
        prepare_integer(context, node, &c, activation, bias_option == INT32)
    elif w.type == FLOAT32:
        prepare_float(context, node, &c, activation)
    else:
        prepare_hybrid(context, node, &c, activation)
    if node.arithmetic != MICRO:
        check_bias_width(x, b, bias_option, "CONV_2D")
    return 0


cdef int read_shape(const Node* node, const Tensor* x, const Tensor* w, ConvShape* g) except -1:
    if x.rank != 4 or w.rank != 4:
        raise ValueError(f"CONV_2D: input->dims->size != 4: input {shape_of(x)}, filter {shape_of(w)}")
    g.batches = x.dims[0]
    g.ih = x.dims[1]
    g.iw = x.dims[2]
    g.ic = x.dims[3]
    g.oc = w.dims[0]
    g.kh = w.dims[1]
    g.kw = w.dims[2]
    g.group_ic = w.dims[3]
    g.stride_h = table_i32(node.options, CONV_2D_STRIDE_H, 0)
    g.stride_w = table_i32(node.options, CONV_2D_STRIDE_W, 0)
    g.dilation_h = table_i32(node.options, CONV_2D_DILATION_H_FACTOR, 1)
    g.dilation_w = table_i32(node.options, CONV_2D_DILATION_W_FACTOR, 1)
    if g.group_ic <= 0 or g.ic % g.group_ic != 0 or g.ic == 0:
        raise ValueError(f"CONV_2D: input_channel % filter_input_channel != 0: {g.ic} channels, filter of {g.group_ic}")
    g.groups = g.ic / g.group_ic
    return set_window(g, table_i8(node.options, CONV_2D_PADDING, 0), "CONV_2D", node.arithmetic != MICRO)


cdef int flatten_pointwise(ConvShape* g) except -1:
    """A 1x1 filter with stride 1 sees all pixels of all images as one row."""
    if g.kh == 1 and g.kw == 1 and g.stride_h == 1 and g.stride_w == 1 and g.oh == g.ih and g.ow == g.iw:
        g.iw = g.batches * g.ih * g.iw
        g.ow = g.iw
        g.ih = 1
        g.oh = 1
        g.batches = 1
    return 0


OPERATORS = {
    "CONV_2D": defers(register(prepare, version=8), 1),
}
