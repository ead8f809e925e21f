"""Random float32 nodes: shapes from what models have and from the corners of the kernels, values from several laws.

`DRAWS[operator](rng)` gives a model of one node and its inputs. Values are normal, of few bits (ties), huge, denormal, zeros of both
signs, infinities and, on one side of a product only, NaN (which of two NaNs a product gives is not defined).
"""

import numpy as np

from compat.builder import Model, Tensor

CHANNELS = [1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 31, 32, 33, 36, 48, 63, 64, 65, 80, 96, 112, 130, 144, 200]


def values(rng, shape, special=True):
    x = rng.normal(size=shape).astype(np.float32)
    law = rng.integers(8)
    if law == 0:
        x = np.rint(x * 4) / np.float32(4)
    elif law == 1:
        x = x * np.float32(10.0 ** rng.integers(-38, 30))
    elif law == 2:
        x = np.where(rng.random(shape) < 0.7, np.float32(-0.0), x)
    elif law == 3:
        x = np.copysign(np.where(rng.random(shape) < 0.5, np.float32(0), x), rng.normal(size=shape)).astype(np.float32)
    elif law == 4 and special:
        x = np.where(
            rng.random(shape) < 0.05, rng.choice(np.float32([np.inf, -np.inf, np.nan, 1e-40, -1e-40]), shape), x
        )
    elif law == 5:
        x = np.abs(x)
    return x.astype(np.float32)


def activation(rng):
    return str(rng.choice(["NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1"]))


