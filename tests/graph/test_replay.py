"""Intermediate tensors whose memory serves others by now: their values are those of the last run, or nobody gets any."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, InterpreterWithCustomOps, OpResolverType

MODES = (OpResolverType.AUTO, OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
LENGTH = 6


def f32(*shape):
    return Tensor(list(shape), "float32")


def chain(*operators, model=None, shape=(2, 3)):
    """x -> operators one after the other; each output but the last is read once."""
    model = model or Model()
    main = model.subgraph("main")
    tensors = [f32(*shape)]
    for name in operators:
        tensors.append(f32(*shape))
        main.op(name, tensors[-2:-1], tensors[-1:])
    main.inputs, main.outputs = tensors[:1], tensors[-1:]
    return model.to_bytes()


def roots(**options):
    """x -> LOG -> LOG ...: no delegate takes LOG; all intermediate tensors share two pieces of memory."""
    found = Interpreter(model_content=chain(*["LOG"] * LENGTH), **options)
    found.allocate_tensors()
    return found


def run(interpreter, x):
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()


def values(interpreter, count=LENGTH + 1):
    return [interpreter.get_tensor(t) for t in range(count)]


def large(seed):
    """Numbers whose logarithm can be taken several times."""
    return np.exp(np.exp(np.exp(np.random.default_rng(seed).uniform(0.5, 1.4, [2, 3])))).astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"num_threads": 2}])
def test_every_tensor_has_the_value_of_the_last_run(mode, options):
    found = roots(experimental_op_resolver_type=mode, **options)
    kept = roots(experimental_op_resolver_type=mode, experimental_preserve_all_tensors=True)
    for seed in range(3):
        with np.errstate(all="ignore"):
            run(found, large(seed))
        run(kept, large(seed))
        assert [v.tobytes() for v in values(found)] == [v.tobytes() for v in values(kept)]
    assert np.allclose(found.get_tensor(1), np.log(large(2)))


def test_a_view_of_such_a_tensor_is_a_copy_that_cannot_be_written():
    found = roots()
    run(found, large(0))
    seen = found.tensor(2)()
    assert np.allclose(seen, np.log(np.log(large(0)))) and not seen.flags.writeable
    found.invoke()  # no view is alive
    assert found.tensor(LENGTH)().flags.writeable


def test_before_the_first_run_there_is_nothing_to_read():
    found = roots()
    with pytest.raises(ValueError, match="no run has computed it"):
        found.get_tensor(1)
    run(found, large(0))
    found.get_tensor(1)
    found.resize_tensor_input(0, [4, 3])
    found.allocate_tensors()
    with pytest.raises(ValueError, match="no run has computed it"):
        found.get_tensor(1)


@pytest.mark.parametrize("by_view", [False, True])
def test_inputs_that_were_written_to_since_the_run(by_view):
    found = roots()
    run(found, large(0))
    if by_view:
        found.tensor(0)()[...] = large(1)
    else:
        found.set_tensor(0, large(1))
    for _ in range(2):
        with pytest.raises(ValueError, match="inputs were written to since the run"):
            found.get_tensor(1)
    found.invoke()
    found.set_tensor(0, large(2))  # from now on the interpreter keeps the inputs of its runs
    assert np.allclose(found.get_tensor(1), np.log(large(1)))
    assert found.get_tensor(0).tobytes() == large(2).tobytes()
    found.invoke()
    assert np.allclose(found.get_tensor(1), np.log(large(2)))


def test_a_view_of_the_output_changes_nothing():
    found = roots()
    run(found, large(0))
    found.tensor(LENGTH)()
    assert np.allclose(found.get_tensor(1), np.log(large(0)))


def test_after_a_resize_the_values_have_the_new_shape():
    found = roots()
    run(found, large(0))
    found.get_tensor(1)
    found.resize_tensor_input(0, [1, 5])
    found.allocate_tensors()
    run(found, large(3).reshape(-1)[None, :5])
    assert np.allclose(found.get_tensor(1), np.log(large(3).reshape(-1)[None, :5]))


def test_constants_that_the_user_has_replaced():
    model = Model()
    main = model.subgraph("main")
    x, w, a, b, c, y = (
        f32(2, 3),
        Tensor.constant(np.ones([1, 3], np.float32)),
        f32(2, 3),
        f32(2, 3),
        f32(2, 3),
        f32(2, 3),
    )
    main.op("POW", [x, w], [a])
    main.op("LOG", [a], [b])
    main.op("LOG", [b], [c])
    main.op("LOG", [c], [y])
    found = Interpreter(model_content=model.to_bytes())
    found.allocate_tensors()
    run(found, large(0))
    assert np.allclose(found.get_tensor(2), large(0))
    found.set_tensor(1, np.array([[2, 1, 1.5]], np.float32))
    run(found, large(0))
    assert np.allclose(found.get_tensor(2), large(0) ** [2, 1, 1.5], rtol=1e-4)


def with_variable():
    """v += x; the sum goes through LOG several times."""
    model = Model()
    main = model.subgraph("main")
    handle, x, old, new = Tensor([], "resource"), f32(2, 3), f32(2, 3), f32(2, 3)
    start = model.subgraph("start")
    first = Tensor([], "resource")
    start.op("VAR_HANDLE", [], [first], shared_name="v")
    start.op("ASSIGN_VARIABLE", [first, Tensor.constant(np.zeros([2, 3], np.float32))], [])
    main.op("CALL_ONCE", [], [], init_subgraph_index=1)
    main.op("VAR_HANDLE", [], [handle], shared_name="v")
    main.op("READ_VARIABLE", [handle], [old])
    main.op("ADD", [old, x], [new])
    main.op("ASSIGN_VARIABLE", [handle, new], [])
    last = new
    for _ in range(4):
        y = f32(2, 3)
        main.op("LOG", [last], [y])
        last = y
    main.inputs, main.outputs = [x], [last]
    return model.to_bytes()


@pytest.mark.parametrize("mode", MODES)
def test_variables_have_moved_on_after_the_second_run(mode):
    found = Interpreter(model_content=with_variable(), experimental_op_resolver_type=mode)
    found.allocate_tensors()
    indices = {d["index"] for d in found.get_tensor_details() if d["dtype"] == np.float32}
    x = found.get_input_details()[0]["index"]
    found.set_tensor(x, large(0))
    found.invoke()
    seen, lost = 0, 0
    for t in indices:
        try:
            seen += np.allclose(found.get_tensor(t), np.log(large(0)))
        except ValueError as error:
            assert "lies inside of a delegate" in str(error)
    assert seen == 1
    found.invoke()
    for t in indices:
        try:
            assert not np.allclose(found.get_tensor(t), np.log(large(0)))
        except ValueError as error:
            lost += "has changed since" in str(error)
    assert lost >= 1


class Remembers:
    """A custom operator that adds how often it has run."""

    def __init__(self, forgets):
        self.forgets, self.runs = forgets, 0

    def __call__(self, resolver):
        def invoke(node):
            self.runs += not self.forgets
            np.add(node.inputs[0], self.runs, out=node.outputs[0])

        resolver.register_custom_op("Count", None, invoke)


@pytest.mark.parametrize("forgets", [True, False])
def test_custom_operators_that_remember_something(forgets):
    blob = chain("LOG", "Count", "LOG", "NEG", "LOG")
    found = InterpreterWithCustomOps([Remembers(forgets)], model_content=blob)
    found.allocate_tensors()
    with np.errstate(all="ignore"):
        run(found, large(0))
    if forgets:
        assert np.allclose(found.get_tensor(1), np.log(large(0)))
    else:
        with pytest.raises(ValueError, match="depends on more than its inputs"):
            found.get_tensor(1)


class Negates:
    """A delegate whose kernel is told apart from others of its kind."""

    def __init__(self):
        self.built = 0

    def supports(self, node):
        return node.op_name == "NEG"

    def build(self, subset):
        self.built += 1
        return lambda inputs, outputs: np.negative(inputs[0], out=outputs[0])


def test_delegates_in_python_take_the_same_nodes():
    mine = Negates()
    found = Interpreter(model_content=chain("LOG", "NEG", "ABS", "LOG", "LOG"), experimental_delegates=[mine])
    found.allocate_tensors()
    run(found, large(0))
    assert np.allclose(found.get_tensor(2), -np.log(large(0)))
    assert np.allclose(found.get_tensor(1), np.log(large(0))) and mine.built == 2
    run(found, large(1))
    assert np.allclose(found.get_tensor(1), np.log(large(1))) and mine.built == 2


def test_random_numbers_are_not_made_up():
    """What another run draws is not what this one has drawn."""
    model = Model()
    main = model.subgraph("main")
    size, drawn, a, b, c = Tensor.constant(np.array([6], np.int32)), f32(6), f32(6), f32(6), f32(6)
    main.op("RANDOM_UNIFORM", [size], [drawn], seed=3, seed2=4)
    main.op("LOG", [drawn], [a])
    main.op("ABS", [a], [b])
    main.op("LOG", [b], [c])
    main.outputs = [c]
    found = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    found.allocate_tensors()
    for _ in range(2):
        found.invoke()
        with pytest.raises(ValueError, match="depends on more than its inputs"):
            found.get_tensor(1)


def test_after_a_run_that_failed_there_is_nothing_to_read():
    model = Model()
    main = model.subgraph("main")
    x, a, b, c, n, y = f32(2, 3), f32(2, 3), f32(2, 3), f32(2, 3), Tensor([2], "int32"), f32(3, 2)
    main.op("LOG", [x], [a])
    main.op("LOG", [a], [b])
    main.op("LOG", [b], [c])
    main.op("RESHAPE", [c, n], [y])
    found = Interpreter(model_content=model.to_bytes())
    found.allocate_tensors()
    shape = next(d["index"] for d in found.get_input_details() if d["dtype"] == np.int32)
    found.set_tensor(0, large(0))
    found.set_tensor(shape, np.array([3, 2], np.int32))
    found.invoke()
    assert np.allclose(found.get_tensor(1), np.log(large(0)))
    found.set_tensor(shape, np.array([7, 7], np.int32))
    with pytest.raises(RuntimeError):
        found.invoke()
    with pytest.raises(ValueError, match="no run has computed it"):
        found.get_tensor(1)
