"""What programs do with images before and after a network."""

from . import Input, Program, family, integers


@family
def resized(d):
    """tf.image.resize to a fixed size, to twice the size, or to that of another image."""
    tf = d.tf
    channels, method = d.between(1, 4), d.choice("bilinear", "nearest")
    to = d.choice("fixed", "twice", "other")
    size = d.sizes(2, 1, 14)
    v1, align = d.flag(0.4), d.flag()

    def scale(image, size):
        if v1:
            return tf.compat.v1.image.resize(image, size, method=method, align_corners=align)
        return tf.image.resize(image, size, method=method)

    def function(x, *other):
        if to == "fixed":
            return scale(x, size)
        if to == "twice":
            return scale(x, tf.shape(x)[1:3] * 2)
        return scale(x, tf.shape(other[0])[1:3]) + 1.0

    image = Input([d.choice(1, None), None, None, channels], free=(1, 9))
    return Program(function, [image, Input([1, None, None, 1], free=(1, 9))] if to == "other" else [image])


@family
def normalized_image(d):
    """Bytes to floats, standardized per image or channel, cropped or padded to a box."""
    tf = d.tf
    height, width = d.sizes(2, 4, 9)
    how, crop = d.choice("image", "channel", "255"), d.between(2, 11)

    def function(x):
        y = tf.cast(x, tf.float32)
        if how == "image":
            y = tf.image.per_image_standardization(y)
        elif how == "channel":
            y = (y - [123.7, 116.8, 103.9]) / [58.4, 57.1, 57.4]
        else:
            y = tf.image.convert_image_dtype(x, tf.float32)
        return tf.image.resize_with_crop_or_pad(y, crop, crop)

    return Program(function, [Input([d.batch(), height, width, 3], "uint8", integers(0, 255, "uint8"))])


@family
def flips(d):
    tf = d.tf
    shape = [*d.sizes(2, 2, 8), d.between(1, 3)]
    shape[1] = shape[0]
    mode = d.choice("REFLECT", "SYMMETRIC", "CONSTANT")
    ways = [
        tf.image.flip_left_right,
        tf.image.flip_up_down,
        tf.image.rot90,
        tf.image.transpose,
        lambda x: tf.reverse(x, [1, 2]),
        lambda x: tf.concat([x[:, 1:], x[:, :1]], 1),
        lambda x: tf.pad(x, [[0, 0], [1, 1], [0, 1], [0, 0]], mode),
    ]
    chosen = [ways[d.between(0, len(ways) - 1)] for _ in range(d.between(1, 3))]

    def function(x):
        for way in chosen:
            x = way(x)
        return x

    return Program(function, [Input([d.batch(), *shape])])


@family
def blocks(d):
    """Depth to space, space to depth, batches of blocks, patches of a vision transformer."""
    tf, n = d.tf, d.choice(1, 2, 3)
    height, width, channels = n * d.between(1, 4), n * d.between(1, 4), n * n * d.between(1, 3)
    way = d.choice("depth", "space", "batch", "patches", "shuffled")

    def function(x):
        if way == "depth":
            return tf.nn.depth_to_space(x, n)
        if way == "space":
            return tf.nn.space_to_depth(x, n)
        if way == "batch":
            y = tf.space_to_batch(x, [n, n], [[0, 0], [0, 0]])
            return tf.batch_to_space(y * 2.0, [n, n], [[0, 0], [0, 0]])
        y = tf.reshape(x, [-1, height // n, n, width // n, n, channels])
        y = tf.transpose(y, [0, 1, 3, 2, 4, 5])
        return tf.reshape(y, [-1, (height // n) * (width // n), n * n * channels])

    return Program(function, [Input([d.batch(), height, width, channels])])


@family
def color(d):
    """Grey values, a matrix of colors, gamma, a histogram by one-hot sums."""
    tf = d.tf
    matrix, gamma = d.constant(3, 3), d.choice(0.5, 1.0, 2.2)
    bins = d.between(2, 6)

    def function(x):
        grey = tf.image.rgb_to_grayscale(x)
        mixed = tf.einsum("bhwc,cd->bhwd", x, matrix)
        bright = tf.clip_by_value(x, 0.0, 1.0) ** gamma
        levels = tf.cast(tf.clip_by_value(grey, 0.0, 0.999) * bins, tf.int32)
        return grey, mixed, bright, tf.reduce_sum(tf.one_hot(levels, bins), [1, 2, 3])

    image = Input([d.batch(), *d.sizes(2, 2, 7), 3], values=lambda d, s: d.rng.random(s, "float32"))
    return Program(function, [image])


@family
def boxes(d):
    """Boxes from anchors, scores, non-maximum suppression; padded to a count."""
    tf, count = d.tf, d.between(3, 12)
    anchors, most = d.constant(count, 2), d.between(1, 6)
    scored, padded = d.flag(), d.flag()

    def function(delta, scores):
        center = anchors + tf.tanh(delta[:, :2])
        half = tf.exp(tf.clip_by_value(delta[:, 2:], -2.0, 2.0)) / 2
        found = tf.concat([center - half, center + half], 1)
        if scored:
            chosen, kept = tf.image.non_max_suppression_with_scores(found, scores, most, 0.4, -1.0, 0.3)
            return tf.gather(found, chosen), kept
        if padded:
            chosen, valid = tf.image.non_max_suppression_padded(found, scores, most, 0.5, pad_to_max_output_size=True)
            return chosen, valid
        chosen = tf.image.non_max_suppression(found, scores, most, 0.5)
        return tf.gather(found, chosen), tf.gather(scores, chosen)

    return Program(function, [Input([count, 4]), Input([count])])


@family
def heat_maps(d):
    """Key points: the maximum of each map, its place, and a soft one."""
    tf = d.tf
    height, width, points = d.between(2, 8), d.between(2, 8), d.between(1, 5)

    def function(x):
        flat = tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [-1, points, height * width])
        best = tf.argmax(flat, -1, "int32")
        rows, columns = best // width, best % width
        soft = tf.nn.softmax(flat * 3.0, -1)
        ys = tf.reduce_sum(soft * tf.repeat(tf.range(height, dtype="float32"), width), -1)
        values, places = tf.math.top_k(flat, min(3, height * width))
        return rows, columns, ys, values, places

    return Program(function, [Input([d.batch(), height, width, points])])


@family
def filters(d):
    """Sobel edges, a blur by a depthwise filter, a local norm, morphology by pools."""
    tf, channels = d.tf, d.between(1, 4)
    kernel = d.constant(3, 3, channels, 1)
    way, rate = d.choice("sobel", "blur", "local", "dilation", "erosion"), d.choice(1, 2)
    padding = d.choice("SAME", "VALID")

    def function(x):
        if way == "sobel":
            return tf.image.sobel_edges(x)
        if way == "blur":
            return tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], padding, dilations=[rate, rate])
        if way == "local":
            return tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.6)
        if way == "dilation":
            return tf.nn.max_pool2d(x, 3, 1, "SAME") - x
        return x + tf.nn.max_pool2d(-x, [2, 3], [1, 1], padding)[:, :1, :1]

    return Program(function, [Input([d.batch(), *d.sizes(2, 5, 9), channels])])
