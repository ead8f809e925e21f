"""Random graphs (GRAPH) around patterns that a delegate may join, and constants behind DEQUANTIZE; see `graphs`."""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .graphs import FLOATS, LABELS, change_type, finish, image, start
from .steps import PRESERVING, PRODUCTS, convolution, pad


@cases("GRAPH", dtypes=("float32", "float16", "int8", "uint8", "mixed"), variants=("rewrite square and reduce",))
def square_and_reduce(d):
    """The sum or mean of squares, the square made by SQUARE or MUL(x, x), read by others or not."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = _before(d, g, dtype)
    if x.dtype == "float32" and d.flag():
        square = g.add("SQUARE", [x], x.shape)
    else:
        square = g.add("MUL", [x, x], x.shape, scale=x.scale and x.scale**2 * 64)
    if d.flag(0.8):
        result = g.step(d.choice("SUM", "MEAN"), square)
        if result.dtype == "float32" and d.flag(0.3):
            g.step("SQRT", result)
    _after(d, g)
    return finish(d, model, g, [square, *g.graph.output_tensors()] if d.flag(0.3) else None)


@cases("GRAPH", dtypes=FLOATS, variants=("rewrite sum and scale",))
@cases("GRAPH", dtypes=("float32",), variants=("rewrite number by sum",))
def sum_and_scale(d):
    """SUM, then times 1/n or by n (or nearly), with n the number of the summands.

    "number by sum" is n / SUM(x), of which TensorFlow's delegate makes a MEAN, too.
    """
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = _before(d, g, dtype)
    y = g.step("SUM", d.choice(x, g.add("SQUARE", [x], x.shape)))
    count = np.float32(np.prod(x.shape) / np.prod(y.shape)) + d.choice(0, 0, 0, 1)
    upside_down = d.variant == "rewrite number by sum"
    op = "DIV" if upside_down else d.choice("MUL", "DIV")
    data = np.full(d.choice([], [1]), count if op == "DIV" else np.float32(1) / count, np.float32)
    factor = g.float_constant(data) if d.flag() else Tensor.constant(data)
    operands = [factor, y] if upside_down or (op == "MUL" and d.flag(0.4)) else [y, factor]
    shape = np.broadcast_shapes(*(tuple(t.shape) for t in operands))
    g.add(op, operands, shape, fused_activation_function=d.choice("NONE", "NONE", "RELU"))
    _after(d, g)
    return finish(d, model, g)


@cases("GRAPH", dtypes=LABELS, variants=("rewrite clamps",))
def clamps(d):
    """Clamping operators after producers that may take them over, and after one another."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = _before(d, g, dtype)
    g.step(d.choice("AVERAGE_POOL_2D", "MAX_POOL_2D", *PRODUCTS, "ADD"), x)
    for _ in range(d.between(1, 3)):
        g.step(d.choice("RELU", "RELU6", *(("RELU_N1_TO_1",) if g.last.dtype == "float32" else ())), g.last)
    if d.flag(0.3):
        g.step("RELU", d.choice(*g.pool))
    _after(d, g)
    return finish(d, model, g)


@cases("GRAPH", dtypes=LABELS, variants=("rewrite pad and convolution",))
def pad_and_convolution(d):
    """PAD of height and width (or of more), then a VALID convolution, sometimes two readers."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = _before(d, g, dtype)
    amounts = [[d.between(0, 2), d.between(0, 2)] for _ in range(2)]
    outer = [[0, d.choice(0, 0, 0, 1)] for _ in range(2)]
    padded = pad(g, "PAD", x, [outer[0], *amounts, outer[1]])
    for _ in range(d.choice(1, 1, 1, 2)):
        convolution(g, d.choice("CONV_2D", "DEPTHWISE_CONV_2D"), padded, d.choice("VALID", "VALID", "SAME"))
    _after(d, g)
    return finish(d, model, g, [padded, *g.graph.output_tensors()] if d.flag(0.2) else None)


@cases("GRAPH", dtypes=("int8", "uint8", "mixed"), variants=("rewrite tables",))
def tables(d):
    """Functions of one 8-bit value after one another, which one table could hold; also between a float and another."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = g.feed(image(d), dtype)
    if d.dtype == "mixed":
        x = g.add("QUANTIZE", [x], x.shape, dtype=d.choice("int8", "uint8"))
    for _ in range(d.between(2, 6)):
        op = d.choice("LOGISTIC", "TANH", "QUANTIZE", "QUANTIZE", "LEAKY_RELU", "MUL")
        if op == "MUL":
            g.add(op, [g.last, g.last], x.shape, scale=g.last.scale**2 * 64)
        else:
            g.step(op, d.choice(g.last, g.last, g.last, g.pool[-2] if len(g.pool) > 2 else x))
    if d.dtype == "mixed" and d.flag():
        g.add("DEQUANTIZE", [g.last], x.shape, dtype="float32")
    return finish(d, model, g)


