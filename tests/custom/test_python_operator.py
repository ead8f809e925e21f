"""Operators in Python: shapes, memory, values, failures, and who knows which name."""

import gc
import pickle

import numpy as np
import pytest
from flatbuffers import flexbuffers

import tflm_cy
from compat.builder import Model, Tensor
from tests import harness
from tflm_cy import Interpreter, InterpreterWithCustomOps, OpResolverType

MODES = list(OpResolverType)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def f32(*shape):
    return Tensor(list(shape), "float32")


def model(name="Twice", shape=(2, 3), options=None, x=None, y=None):
    """x -> NEG -> the operator -> NEG."""
    x, a, b, y = x or f32(*shape), f32(*shape), y or f32(*shape), f32(*shape)
    made = Model()
    main = made.subgraph("main")
    main.op("NEG", [x], [a])
    main.op(name, [a], [b], custom_options=options)
    main.op("NEG", [b], [y])
    main.outputs = [y]
    return made.to_bytes()


def single(name, inputs, outputs, **options):
    return Model.single(name, inputs, outputs, **options).to_bytes()


def opened(blob, name="Twice", prepare=None, invoke=None, **options):
    return InterpreterWithCustomOps(
        [lambda resolver: resolver.register_custom_op(name, prepare, invoke)], model_content=blob, **options
    )


def run(interpreter, *values):
    interpreter.allocate_tensors()
    results = harness.run(interpreter, *values)
    return results[0] if len(results) == 1 else results


def same_shape(node):
    node.set_shape(0, node.inputs[0].shape)


def twice(node):
    np.multiply(node.inputs[0], 2, out=node.outputs[0])


@pytest.mark.parametrize("mode", MODES)
def test_numpy_computes_a_node(mode):
    interpreter = opened(model(), prepare=same_shape, invoke=twice, experimental_op_resolver_type=mode)
    assert run(interpreter, X).tolist() == (2 * X).tolist()


def test_shapes_follow_a_resize():
    interpreter = opened(model(), prepare=same_shape, invoke=twice)
    run(interpreter, X)
    interpreter.resize_tensor_input(0, [4, 5])
    assert run(interpreter, np.ones((4, 5), np.float32)).tolist() == np.full((4, 5), 2).tolist()


def test_without_prepare_the_shapes_are_those_of_the_file():
    assert run(opened(model(), invoke=twice), X).tolist() == (2 * X).tolist()


def test_everything_that_prepare_may_do():
    seen = {}

    def prepare(node):
        x, weights = node.inputs
        seen.update(
            name=node.name, index=node.index, options=node.options, weights=weights.value.tolist(), y=node.outputs
        )
        node.set_shape(0, x.shape)
        node.state = {
            "scratch": node.request_scratch(x.shape, np.float32),
            "small": node.request_scratch(3, "int16"),
            "count": node.request_persistent((), np.int64),
            "table": node.request_persistent([4], "float32"),
        }
        node.persistent(node.state["table"])[:] = [1, 2, 3, 4]

    def invoke(node):
        own = node.state
        room = node.scratch(own["scratch"])
        assert node.scratch(own["small"]).dtype == np.int16 and node.scratch(own["small"]).shape == (3,)
        np.multiply(node.inputs[0], node.inputs[1], out=room)
        count = node.persistent(own["count"])
        count += 1
        np.add(room, count * node.persistent(own["table"])[3], out=node.outputs[0])
        seen.update(flags=[a.flags.writeable for a in (*node.inputs, *node.outputs)])

    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Int("n", 3)
    weights = np.float32([1, 10, 100])
    blob = single("Own", [f32(2, 3), Tensor.constant(weights)], [f32(2, 3)], custom_options=bytes(builder.Finish()))
    interpreter = opened(blob, "Own", prepare, invoke)
    for count in (1, 2, 3):
        assert run(interpreter, X).tolist() == (X * weights + 4 * count).tolist()
    assert (seen["name"], seen["index"], seen["options"], seen["weights"]) == ("Own", 0, {"n": 3}, [1, 10, 100])
    assert [t.shape for t in seen["y"]] == [(2, 3)]
    assert seen["flags"] == [False, False, True]
    interpreter.resize_tensor_input(0, [1, 3])
    assert (
        run(interpreter, X[:1]).tolist() == (X[:1] * weights + 4).tolist()
    )  # prepared anew: persistent memory is zero


def test_scratch_lies_in_the_planned_head():
    def prepare(node):
        node.state = node.request_scratch((1000,), np.float32)

    def invoke(node):
        node.scratch(node.state)[:] = np.nan
        twice(node)

    plain, greedy = opened(model(), invoke=twice), opened(model(), prepare=prepare, invoke=invoke)
    assert run(plain, X).tolist() == run(greedy, X).tolist()
    assert greedy._interpreter.arena_used_bytes() >= plain._interpreter.arena_used_bytes() + 4000


