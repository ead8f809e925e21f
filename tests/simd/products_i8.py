"""Random nodes with 8-bit weights: shapes from the list of what models have and from the corners of the kernels, values from several laws.

`DRAWS[operator](rng, dtype)` gives a model of one node and its input. dtype "float32" is dynamic range.
"""

import numpy as np

from compat.builder import Model, Tensor

CHANNELS = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 80, 96, 100, 130, 144, 200]


def values(rng, dtype, shape):
    """Uniform, extremes only, small, or one value."""
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    law = rng.integers(4)
    if law == 0:
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    if law == 1:
        return rng.choice([low, high], shape).astype(dtype)
    if law == 2:
        return np.clip(rng.normal((low + high + 1) / 2, 9, shape), low, high).astype(dtype)
    return np.full(shape, rng.integers(low, high, endpoint=True), dtype)


def floats(rng, shape):
    x = rng.normal(size=shape).astype(np.float32) * np.float32(10.0 ** rng.integers(-3, 4))
    law = rng.integers(6)
    if law == 0:
        x = np.abs(x)
    elif law == 1:
        x[rng.random(shape) < 0.5] = 0
    elif law == 2:
        x = np.rint(x)
    elif law == 3:
        x[...] = x.flat[0]
    elif law == 4:
        x.flat[rng.integers(x.size)] = 1e-40
    return x


def zero_point(rng, dtype):
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    return int(rng.choice([low, high, 0 if dtype == "int8" else 128, rng.integers(low, high, endpoint=True)]))


def activation(rng):
    return str(rng.choice(["NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1"]))


def weights(rng, dtype, shape, channels, axis):
    """A constant with one scale, or (int8) with one per channel."""
    kind = "uint8" if dtype == "uint8" else "int8"
    data = values(rng, kind, shape)
    if kind == "uint8":
        zero = zero_point(rng, kind)
        if rng.random() < 0.5:  # as trained ones: less the zero point they are int8, but for a few
            data = np.clip(rng.normal(zero, 30, shape), max(0, zero - 128), min(255, zero + 127)).astype(np.uint8)
            data.flat[rng.integers(data.size, size=rng.integers(5))] = rng.choice([0, 255])
        return Tensor.constant(data, scale=float(np.float32(rng.uniform(0.001, 0.02))), zero_point=zero)
    if rng.random() < 0.3:
        return Tensor.constant(data, scale=float(np.float32(rng.uniform(0.001, 0.02))), zero_point=0)
    scales = rng.uniform(0.001, 0.02, channels).astype(np.float32).tolist()
    return Tensor.constant(data, scale=scales, zero_point=[0] * channels, axis=axis)


def node(rng, op, dtype, shape, out_shape, w, channels, depth, version, **options):
    """One node whose output scale spreads the sums over the range, sometimes a power of two, which makes ties."""
    if dtype == "float32":
        x, y = Tensor(shape, "float32"), Tensor(out_shape, "float32")
        bias = Tensor.constant(rng.normal(size=channels).astype(np.float32))
        feed = floats(rng, shape)
    else:
        scale = float(np.float32(rng.choice([0.5, 2.0**-7, rng.uniform(0.001, 0.1)])))
        x = Tensor(shape, dtype, scale=scale, zero_point=zero_point(rng, dtype))
        spread = scale * 0.01 * np.sqrt(depth) * rng.choice([0.05, 5, 50, 500])
        y = Tensor(out_shape, dtype, scale=float(np.float32(spread)), zero_point=zero_point(rng, dtype))
        scales = scale * np.asarray(w.scale).reshape(-1)
        bias = Tensor.constant(rng.integers(-2000, 2000, channels).astype(np.int32), scale=scales, zero_point=0)
        feed = values(rng, dtype, shape)
    inputs = [x, w, None if op == "FULLY_CONNECTED" and rng.random() < 0.3 else bias]
    blob = Model.single(op, inputs, [y], version, fused_activation_function=activation(rng), **options).to_bytes()
    return blob, [feed]


