"""Values that only TensorFlow understands (VARIANT, RESOURCE) on their way through subgraphs, without TensorFlow.

A stand-in computes what TensorFlow would: lists of rows, as Python objects whose number is counted. That TensorFlow's own lists give its
values is shown by `python -m compat.flex`.
"""

import gc
import weakref

import numpy as np
import pytest
import tflm_cy.delegates.flex as flex

from compat.builder import Model, Tensor
from tests import harness
from tflm_cy import Interpreter, OpResolverType

MODES = ["BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"]
alive = weakref.WeakSet()
largest = [0]


class Rows:
    """A list of rows, never changed."""

    def __init__(self, rows):
        self.rows = list(rows)
        alive.add(self)
        largest[0] = max(largest[0], len(alive))


class Plain:
    def __init__(self, value):
        self.value = value

    def numpy(self):
        return self.value


def put(rows, index, item):
    assert isinstance(rows, Rows)
    if not 0 <= int(index[0]) < len(rows.rows):
        raise IndexError(f"{{{{node n1}}}} no row {int(index[0])}")
    return Rows([item if k == index[0] else row for k, row in enumerate(rows.rows)])


OPERATORS = {
    "FlexNew": lambda x: Rows(x),
    "FlexPut": put,
    "FlexAppend": lambda rows, item: Rows([*rows.rows, item]),
    "FlexStack": lambda rows: np.stack(rows.rows).astype(np.float32),
    "FlexDouble": lambda x: x * 2,
}


def make(part, inputs, constants, outputs):
    """As TensorFlow's functions, of the operators above; only those of one array know the shape of what they give."""
    shapes = {t: shape for t, _, shape in inputs}

    def function(*given):
        values = {**constants, **dict(zip((t for t, _, _ in inputs), given, strict=True))}
        for _, op, _, taken, made in part.nodes:
            values[made[0]] = OPERATORS[op](*[values[t] for t in taken])
        return [values[t] if isinstance(values[t], Rows) else Plain(values[t]) for t in outputs]

    for _, op, _, taken, made in part.nodes:
        shapes[made[0]] = list(shapes[taken[0]]) if op == "FlexDouble" else None
    return function, [shapes[t] for t in outputs]


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(flex, "installed", lambda: True)
    monkeypatch.setattr(flex.Part, "definitions", lambda part: None)
    monkeypatch.setattr(flex.Part, "make", make)
    monkeypatch.setattr(flex.Part, "call", lambda part, values: part.function(*values))
    gc.collect()
    largest[0] = len(alive)


def f32(*shape):
    return Tensor(list(shape), "float32")


def i32():
    return Tensor([1], "int32")


def variant():
    return Tensor([], "variant")


def constant(*values, dtype=np.int32):
    return Tensor.constant(np.array(values, dtype))


def loop(model, caller, limit, given, turn):
    """WHILE k < limit in a graph: `turn(body, k, *tensors)` gives the tensors of the next turn; the loop's outputs are returned."""
    condition, body = model.subgraph("condition"), model.subgraph("body")

    def alike(tensors):
        return [Tensor(tensor.shape, tensor.dtype) for tensor in tensors]

    k, *here = condition.inputs = [i32(), *alike(given)]
    for tensor in condition.inputs:
        condition.tensor(tensor)
    condition.outputs = condition.op("LESS", [k, constant(limit)], [Tensor([1], "bool")])
    k, *here = body.inputs = [i32(), *alike(given)]
    for tensor in body.inputs:
        body.tensor(tensor)
    following = turn(body, k, *here)
    body.outputs = body.op("ADD", [k, constant(1)], [i32()]) + following
    start = constant(0)
    return caller.op(
        "WHILE", [start, *given], [i32(), *alike(given)], cond_subgraph_index=condition, body_subgraph_index=body
    )[1:]


