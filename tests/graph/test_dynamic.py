"""Dynamic outputs: stages, shapes that change from one invoke to the next, what is readable before and after."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, feed
from tflm_cy import Interpreter, OpResolverType


def where_then_add():
    """WHERE(c) -> rows; rows + 1; both are outputs, the second lies behind a dynamic tensor."""
    model = Model()
    main = model.subgraph("main")
    c, rows, y = Tensor([6], "bool"), Tensor([0, 1], "int64"), Tensor([0, 1], "int64")
    main.op("WHERE", [c], [rows])
    main.op("ADD", [rows, Tensor.constant(np.array([1], np.int64))], [y])
    main.inputs, main.outputs = [c], [rows, y]
    return Interpreter(model_content=model.to_bytes())


def test_shapes_follow_the_values():
    interpreter = where_then_add()
    interpreter.allocate_tensors()
    rows, y = (d["index"] for d in interpreter.get_output_details())
    for pattern in ([1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1]):
        interpreter.set_tensor(0, np.array(pattern, bool))
        interpreter.invoke()
        wanted = np.argwhere(pattern)
        assert interpreter.get_tensor(rows).tolist() == wanted.tolist()
        assert interpreter.get_tensor(y).tolist() == (wanted + 1).tolist()
        assert interpreter.get_output_details()[1]["shape"].tolist() == [len(wanted), 1]


def test_stages_whose_shapes_stay_and_stages_whose_shapes_change():
    """Two stages, each behind a WHERE of its own; what the first one holds is needed behind the second."""
    model = Model()
    main = model.subgraph("main")
    a, b = Tensor([4], "bool"), Tensor([5], "bool")
    rows_a, more_a, twice_a, rows_b, more_b = (Tensor([0, 1], "int64") for _ in range(5))
    one = Tensor.constant(np.array([1], np.int64))
    main.op("WHERE", [a], [rows_a])
    main.op("ADD", [rows_a, one], [more_a])
    main.op("WHERE", [b], [rows_b])
    main.op("ADD", [rows_b, one], [more_b])
    main.op("ADD", [more_a, more_a], [twice_a])
    main.inputs, main.outputs = [a, b], [twice_a, more_b]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    first, second = (d["index"] for d in interpreter.get_input_details())
    outputs = [d["index"] for d in interpreter.get_output_details()]
    rng = np.random.default_rng(3)
    flags = [rng.random(4) < 0.5, rng.random(5) < 0.5]
    for turn in range(60):
        if turn % 3:
            flags[turn % 3 - 1] = rng.random(4 + turn % 3 - 1) < 0.5
        interpreter.set_tensor(first, flags[0])
        interpreter.set_tensor(second, flags[1])
        interpreter.invoke()
        assert interpreter.get_tensor(outputs[0]).tolist() == (2 * (np.argwhere(flags[0]) + 1)).tolist()
        assert interpreter.get_tensor(outputs[1]).tolist() == (np.argwhere(flags[1]) + 1).tolist()


def test_later_stages_lie_where_nobody_needs_the_values_of_earlier_ones():
    """Random sums of earlier values, cut into stages by reshapes to a shape that only the invoke knows."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = Model()
        main = model.subgraph("main")
        x, shape = Tensor([1, 64], "int32"), Tensor([2], "int32")
        known, steps = [x], []
        for _ in range(int(rng.integers(5, 30))):
            y = Tensor([1, 64], "int32")
            if not steps or rng.random() < 0.25:
                source = int(rng.integers(len(known)))
                main.op("RESHAPE", [known[source], shape], [y])
                steps.append(("RESHAPE", source))
            else:
                pair = rng.integers(max(0, len(known) - 4), len(known), 2)
                main.op("ADD", [known[pair[0]], known[pair[1]]], [y])
                steps.append(("ADD", *pair))
            known.append(y)
        outputs = sorted({len(known) - 1, int(rng.integers(1, len(known)))})
        main.inputs, main.outputs = [x, shape], [known[i] for i in outputs]
        interpreter = Interpreter(model_content=model.to_bytes())
        interpreter.allocate_tensors()
        where = [d["index"] for d in interpreter.get_output_details()]
        for _ in range(3):
            values = [rng.integers(-1000, 1000, (1, 64)).astype(np.int32)]
            for step in steps:
                values.append(values[step[1]] if step[0] == "RESHAPE" else values[step[1]] + values[step[2]])
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], values[0])
            interpreter.set_tensor(interpreter.get_input_details()[1]["index"], np.int32([1, 64]))
            interpreter.invoke()
            for i, index in zip(outputs, where, strict=True):
                assert interpreter.get_tensor(index).tolist() == values[i].tolist(), seed