def window(rng):
    """Image, filter, strides, dilations, padding, and the output's size."""
    image = rng.integers(1, 40 if rng.random() < 0.3 else 14, 2)
    kernel = rng.choice([[1, 1], [3, 3], [1, 1], [5, 5], [2, 2], [3, 1], [1, 3], [10, 4], [4, 7]])
    stride = rng.integers(1, 3, 2) if rng.random() < 0.5 else np.array([1, 1])
    dilation = rng.integers(1, 4, 2) if rng.random() < 0.2 else np.array([1, 1])
    span = (kernel - 1) * dilation + 1
    padding = "SAME" if rng.random() < 0.6 or (image < span).any() else "VALID"
    out = -(-image // stride) if padding == "SAME" else (image - span) // stride + 1
    options = {"padding": padding, "stride_h": int(stride[0]), "stride_w": int(stride[1])}
    options |= {"dilation_h_factor": int(dilation[0]), "dilation_w_factor": int(dilation[1])}
    return [image.tolist(), kernel.tolist(), out.tolist()], options


def draw_conv(rng, dtype):
    (image, kernel, out), options = window(rng)
    ic, oc = (int(rng.choice(CHANNELS)) for _ in range(2))
    groups = int(rng.choice([2, 3, 4])) if rng.random() < 0.2 else 1
    if ic * oc * np.prod(kernel) * np.prod(image) > 3e7:
        ic, oc = min(ic, 8), min(oc, 40)
    batch = 2 if rng.random() < 0.2 else 1
    w = weights(rng, dtype, [oc * groups, *kernel, ic], oc * groups, 0)
    shapes = [batch, *image, ic * groups], [batch, *out, oc * groups]
    return node(
        rng, "CONV_2D", dtype, *shapes, w, oc * groups, np.prod(kernel) * ic, 5 if dtype == "float32" else 3, **options
    )


def draw_depthwise(rng, dtype):
    (image, kernel, out), options = window(rng)
    ic = int(rng.choice(CHANNELS))
    multiplier = int(rng.choice([1, 1, 1, 1, 2, 3, 8]))
    if ic * multiplier * np.prod(kernel) * np.prod(image) > 3e6:
        ic = min(ic, 33)
    batch = 2 if rng.random() < 0.2 else 1
    w = weights(rng, dtype, [1, *kernel, ic * multiplier], ic * multiplier, 3)
    shapes = [batch, *image, ic], [batch, *out, ic * multiplier]
    options["depth_multiplier"] = multiplier
    return node(rng, "DEPTHWISE_CONV_2D", dtype, *shapes, w, ic * multiplier, np.prod(kernel), 3, **options)


def draw_column(rng, dtype):
    """A depthwise filter over images of one pixel per row."""
    ic = int(rng.choice(CHANNELS))
    height, length, stride = int(rng.integers(1, 40)), int(rng.integers(1, 18)), int(rng.integers(1, 4))
    same = height < length or rng.random() < 0.5
    out = -(-height // stride) if same else (height - length) // stride + 1
    batch = 2 if rng.random() < 0.2 else 1
    w = weights(rng, dtype, [1, length, 1, ic], ic, 3)
    options = {"padding": "SAME" if same else "VALID", "stride_w": stride, "stride_h": stride, "depth_multiplier": 1}
    shapes = [batch, height, 1, ic], [batch, out, 1, ic]
    return node(rng, "DEPTHWISE_CONV_2D", dtype, *shapes, w, ic, length, 3, **options)


def draw_position(rng, dtype):
    """A depthwise filter as large as the image: one position, of streaming models."""
    ic, length = int(rng.choice(CHANNELS)), int(rng.integers(1, 24))
    width = int(rng.integers(1, 4)) if length < 12 else 1
    w = weights(rng, dtype, [1, length, width, ic], ic, 3)
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    return node(
        rng, "DEPTHWISE_CONV_2D", dtype, [1, length, width, ic], [1, 1, 1, ic], w, ic, length * width, 3, **options
    )


def draw_dilated(rng, dtype):
    """A depthwise filter of 3x3 whose taps are apart, over images of many channels: rows and pixels as far from each other share."""
    ic = int(rng.choice([16, 48, 64, 72, 96, 128, 200]))
    dilation = rng.integers(1, 5, 2)
    image = 2 * dilation + rng.integers(1, 30, 2)
    same = rng.random() < 0.5
    out = image if same else image - 2 * dilation
    w = weights(rng, dtype, [1, 3, 3, ic], ic, 3)
    options = {"padding": "SAME" if same else "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    options |= {"dilation_h_factor": int(dilation[0]), "dilation_w_factor": int(dilation[1])}
    shapes = [1, *image.tolist(), ic], [1, *out.tolist(), ic]
    return node(rng, "DEPTHWISE_CONV_2D", dtype, *shapes, w, ic, 9, 3, **options)


def draw_clamped(rng, dtype):
    """Outputs clamped at the lowest byte, of sums around 0 and around 2^23: there are two ways to scale those."""
    if dtype == "float32":
        return draw_conv(rng, dtype)
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    ic, oc = int(rng.choice([9, 64, 258, 261, 270, 520, 1020, 1040])), int(rng.choice([8, 16, 24, 40, 64, 100]))
    rows, zero = int(rng.integers(1, 40)), 0 if dtype == "int8" else int(rng.choice([3, 128]))
    factor = 2.0 ** float(rng.choice([-17, -16, -15, -14, -12, -9, -5, 1])) * rng.choice([0.999, 1, 1.001])
    x = Tensor([1, 1, rows, ic], dtype, scale=2.0**-7, zero_point=low)
    y = Tensor([1, 1, rows, oc], dtype, scale=float(np.float32(2.0**-14 / factor)), zero_point=low)
    data = rng.choice([zero, *([high] * int(rng.integers(20)))], [oc, 1, 1, ic]).astype(dtype)
    data[::3] = values(rng, dtype, data[::3].shape)
    w = Tensor.constant(data, scale=2.0**-7, zero_point=zero)
    bias = Tensor.constant(rng.integers(-300, 300, oc).astype(np.int32), scale=2.0**-14, zero_point=0)
    feed = values(rng, dtype, x.shape)
    feed[:, :, ::2] = high
    activation = str(rng.choice(["NONE", "RELU", "RELU6"]))
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "fused_activation_function": activation}
    return Model.single("CONV_2D", [x, w, bias], [y], 3, **options).to_bytes(), [feed]


def draw_matrix(rng, dtype):
    rows, k, n = (
        int(rng.choice(sizes)) for sizes in ([1, 1, 2, 3, 5, 16, 17, 40], [*CHANNELS, 300, 640], [*CHANNELS, 300])
    )
    w = weights(rng, dtype, [n, k], n, 0)
    if (
        dtype != "uint8" and n > 1 and rng.random() < 0.4
    ):  # two to a byte; XNNPACK wants an even number in a row, and a scale for each
        k += k % 2
        data = rng.choice([-8, 7], [n, k]) if rng.random() < 0.2 else rng.integers(-8, 8, [n, k])
        scales = rng.uniform(0.001, 0.02, n).astype(np.float32).tolist()
        w = Tensor.constant(data.astype(np.int8), "int4", scale=scales, zero_point=[0] * n, axis=0)
    return node(rng, "FULLY_CONNECTED", dtype, [rows, k], [rows, n], w, n, k, 9 if dtype == "float32" else 4)


def draw_transposed(rng, dtype):
    """Strides up to 4, each phase of which is a convolution of its own; filters shorter than their stride, too."""
    image, kernel, stride = rng.integers(1, 11, 2), rng.integers(1, 6, 2), rng.integers(1, 5, 2)
    if rng.random() < 0.4:
        kernel, stride = [(k, s) for k in ([2, 2], [3, 3], [4, 4]) for s in ([1, 1], [2, 2])][rng.integers(6)]
    image, kernel, stride = (np.asarray(v) for v in (image, kernel, stride))
    same = rng.random() < 0.5
    out = image * stride - rng.integers(0, stride) if same else (image - 1) * stride + kernel
    ic, oc = (int(rng.choice(CHANNELS)) for _ in range(2))
    batch = 2 if rng.random() < 0.2 else 1
    w = weights(rng, dtype, [oc, *kernel.tolist(), ic], oc, 0)
    shape, out_shape = [batch, *image.tolist(), ic], [batch, *np.maximum(out, 1).tolist(), oc]
    size = Tensor.constant(np.array(out_shape, np.int32))
    options = {"padding": "SAME" if same else "VALID", "stride_h": int(stride[0]), "stride_w": int(stride[1])}
    if dtype == "float32":
        x, y, feed = Tensor(shape, dtype), Tensor(out_shape, dtype), floats(rng, shape)
        bias = Tensor.constant(rng.normal(size=oc).astype(np.float32))
    else:
        x = Tensor(shape, dtype, scale=0.02, zero_point=zero_point(rng, dtype))
        spread = 0.02 * 0.01 * np.sqrt(ic * np.prod(kernel)) * rng.choice([0.05, 5, 50, 500])
        y = Tensor(out_shape, dtype, scale=float(np.float32(spread)), zero_point=zero_point(rng, dtype))
        scales = 0.02 * np.asarray(w.scale).reshape(-1)
        bias = Tensor.constant(rng.integers(-2000, 2000, oc).astype(np.int32), scale=scales, zero_point=0)
        feed = values(rng, dtype, shape)
    inputs = [size, w, x, *([bias] if rng.random() < 0.7 else [])]
    return Model.single("TRANSPOSE_CONV", inputs, [y], len(inputs) - 1, **options).to_bytes(), [feed]


def draw_batched(rng, dtype):
    """Matrices that broadcast, turned or not; the right sides are constant, or (int8) fed. No mode takes uint8."""
    dtype = "int8" if dtype == "uint8" else dtype
    m, k, n = (int(rng.choice(sizes)) for sizes in ([1, 2, 3, 5, 16, 17, 40], [*CHANNELS, 300], CHANNELS))
    batches = [rng.integers(1, 4, 2).tolist(), [3], [], [1, 2]][rng.integers(4)]
    of_x = [d if rng.random() < 0.7 else 1 for d in batches]
    of_w = [d if d == 1 or e == 1 or rng.random() < 0.5 else 1 for d, e in zip(batches, of_x, strict=True)]
    of_y = [max(a, b) for a, b in zip(of_x, of_w, strict=True)]
    adj_x, adj_y = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
    shape = [*of_x, k, m] if adj_x else [*of_x, m, k]
    w_shape = [*of_w, n, k] if adj_y else [*of_w, k, n]
    constant = dtype == "float32" or rng.random() < 0.4
    data = values(rng, "int8", w_shape)
    w = (
        Tensor.constant(data, scale=0.013, zero_point=0)
        if constant
        else Tensor(w_shape, "int8", scale=0.013, zero_point=0)
    )
    if dtype == "float32":
        x, y, feed = Tensor(shape, dtype), Tensor([*of_y, m, n], dtype), floats(rng, shape)
    else:
        x = Tensor(shape, dtype, scale=0.02, zero_point=zero_point(rng, dtype))
        spread = float(np.float32(0.02 * 0.01 * np.sqrt(k) * rng.choice([0.05, 5, 50])))
        y = Tensor([*of_y, m, n], dtype, scale=spread, zero_point=zero_point(rng, dtype))
        feed = values(rng, dtype, shape)
    options = {"adj_x": adj_x, "adj_y": adj_y}
    return Model.single("BATCH_MATMUL", [x, w], [y], 2, **options).to_bytes(), [feed] if constant else [feed, data]


DRAWS = {
    "BATCH_MATMUL": draw_batched,
    "TRANSPOSE_CONV": draw_transposed,
    "CONV_2D": draw_conv,
    "DEPTHWISE_CONV_2D": draw_depthwise,
    "CONV_2D at the lowest byte": draw_clamped,
    "DEPTHWISE_CONV_2D of columns": draw_column,
    "DEPTHWISE_CONV_2D, dilated": draw_dilated,
    "DEPTHWISE_CONV_2D of one position": draw_position,
    "FULLY_CONNECTED": draw_matrix,
}
