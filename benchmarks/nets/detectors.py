"""Detectors with their post-processing: anchors, boxes, non-maximum suppression, peaks."""

from .images import conv, inverted
from .nets import net


def suppressed(layers, boxes, scores, count=10):
    """The boxes that stay, their scores and how many they are."""
    import tensorflow as tf

    def select(values):
        boxes, scores = values
        best = tf.reduce_max(scores[0], -1)
        chosen, valid = tf.image.non_max_suppression_padded(
            boxes[0], best, count, 0.5, 0.1, pad_to_max_output_size=True
        )
        return tf.gather(boxes[0], chosen), tf.gather(scores[0], chosen), valid

    return layers.Lambda(select)([boxes, scores])


@net("detector")
def ssd(layers, draw):
    import tensorflow as tf

    x = start = layers.Input([96, 96, 3], batch_size=1)
    x = conv(layers, x, 16, 3, 2, "relu6")
    maps = []
    for filters in (24, draw(44, 52), 64):
        x = inverted(layers, x, filters, 4, 2)
        maps.append(x)
    corners = [layers.Reshape([-1, 4])(layers.Conv2D(12, 3, padding="same")(y)) for y in maps[1:]]
    scores = [layers.Reshape([-1, 6])(layers.Conv2D(18, 3, padding="same")(y)) for y in maps[1:]]
    corners = layers.Concatenate(axis=1)(corners)
    scores = layers.Activation("sigmoid")(layers.Concatenate(axis=1)(scores))

    def decode(y):
        centre, size = tf.sigmoid(y[..., :2]), tf.exp(0.2 * y[..., 2:])
        return tf.concat([centre - 0.1 * size, centre + 0.1 * size], -1)

    return start, list(suppressed(layers, layers.Lambda(decode)(corners), scores))


@net("detector")
def yolo(layers, draw):
    x = start = layers.Input([96, 96, 3], batch_size=1)
    kept = []
    for filters in (12, 24, draw(44, 52), 64):
        x = conv(layers, x, filters, 3, 2, "swish")
        a, b = conv(layers, x, filters // 2, 1, 1, "swish"), conv(layers, x, filters // 2, 1, 1, "swish")
        b = layers.Add()([b, conv(layers, b, filters // 2, 3, 1, "swish")])
        x = layers.Concatenate()([a, b])
        kept.append(x)
    x = layers.Concatenate()([layers.UpSampling2D(2)(x), kept[-2]])
    x = layers.Reshape([-1, 9])(layers.Conv2D(18, 1)(conv(layers, x, 48, 3, 1, "swish")))
    boxes = layers.Lambda(lambda y: y[..., :4])(x)
    scores = layers.Activation("sigmoid")(layers.Lambda(lambda y: y[..., 4:])(x))
    return start, list(suppressed(layers, boxes, scores))


@net("detector")
def centers(layers, draw):
    import tensorflow as tf

    x = start = layers.Input([64, 64, 3], batch_size=1)
    for filters, stride in ((16, 2), (draw(28, 36), 2), (32, 1)):
        x = conv(layers, x, filters, 3, stride)
    heat = layers.Conv2D(4, 1, activation="sigmoid")(conv(layers, x, 32))
    peaks = layers.MaxPooling2D(3, 1, "same")(heat)
    flat = layers.Lambda(lambda y: tf.reshape(tf.where(y[0] >= y[1], y[0], 0.0 * y[0]), [1, -1]))([heat, peaks])
    return start, list(layers.Lambda(lambda y: tf.math.top_k(y, 16))(flat))
