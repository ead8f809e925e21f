"""Random graphs of 3 to 12 operators, under the operator name GRAPH: partitions, rewrites across nodes, what users see.

    python -m compat --op GRAPH --seeds 50 --mode AUTO

Type labels: float32, int8, uint8; dynamic_range (int8 weights), float16 (weights behind DEQUANTIZE), mixed (QUANTIZE and
DEQUANTIZE between operators). Variants:

    chain, branches           operators that the default delegate takes, one after another and in all directions
    partitions                mixed with operators that it leaves to the interpreter
    outputs                   several outputs, unread ones, one twice, tensors inside of what could be one partition
    resized                   another batch from the second invoke on
    rewrite ...               pairs of operators that a delegate may join, one way or another
    quasi static              constants behind DEQUANTIZE, read by operators that it takes and that it leaves
    if, while                 operators inside of control flow's subgraphs
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .draw import SPECIAL_FLOATS
from .growing import LEFT, NOT_REFERENCE, PRESERVING, PRODUCTS, TAKEN, Growing, convolution, pad

_LABELS = ("float32", "int8", "uint8", "dynamic_range", "float16", "mixed")
_FLOATS = ("float32", "dynamic_range", "float16")
_WEIGHTS = {"dynamic_range": "int8", "float16": "float16"}
_ACTIVATIONS = {"int8": "int8", "uint8": "uint8"}

# Numbers that need care and stay numbers: what makes NaN is left to the cases of single operators.
_TAME = SPECIAL_FLOATS[np.abs(np.nan_to_num(SPECIAL_FLOATS, nan=np.inf)) < 1e7]


def start(d, graph):
    """(a growing graph, the activations' type)."""
    return Growing(d, graph, _WEIGHTS.get(d.dtype, "float32")), _ACTIVATIONS.get(d.dtype, "float32")


def image(d):
    return [d.choice(1, 1, 2), d.between(2, 7), d.between(2, 7), d.between(1, 8)]


def finish(d, model, g, outputs=None, feed=None):
    """The case of a graph: all that nobody reads are outputs, unless given."""
    g.graph.inputs = g.inputs
    if outputs is not None:
        g.graph.outputs = outputs

    def values():
        return [_values(d, x) for x in g.inputs]

    return d.case(model, feed or values)


def _values(d, x):
    if x.dtype != "float32":
        return d.integers(x.dtype, x.shape)
    values = d.normal(x.shape)
    if d.variant.startswith("special"):
        picked = _TAME[d.rng.integers(0, len(_TAME), x.shape)]
        return np.where(d.rng.random(x.shape) < 0.2, picked, values).astype(np.float32)
    return values


def grow(d, g, dtype, count, left=0.0):
    """Grow by `count` operators, `left` the share of those that the delegate leaves; "mixed" changes type on the way."""
    for _ in range(count):
        if d.dtype == "mixed" and d.flag(0.3):
            change_type(d, g)
        names = LEFT if d.flag(left) else TAKEN
        if names is TAKEN and d.variant == "branches" and d.seed % 4 == 3:
            names = {dtype: TAKEN[dtype] + 3 * NOT_REFERENCE[dtype] for dtype in TAKEN}
        x = g.last if d.flag(0.6) else d.choice(*g.pool)
        for _ in range(20):
            if g.step(d.choice(*names[x.dtype]), x) is not None:
                break


def change_type(d, g):
    """QUANTIZE or DEQUANTIZE the latest tensor."""
    x = g.last
    if x.dtype == "float32":
        return g.add("QUANTIZE", [x], x.shape, dtype=d.choice("int8", "int8", "uint8"))
    return g.add("DEQUANTIZE", [x], x.shape, dtype="float32")


@cases("GRAPH", dtypes=_LABELS, variants=("chain", "branches", "partitions"))
@cases("GRAPH", dtypes=_FLOATS, variants=("special",))
def grown(d):
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    g.feed(image(d), dtype)
    if d.variant != "chain":
        g.feed(d.choice(g.last.shape, image(d)), dtype)
    if d.variant == "chain":
        count = d.between(3, 9)
        while len(g.graph.operators) < count:
            before = len(g.pool)
            grow(d, g, dtype, 1)
            g.pool = g.pool[-1:] if len(g.pool) > before else g.pool
    else:
        grow(d, g, dtype, d.between(4, 10), left=0.4 if d.variant == "partitions" else 0.0)
    return finish(d, model, g)


@cases("GRAPH", dtypes=_LABELS, variants=("outputs",))
def outputs(d):
    """Some tensors that are read are outputs too, some that nobody reads are not, and one may be there twice."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    g.feed(image(d), dtype)
    grow(d, g, dtype, d.between(3, 8), left=d.choice(0.0, 0.0, 0.3))
    computed = [t for t in g.pool if t not in g.inputs]
    chosen = [t for t in g.graph.output_tensors() if d.flag(0.7)] + [t for t in computed if d.flag(0.3)]
    chosen = list(dict.fromkeys(chosen)) or [g.last]
    d.rng.shuffle(chosen)
    return finish(d, model, g, chosen + ([chosen[0]] if d.flag(0.2) else []))


@cases("GRAPH", dtypes=_LABELS, variants=("resized",))
def resized(d):
    """The batch changes from the second invoke on; the operators are those that pass a batch through."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = g.feed([1, d.between(3, 6), d.between(3, 6), d.between(1, 6)], dtype)
    images = ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D", "RESIZE_BILINEAR")
    changing = ("ABS", "TANH", "LOGISTIC", "HARD_SWISH", "LOG", "RELU", "QUANTIZE")
    for _ in range(d.between(3, 8)):
        if d.dtype == "mixed" and d.flag(0.3):
            change_type(d, g)
        g.grow(1, images + changing)
    batches = [d.choice(1, 2), *(d.choice(1, 2, 3) for _ in range(d.invokes))]

    def feed():
        return [_values(d, Tensor([batches.pop(), *x.shape[1:]], x.dtype))]

    return finish(d, model, g, feed=feed)


# ---- what a delegate may rewrite


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


@cases("GRAPH", dtypes=_FLOATS, variants=("rewrite sum and scale",))
def sum_and_scale(d):
    """SUM, then times 1/n or by n (or nearly), with n the number of the summands."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = _before(d, g, dtype)
    y = g.step("SUM", d.choice(x, g.add("SQUARE", [x], x.shape)))
    count = np.float32(np.prod(x.shape) / np.prod(y.shape)) + d.choice(0, 0, 0, 1)
    op = d.choice("MUL", "DIV")
    factor = Tensor.constant(np.full(d.choice([], [1]), count if op == "DIV" else np.float32(1) / count, np.float32))
    operands = [factor, y] if op == "MUL" and d.flag() else [y, factor]
    g.add(op, operands, y.shape, fused_activation_function=d.choice("NONE", "NONE", "RELU"))
    _after(d, g)
    return finish(d, model, g)


@cases("GRAPH", dtypes=_LABELS, variants=("rewrite clamps",))
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


@cases("GRAPH", dtypes=_LABELS, variants=("rewrite pad and convolution",))
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


@cases("GRAPH", dtypes=_FLOATS, variants=("rewrite extrema",))
def extrema(d):
    """MAXIMUM and MINIMUM with constants of one element: clamps, in chains and after other operators."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    _before(d, g, dtype)
    if d.flag():
        g.step(d.choice("AVERAGE_POOL_2D", "CONV_2D", "ADD", "RELU"), g.last)
    for _ in range(d.between(1, 4)):
        limit = Tensor.constant(np.full(d.choice([], [1], [1, 1]), d.choice(0, -0.0, 1, 6, -1, 0.3), np.float32))
        operands = [limit, g.last] if d.flag(0.4) else [g.last, limit]
        g.add(d.choice("MAXIMUM", "MINIMUM"), operands, np.broadcast_shapes(*(tuple(t.shape) for t in operands)))
    _after(d, g)
    return finish(d, model, g)


@cases("GRAPH", dtypes=_LABELS, variants=("rewrite copies",))
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
        b = d.choice(None, Tensor.constant(d.normal([rows])), _unpacked(d, g, [rows]) if d.flag(0.4) else None)
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


# ---- control flow


def _branch(d, model, name, shapes, dtype, like):
    """A subgraph over tensors of these shapes whose result has the first one's shape and the quantization of `like`."""
    g, _ = start(d, model.subgraph(name))
    state = [g.feed(shape, dtype) for shape in shapes]
    for x, pattern in zip(state, like, strict=True):
        x.scale, x.zero_point = pattern.scale, pattern.zero_point
    g.grow(d.between(1, 4), PRESERVING if dtype == "float32" else ("ADD", "SUB", "MUL", "TANH", "LOGISTIC", "RELU"))
    result = g.add("TANH" if dtype == "float32" else "QUANTIZE", [g.last], g.last.shape, like=like[0])
    g.graph.inputs, g.graph.outputs = state, [result]
    return g.graph


@cases("GRAPH", dtypes=("float32", "int8", "float16"), variants=("if",))
def branching(d):
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    condition = Tensor([], "bool")
    a = g.feed(d.shape(d.between(1, 3), 4), dtype)
    b = g.step(d.choice("TANH", "ADD", "LOGISTIC"), a)
    shapes, like = [a.shape, a.shape], [a, b]
    then, otherwise = (_branch(d, model, name, shapes, dtype, like) for name in ("then", "else"))
    y = g.tensor(a.shape, dtype, like=a)
    g.graph.op("IF", [condition, a, b], [y], then_subgraph_index=then, else_subgraph_index=otherwise)
    g.pool.append(y)
    g.grow(d.between(1, 3), ("TANH", "ADD", "MUL", "LOGISTIC"))
    g.inputs.insert(0, condition)

    def feed():
        return [np.array(d.flag()), _values(d, a)]

    return finish(d, model, g, feed=feed)


@cases("GRAPH", dtypes=("float32", "int8", "float16"), variants=("while",))
def looping(d):
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    x = g.feed(d.shape(d.between(1, 3), 4), dtype)
    if d.flag():
        g.step(d.choice("TANH", "ADD"), x)
    value = g.last
    condition = model.subgraph("condition")
    count, unread = Tensor([1], "int32"), g.tensor(value.shape, dtype, like=value)
    limit = Tensor.constant(np.array([d.between(0, 4)], np.int32))
    goes_on = condition.op("LESS", [count, limit], [Tensor([1], "bool")])
    condition.tensor(unread)
    condition.inputs, condition.outputs = [count, unread], goes_on
    body = _branch(d, model, "body", [value.shape], dtype, [value])
    count = Tensor([1], "int32")
    counted = body.op("ADD", [count, Tensor.constant(np.array([1], np.int32))], [Tensor([1], "int32")])
    body.inputs, body.outputs = [count, *body.inputs], [*counted, *body.outputs]
    counter, result = Tensor([1], "int32"), g.tensor(value.shape, dtype, like=value)
    first = Tensor([1], "int32")
    g.graph.op("WHILE", [first, value], [counter, result], cond_subgraph_index=condition, body_subgraph_index=body)
    g.inputs.append(first)
    g.pool = [x, result]
    g.grow(d.between(1, 3), ("TANH", "ADD", "MUL", "LOGISTIC"))

    def feed():
        return [_values(d, x), np.array([0], np.int32)]

    return finish(d, model, g, feed=feed)
