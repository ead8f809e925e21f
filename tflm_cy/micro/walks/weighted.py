"""Operators with weights: convolutions, products of matrices, recurrent ones."""

import numpy as np

from tflm_cy.micro.walks.walk import single

_HYBRID = "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8"


def convolution(w):
    y, x, weights = w.open("o0 i0 i1")
    w.same_type("i0", "o0")
    w.types("i0 i1", _HYBRID)
    _ = x.shape[2], y.shape[2], weights.shape[2]
    channels = weights.shape[0]
    per_channel(w, channels)
    if x.type in ("INT8", "INT16"):
        w.quantized("i1")
        scales_of(w, weights, channels, "i1")
    w.counts((2, 3))
    convolved(w, x, weights, "i0 i1 i2? o0", channels, x.type != "FLOAT32")
    if weights.type == "INT4":
        w.scratch(weights.elements)  # unpacked


def depthwise_convolution(w):
    y, x, weights = w.open("o0 i0 i1")
    _ = x.shape[2], y.shape[2]
    channels = weights.shape[3]
    per_channel(w, channels)
    if x.type == "INT8":
        w.quantized("i1")
        scales_of(w, weights, channels, "i1")
        w.equal("the number of input 1's zero points", len(weights.zero_points), len(weights.scales))
    if x.type != weights.type:
        w.types("i0 i1", _HYBRID)
    if weights.type == "INT4":
        w.scratch(weights.elements)
    w.counts((2, 3))
    convolved(w, x, weights, "i0 i1 i2? o0", channels, x.type != "FLOAT32")


def transposed_convolution(w):
    y, x, weights = w.open("o0 i2 i1")
    if x.type != weights.type:
        w.types("i2 i1", "FLOAT32>FLOAT32 INT8>INT8 INT16>INT8 INT16>INT16")
    _ = y.shape[2], weights.shape[2]
    channels = weights.shape[0]
    per_channel(w, channels)
    if x.type in ("INT8", "INT16"):
        w.scratch((4 if x.type == "INT8" else 8) * y.elements)  # accumulators
        w.quantized("i1")
        scales_of(w, weights, channels, "i1")
        w.equal("the number of input 1's zero points", len(weights.zero_points), len(weights.scales))
    w.counts((3, 4))
    if x.type != "FLOAT32":
        convolved(w, x, weights, "i2 i1 i3? o0", channels, True)
        widened_bias(w, x)


def widened_bias(w, x):
    """An INT16 bias of a transposed convolution is copied as int64."""
    bias = w.tensor("i3")
    if x.type == "INT16" and bias is not None and bias.type == "INT16":
        w.scratch(8 * bias.elements)


def per_channel(w, channels):
    """Multipliers and shifts, an int32 each, for float too."""
    w.keep(4 * channels)
    w.keep(4 * channels)


def scales_of(w, weights, channels, name):
    w.ensure(
        len(weights.scales) in (1, channels),
        f"input {name[1:]} has {len(weights.scales)} scales; TFLM wants 1 or one for each of its {channels} channels",
    )


def convolved(w, x, weights, names, channels, quantized):
    """CalculateOpData: the tensors are opened again, and the scales looked at."""
    x, _, bias, y = w.open(names)
    if not quantized:
        return
    source, kernel = names.split()[:2]
    w.quantized(f"{source} {kernel}")
    if len(weights.scales) > 1:
        w.types(source, "INT8 INT16")
        w.types(kernel, "INT8 INT4")
        w.equal(f"the number of input {kernel[1:]}'s scales", len(weights.scales), channels)
        w.equal(f"the number of channels along axis {weights.axis}", weights.shape[weights.axis], channels)
    if x.type == "UINT8":
        _bias_scale(w, x, weights, bias, y)
    if x.type in ("INT8", "UINT8", "INT16"):
        w.activation_range(y)


def _bias_scale(w, x, weights, bias, y):
    """The product of scales, and the bias's beside it."""
    if bias is not None:
        product = float(x.scale) * float(weights.scale)
        with np.errstate(all="ignore"):
            off = float(np.divide(abs(product - float(bias.scale)), float(y.scale)))
        w.ensure(
            off <= 0.02,
            f"the bias's scale {bias.scale:g} is not the product {product:g} of the input's and the weights' scales",
        )
    w.ensure(
        single(x.scale) * single(weights.scale) >= 0, "the product of the input's and the weights' scales is negative"
    )


