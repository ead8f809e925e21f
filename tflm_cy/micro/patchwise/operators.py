"""Which operators can be computed tile by tile with equal bytes, and which part of an input a part of the output needs.

    >>> Window(extent=3, stride=2, before=1).reach(4, 6)         # output rows 4 and 5 read these input rows
    (7, 12)

Images are [batch, height, width, channels]. An operator can be tiled when each output value depends on a window of the
inputs at its own place, by the same arithmetic wherever the window lies. What stands outside of the image is written by
a PAD in front of the tile's operator: zero points for a convolution, the lowest value for a maximum. An average over a
window that leaves the image divides by the number of values inside, so there only SAME padding can stand for itself; a
hybrid convolution is not tiled, because it quantizes the whole input at once.
"""

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from typing import NamedTuple

import numpy as np

from tflm_cy.micro.graph_view import Node

HEIGHT, WIDTH = 1, 2  # axes of an image
SAME, VALID = 0, 1

TYPES = ("FLOAT32", "INT8", "INT16")  # that SLICE, PAD and CONCATENATION take, in TFLM too

_UNARY = "ABS HARD_SWISH LEAKY_RELU LOGISTIC NEG QUANTIZE DEQUANTIZE RELU RELU6 RELU_N1_TO_1 TANH ELU SQUARE CEIL FLOOR ROUND"
_BINARY = "ADD SUB MUL DIV MAXIMUM MINIMUM PRELU SQUARED_DIFFERENCE"
ELEMENTWISE = (*_UNARY.split(), *_BINARY.split())
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PADS = ("PAD", "PADV2")
WINDOWED = (*CONVOLUTIONS, *POOLS)


class Window(NamedTuple):
    """Along one axis: output position o reads the input positions from o * stride - before on, `extent` of them."""

    extent: int
    stride: int
    before: int

    def reach(self, first, end):
        """The input positions [first, end) that output positions [first, end) read; some may lie outside of the image."""
        return first * self.stride - self.before, (end - 1) * self.stride - self.before + self.extent


POINT = Window(1, 1, 0)


@dataclass(frozen=True)
class TileOperator:
    """An operator that can be tiled."""

    node: Node
    windows: dict[int, tuple[Window, Window]]  # position of an input that is cut -> along height, along width
    leaves_image: bool = False  # some window reads outside of the image

    @cached_property
    def output(self):
        """The output's tensor index."""
        return self.node.outputs[0]

    @cached_property
    def macs(self):
        """Multiplications per output position of one image plane."""
        shape = self.node.input(1).shape if self.node.op in CONVOLUTIONS else ()
        batches = self.node.output(0).shape[0]
        if self.node.op == "CONV_2D":
            return batches * prod(shape)
        return batches * prod(shape[1:]) if shape else 0


def tile_operator(node):
    """The TileOperator of a graph_view.Node; None when it cannot be tiled."""
    if len(node.outputs) != 1 or not _is_image(node.output(0)) or node.children or node.custom:
        return None
    try:
        found = _found(node)
    except (IndexError, AttributeError, TypeError, ZeroDivisionError, ValueError):  # not what its kernel expects
        return None
    if found is None or not all(_is_image(node.input(i)) for i in found.windows):
        return None
    return found


def _found(node):
    if node.op in ELEMENTWISE:
        return _elementwise(node)
    if node.op in CONVOLUTIONS:
        return _convolution(node)
    if node.op in POOLS:
        return _pool(node)
    if node.op in PADS:
        return _pad(node)
    if node.op == "CONCATENATION" and node.options.axis % 4 == 3:
        return TileOperator(node, dict.fromkeys(range(len(node.inputs)), (POINT, POINT)))
    return None


def _is_image(tensor):
    return (
        tensor is not None
        and tensor.rank == 4
        and tensor.type in TYPES
        and not tensor.variable
        and not tensor.constant
        and min(tensor.shape) > 0
    )


def _elementwise(node):
    """Inputs of the output's height and width are cut; what is one value along both is taken as it is."""
    _, height, width, _ = node.output(0).shape
    windows = {}
    for i in range(len(node.inputs)):
        tensor = node.input(i)
        plane = (1, 1, 1, 1, *tensor.shape)[-3:-1]
        if plane == (1, 1) and (height, width) != (1, 1):
            continue
        if plane != (height, width) or tensor.constant:
            return None
        windows[i] = (POINT, POINT)
    return TileOperator(node, windows) if windows else None


def _convolution(node):
    source, weights, bias = node.input(0), node.input(1), node.input(2)
    if not weights.constant or (bias is not None and not bias.constant):
        return None
    if source.type == "FLOAT32" and (weights.type != "FLOAT32" or not _finite(weights)):
        return None
    if node.op == "DEPTHWISE_CONV_2D" and weights.shape[0] != 1:
        return None
    options = node.options
    dilation = max(options.dilation_h_factor, 1), max(options.dilation_w_factor, 1)
    return _windowed(node, weights.shape[1:3], dilation)


def _pool(node):
    return _windowed(node, (node.options.filter_height, node.options.filter_width), (1, 1))


def _windowed(node, window, dilation):
    options, source, out = node.options, node.input(0).shape, node.output(0).shape
    strides = options.stride_h, options.stride_w
    along, leaves = [], False
    for axis in range(2):
        size, count = source[1 + axis], out[1 + axis]
        extent = (window[axis] - 1) * dilation[axis] + 1
        before = 0
        if options.padding == SAME:
            if count != -(-size // strides[axis]):
                return None
            if (count - 1) * strides[axis] + extent < size and prod(window) > 1:
                return None  # XNNPACK computes something else: its padding would be negative
            before = same_padding(size, extent, strides[axis])[0]
        elif count != (size - extent) // strides[axis] + 1:
            return None
        along.append(Window(extent, strides[axis], before))
        first, end = along[-1].reach(0, count)
        leaves |= first < 0 or end > size
    return TileOperator(node, {0: tuple(along)}, leaves)


def same_padding(size, extent, stride):
    """(before, behind): how far a window with SAME padding leaves an image of this size.

    >>> same_padding(96, 3, 2), same_padding(96, 3, 1)
    ((0, 1), (1, 1))
    """
    total = max((-(-size // stride) - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2


def _pad(node):
    pads = node.constant_values(1)
    source, out = node.input(0), node.output(0)
    if pads is None or len(pads) != 8 or min(pads) < 0 or pads[0] or pads[1]:
        return None
    if (source.scales, source.zero_points) != (out.scales, out.zero_points):
        return None
    if len(node.inputs) > 2 and node.input(2) is not None and not node.input(2).constant:
        return None
    return TileOperator(node, {0: (Window(1, 1, pads[2]), Window(1, 1, pads[4]))}, True)


def _finite(weights):
    """Weights that are not finite make something of a padding's zeros."""
    values = np.frombuffer(weights.data, np.float32)
    return isfinite(float(np.abs(values).max(initial=0)))