def filling(rows=3):
    """A list of x's rows; a loop replaces each by y + y's; stacked."""
    model = Model()
    main = model.subgraph("main")
    x, y, z = f32(rows, 2), f32(2), f32(rows, 2)
    made = main.op("FlexNew", [x], [variant()])

    def turn(body, k, handle, row):
        (twice,) = body.op("ADD", [row, row], [f32(2)])
        return [*body.op("FlexPut", [handle, k, twice], [variant()]), twice]

    filled, _ = loop(model, main, rows, [*made, y], turn)
    main.op("FlexStack", [filled], [z])
    main.inputs, main.outputs = [x, y], [z]
    return model.to_bytes()


def interpreter_of(content, mode="AUTO", **more):
    return Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType[mode], **more)


def run(interpreter, *values):
    interpreter.allocate_tensors()
    return harness.run(interpreter, *values)[0]


def handles(interpreter):
    return len(interpreter._interpreter.subgraphs[0].shared.handles)


def filled(y, rows=3):
    return [[float(v) * 2 ** (k + 1) for v in y] for k in range(rows)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [{}, {"experimental_preserve_all_tensors": True}, {"num_threads": 2}], ids=str)
def test_a_list_goes_around_a_loop(mode, more):
    interpreter, x = interpreter_of(filling(), mode, **more), np.zeros((3, 2), np.float32)
    for y in ([1, 2], [3, 4], [-1, 0.5]):
        assert run(interpreter, x, np.array(y, np.float32)).tolist() == filled(y)


def test_what_nobody_refers_to_is_freed():
    interpreter, x, y = interpreter_of(filling(40)), np.zeros((40, 2), np.float32), np.ones(2, np.float32)
    before = len(alive)
    for _ in range(3):
        run(interpreter, x, y)
        assert (handles(interpreter), len(alive)) == (0, before)
    # of the lists of a loop: the one in front, its own, the body's input and output, and the one that is being made
    assert largest[0] - before <= 5


def test_a_graph_that_preserves_all_tensors_keeps_the_newest_only():
    interpreter = interpreter_of(filling(40), experimental_preserve_all_tensors=True)
    before, seen = len(alive), set()
    for _ in range(4):
        run(interpreter, np.zeros((40, 2), np.float32), np.ones(2, np.float32))
        seen.add((handles(interpreter), len(alive) - before))
    assert len(seen) == 1
    assert largest[0] - before <= 6
    del interpreter
    gc.collect()
    assert len(alive) == before


def test_interpreters_do_not_meet():
    several = [interpreter_of(filling(), mode) for mode in MODES * 2]
    x = np.zeros((3, 2), np.float32)
    for interpreter in several:
        interpreter.allocate_tensors()
    for turn in range(2):
        for n, interpreter in enumerate(several):
            assert run(interpreter, x, np.array([n, turn], np.float32)).tolist() == filled([n, turn])


def test_two_lists_change_places():
    model = Model()
    main = model.subgraph("main")
    x, y = f32(1, 2), f32(1, 2)
    (a,), (b,) = main.op("FlexNew", [x], [variant()]), main.op("FlexNew", [y], [variant()])

    def turn(body, k, a, b):
        return [b, *body.op("FlexAppend", [a, Tensor.constant(np.array([7, 8], np.float32))], [variant()])]

    a, b = loop(model, main, 3, [a, b], turn)
    outputs = [main.op("FlexStack", [t], [f32(2, 2)])[0] for t in (a, b)]
    main.inputs, main.outputs = [x, y], outputs
    interpreter = interpreter_of(model.to_bytes())
    # x, y -> y, x7 -> x7, y7 -> y7, x77
    assert run(interpreter, np.array([[1, 2]], np.float32), np.array([[3, 4]], np.float32)).tolist() == [[3, 4], [7, 8]]
    second = interpreter.get_output_details()[1]["index"]
    assert interpreter.get_tensor(second).tolist() == [[1, 2], [7, 8], [7, 8]]


