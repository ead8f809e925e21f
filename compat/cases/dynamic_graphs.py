"""Graphs with outputs that are shaped while invoking, under the operator name GRAPH: slices in the middle of other nodes, loops over lists.

dynamic      nodes that wait for a slice of unknown size between nodes that do not; sizes change from invoke to invoke
list         WHILE over the rows of a list: each turn writes one row, as TensorFlow's lists are lowered (SLICE, CONCATENATION)
growing      WHILE whose variables grow by a row each turn, two of them at once, or change places
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

UNARY = ("ABS", "NEG", "TANH", "LOGISTIC", "RELU", "SQUARE")
BINARY = ("ADD", "MUL", "SUB", "MAXIMUM")


def numbers(*values):
    return Tensor.constant(np.array(values, np.int32))


def single(graph, op, inputs, shape, **options):
    """The output of a new node; -1: as many rows as there will be."""
    signature = shape if -1 in shape else None
    y = Tensor([abs(size) for size in shape], inputs[0].dtype, shape_signature=signature)
    return graph.op(op, inputs, [y], **options)[0]


def joined(graph, parts, shape):
    return single(graph, "CONCATENATION", parts, shape, axis=0)


class Rows:
    """A graph of float tensors of some columns; `pool` maps a number of rows, by name, to tensors that have it."""

    def __init__(self, d, graph, columns, pool):
        self.d, self.graph, self.columns, self.pool = d, graph, columns, pool

    def pick(self, *names):
        names = [name for name in names or self.pool if self.pool[name]]
        name = self.d.choice(*names)
        return name, self.d.choice(*self.pool[name][-4:])

    def put(self, name, op, inputs, rows=-1, **options):
        self.pool[name].append(single(self.graph, op, inputs, [rows, self.columns], **options))
        return self.pool[name][-1]

    def rows(self, x):
        return -1 if x.shape_signature else x.shape[0]

    def compute(self, *names):
        """One more node over what is there, of any number of rows, or of these."""
        name, x = self.pick(*names)
        if self.d.flag(0.2):
            weights = Tensor.constant(self.d.normal([self.columns, self.columns]))
            bias = Tensor.constant(self.d.normal([self.columns]))
            return self.put(name, "FULLY_CONNECTED", [x, weights, bias], self.rows(x))
        if self.d.flag():
            return self.put(name, self.d.choice(*UNARY), [x], self.rows(x))
        other = self.d.choice(*self.pool[name], Tensor.constant(self.d.normal([1, self.columns])))
        return self.put(name, self.d.choice(*BINARY), [x, other], self.rows(x))


@cases("GRAPH", dtypes=("float32",), variants=("dynamic",))
def sliced(d):
    """Slices `top` of k rows and `rest` of the others, and nodes over them and over the whole, in a random order."""
    model = Model()
    graph = model.subgraph("main")
    n, columns = d.between(2, 6), d.between(1, 5)
    x, k = Tensor([n, columns], "float32"), Tensor([1], "int32")
    size = joined(graph, [k, numbers(columns)], [2])
    begin = joined(graph, [k, numbers(0)], [2])
    rows = Rows(d, graph, columns, {"all": [x], "top": [], "rest": []})

    def cut():
        _, whole = rows.pick("all")
        if d.flag():
            rows.put("top", "SLICE", [whole, numbers(0, 0), size])
        else:
            rows.put("rest", "SLICE", [whole, begin, numbers(-1, columns)])

    def join():
        parts = [rows.pick(name)[1] for name in ("top", "rest") if rows.pool[name]]
        if len(parts) == 2:
            rows.pool["all"].append(joined(graph, parts, [n, columns]))

    for _ in range(d.between(6, 14)):
        d.choice(cut, join, rows.compute, rows.compute)()
    graph.inputs, graph.outputs = [x, k], graph.output_tensors()
    return d.case(model, lambda: [d.normal([n, columns]), np.array([d.between(1, n - 1)], np.int32)])


def loop(d, model, variables, body, limit):
    """WHILE over (number of turns, *variables); the outputs behind it."""
    condition, count = model.subgraph("condition"), Tensor([1], "int32")
    goes_on = condition.op("LESS", [count, numbers(limit)], [Tensor([1], "bool")])
    unread = [Tensor(x.shape, x.dtype) for x in variables]
    for x in unread:
        condition.tensor(x)
    condition.inputs, condition.outputs = [count, *unread], goes_on
    outputs = [Tensor([1], "int32"), *(Tensor(x.shape, x.dtype) for x in variables)]
    first = Tensor([1], "int32")
    options = {"cond_subgraph_index": condition, "body_subgraph_index": body}
    return first, model.subgraphs[0].op("WHILE", [first, *variables], outputs, **options)


@cases("GRAPH", dtypes=("float32",), variants=("list",))
def looped_list(d):
    model = Model()
    main, body = model.subgraph("main"), model.subgraph("body")
    n, columns = d.between(1, 6), d.between(1, 5)
    one = numbers(1)
    i, x, state, made = Tensor([1], "int32"), *(Tensor([rows, columns], "float32") for rows in (n, 1, n))
    following = body.op("ADD", [i, one], [Tensor([1], "int32")])[0]
    rows = Rows(d, body, columns, {"one": [state, single(body, "GATHER", [x, i], [1, columns])]})
    before = after = None
    steps = d.between(3, 8)
    for step in range(steps):
        rows.compute("one")
        if before is None and (d.flag(0.3) or step == steps - 1):
            size = joined(body, [i, numbers(columns)], [2])
            before = single(body, "SLICE", [made, numbers(0, 0), size], [-1, columns])
        if after is None and (d.flag(0.3) or step == steps - 1):
            begin = joined(body, [following, numbers(0)], [2])
            after = single(body, "SLICE", [made, begin, numbers(-1, columns)], [-1, columns])
    written = joined(body, [before, rows.pool["one"][-2], after], [n, columns])
    for tensor in (i, x, state, made):
        body.tensor(tensor)
    body.inputs, body.outputs = [i, x, state, made], [following, x, rows.pool["one"][-1], written]
    variables = [Tensor([rows, columns], "float32") for rows in (n, 1, n)]
    first, outputs = loop(d, model, variables, body, n)
    main.inputs, main.outputs = [first, *variables], [outputs[2], outputs[3]]
    main.outputs = [*main.outputs, main.op("ABS", [outputs[3]], [Tensor([n, columns], "float32")])[0]]

    def feed():
        return [np.array([d.between(0, n)], np.int32), *(d.normal(x.shape) for x in variables)]

    return d.case(model, feed)


@cases("GRAPH", dtypes=("float32",), variants=("growing",))
def growing(d):
    model = Model()
    main, body = model.subgraph("main"), model.subgraph("body")
    columns, turns = d.between(1, 4), d.between(1, 5)
    i, a, b = Tensor([1], "int32"), *(Tensor([1, columns], "float32") for _ in range(2))
    following = body.op("ADD", [i, numbers(1)], [Tensor([1], "int32")])[0]
    both = single(body, "ADD", [a, b], [1, columns])
    row = single(body, "GATHER", [both, numbers(0)], [1, columns])
    grown = [joined(body, [x, row], [-1, columns]) for x in (both, b)]
    if d.flag():
        grown.reverse()
    elif d.flag():
        grown = [b, a]
    body.inputs, body.outputs = [i, a, b], [following, *grown]
    variables = [Tensor([1, columns], "float32") for _ in range(2)]
    first, outputs = loop(d, model, variables, body, turns)
    main.inputs, main.outputs = [first, *variables], outputs
    return d.case(model, lambda: [np.array([d.between(0, 1)], np.int32), *(d.normal(x.shape) for x in variables)])
