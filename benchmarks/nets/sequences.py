"""Nets of sequences without recurrence: transformers with and without a cache, vision transformers, TCNs, keyword spotting."""

from .images import conv, depthwise, head
from .nets import net


def attend(layers, q, k, v, heads, mask=None):
    """Scaled dot products of [1, tokens, width], by heads."""
    import tensorflow as tf

    width = q.shape[-1]

    def split(x):
        return tf.transpose(tf.reshape(x, [1, x.shape[1], heads, width // heads]), [0, 2, 1, 3])

    def attention(values):
        q, k, v, *masks = values
        scores = tf.matmul(split(q), split(k), transpose_b=True) * (width // heads) ** -0.5
        if mask is not None:
            scores = scores + (masks[0] if masks else mask)
        mixed = tf.matmul(tf.nn.softmax(scores), split(v))
        return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [1, q.shape[1], width])

    made = [q, k, v] if mask is None or hasattr(mask, "__array_interface__") else [q, k, v, mask]
    return layers.Lambda(attention, output_shape=(q.shape[1], width))(made)


def block(layers, x, heads, expansion=4, activation="gelu", mask=None):
    """Pre-normalized self-attention and a feed-forward net."""
    y = layers.LayerNormalization()(x)
    y = attend(layers, *(layers.Dense(x.shape[-1])(y) for _ in range(3)), heads, mask)
    x = layers.Add()([x, layers.Dense(x.shape[-1])(y)])
    y = layers.Dense(expansion * x.shape[-1], activation=activation)(layers.LayerNormalization()(x))
    return layers.Add()([x, layers.Dense(x.shape[-1])(y)])


@net("encoder")
def bert(layers, draw):
    tokens = layers.Input([48], batch_size=1, dtype="int32")
    width = 4 * draw(24, 32)
    x = placed(layers, layers.Embedding(500, width)(tokens))
    x = layers.LayerNormalization()(x)
    for _ in range(2):
        y = attend(layers, *(layers.Dense(width)(x) for _ in range(3)), 4)
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dense(width)(y)]))
        y = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return tokens, layers.Dense(6)(layers.Lambda(lambda y: y[:, 0])(x))


def placed(layers, x):
    """With an embedding of positions added."""
    import numpy as np

    table = np.random.default_rng(0).standard_normal(x.shape[1:]).astype(np.float32)
    return layers.Lambda(lambda x: x + table)(x)


@net("encoder")
def encoder(layers, draw):
    x = start = layers.Input([64, 40], batch_size=1)
    x = layers.Dense(4 * draw(18, 24))(x)
    for _ in range(2):
        x = block(layers, x, 4, 2, "relu")
    return start, layers.Dense(30)(x)


