"""Operators that compute each position, or each row, by itself, so that tensors of any rank can be cut there.

Inputs that have the output's size along both axes are cut, inputs that have one value there are taken as they are. An
operator that works along the axis behind the first (a softmax, a sum, a product of matrices) is cut along the first alone.
"""

from math import prod

from tflm_cy.micro.patchwise.operators import TileOperator, extent
from tflm_cy.micro.patchwise.windows import POINT, Whole

_UNARY = (
    "ABS CAST CEIL COS DEQUANTIZE ELU EXP FLOOR HARD_SWISH LEAKY_RELU LOG LOGICAL_NOT LOGISTIC NEG QUANTIZE RELU RELU6 "
    "RELU_N1_TO_1 ROUND RSQRT SIN SQRT SQUARE TANH"
)
_BINARY = (
    "ADD ADD_N DIV EQUAL FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM "
    "MUL NOT_EQUAL PRELU SELECT_V2 SQUARED_DIFFERENCE SUB"
)


def _elementwise(node, axis):
    out = node.output(0)
    sizes = extent(out, axis), extent(out, axis + 1)
    windows, columns = {}, True
    for i in range(len(node.inputs)):
        tensor = node.input(i)
        aligned = (*(1,) * (out.rank - tensor.rank), *tensor.shape, 1)[axis : axis + 2]
        if aligned == sizes and tensor.rank == out.rank and not tensor.constant:
            windows[i] = (POINT, POINT)
        elif aligned[0] == sizes[0] > 1:
            if tensor.constant or tensor.rank != out.rank or aligned[1] != 1:
                return None
            windows[i] = (POINT, Whole(1))
        elif aligned[1] == sizes[1] > 1:  # one row for all: it is taken as it is, and not cut
            columns = False
    return TileOperator(node, windows, columns)


def _joined(node, axis):
    """CONCATENATION along another axis than that of the rows."""
    along = node.options.axis % node.output(0).rank
    if along == axis or any(node.input(i).constant for i in range(len(node.inputs))):
        return None
    columns = along != axis + 1
    return TileOperator(
        node,
        {i: (POINT, POINT if columns else Whole(extent(node.input(i), axis + 1))) for i in range(len(node.inputs))},
        columns,
    )


def _same_front(node, axis):
    """What changes nothing of the axes up to those that are cut: RESHAPE, reductions of what lies behind them."""
    source, out = node.input(0), node.output(0)
    if source.shape[: axis + 1] != out.shape[: axis + 1]:
        return None
    return _cut(node, axis, source.shape[: axis + 2] == out.shape[: axis + 2] and source.rank > axis + 1)


def _cut(node, axis, columns, macs=0):
    """The first input is cut, along the second axis where `columns` permits it."""
    return TileOperator(node, {0: (POINT, POINT if columns else Whole(extent(node.input(0), axis + 1)))}, columns, macs)


def _reshape(node, axis):
    return _same_front(node, axis)


def _reduction(node, axis):
    source, axes = node.input(0), node.constant_values(1)
    if axes is None:
        return None
    axes = {a % source.rank for a in axes}
    if axis in axes or min(axes, default=axis) < axis:  # an axis in front would move those behind it
        return None
    return _same_front(node, axis) if axis + 1 not in axes else _cut(node, axis, False)


def _along_the_last(node, axis):
    """SOFTMAX and its like: over the last axis."""
    if axis >= node.input(0).rank - 1 or node.input(0).shape != node.output(0).shape:
        return None
    return _cut(node, axis, axis + 1 < node.input(0).rank - 1)


def _fully_connected(node, axis):
    source, weights, bias = node.input(0), node.input(1), node.input(2)
    if not weights.constant or (bias is not None and not bias.constant):
        return None
    if source.type == "FLOAT32" and weights.type != "FLOAT32":
        return None
    rank = source.rank
    if node.output(0).rank != rank or source.shape[:-1] != node.output(0).shape[:-1] or axis >= rank - 1:
        return None
    return _cut(node, axis, axis + 1 < rank - 1, _per_position(node, axis, prod(source.shape[:-1]) * weights.elements))


def _per_position(node, axis, macs):
    out = node.output(0)
    return macs // (extent(out, axis) * extent(out, axis + 1))


def _batch_matmul(node, axis):
    """Rows of the first factor, with all of the second; or matrices beside each other."""
    left, right, out = node.input(0), node.input(1), node.output(0)
    rank = out.rank
    if left.rank != rank or right.rank != rank or node.options.adj_x or left.shape[:-2] != out.shape[:-2]:
        return None
    macs = _per_position(node, axis, out.elements * left.shape[-1])
    if axis == rank - 2:
        if right.type != left.type:
            return None
        return _cut(node, axis, False, macs)
    if axis >= rank - 2 or right.shape[:-2] != out.shape[:-2]:
        return None
    columns = axis + 1 < rank - 2
    second = POINT if columns else Whole(extent(left, axis + 1))
    other = POINT if columns else Whole(extent(right, axis + 1))
    return TileOperator(node, {0: (POINT, second), 1: (POINT, other)}, columns, macs)


def _slice(node, axis):
    """A SLICE of the model that leaves the axes as they are."""
    begin, source, out = node.constant_values(1), node.input(0), node.output(0)
    if begin is None or node.constant_values(2) is None or begin[axis] or source.rank != out.rank:
        return None
    if source.shape[axis] != out.shape[axis]:
        return None
    columns = source.rank > axis + 1 and not begin[axis + 1] and source.shape[axis + 1] == out.shape[axis + 1]
    return _cut(node, axis, columns)


ROW_OPERATORS = {
    **dict.fromkeys((*_UNARY.split(), *_BINARY.split()), _elementwise),
    **dict.fromkeys(["MEAN", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN", "SUM"], _reduction),
    **dict.fromkeys(["L2_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX"], _along_the_last),
    "BATCH_MATMUL": _batch_matmul,
    "CONCATENATION": _joined,
    "FULLY_CONNECTED": _fully_connected,
    "RESHAPE": _reshape,
    "SLICE": _slice,
}