def fully_connected(w):
    x, weights, bias, y = w.open("i0 i1 i2? o0")
    w.same_type("i0", "o0")
    allowed = {"FLOAT32": ("FLOAT32",), "INT8": ("INT8", "INT4"), "INT16": ("INT8",)}.get(x.type)
    if allowed and weights.type not in allowed:
        w.types("i0 i1", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8")
    if weights.type == "INT4":
        w.scratch(weights.elements)
    if x.type != "FLOAT32":
        multipliers(w, x, weights, bias, y)


def multipliers(w, x, weights, bias, y):
    """CalculateOpDataFullyConnected: a multiplier and a shift, or one of each per output."""
    if len(weights.scales) > 1:
        w.types("i0", "INT8 INT16")
        w.ensure(weights.type != "INT4", "TFLM has no scale per channel for INT4")
        w.equal("the number of input 1's scales", len(weights.scales), weights.shape[weights.axis])
        per_channel(w, len(weights.scales))
    else:
        _bias_scale(w, x, weights, bias, y)
    w.activation_range(y)


def batch_matmul(w):
    w.counts(2)
    left, right, y = w.open("i0 i1 o0")
    w.types("i0 i1", "FLOAT32>FLOAT32 INT8>INT8 INT16>INT16")
    w.same_type("i0", "o0")
    w.rank("i0", 2, 5)
    w.rank("i1", 2, 5)
    quantized = left.type in ("INT8", "INT16")
    if quantized:
        w.keep(w.machine.op_data["BATCH_MATMUL_quantized"])
    turned(w, left, right)
    if quantized:
        w.ensure(single(left.scale) * single(right.scale) >= 0, "the product of the inputs' scales is negative")
        if left.type == "INT16":
            w.zero_points("i0 i1 o0")
    rank, _ = matched(w, left, right)
    product_shape(w, left, right, y, rank)


def turned(w, left, right):
    """The kernel wants rows times rows: each side that does not lie so is copied, a constant one too."""
    options = w.node.options
    for side, copied in ((left, options.adj_x), (right, not options.adj_y)):
        if copied:
            w.keep(w.machine.size("TfLiteEvalTensor"))
            w.keep_dimensions(side)
            w.keep(side.nbytes)


def _aligned(left, right):
    """The shapes with one rank."""
    rank = max(left.rank, right.rank)
    return ((1,) * (rank - t.rank) + t.shape for t in (left, right))


def matched(w, left, right):
    """(rank of the product, its columns)."""
    options = w.node.options
    a, b = _aligned(left, right)
    for p, q in zip(a[:-2], b[:-2], strict=True):
        w.ensure(p == q or 1 in (p, q), f"{left.shape} and {right.shape} do not broadcast")
    inner = (a[-2] if options.adj_x else a[-1], b[-1] if options.adj_y else b[-2])
    w.ensure(inner[0] == inner[1], f"{left.shape} and {right.shape} do not fit: {inner[0]} columns, {inner[1]} rows")
    return len(a), b[-2] if options.adj_y else b[-1]


def product_shape(w, left, right, y, rank):
    """Output 0 gets the product's shape."""
    options = w.node.options
    a, b = _aligned(left, right)
    w.ensure(rank <= y.rank, f"output 0 has {y.rank} dimensions, TFLM finds {rank}")
    w.keep_dimensions(y)
    batches = [p if q == 1 else q for p, q in zip(a[:-2], b[:-2], strict=True)]
    wanted = (*batches, a[-1] if options.adj_x else a[-2], b[-2] if options.adj_y else b[-1])
    w.ensure(int(np.prod(wanted)) == y.elements, f"the output's shape is {y.shape}, TFLM finds {wanted}")


def svdf(w):
    x, features, times, bias, state = w.open("i0 i1 i2 i3? i4")
    rank = w.node.options.rank
    w.ensure(rank >= 1, f"it has rank {rank}")
    batch, size, filters, memory = x.shape[0], x.shape[1], features.shape[0], times.shape[1]
    w.ensure(filters % rank == 0, f"{filters} filters are no multiple of rank {rank}")
    units = filters // rank
    w.types("i0", "FLOAT32 INT8")
    w.rank("i0", 2)
    w.counts(None, 1)
    w.open("o0")
    w.shape("o0", (batch, units))
    w.shape("i1", (filters, size))
    w.shape("i2", (filters, memory))
    if bias is not None:
        w.equal("the size of input 3", bias.shape[0], units)
    w.shape("i4", (batch, memory * filters))
    w.ensure(state.variable, "input 4 (the state) is no variable")
    w.counts(5)
    if x.type == "INT8":
        w.types("i1", "INT8")
        w.types("i2", "INT16 INT8")
        w.types("i4", "INT16 INT8")
        if bias is not None:
            w.types("i3", "INT32")
        w.types("o0", "INT8")
        product = float(single(state.scale) * single(times.scale))
        w.ensure(bias is not None, "it has no bias (input 3), which TFLM wants of INT8")
        w.ensure(
            abs(bias.scale - product) < 1e-5,
            f"the bias's scale {bias.scale:g} is not {product:g}, the state's times input 2's",
        )
        w.scratch(4 * batch * filters)
        w.scratch(4 * batch * units)
        return
    for name in ("i1", "i2", "i4", "o0"):
        w.types(name, "FLOAT32")
    if bias is not None:
        w.types("i3", "FLOAT32")
    w.scratch(4 * batch * filters)


def lstm(w):
    batch, units, cell, _ = lstm_gates(w)
    for _ in range(4):  # a gate each
        w.scratch(batch * units * cell.element_bytes)


def lstm_gates(w):
    """(batch, units, the tensor of the cells, the input's type), when all gates are prepared."""
    w.counts(24)
    w.open(" ".join(f"i{i}?" for i in range(24)) + " o0?")
    x, state, cell, y = (w.tensor(name) for name in ("i0", "i18", "i19", "o0"))
    for name, tensor in (("input 0", x), ("input 18 (its state)", state), ("input 19 (the cells' state)", cell)):
        w.ensure(tensor is not None, f"{name} is missing")
    w.ensure(state.variable, "input 18 (its state) is no variable")
    w.same_type("i0", "i18")
    w.ensure(cell.variable, "input 19 (the cells' state) is no variable")
    w.ensure(y is not None, "output 0 is missing")
    w.same_type("i0", "o0")
    for first, last, base, what in ((1, 9, "i2", "weights"), (12, 16, "i13", "bias")):
        for i in range(first, last):
            w.ensure(w.tensor(f"i{i}") is not None, f"input {i} ({what}) is missing; TFLM has no LSTM without it")
            w.same_type(base, f"i{i}")
    for first, last, what in ((9, 12, "peepholes"), (16, 18, "a projection"), (20, 24, "layer normalization")):
        for i in range(first, last):
            w.ensure(w.tensor(f"i{i}") is None, f"it has {what} (input {i}), which TFLM's LSTM has not")
    major = w.node.options.time_major
    batch, size, units = x.shape[1 if major else 0], x.shape[2], state.shape[1]
    for i in range(1, 9):
        w.shape(f"i{i}", (units, size if i < 5 else units))
    for i in range(12, 16):
        w.shape(f"i{i}", (units,))
    w.equal("the size of input 18 (its state)", state.elements, batch * units)
    w.equal("the size of input 19 (the cells' state)", cell.elements, batch * units)
    w.shape("o0", (*x.shape[:2], units))
    w.types("i19", "FLOAT32 INT16")
    if cell.type == "INT16":
        for i in (2, 6, 1, 5, 3, 7, 4, 8):
            _gate(w, i)
    return batch, units, cell, x.type


def _gate(w, i):
    """CalculateOpDataFullyConnected of one gate's weights: INT16 results."""
    weights, source = w.tensor(f"i{i}"), w.tensor("i0" if i < 5 else "i18")
    if source.type == "FLOAT32":
        return
    if len(weights.scales) > 1:
        w.ensure(source.type in ("INT8", "INT16") and weights.type != "INT4", f"input {i} has several scales")
        w.equal(f"the number of input {i}'s scales", len(weights.scales), weights.shape[weights.axis])
        per_channel(w, len(weights.scales))


def embedding_lookup(w):
    w.counts(2)
    lookup = w.open("i0")
    w.rank("i0", 1)
    w.types("i0", "INT32")
    value = w.open("i1")
    w.ensure(value.rank >= 2, f"input 1 has {value.rank} dimensions; TFLM wants 2 or more")
    w.types("i1", "FLOAT32 INT8")
    y = w.open("o0")
    w.types("o0", "FLOAT32" if value.type == "FLOAT32" else "FLOAT32 INT8")
    w.ensure(y.rank >= value.rank, f"output 0 has {y.rank} dimensions, input 1 {value.rank}")
    w.keep_dimensions(y)
    shape = (lookup.shape[0], *value.shape[1:], *y.shape[value.rank :])
    w.ensure(int(np.prod(shape)) * y.element_bytes <= y.nbytes, f"output 0 has the shape {y.shape}; TFLM finds {shape}")
    w.keep(w.machine.op_data["EMBEDDING_LOOKUP"])
    if value.type == "INT8" and y.type == "FLOAT32":
        w.zero_points("i1")


WALKS = {
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise_convolution,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "FULLY_CONNECTED": fully_connected,
    "SVDF": svdf,
    "TRANSPOSE_CONV": transposed_convolution,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
}
