"""IF, WHILE, CALL_ONCE and resource variables (VAR_HANDLE, ASSIGN_VARIABLE, READ_VARIABLE): values, shapes, refusals."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter


def f32(*shape):
    return Tensor(list(shape), "float32")


def branches(then_op, else_op, shape=(4,)):
    """IF over two subgraphs of one binary operator each, on (x, c)."""
    model = Model()
    main, then, other = (model.subgraph(name) for name in ("main", "then", "else"))
    for graph, op in ((then, then_op), (other, else_op)):
        a, b = f32(*shape), f32(*shape)
        graph.inputs = [graph.tensor(a), graph.tensor(b)]
        graph.outputs = graph.op(op, [a, b], [f32(*shape)])
    condition, x, y = Tensor([1], "bool"), f32(*shape), f32(*shape)
    main.op("IF", [condition, x, y], [f32(*shape)], then_subgraph_index=then, else_subgraph_index=other)
    return Interpreter(model_content=model.to_bytes())


@pytest.mark.parametrize(("condition", "wanted"), [(True, 7), (False, 10)])
def test_if_runs_one_branch(condition, wanted):
    interpreter = branches("ADD", "MUL")
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.array([condition]))
    interpreter.set_tensor(1, np.full(4, 2, np.float32))
    interpreter.set_tensor(2, np.full(4, 5, np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(3).tolist() == [wanted] * 4


def test_if_follows_a_resize():
    interpreter = branches("ADD", "MUL")
    for size in (4, 9, 2):
        interpreter.resize_tensor_input(1, [size])
        interpreter.resize_tensor_input(2, [size])
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.array([True]))
        interpreter.set_tensor(1, np.ones(size, np.float32))
        interpreter.set_tensor(2, np.ones(size, np.float32))
        interpreter.invoke()
        assert interpreter.get_tensor(3).tolist() == [2] * size


def counting(limit):
    """WHILE i < limit: i += 1, s += s."""
    model = Model()
    main, condition, body = (model.subgraph(name) for name in ("main", "condition", "body"))
    one, bound = (Tensor.constant(np.array([n], np.int32)) for n in (1, limit))
    i, s = Tensor([1], "int32"), f32(3)
    condition.inputs = [condition.tensor(i), condition.tensor(s)]
    condition.outputs = condition.op("LESS", [i, bound], [Tensor([1], "bool")])
    i, s = Tensor([1], "int32"), f32(3)
    body.inputs = [body.tensor(i), body.tensor(s)]
    body.outputs = body.op("ADD", [i, one], [Tensor([1], "int32")]) + body.op("ADD", [s, s], [f32(3)])
    main.op(
        "WHILE",
        [Tensor([1], "int32"), f32(3)],
        [Tensor([1], "int32"), f32(3)],
        cond_subgraph_index=condition,
        body_subgraph_index=body,
    )
    return Interpreter(model_content=model.to_bytes())


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_while_loops_as_often_as_asked(turns):
    interpreter = counting(turns)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.array([0], np.int32))
    interpreter.set_tensor(1, np.array([1, 2, 3], np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [turns]
    assert interpreter.get_tensor(3).tolist() == [2**turns, 2 * 2**turns, 3 * 2**turns]


def test_a_subgraph_that_calls_itself_is_refused():
    model = Model()
    main, other = model.subgraph("main"), model.subgraph("other")
    other.inputs = [other.tensor(f32(2))]
    other.outputs = other.op("NEG", other.inputs, [f32(2)])
    main.op("IF", [Tensor([1], "bool"), f32(2)], [f32(2)], then_subgraph_index=main, else_subgraph_index=other)
    main.inputs = [main.tensors[1]]
    main.operators[0]["inputs"] = [Tensor.constant(np.array([True])), main.tensors[1]]
    main.tensor(main.operators[0]["inputs"][0])
    interpreter = Interpreter(model_content=model.to_bytes())
    with pytest.raises(RuntimeError, match="calls itself"):
        interpreter.allocate_tensors()


def accumulator():
    """CALL_ONCE fills a variable with 10; every run adds x to it and returns it."""
    model = Model()
    main, first = model.subgraph("main"), model.subgraph("first")
    handle = Tensor([], "resource")
    first.op("VAR_HANDLE", [], [handle], shared_name="sum")
    first.op("ASSIGN_VARIABLE", [handle, Tensor.constant(np.full(2, 10, np.float32))], [])
    first.inputs, first.outputs = [], []
    handle, old, new, x = Tensor([], "resource"), f32(2), f32(2), f32(2)
    main.op("CALL_ONCE", [], [], init_subgraph_index=first)
    main.op("VAR_HANDLE", [], [handle], shared_name="sum")
    main.op("READ_VARIABLE", [handle], [old])
    main.op("ADD", [old, x], [new])
    main.op("ASSIGN_VARIABLE", [handle, new], [])
    main.inputs, main.outputs = [x], [new]
    return Interpreter(model_content=model.to_bytes())


def test_variables_keep_their_value_between_runs():
    interpreter = accumulator()
    interpreter.allocate_tensors()
    index = interpreter.get_input_details()[0]["index"]
    out = interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(index, np.array([1, 2], np.float32))
    seen = []
    for _ in range(3):
        interpreter.invoke()
        seen.append(interpreter.get_tensor(out).tolist())
    assert seen == [[11, 12], [12, 14], [13, 16]]


def test_a_variable_read_before_it_is_written():
    handle, y = Tensor([], "resource"), f32(2)
    model = Model()
    main = model.subgraph("main")
    main.op("VAR_HANDLE", [], [handle], shared_name="v")
    main.op("READ_VARIABLE", [handle], [y])
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match=r"before a value is assigned.*READ_VARIABLE"):
        interpreter.invoke()
