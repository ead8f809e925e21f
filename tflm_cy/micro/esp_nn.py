"""Bytes of memory that esp-nn's kernels ask for, as functions of the layer's numbers.

    >>> convolution({"s3"}, Layer((96, 96), 3, (3, 3), (48, 48), 8, (2, 2), (0, 0)))
    416

`features` names the chip whose kernels are meant: "s3", "p4", or nothing for the generic ones (ESP32, ESP32-C3 and
others), which ask for nothing but in SOFTMAX. Pairs are (height, width).

Source: espressif/esp-nn:src, the functions `esp_nn_get_*_scratch_size_*`.
"""

from typing import NamedTuple

_P4_CACHE = 32 * 1024  # bytes of input that the kernels of ESP32-P4 take at once
_S3_STRIP = 40 * 1024  # larger padded inputs of a 3x3 depthwise convolution are copied in strips of rows
_S3_WIDE = 48 * 1024  # the same for int16 copies with other windows


class Layer(NamedTuple):
    """A convolution of a batch of one."""

    input: tuple[int, int]
    channels: int
    window: tuple[int, int]
    output: tuple[int, int]
    outputs: int  # channels
    stride: tuple[int, int]
    padding: tuple[int, int]

    @property
    def area(self):
        return self.window[0] * self.window[1]

    @property
    def positions(self):
        return self.input[0] * self.input[1]

    @property
    def pointwise(self):
        return self.area == 1 and self.padding == (0, 0) and self.stride == (1, 1)

    @property
    def overhang(self):
        """Rows and columns that the windows reach beyond the input, as the library counts them."""
        return tuple(
            o * s + k - 1 - i for o, s, k, i in zip(self.output, self.stride, self.window, self.input, strict=True)
        )

    def padded(self, more):
        """Positions of the input with more rows and columns."""
        return (self.input[0] + more[0]) * (self.input[1] + more[1])


def convolution(features, layer):
    """Scratch of an int8 CONV_2D."""
    if "s3" in features:
        return _convolution_s3(layer)
    return _convolution_p4(layer) if "p4" in features else 0


def _pointwise(layer, margin):
    """1x1: weights and inputs with channels to a multiple of 8, and 8 positions as int16."""
    channels = _up(layer.channels, 8)
    inputs = layer.positions * channels if layer.channels % 8 else 0
    return inputs + channels * layer.outputs + (16 * channels if layer.positions >= 8 else 0) + margin


def _convolution_s3(layer):
    margin = 64
    if layer.pointwise:
        return _pointwise(layer, margin)
    row = layer.window[1] * layer.channels
    length = layer.area * layer.channels
    if row < 16 <= length:
        aligned = _up(length, 16)
        return layer.outputs * (4 + aligned) + 32 + aligned + margin
    size = margin + 4 * layer.outputs
    if layer.padding != (0, 0):
        size += layer.padded((2 * layer.padding[0], 2 * layer.padding[1])) * layer.channels
    size += layer.area * _up(layer.channels, 16) * layer.outputs
    size += _up(row, 16) * layer.window[0] * layer.outputs
    beyond = tuple(max(0, more) for more in layer.overhang)
    return size + (layer.padded(beyond) * layer.channels if max(beyond) > 0 else 0)


def _convolution_p4(layer):
    margin, sums = 32, 4 * layer.outputs
    row, length = layer.window[1] * layer.channels, layer.area * layer.channels
    if layer.pointwise:
        return sums + 16 * layer.outputs + 32 + margin if layer.channels < 16 else _pointwise(layer, margin)
    if layer.padding == (0, 0) and row >= 16:
        return layer.area * _up(layer.channels, 16) * layer.outputs + margin + sums
    if length >= 16:
        return sums + length + margin
    channels = _up(-(-16 // layer.window[1]), 16)
    weights = layer.area * channels * layer.outputs
    if layer.padding == (0, 0):
        return sums + weights + layer.positions * channels + margin
    return margin + sums + _padded_p4(layer, sums, channels, weights)


def _padded_p4(layer, sums, channels, weights):
    """A window of fewer than 16 values over a padded input: the whole of it, or as many rows as the cache holds."""
    width = layer.input[1] + 2 * layer.padding[1]
    whole = layer.padded((2 * layer.padding[0], 2 * layer.padding[1])) * layer.channels
    if whole + sums <= _P4_CACHE:
        return whole + layer.area * _up(layer.channels, 16) * layer.outputs
    height, row = layer.window[0], width * channels
    budget = _P4_CACHE - sums - weights
    rows = 1
    if budget > 0 and height * row <= budget:
        rows = min((budget - height * row) // (layer.stride[0] * row) + 1, layer.output[0])
    return ((rows - 1) * layer.stride[0] + height + 2 * layer.padding[0]) * row + weights


def depthwise(features, layer, multiplier):
    """Scratch of an int8 DEPTHWISE_CONV_2D."""
    if "s3" not in features:
        return 0
    channels = layer.channels
    weights = layer.area * channels * multiplier
    if multiplier == 1 and channels % 8 == 0:
        return _three_s3(layer, weights) if layer.window == (3, 3) else _wide_s3(layer, weights)
    if multiplier == 1 and channels > 3:
        return _widened_s3(layer)
    if multiplier % 4 == 0:
        return 2 * (weights + layer.positions * channels) + 32
    return 32


def _three_s3(layer, weights):
    """3x3 windows, channels a multiple of 8."""
    channels = layer.channels
    if channels % 16 == 0:
        more = layer.overhang
        if layer.padding != (0, 0):
            more = (2 * layer.padding[0], 2 * layer.padding[1])
        if more == (0, 0):
            return weights + 16
        whole = layer.padded(more) * channels
        strip = (layer.input[1] + more[1]) * layer.window[0] * channels
        return weights + (whole if whole <= _S3_STRIP else strip) + 16
    if channels >= 12:
        aligned = _up(channels, 16)
        more = tuple(2 * pad + max(0, o) for pad, o in zip(layer.padding, layer.overhang, strict=True))
        outputs = layer.output[0] * layer.output[1]
        return (9 + layer.padded(more) + outputs) * aligned + 64
    return 2 * (weights + layer.positions * channels) + 32


def _wide_s3(layer, weights):
    """Weights and inputs as int16, or a strip of rows of these."""
    whole = 2 * (weights + layer.positions * layer.channels)
    if whole <= _S3_WIDE:
        return whole + 32
    return 2 * weights + 2 * layer.input[1] * layer.window[0] * layer.channels + 32


def _widened_s3(layer):
    """Channels to a multiple of 8: weights and inputs as int16, outputs, and three int32 per channel."""
    channels = _up(layer.channels, 8)
    inputs = _up(2 * layer.area * channels, 16)
    outputs = _up(inputs + 2 * layer.positions * channels, 16)
    biases = _up(outputs + layer.output[0] * layer.output[1] * channels, 16)
    return biases + 3 * 4 * channels + 16


def softmax(width):
    """Scratch of an int8 SOFTMAX, for each chip: exponentials of as many values as dimension 1 says."""
    return 4 * width


def _up(size, multiple):
    return -(-size // multiple) * multiple
