"""Prepare of the kernels that CMSIS-NN replaces: TFLM's checks and requests around the library's sizes.

Operators that are not here have the reference kernels' prepare. Persistent memory for multipliers and shifts is asked
for where a kernel is quantized, and not for float, where the reference kernels ask for it as well.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/cmsis_nn.
"""

from tflm_cy.micro import cmsis_nn
from tflm_cy.micro.cmsis_nn import Shape
from tflm_cy.micro.walks import pointwise, reducing, weighted
from tflm_cy.micro.walks.padding import dilation_of, padding_of
from tflm_cy.micro.walks.walk import single

_REAL_OR_INTEGER = "FLOAT32 INT16 INT8"


def _hybrid(w, source, kernel):
    w.types(source, _REAL_OR_INTEGER)
    w.types(f"{source} {kernel}", "FLOAT32>FLOAT32 INT16>INT8 INT8>INT4 INT8>INT8")


def _shape(tensor):
    return Shape(*tensor.shape)


def convolution(w):
    x, weights, y = w.open("i0 i1 o0")
    if w.tensor("o2") is not None:
        w.open("o2")  # the kernel takes the bias's number for an output's
    w.same_type("i0", "o0")
    _hybrid(w, "i0", "i1")
    for name in ("i0", "i1", "o0"):
        w.rank(name, 4)
    w.equal("the batch of output 0", y.shape[0], x.shape[0])
    w.ensure(weights.shape[3] > 0, "input 1 has no input channels")
    w.equal("the rest of input 0's channels over input 1's", x.shape[3] % weights.shape[3], 0)
    quantized = x.type != "FLOAT32"
    channels = weights.shape[0]
    if quantized:
        weighted.per_channel(w, channels)
    w.counts((2, 3))
    weighted.convolved(w, x, weights, "i0 i1 i2? o0", channels, quantized)
    if not quantized:
        return
    options = w.node.options
    stride, dilation = (options.stride_h, options.stride_w), dilation_of(w)
    if x.type == "INT16":
        w.zero_points("i0 o0")
        size = cmsis_nn.convolution_s16(w.machine.features, _shape(x), _shape(weights))
    else:
        size = cmsis_nn.convolution_s8(
            w.machine.features, _shape(x), _shape(weights), _shape(y), stride, padding_of(w, x, weights), dilation
        )
    if size > 0:
        w.scratch(size)


def depthwise_convolution(w):
    x, weights, y = w.open("i0 i1 o0")
    w.same_type("i0", "o0")
    _hybrid(w, "i0", "i1")
    channels = weights.shape[3]
    quantized = x.type != "FLOAT32"
    if quantized:
        w.quantized("i1")
        if x.type == "INT16":
            w.zero_points("i0 o0")
        weighted.scales_of(w, weights, channels, "i1")
        w.equal("the number of input 1's zero points", len(weights.zero_points), len(weights.scales))
        weighted.per_channel(w, channels)
    w.counts((2, 3))
    weighted.convolved(w, x, weights, "i0 i1 i2? o0", channels, quantized)
    if x.type != "INT8":
        return
    features, dilation = w.machine.features, dilation_of(w)
    source, result = _shape(x), Shape(x.shape[0], *y.shape[1:3], y.shape[3])
    window = Shape(1, *weights.shape[1:3], y.shape[3])
    if weights.type == "INT4":
        size = cmsis_nn.depthwise_s4(features, source, window, result, dilation)
    else:
        size = cmsis_nn.depthwise_s8(features, source, window, result, dilation, padding_of(w, x, weights))
    if size > 0:
        w.scratch(size)


def transposed_convolution(w):
    y, x, weights = w.open("o0 i2 i1")
    w.same_type("i2", "o0")
    w.types("i2", _REAL_OR_INTEGER)
    w.types("i2 i1", "FLOAT32>FLOAT32 INT16>INT8 INT8>INT8")
    _ = y.shape[2]
    channels = weights.shape[0]
    weighted.per_channel(w, channels)
    options = w.node.options
    if x.type == "INT8":
        window = Shape(y.shape[3], *weights.shape[1:3], x.shape[3])
        sizes = cmsis_nn.transposed_s8(
            w.machine.features, _shape(x), window, _shape(y), (options.stride_h, options.stride_w)
        )
        for size in sizes:
            w.scratch(size)  # also one of no bytes
    if x.type == "INT16":
        w.scratch(8 * y.elements)
    if x.type != "FLOAT32":
        w.quantized("i1")
        weighted.scales_of(w, weights, channels, "i1")
        w.equal("the number of input 1's zero points", len(weights.zero_points), len(weights.scales))
    w.counts((3, 4))
    if x.type != "FLOAT32":
        weighted.convolved(w, x, weights, "i2 i1 i3? o0", channels, True)
        weighted.widened_bias(w, x)


