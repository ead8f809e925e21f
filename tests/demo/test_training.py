"""Training without scikit-learn: gradients against differences, quantization against its definition."""

import numpy as np
import pytest

from tflm_cy.demo.train.network import Conv, Dense, Depthwise, MaxPool, Network
from tflm_cy.demo.train.quantize import activation_scale, quantize_bias, quantize_weights, weight_scales

LAYERS = {
    "conv": lambda rng: Conv(rng, 3, 3, 2),
    "pointwise": lambda rng: Conv(rng, 3, 1, 2),
    "depthwise": lambda rng: Depthwise(rng, 3, 2),
    "pool": lambda rng: MaxPool(),
    "dense": lambda rng: Dense(rng, 3, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_differences(name):
    rng = np.random.default_rng(1)
    layer = LAYERS[name](rng)
    values = [rng.normal(size=(2, 2) if name == "dense" else (2, 4, 4, 2))]
    if hasattr(layer, "weights"):
        layer.weights, layer.bias = layer.weights.astype(float), rng.normal(size=layer.bias.shape)
        values += [layer.weights, layer.bias]
    direction = rng.normal(size=layer.forward(values[0]).shape)
    gradients = [layer.backward(direction), *getattr(layer, "gradients", [])]
    step = 1e-6
    for value, gradient in zip(values, gradients, strict=True):
        assert gradient.shape == value.shape
        for index in map(tuple, rng.integers(0, value.shape, (12, value.ndim))):
            kept = value[index]
            value[index] = kept + step
            above = (layer.forward(values[0]) * direction).sum()
            value[index] = kept - step
            below = (layer.forward(values[0]) * direction).sum()
            value[index] = kept
            assert gradient[index] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-7)


def test_a_few_epochs_learn_two_patterns():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 256)
    images = np.zeros((256, 8, 8, 1), np.float32)
    images[labels == 0, :, 3] = 1
    images[labels == 1, 3, :] = 1
    images += rng.normal(0, 0.1, images.shape).astype(np.float32)
    net = Network(rng)
    losses = list(net.train(images, labels, rng, epochs=4))
    assert losses[-1] < losses[0]
    assert (net.forward(images).argmax(1) == labels).mean() > 0.99


def test_activation_scales_hold_the_range_and_zero_exactly():
    for low, high in [(-1.0, 3.0), (0.5, 2.0), (-4.0, -1.0)]:
        scale, zero_point = activation_scale(np.array([low, high]))
        assert -128 <= zero_point <= 127
        ends = [(q - zero_point) * scale for q in (-128, 127)]
        assert ends[0] <= min(low, 0) + scale and ends[1] >= max(high, 0) - scale


@pytest.mark.parametrize("axis, count", [(0, 4), (3, 2), (None, 1)])
def test_weights_use_the_whole_range_of_each_channel(axis, count):
    weights = np.random.default_rng(3).normal(size=(4, 3, 3, 2)).astype(np.float32)
    scales = weight_scales(weights, axis)
    quantized = quantize_weights(weights, scales, axis)
    assert scales.shape == (count,) and quantized.dtype == np.int8
    others = None if axis is None else tuple(a for a in range(4) if a != axis)
    np.testing.assert_array_equal(np.abs(quantized).max(others), 127)
    shape = [1] * 4
    shape[axis or 0] = -1
    np.testing.assert_allclose(quantized * scales.reshape(shape), weights, atol=scales.max() / 2 * 1.001)


def test_a_channel_of_zeros_stays_finite():
    scales = weight_scales(np.zeros((2, 1, 1, 1), np.float32), 0)
    assert np.all(scales > 0)
    assert quantize_bias(np.array([2.0, -2.0]), np.float32(0.01), scales).tolist() == pytest.approx([254e6, -254e6])
    with pytest.raises(ValueError, match="does not fit int32"):
        quantize_bias(np.array([20.0, 0.0]), np.float32(0.01), scales)