@pytest.mark.parametrize("mode", MODES)
def test_a_shape_that_is_known_only_while_invoking(mode):
    def prepare(node):
        node.set_dynamic(0)

    def invoke(node):
        assert node.outputs == (None,)
        node.store(0, node.inputs[0][node.inputs[0] > 1])

    x, y, z = f32(6), f32(1), f32(1)
    made = Model()
    main = made.subgraph("main")
    main.op("Positive", [x], [y])
    main.op("NEG", [y], [z])
    main.outputs = [z]
    interpreter = opened(made.to_bytes(), "Positive", prepare, invoke, experimental_op_resolver_type=mode)
    for value in ([0, 1, 2, 3, 0, 4], [0] * 6, [5] * 6):
        assert run(interpreter, np.float32(value)).tolist() == [-v for v in value if v > 1]


def test_nodes_behind_a_dynamic_output_leave_nothing_behind():
    def prepare(node):
        node.set_dynamic(0)

    def invoke(node):
        node.store(0, node.inputs[0])

    made, last = Model(), f32(6)
    main = made.subgraph("main")
    for _ in range(3):
        main.op("Copy", [last], [last := f32(1)])
    interpreter = opened(made.to_bytes(), "Copy", prepare, invoke)
    run(interpreter, np.ones(6, np.float32))
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        interpreter.invoke()
    gc.collect()
    assert len(gc.get_objects()) <= before + 20


def test_strings():
    def prepare(node):
        node.set_dynamic(0)

    def invoke(node):
        (words,) = node.inputs
        assert words.dtype == object and words.shape == (3,)
        node.store(0, np.array([word.upper() for word in words] + ["ü"], object))

    interpreter = opened(single("Upper", [Tensor([3], "string")], [Tensor([4], "string")]), "Upper", prepare, invoke)
    assert run(interpreter, np.array(["a", "bc", ""], object)).tolist() == [b"A", b"BC", b"", "ü".encode()]


def test_a_variable_is_state():
    def invoke(node):
        x, total = node.inputs
        total += x
        node.outputs[0][:] = total

    blob = single("Sum", [f32(3), Tensor([3], "float32", variable=True)], [f32(3)])
    interpreter = opened(blob, "Sum", invoke=invoke)
    assert [run(interpreter, np.ones(3, np.float32)).tolist() for _ in range(3)] == [[1] * 3, [2] * 3, [3] * 3]
    interpreter.reset_all_variables()
    assert run(interpreter, np.ones(3, np.float32)).tolist() == [1] * 3


def test_an_omitted_input_is_none():
    def invoke(node):
        assert node.inputs[1] is None
        node.outputs[0][:] = node.inputs[0]

    assert run(opened(single("Copy", [f32(2), None], [f32(2)]), "Copy", invoke=invoke), X[0, :2]).tolist() == [0, 1]


def test_failures_name_the_node_and_keep_the_cause():
    def broken(node):
        raise KeyError("lost")

    with pytest.raises(RuntimeError, match=r"lost.*Node number 1 \(Twice\) failed to prepare") as caught:
        opened(model(), prepare=broken, invoke=twice).allocate_tensors()
    assert isinstance(caught.value.__cause__, KeyError)
    interpreter = opened(model(), invoke=broken)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"KeyError: 'lost'.*Node number 1 \(Twice\) failed to invoke") as caught:
            run(interpreter, X)
        assert isinstance(caught.value.__cause__, KeyError)


def test_an_interruption_passes_through():
    def stop(node):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(opened(model(), invoke=stop), X)


@pytest.mark.parametrize("phase", ["prepare", "invoke"])
def test_arrays_must_not_be_kept(phase):
    kept = []

    def prepare(node):
        node.state = node.request_persistent(4, "int8")
        if phase == "prepare":
            kept.append(node.persistent(node.state))

    def invoke(node):
        kept.append(node.inputs[0])
        twice(node)

    interpreter = opened(model(), prepare=prepare, invoke=invoke)
    with pytest.raises(RuntimeError, match="must copy what it keeps"):
        run(interpreter, X)
    with pytest.raises(RuntimeError, match="reference to internal data"):
        interpreter.allocate_tensors()
    kept.clear()
    interpreter.allocate_tensors() if phase == "invoke" else None