def fully_connected(w):
    x, weights, bias, y = w.open("i0 i1 i2? o0")
    w.same_type("i0", "o0")
    _hybrid(w, "i0", "i1")
    if x.type == "FLOAT32":
        return
    weighted.multipliers(w, x, weights, bias, y)
    if len(weights.scales) > 1:
        w.types("i0", "INT8")
    if x.type == "INT16":
        w.zero_points("i0 o0")
        return
    if weights.type == "INT4":
        return
    outputs = y.shape[-1]
    if y.rank > 2 and weights.shape[-1] % 4 == 0:  # runs as a 1x1 convolution, which has a scale per channel
        if len(weights.scales) <= 1:
            w.scratch(8 * outputs)
        return
    size = cmsis_nn.product_s8(w.machine.features, outputs)
    if not size:
        return
    if weights.constant and (bias is None or bias.constant):
        w.keep(size)
    else:
        w.scratch(size)


def batch_matmul(w):
    w.counts(2)
    left, right, y = w.open("i0 i1 o0")
    w.same_type("i0", "i1")
    w.same_type("i0", "o0")
    w.types("i0", _REAL_OR_INTEGER)
    w.rank("i0", 2, 4)
    w.rank("i1", 2, 4)
    rank, columns = weighted.matched(w, left, right)
    weighted.turned(w, left, right)
    weighted.product_shape(w, left, right, y, rank)
    if left.type == "FLOAT32":
        return
    w.keep(w.machine.op_data["BATCH_MATMUL_quantized"])
    w.ensure(single(left.scale) * single(right.scale) >= 0, "the product of the inputs' scales is negative")
    if left.type == "INT16":
        w.zero_points("i0 i1 o0")
        return
    size = cmsis_nn.product_s8(w.machine.features, columns)
    if size:
        w.scratch(size)


def svdf(w):
    weighted.svdf(w)
    x, features = w.tensor("i0"), w.tensor("i1")
    if x.type == "INT8":
        size = cmsis_nn.product_s8(w.machine.features, features.shape[0])
        if size:
            w.constant("i1")
            w.keep(size)


def lstm(w):
    for i in (*range(1, 9), *range(12, 16)):
        if w.tensor(f"i{i}") is not None:
            w.constant(f"i{i}")
    batch, units, cell, source = weighted.lstm_gates(w)
    quantized = source in ("INT8", "INT16") and cell.type == "INT16"
    if quantized:
        for _ in range(8):  # sums of weights, for the input and the state of each gate
            w.keep(units * (4 if source == "INT8" else 8))
    for _ in range(3 if quantized else 4):
        w.scratch(batch * units * cell.element_bytes)


def average_pool(w):
    reducing.pool(w)
    x, _ = w.open("i0 o0")
    if x.type in ("INT8", "INT16"):
        size = cmsis_nn.average_pool(w.machine.features, x.shape[3])
        if size:
            w.scratch(size)


def add(w):
    a, _, _ = w.open("i0 i1 o0")
    w.same_type("i0", "o0")
    w.types("i0", "FLOAT32 INT32 INT16 INT8")
    w.same_type("i0", "i1")
    if a.type == "INT16":
        w.zero_points("i0 i1 o0")
    pointwise.added(w)


WALKS = {
    "ADD": add,
    "AVERAGE_POOL_2D": average_pool,
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise_convolution,
    "FULLY_CONNECTED": fully_connected,
    "SVDF": svdf,
    "TRANSPOSE_CONV": transposed_convolution,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
}

# operator -> types of input 0 that the library computes; others run the reference kernels
REPLACED = {
    "ADD": "INT8 INT16",
    "AVERAGE_POOL_2D": "INT8 INT16",
    "BATCH_MATMUL": "INT8 INT16",
    "CONV_2D": "INT8 INT16",
    "DEPTHWISE_CONV_2D": "INT8 INT16",
    "FULLY_CONNECTED": "INT8 INT16",
    "MAXIMUM": "INT8",
    "MAX_POOL_2D": "INT8 INT16",
    "MINIMUM": "INT8",
    "MUL": "INT8 INT16",
    "PAD": "INT8",
    "PADV2": "INT8",
    "SOFTMAX": "INT8 INT16",
    "SVDF": "INT8",
    "TRANSPOSE": "INT8",
    "TRANSPOSE_CONV": "INT8",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "INT8 INT16",
}
