"""What each kernel of TFLM asks of the arena, without running it.

    >>> list(kernel_of("CONV_2D").prepare(node, target))         # doctest: +SKIP
    [Request(size=32, scratch=False), Request(size=32, scratch=False)]

`kernel_of(op)` names the struct of the builtin options, the op data that init allocates, what init allocates after it,
and what prepare asks for, each in the order of the calls. A Request is persistent (the arena's tail, aligned to 16) or
scratch (planned with the tensors, alive during its node only). Temporary tensors of prepare are not among them: they
are released before the next node.

Read from and checked against the portable reference kernels of tensorflow/tflite-micro:tensorflow/lite/micro/kernels.
An operator that is not here is none of TFLM's.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tflm_cy.micro.graph_view import Node
from tflm_cy.micro.target import Target

MOST_SCRATCH = 12  # requests of one node

# Kernels whose prepare opens its tensors while the one that called it has them open: counts in tiny models only.
OPENED_TWICE = (
    *("CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "LOGISTIC", "TANH"),
    *("MEAN", "SUM", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN"),
)


class Request(NamedTuple):
    """One call of AllocatePersistentBuffer or RequestScratchBufferInArena."""

    size: int
    scratch: bool = False


Asks = Callable[[Node, Target], Iterator[Request]]


class Kernel(NamedTuple):
    """What one operator allocates; `op_data` and `options` name rows of `target`."""

    options: str | None = None
    op_data: str | None = None
    prepare: Asks | None = None
    init: Asks | None = None


def scratch(size):
    return Request(size, True)


def dimensions(tensor):
    """A tensor's array of dimensions, moved into the arena so that it can be changed: a count and an int per axis."""
    return Request(4 + 4 * tensor.rank)


def kernel_of(op):
    """The Kernel of an operator; ValueError when TFLM has none."""
    from tflm_cy.micro.signal_requests import CUSTOM_KERNELS

    kernel = KERNELS.get(op) or CUSTOM_KERNELS.get(op)
    if kernel is None:
        raise ValueError(f"TFLM has no operator {op}")
    return kernel


def _output_dimensions(node, target):
    yield dimensions(node.output(0))


def _per_channel(channels):
    """Multipliers and shifts, an int32 each."""
    yield Request(4 * channels)
    yield Request(4 * channels)


def _conv_2d(node, target):
    weights = node.input(1)
    yield from _per_channel(weights.shape[0])  # for float too
    if weights.type == "INT4":
        yield scratch(weights.elements)  # unpacked


def _depthwise_conv_2d(node, target):
    weights = node.input(1)
    if weights.type == "INT4":
        yield scratch(weights.elements)
    yield from _per_channel(weights.shape[3])


def _transpose_conv(node, target):
    yield from _per_channel(node.input(1).shape[0])
    bias = node.input(3)
    kind = node.input(2).type
    if kind in ("INT8", "INT16"):
        yield scratch((4 if kind == "INT8" else 8) * node.output(0).elements)  # accumulators
    if kind == "INT16" and bias is not None and bias.type == "INT16":
        yield scratch(8 * bias.elements)


def _fully_connected(node, target):
    weights = node.input(1)
    if weights.type == "INT4":
        yield scratch(weights.elements)
    if node.input(0).type != "FLOAT32" and len(weights.scales) > 1:
        yield from _per_channel(len(weights.scales))