@net("encoder")
def conformer(layers, draw):
    x = start = layers.Input([48, 40], batch_size=1)
    x = layers.Dense(8 * draw(7, 9))(x)
    for _ in range(2):
        x = block(layers, x, 4, 2, "swish")
        y = layers.Dense(2 * x.shape[-1])(layers.LayerNormalization()(x))
        gate = layers.Lambda(lambda y: y[..., : y.shape[-1] // 2])(y)
        y = layers.Multiply()(
            [gate, layers.Activation("sigmoid")(layers.Lambda(lambda y: y[..., y.shape[-1] // 2 :])(y))]
        )
        y = layers.Activation("swish")(layers.BatchNormalization()(layers.DepthwiseConv1D(15, padding="same")(y)))
        x = layers.Add()([x, layers.Dense(x.shape[-1])(y)])
    return start, layers.Softmax()(layers.Dense(20)(x))


@net("decoder")
def causal_decoder(layers, draw):
    import numpy as np

    tokens = layers.Input([32], batch_size=1, dtype="int32")
    width = 4 * draw(16, 24)
    x = placed(layers, layers.Embedding(300, width)(tokens))
    mask = np.triu(np.full([1, 1, 32, 32], -30.0, np.float32), 1)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        q, k, v = (layers.Dense(width)(y) for _ in range(3))
        x = layers.Add()([x, layers.Dense(width)(attend(layers, q, k, v, 4, mask))])
        y = layers.Dense(3 * width, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(width)(y)])
    return tokens, layers.Dense(300)(layers.LayerNormalization()(x))


@net("decoder")
def cached_decoder(layers, draw):
    """One step: a token's embedding, its position, and keys and values of those before."""
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice

    width, length, depth = 4 * draw(16, 24), 48, 2
    x = start = layers.Input([1, width], batch_size=1)
    position = layers.Input([], batch_size=1, dtype="int32")
    caches = [layers.Input([length, width], batch_size=1) for _ in range(2 * depth)]
    made = []

    def update(values):
        cache, new, at = values
        return dynamic_update_slice(cache, new, tf.stack([0, at[0], 0]))

    def mask_of(at):
        return tf.where(tf.range(length) <= at[0], 0.0, -30.0)[None, None, None]

    mask = layers.Lambda(mask_of, output_shape=(1, 1, length))(position)
    for i in range(depth):
        y = layers.LayerNormalization()(x)
        k = layers.Lambda(update, output_shape=(length, width))([caches[2 * i], layers.Dense(width)(y), position])
        v = layers.Lambda(update, output_shape=(length, width))([caches[2 * i + 1], layers.Dense(width)(y), position])
        x = layers.Add()([x, layers.Dense(width)(attend(layers, layers.Dense(width)(y), k, v, 4, mask))])
        y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(width)(y)])
        made += [k, v]
    return [start, position, *caches], [layers.Dense(200)(x), *made]


@net("vit")
def vit(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = layers.Reshape([64, -1])(layers.Conv2D(16 * draw(4, 6), 8, 8)(x))
    for _ in range(2):
        x = block(layers, x, 4, 3)
    return start, layers.Softmax()(layers.Dense(20)(layers.GlobalAveragePooling1D()(x)))


@net("vit")
def mixer(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = layers.Reshape([64, -1])(layers.Conv2D(16 * draw(4, 6), 8, 8)(x))
    for _ in range(2):
        y = layers.Permute([2, 1])(layers.LayerNormalization()(x))
        y = layers.Dense(64)(layers.Dense(48, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute([2, 1])(y)])
        y = layers.Dense(160, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(x.shape[-1])(y)])
    return start, layers.Dense(20)(layers.GlobalAveragePooling1D()(x))


@net("tcn")
def tcn(layers, draw):
    x = start = layers.Input([128, 16], batch_size=1)
    x = layers.Conv1D(draw(28, 36), 1)(x)
    for rate in (1, 2, 4, 8):
        y = layers.Conv1D(x.shape[-1], 3, padding="causal", dilation_rate=rate, activation="relu")(x)
        x = layers.Add()([x, layers.Conv1D(x.shape[-1], 1)(y)])
    return start, layers.Dense(8)(x)


@net("tcn")
def wavenet(layers, draw):
    x = start = layers.Input([200, 8], batch_size=1)
    width, skips = draw(20, 28), []
    x = layers.Conv1D(width, 1)(x)
    for rate in (1, 2, 4, 8):
        a, b = (layers.Conv1D(width, 2, padding="causal", dilation_rate=rate)(x) for _ in range(2))
        y = layers.Multiply()([layers.Activation("tanh")(a), layers.Activation("sigmoid")(b)])
        skips.append(layers.Conv1D(width, 1)(y))
        x = layers.Add()([x, skips[-1]])
    return start, layers.Conv1D(32, 1)(layers.ReLU()(layers.Add()(skips)))


@net("keyword")
def ds_cnn(layers, draw):
    x = start = layers.Input([49, 10, 1], batch_size=1)
    x = conv(layers, x, draw(56, 68), (10, 4), 2)
    for _ in range(4):
        x = conv(layers, depthwise(layers, x), 64, 1)
    return start, head(layers, x, 12)


@net("keyword")
def matchbox(layers, draw):
    x = start = layers.Input([100, 40], batch_size=1)
    for filters, size in ((draw(60, 68), 11), (64, 13), (64, 15)):
        y = layers.SeparableConv1D(filters, size, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        x = layers.Add()([x, y]) if x.shape == y.shape else y
    return start, layers.Softmax()(layers.Dense(12)(layers.GlobalMaxPooling1D()(x)))


@net("keyword")
def spectral(layers, draw):
    """With its own front end: a Fourier transform, mel bands, logarithms."""
    import tensorflow as tf

    bands = tf.signal.linear_to_mel_weight_matrix(40, 129, 8000, 20.0, 3800.0).numpy()

    def features(x):
        powers = tf.square(tf.abs(tf.signal.stft(x, 200, 80, 256)))
        return tf.math.log(tf.matmul(powers, bands) + 1e-6)[..., None]

    x = start = layers.Input([1000 * draw(3, 6)], batch_size=1)
    x = layers.Lambda(features)(x)
    x = conv(layers, depthwise(layers, conv(layers, x, 16, 5, 2)), 32, 1)
    return start, layers.Softmax()(layers.Dense(12)(layers.GlobalMaxPooling2D()(x)))


@net("tcn")
def heart(layers, draw):
    """Long filters over a signal, halved twice."""
    x = start = layers.Input([1000, draw(1, 12)], batch_size=1)
    x = layers.Conv1D(24, 16, padding="same")(x)
    for stride in (1, 2, 1, 2):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        y = layers.Conv1D(24, 15, stride, "same", activation="relu")(y)
        y = layers.Conv1D(24, 15, padding="same")(y)
        x = layers.Add()([layers.MaxPooling1D(2, padding="same")(x) if stride == 2 else x, y])
    return start, layers.Softmax()(layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))
