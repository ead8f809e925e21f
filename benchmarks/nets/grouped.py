"""Image nets whose channels go in groups, or whose feature maps are combined: shuffles, ghosts, pyramids, nested skips."""

from .images import conv, depthwise, head, squeeze_excite
from .nets import net


def shuffled(layers, x, groups):
    """The channels of all groups by turns."""
    import tensorflow as tf

    _, height, width, channels = x.shape

    def shuffle(x):
        x = tf.reshape(x, [1, height, width, groups, channels // groups])
        return tf.reshape(tf.transpose(x, [0, 1, 2, 4, 3]), [1, height, width, channels])

    return layers.Lambda(shuffle)(x)


@net("grouped")
def shufflenet(layers, draw):
    import tensorflow as tf

    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = conv(layers, x, 2 * draw(26, 58), 3, 2)
    for _ in range(3):
        half = x.shape[-1] // 2
        kept, y = layers.Lambda(lambda x: tf.split(x, 2, -1))(x)
        y = conv(layers, depthwise(layers, conv(layers, y, half, 1), activation=None), half, 1)
        x = shuffled(layers, layers.Concatenate()([kept, y]), 2)
    return start, head(layers, x)


@net("grouped")
def regnet(layers, draw):
    x = start = layers.Input([56, 56, 3], batch_size=1)
    x = conv(layers, x, 8 * draw(5, 9), 3, 2)
    for _ in range(3):
        y = conv(layers, x, x.shape[-1], 1)
        y = layers.Conv2D(x.shape[-1], 3, padding="same", groups=4, activation="relu")(y)
        y = conv(layers, squeeze_excite(layers, y), x.shape[-1], 1, 1, None)
        x = layers.ReLU()(layers.Add()([x, y]))
    return start, head(layers, x)


@net("grouped")
def ghostnet(layers, draw):
    def ghost(x, filters, activation):
        y = conv(layers, x, filters // 2, 1, 1, activation)
        return layers.Concatenate()([y, depthwise(layers, y, 3, 1, activation)])

    x = start = layers.Input([56, 56, 3], batch_size=1)
    x = conv(layers, x, 2 * draw(20, 32), 3, 2)
    for _ in range(3):
        y = squeeze_excite(layers, ghost(x, 3 * x.shape[-1], "relu"), 4, "hard_sigmoid")
        x = layers.Add()([x, ghost(y, x.shape[-1], None)])
    return start, head(layers, x)


@net("pyramid")
def weighted_pyramid(layers, draw):
    """As EfficientDet's: levels are added with weights, upwards and downwards."""

    def node(*inputs):
        total = layers.Add()([layers.Rescaling(0.3 + 0.1 * i)(x) for i, x in enumerate(inputs)])
        return layers.Activation("swish")(layers.SeparableConv2D(width, 3, padding="same")(total))

    x = start = layers.Input([128, 128, 3], batch_size=1)
    width = draw(36, 64)
    down = layers.MaxPooling2D(3, 2, "same")
    up = layers.UpSampling2D(2)
    low = layers.Conv2D(width, 3, 4, "same", activation="relu")(x)
    levels = [low, down(low), down(down(low))]
    for _ in range(2):
        middle = node(levels[1], up(levels[2]))
        low = node(levels[0], up(middle))
        middle = node(levels[1], middle, down(low))
        levels = [low, middle, node(levels[2], down(middle))]
    return start, [layers.Conv2D(36, 3, padding="same")(x) for x in levels]


@net("pyramid")
def spatial_pyramid(layers, draw):
    """As YOLO's: poolings of several sizes side by side, boxes decoded."""
    import tensorflow as tf

    def decode(x):
        x = tf.reshape(x, [1, -1, 13])
        return tf.concat([tf.sigmoid(x[..., :2]) * 2 - 0.5, tf.square(2 * tf.sigmoid(x[..., 2:4])), x[..., 4:]], -1)

    x = start = layers.Input([96, 96, 3], batch_size=1)
    for filters in (draw(20, 32), 48, 96):
        x = conv(layers, x, filters, 3, 2, "leaky_relu")
    x = conv(layers, x, 48, 1, 1, "leaky_relu")
    x = layers.Concatenate()([x, *(layers.MaxPooling2D(size, 1, "same")(x) for size in (5, 9, 13))])
    x = layers.Conv2D(39, 1)(conv(layers, x, 96, 3, 1, "leaky_relu"))
    return start, layers.Lambda(decode)(x)


@net("pyramid")
def unet_nested(layers, draw):
    def block(x, filters):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        return x

    x = start = layers.Input([64, 64, 3], batch_size=1)
    width = draw(12, 20)
    up = layers.UpSampling2D(interpolation="bilinear")
    levels = [block(x, width)]
    for share in (2, 4):
        levels.append(block(layers.MaxPooling2D()(levels[-1]), share * width))
    first = block(layers.Concatenate()([levels[0], up(levels[1])]), width)
    second = block(layers.Concatenate()([levels[1], up(levels[2])]), 2 * width)
    last = block(layers.Concatenate()([levels[0], first, up(second)]), width)
    return start, layers.Conv2D(3, 1, activation="sigmoid")(last)
