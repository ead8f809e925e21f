"""FULLY_CONNECTED and BATCH_MATMUL: every weight type, bias or none, constant or fed weights, ranks, transposition.

Type labels: float32, int8, uint8, int16x8, int4 and int2 (weights), hybrid_i8, 4 and 2 (float32 activations, integer weights).
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .convolution import bias

_TYPES = {  # label: (activations, weights)
    "float32": ("float32", "float32"),
    "int8": ("int8", "int8"),
    "uint8": ("uint8", "uint8"),
    "int16x8": ("int16", "int8"),
    "int4": ("int8", "int4"),
    "hybrid_i8": ("float32", "int8"),
    "hybrid4": ("float32", "int4"),
    "int2": ("int8", "int2"),
    "int16x2": ("int16", "int2"),
    "hybrid2": ("float32", "int2"),
}
_PLAIN = ("random", "no bias", "keep dims", "zero batch")


@cases("FULLY_CONNECTED", dtypes=("float32",), variants=(*_PLAIN, "weights fed", "special", "large"))
@cases("FULLY_CONNECTED", dtypes=("int8",), variants=(*_PLAIN, "per channel", "weights fed", "special", "large"))
@cases("FULLY_CONNECTED", dtypes=("int8",), variants=("weight zero point",))
@cases("FULLY_CONNECTED", dtypes=("uint8",), variants=("random", "no bias", "special"))
@cases("FULLY_CONNECTED", dtypes=("int16x8",), variants=("random", "no bias", "per channel", "int32 bias", "special"))
@cases("FULLY_CONNECTED", dtypes=("int4",), variants=("random", "per channel", "no bias"))
@cases("FULLY_CONNECTED", dtypes=("hybrid_i8",), variants=(*_PLAIN, "per channel", "asymmetric", "zero input"))
@cases("FULLY_CONNECTED", dtypes=("hybrid_i8",), variants=("asymmetric per channel", "tiny and huge"))
@cases("FULLY_CONNECTED", dtypes=("hybrid4",), variants=("random", "per channel", "asymmetric"))
@cases("FULLY_CONNECTED", dtypes=("int2", "int16x2", "hybrid2"), variants=("random", "per channel"))
@cases("FULLY_CONNECTED", dtypes=("hybrid_i8", "hybrid4"), variants=("curved",))
@cases("FULLY_CONNECTED", dtypes=("int8", "float32"), variants=("odd activation",))
@cases("FULLY_CONNECTED", dtypes=("int8", "uint8", "int16x8", "int4"), variants=("halves",))
def fully_connected(d):
    dtype, weight_type = _TYPES[d.dtype]
    largest = 130 if d.variant == "large" else 40
    depth, channels = d.width(1, largest), d.width(1, largest)
    leading = [0] if d.variant == "zero batch" else d.batch(2, 4) if d.variant == "keep dims" else d.batch(1, 5)
    x = d.tensor([*leading, depth], dtype)
    if d.variant == "random" and d.flag(0.3):
        x.shape = [leading[0], 1, depth]
    fed = d.variant == "weights fed"
    w = _weights(d, [channels, depth], weight_type, fed)
    if d.variant == "weight zero point":
        w.zero_point = d.between(-128, 127)
    bias_type = "int64" if dtype == "int16" and d.variant != "int32 bias" else "int32"
    b = None if d.variant == "no bias" else bias(d, channels, x, w, bias_type)
    y = d.tensor([*leading, channels], dtype)
    if y.scale is not None:
        y.scale = np.float32(y.scale * 8)
    options = {"fused_activation_function": d.activation(), "keep_num_dims": d.variant == "keep dims"}
    if d.dtype.startswith("hybrid"):
        options["asymmetric_quantize_inputs"] = "asymmetric" in d.variant
    if d.variant == "curved":
        options["fused_activation_function"] = d.choice("TANH", "SIGN_BIT", 55)
    if d.variant == "odd activation":
        options["fused_activation_function"] = d.choice("TANH", "SIGN_BIT", 55, -3)
    if d.variant == "int32 bias":
        options["quantized_bias_type"] = "INT32"

    def activations():
        values = d.values(x)
        if d.variant == "zero input" and values.size:
            values[0] = 0
            values *= d.choice(0, 1)
        if d.variant == "tiny and huge":
            values = (values * d.choice(1e-30, 1e-6, 1e6, 1e30)).astype(np.float32)
        return values

    model = Model.single(d.op, [x, w, b], [y], 11, **options)
    refused = None if d.variant == "odd activation" else False
    return d.case(model, lambda: [activations(), d.values(w)] if fed else [activations()], refused=refused)


@cases(
    "FULLY_CONNECTED",
    "CONV_2D",
    "BATCH_MATMUL",
    dtypes=("int8", "hybrid_i8"),
    variants=("long rows",),
)
@cases("FULLY_CONNECTED", dtypes=("uint8", "int16x8"), variants=("long rows",))
@cases("FULLY_CONNECTED", "BATCH_MATMUL", dtypes=("hybrid_i8",), variants=("asymmetric, long rows",))
def long_rows(d):
    """Thousands of products of one sign, which sums of few bits do not hold."""
    dtype, weight_type = _TYPES[d.dtype]
    rows, channels, depth = d.between(1, 6), d.between(1, 20), d.between(2000, 6000)
    x = d.tensor([rows, depth], dtype)
    zero_point = d.between(0, 255) if weight_type == "uint8" else 0
    limits = np.iinfo(weight_type)
    low = limits.min + 16 * d.between(0, 15)
    values = d.integers(weight_type, [channels, depth], low, low + 15)
    w = Tensor.constant(values, scale=d.scale(), zero_point=zero_point)
    y = d.tensor([rows, channels], dtype)
    if y.scale is not None:
        y.scale = np.float32(x.scale * w.scale * depth * 16)
    options = {"asymmetric_quantize_inputs": True} if d.variant.startswith("asymmetric") else {}
    inputs, version = [x, w], 11
    if d.op == "BATCH_MATMUL":
        options |= {"adj_x": False, "adj_y": True}
        version = 3
    else:
        inputs.append(bias(d, channels, x, w, "int64" if dtype == "int16" else "int32"))
    if d.op == "CONV_2D":
        x.shape, w.shape, y.shape = [1, rows, 1, depth], [channels, 1, 1, depth], [1, rows, 1, channels]
        options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
        version = 5
    shift = d.uniform(-3, 3)

    def feed():
        return [(d.values(x) + shift).astype(np.float32) if dtype == "float32" else d.values(x)]

    return d.case(Model.single(d.op, inputs, [y], version, **options), feed)


def _weights(d, shape, dtype, fed):
    if dtype == "float32":
        return Tensor(shape, dtype) if fed else Tensor.constant(d.values(shape, dtype))
    zero_point = d.between(0, 255) if dtype == "uint8" else 0
    scales = [d.scale() for _ in range(shape[0] if "per channel" in d.variant else 1)]
    if fed:
        return Tensor(shape, dtype, scale=scales, zero_point=zero_point)
    return Tensor.constant(d.values(shape, dtype), dtype, scale=scales, zero_point=zero_point)


@cases("FULLY_CONNECTED", dtypes=("uint8 to int16",), variants=("random", "no bias", "output zero point"))
def fully_connected_to_16(d):
    """Without a bias TensorFlow's reference crashes."""
    batch, depth, channels = d.between(1, 4), d.width(1, 40), d.width(1, 20)
    x, w = d.tensor([batch, depth], "uint8"), _weights(d, [channels, depth], "uint8", False)
    b = None if d.variant == "no bias" else bias(d, channels, x, w, "int32")
    y = Tensor([batch, channels], "int16", scale=d.uniform(0.001, 0.02), zero_point=0)
    if d.variant == "output zero point":
        y.zero_point = d.between(-999, 999)
    options = {"fused_activation_function": d.activation()}
    return d.case(Model.single("FULLY_CONNECTED", [x, w, b], [y], 11, **options), lambda: [d.values(x)])


