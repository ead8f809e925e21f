"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV: padding, strides, dilation, groups, depth multiplier, every weight type.

Type labels: float32, int8, uint8, int16x8 (int16 activations, int8 weights), int4 (weights), hybrid_i8 and hybrid4
(float32 activations, integer weights).
"""

from dataclasses import dataclass, replace

import numpy as np

from ..builder import Model, Tensor
from . import cases

_VERSION = {"CONV_2D": 8, "DEPTHWISE_CONV_2D": 6, "TRANSPOSE_CONV": 5}
_ACTIVATION_TYPE = {"int4": "int8", "int16x8": "int16", "hybrid_i8": "float32", "hybrid4": "float32"}
_WEIGHT_TYPE = {"int16x8": "int8", "hybrid_i8": "int8", "hybrid4": "int4"}


@dataclass
class Window:
    """A kernel's geometry over an image of h x w."""

    h: int
    w: int
    kernel: tuple
    stride: tuple
    dilation: tuple
    padding: str

    @classmethod
    def draw(cls, d, largest_kernel=3, dilated=True):
        h, w = d.side(3, 8), d.side(3, 8)
        kernel = d.between(1, largest_kernel), d.between(1, largest_kernel)
        dilation = (d.between(1, 2), d.between(1, 2)) if dilated else (1, 1)
        padding = d.choice("SAME", "VALID")
        if any((k - 1) * r + 1 > size for k, r, size in zip(kernel, dilation, (h, w), strict=True)):
            padding = "SAME"
        return cls(h, w, kernel, (d.between(1, 3), d.between(1, 3)), dilation, padding)

    def output(self):
        """Height and width after the window."""
        sizes = []
        for size, k, s, r in zip((self.h, self.w), self.kernel, self.stride, self.dilation, strict=True):
            sizes.append(-(-size // s) if self.padding == "SAME" else (size + s - ((k - 1) * r + 1)) // s)
        return sizes

    def options(self):
        return {"padding": self.padding, "stride_h": self.stride[0], "stride_w": self.stride[1]}

    def dilation_options(self):
        return {"dilation_h_factor": self.dilation[0], "dilation_w_factor": self.dilation[1]}


def weights(d, shape, dtype, channels, axis, per_channel, zero_point=0):
    """Constant weights of a type; per-channel scales along `axis`."""
    if dtype == "float32":
        return Tensor.constant(d.special_floats(shape) if d.variant == "special" else d.normal(shape))
    scales = [d.scale() for _ in range(channels if per_channel else 1)]
    return Tensor.constant(d.values(shape, dtype), dtype, scale=scales, zero_point=zero_point, axis=axis)


def bias(d, channels, x, w, dtype):
    """A bias for activations x and weights w, with their scales' product."""
    if x.dtype == "float32":
        return Tensor.constant(d.normal([channels]))
    scales = np.asarray(w.scale, np.float32) * np.float32(x.scale)
    largest = 9_000_000 if dtype == "int64" else 2**31 - 1 if d.variant == "special" else 9000
    return Tensor.constant(d.integers(dtype, [channels], -largest, largest), scale=scales, zero_point=0)


_COMMON = ("random", "per channel", "special", "zero batch", "pointwise")


@cases("CONV_2D", "DEPTHWISE_CONV_2D", dtypes=("float32",), variants=("random", "special", "zero batch", "pointwise"))
@cases("CONV_2D", "DEPTHWISE_CONV_2D", dtypes=("int8",), variants=_COMMON)
@cases("CONV_2D", "DEPTHWISE_CONV_2D", dtypes=("int16x8",), variants=_COMMON)
@cases("CONV_2D", "DEPTHWISE_CONV_2D", dtypes=("uint8",), variants=("random", "special", "pointwise"))
@cases("CONV_2D", dtypes=("int16x8",), variants=("int32 bias",))
@cases("CONV_2D", "DEPTHWISE_CONV_2D", dtypes=("int8", "uint8", "int16x8"), variants=("halves",))
@cases("CONV_2D", dtypes=("float32", "int8"), variants=("groups",))
@cases("CONV_2D", "DEPTHWISE_CONV_2D", dtypes=("int4",), variants=("random", "per channel"))
@cases("CONV_2D", dtypes=("hybrid_i8", "hybrid4"), variants=("random", "per channel", "groups", "zero input"))
@cases("DEPTHWISE_CONV_2D", dtypes=("hybrid_i8",), variants=("per channel", "zero input"))
@cases("DEPTHWISE_CONV_2D", dtypes=("float32", "int8", "int16x8"), variants=("no bias",))
@cases("CONV_2D", dtypes=("float32", "int8"), variants=("no bias",))
@cases("DEPTHWISE_CONV_2D", dtypes=("float32", "int8", "hybrid_i8"), variants=("narrow",))
@cases("DEPTHWISE_CONV_2D", dtypes=("float32", "int8", "uint8", "int16x8", "hybrid_i8"), variants=("other multiplier",))
def convolution(d):
    dtype, weight_type = _ACTIVATION_TYPE.get(d.dtype, d.dtype), _WEIGHT_TYPE.get(d.dtype, d.dtype)
    window = Window.draw(d)
    if d.variant == "pointwise":
        window = Window(window.h, window.w, (1, 1), (1, 1), (1, 1), window.padding)
    if d.variant == "narrow":  # rows of a few positions, of which there are many
        window = replace(window, h=d.side(9, 24))
    batch = 0 if d.variant == "zero batch" else d.between(1, 2)
    input_channels, options = d.channels(1, 9), {**window.options(), **window.dilation_options()}
    if d.op == "CONV_2D":
        groups = d.between(2, 3) if d.variant == "groups" else 1
        channels, axis = d.channels(1, 9) * groups, 0
        weight_shape = [channels, *window.kernel, input_channels]
        input_channels *= groups
    else:
        groups, options["depth_multiplier"] = input_channels + 1, d.between(1, 3) + (d.variant == "narrow")
        channels, axis = input_channels * options["depth_multiplier"], 3
        weight_shape = [1, *window.kernel, channels]
        if d.variant == "other multiplier":  # than the shapes tell
            options["depth_multiplier"] = d.choice(*[m for m in range(1, channels + 1) if channels % m == 0])
    x = d.tensor([batch, window.h, window.w, input_channels], dtype)
    # Float32 with grouped or depthwise int8 weights reads one scale per channel, whether the file has them or not.
    per_channel = d.variant in ("per channel", "int32 bias") or (d.dtype[:6] == "hybrid" and groups != 1)
    zero_point = d.between(0, 255) if d.dtype == "uint8" else 0
    w = weights(d, weight_shape, weight_type, channels, axis, per_channel, zero_point)
    bias_type = "int64" if dtype == "int16" and d.variant != "int32 bias" else "int32"
    b = None if d.variant == "no bias" else bias(d, channels, x, w, bias_type)
    y = d.tensor([batch, *window.output(), channels], dtype)
    if y.scale is not None:
        y.scale = np.float32(y.scale * 8)
    if d.variant == "int32 bias":
        options["quantized_bias_type"] = "INT32"
    options["fused_activation_function"] = d.activation()

    def feed():
        return [np.zeros(x.shape, np.float32) if d.variant == "zero input" and d.flag() else d.values(x)]

    inputs = [x, w] if d.variant == "no bias" else [x, w, b]
    refused = d.op == "CONV_2D" and d.variant == "no bias"
    return d.case(Model.single(d.op, inputs, [y], _VERSION[d.op], **options), feed, refused=refused)


@cases("DEPTHWISE_CONV_2D", dtypes=("int8", "uint8"), variants=("halves, 3x3",))
def depthwise_three_by_three(d):
    """What TensorFlow has kernels of its own for on Arm: channels by eights, each with one window of 3x3."""
    stride, channels = d.between(1, 2), 8 * d.channels(1, 5)
    window = Window(d.side(3, 12), d.side(3, 12), (3, 3), (stride, stride), (1, 1), d.choice("SAME", "VALID"))
    x, zero = d.tensor([d.between(1, 2), window.h, window.w, channels]), d.between(3, 252) if d.dtype == "uint8" else 0
    values = d.integers(d.dtype, [1, 3, 3, channels], zero - 3, zero + 3)  # so that few sums are clamped
    w = Tensor.constant(values, scale=d.scale(), zero_point=zero)
    scale = np.float32(x.scale * w.scale)
    b = Tensor.constant(d.integers("int32", [channels], -500, 500), scale=scale, zero_point=0)
    middle = d.between(-60, 60) + (128 if d.dtype == "uint8" else 0)
    y = d.tensor([x.shape[0], *window.output(), channels], scale=scale * 2 ** d.between(2, 5), zero_point=middle)
    options = {**window.options(), "depth_multiplier": 1, "fused_activation_function": d.choice("NONE", d.activation())}
    return d.case(Model.single(d.op, [x, w, b], [y], _VERSION[d.op], **options), lambda: [d.values(x)])


@cases("TRANSPOSE_CONV", dtypes=("float32", "int8", "int16x8"), variants=("random", "special", "no bias"))
@cases("TRANSPOSE_CONV", dtypes=("int8", "int16x8"), variants=("per channel",))
@cases("TRANSPOSE_CONV", dtypes=("uint8", "hybrid_i8"), variants=("random",))
@cases("TRANSPOSE_CONV", dtypes=("hybrid_i8",), variants=("per channel",))
@cases("TRANSPOSE_CONV", dtypes=("int16x8",), variants=("int32 bias",))
@cases("TRANSPOSE_CONV", dtypes=("int8", "uint8", "int16x8"), variants=("halves",))
@cases("TRANSPOSE_CONV", dtypes=("float32", "int8"), variants=("output shape fed",))
@cases("TRANSPOSE_CONV", dtypes=("float32", "int8", "uint8", "int16x8", "hybrid_i8"), variants=("smaller", "larger"))
@cases("TRANSPOSE_CONV", dtypes=("int16x8",), variants=("int32 bias smaller",))
def transpose_conv(d):
    dtype, weight_type = _ACTIVATION_TYPE.get(d.dtype, d.dtype), _WEIGHT_TYPE.get(d.dtype, d.dtype)
    window = Window.draw(d, dilated=False)
    batch, input_channels, channels = d.between(1, 2), d.channels(1, 6), d.channels(1, 6)
    if window.padding == "SAME":
        size = [n * s - d.between(0, s - 1) for n, s in zip((window.h, window.w), window.stride, strict=True)]
    else:
        places = zip((window.h, window.w), window.stride, window.kernel, strict=True)
        size = [(n - 1) * s + k for n, s, k in places]
    x = d.tensor([batch, window.h, window.w, input_channels], dtype)
    zero_point = d.between(0, 255) if d.dtype == "uint8" else 0
    if d.variant.endswith("smaller"):
        size = [d.between(1, max(n - d.between(0, 2), 1)) for n in size]
    if d.variant == "larger":
        size = [n + d.between(0, 3) for n in size]
    per_channel = d.variant.startswith(("per channel", "int32 bias"))
    w = weights(d, [channels, *window.kernel, input_channels], weight_type, channels, 0, per_channel, zero_point)
    narrow = d.variant.startswith("int32 bias")
    b = (
        None
        if d.variant == "no bias"
        else bias(d, channels, x, w, "int64" if dtype == "int16" and not narrow else "int32")
    )
    y = d.tensor([batch, *size, channels], dtype)
    if y.scale is not None:
        y.scale = np.float32(y.scale * 8)
    options = {**window.options(), "fused_activation_function": d.activation()}
    if narrow:
        options["quantized_bias_type"] = "INT32"
    shape = np.array(y.shape, np.int32)
    fed = d.variant == "output shape fed"
    size_tensor = Tensor([4], "int32") if fed else Tensor.constant(shape)
    inputs = [size_tensor, w, x] + ([] if b is None else [b])
    model = Model.single(d.op, inputs, [y], _VERSION[d.op], **options)
    return d.case(model, lambda: [shape, d.values(x)] if fed else [d.values(x)])
