"""Arithmetic: functions of one and two operands, types, reductions, linear algebra, distances."""

import numpy as np

from . import Input, Program, family, integers

ONE = (
    *(
        "abs",
        "ceil",
        "floor",
        "round",
        "sign",
        "sqrt",
        "square",
        "exp",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "erf",
        "softplus",
    ),
    *(
        "log",
        "rsqrt",
        "negative",
        "log1p",
        "expm1",
        "reciprocal",
        "atan",
        "asin",
        "sinh",
        "cosh",
        "tan",
        "rint",
        "log_sigmoid",
    ),
)
TWO = (
    *(
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "squared_difference",
        "pow",
        "atan2",
        "floordiv",
        "floormod",
    ),
    *("divide_no_nan", "divide", "multiply_no_nan", "mod", "truncatediv", "xlogy", "xdivy"),
)
WHOLE = ("int32", "int64", "int8", "uint8", "int16", "uint32")


def numbers(d, shape):
    return (d.rng.standard_normal(shape) * d.spread).astype(np.float32)


@family
def functions(d):
    tf = d.tf
    names = [d.choice(*ONE) for _ in range(d.between(1, 4))]
    d.spread = d.choice(1.0, 3.0, 20.0)

    def function(x):
        for name in names:
            x = getattr(tf.math, name)(x)
        return x

    return Program(function, [Input([d.batch(), *d.sizes(d.between(0, 3), 1, 9)], values=numbers)])


@family
def broadcasts(d):
    """Two operands whose shapes broadcast, one of them now and then constant or of rank 0, up to rank 6."""
    tf, rank = d.tf, d.between(1, 6)
    name = d.choice(*TWO)
    whole = d.sizes(rank, 1, 4)
    ones = [1 if d.flag(0.3) else size for size in whole]
    other = [1 if d.flag(0.3) else size for size in whole][d.between(0, rank) :]
    constant, swapped = d.flag(0.3), d.flag()
    b = d.array(*other)
    d.spread = 2.0

    def function(x, *y):
        y = y[0] if y else tf.constant(b)
        return getattr(tf.math, name)(*((y, x) if swapped else (x, y)))

    if d.flag(0.3):
        ones[0] = None
        other = other if len(other) < rank else [1, *other[1:]]
        b = d.array(*other)
    return Program(function, [Input(ones, values=numbers), *([] if constant else [Input(other, values=numbers)])])


@family
def whole_numbers(d):
    """Integers of all widths: arithmetic, bits, shifts, comparisons, casts."""
    tf, dtype = d.tf, d.choice(*WHOLE)
    shape, way = (
        d.sizes(d.between(1, 4), 1, 6),
        d.choice("sum", "product", "bits", "shift", "compare", "divide", "cast", "clip"),
    )
    to = d.choice("float32", *WHOLE, "bool", "float64", "float16")

    def function(x, y):
        if way == "sum":
            return x + y, x - y, tf.reduce_sum(x, 0)
        if way == "product":
            return x * y, tf.reduce_max(x, -1), tf.reduce_min(y)
        if way == "bits":
            return tf.bitwise.bitwise_xor(x, y), tf.bitwise.bitwise_and(x, y), tf.bitwise.bitwise_or(x, y)
        if way == "shift":
            return tf.bitwise.right_shift(x, y % 7), tf.bitwise.left_shift(y, x % 3)
        if way == "compare":
            return x > y, x <= y, tf.not_equal(x, y), tf.equal(x, y)
        if way == "divide":
            return x // (y + 1), x % (y + 1)
        if way == "cast":
            return tf.cast(x, to), tf.cast(tf.cast(y, tf.float32) * 1.7, dtype)
        return tf.clip_by_value(x, 3, 9), tf.minimum(x, y), tf.abs(x) if dtype[0] == "i" else x

    law = integers(0, 12, dtype)
    return Program(function, [Input(shape, dtype, law), Input(shape, dtype, law)])


@family
def reductions(d):
    tf, rank = d.tf, d.between(1, 5)
    axes, keep = sorted(d.permutation(rank)[: d.between(1, rank)]), d.flag()
    name = d.choice("sum", "mean", "max", "min", "prod", "std", "variance", "logsumexp", "euclidean_norm", "all")
    negative = [a - rank for a in axes] if d.flag() else axes
    shape = [d.batch(), *d.sizes(rank - 1, 1, 6)]

    def function(x):
        if name == "all":
            return tf.reduce_all(x > 0.0, negative, keep)
        return getattr(tf.math, f"reduce_{name}")(x, negative, keep)

    return Program(function, [Input(shape)])


