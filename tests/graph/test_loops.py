"""Stages behind dynamic outputs, loops whose slices grow: the same bytes whatever stays prepared, moves or is prepared lightly."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.cases import kinds
from tflm_cy import Interpreter, InterpreterWithCustomOps

DYNAMIC = [kind for kind in kinds(["GRAPH"]) if kind.variant in ("dynamic", "list", "growing")]


def ints(*values):
    return Tensor.constant(np.array(values, np.int32))


def rows(*shape):
    """A tensor of floats; -1: of a size that only the invoke knows."""
    return Tensor([abs(size) for size in shape], "float32", shape_signature=list(shape) if -1 in shape else None)


def outputs_of(interpreter, feeds):
    """The bytes of all outputs, feed by feed."""
    interpreter.allocate_tensors()
    details, found = interpreter.get_input_details(), []
    for feed in feeds:
        for detail, value in zip(details, feed, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        arrays = [interpreter.get_tensor(output["index"]) for output in interpreter.get_output_details()]
        found.append([(array.shape, array.tobytes()) for array in arrays])
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", DYNAMIC, ids=lambda kind: kind.variant)
def test_random_graphs_give_the_bytes_of_graphs_without_passes(kind, threads):
    assert len(DYNAMIC) == 3
    for seed in range(40):
        case = kind.case(seed, invokes=6)
        plain = Interpreter(model_content=case.model, experimental_preserve_all_tensors=True)
        optimized = Interpreter(model_content=case.model, num_threads=threads)
        assert outputs_of(optimized, case.feeds) == outputs_of(plain, case.feeds), f"seed {seed}"


def looped(body_of, variables, turns):
    """WHILE over a count and variables; `body_of(body, count, variables)` gives what becomes of the variables."""
    model = Model()
    main, body, condition = (model.subgraph(name) for name in ("main", "body", "condition"))
    count, unread = Tensor([1], "int32"), [rows(*shape) for shape in variables]
    condition.outputs = condition.op("LESS", [count, ints(turns)], [Tensor([1], "bool")])
    for x in unread:
        condition.tensor(x)
    condition.inputs = [count, *unread]
    count, inside = Tensor([1], "int32"), [rows(*shape) for shape in variables]
    for x in (count, *inside):
        body.tensor(x)
    made = body_of(body, count, inside)
    body.outputs = [*body.op("ADD", [count, ints(1)], [Tensor([1], "int32")]), *made]
    body.inputs = [count, *inside]
    first, outside = Tensor([1], "int32"), [rows(*shape) for shape in variables]
    results = [Tensor([1], "int32"), *(rows(*shape) for shape in variables)]
    options = {"cond_subgraph_index": condition, "body_subgraph_index": body}
    main.op("WHILE", [first, *outside], results, **options)
    main.inputs, main.outputs = [first, *outside], results
    return model.to_bytes()


def test_two_variables_that_grow_are_shaped_before_they_meet():
    def body_of(body, count, variables):
        a, b = variables
        both = body.op("ADD", [a, b], [rows(1, 2)])[0]
        row = body.op("GATHER", [both, ints(0)], [rows(1, 2)])[0]
        return [body.op("CONCATENATION", [x, row], [rows(-1, 2)], axis=0)[0] for x in (a, b)]

    interpreter = Interpreter(model_content=looped(body_of, [(1, 2), (1, 2)], 4))
    ones = np.ones([1, 2], np.float32)
    for _ in range(3):
        [[_, (shape, data), (other, _)]] = outputs_of(interpreter, [[np.array([0], np.int32), ones, 2 * ones]])
        assert shape == other == (5, 2)
        assert np.frombuffer(data, np.float32).reshape(5, 2)[:, 0].tolist() == [1, 3, 3, 3, 3]


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_variables_that_change_places_are_overwritten_in_their_order_as_in_tensorflow(turns):
    model = looped(lambda body, count, variables: variables[::-1], [(1, 2), (1, 2)], turns)
    interpreter = Interpreter(model_content=model)
    feed = [np.array([0], np.int32), np.full([1, 2], 1, np.float32), np.full([1, 2], 2, np.float32)]
    [[_, (_, a), (_, b)]] = outputs_of(interpreter, [feed])
    wanted = (1, 2) if turns == 0 else (2, 2)
    assert (np.frombuffer(a, np.float32)[0], np.frombuffer(b, np.float32)[0]) == wanted


def test_a_variable_that_no_turn_changes_keeps_its_value():
    def body_of(body, count, variables):
        kept, made = variables
        return [kept, body.op("ADD", [kept, made], [rows(3, 2)])[0]]

    interpreter = Interpreter(model_content=looped(body_of, [(3, 2), (3, 2)], 5))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for factor in (1, 2):
        [[_, (_, kept), (_, made)]] = outputs_of(interpreter, [[np.array([0], np.int32), factor * x, 0 * x]])
        assert kept == (factor * x).tobytes() and made == (5 * factor * x).tobytes()


class Notes:
    """A custom operator that copies its input, and notes when it is prepared and when it runs."""

    def __init__(self, name, told):
        self.name, self.told = name, told

    def __call__(self, resolver):
        def prepare(node):
            self.told.append(("prepare", self.name))
            node.set_shape(0, node.inputs[0].shape)

        def invoke(node):
            self.told.append(("invoke", self.name))
            node.outputs[0][...] = node.inputs[0]

        resolver.register_custom_op(self.name, prepare, invoke)


def test_what_may_have_effects_keeps_its_turn():
    """Early waits for the slice, Late does not; Late runs behind it nevertheless, and ABS in front of both is prepared once."""
    model, told = Model(), []
    main = model.subgraph("main")
    x, size = rows(4, 2), Tensor([2], "int32")
    part = main.op("SLICE", [x, ints(0, 0), size], [rows(-1, 2)])[0]
    early = main.op("Early", [part], [rows(-1, 2)])[0]
    late = main.op("Late", [x], [rows(4, 2)])[0]
    main.inputs, main.outputs = (
        [x, size],
        [early, *main.op("ABS", [late], [rows(4, 2)]), *main.op("NEG", [x], [rows(4, 2)])],
    )
    interpreter = InterpreterWithCustomOps(
        custom_op_registerers=[Notes("Early", told), Notes("Late", told)], model_content=model.to_bytes()
    )
    value = np.arange(-3.5, 4, dtype=np.float32).reshape(4, 2)
    found = outputs_of(interpreter, [[value, np.array([k, 2], np.int32)] for k in (2, 3, 3)])
    assert [name for what, name in told if what == "invoke"] == ["Early", "Late"] * 3
    for k, (early, late, negative) in zip((2, 3, 3), found, strict=True):
        assert early == ((k, 2), value[:k].tobytes())
        assert late == ((4, 2), abs(value).tobytes()) and negative == ((4, 2), (-value).tobytes())


def test_a_failing_stage_can_run_with_other_shapes():
    """What cannot be added fails; the next sizes can be, and give what an interpreter without that past gives."""
    model = Model()
    main = model.subgraph("main")
    x, size = rows(6, 2), Tensor([2], "int32")
    part = main.op("SLICE", [x, ints(0, 0), size], [rows(-1, 2)])[0]
    whole = main.op("TANH", [x], [rows(6, 2)])[0]
    main.inputs, main.outputs = (
        [x, size],
        main.op("ADD", [part, main.op("ABS", [whole], [rows(6, 2)])[0]], [rows(-1, 2)]),
    )
    value = np.linspace(-2, 2, 12, dtype=np.float32).reshape(6, 2)
    one, fresh = (Interpreter(model_content=model.to_bytes()) for _ in range(2))
    good, bad = [value, np.array([6, 2], np.int32)], [value, np.array([4, 2], np.int32)]
    wanted = outputs_of(fresh, [good])
    assert outputs_of(one, [good]) == wanted
    for _ in range(3):
        with pytest.raises(RuntimeError, match="ADD"):
            outputs_of(one, [bad])
        assert outputs_of(one, [good]) == wanted
