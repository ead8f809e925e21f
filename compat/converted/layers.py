"""Keras' layers in networks of a few, with options that tutorials do not use."""

from . import Input, Program, family

ACTIVATIONS = (
    *(
        "relu",
        "relu6",
        "elu",
        "selu",
        "gelu",
        "swish",
        "softplus",
        "softsign",
        "tanh",
        "sigmoid",
        "hard_sigmoid",
        "exponential",
    ),
    *("mish", "leaky_relu", "log_softmax", "softmax", "linear", "silu", "hard_silu"),
)


def sequential(d, shape, layers, batch=None):
    network = d.keras.Sequential([d.keras.layers.Input(shape, batch_size=batch), *layers])
    for layer in network.layers:  # norms and biases that do something
        layer.set_weights(
            [value + d.rng.uniform(0.05, 0.4, value.shape).astype(value.dtype) for value in layer.get_weights()]
        )
    return network


def image_shape(d, least=5):
    return [d.between(least, 13), d.between(least, 13), d.between(1, 6)]


@family
def convolutions(d):
    layers = d.keras.layers
    chain = []
    for _ in range(d.between(1, 4)):
        strides = d.choice(1, 1, 2)
        common = {
            "padding": d.choice("same", "same", "valid"),
            "activation": d.choice(*ACTIVATIONS),
            "use_bias": d.flag(0.7),
        }
        kind = d.choice("conv", "depthwise", "separable", "transpose", "dilated")
        size = d.choice(1, 2, 3, (3, 1), (1, 2))
        if kind == "conv":
            chain.append(layers.Conv2D(d.between(1, 9), size, strides, **common))
        elif kind == "dilated":
            chain.append(layers.Conv2D(d.between(1, 9), size, dilation_rate=2, **{**common, "padding": "same"}))
        elif kind == "depthwise":
            chain.append(layers.DepthwiseConv2D(size, strides, depth_multiplier=d.choice(1, 1, 2), **common))
        elif kind == "separable":
            chain.append(layers.SeparableConv2D(d.between(1, 9), size, strides, **common))
        else:
            chain.append(layers.Conv2DTranspose(d.between(1, 9), size, strides, **common))
    shape = image_shape(d, 9)
    return Program(sequential(d, shape, chain), [Input([d.batch(), *shape])])


@family
def free_images(d):
    """Height and width are free, as of networks that take any image."""
    layers = d.keras.layers
    channels = d.between(1, 4)
    chain = [
        layers.ZeroPadding2D(d.choice(1, (1, 2), ((0, 1), (2, 0)))),
        layers.Conv2D(d.between(1, 8), 3, d.choice(1, 2), padding=d.choice("same", "valid"), activation="relu"),
        d.choice(layers.MaxPooling2D, layers.AveragePooling2D)(2, padding=d.choice("same", "valid")),
        layers.BatchNormalization(),
        d.choice(
            layers.Conv2DTranspose(3, 2, 2), layers.UpSampling2D(2, interpolation=d.choice("nearest", "bilinear"))
        ),
        d.choice(layers.GlobalAveragePooling2D(), layers.GlobalMaxPooling2D(keepdims=True), layers.Cropping2D(1)),
    ]
    if d.flag(0.3):
        chain.pop(d.between(0, 4))
    size = (7, 16)
    return Program(
        sequential(d, [None, None, channels], chain), [Input([d.choice(1, None), None, None, channels], free=size)]
    )


@family
def normalized(d):
    """Norms of all kinds, over all axes."""
    layers = d.keras.layers
    rank = d.between(1, 3)
    shape = d.sizes(rank, 2, 8)
    groups = d.choice(1, 2)
    shape[-1] = groups * d.between(1, 4)
    norm = d.choice(
        layers.LayerNormalization(axis=d.between(1, rank)),
        layers.LayerNormalization(axis=list(range(1, rank + 1)), epsilon=1e-2, center=d.flag()),
        layers.BatchNormalization(axis=d.between(1, rank), scale=d.flag()),
        layers.GroupNormalization(groups=groups),
        layers.UnitNormalization(axis=d.between(1, rank)),
    )
    chain = [
        layers.Dense(shape[-1], activation=d.choice(*ACTIVATIONS)),
        norm,
        layers.Activation(d.choice(*ACTIVATIONS)),
    ]
    return Program(sequential(d, shape, chain), [Input([d.batch(), *shape])])


