"""What each kernel of TFLM asks of the arena before its prepare, without running it.

    >>> kernel_of("CONV_2D")
    Kernel(options='Conv', op_data='CONV_2D', prepare=None, init=None)

`kernel_of(op)` names the struct of the builtin options, the op data that init allocates, and what init allocates after
it. What prepare asks for is walked (`walks`); an operator without a walk may say it here, as `prepare`. A Request is
persistent (the arena's tail, aligned to 16) or scratch (planned with the tensors, alive during its node only).

Read from and checked against the portable reference kernels of tensorflow/tflite-micro:tensorflow/lite/micro/kernels.
An operator that is not here is none of TFLM's.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tflm_cy.micro.graph_view import Node
from tflm_cy.micro.target import Target

MOST_SCRATCH = 12  # requests of one node


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


def kernel_of(op):
    """The Kernel of an operator; ValueError when TFLM has none."""
    from tflm_cy.micro.signal_requests import CUSTOM_KERNELS

    kernel = KERNELS.get(op) or CUSTOM_KERNELS.get(op)
    if kernel is None:
        raise ValueError(f"TFLM has no operator {op}")
    return kernel


def has_kernel(op, custom=False):
    """Whether TFLM has an operator; a custom one may have any name, also a builtin one's."""
    try:
        kernel_of(op)
    except ValueError:
        return False
    return not (custom and op in KERNELS)


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
    "ADD_N": Kernel(),
    "ARG_MAX": Kernel("ArgMax"),
    "ARG_MIN": Kernel("ArgMin"),
    "ASSIGN_VARIABLE": Kernel(op_data="ASSIGN_VARIABLE"),  # what its prepare asks for depends on other nodes: figures
    "AVERAGE_POOL_2D": Kernel("Pool", "AVERAGE_POOL_2D"),
    "BATCH_MATMUL": Kernel("BatchMatMul", "BATCH_MATMUL"),
    "CALL_ONCE": Kernel("CallOnce", "CALL_ONCE"),
    "CAST": Kernel("Cast"),
    "CONCATENATION": Kernel("Concatenation", "CONCATENATION"),
    "CONV_2D": Kernel("Conv", "CONV_2D"),
    "CUMSUM": Kernel("Cumsum"),
    "DEPTHWISE_CONV_2D": Kernel("DepthwiseConv", "CONV_2D"),
    "DEPTH_TO_SPACE": Kernel("DepthToSpace"),
    "DEQUANTIZE": Kernel(op_data="DEQUANTIZE"),
    "DIV": Kernel("Div", "DIV"),
    "ELU": Kernel(op_data="ELU"),
    "EMBEDDING_LOOKUP": Kernel(),
    "FULLY_CONNECTED": Kernel("FullyConnected", "FULLY_CONNECTED"),
    "GATHER": Kernel("Gather"),
    "GATHER_ND": Kernel(),
    "HARD_SWISH": Kernel(op_data="HARD_SWISH"),
    "IF": Kernel("If", "IF"),
    "L2_NORMALIZATION": Kernel("L2Norm", "L2_NORMALIZATION"),
    "L2_POOL_2D": Kernel("Pool"),
    "LEAKY_RELU": Kernel("LeakyRelu", "LEAKY_RELU"),
    "LOGISTIC": Kernel(op_data="LOGISTIC"),
    "LOG_SOFTMAX": Kernel(),
    "MAX_POOL_2D": Kernel("Pool", "AVERAGE_POOL_2D"),
    "MEAN": Kernel("Reducer", "REDUCE"),
    "MIRROR_PAD": Kernel("MirrorPadding", "MIRROR_PAD"),
    "MUL": Kernel("Mul", "MUL"),
    "PACK": Kernel("Pack"),
    "PAD": Kernel(op_data="PAD"),
    "PADV2": Kernel(op_data="PAD"),
    "PRELU": Kernel(op_data="PRELU"),
    "QUANTIZE": Kernel(op_data="QUANTIZE"),
    "REDUCE_ALL": Kernel("Reducer", "REDUCE"),
    "REDUCE_MAX": Kernel("Reducer", "REDUCE"),
    "REDUCE_MIN": Kernel("Reducer", "REDUCE"),
    "RELU": Kernel(op_data="RELU"),
    "RELU6": Kernel(op_data="RELU6"),
    "RESHAPE": Kernel("Reshape"),
    "RESIZE_BILINEAR": Kernel("ResizeBilinear"),
    "RESIZE_NEAREST_NEIGHBOR": Kernel("ResizeNearestNeighbor"),
    "RSQRT": Kernel(op_data="ABS"),
    "SELECT_V2": Kernel(op_data="SELECT_V2"),
    "SHAPE": Kernel("Shape"),
    "SOFTMAX": Kernel("Softmax", "SOFTMAX"),
    "SPACE_TO_BATCH_ND": Kernel(op_data="SPACE_TO_BATCH_ND"),
    "SPACE_TO_DEPTH": Kernel("SpaceToDepth"),
    "SPLIT": Kernel("Split"),
    "SPLIT_V": Kernel("SplitV"),
    "SQUARED_DIFFERENCE": Kernel(op_data="SQUARED_DIFFERENCE"),
    "SQUEEZE": Kernel("Squeeze"),
    "STRIDED_SLICE": Kernel("StridedSlice", "STRIDED_SLICE"),
    "SUB": Kernel("Sub", "SUB"),
    "SUM": Kernel("Reducer", "REDUCE"),
    "SVDF": Kernel("SVDF", "SVDF"),
    "TANH": Kernel(op_data="TANH"),
    "TRANSPOSE_CONV": Kernel("TransposeConv", "TRANSPOSE_CONV"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel("UnidirectionalSequenceLSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
    "UNPACK": Kernel("Unpack"),
    "VAR_HANDLE": Kernel("VarHandle", "VAR_HANDLE"),
    "WHILE": Kernel("While", "WHILE"),
}
