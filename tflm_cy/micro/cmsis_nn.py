"""Bytes of memory that CMSIS-NN's kernels ask for, as functions of the layer's numbers.

    >>> Shape(1, 49, 40, 1), depthwise_s8({"mve"}, Shape(1, 49, 40, 1), Shape(1, 10, 8, 8), Shape(1, 25, 20, 8), (1, 1), (4, 3))
    (Shape(n=1, h=49, w=40, c=1), 960)

`features` says what the processor has: "dsp", "mve", both or nothing. With MVE the kernels gather the columns of four
positions and keep sums of weights; with DSP alone, or without both, they gather two columns as int16. Sizes are those of
a build by GCC: Arm's compiler asks for more in 1x1 convolutions on DSP and converts fewer depthwise convolutions on MVE.

Source: ARM-software/CMSIS-NN:Source, the functions `*_get_buffer_size*`.
"""

from typing import NamedTuple

_DEPTHWISE_BLOCK = 124  # channels that a depthwise convolution on MVE gathers at once
_REVERSED_FROM = 16  # input channels above which a transposed convolution runs as a convolution of reversed weights


class Shape(NamedTuple):
    """What CMSIS-NN calls dimensions."""

    n: int
    h: int
    w: int
    c: int


class Pair(NamedTuple):
    h: int
    w: int


def convolution_s8(features, x, weights, y, stride, padding, dilation):
    """Scratch of an int8 CONV_2D: pairs are (height, width), `weights` is (1, h, w, input channels of a group)."""
    stride, padding, dilation = Pair(*stride), Pair(*padding), Pair(*dilation)
    whole = x.c == weights.c and dilation.w == 1
    if whole and dilation.h == 1 and padding == (0, 0) and weights.h == 1 and weights.w == 1:
        return 0
    if whole and x.h == 1 and weights.h == 1 and (stride.w * x.c) % 4 == 0 and "mve" in features:
        return _row_s8_mve(x, weights, y, stride.w, padding.w)
    return _columns_s8(features, x, weights)


def _columns_s8(features, x, weights):
    length = x.c * weights.w * weights.h
    if "mve" in features:
        return 4 * 16 * (-(-length // 16))
    return 2 * 2 * 4 * (-(-length // 4))


def _row_s8_mve(x, weights, y, stride, padding):
    """A convolution along a row: only its ends are gathered."""
    uneven = _remainder((y.w - 1) * stride + weights.w - x.w, 2)
    right = max(1, _quotient(padding + uneven + stride - 1, stride)) if padding + uneven != 0 else 0
    left = max(1, _quotient(padding + stride - 1, stride)) if padding != 0 else 0
    if right + max(y.w - (right + left), 0) + left != y.w:
        return _columns_s8({"mve"}, x, weights)
    at_left = padding * x.c
    at_right = right * x.c if uneven else at_left
    window = weights.w * x.c
    return max(window + at_left, window - x.c + at_right)


def convolution_s16(features, x, weights):
    """Scratch of an int16 CONV_2D."""
    length = x.c * weights.w * weights.h
    return 4 * 8 * 2 * (-(-length // 8)) if "mve" in features else 2 * 2 * length


def depthwise_s8(features, x, weights, y, dilation, padding):
    """Scratch of an int8 DEPTHWISE_CONV_2D.

    On MVE one with a single input channel becomes a CONV_2D. TFLM leaves that one's stride unset when it asks, which
    matters only for inputs and weights of height 1: the stride is then what its stack holds. In builds by GCC that is a
    multiple of 4, all of which give what 0 gives; the kernel may need more (`library_bytes` warns of it).
    """
    if "mve" in features and x.c == 1 and y.c > 1:
        size = convolution_s8(features, x, Shape(weights.c, weights.h, weights.w, 1), y, (0, 0), padding, dilation)
        return size + weights.c * weights.h * weights.w
    if x.c != y.c or x.n != 1 or tuple(dilation) != (1, 1):
        return 0
    if "mve" not in features and weights.w == 3 and weights.h == 3 and max(padding) <= 1:
        return 0
    if "mve" in features or "dsp" in features:
        return _depthwise_columns(features, x, weights)
    return 0


def depthwise_s4(features, x, weights, y, dilation):
    """Scratch of a DEPTHWISE_CONV_2D of int8 with int4 weights."""
    if x.c != y.c or x.n != 1 or tuple(dilation) != (1, 1):
        return 0
    return _depthwise_columns(features, x, weights)


def _depthwise_columns(features, x, weights):
    window = weights.w * weights.h
    return 4 * _DEPTHWISE_BLOCK * window if "mve" in features else 2 * x.c * window


def transposed_s8(features, x, weights, y, stride):
    """(scratch, scratch for the reversed weights) of an int8 TRANSPOSE_CONV; `weights` is (outputs, h, w, inputs)."""
    stride = Pair(*stride)
    if max(stride) <= 2 and x.c > _REVERSED_FROM:
        return _columns_s8(features, x, weights), x.c * weights.w * weights.h * weights.n
    columns = ((x.w - 1) * stride.w + max(weights.w, stride.h)) * y.c  # the height's stride, as the library has it
    return 4 * columns * max(weights.h, stride.h), 0


def product_s8(features, outputs):
    """Sums of weights for an int8 FULLY_CONNECTED, a BATCH_MATMUL or an SVDF: one int32 per output on MVE."""
    return 4 * outputs if "mve" in features else 0


def average_pool(features, channels):
    """Scratch of an int8 or int16 AVERAGE_POOL_2D."""
    return 4 * channels if "dsp" in features and "mve" not in features else 0


def _quotient(a, b):
    """The processor's division, towards zero; by zero it gives 0."""
    if not b:
        return 0
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def _remainder(a, b):
    return a - b * _quotient(a, b)
