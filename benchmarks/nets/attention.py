"""Transformers that attend otherwise: in windows, to latent vectors, with relative positions, in linear time, with chosen experts."""

from .nets import net
from .sequences import attend, block


def scaled(layers, x):
    """Root mean square normalization."""
    import tensorflow as tf

    return layers.Lambda(lambda x: x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6))(x)


@net("attention")
def swin(layers, draw):
    """Windows of 7 x 7, every other time shifted by 3."""
    import tensorflow as tf

    side, window, width = 28, 7, 4 * draw(10, 16)
    count = side // window

    def cut(x):
        x = tf.reshape(x, [1, count, window, count, window, width])
        return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [count * count, window * window, width])

    def joined(x):
        x = tf.transpose(tf.reshape(x, [1, count, count, window, window, width]), [0, 1, 3, 2, 4, 5])
        return tf.reshape(x, [1, side, side, width])

    def scores(values):
        q, k, v = values
        return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * width**-0.5), v)

    x = start = layers.Input([112, 112, 3], batch_size=1)
    x = layers.Conv2D(width, 4, 4)(x)
    for shift in (0, 3):
        y = layers.LayerNormalization()(x)
        y = layers.Lambda(lambda x, shift=shift: cut(tf.roll(x, [-shift, -shift], [1, 2])))(y)
        y = layers.Lambda(scores)([layers.Dense(width)(y) for _ in range(3)])
        y = layers.Lambda(lambda x, shift=shift: tf.roll(joined(x), [shift, shift], [1, 2]))(layers.Dense(width)(y))
        x = layers.Add()([x, y])
        y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(width)(y)])
    return start, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


@net("attention")
def relative_encoder(layers, draw):
    """As T5's: a bias for each distance, gated feed-forward nets."""
    import numpy as np

    count, width = 48, 16 * draw(4, 8)
    bias = np.random.default_rng(0).standard_normal([1, 4, count, count]).astype(np.float32)
    tokens = layers.Input([count], batch_size=1, dtype="int32")
    x = layers.Embedding(500, width)(tokens)
    for _ in range(2):
        y = scaled(layers, x)
        y = attend(layers, *(layers.Dense(width, use_bias=False)(y) for _ in range(3)), 4, bias)
        x = layers.Add()([x, layers.Dense(width, use_bias=False)(y)])
        y = scaled(layers, x)
        gate = layers.Dense(3 * width, activation="gelu", use_bias=False)(y)
        y = layers.Multiply()([gate, layers.Dense(3 * width, use_bias=False)(y)])
        x = layers.Add()([x, layers.Dense(width, use_bias=False)(y)])
    return tokens, layers.Dense(200)(scaled(layers, x))


@net("attention")
def perceiver(layers, draw):
    """32 latent vectors look at many inputs."""
    import numpy as np
    import tensorflow as tf

    count, width = 64 * draw(8, 12), 64
    latent = np.random.default_rng(0).standard_normal([1, 32, width]).astype(np.float32)

    def look(values):
        q, k, v = values
        return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8), v)

    x = start = layers.Input([count, 19], batch_size=1)
    z = layers.Lambda(lambda x: latent + 0 * x[:, :1, :1], output_shape=(32, width))(x)
    z = layers.Lambda(look)([layers.Dense(width)(z), layers.Dense(width)(x), layers.Dense(width)(x)])
    return start, layers.Dense(10)(layers.GlobalAveragePooling1D()(block(layers, z, 4, 2)))


@net("attention")
def linear_attention(layers, draw):
    """Causal, by running sums."""
    import tensorflow as tf

    def attention(values):
        q, k, v = (tf.nn.elu(values[0]) + 1, tf.nn.elu(values[1]) + 1, values[2])
        sums = tf.cumsum(k[..., None] * v[..., None, :], 1)
        scale = 1 / (tf.reduce_sum(q * tf.cumsum(k, 1), -1, keepdims=True) + 1e-6)
        return tf.squeeze(tf.matmul(q[..., None, :], sums), -2) * scale

    width = 4 * draw(6, 10)
    x = start = layers.Input([160, width], batch_size=1)
    y = layers.Lambda(attention)([layers.Dense(width)(x) for _ in range(3)])
    return start, layers.Dense(8)(layers.LayerNormalization()(layers.Add()([x, y])))


@net("attention")
def experts(layers, draw):
    """The best two of four feed-forward nets, for each token."""
    import tensorflow as tf

    def mixed(values):
        gate, *outputs = values
        best, chosen = tf.math.top_k(gate, 2)
        weights = tf.reduce_sum(tf.one_hot(chosen, 4) * best[..., None], -2)
        return tf.reduce_sum(tf.stack(outputs, -1) * weights[..., None, :], -1)

    x = start = layers.Input([8 * draw(4, 8), 64], batch_size=1)
    gate = layers.Dense(4, activation="softmax")(x)
    outputs = [layers.Dense(64)(layers.Dense(128, activation="relu")(x)) for _ in range(4)]
    return start, layers.Dense(8)(layers.Lambda(mixed)([gate, *outputs]))
