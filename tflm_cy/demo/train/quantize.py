"""Full int8 quantization of a trained net, by TFLite's specification of it.

https://ai.google.dev/edge/litert/models/quantization_spec

Activations: one scale and zero point per tensor, from the least and the greatest value over calibration images, zero
always included and exact. Weights: symmetric, -127 to 127, one scale per output channel (FULLY_CONNECTED: one per
tensor, which every runtime takes). Biases: int32 in units of input scale x weight scale. Pooling and reshaping keep
their input's scale; SOFTMAX's output is fixed at 1/256, -128.
"""

from typing import NamedTuple

import numpy as np


class Scale(NamedTuple):
    """real = scale * (q - zero_point)."""

    scale: np.float32
    zero_point: int


PROBABILITIES = Scale(np.float32(1 / 256), -128)


def activation_scale(values):
    """The scale that spreads the values' range over int8."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = np.float32((high - low) / 255)
    return Scale(scale, int(np.clip(np.rint(-128 - low / scale), -128, 127)))


def weight_scales(weights, axis):
    """The scales of weights per index of `axis`; axis None: one for all, as a vector of one."""
    others = None if axis is None else tuple(a for a in range(weights.ndim) if a != axis)
    return np.atleast_1d(np.maximum(np.abs(weights).max(others), 1e-4) / 127).astype(np.float32)


def quantize_weights(weights, scales, axis):
    """The weights as int8."""
    shape = [1] * weights.ndim
    shape[axis or 0] = -1
    return np.clip(np.rint(weights / scales.reshape(shape)), -127, 127).astype(np.int8)


def quantize_bias(bias, input_scale, scales):
    """The bias as int32; ValueError where a channel's weights are so small that it does not fit."""
    quantized = np.rint(bias / (np.float64(input_scale) * scales))
    if np.any(np.abs(quantized) > np.iinfo(np.int32).max):
        raise ValueError(f"a bias of {np.abs(bias).max():g} does not fit int32 at a weight scale of {scales.min():g}")
    return quantized.astype(np.int32)
