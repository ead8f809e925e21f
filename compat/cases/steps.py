"""One step per operator for `growing`: what else it reads, its options, the shape and scale of its output.

    @step("SOFTMAX", on=FLOAT)                        # the types of the tensor that it is given
    def softmax(g, op, x):
        return g.add(op, [x], x.shape, beta=1.0)      # the output, or None where x does not fit

An operator joins the random graphs by its name in TAKEN (the default delegate takes it) or LEFT, at the end.
"""

import numpy as np

from ..builder import Tensor
from .growing import QUANTIZED, integers, step

FLOAT = ("float32",)
ANY = FLOAT + QUANTIZED

# ---- element by element

PRESERVING = ("ABS", "FLOOR", "COS", "SIN", "NEG", "HARD_SWISH", "GELU", "TANH", "LOGISTIC", "SQUARE")
PRESERVING += ("RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU", "PRELU", "ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")
PRESERVING += ("SQUARED_DIFFERENCE", "DIV")


@step("ABS", "CEIL", "COS", "ELU", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6", "RELU_N1_TO_1", on=FLOAT)
@step("ROUND", "SIN", "SQUARE", "TANH", "RELU_0_TO_1", "ZEROS_LIKE", on=FLOAT)
def unary(g, op, x):
    return g.add(op, [x], x.shape)


@step("EXP", on=FLOAT)
def exponential(g, op, x):
    return g.add(op, [g.step("TANH", x)], x.shape)


@step("SQRT", "RSQRT", "LOG", on=FLOAT)
def root(g, op, x):
    return g.add(op, [g.positive(x)], x.shape)


@step("POW", "FLOOR_DIV", on=FLOAT)
def power(g, op, x):
    return g.add(op, [g.positive(x), g.constant(x.shape, positive=True)], x.shape)


@step("LOGISTIC", "TANH", on=QUANTIZED)
def table(g, op, x):
    y = g.add(op, [x], x.shape, scale=1 / 256 if op == "LOGISTIC" else 1 / 128)
    y.zero_point = (-128 if op == "LOGISTIC" else 0) + (128 if x.dtype == "uint8" else 0)
    return y


@step("GELU", on=ANY)
def gelu(g, op, x):
    return g.add(op, [x], x.shape, scale=x.scale, approximate=True)


@step("RELU", "RELU6", "HARD_SWISH", on=QUANTIZED)
@step("ELU", on=("int8",))
@step("QUANTIZE", on=QUANTIZED)
def rescaled(g, op, x):
    return g.add(op, [x], x.shape, scale=x.scale * g.d.uniform(0.6, 1.5))


@step("LEAKY_RELU", on=ANY)
def leaky_relu(g, op, x):
    return g.add(op, [x], x.shape, scale=x.scale and x.scale * g.d.uniform(0.6, 1.5), alpha=g.d.uniform(0.05, 0.9))


@step("PRELU", on=FLOAT)
def prelu(g, op, x):
    return g.add(op, [x, g.constant(x.shape[-1:])], x.shape)


@step("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", on=FLOAT)
@step("ADD", "SUB", "MUL", on=QUANTIZED)
def binary(g, op, x):
    other = g.constant(x.shape[-1:], positive=True) if op == "DIV" else g.other(x)
    operands = [other, x] if op != "DIV" and g.d.flag(0.4) else [x, other]
    options = {} if op in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE") else {"fused_activation_function": "NONE"}
    if options and g.d.flag(0.3):
        options["fused_activation_function"] = g.d.activation()
    scale = x.scale and (x.scale * other.scale * 64 if op == "MUL" else x.scale + other.scale) * g.d.uniform(0.5, 1.2)
    return g.add(op, operands, x.shape, scale=scale, **options)


@step("MAXIMUM", "MINIMUM", on=QUANTIZED)
def extremum(g, op, x):
    return g.add(op, [x, x], x.shape, like=x)


# ---- products


@step("CONV_2D", "DEPTHWISE_CONV_2D", on=ANY)
def convolution(g, op, x, padding=None):
    if len(x.shape) != 4 or min(x.shape[1:3]) < 1:
        return None
    d, (n, *size, depth) = g.d, x.shape
    kernel = [d.between(1, min(3, k)) for k in size]
    stride, padding = d.choice(1, 1, 2), padding or d.choice("SAME", "VALID")
    if kernel == size:
        padding = "VALID"  # with SAME, TensorFlow's optimized kernel on several threads leaves outputs unwritten
    result = [
        -(-k // stride) if padding == "SAME" else (k - f) // stride + 1 for k, f in zip(size, kernel, strict=True)
    ]
    options = {"padding": padding, "stride_h": stride, "stride_w": stride, "fused_activation_function": d.activation()}
    fan = kernel[0] * kernel[1] * (depth if op == "CONV_2D" else 1)
    if op == "CONV_2D":
        channels = d.choice(16, 33) if d.flag(0.1) else d.between(1, 9)
        w = g.filter(x, [channels, *kernel, depth], 0, fan)
    else:
        options["depth_multiplier"] = d.choice(1, 1, 2)
        channels = depth * options["depth_multiplier"]
        # A float32 kernel reads one scale per channel, whether the file has them or not.
        w = g.filter(x, [1, *kernel, channels], 3, fan, per_channel=True if x.dtype == "float32" else None)
    return g.add(op, [x, w, g.bias(x, w, channels)], [n, *result, channels], scale=_product_scale(x, w, fan), **options)


def _product_scale(x, w, fan):
    """An output scale for sums of `fan` products of values all over their range."""
    return x.scale and float(x.scale) * float(np.mean(w.scale)) * 100 * np.sqrt(fan)


@step("TRANSPOSE_CONV", on=ANY)
def transpose_conv(g, op, x):
    if len(x.shape) != 4 or max(x.shape[1:3]) > 8:
        return None
    n, h, w, depth = x.shape
    channels, stride = g.d.between(1, 5), g.d.choice(1, 2)
    kernel = g.filter(x, [channels, g.d.between(stride, 3), g.d.between(stride, 3), depth], 0, 3 * depth)
    shape = [n, h * stride, w * stride, channels]
    operands = [integers(shape), kernel, x, g.bias(x, kernel, channels)]
    scale = _product_scale(x, kernel, 3 * depth)
    return g.add(
        op, operands, shape, like=None, dtype=x.dtype, scale=scale, version=3, stride_h=stride, stride_w=stride
    )


@step("FULLY_CONNECTED", on=ANY)
def fully_connected(g, op, x):
    if not x.shape:
        return None
    depth, channels, keep = x.shape[-1], g.d.between(1, 9), len(x.shape) != 2
    w = g.filter(x, [channels, depth], 0, depth)
    b = g.bias(x, w, channels) if g.d.flag(0.7) else None
    options = {"fused_activation_function": g.d.activation(), "keep_num_dims": keep}
    return g.add(op, [x, w, b], [*x.shape[:-1], channels], scale=_product_scale(x, w, depth), **options)


@step("BATCH_MATMUL", on=("float32", "int8"))
def batch_matmul(g, op, x):
    if len(x.shape) < 2:
        return None
    depth, columns = x.shape[-1], g.d.between(1, 6)
    if x.dtype == "float32":
        w = g.float_constant(g.d.normal([depth, columns], 1 / np.sqrt(depth)))
    else:
        w = Tensor.constant(g.d.integers("int8", [depth, columns]), scale=g.d.scale(), zero_point=0)
    return g.add(op, [x, w], [*x.shape[:-1], columns], scale=_product_scale(x, w, depth))


# ---- over an image or an axis


@step("AVERAGE_POOL_2D", "MAX_POOL_2D", on=ANY)
@step("L2_POOL_2D", on=FLOAT)
def pool(g, op, x, activation=None):
    if len(x.shape) != 4:
        return None
    d, (n, *size, depth) = g.d, x.shape
    window, padding = [d.between(1, min(3, k)) for k in size], d.choice("SAME", "VALID")
    stride = d.between(1, min(window))
    result = [
        -(-k // stride) if padding == "SAME" else (k - f) // stride + 1 for k, f in zip(size, window, strict=True)
    ]
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    options |= {"filter_height": window[0], "filter_width": window[1]}
    options["fused_activation_function"] = activation or d.choice("NONE", "NONE", "RELU", "RELU6")
    return g.add(op, [x], [n, *result, depth], like=x, **options)


@step("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION", on=FLOAT)
def softmax(g, op, x):
    options = {"beta": 1.0} if op == "SOFTMAX" else {}
    highest = 4 if op == "L2_NORMALIZATION" else 8
    return g.add(op, [x], x.shape, **options) if 1 <= len(x.shape) <= highest else None


@step("SOFTMAX", on=QUANTIZED)
def quantized_softmax(g, op, x):
    y = g.add(op, [x], x.shape, scale=1 / 256, beta=1.0)
    y.zero_point = -128 if x.dtype == "int8" else 0
    return y


@step("LOCAL_RESPONSE_NORMALIZATION", on=FLOAT)
def local_response(g, op, x):
    return g.add(op, [x], x.shape, radius=2, bias=1.0, alpha=0.5, beta=0.75) if len(x.shape) == 4 else None


@step("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", on=ANY)
def reduction(g, op, x, axes=None):
    if not x.shape:
        return None
    axes = axes or g.d.choice([len(x.shape) - 1], list(range(1, max(2, len(x.shape) - 1))), g.d.axes(len(x.shape)))
    axes = [a % len(x.shape) for a in axes if a < len(x.shape)]
    if not axes:
        return None
    keep = g.d.flag()
    shape = [1 if i in axes else k for i, k in enumerate(x.shape) if keep or i not in axes]
    like = x if op in ("REDUCE_MAX", "REDUCE_MIN") else None
    scale = x.scale and x.scale * (1 if op == "MEAN" else 4)
    return g.add(op, [x, integers(sorted(axes))], shape, like=like, scale=scale, keep_dims=keep)


@step("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", on=ANY)
def resize(g, op, x):
    if len(x.shape) != 4:
        return None
    size = [g.d.between(1, 8), g.d.between(1, 8)]
    half = g.d.flag()
    options = {"align_corners": not half and g.d.flag(), "half_pixel_centers": half}
    return g.add(op, [x, integers(size)], [x.shape[0], *size, x.shape[3]], like=x, **options)


# ---- data movement: the output is quantized as the input


@step("RESHAPE", on=ANY)
def reshape(g, op, x):
    total = int(np.prod(x.shape))
    first = g.d.choice(*(k for k in range(1, total + 1) if total % k == 0))
    shape = g.d.choice([first, total // first], [1, first, 1, total // first], [1, 1, first, total // first])
    return g.add(op, [x, integers(shape)], shape, like=x, new_shape=shape)


@step("TRANSPOSE", "REVERSE_V2", on=ANY)
def transpose(g, op, x):
    if not x.shape:
        return None
    if op == "REVERSE_V2":
        return g.add(op, [x, integers([g.d.between(0, len(x.shape) - 1)])], x.shape, like=x)
    order = [int(i) for i in g.d.rng.permutation(len(x.shape))]
    return g.add(op, [x, integers(order)], [x.shape[i] for i in order], like=x)


@step("PAD", "MIRROR_PAD", on=ANY)
def pad(g, op, x, amounts=None):
    if not x.shape:
        return None
    limits = [min(2, k - 1) if op == "MIRROR_PAD" else 2 for k in x.shape]
    amounts = amounts or [[g.d.between(0, k), g.d.between(0, k)] if g.d.flag() else [0, 0] for k in limits]
    shape = [k + sum(a) for k, a in zip(x.shape, amounts, strict=True)]
    options = {"mode": "REFLECT"} if op == "MIRROR_PAD" else {}
    return g.add(op, [x, integers(amounts)], shape, like=x, **options)


@step("SLICE", "STRIDED_SLICE", on=ANY)
def slices(g, op, x):
    if not x.shape:
        return None
    begin = [g.d.between(0, k - 1) for k in x.shape]
    size = [g.d.between(1, k - b) for k, b in zip(x.shape, begin, strict=True)]
    if op == "SLICE":
        return g.add(op, [x, integers(begin), integers(size)], size, like=x)
    end = [b + s for b, s in zip(begin, size, strict=True)]
    return g.add(op, [x, integers(begin), integers(end), integers([1] * len(end))], size, like=x, version=2)


@step("CONCATENATION", on=ANY)
def concatenation(g, op, x):
    if not x.shape:
        return None
    axis, parts = g.d.between(0, len(x.shape) - 1), [x]
    same = [t for t in g.pool if (t.shape, t.dtype, t.scale, t.zero_point) == (x.shape, x.dtype, x.scale, x.zero_point)]
    for _ in range(g.d.between(1, 3)):
        constant = g.tensor(x.shape, x.dtype, like=x)
        constant.data = g.d.normal(x.shape) if x.dtype == "float32" else g.d.integers(x.dtype, x.shape)
        parts.insert(g.d.between(0, 1), g.d.choice(*same) if g.d.flag(0.7) else constant)
    shape = [k * len(parts) if i == axis else k for i, k in enumerate(x.shape)]
    return g.add(op, parts, shape, like=x, axis=axis)


@step("SPLIT", on=ANY)
def split(g, op, x):
    ways = [(axis, n) for axis, k in enumerate(x.shape) for n in (2, 3, 4) if k % n == 0]
    if not ways:
        return None
    axis, count = g.d.choice(*ways)
    shape = [k // count if i == axis else k for i, k in enumerate(x.shape)]
    parts = [g.tensor(shape, x.dtype, like=x) for _ in range(count)]
    g.graph.op(op, [integers(axis), x], parts, num_splits=count)
    g.pool += parts
    return parts[0]


@step("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", on=ANY)
def space_and_depth(g, op, x):
    if len(x.shape) != 4:
        return None
    n, h, w, c = x.shape
    if (op == "SPACE_TO_DEPTH" and (h % 2 or w % 2)) or (op == "DEPTH_TO_SPACE" and c % 4):
        return None
    shape = [n, h // 2, w // 2, c * 4] if op == "SPACE_TO_DEPTH" else [n, h * 2, w * 2, c // 4]
    return g.add(op, [x], shape, like=x, block_size=2)


@step("GATHER", on=ANY)
def gather(g, op, x):
    if not x.shape:
        return None
    axis = g.d.between(0, len(x.shape) - 1)
    places = [g.d.between(0, x.shape[axis] - 1) for _ in range(g.d.between(1, 5))]
    shape = [len(places) if i == axis else k for i, k in enumerate(x.shape)]
    return g.add(op, [x, integers(places)], shape, like=x, axis=axis)


@step("SQUEEZE", "EXPAND_DIMS", on=ANY)
def ones(g, op, x):
    if op == "EXPAND_DIMS":
        if len(x.shape) > 4:
            return None
        axis = g.d.between(0, len(x.shape))
        return g.add(op, [x, integers(axis)], [*x.shape[:axis], 1, *x.shape[axis:]], like=x)
    if 1 not in x.shape or len(x.shape) < 2:
        return None
    axis = x.shape.index(1)
    return g.add(op, [x], [*x.shape[:axis], *x.shape[axis + 1 :]], like=x, squeeze_dims=[axis])


@step("TILE", on=ANY)
def tile(g, op, x):
    counts = [g.d.choice(1, 1, 2) for _ in x.shape]
    if not x.shape or np.prod(x.shape) > 400:
        return None
    return g.add(op, [x, integers(counts)], [k * n for k, n in zip(x.shape, counts, strict=True)], like=x)


# ---- names by what the default delegate does with them

MOVING = ("RESHAPE", "TRANSPOSE", "PAD", "SLICE", "STRIDED_SLICE", "CONCATENATION", "SPLIT")
PRODUCTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "CONV_2D", "DEPTHWISE_CONV_2D")
_IMAGES = ("MAX_POOL_2D", "RESIZE_BILINEAR", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
_REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "MEAN")
_TAKEN_ALIKE = (*PRODUCTS, *MOVING, *_IMAGES, *_REDUCTIONS)
_TAKEN_8 = (*_TAKEN_ALIKE, "ADD", "SUB", "MUL", "LOGISTIC", "TANH", "LEAKY_RELU", "QUANTIZE", "ADD", "MUL")
_LEFT_ALIKE = ("GATHER", "SQUEEZE", "EXPAND_DIMS", "TILE", "REVERSE_V2", "RESIZE_NEAREST_NEIGHBOR", "MIRROR_PAD")
_LEFT_8 = (*_LEFT_ALIKE, "RELU", "RELU6", "HARD_SWISH", "SOFTMAX", "AVERAGE_POOL_2D", "MAXIMUM", "MINIMUM")
_LEFT_FLOAT = "LOG POW LOCAL_RESPONSE_NORMALIZATION L2_NORMALIZATION LOG_SOFTMAX L2_POOL_2D RELU_0_TO_1 FLOOR_DIV"
_TAKEN_FLOAT = "AVERAGE_POOL_2D SOFTMAX BATCH_MATMUL EXP SQRT RSQRT"

TAKEN = {
    "float32": (*_TAKEN_ALIKE, *PRESERVING, *_TAKEN_FLOAT.split()),
    "int8": (*_TAKEN_8, "BATCH_MATMUL"),
    "uint8": _TAKEN_8,
}
LEFT = {"float32": (*_LEFT_ALIKE, *_LEFT_FLOAT.split()), "int8": _LEFT_8, "uint8": _LEFT_8}
# Taken, and unknown to BUILTIN_REF.
NOT_REFERENCE = {"float32": ("ELU", "ROUND", "CEIL"), "int8": ("ELU",), "uint8": ()}