@cases("FULLY_CONNECTED", dtypes=("shuffled",), variants=("random", "saturating", "three rows", "wrong operands"))
def fully_connected_shuffled(d):
    """Weights in blocks of 4 x 16, the operands as a second output; of 3 rows TensorFlow computes nothing."""
    batch = 3 if d.variant == "three rows" else d.choice(1, 4)
    depth, channels = 16 * d.between(1, 4), 4 * d.between(1, 5)
    x, w = d.tensor([batch, depth], "uint8"), _weights(d, [channels, depth], "uint8", False)
    b = bias(d, channels, x, w, "int32")
    y = Tensor([batch, channels], "int16", scale=d.uniform(0.001, 0.02), zero_point=0)
    if d.variant == "saturating":
        y.scale = np.float32(y.scale * 1e-3)
    operands = Tensor([batch, depth], "int8" if d.variant == "wrong operands" else "uint8", scale=x.scale, zero_point=0)
    options = {"fused_activation_function": d.activation(), "weights_format": "SHUFFLED4x16INT8"}
    model = Model.single("FULLY_CONNECTED", [x, w, b], [y, operands], 2, **options)
    return d.case(model, lambda: [d.values(x)], refused=d.variant == "wrong operands")


@cases("FULLY_CONNECTED", dtypes=("hybrid4",), variants=("blocks", "blocks short"))
def fully_connected_blocks(d):
    """float16 scales for each block of a row. Rows that the optimized kernel does not pack have a scale of 0."""
    size = d.choice(16, 32, 64)
    depth = d.choice(7, 20) if d.variant == "blocks short" else size * d.width(2, 4)
    batch = d.choice(d.between(1, 4), d.between(5, 20))
    channels = d.between(1, 3) if d.variant == "blocks short" else d.width(4, 12)
    model = Model()
    main = model.subgraph("main")
    blocks = max(1, depth // size)
    scales = Tensor.constant(d.rng.uniform(0.01, 0.1, [channels, blocks]).astype(np.float16))
    main.tensor(scales)
    details = ("BlockwiseQuantization", {"scales": main.index_of(scales), "zero_points": -1, "block_size": size})
    w = Tensor.constant(
        d.integers("int8", [channels, depth], -8, 7),
        "int4",
        quantization={"details": details, "quantized_dimension": 0},
    )
    inputs = [Tensor([batch, depth], "float32"), w, Tensor.constant(d.normal([channels])) if d.flag() else None]
    y = Tensor([batch, channels], "float32")
    main.op("FULLY_CONNECTED", inputs, [y], 13, fused_activation_function=d.activation())
    refused = None if d.variant == "blocks short" else False  # XNNPACK wants whole blocks
    return d.case(model, lambda: [d.values(inputs[0])], refused=refused)


@cases(
    "BATCH_MATMUL",
    dtypes=("float32", "int8", "int16"),
    variants=("random", "broadcast", "matrix", "constant", "rank 5"),
)
@cases("BATCH_MATMUL", dtypes=("float32", "int8", "int16"), variants=("special",))
@cases("BATCH_MATMUL", dtypes=("int8", "int16"), variants=("halves",))
@cases("BATCH_MATMUL", dtypes=("hybrid_i8",), variants=("random", "asymmetric", "matrix", "zero input"))
def batch_matmul(d):
    dtype = "float32" if d.dtype == "hybrid_i8" else d.dtype
    batch = [] if d.variant == "matrix" else d.shape(3 if d.variant == "rank 5" else d.between(1, 2), 3)
    m, k, n = d.widths(3, 12)
    adj_x, adj_y = d.flag(0.4), d.flag(0.4)
    batch_y = list(batch)
    if d.variant == "broadcast":
        adj_x = False  # TensorFlow leaves most of the output unwritten when both meet
        batch_y = [1 if d.flag() else size for size in batch][d.between(0, 1) :]
    x = d.tensor([*batch, k, m] if adj_x else [*batch, m, k], dtype)
    shape = [*batch_y, n, k] if adj_y else [*batch_y, k, n]
    constant = d.dtype == "hybrid_i8" or d.variant == "constant"
    if d.dtype == "hybrid_i8":
        w = Tensor.constant(d.values(shape, "int8"), scale=d.scale(), zero_point=0)
    else:
        w = d.tensor(shape, dtype)
        w.data = d.values(w) if constant else None
    y = d.tensor([*batch, m, n], dtype)
    if y.scale is not None:
        y.scale = np.float32(y.scale * 8)
    options = {"adj_x": adj_x, "adj_y": adj_y}
    if d.dtype == "hybrid_i8":
        options["asymmetric_quantize_inputs"] = d.variant == "asymmetric"

    def feed():
        values = d.values(x) * (d.choice(0, 1) if d.variant == "zero input" else 1)
        return [values.astype(dtype)] if constant else [values.astype(dtype), d.values(w)]

    return d.case(Model.single(d.op, [x, w], [y], 3, **options), feed)
