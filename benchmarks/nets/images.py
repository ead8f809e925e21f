"""Classifiers of images: MobileNets, EfficientNets, ResNets, VGGs, vision transformers, and what stands between them."""

from .nets import net


def conv(layers, x, filters, size=3, stride=1, activation="relu"):
    """Convolution, normalization, activation."""
    x = layers.Conv2D(filters, size, stride, "same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def depthwise(layers, x, size=3, stride=1, activation="relu"):
    x = layers.DepthwiseConv2D(size, stride, "same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def squeeze_excite(layers, x, share=4, gate="sigmoid"):
    channels = x.shape[-1]
    s = layers.GlobalAveragePooling2D(keepdims=True)(x)
    s = layers.Conv2D(max(1, channels // share), 1, activation="relu")(s)
    return layers.Multiply()([x, layers.Conv2D(channels, 1, activation=gate)(s)])


def inverted(layers, x, filters, expansion, stride, size=3, activation="relu6", gate=None):
    """MobileNetV2's block; with a gate MobileNetV3's and EfficientNet's."""
    y = conv(layers, x, x.shape[-1] * expansion, 1, 1, activation)
    y = depthwise(layers, y, size, stride, activation)
    if gate:
        y = squeeze_excite(layers, y, 4, gate)
    y = conv(layers, y, filters, 1, 1, None)
    return layers.Add()([x, y]) if y.shape == x.shape else y


def head(layers, x, classes=20):
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Softmax()(layers.Dense(classes)(x))


@net("mobilenet")
def mobilenet_v1(layers, draw):
    x = start = layers.Input([96, 96, 3], batch_size=1)
    x = conv(layers, x, draw(12, 20), 3, 2, "relu6")
    for filters, stride in ((24, 1), (48, 2), (48, 1), (96, 2), (96, 1), (draw(150, 200), 2)):
        x = conv(layers, depthwise(layers, x, 3, stride, "relu6"), filters, 1, 1, "relu6")
    return start, head(layers, x)


@net("mobilenet")
def mobilenet_v2(layers, draw):
    x = start = layers.Input([96, 96, 3], batch_size=1)
    x = conv(layers, x, 16, 3, 2, "relu6")
    for filters, stride in ((16, 1), (24, 2), (24, 1), (draw(30, 36), 2), (32, 1), (64, 2), (64, 1), (96, 1)):
        x = inverted(layers, x, filters, 6, stride)
    return start, head(layers, conv(layers, x, draw(300, 400), 1))


@net("mobilenet")
def mobilenet_v3(layers, draw):
    x = start = layers.Input([96, 96, 3], batch_size=1)
    x = conv(layers, x, 16, 3, 2, "hard_swish")
    for filters, stride, size, act, gate in (
        (16, 2, 3, "relu", "hard_sigmoid"),
        (24, 2, 3, "relu", None),
        (draw(36, 44), 2, 5, "hard_swish", "hard_sigmoid"),
        (40, 1, 5, "hard_swish", "hard_sigmoid"),
        (96, 2, 5, "hard_swish", "hard_sigmoid"),
    ):
        x = inverted(layers, x, filters, 4, stride, size, act, gate)
    return start, head(layers, conv(layers, x, 288, 1, 1, "hard_swish"))


@net("efficientnet")
def efficientnet(layers, draw):
    x = start = layers.Input([80, 80, 3], batch_size=1)
    x = conv(layers, x, 24, 3, 2, "swish")
    for filters, stride, size in ((16, 1, 3), (24, 2, 3), (draw(36, 44), 2, 5), (40, 1, 5), (80, 2, 3), (112, 1, 5)):
        x = inverted(layers, x, filters, 4, stride, size, "swish", "sigmoid")
    return start, head(layers, x)


@net("efficientnet")
def convnext(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = layers.LayerNormalization()(layers.Conv2D(32, 4, 4)(x))
    for filters in (32, draw(60, 70)):
        if filters != x.shape[-1]:
            x = layers.Conv2D(filters, 2, 2)(layers.LayerNormalization()(x))
        for _ in range(2):
            y = layers.LayerNormalization()(layers.DepthwiseConv2D(7, padding="same")(x))
            y = layers.Dense(4 * filters, activation="gelu")(y)
            x = layers.Add()([x, layers.Dense(filters)(y)])
    return start, head(layers, x)


@net("resnet")
def resnet(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = layers.MaxPooling2D(3, 2, "same")(conv(layers, x, 32, 7, 2))
    for filters, stride in ((32, 1), (32, 1), (draw(60, 68), 2), (64, 1), (128, 2)):
        y = conv(layers, conv(layers, x, filters, 3, stride), filters, 3, 1, None)
        x = conv(layers, x, filters, 1, stride, None) if y.shape != x.shape else x
        x = layers.ReLU()(layers.Add()([x, y]))
    return start, head(layers, x)


@net("resnet")
def resnet_bottleneck(layers, draw):
    x = start = layers.Input([56, 56, 3], batch_size=1)
    x = conv(layers, x, draw(30, 34), 3, 2)
    for filters, stride in ((64, 1), (64, 1), (128, 2), (128, 1)):
        y = conv(layers, conv(layers, x, filters // 4, 1), filters // 4, 3, stride)
        y = conv(layers, y, filters, 1, 1, None)
        x = conv(layers, x, filters, 1, stride, None) if y.shape != x.shape else x
        x = layers.LeakyReLU(negative_slope=0.1)(layers.Add()([x, y]))
    return start, head(layers, x)


@net("resnet")
def densenet(layers, draw):
    x = start = layers.Input([48, 48, 3], batch_size=1)
    growth = draw(10, 14)
    x = conv(layers, x, 24, 3, 2)
    for block in range(3):
        for _ in range(4):
            y = layers.ReLU()(layers.BatchNormalization()(x))
            y = layers.Conv2D(growth, 3, padding="same")(conv(layers, y, 2 * growth, 1))
            x = layers.Concatenate()([x, y])
        if block < 2:
            x = layers.AveragePooling2D(2)(conv(layers, x, x.shape[-1] // 2, 1))
    return start, head(layers, x)


@net("vgg")
def vgg(layers, draw):
    x = start = layers.Input([48, 48, 3], batch_size=1)
    for filters in (24, 48, draw(90, 100)):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    return start, layers.Softmax()(layers.Dense(20)(x))


@net("vgg")
def squeezenet(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = layers.MaxPooling2D(3, 2)(layers.Conv2D(32, 3, 2, activation="relu")(x))
    for squeeze, expand in ((8, 32), (16, draw(60, 68)), (24, 96)):
        s = layers.Conv2D(squeeze, 1, activation="relu")(x)
        branches = [layers.Conv2D(expand, k, padding="same", activation="relu")(s) for k in (1, 3)]
        x = layers.Concatenate()(branches)
    return start, head(layers, x)


@net("vgg")
def inception(layers, draw):
    x = start = layers.Input([48, 48, 3], batch_size=1)
    x = conv(layers, x, draw(28, 36), 3, 2)
    for filters in (16, 24):
        pooled = layers.AveragePooling2D(3, 1, "same")(x)
        branches = [conv(layers, x, filters, 1), conv(layers, pooled, filters, 1)]
        branches.append(conv(layers, conv(layers, x, filters, 1), filters, (1, 5)))
        branches.append(conv(layers, conv(layers, x, filters, 1), filters, (5, 1)))
        x = layers.MaxPooling2D(2)(layers.Concatenate()(branches))
    return start, head(layers, x)