def _svdf(node, target):
    weights = node.input(1)
    batch, filters = node.input(0).shape[0], weights.shape[0]
    if node.options.rank < 1:
        raise ValueError(f"{node} has rank {node.options.rank}")
    yield scratch(4 * batch * filters)
    if weights.type == "INT8":
        yield scratch(4 * batch * (filters // node.options.rank))


def _lstm(node, target):
    batch = node.input(0).shape[1 if node.options.time_major else 0]
    units = node.input(18).shape[1]
    for _ in range(4):  # a gate each
        yield scratch(batch * units * node.input(19).element_bytes)


def _softmax(node, target):
    if node.input(0).type == "INT16":
        yield Request(2 * 513)  # tables of exp and 1 / (1 + x)
        yield Request(2 * 513)


def _reduction(node, target):
    """The walk's index and the axes, resolved."""
    yield scratch(4 * node.input(0).rank)
    yield scratch(4 * node.input(1).elements)


def _mean_or_sum(node, target):
    if node.input(0).type in ("INT8", "INT16"):
        yield scratch(4 * node.output(0).elements)  # sums
    yield from _reduction(node, target)


def _mirror_pad(node, target):
    yield scratch(4 * node.input(0).rank)
    yield scratch(4 * node.input(0).rank)


def _add_n(node, target):
    if node.output(0).type == "INT8":
        yield Request(target.op_data["ADD_N"])
    yield scratch(target.size("pointer") * len(node.inputs))


def _batch_matmul(node, target):
    left, right = node.input(0), node.input(1)
    if left.type in ("INT8", "INT16"):
        yield Request(target.op_data["BATCH_MATMUL_quantized"])
    # the kernel wants rows times rows: each side that does not lie so is copied, a constant one too
    for side, turned in ((left, node.options.adj_x), (right, not node.options.adj_y)):
        if turned:
            yield Request(target.size("TfLiteEvalTensor"))
            yield dimensions(side)
            yield Request(side.nbytes)
    yield dimensions(node.output(0))


def _cumsum(node, target):
    if node.output(0).type == "INT8":
        yield Request(target.op_data["CUMSUM"])


def _log_softmax(node, target):
    if node.output(0).type == "INT8":
        yield Request(target.op_data["LOG_SOFTMAX"])


def _embedding_lookup(node, target):
    yield Request(target.op_data["EMBEDDING_LOOKUP"])
    yield dimensions(node.output(0))


_NOTHING = (
    "BATCH_TO_SPACE_ND BROADCAST_ARGS BROADCAST_TO CEIL COS DYNAMIC_UPDATE_SLICE EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV "
    "FLOOR_MOD LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR MAXIMUM MINIMUM NEG READ_VARIABLE REVERSE_V2 ROUND SIN SLICE "
    "SQRT SQUARE TRANSPOSE ZEROS_LIKE"
)
_COMPARISONS = "EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL"

KERNELS = {
    **{op: Kernel() for op in _NOTHING.split()},
    **{op: Kernel(op_data="COMPARISON") for op in _COMPARISONS.split()},
    "ABS": Kernel(op_data="ABS"),
    "ADD": Kernel("Add", "ADD"),
    "ADD_N": Kernel(prepare=_add_n),
    "ARG_MAX": Kernel("ArgMax"),
    "ARG_MIN": Kernel("ArgMin"),
    "ASSIGN_VARIABLE": Kernel(op_data="ASSIGN_VARIABLE"),  # what its prepare asks for depends on other nodes: figures
    "AVERAGE_POOL_2D": Kernel("Pool", "AVERAGE_POOL_2D"),
    "BATCH_MATMUL": Kernel("BatchMatMul", "BATCH_MATMUL", _batch_matmul),
    "CALL_ONCE": Kernel("CallOnce", "CALL_ONCE"),
    "CAST": Kernel("Cast"),
    "CONCATENATION": Kernel("Concatenation", "CONCATENATION"),
    "CONV_2D": Kernel("Conv", "CONV_2D", _conv_2d),
    "CUMSUM": Kernel("Cumsum", prepare=_cumsum),
    "DEPTHWISE_CONV_2D": Kernel("DepthwiseConv", "CONV_2D", _depthwise_conv_2d),
    "DEPTH_TO_SPACE": Kernel("DepthToSpace", prepare=_output_dimensions),
    "DEQUANTIZE": Kernel(op_data="DEQUANTIZE"),
    "DIV": Kernel("Div", "DIV"),
    "ELU": Kernel(op_data="ELU"),
    "EMBEDDING_LOOKUP": Kernel(prepare=_embedding_lookup),
    "FULLY_CONNECTED": Kernel("FullyConnected", "FULLY_CONNECTED", _fully_connected),
    "GATHER": Kernel("Gather", prepare=_output_dimensions),
    "GATHER_ND": Kernel(prepare=_output_dimensions),
    "HARD_SWISH": Kernel(op_data="HARD_SWISH"),
    "IF": Kernel("If", "IF"),
    "L2_NORMALIZATION": Kernel("L2Norm", "L2_NORMALIZATION"),
    "L2_POOL_2D": Kernel("Pool", prepare=_output_dimensions),
    "LEAKY_RELU": Kernel("LeakyRelu", "LEAKY_RELU"),
    "LOGISTIC": Kernel(op_data="LOGISTIC"),
    "LOG_SOFTMAX": Kernel(prepare=_log_softmax),
    "MAX_POOL_2D": Kernel("Pool", "AVERAGE_POOL_2D"),
    "MEAN": Kernel("Reducer", "REDUCE", _mean_or_sum),
    "MIRROR_PAD": Kernel("MirrorPadding", "MIRROR_PAD", _mirror_pad),
    "MUL": Kernel("Mul", "MUL"),
    "PACK": Kernel("Pack"),
    "PAD": Kernel(op_data="PAD"),
    "PADV2": Kernel(op_data="PAD"),
    "PRELU": Kernel(op_data="PRELU"),
    "QUANTIZE": Kernel(op_data="QUANTIZE"),
    "REDUCE_ALL": Kernel("Reducer", "REDUCE", _reduction),
    "REDUCE_MAX": Kernel("Reducer", "REDUCE", _reduction),
    "REDUCE_MIN": Kernel("Reducer", "REDUCE", _reduction),
    "RELU": Kernel(op_data="RELU"),
    "RELU6": Kernel(op_data="RELU6"),
    "RESHAPE": Kernel("Reshape"),
    "RESIZE_BILINEAR": Kernel("ResizeBilinear"),
    "RESIZE_NEAREST_NEIGHBOR": Kernel("ResizeNearestNeighbor"),
    "RSQRT": Kernel(op_data="ABS"),
    "SELECT_V2": Kernel(op_data="SELECT_V2"),
    "SHAPE": Kernel("Shape"),
    "SOFTMAX": Kernel("Softmax", "SOFTMAX", _softmax),
    "SPACE_TO_BATCH_ND": Kernel(op_data="SPACE_TO_BATCH_ND"),
    "SPACE_TO_DEPTH": Kernel("SpaceToDepth", prepare=_output_dimensions),
    "SPLIT": Kernel("Split"),
    "SPLIT_V": Kernel("SplitV"),
    "SQUARED_DIFFERENCE": Kernel(op_data="SQUARED_DIFFERENCE"),
    "SQUEEZE": Kernel("Squeeze"),
    "STRIDED_SLICE": Kernel("StridedSlice", "STRIDED_SLICE"),
    "SUB": Kernel("Sub", "SUB"),
    "SUM": Kernel("Reducer", "REDUCE", _mean_or_sum),
    "SVDF": Kernel("SVDF", "SVDF", _svdf),
    "TANH": Kernel(op_data="TANH"),
    "TRANSPOSE_CONV": Kernel("TransposeConv", "TRANSPOSE_CONV", _transpose_conv),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel("UnidirectionalSequenceLSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", _lstm),
    "UNPACK": Kernel("Unpack"),
    "VAR_HANDLE": Kernel("VarHandle", "VAR_HANDLE"),
    "WHILE": Kernel("While", "WHILE"),
}
