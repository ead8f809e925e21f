"""CONV_3D and CONV_3D_TRANSPOSE."""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_VARIANTS = ("random", "no bias", "dilated", "dilated wide", "pointwise", "long", "one pixel", "infinities")


def _options(d, strides, dilations, padding):
    return {
        **dict(zip(("stride_d", "stride_h", "stride_w"), strides, strict=True)),
        **dict(zip(("dilation_d_factor", "dilation_h_factor", "dilation_w_factor"), dilations, strict=True)),
        "padding": padding,
        "fused_activation_function": d.activation(),
    }


def _windows(size, kernel, stride, dilation, padding):
    span = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == "SAME" else (size - span) // stride + 1


@cases("CONV_3D", "CONV_3D_TRANSPOSE", dtypes=("float32",), variants=_VARIANTS)
@cases("CONV_3D_TRANSPOSE", dtypes=("float32",), variants=("shape fed", "padding of height", "wrong shape"))
@cases("CONV_3D", dtypes=("float32",), variants=("filter fed", "wrong channels"))
@cases("CONV_3D", "CONV_3D_TRANSPOSE", dtypes=("int8",))
def conv_3d(d):
    transposed = d.op == "CONV_3D_TRANSPOSE"
    batch, ic, oc = d.between(1, 2), d.channels(1, 9), d.channels(1, 20)
    if d.variant == "long":
        ic = d.between(100, 400) if transposed else d.between(20, 60)
    kernel = [1, 1, 1] if d.variant == "pointwise" else d.shape(3, 3)
    strides = [1, 1, 1] if d.variant == "pointwise" else d.shape(3, 2)
    dilations = d.shape(3, 2) if d.variant.startswith("dilated") else [1, 1, 1]
    padding = d.choice("SAME", "VALID")
    size = [1, 1, 1] if d.variant == "one pixel" else [d.between(3, 7), d.side(3, 7), d.side(3, 7)]
    if d.variant == "one pixel":
        padding = "SAME"
    if d.variant == "padding of height":  # the optimized kernel then leaves out planes, or reads more than there are
        kernel, strides, padding = [d.between(2, 3), 1, d.between(1, 3)], [1, 1, 1], "SAME"
    spans = [(k - 1) * dil + 1 for k, dil in zip(kernel, dilations, strict=True)]
    size = [max(s, span) for s, span in zip(size, spans, strict=True)]
    if d.variant == "dilated":  # with more channels than planes TensorFlow's optimized kernel leaves memory unwritten
        ic = min(ic, size[0])
    elif d.variant == "dilated wide":
        ic, dilations[d.between(0, 2)] = size[0] + d.between(1, 5), 2
        size = [max(s, (k - 1) * dil + 1) for s, k, dil in zip(size, kernel, dilations, strict=True)]
    small = [_windows(*v, padding) for v in zip(size, kernel, strides, dilations, strict=True)]
    if d.variant == "wrong shape":
        small[0] += 1
    images = (small, size) if transposed else (size, small)
    x, y = Tensor([batch, *images[0], ic], d.dtype), Tensor([batch, *images[1], oc], d.dtype)
    if d.variant == "wrong channels":
        ic += 1
    w = Tensor([*kernel, *((oc, ic) if transposed else (ic, oc))], d.dtype)
    bias = None if d.variant == "no bias" else Tensor.constant(d.normal([oc]))
    if d.dtype == "float32" and d.variant != "filter fed":
        w.data = d.normal(w.shape)
    inputs = [x, w] if bias is None else [x, w, bias]
    shape = np.array(y.shape, np.int32)
    fed = d.variant == "shape fed"
    if transposed:
        first = Tensor([5], "int32") if fed else Tensor.constant(shape)
        inputs = [first, w, x] if bias is None else [first, w, x, bias]

    def feed():
        values = d.values(x)
        if d.variant == "infinities":
            values.flat[0] = np.inf
        fed_values = [values] if w.data is not None else [values, d.values(w)]
        if transposed and w.data is None:
            fed_values.reverse()
        return [shape, *fed_values] if fed else fed_values

    refused = d.dtype == "int8" or d.variant.startswith("wrong")
    return d.case(Model.single(d.op, inputs, [y], **_options(d, strides, dilations, padding)), feed, refused=refused)