@cases("GRAPH", dtypes=FLOATS, variants=("rewrite extrema",))
def extrema(d):
    """MAXIMUM and MINIMUM with constants of one element: clamps, in chains and after other operators."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    _before(d, g, dtype)
    if d.flag():
        g.step(d.choice("AVERAGE_POOL_2D", "CONV_2D", "ADD", "RELU"), g.last)
    for _ in range(d.between(1, 4)):
        op = d.choice("MAXIMUM", "MINIMUM")
        # MINIMUM(0) behind a convolution takes away its padding in TensorFlow's delegate: the output is smaller.
        value = d.choice(0, -0.0, 1, 6, -1, 0.3) if op == "MAXIMUM" else d.choice(1, 6, 0.3, -1)
        limit = Tensor.constant(np.full(d.choice([], [1], [1, 1]), value, np.float32))
        operands = [limit, g.last] if d.flag(0.4) else [g.last, limit]
        g.add(op, operands, np.broadcast_shapes(*(tuple(t.shape) for t in operands)))
    _after(d, g)
    return finish(d, model, g, refused=None)  # the delegate spoils the padding of what is in front


@cases("GRAPH", dtypes=LABELS, variants=("rewrite copies",))
def copies(d):
    """Chains of operators that only move values, around one that computes."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    _before(d, g, dtype)
    moves = ("RESHAPE", "TRANSPOSE", "RESHAPE", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "CONCATENATION", "SPLIT", "PAD")
    g.grow(d.between(1, 3), moves)
    g.step(d.choice("ADD", "MUL", "TANH", "FULLY_CONNECTED"), g.last)
    g.grow(d.between(1, 3), moves)
    return finish(d, model, g)


def _before(d, g, dtype):
    """An input, often with one operator after it: what follows is then inside of a partition."""
    x = g.feed(image(d), dtype)
    if d.dtype == "mixed":
        x = change_type(d, g)
    if d.flag(0.6):
        x = g.step(d.choice("TANH", "LOGISTIC", "ADD", "CONV_2D"), x)
    return x


def _after(d, g):
    g.grow(d.between(0, 2), ("TANH", "ADD", "LOGISTIC", "LOG", "GATHER", "RESHAPE"))


# ---- constants behind DEQUANTIZE


@cases("GRAPH", dtypes=("float32", "float16", "mixed"), variants=("quasi static",))
def quasi_static(d):
    """Constants of float16 or int8 made float32 by DEQUANTIZE; some readers of one are taken, some are left."""
    model = Model()
    g, _ = start(d, model.subgraph("main"))
    g.weights = "float32"
    x = g.feed([d.between(1, 4), d.between(2, 8)])
    rows = d.between(1, 6)
    shape = [rows, x.shape[1]]
    for _ in range(d.between(1, 2)):
        w = _unpacked(d, g, shape)
        if d.flag(0.15):
            w = g.add("DEQUANTIZE", [_packed(d, shape)], shape, dtype="float32")
        others = [d.choice("FULLY_CONNECTED", "FULLY_CONNECTED", "ABS", "ADD", "LOG", "GATHER") for _ in range(2)]
        for op in d.rng.permutation(["FULLY_CONNECTED", *others[: d.between(0, 2)]]):
            _read(d, g, x, w, rows, str(op))
    g.pool = [t for t in g.pool if t.data is None and t in g.inputs + g.graph.output_tensors()]
    g.grow(d.between(1, 3), (*PRESERVING, "LOG", "FULLY_CONNECTED"))
    return finish(d, model, g)


def _packed(d, shape, axis=0):
    if d.dtype == "float16" or (d.dtype == "mixed" and d.flag()):
        return Tensor.constant(d.normal(shape).astype(np.float16))
    many = d.flag()
    scales = [d.uniform(0.005, 0.02) for _ in range(shape[axis] if many else 1)]
    zero_point = 0 if many else d.choice(0, 0, d.between(-20, 20))
    return Tensor.constant(d.integers("int8", shape), scale=scales, zero_point=zero_point, axis=axis)


def _unpacked(d, g, shape):
    return g.graph.op("DEQUANTIZE", [_packed(d, shape)], [Tensor(shape, "float32")])[0]


def _read(d, g, x, w, rows, op):
    """One reader of the constant `w`."""
    if op == "FULLY_CONNECTED":
        how = d.choice("none", "constant", "unpacked", "none")
        b = _unpacked(d, g, [rows]) if how == "unpacked" else None
        b = Tensor.constant(d.normal([rows])) if how == "constant" else b
        return g.add(op, [x, w, b], [x.shape[0], rows])
    if op == "ABS":
        return g.add(op, [w], w.shape)
    if op == "ADD":
        return g.add(op, [w, Tensor.constant(d.normal(w.shape))], w.shape)
    if op == "LOG":
        positive = g.add("SQUARE", [w], w.shape) if d.flag() else w
        return g.add("EXP" if positive is w else "LOG", [positive], w.shape)
    places = Tensor.constant(np.array([0, d.between(0, rows - 1)], np.int32))
    return g.add("GATHER", [w, places], [2, w.shape[1]], axis=0)
