"""A small convolutional net and its training, in plain numpy.

    net = Network(np.random.default_rng(0))
    net.train(images, labels, rng, epochs=60)                    # images (n, 8, 8, 1) float32, labels (n,)
    net.forward(images).argmax(1)

Layers keep their weights in TFLite's layouts: a convolution (out, height, width, in), a depthwise one (1, height,
width, channels), a fully connected layer (out, in). A layer is `forward(x)` and `backward(dy)`, which keeps the
gradients in `gradients` and returns the input's. Convolutions are of odd size with SAME padding and stride 1, so that
they keep height and width.
"""

import numpy as np


class Conv:
    """CONV_2D with a fused RELU."""

    name = "CONV_2D"

    def __init__(self, rng, out, size, channels):
        fan = size * size * channels
        self.size = size
        self.weights = rng.normal(0, np.sqrt(2 / fan), (out, size, size, channels)).astype(np.float32)
        self.bias = np.zeros(out, np.float32)

    def forward(self, x):
        self.columns = _windows(x, self.size).reshape(*x.shape[:3], -1)
        self.y = np.maximum(self.columns @ self.weights.reshape(len(self.bias), -1).T + self.bias, 0)
        return self.y

    def backward(self, dy):
        dy = dy * (self.y > 0)
        flat = dy.reshape(-1, len(self.bias))
        dw = flat.T @ self.columns.reshape(len(flat), -1)
        self.gradients = [dw.reshape(self.weights.shape), flat.sum(0)]
        # The input's gradient is the convolution of dy with the kernel turned by half a turn.
        turned = self.weights[:, ::-1, ::-1].transpose(3, 1, 2, 0)
        return _windows(dy, self.size).reshape(*dy.shape[:3], -1) @ turned.reshape(len(turned), -1).T


class Depthwise:
    """DEPTHWISE_CONV_2D, one filter per channel, with a fused RELU."""

    name = "DEPTHWISE_CONV_2D"

    def __init__(self, rng, size, channels):
        self.size = size
        self.weights = rng.normal(0, np.sqrt(2) / size, (1, size, size, channels)).astype(np.float32)
        self.bias = np.zeros(channels, np.float32)

    def forward(self, x):
        self.x = x
        self.y = np.maximum(np.einsum("nhwijc,ijc->nhwc", _windows(x, self.size), self.weights[0]) + self.bias, 0)
        return self.y

    def backward(self, dy):
        dy = dy * (self.y > 0)
        dw = np.einsum("nhwijc,nhwc->ijc", _windows(self.x, self.size), dy)
        self.gradients = [dw[None], dy.sum((0, 1, 2))]
        return np.einsum("nhwijc,ijc->nhwc", _windows(dy, self.size), self.weights[0, ::-1, ::-1])


class MaxPool:
    """MAX_POOL_2D, 2 x 2, stride 2."""

    name = "MAX_POOL_2D"

    def forward(self, x):
        n, h, w, c = x.shape
        tiles = x.reshape(n, h // 2, 2, w // 2, 2, c)
        y = tiles.max((2, 4))
        chosen = tiles == y[:, :, None, :, None]
        self.share = chosen / chosen.sum((2, 4), keepdims=True, dtype=np.float32)
        return y

    def backward(self, dy):
        n, h, w, c = dy.shape
        return (self.share * dy[:, :, None, :, None]).reshape(n, 2 * h, 2 * w, c)


class Flatten:
    """RESHAPE to (n, features)."""

    name = "RESHAPE"

    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)


class Dense:
    """FULLY_CONNECTED, no activation."""

    name = "FULLY_CONNECTED"

    def __init__(self, rng, out, features):
        self.weights = rng.normal(0, np.sqrt(1 / features), (out, features)).astype(np.float32)
        self.bias = np.zeros(out, np.float32)

    def forward(self, x):
        self.x = x
        return x @ self.weights.T + self.bias

    def backward(self, dy):
        self.gradients = [dy.T @ self.x, dy.sum(0)]
        return dy @ self.weights


class Network:
    """Two convolutions, pooling, a depthwise separable convolution, ten scores."""

    def __init__(self, rng):
        self.layers = [
            Conv(rng, 16, 3, 1),
            Conv(rng, 16, 3, 16),
            MaxPool(),
            Depthwise(rng, 3, 16),
            Conv(rng, 32, 1, 16),
            Flatten(),
            Dense(rng, 10, 4 * 4 * 32),
        ]

    def forward(self, x):
        """Scores (logits) of each image."""
        return self.activations(x)[-1]

    def activations(self, x):
        """The output of each layer."""
        outputs = []
        for layer in self.layers:
            x = layer.forward(x)
            outputs.append(x)
        return outputs

    def train(self, images, labels, rng, epochs, distort=None, batch=64, rate=4e-3, smoothing=0.05):
        """Adam on the cross-entropy of smoothed labels, the rate falls along half a cosine; yields each epoch's mean loss."""
        targets = np.full((len(labels), 10), smoothing / 10, np.float32)
        targets[np.arange(len(labels)), labels] += 1 - smoothing
        optimizer = Adam([layer for layer in self.layers if hasattr(layer, "weights")])
        batches = len(images) // batch
        for epoch in range(epochs):
            losses = []
            order = rng.permutation(len(images))
            for b in range(batches):
                chosen = order[b * batch : (b + 1) * batch]
                x = images[chosen] if distort is None else distort(images[chosen], rng)
                losses.append(self._learn(x, targets[chosen]))
                progress = (epoch * batches + b) / (epochs * batches)
                optimizer.step(rate * (1 + np.cos(np.pi * progress)) / 2)
            yield float(np.mean(losses))

    def _learn(self, x, targets):
        """Loss of a batch; leaves the gradients in the layers."""
        scores = self.forward(x)
        scores = scores - scores.max(1, keepdims=True)
        log_probabilities = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        dy = (np.exp(log_probabilities) - targets) / len(x)
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return -(targets * log_probabilities).sum(1).mean()


class Adam:
    """Kingma and Ba's optimizer over the weights and biases of layers."""

    def __init__(self, layers, mean_decay=0.9, square_decay=0.999):
        self.layers, self.decay, self.count = layers, (mean_decay, square_decay), 0
        self.moments = [[(np.zeros_like(p), np.zeros_like(p)) for p in (layer.weights, layer.bias)] for layer in layers]

    def step(self, rate):
        self.count += 1
        first, second = self.decay
        for layer, moments in zip(self.layers, self.moments, strict=True):
            for value, gradient, (mean, square) in zip(
                (layer.weights, layer.bias), layer.gradients, moments, strict=True
            ):
                mean += (1 - first) * (gradient - mean)
                square += (1 - second) * (gradient**2 - square)
                unbiased = square / (1 - second**self.count)
                value -= (rate / (1 - first**self.count) * mean / (np.sqrt(unbiased) + 1e-8)).astype(np.float32)


def _windows(x, size):
    """The size x size surroundings of each pixel, zero outside: (n, h, w, size, size, c)."""
    edge = size // 2
    padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