def test_a_list_beside_a_value_whose_shape_changes_in_the_loop():
    """The body is prepared again between the copies of its inputs."""
    model = Model()
    main = model.subgraph("main")
    x, y = f32(3, 2), f32(1, 2)
    made = main.op("FlexNew", [x], [variant()])

    def turn(body, k, handle, grown):
        (new,) = body.op("CONCATENATION", [grown, grown], [f32(2, 2)], axis=0)
        (row,) = body.op("SUM", [grown, constant(0)], [f32(2)], keep_dims=False)
        return [*body.op("FlexPut", [handle, k, row], [variant()]), new]

    filled_list, grown = loop(model, main, 3, [*made, y], turn)
    main.op("FlexStack", [filled_list], [f32(3, 2)])
    main.inputs, main.outputs = [x, y], [main.operators[-1]["outputs"][0], grown]
    interpreter = interpreter_of(model.to_bytes())
    for _ in range(3):
        got = run(interpreter, np.zeros((3, 2), np.float32), np.array([[1, 2]], np.float32))
        assert got.tolist() == [[1, 2], [2, 4], [4, 8]]
        assert interpreter.get_tensor(interpreter.get_output_details()[1]["index"]).tolist() == [[1, 2]] * 8
        assert handles(interpreter) == 0


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_may_give_back_what_it_was_given(condition):
    model = Model()
    main, then, other = (model.subgraph(name) for name in ("main", "then", "else"))
    a = variant()
    then.inputs = [then.tensor(a)]
    then.outputs = then.op("FlexAppend", [a, Tensor.constant(np.array([5, 6], np.float32))], [variant()])
    b = variant()
    other.inputs = other.outputs = [other.tensor(b)]
    choice, x = Tensor([1], "bool"), f32(2, 2)
    made = main.op("FlexNew", [x], [variant()])
    chosen = main.op("IF", [choice, *made], [variant()], then_subgraph_index=then, else_subgraph_index=other)
    main.outputs = main.op("FlexStack", chosen, [f32(2, 2)])
    main.inputs = [choice, x]
    interpreter = interpreter_of(model.to_bytes())
    wanted = [[1, 2], [3, 4]] + [[5, 6]] * condition
    for _ in range(2):
        got = run(interpreter, np.array([condition]), np.array([[1, 2], [3, 4]], np.float32))
        assert got.tolist() == wanted
        assert handles(interpreter) == 0


def test_a_loop_in_a_loop():
    model = Model()
    main = model.subgraph("main")
    x = f32(1, 2)
    made = main.op("FlexNew", [x], [variant()])

    def inner(body, k, handle):
        return body.op("FlexAppend", [handle, Tensor.constant(np.array([1, 1], np.float32))], [variant()])

    def outer(body, k, handle):
        return loop(model, body, 2, [handle], inner)

    main.outputs = main.op("FlexStack", loop(model, main, 3, made, outer), [f32(7, 2)])
    main.inputs = [x]
    interpreter = interpreter_of(model.to_bytes())
    before = len(alive)
    assert run(interpreter, np.zeros((1, 2), np.float32)).tolist() == [[0, 0]] + [[1, 1]] * 6
    assert (handles(interpreter), len(alive)) == (0, before)


def test_a_failing_operator_is_named_and_frees_everything():
    model = Model()
    main = model.subgraph("main")
    x, y, limit = f32(2, 2), f32(2), 3
    made = main.op("FlexNew", [x], [variant()])

    def turn(body, k, handle, row):
        (twice,) = body.op("ADD", [row, row], [f32(2)])
        return [*body.op("FlexPut", [handle, k, twice], [variant()]), twice]

    made, _ = loop(model, main, limit, [*made, y], turn)
    main.outputs = main.op("FlexStack", [made], [f32(2, 2)])
    main.inputs = [x, y]
    interpreter = interpreter_of(model.to_bytes())
    before = len(alive)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"refuses to run FlexPut \(node 1\): .*no row 2.*WHILE"):
            run(interpreter, np.zeros((2, 2), np.float32), np.ones(2, np.float32))
        gc.collect()
        assert (handles(interpreter), len(alive)) == (0, before)


