"""Nets that normalize while they run: instance and group normalization, modulated convolutions, capsules."""

from .nets import net


def normalized(layers, x, groups):
    """Each group of channels over the image: all channels one by one are instance normalization."""
    import tensorflow as tf

    _, height, width, channels = x.shape

    def normalize(x):
        x = tf.reshape(x, [1, height, width, groups, channels // groups])
        mean, variance = tf.nn.moments(x, [1, 2, 4], keepdims=True)
        return tf.reshape((x - mean) * tf.math.rsqrt(variance + 1e-5), [1, height, width, channels])

    return layers.Lambda(normalize)(x)


@net("normalized")
def style_transfer(layers, draw):
    import tensorflow as tf

    def step(x, filters, size, stride=1, layer=layers.Conv2D):
        x = layer(filters, size, stride, "same")(x)
        return layers.ReLU()(normalized(layers, x, filters))

    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = layers.Lambda(lambda x: tf.pad(x, [[0, 0], [4, 4], [4, 4], [0, 0]], "REFLECT"))(x)
    x = step(step(x, draw(14, 26), 9), 48, 3, 2)
    for _ in range(2):
        x = layers.Add()([x, normalized(layers, layers.Conv2D(48, 3, padding="same")(step(x, 48, 3)), 48)])
    x = step(x, 24, 3, 2, layers.Conv2DTranspose)
    return start, layers.Conv2D(3, 9, padding="same", activation="tanh")(x)


@net("normalized")
def group_normalized_detector(layers, draw):
    x = start = layers.Input([56, 56, 3], batch_size=1)
    x = layers.Conv2D(8 * draw(4, 8), 3, 2, "same")(x)
    for _ in range(3):
        x = layers.ReLU()(normalized(layers, layers.Conv2D(x.shape[-1], 3, padding="same")(x), 8))
    return start, [layers.Conv2D(20, 3, padding="same", activation=end)(x) for end in ("sigmoid", "exponential")]


@net("normalized")
def style_generator(layers, draw):
    import tensorflow as tf

    z = layers.Input([64], batch_size=1)
    channels = draw(28, 48)
    style = layers.LeakyReLU()(layers.Dense(64)(z))
    x = layers.Reshape([8, 8, channels])(layers.Dense(64 * channels)(style))
    for _ in range(3):
        scale = layers.Reshape([1, 1, channels])(layers.Dense(channels)(style))
        x = layers.UpSampling2D(interpolation="bilinear")(layers.Multiply()([x, scale]))
        x = layers.Conv2D(channels, 3, padding="same")(x)
        x = layers.Lambda(lambda x: x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-8))(x)
        x = layers.LeakyReLU()(x)
    return z, layers.Conv2D(3, 1, activation="tanh")(x)


@net("normalized")
def capsules(layers, draw):
    """Three rounds of routing."""
    import numpy as np
    import tensorflow as tf

    count, width = 8 * draw(2, 4), 8
    votes = np.random.default_rng(0).standard_normal([1, count, 10, 16, width]).astype(np.float32) * 0.1

    def squash(x):
        square = tf.reduce_sum(tf.square(x), -1, keepdims=True)
        return x * square / (1 + square) / tf.sqrt(square + 1e-7)

    def route(x):
        x = squash(tf.reshape(x, [1, -1, width])[:, :count])
        x = tf.tile(x[:, :, None, :, None], [1, 1, 10, 1, 1])
        x = tf.reshape(tf.matmul(votes, x), [1, count, 10, 16])
        logits = tf.zeros([1, count, 10, 1])
        for _ in range(3):
            v = squash(tf.reduce_sum(tf.nn.softmax(logits, 2) * x, 1, keepdims=True))
            logits = logits + tf.reduce_sum(x * v, -1, keepdims=True)
        return tf.norm(v, axis=-1)

    x = start = layers.Input([28, 28, 1], batch_size=1)
    x = layers.Conv2D(2 * width, 5, 2)(layers.Conv2D(32, 5, 2, activation="relu")(x))
    return start, layers.Lambda(route, output_shape=(1, 10))(x)
