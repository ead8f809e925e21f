"""Resource variables and control flow: VAR_HANDLE, ASSIGN_VARIABLE, READ_VARIABLE, CALL_ONCE, IF, WHILE."""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_KEPT = ("float32", "int8", "int16", "int32", "int64", "bool")


def handle(graph, name="state"):
    return graph.op("VAR_HANDLE", [], [Tensor([1], "resource")], shared_name=name, container="")[0]


@cases("VAR_HANDLE", "ASSIGN_VARIABLE", dtypes=_KEPT)
@cases("READ_VARIABLE", dtypes=("float32",), variants=("before assignment",))
def variable(d):
    """What was assigned is read back: in the same invoke, before or after the assignment."""
    x = d.tensor(d.shape(d.between(1, 3), 4))
    y, z = d.tensor(x.shape, like=x), d.tensor(x.shape, like=x)
    model = Model()
    main, start = model.subgraph("main"), model.subgraph("start")
    if d.variant != "before assignment":
        first = d.tensor(x.shape, like=x)
        first.data = d.values(first)
        start.op("ASSIGN_VARIABLE", [handle(start), first], [])
        main.op("CALL_ONCE", [], [], init_subgraph_index=start)
    kept = handle(main)
    main.op("READ_VARIABLE", [kept], [y])
    main.op("ASSIGN_VARIABLE", [kept, x], [])
    main.op("READ_VARIABLE", [kept], [z])
    main.inputs, main.outputs = [x], [y, z]
    start.inputs, start.outputs = [], []
    refused = None if d.variant == "before assignment" else False  # the delegate returns memory that nobody wrote
    return d.case(model, lambda: [d.values(x)], refused=refused)


@cases("CALL_ONCE", "READ_VARIABLE", dtypes=_KEPT, variants=("initialised",))
def call_once(d):
    """Two variables that a subgraph fills at the first invoke; one is then changed by every invoke."""
    x = d.tensor(d.shape(2, 4))
    model = Model()
    main, start = model.subgraph("main"), model.subgraph("start")
    main.op("CALL_ONCE", [], [], init_subgraph_index=start)
    outputs = []
    for name in ("first", "second"):
        value = d.tensor(x.shape, like=x)
        value.data = d.values(value)
        start.op("ASSIGN_VARIABLE", [handle(start, name), value], [])
        outputs += main.op("READ_VARIABLE", [handle(main, name)], [d.tensor(x.shape, like=x)])
    main.op("ASSIGN_VARIABLE", [handle(main, "second"), x], [])
    main.inputs, main.outputs, start.inputs, start.outputs = [x], outputs, [], []
    return d.case(model, lambda: [d.values(x)])


def branch(model, name, op, d, count=2):
    """A subgraph that applies a binary operator to its inputs."""
    graph = model.subgraph(name)
    operands = [d.tensor([2, 3]) for _ in range(count)]
    result = d.tensor([2, 3])
    graph.op(op, operands, [result])
    graph.inputs, graph.outputs = operands, [result]
    return graph


@cases("IF", dtypes=("float32", "int32"), variants=("random", "shapes differ"))
def if_(d):
    model = Model()
    main = model.subgraph("main")
    then = branch(model, "then", "ADD", d)
    if d.variant == "shapes differ":
        otherwise = model.subgraph("else")
        a, b, y = d.tensor([2, 3]), d.tensor([2, 3]), d.tensor([4, 3])
        otherwise.op("CONCATENATION", [a, b], [y], axis=0)
        otherwise.inputs, otherwise.outputs = [a, b], [y]
    else:
        otherwise = branch(model, "else", "MUL", d)
    condition, a, b = Tensor([], "bool"), d.tensor([2, 3]), d.tensor([2, 3])
    main.op("IF", [condition, a, b], [d.tensor([2, 3])], then_subgraph_index=then, else_subgraph_index=otherwise)

    def feed():
        operands = [d.normal([2, 3]) if d.dtype == "float32" else d.integers(d.dtype, [2, 3], -99, 99) for _ in "ab"]
        return [np.array(d.flag()), *operands]

    return d.case(model, feed)


@cases("WHILE", dtypes=("float32", "int32"), variants=("random", "growing", "not once", "kept", "kept growing"))
def while_(d):
    """Counts to a limit, and adds a value (or appends a row) each time; "kept": beside variables that the body gives back as they are."""
    model = Model()
    main, condition, body = model.subgraph("main"), model.subgraph("condition"), model.subgraph("body")
    limit = np.array(0 if d.variant == "not once" else d.between(1, 6), np.int32)
    shape = [1, 3]
    kept = [[1, 3] for _ in range(d.between(1, 3))] if d.variant.startswith("kept") else []

    def state():
        return [Tensor([1], "int32"), d.tensor(shape), *(d.tensor(size) for size in kept)]

    count, value, *others = condition_inputs = state()
    outcome = condition.op("LESS", [count, Tensor.constant(limit.reshape(1))], [Tensor([1], "bool")])
    for tensor in (value, *others):
        condition.tensor(tensor)
    condition.inputs, condition.outputs = condition_inputs, outcome
    count, value, *others = body_inputs = state()
    for tensor in others:
        body.tensor(tensor)
    counted = body.op("ADD", [count, Tensor.constant(np.array([1], np.int32))], [Tensor([1], "int32")])
    step = d.tensor(shape)
    step.data = d.normal(shape) if d.dtype == "float32" else d.integers(d.dtype, shape, -9, 9)
    if d.variant.endswith("growing"):
        changed = body.op("CONCATENATION", [value, others[0] if others else step], [d.tensor(shape)], axis=0)
    else:
        changed = body.op("ADD", [value, step], [d.tensor(shape)])
    body.inputs, body.outputs = body_inputs, [*counted, *changed, *others]
    x, results = state(), state()
    main.op("WHILE", x, results, cond_subgraph_index=condition, body_subgraph_index=body)
    main.inputs, main.outputs = x, [*results[:2], *(y for y in results[2:] if d.flag())]

    def feed():
        sizes = [shape, *([d.between(1, 3), 3] for _ in kept)]  # a variable that nobody changes may have any size
        return [
            np.array([0], np.int32),
            *(d.normal(size) if d.dtype == "float32" else d.integers(d.dtype, size, -99, 99) for size in sizes),
        ]

    return d.case(model, feed)
