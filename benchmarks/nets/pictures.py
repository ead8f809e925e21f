"""Nets whose output is a picture: segmentation, transposed convolutions, super-resolution, autoencoders; and volumes (3-D)."""

from .images import conv, depthwise, head
from .nets import net


@net("segmentation")
def unet(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    kept = []
    for filters in (12, 24, draw(44, 52)):
        x = conv(layers, conv(layers, x, filters), filters)
        kept.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = conv(layers, x, 64)
    for skip in reversed(kept):
        x = layers.Conv2DTranspose(skip.shape[-1], 2, 2)(x)
        x = conv(layers, layers.Concatenate()([x, skip]), skip.shape[-1])
    return start, layers.Softmax()(layers.Conv2D(6, 1)(x))


@net("segmentation")
def unet_resize(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    kept = []
    for filters in (16, draw(28, 36)):
        x = conv(layers, x, filters, 3, 2)
        kept.append(x)
    x = conv(layers, x, 48, 3, 2)
    for skip in reversed(kept):
        x = layers.UpSampling2D(2, interpolation="bilinear")(x)
        x = conv(layers, layers.Concatenate()([x, skip]), skip.shape[-1])
    return start, layers.Conv2D(4, 1, activation="sigmoid")(layers.UpSampling2D(2)(x))


@net("segmentation")
def deeplab(layers, draw):
    x = start = layers.Input([64, 64, 3], batch_size=1)
    x = conv(layers, depthwise(layers, conv(layers, x, 24, 3, 2), 3, 2), draw(44, 52), 1)
    branches = [conv(layers, x, 24, 1)]
    for rate in (2, 4):
        y = layers.Conv2D(24, 3, padding="same", dilation_rate=rate, activation="relu")(x)
        branches.append(y)
    x = conv(layers, layers.Concatenate()(branches), 32, 1)
    return start, layers.UpSampling2D(4, interpolation="bilinear")(layers.Conv2D(5, 1)(x))


@net("transposed")
def generator(layers, draw):
    x = start = layers.Input([64], batch_size=1)
    x = layers.Reshape([4, 4, 48])(layers.Dense(4 * 4 * 48)(x))
    for filters in (48, 24, draw(10, 14)):
        x = layers.Conv2DTranspose(filters, 4, 2, "same", use_bias=False)(x)
        x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    return start, layers.Conv2DTranspose(3, 3, 1, "same", activation="tanh")(x)


@net("transposed")
def decoder_of_strides(layers, draw):
    x = start = layers.Input([8, 8, 32], batch_size=1)
    for filters, size, stride in ((24, 2, 2), (draw(14, 20), 3, 2), (8, 5, 3)):
        x = layers.Conv2DTranspose(filters, size, stride, "same", activation="relu")(x)
    return start, x


@net("superresolution")
def espcn(layers, draw):
    import tensorflow as tf

    x = start = layers.Input([48, 48, 1], batch_size=1)
    x = layers.Conv2D(draw(28, 36), 5, padding="same", activation="tanh")(x)
    x = layers.Conv2D(16, 3, padding="same", activation="tanh")(x)
    x = layers.Conv2D(9, 3, padding="same")(x)
    return start, layers.Lambda(lambda y: tf.nn.depth_to_space(y, 3))(x)


@net("superresolution")
def edsr(layers, draw):
    import tensorflow as tf

    x = start = layers.Input([32, 32, 3], batch_size=1)
    x = skip = layers.Conv2D(draw(20, 28), 3, padding="same")(x)
    for _ in range(3):
        y = layers.Conv2D(skip.shape[-1], 3, padding="same", activation="relu")(x)
        y = layers.Conv2D(skip.shape[-1], 3, padding="same")(y)
        x = layers.Add()([x, layers.Rescaling(0.1)(y)])
    x = layers.Conv2D(12, 3, padding="same")(layers.Add()([x, skip]))
    return start, layers.Lambda(lambda y: tf.nn.depth_to_space(y, 2))(x)


@net("superresolution")
def fsrcnn(layers, draw):
    x = start = layers.Input([40, 40, 1], batch_size=1)
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(draw(36, 44), 5, padding="same")(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(12, 1)(x))
    for _ in range(3):
        x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(12, 3, padding="same")(x))
    return start, layers.Conv2DTranspose(1, 9, 2, "same")(layers.Conv2D(40, 1)(x))


@net("autoencoder")
def anomaly(layers, draw):
    x = start = layers.Input([320], batch_size=1)
    for units in (128, 128, draw(8, 16), 128, 128):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(units)(x)))
    return start, layers.Dense(320)(x)


@net("autoencoder")
def picture_autoencoder(layers, draw):
    x = start = layers.Input([48, 48, 3], batch_size=1)
    for filters in (16, draw(28, 36), 32):
        x = layers.Conv2D(filters, 3, 2, "same", activation="relu")(x)
    for filters in (32, 16):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(layers.UpSampling2D(2)(x))
    return start, layers.Conv2DTranspose(3, 3, 2, "same", activation="sigmoid")(x)


@net("autoencoder")
def variational(layers, draw):
    import tensorflow as tf

    x = start = layers.Input([28, 28, 1], batch_size=1)
    noise = layers.Input([16], batch_size=1)
    x = layers.Flatten()(layers.Conv2D(draw(14, 20), 3, 2, "same", activation="relu")(x))
    mean, spread = layers.Dense(16)(x), layers.Dense(16)(x)
    z = layers.Add()([mean, layers.Multiply()([layers.Lambda(tf.exp)(spread), noise])])
    x = layers.Reshape([7, 7, 16])(layers.Dense(7 * 7 * 16, activation="elu")(z))
    for filters in (16, 1):
        x = layers.Conv2DTranspose(filters, 3, 2, "same", activation="sigmoid" if filters == 1 else "elu")(x)
    return [start, noise], [x, mean]


@net("3d")
def volume_classifier(layers, draw):
    x = start = layers.Input([12, 24, 24, 1], batch_size=1)
    for filters in (8, draw(14, 18), 24):
        x = layers.Conv3D(filters, 3, 2, "same", activation="relu")(x)
    return start, layers.Softmax()(layers.Dense(5)(layers.GlobalAveragePooling3D()(x)))


@net("3d")
def video(layers, draw):
    x = start = layers.Input([8, 32, 32, 3], batch_size=1)
    x = layers.TimeDistributed(layers.Conv2D(draw(12, 18), 3, 2, "same", activation="relu"))(x)
    x = layers.Conv3D(16, (3, 1, 1), padding="same", activation="relu")(x)
    x = layers.TimeDistributed(layers.Conv2D(24, 3, 2, "same", activation="relu"))(x)
    return start, head(layers, layers.Reshape([16, 32, 24])(x))