def test_a_static_part_before_is_untouched():
    model = Model()
    main = model.subgraph("main")
    x, doubled, flags, rows = (
        Tensor([5], "float32"),
        Tensor([5], "float32"),
        Tensor([5], "bool"),
        Tensor([0, 1], "int64"),
    )
    main.op("ADD", [x, x], [doubled])
    main.op("GREATER", [doubled, Tensor.constant(np.array([4], np.float32))], [flags])
    main.op("WHERE", [flags], [rows])
    count = Tensor([], "int32")
    main.op("SHAPE", [rows], [count], out_type="INT32")
    main.inputs, main.outputs = [x], [doubled, count]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.arange(5, dtype=np.float32))
    for _ in range(3):
        interpreter.invoke()
        doubled_index, count_index = (d["index"] for d in interpreter.get_output_details())
        assert interpreter.get_tensor(doubled_index).tolist() == [0, 2, 4, 6, 8]
        assert interpreter.get_tensor(count_index).tolist() == [2, 1]


@pytest.mark.parametrize("mode", ["AUTO", "BUILTIN_REF"])
def test_what_is_shaped_while_invoking_keeps_its_value_until_it_is_computed_again(mode):
    """Through a resize, an allocation, and a run that fails in front of it."""
    condition, index, found, row = (
        Tensor([4], "bool"),
        Tensor([1], "int32"),
        Tensor([1, 1], "int64"),
        Tensor([1], "float32"),
    )
    model = Model()
    main = model.subgraph("main")
    main.op("GATHER", [Tensor.constant(np.arange(3, dtype=np.float32)), index], [row])
    main.op("WHERE", [condition], [found])
    main.inputs, main.outputs = [condition, index], [found, row]
    interpreter = allocated(model, experimental_op_resolver_type=OpResolverType[mode])
    place = interpreter.get_output_details()[0]["index"]
    feed(interpreter, np.array([True, False, True, True]), np.array([1], np.int32))
    interpreter.invoke()
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [2])
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(place).tolist() == [[0], [2], [3]]
    feed(interpreter, np.array([True, False]), np.array([9], np.int32))
    with pytest.raises(RuntimeError, match="out of bounds"):
        interpreter.invoke()
    assert interpreter.get_tensor(place).tolist() == [[0], [2], [3]]
    feed(interpreter, np.array([False, True]), np.array([2], np.int32))
    interpreter.invoke()
    assert interpreter.get_tensor(place).tolist() == [[1]]


def test_what_a_failed_run_has_not_come_to_shows_no_other_tensor():
    """RESHAPE to a shape that is fed -> ABS -> GATHER -> NEG of ABS; a run whose index is outside, at another shape than the run before."""
    model = Model()
    main = model.subgraph("main")
    x, shape, index = Tensor([6], "float32"), Tensor([2], "int32"), Tensor([2], "int32")
    reshaped, y, rows, z = (Tensor([2, 3], "float32") for _ in range(4))
    main.op("RESHAPE", [x, shape], [reshaped])
    main.op("ABS", [reshaped], [y])
    main.op("GATHER", [y, index], [rows], axis=0)
    main.op("NEG", [y], [z])
    main.inputs, main.outputs = [x, shape, index], [z, rows, y]
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    values = np.arange(1, 7, dtype=np.float32)
    feed(interpreter, values, np.array([3, 2], np.int32), np.array([0, 1], np.int32))
    interpreter.invoke()
    feed(interpreter, values, np.array([6, 1], np.int32), np.array([0, 9], np.int32))
    with pytest.raises(RuntimeError, match="index"):
        interpreter.invoke()
    z, rows, y = (interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details())
    assert y.tolist() == values.reshape(6, 1).tolist()
    assert z.shape == (6, 1) and not z.any() and rows.shape == (2, 1) and not rows[1:].any()
