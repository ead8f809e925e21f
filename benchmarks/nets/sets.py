"""Nets of items that are neither pictures nor sequences: point clouds, graphs, coordinates, a recommender's features."""

from .nets import net


@net("sets")
def pointnet(layers, draw):
    import tensorflow as tf

    count = 16 * draw(20, 40)
    x = start = layers.Input([count, 3], batch_size=1)
    for width in (32, 64, 128):
        x = layers.Dense(width, activation="relu")(x)
    whole = layers.Lambda(lambda x: tf.tile(tf.reduce_max(x, 1, keepdims=True), [1, count, 1]))(x)
    x = layers.Concatenate()([x, whole])
    for width in (96, 64):
        x = layers.Dense(width, activation="relu")(x)
    return start, layers.Softmax()(layers.Dense(13)(x))


@net("sets")
def graph_net(layers, draw):
    """Messages along edges, added up at their ends."""
    import numpy as np
    import tensorflow as tf

    nodes, rng = draw(80, 200), np.random.default_rng(0)
    ends = np.sort(rng.integers(0, nodes, 4 * nodes)).astype(np.int32)
    starts = rng.integers(0, nodes, 4 * nodes).astype(np.int32)
    x = start = layers.Input([32], batch_size=nodes)
    for _ in range(2):
        messages = layers.Lambda(lambda x: tf.gather(x, starts), output_shape=(32,))(x)
        messages = layers.Dense(32, activation="relu")(messages)
        got = layers.Lambda(lambda x: tf.math.unsorted_segment_sum(x, ends, nodes), output_shape=(32,))(messages)
        x = layers.Dense(32, activation="relu")(layers.Concatenate()([x, got]))
    return start, layers.Dense(5)(x)


@net("sets")
def radiance_field(layers, draw):
    """Sines and cosines of coordinates, then dense layers."""
    import tensorflow as tf

    def waves(x):
        return tf.concat([x, *(wave(x * 2.0**i) for i in range(6) for wave in (tf.sin, tf.cos))], -1)

    x = start = layers.Input([3], batch_size=128 * draw(3, 8))
    x = encoded = layers.Lambda(waves)(x)
    for i in range(5):
        x = layers.Dense(96, activation="relu")(layers.Concatenate()([x, encoded]) if i == 3 else x)
    return start, layers.Dense(4)(x)


@net("sets")
def recommender(layers, draw):
    """Embeddings of features, and their products with each other."""
    import tensorflow as tf

    batch = 4 * draw(4, 16)
    numbers, features = layers.Input([13], batch_size=batch), layers.Input([8], batch_size=batch, dtype="int32")
    dense = layers.Dense(16, activation="relu")(layers.Dense(64, activation="relu")(numbers))
    x = layers.Concatenate(axis=1)([layers.Embedding(1000, 16)(features), layers.Reshape([1, 16])(dense)])
    x = layers.Lambda(lambda x: tf.reshape(tf.matmul(x, x, transpose_b=True), [batch, 81]), output_shape=(81,))(x)
    x = layers.Concatenate()([dense, x])
    for width in (128, 64):
        x = layers.Dense(width, activation="relu")(x)
    return [numbers, features], layers.Dense(1, activation="sigmoid")(x)