def test_a_type_that_tensorflow_has_not_is_refused_by_name():
    model = Model()
    main = model.subgraph("main")
    main.inputs = [main.tensor(Tensor([2], "int4"))]
    main.outputs = main.op("FlexDouble", main.inputs, [f32(2)])
    with pytest.raises(
        RuntimeError, match=r"FlexDouble \(node 0\): tensor 0 of type INT4 cannot be given to TensorFlow"
    ):
        interpreter_of(model.to_bytes()).allocate_tensors()


def test_what_variables_are_named_by_cannot_be_given_to_tensorflow():
    model = Model()
    main = model.subgraph("main")
    handle, x = Tensor([], "resource"), f32(2)
    main.op("VAR_HANDLE", [], [handle], shared_name="v")
    main.outputs = main.op("FlexAppend", [handle, x], [f32(2)])
    main.inputs = [x]
    with pytest.raises(RuntimeError, match=r"FlexAppend \(node 1\): tensor 0 of type RESOURCE.*VAR_HANDLE"):
        interpreter_of(model.to_bytes()).allocate_tensors()


def test_a_variant_that_the_model_is_given_has_no_value():
    model = Model()
    main = model.subgraph("main")
    handle, x = variant(), f32(2)
    main.outputs = main.op("FlexAppend", [handle, x], [f32(2)])
    main.inputs = [handle, x]
    interpreter = interpreter_of(model.to_bytes())
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match=r"FlexAppend \(node 0\): tensor 0 of type VARIANT.*an input of the model"):
        interpreter.invoke()


def test_tensorflows_handle_names_no_variable():
    model = Model()
    main = model.subgraph("main")
    x, handle = f32(2), Tensor([], "resource")
    main.op("FlexNew", [x], [handle])
    main.outputs = main.op("READ_VARIABLE", [handle], [f32(2)])
    main.inputs = [x]
    interpreter = interpreter_of(model.to_bytes())
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="READ_VARIABLE"):
        interpreter.invoke()


def test_a_variable_goes_around_a_loop_whose_other_values_change_shape():
    model = Model()
    main = model.subgraph("main")
    handle, x = Tensor([], "resource"), f32(1, 2)
    main.op("VAR_HANDLE", [], [handle], shared_name="v")
    main.op("ASSIGN_VARIABLE", [handle, x], [])

    def turn(body, k, handle, grown):
        (old,) = body.op("READ_VARIABLE", [handle], [f32(1, 2)])
        (new,) = body.op("ADD", [old, old], [f32(1, 2)])
        body.op("ASSIGN_VARIABLE", [handle, new], [])
        return [handle, *body.op("CONCATENATION", [grown, grown], [f32(2, 2)], axis=0)]

    handle, _ = loop(model, main, 3, [handle, x], turn)
    main.outputs = main.op("READ_VARIABLE", [handle], [f32(1, 2)])
    main.inputs = [x]
    interpreter = interpreter_of(model.to_bytes())
    for _ in range(2):
        assert run(interpreter, np.array([[1, 2]], np.float32)).tolist() == [[8, 16]]


def test_functions_are_made_once_for_each_shape(monkeypatch):
    made = []
    monkeypatch.setattr(flex.Part, "make", lambda part, *more: made.append(part) or make(part, *more))
    model = Model()
    main = model.subgraph("main")
    x = f32(2, 2)
    main.outputs = main.op("FlexDouble", [x], [f32(2, 2)])
    main.inputs = [x]
    interpreter = interpreter_of(model.to_bytes())
    for size in (1, 2, 1, 2, 3, 1):
        interpreter.resize_tensor_input(0, [size, 2])
        assert run(interpreter, np.full((size, 2), 3, np.float32)).tolist() == [[6, 6]] * size
    assert len(made) == 3
