"""An operator that can be computed tile by tile with equal bytes: which part of an input a part of its output needs.

A tile is cut along two axes that follow each other, `axis` and the one behind it: height and width of an image
[batch, height, width, channels], or positions of another tensor. They are the same axes in all tensors of a stage. An
operator can be tiled when each output value depends on a window of the inputs at its own place, by the same arithmetic
wherever the window lies; where that is so along `axis` alone, `columns` is false. `image_operators` has those with windows
over images, `row_operators` the others.
"""

from dataclasses import dataclass
from functools import cached_property

from tflm_cy.micro.graph_view import Node
from tflm_cy.micro.patchwise.windows import Spread, Whole, Window

IMAGE = 1  # the first axis of an image that is cut: height
SAME, VALID = 0, 1

TYPES = ("FLOAT32", "INT8", "INT16", "INT32", "BOOL")  # that SLICE and CONCATENATION take, in TFLM too
PADDED = ("FLOAT32", "INT8", "INT16")  # that PAD takes, too

CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PADS = ("PAD", "PADV2")
WINDOWED = (*CONVOLUTIONS, *POOLS)


@dataclass(frozen=True)
class TileOperator:
    """An operator that can be tiled.

    `windows`: position of an input that is cut -> windows along `axis` and along the axis behind it.
    `macs`: multiplications per position along the two axes (`windows`: `work`).
    """

    node: Node
    windows: dict[int, tuple[Window | Whole | Spread, Window | Whole | Spread]]
    columns: bool = True
    macs: int = 0

    @cached_property
    def output(self):
        """The output's tensor index."""
        return self.node.outputs[0]

    @cached_property
    def leading(self):
        """The position of the input whose windows say how much is computed."""
        return next(iter(self.windows))


def extent(tensor, axis):
    """A tensor's size along an axis; 1 where it has no such axis."""
    return tensor.shape[axis] if axis < tensor.rank else 1


def is_cut(tensor, axis):
    """Whether a tensor can be cut along an axis by SLICE, and joined by CONCATENATION."""
    return (
        tensor is not None
        and tensor.rank > axis
        and tensor.type in TYPES
        and not tensor.variable
        and not tensor.constant
        and min(tensor.shape) > 0
        and len(tensor.scales) <= 1
    )