@family
def activations(d):
    layers = d.keras.layers
    rank = d.between(1, 4)
    shape = d.sizes(rank, 1, 9)
    chain = [
        d.choice(
            layers.PReLU(shared_axes=[d.between(1, rank)]),
            layers.PReLU(),
            layers.LeakyReLU(negative_slope=d.choice(0.0, 0.1, 0.5, 1.5)),
            layers.ELU(alpha=d.choice(0.5, 1.0, 2.0)),
            layers.ReLU(
                max_value=d.choice(None, 6.0, 1.0, 0.5), negative_slope=d.choice(0.0, 0.2), threshold=d.choice(0.0, 0.3)
            ),
            layers.Softmax(axis=d.between(1, rank)),
            layers.Activation(d.choice(*ACTIVATIONS)),
        )
        for _ in range(d.between(1, 4))
    ]
    return Program(sequential(d, shape, chain), [Input([d.batch(), *shape])])


@family
def one_dimension(d):
    """Convolutions, pools and crops over time."""
    layers = d.keras.layers
    steps, features = d.between(8, 20), d.between(1, 6)
    chain = [
        layers.Conv1D(d.between(1, 8), d.between(1, 4), padding="causal", dilation_rate=d.choice(1, 2, 4)),
        d.choice(
            layers.SeparableConv1D(4, 3, padding="same"),
            layers.DepthwiseConv1D(3, padding="same", depth_multiplier=d.choice(1, 2)),
            layers.Conv1DTranspose(3, 3, d.choice(1, 2, 3), padding=d.choice("same", "valid")),
            layers.Conv1D(6, 3, 2, activation="gelu"),
        ),
        d.choice(
            layers.MaxPooling1D(2),
            layers.AveragePooling1D(3, 2, padding="same"),
            layers.UpSampling1D(2),
            layers.ZeroPadding1D((2, 1)),
            layers.Cropping1D((1, 1)),
        ),
        d.choice(
            layers.GlobalMaxPooling1D(), layers.GlobalAveragePooling1D(), layers.Flatten(), layers.Permute((2, 1))
        ),
    ]
    time = steps if d.flag() or isinstance(chain[-1], layers.Flatten) else None
    return Program(sequential(d, [time, features], chain), [Input([d.batch(), time, features], free=(8, 20))])


@family
def volumes(d):
    layers = d.keras.layers
    shape = [*d.sizes(3, 4, 7), d.between(1, 3)]
    chain = [
        layers.Conv3D(
            d.between(1, 5),
            d.choice(1, 2, (1, 3, 2)),
            d.choice(1, 2),
            padding=d.choice("same", "valid"),
            activation="relu",
        ),
        d.choice(
            layers.Conv3DTranspose(2, 2, 2, padding="same"),
            layers.UpSampling3D(2),
            layers.ZeroPadding3D(1),
            layers.GlobalAveragePooling3D(),
            layers.Permute((3, 1, 4, 2)),
        ),
    ]
    return Program(sequential(d, shape, chain), [Input([d.batch(), *shape])])


@family
def grouped(d):
    """Convolutions in groups, channel shuffle, squeeze and excite, a residual sum."""
    tf, layers, keras = d.tf, d.keras.layers, d.keras
    groups = d.choice(1, 2, 3)
    height, width, channels = d.between(3, 8), d.between(3, 8), groups * d.between(1, 4)
    x = keras.Input([height, width, channels])
    y = layers.Conv2D(channels, 3, padding="same", groups=groups, activation="swish")(x)
    y = layers.Reshape([height, width, groups, channels // groups])(y)
    y = layers.Permute([1, 2, 4, 3])(y)
    y = layers.Reshape([height, width, channels])(y)
    gate = layers.GlobalAveragePooling2D(keepdims=d.flag())(y)
    gate = layers.Dense(channels, activation=d.choice("sigmoid", "hard_sigmoid"))(
        layers.Dense(2, activation="relu")(gate)
    )
    if len(gate.shape) == 2:
        gate = layers.Reshape([1, 1, channels])(gate)
    y = layers.Add()([x, layers.Multiply()([y, gate])])
    network = keras.Model(x, d.choice(y, layers.Concatenate(axis=d.between(1, 3))([x, y]), layers.Average()([x, y])))
    del tf
    return Program(network, [Input([d.batch(), height, width, channels])])


@family
def heads(d):
    """A dense trunk with several outputs, one of them twice removed, one an intermediate."""
    layers, keras = d.keras.layers, d.keras
    x = keras.Input(d.sizes(d.between(1, 2), 2, 9))
    trunk = layers.Dense(d.between(2, 40), activation=d.choice(*ACTIVATIONS))(layers.Flatten()(x))
    outputs = [layers.Dense(d.between(1, 9), activation=d.choice(*ACTIVATIONS))(trunk) for _ in range(d.between(1, 3))]
    if d.flag():
        outputs.append(layers.Dot(axes=1, normalize=d.flag())([trunk, trunk]))
    if d.flag():
        outputs.append(
            d.choice(layers.Maximum, layers.Subtract, layers.Minimum)()([trunk, layers.Dense(trunk.shape[-1])(trunk)])
        )
    return Program(keras.Model(x, outputs), [Input([d.batch(), *x.shape[1:]])])
