"""Operators with windows over images that can be computed tile by tile.

What stands outside of the image is written by a PAD in front of the tile's operator: zero points for a convolution, the
lowest value for a maximum. An average over a window that leaves the image divides by the number of values inside, so there
only SAME padding can stand for itself; a hybrid convolution is not tiled, because it quantizes the whole input at once.

An operator that enlarges an image makes all that its part of the input makes, and the tile is cut out of it. RESIZE_* are
tiled where the image grows by a whole factor, along both axes, and each output position is computed from the same numbers
in a part of the image: RESIZE_BILINEAR with factors that are powers of two.
"""

from math import isfinite, prod

import numpy as np

from tflm_cy.micro.patchwise.operators import PADDED, SAME, TileOperator
from tflm_cy.micro.patchwise.windows import Spread, Window

_MOST_GROWTH = 256  # of a bilinear image: the fixed-point scale of integers has 10 bits


def same_padding(size, window, stride):
    """(before, behind): how far a window with SAME padding leaves an image of this size.

    >>> same_padding(96, 3, 2), same_padding(96, 3, 1)
    ((0, 1), (1, 1))
    """
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


def _convolution(node):
    source, weights, bias = node.input(0), node.input(1), node.input(2)
    if not weights.constant or (bias is not None and not bias.constant) or source.type not in PADDED:
        return None
    if source.type == "FLOAT32" and (weights.type != "FLOAT32" or not _finite(weights)):
        return None
    depthwise = node.op == "DEPTHWISE_CONV_2D"
    if depthwise and weights.shape[0] != 1:
        return None
    options = node.options
    dilation = max(options.dilation_h_factor, 1), max(options.dilation_w_factor, 1)
    macs = source.shape[0] * prod(weights.shape[1:] if depthwise else weights.shape)
    return _windowed(node, weights.shape[1:3], dilation, macs)


def _pool(node):
    if node.input(0).type not in PADDED:
        return None
    return _windowed(node, (node.options.filter_height, node.options.filter_width), (1, 1), 0)


def _windowed(node, window, dilation, macs):
    options, source, out = node.options, node.input(0).shape, node.output(0).shape
    strides = options.stride_h, options.stride_w
    along = []
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
    return TileOperator(node, {0: tuple(along)}, macs=macs)


def _pad(node):
    pads = node.constant_values(1)
    source, out = node.input(0), node.output(0)
    if pads is None or len(pads) != 8 or min(pads) < 0 or pads[0] or pads[1] or source.type not in PADDED:
        return None
    if (source.scales, source.zero_points) != (out.scales, out.zero_points):
        return None
    if len(node.inputs) > 2 and node.input(2) is not None and not node.input(2).constant:
        return None
    return TileOperator(node, {0: (Window(1, 1, pads[2]), Window(1, 1, pads[4]))})


def _transpose_conv(node):
    weights, source, bias = (node.input(i) for i in (1, 2, 3))
    if not weights.constant or (bias is not None and not bias.constant) or source.type not in PADDED:
        return None
    if source.type == "FLOAT32" and (weights.type != "FLOAT32" or not _finite(weights)):
        return None
    options, out = node.options, node.output(0).shape
    along = []
    for axis, stride in enumerate((options.stride_h, options.stride_w)):
        size, count, extent = source.shape[1 + axis], out[1 + axis], weights.shape[1 + axis]
        before = same_padding(count, extent, stride)[0] if options.padding == SAME else 0
        known = -(-count // stride) if options.padding == SAME else (count + stride - extent) // stride
        if known != size or extent < stride or count < extent:
            return None
        if count + before > (size - 1) * stride + extent:
            return None
        # optimized kernels of desktops take it that the output ends where the input's last part does
        along.append(Spread(extent, stride, before, clips=source.type == "INT16"))
    macs = source.shape[0] * weights.shape[0] * weights.shape[3]
    return TileOperator(node, {2: tuple(along)}, macs=macs)


def _space_to_depth(node):
    block = node.options.block_size
    window = Window(block, block, 0)
    return TileOperator(node, {0: (window, window)})


def _depth_to_space(node):
    block = node.options.block_size
    return TileOperator(node, {0: (Spread(block, block), Spread(block, block))})


def _resize(node):
    options, source, out = node.options, node.input(0).shape, node.output(0).shape
    if options.align_corners or not node.input(1).constant:
        return None
    along = []
    for axis in (1, 2):
        factor, rest = divmod(out[axis], source[axis])
        if rest or factor < 1:
            return None
        if node.op == "RESIZE_NEAREST_NEIGHBOR":
            if not _repeats(source[axis], factor, options.half_pixel_centers):
                return None
            along.append(Spread(factor, factor))
            continue
        if factor & (factor - 1) or factor > _MOST_GROWTH:
            return None
        along.append(Spread(factor, factor, halo=(1, 1) if options.half_pixel_centers else (0, 1)))
    return TileOperator(node, {0: tuple(along)})


def _repeats(size, factor, half_pixel_centers):
    """Whether in floats, too, each position is repeated so many times: the scale is the same for every part."""
    scale = np.float32(size) / np.float32(size * factor)
    offset = np.float32(0.5 if half_pixel_centers else 0)
    places = np.floor((np.arange(size * factor, dtype=np.float32) + offset) * scale)
    return np.array_equal(np.minimum(places, size - 1), np.arange(size * factor) // factor)


def _finite(weights):
    """Weights that are not finite make something of a padding's zeros."""
    values = np.frombuffer(weights.data, np.float32)
    return isfinite(float(np.abs(values).max(initial=0)))


IMAGE_OPERATORS = {
    "AVERAGE_POOL_2D": _pool,
    "CONV_2D": _convolution,
    "DEPTH_TO_SPACE": _depth_to_space,
    "DEPTHWISE_CONV_2D": _convolution,
    "MAX_POOL_2D": _pool,
    "PAD": _pad,
    "PADV2": _pad,
    "RESIZE_BILINEAR": _resize,
    "RESIZE_NEAREST_NEIGHBOR": _resize,
    "SPACE_TO_DEPTH": _space_to_depth,
    "TRANSPOSE_CONV": _transpose_conv,
}
