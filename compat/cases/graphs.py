"""Random graphs of 3 to 12 operators, under the operator name GRAPH: partitions, rewrites across nodes, what users see.

    python -m compat --op GRAPH --seeds 50 --mode AUTO

Type labels: float32, int8, uint8; dynamic_range (int8 weights), float16 (weights behind DEQUANTIZE), mixed (QUANTIZE and
DEQUANTIZE between operators). Variants:

    chain, branches           operators that the default delegate takes, one after another and in all directions
    partitions                mixed with operators that it leaves to the interpreter
    outputs                   several outputs, unread ones, one twice, tensors inside of what could be one partition
    resized                   another batch from the second invoke on
    variables                 a state that is read, changed and assigned between other operators
    if, while                 operators inside of control flow's subgraphs
    rewrite ..., quasi static what `rewrites` makes
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .draw import SPECIAL_FLOATS
from .growing import Growing
from .state import handle
from .steps import LEFT, NOT_REFERENCE, PRESERVING, TAKEN

LABELS = ("float32", "int8", "uint8", "dynamic_range", "float16", "mixed")
FLOATS = ("float32", "dynamic_range", "float16")
_WEIGHTS = {"dynamic_range": "int8", "float16": "float16"}
_NOT_REFERENCE = frozenset(name for names in NOT_REFERENCE.values() for name in names)
_ACTIVATIONS = {"int8": "int8", "uint8": "uint8"}

# Numbers that need care and stay numbers: what makes NaN is left to the cases of single operators.
_TAME = SPECIAL_FLOATS[np.abs(np.nan_to_num(SPECIAL_FLOATS, nan=np.inf)) < 1e7]


def start(d, graph):
    """(a growing graph, the activations' type)."""
    return Growing(d, graph, _WEIGHTS.get(d.dtype, "float32")), _ACTIVATIONS.get(d.dtype, "float32")


def image(d):
    return [d.choice(1, 1, 2), d.between(2, 7), d.between(2, 7), d.between(1, 8)]


def finish(d, model, g, outputs=None, feed=None, refused=False):
    """The case of a graph: all that nobody reads are outputs, unless given."""
    g.graph.inputs = g.inputs
    # A constant behind DEQUANTIZE has no memory where a delegate takes it: TensorFlow returns whatever is there.
    unpacked = [
        op["outputs"][0] for op in g.graph.operators if op["name"] == "DEQUANTIZE" and g.is_constant(op["inputs"][0])
    ]
    outputs = g.graph.output_tensors() if outputs is None else outputs
    g.graph.outputs = [t for t in outputs if t not in unpacked]
    if any(op["name"] in _NOT_REFERENCE for graph in model.subgraphs for op in graph.operators):
        refused = refused or None

    def values():
        return [_values(d, x) for x in g.inputs]

    return d.case(model, feed or values, refused=refused)


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


@cases("GRAPH", dtypes=LABELS, variants=("chain", "branches", "partitions"))
@cases("GRAPH", dtypes=FLOATS, variants=("special",))
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


@cases("GRAPH", dtypes=LABELS, variants=("outputs",))
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


@cases("GRAPH", dtypes=LABELS, variants=("resized",))
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


@cases("GRAPH", dtypes=("float32", "int8"), variants=("variables",))
def variables(d):
    """A state that a subgraph initialises, that is read, changed by some operators, and assigned."""
    model = Model()
    g, dtype = start(d, model.subgraph("main"))
    first = model.subgraph("first")
    x = g.feed(d.shape(d.between(1, 3), 4), dtype)
    value = g.tensor(x.shape, dtype, like=x)
    value.data = d.normal(x.shape) if dtype == "float32" else d.integers(dtype, x.shape)
    first.op("ASSIGN_VARIABLE", [handle(first), value], [])
    first.inputs = first.outputs = []
    g.graph.op("CALL_ONCE", [], [], init_subgraph_index=first)
    state = handle(g.graph)
    _read(d, g, state, x)
    names = (*PRESERVING, "LOG") if dtype == "float32" else ("ADD", "SUB", "MUL", "TANH", "LOGISTIC", "RELU")
    g.grow(d.between(1, 5), names)
    changed = g.add("TANH" if dtype == "float32" else "ADD", _operands(g, x), x.shape, like=x)
    g.graph.op("ASSIGN_VARIABLE", [state, changed], [])
    if d.flag():
        _read(d, g, state, x)
        g.grow(d.between(1, 2), names)
    return finish(d, model, g)


def _read(d, g, state, x):
    """Read the variable and keep a function of what was read.

    TensorFlow's delegate ends the process, or fails, where one operator reads a variable's value twice, as ADD(v, v).
    """
    value = g.graph.op("READ_VARIABLE", [state], [g.tensor(x.shape, x.dtype, like=x)])[0]
    g.step(d.choice("TANH", "LOGISTIC", "LEAKY_RELU"), value)


def _operands(g, x):
    """What the operator reads whose result is assigned.

    Not QUANTIZE for 8 bits: two functions of one 8-bit value, then an assignment that is read back, make TensorFlow's
    delegate look up a table with bytes from elsewhere.
    """
    return [g.last] if x.dtype == "float32" else [g.last, g.constant([], x.dtype)]


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