@family
def products(d):
    """Products of matrices: batches that broadcast, transposes, adjoints, weights on either side, vectors."""
    tf = d.tf
    m, k, n = d.sizes(3, 1, 9)
    batch, other = d.choice([], [2], [3, 2], [1, 2, 2]), d.choice([], [1], [2])
    left, right, way = (
        d.flag(0.4),
        d.flag(0.4),
        d.choice("both", "weights", "first", "dense", "tensordot", "outer", "gram"),
    )
    if batch and other and batch[-1] != other[-1] and 1 not in (batch[-1], other[-1]):
        other = []
    weights = d.constant(*((n, k) if right else (k, n)))
    bias = d.constant(n)

    def function(x, *y):
        if way == "both":
            return tf.matmul(x, y[0], left, right)
        if way == "weights":
            return tf.matmul(x, weights, left, right) + bias
        if way == "first":
            return tf.matmul(weights, x, not right, not left)
        if way == "dense":
            return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights, left, right), bias))
        if way == "tensordot":
            return tf.tensordot(x, weights, [[-2 if left else -1], [1 if right else 0]])
        if way == "outer":
            return x[..., :, None] * x[..., None, :]
        return tf.matmul(x, x, transpose_b=True) * 0.5

    first = [*batch, *((k, m) if left else (m, k))]
    if batch and d.flag(0.4):
        first[0] = None
    inputs = [Input(first)]
    if way == "both":
        second = [*(other if first[0] is not None or len(other) < len(batch) else []), *((n, k) if right else (k, n))]
        inputs.append(Input(second))
    return Program(function, inputs)


@family
def linear_algebra(d):
    """Diagonals, bands, norms, traces, distances, cosines, a determinant by hand."""
    tf, n = d.tf, d.between(1, 5)
    way = d.choice("diag", "part", "set", "band", "trace", "norm", "distance", "cosine", "eye", "cross", "power")

    def function(x):
        if way == "diag":
            return tf.linalg.diag(x[:, 0]), tf.linalg.tensor_diag(x[0, :, 0])
        if way == "part":
            return tf.linalg.diag_part(x)
        if way == "set":
            return tf.linalg.set_diag(x, x[:, 0])
        if way == "band":
            return tf.linalg.band_part(x, 1, 0)
        if way == "trace":
            return tf.linalg.trace(x)
        if way == "norm":
            return tf.linalg.norm(x, axis=-1), tf.math.l2_normalize(x, -1), tf.linalg.norm(x, 1)
        if way == "distance":
            square = tf.reduce_sum(x**2, -1, keepdims=True)
            return square - 2.0 * tf.matmul(x, x, transpose_b=True) + tf.linalg.matrix_transpose(square)
        if way == "cosine":
            y = tf.nn.l2_normalize(x, -1)
            return tf.reduce_sum(y * y[:, ::-1], -1)
        if way == "eye":
            return tf.eye(n, batch_shape=[tf.shape(x)[0]]) + x
        if way == "cross":
            return x[..., :1] * x[..., -1:] - tf.reverse(x, [-1])
        y = x
        for _ in range(3):
            y = tf.matmul(y, x) / 2.0
        return y

    return Program(function, [Input([d.batch(), n, n])])


@family
def signals(d):
    """Transforms and complex numbers."""
    tf, length = d.tf, d.choice(2, 4, 8, 16, 32)
    way, rows = d.choice("rfft", "fft length", "rfft2d", "abs", "angle", "complex", "power"), d.between(1, 3)

    def function(x):
        if way == "rfft2d":
            return tf.abs(tf.signal.rfft2d(x))
        spectrum = tf.signal.rfft(x, [length * 2] if way == "fft length" else None)
        if way in ("abs", "fft length"):
            return tf.abs(spectrum)
        if way == "power":
            return tf.math.real(spectrum) ** 2 + tf.math.imag(spectrum) ** 2
        if way == "complex":
            return tf.math.real(tf.complex(x, x * 2.0)), tf.math.imag(tf.complex(x, -x))
        return tf.math.real(spectrum), tf.math.imag(spectrum)

    return Program(function, [Input([d.between(1, 3), rows if way != "rfft2d" else 4, length])])


@family
def odd_types(d):
    """float16 and float64 in and out, bool in arithmetic, bitcast, constants of great size in small types."""
    tf, shape = d.tf, d.sizes(d.between(1, 3), 1, 6)
    way = d.choice("float64", "float16", "bool", "bitcast", "ranges", "linspace", "fakes", "saturate")

    def function(x):
        if way == "float64":
            return tf.cast(x, tf.float64) * 2.0, tf.cast(tf.cast(x, tf.float64), tf.int32)
        if way == "float16":
            return tf.cast(tf.cast(x, tf.float16), tf.float32), tf.cast(x, tf.float16)
        if way == "bool":
            return tf.cast(x > 0, tf.float32) * x, tf.logical_not(tf.cast(x, tf.bool))
        if way == "bitcast":
            return tf.bitcast(x, tf.int32), tf.bitcast(tf.bitcast(x, tf.int32), tf.float32)
        if way == "ranges":
            return tf.range(0.0, tf.reduce_sum(tf.abs(x)), 1.5), tf.range(tf.shape(x)[0], 0, -1)
        if way == "linspace":
            return tf.linspace(0.0, 1.0, 5) * tf.reduce_sum(x), tf.one_hot(tf.range(3), 4, 2.0, -1.0, 0)
        if way == "fakes":
            return tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, d.bits)
        return tf.saturate_cast(x * 100.0, tf.int8), tf.saturate_cast(x * 100.0, tf.uint8)

    d.bits = d.choice(2, 4, 8)
    return Program(function, [Input(shape)])