def test_a_node_is_dead_after_its_call():
    kept = []

    def prepare(node):
        kept.append(node)
        node.state = node.request_scratch(1, "int8")

    def invoke(node):
        kept.append(node)
        twice(node)

    run(opened(model(), prepare=prepare, invoke=invoke), X)
    preparation, invocation = kept
    dead = [
        lambda: preparation.set_shape(0, [1]),
        lambda: preparation.request_scratch(1, "int8"),
        lambda: preparation.request_persistent(1, "int8"),
        lambda: preparation.inputs,
        lambda: preparation.custom_options,
        lambda: invocation.scratch(0),
        lambda: invocation.store(0, X),
        lambda: invocation.persistent(0),
        lambda: invocation.index,
    ]
    for call in dead:
        with pytest.raises(RuntimeError, match="not afterwards"):
            call()
    assert invocation.inputs == invocation.outputs == ()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda node: node.set_shape(1, [2]), "has no output 1"),
        (lambda node: node.set_shape(-1, [2]), "has no output -1"),
        (lambda node: node.set_shape(0, [2] * 17), "rank 17"),
        (lambda node: node.set_shape(0, [-1]), "overflowed"),
        (lambda node: node.set_shape(0, [2**40]), "too large"),
        (lambda node: node.request_scratch([-1], "int8"), "negative dimension"),
        (lambda node: node.request_scratch(1, object), "no Python objects"),
        (lambda node: node.persistent(0), "no persistent memory has the handle 0"),
    ],
)
def test_wrong_calls_in_prepare(wrong, text):
    with pytest.raises(RuntimeError, match=text):
        opened(model(), prepare=wrong, invoke=twice).allocate_tensors()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda node: node.store(0, np.zeros((2, 3))), "is float32, not float64"),
        (lambda node: node.store(0, np.zeros((3, 2), np.float32)), r"has the shape \[2, 3\]"),
        (lambda node: node.store(1, X), "has no output 1"),
        (lambda node: node.scratch(0), "no scratch memory has the handle 0"),
        (lambda node: node.inputs[0].__setitem__(0, 1), "read-only"),
    ],
)
def test_wrong_calls_in_invoke(wrong, text):
    with pytest.raises(RuntimeError, match=text):
        run(opened(model(), invoke=wrong), X)


def test_an_operator_that_uses_its_own_interpreter_is_refused():
    box = []

    def invoke(node):
        box[0].invoke()

    box.append(opened(model(), invoke=invoke))
    with pytest.raises(RuntimeError, match="from within one of its own calls"):
        run(box[0], X)
    box.clear()


def test_packed_types_are_refused():
    with pytest.raises(RuntimeError, match="INT4 has no numpy view"):
        opened(single("Twice", [Tensor([4], "int4", scale=1.0)], [f32(4)]), invoke=twice).allocate_tensors()


def test_names_of_the_process_and_of_one_interpreter():
    blob = model("Named")
    with pytest.raises(RuntimeError, match="unresolved custom op: Named"):
        Interpreter(model_content=blob).allocate_tensors()
    tflm_cy.register_custom_op("Named", same_shape, twice)
    try:
        assert run(Interpreter(model_content=blob), X).tolist() == (2 * X).tolist()
        thrice = opened(blob, "Named", None, lambda node: np.multiply(node.inputs[0], 3, out=node.outputs[0]))
        assert run(thrice, X).tolist() == (3 * X).tolist()
    finally:
        tflm_cy.unregister_custom_op("Named")
    with pytest.raises(RuntimeError, match="unresolved custom op: Named"):
        Interpreter(model_content=blob).allocate_tensors()
    with pytest.raises(KeyError):
        tflm_cy.unregister_custom_op("Named")


@pytest.mark.parametrize(
    "arguments", [("", None, twice), (3, None, twice), ("A", None, None), ("A", 3, twice), ("A", twice)]
)
def test_what_cannot_be_registered(arguments):
    with pytest.raises(TypeError):
        tflm_cy.register_custom_op(*arguments)


def registerer(resolver):
    """Found by its name."""
    resolver.register_custom_op("Twice", same_shape, twice)


def test_registerers_by_name():
    name = f"{__name__}:registerer"
    interpreter = InterpreterWithCustomOps(custom_op_registerers=[name], model_content=model())
    assert run(interpreter, X).tolist() == (2 * X).tolist()
    for wrong in ("RegisterMyOps", "no_such_module:f", f"{__name__}:no_such_function"):
        with pytest.raises(ValueError, match=r"Looking up symbol '.*' failed"):
            InterpreterWithCustomOps(custom_op_registerers=[wrong], model_content=model())
    with pytest.raises(TypeError, match="a callable or a name"):
        InterpreterWithCustomOps(custom_op_registerers=[3], model_content=model())
    with pytest.raises(TypeError, match="C\\+\\+ resolver"):
        InterpreterWithCustomOps(custom_op_registerers=[int], model_content=model())


def test_pickling_takes_the_registerers_along():
    interpreter = InterpreterWithCustomOps(custom_op_registerers=[registerer], model_content=model())
    again = pickle.loads(pickle.dumps(interpreter))
    assert type(again) is InterpreterWithCustomOps
    assert run(again, X).tolist() == (2 * X).tolist()


def test_delegates_see_the_operator_first():
    class Mine:
        def supports(self, node):
            return node.op_name == "Twice"

        def build(self, subset):
            return lambda inputs, outputs: np.multiply(inputs[0], 7, out=outputs[0])

    interpreter = opened(model(), invoke=twice, experimental_delegates=[Mine()])
    assert run(interpreter, X).tolist() == (7 * X).tolist()