def window(rng, kernels):
    """Image, filter, output size and options."""
    image = rng.integers(1, 40 if rng.random() < 0.3 else 16, 2)
    kernel = rng.choice(kernels)
    stride = rng.integers(1, 4, 2) if rng.random() < 0.3 else rng.choice([[1, 1], [2, 2]])
    dilation = rng.integers(1, 4, 2) if rng.random() < 0.2 else np.array([1, 1])
    span = (kernel - 1) * dilation + 1
    padding = "SAME" if rng.random() < 0.6 or (image < span).any() else "VALID"
    out = -(-image // stride) if padding == "SAME" else (image - span) // stride + 1
    options = {"padding": padding, "stride_h": int(stride[0]), "stride_w": int(stride[1])}
    options |= {"dilation_h_factor": int(dilation[0]), "dilation_w_factor": int(dilation[1])}
    return image.tolist(), kernel.tolist(), out.tolist(), options


def weights(rng, shape):
    return Tensor.constant(values(rng, shape, special=False))


def draw_conv(rng):
    image, kernel, out, options = window(rng, [[1, 1], [3, 3], [1, 1], [5, 5], [2, 2], [3, 1], [1, 3], [10, 4]])
    ic, oc = (int(rng.choice(CHANNELS)) for _ in range(2))
    groups = int(rng.choice([2, 3, 4])) if rng.random() < 0.2 else 1
    if ic * oc * np.prod(kernel) * np.prod(image) > 2e7:
        ic, oc = min(ic, 8), min(oc, 40)
    batch = 2 if rng.random() < 0.2 else 1
    inputs = [
        Tensor([batch, *image, ic * groups], "float32"),
        weights(rng, [oc * groups, *kernel, ic]),
        weights(rng, [oc * groups]),
    ]
    y = Tensor([batch, *out, oc * groups], "float32")
    blob = Model.single("CONV_2D", inputs, [y], 1, fused_activation_function=activation(rng), **options).to_bytes()
    return blob, [values(rng, [batch, *image, ic * groups])]


def draw_far_conv(rng):
    """Weights of a MiB and more: windows of several rows are gathered."""
    image, kernel, out, options = window(rng, [[3, 3], [1, 1], [2, 3], [5, 1]])
    ic = int(rng.integers(100, 400))
    oc = -(-(2**20) // (4 * ic * int(np.prod(kernel)))) + int(rng.integers(0, 40))
    batch = 2 if rng.random() < 0.2 else 1
    if oc > 600 or ic * oc * np.prod(kernel) * np.prod(out) * batch > 5e7:
        return draw_far_conv(rng)
    inputs = [Tensor([batch, *image, ic], "float32"), weights(rng, [oc, *kernel, ic]), weights(rng, [oc])]
    y = Tensor([batch, *out, oc], "float32")
    blob = Model.single("CONV_2D", inputs, [y], 1, fused_activation_function=activation(rng), **options).to_bytes()
    return blob, [values(rng, [batch, *image, ic])]


def draw_long_conv(rng):
    """Output rows so long that their edges are computed apart; some add a residual before they write."""
    kernel, stride = rng.choice([[3, 3], [5, 5], [1, 3], [3, 7], [2, 2], [1, 12]]), rng.integers(1, 4, 2)
    dilation = rng.integers(1, 3, 2) if rng.random() < 0.3 else np.array([1, 1])
    image = np.array([rng.integers(4, 30), rng.integers(8, 50)]) * stride - rng.integers(0, 2, 2)
    out = -(-image // stride)
    batch, ic, oc = 2 if rng.random() < 0.2 else 1, int(rng.integers(1, 6)), int(rng.choice(CHANNELS[:19]))
    main = (model := Model()).subgraph("main")
    x, y, z = (Tensor([batch, *size, n], "float32") for size, n in ((image.tolist(), ic), *[(out.tolist(), oc)] * 2))
    options = {"padding": "SAME", "stride_h": int(stride[0]), "stride_w": int(stride[1])}
    options |= {"dilation_h_factor": int(dilation[0]), "dilation_w_factor": int(dilation[1])}
    inputs = [x, weights(rng, [oc, *kernel.tolist(), ic]), weights(rng, [oc])]
    main.op("CONV_2D", inputs, [y], fused_activation_function=activation(rng), **options)
    main.inputs, main.outputs = [x], [y]
    feeds = [values(rng, x.shape)]
    if rng.random() < 0.5:
        other = Tensor(y.shape, "float32")
        main.op("ADD", [y, other] if rng.random() < 0.5 else [other, y], [z], fused_activation_function=activation(rng))
        main.inputs, main.outputs = [x, other], [z]
        feeds.append(values(rng, y.shape, special=False))
    return model.to_bytes(), feeds


def draw_depthwise(rng):
    image, kernel, out, options = window(rng, [[3, 3], [5, 5], [3, 3], [5, 5], [1, 1], [3, 1], [2, 2], [4, 4], [6, 6]])
    ic = int(rng.choice(CHANNELS))
    multiplier = int(rng.choice([1, 1, 1, 1, 2, 8]))
    return depthwise(rng, image, kernel, out, options, ic, multiplier)


def draw_colliding_depthwise(rng):
    """Rows of multiples of 4 KiB, which all begin at the same place of the first cache; some images are large."""
    ic = int(rng.choice([4, 8, 16, 32, 64, 256]))
    width = 1024 * int(rng.integers(1, 4)) // ic
    height = int(rng.integers(1, 9 if rng.random() < 0.8 else 100))
    kernel, stride = int(rng.choice([3, 5])), int(rng.choice([1, 2]))
    padding = "SAME" if rng.random() < 0.6 or min(height, width) < kernel else "VALID"
    out = [-(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1 for size in (height, width)]
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    return depthwise(rng, [height, width], [kernel, kernel], out, options, ic, 1)


def depthwise(rng, image, kernel, out, options, ic, multiplier):
    batch = 2 if rng.random() < 0.2 else 1
    inputs = [
        Tensor([batch, *image, ic], "float32"),
        weights(rng, [1, *kernel, ic * multiplier]),
        weights(rng, [ic * multiplier]),
    ]
    y = Tensor([batch, *out, ic * multiplier], "float32")
    options |= {"depth_multiplier": multiplier, "fused_activation_function": activation(rng)}
    return Model.single("DEPTHWISE_CONV_2D", inputs, [y], 2, **options).to_bytes(), [values(rng, [batch, *image, ic])]


def draw_matrix(rng):
    rows, k, n = (
        int(rng.choice(sizes)) for sizes in ([1, 1, 2, 3, 5, 13, 14, 15, 29, 40], [*CHANNELS, 640], [*CHANNELS, 300])
    )
    bias = None if rng.random() < 0.3 else weights(rng, [n])
    inputs = [Tensor([rows, k], "float32"), weights(rng, [n, k]), bias]
    y = Tensor([rows, n], "float32")
    blob = Model.single("FULLY_CONNECTED", inputs, [y], 1, fused_activation_function=activation(rng)).to_bytes()
    return blob, [values(rng, [rows, k])]


def draw_binary(rng):
    op = str(rng.choice(["ADD", "SUB", "MUL", "PRELU"]))
    channels = int(rng.choice(CHANNELS))
    shape = [1, *rng.integers(1, 12, 2).tolist(), channels]
    other = [shape, [channels], [1, 1, 1, channels], [1], [1, shape[1], 1, channels]][rng.integers(5)]
    x, y = Tensor(shape, "float32"), Tensor(shape, "float32")
    options = {} if op == "PRELU" else {"fused_activation_function": activation(rng)}
    second = weights(rng, other)
    inputs = [x, second] if op == "PRELU" or rng.random() < 0.7 else [second, x]
    return Model.single(op, inputs, [y], 1, **options).to_bytes(), [values(rng, shape)]


UNARY = [
    *("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "EXP", "ELU", "GELU", "ABS", "NEG", "SQUARE"),
    *("FLOOR", "CEIL", "ROUND", "SIN", "COS", "SQRT", "RSQRT"),
]
NOT_IN_REFERENCE = ("ELU", "CEIL", "ROUND")


def draw_unary(rng, names=UNARY):
    op = str(rng.choice(names))
    shape = [1, int(rng.integers(1, 200))]
    options = {"alpha": float(np.float32(rng.normal()))} if op == "LEAKY_RELU" else {}
    blob = Model.single(op, [Tensor(shape, "float32")], [Tensor(shape, "float32")], 1, **options).to_bytes()
    return blob, [values(rng, shape) * np.float32(rng.choice([1, 10]))]


def draw_average_pool(rng):
    """Now and then the whole image."""
    return draw_pool(rng, "AVERAGE_POOL_2D", rng.random() < 0.3)


def draw_max_pool(rng):
    return draw_pool(rng, "MAX_POOL_2D", rng.random() < 0.2)


def draw_pool(rng, op, whole):
    image, filters = rng.integers(1, 20, 2), rng.choice([[2, 2], [3, 3], [1, 3], [5, 2], [2, 2], [1, 2], [4, 1]])
    filters = image if whole else filters
    stride = np.minimum(rng.integers(1, 4, 2), filters)
    padding = "SAME" if rng.random() < 0.6 or (image < filters).any() else "VALID"
    out = -(-image // stride) if padding == "SAME" else (image - filters) // stride + 1
    channels, batch = int(rng.choice(CHANNELS)), int(rng.choice([1, 1, 2]))
    options = {"padding": padding, "stride_h": int(stride[0]), "stride_w": int(stride[1])}
    options |= {"filter_height": int(filters[0]), "filter_width": int(filters[1])}
    x, y = Tensor([batch, *image.tolist(), channels], "float32"), Tensor([batch, *out.tolist(), channels], "float32")
    blob = Model.single(op, [x], [y], 1, fused_activation_function=activation(rng), **options).to_bytes()
    return blob, [values(rng, [batch, *image.tolist(), channels])]


def draw_transposed(rng):
    """Filters as large as the strides, and others."""
    image, stride = rng.integers(1, 9, 2), rng.integers(1, 4, 2)
    kernel = stride if rng.random() < 0.7 else rng.integers(1, 5, 2)
    ic, oc = (int(rng.choice(CHANNELS[:14])) for _ in range(2))
    out = (image - 1) * stride + kernel
    size = Tensor.constant(np.int32([1, *out, oc]))
    inputs = [
        size,
        weights(rng, [oc, *kernel.tolist(), ic]),
        Tensor([1, *image.tolist(), ic], "float32"),
        weights(rng, [oc]),
    ]
    options = {"padding": "VALID", "stride_h": int(stride[0]), "stride_w": int(stride[1])}
    y = Tensor([1, *out.tolist(), oc], "float32")
    blob = Model.single(
        "TRANSPOSE_CONV", inputs, [y], 3, fused_activation_function=activation(rng), **options
    ).to_bytes()
    return blob, [values(rng, [1, *image.tolist(), ic])]


def draw_conv_3d(rng):
    """Windows are rows of a matrix; some outputs have more than are copied at a time."""
    size, kernel = rng.integers(1, 9, 3), rng.integers(1, 4, 3)
    stride, dilation = rng.integers(1, 3, 3), rng.integers(1, 3, 3) if rng.random() < 0.2 else np.array([1, 1, 1])
    span = (kernel - 1) * dilation + 1
    padding = "SAME" if rng.random() < 0.6 or (size < span).any() else "VALID"
    out = -(-size // stride) if padding == "SAME" else (size - span) // stride + 1
    batch, ic, oc = int(rng.choice([1, 1, 2])), int(rng.choice(CHANNELS[:18])), int(rng.choice(CHANNELS[:18]))
    options = {f"stride_{axis}": int(n) for axis, n in zip("dhw", stride, strict=True)}
    options |= {f"dilation_{axis}_factor": int(n) for axis, n in zip("dhw", dilation, strict=True)}
    inputs = [Tensor([batch, *size.tolist(), ic], "float32"), weights(rng, [*kernel.tolist(), ic, oc])]
    inputs += [weights(rng, [oc])] if rng.random() < 0.7 else []
    y = Tensor([batch, *out.tolist(), oc], "float32")
    options |= {"padding": padding, "fused_activation_function": activation(rng)}
    return Model.single("CONV_3D", inputs, [y], 1, **options).to_bytes(), [values(rng, inputs[0].shape)]


def draw_softmax(rng):
    shape = [int(rng.integers(1, 20)), int(rng.choice([*CHANNELS, 5, 9, 129, 300]))]
    blob = Model.single("SOFTMAX", [Tensor(shape, "float32")], [Tensor(shape, "float32")], 1, beta=1.0).to_bytes()
    return blob, [values(rng, shape)]


def draw_batched_matrix(rng):
    """Matrices of both operands change, those of either are stored transposed, or one meets several."""
    m, k, n = (int(rng.choice(sizes)) for sizes in ([1, 2, 5, 13, 29], CHANNELS, CHANNELS))
    batches = [int(rng.choice([1, 2, 3])) for _ in range(2)]
    adj_x, adj_y = (bool(rng.random() < 0.5) for _ in range(2))
    x = [*batches, k, m] if adj_x else [*batches, m, k]
    y = [batches[0], 1 if rng.random() < 0.3 else batches[1], *([n, k] if adj_y else [k, n])]
    out = Tensor([*batches, m, n], "float32")
    blob = Model.single(
        "BATCH_MATMUL", [Tensor(x, "float32"), Tensor(y, "float32")], [out], 1, adj_x=adj_x, adj_y=adj_y
    ).to_bytes()
    return blob, [values(rng, x), values(rng, y, special=False)]


DRAWS = {
    "AVERAGE_POOL_2D": draw_average_pool,
    "BATCH_MATMUL": draw_batched_matrix,
    "CONV_2D": draw_conv,
    "CONV_2D of many weights": draw_far_conv,
    "CONV_2D of long rows": draw_long_conv,
    "CONV_3D": draw_conv_3d,
    "DEPTHWISE_CONV_2D": draw_depthwise,
    "DEPTHWISE_CONV_2D of colliding rows": draw_colliding_depthwise,
    "FULLY_CONNECTED": draw_matrix,
    "MAX_POOL_2D": draw_max_pool,
    "SOFTMAX": draw_softmax,
    "TRANSPOSE_CONV": draw_transposed,
    "binary": draw_binary,
    "unary": draw_unary,
}


HEAVY = {"CONV_2D of many weights", "DEPTHWISE_CONV_2D of colliding rows"}  # each takes as long as eight others


def share(op, cases):
    """How many of so many cases an operator gets."""
    return max(cases // 8, 3) if op in HEAVY else cases
