"""What TFLM's kernels refuse, before a model runs or when it does, and what an exact arena means."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import activation, chain, loaded
from tflm_cy.memory.arena import ArenaExhausted
from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.arena_usage import demand


def constant(values, dtype=np.int32):
    return Tensor.constant(np.array(values, dtype))


def single(op, inputs, outputs, **options):
    return loaded(Model.single(op, inputs, outputs, **options))


def test_types_that_fail_when_the_node_runs():
    model = single("ABS", [Tensor([3], "int32")], [Tensor([3], "int32")])
    assert demand(model).refusals == []
    assert "takes FLOAT32, INT8, INT16" in demand(model).failures[0, 0]
    interpreter = MicroInterpreter(model)
    interpreter.set_input(0, np.array([-1, 2, -3], np.int32))
    with pytest.raises(RuntimeError, match=r"TFLM's kernel does not take these types.*ABS"):
        interpreter.invoke()


@pytest.mark.parametrize(
    "model, reason",
    [
        (("EXP", [activation(4)], [activation(4)]), "input 0 is INT8"),
        (("GATHER", [Tensor([4], "float32"), constant([0], np.int64)], [Tensor([1], "float32")]), "FLOAT32>INT64"),
        (("PAD", [activation(1, 2), Tensor([2, 2], "int32")], [activation(1, 4)]), "input 1 is not constant"),
        (("PAD", [activation(1, 2), constant([[0, 0], [1, 0]])], [activation(1, 4)]), "paddings do not give"),
        (("BROADCAST_TO", [activation(2), constant([1] * 5 + [2])], [activation(1, 1, 1, 1, 1, 2)]), "at most 5"),
        (("TRANSPOSE", [activation(*[1] * 6), constant(range(6))], [activation(*[1] * 6)]), "at most 5"),
    ],
)
def test_what_is_refused(model, reason):
    with pytest.raises(ValueError, match=reason):
        MicroInterpreter(single(*model))


@pytest.mark.parametrize(
    "begin, end, shape, reason",
    [
        ([0, 0], [2, 3], (2, 3), None),
        ([0, 0], [2, 3], (2, 2), "the output's shape"),
        ([-1, 3], [-3, 0], (2, 3), None),
    ],
)
def test_slices_have_an_index_per_dimension_and_the_shape_in_the_file(begin, end, shape, reason):
    strides = constant([-1 if b > e or b < 0 else 1 for b, e in zip(begin, end, strict=True)])
    model = single("STRIDED_SLICE", [activation(4, 5), constant(begin), constant(end), strides], [activation(*shape)])
    found = demand(model, refuse=False).refusals
    assert (not found) if reason is None else any(reason in text for text in found)


def test_fewer_indices_than_dimensions_are_read_on_behind_them_in_the_file():
    """What follows the indices in the file, the sizes of the next vectors or padding, counts as the other indices."""
    indices = [constant([0]), constant([2]), constant([1])]
    model = single("STRIDED_SLICE", [activation(4, 5), *indices], [activation(2, 5)])
    [refusal] = demand(model, refuse=False).objections
    assert refusal.stage == "prepare" and "the output's shape is (2, 5), TFLM finds (2, " in refusal.reason


def test_int16_is_never_greater_there():
    model = single("GREATER", [Tensor([3], "int16"), Tensor([3], "int16")], [Tensor([3], "bool")])
    interpreter = MicroInterpreter(model)
    interpreter.set_input(0, np.array([5, 1, 9], np.int16))
    interpreter.set_input(1, np.array([1, 5, 9], np.int16))
    assert interpreter.invoke() == 0 and not interpreter.output(0).any()


def test_a_sum_may_be_infinite_there():
    model = single("ADD_N", [Tensor([2], "float32"), Tensor([2], "float32")], [Tensor([2], "float32")])
    interpreter = MicroInterpreter(model)
    for i in range(2):
        interpreter.set_input(i, np.array([3e38, -3e38], np.float32))
    interpreter.invoke()
    assert np.array_equal(interpreter.output(0), np.array([np.inf, -np.inf], np.float32))


@pytest.mark.parametrize("preserve_all", [False, True])
def test_exactly_arena_used_bytes_suffice_and_the_error_says_so(preserve_all):
    model = loaded(chain())
    used = MicroInterpreter(model, preserve_all_tensors=preserve_all).arena_used_bytes
    MicroInterpreter(model, used, preserve_all_tensors=preserve_all).invoke()
    for size in (used - 1, used // 2, 64, 0):
        with pytest.raises(ArenaExhausted, match=f"the smallest sufficient arena has {used} bytes") as caught:
            MicroInterpreter(model, size, preserve_all_tensors=preserve_all)
        assert caught.value.sufficient == used


def product(bias, kind="int8", weights=None, op="FULLY_CONNECTED"):
    """A product of one row with a bias of any type."""
    scales = {} if kind == "float32" else {"scale": np.float32(0.05), "zero_point": 0}
    x, y = Tensor([1, 2], kind, **scales), Tensor([1, 3], kind, **scales)
    if weights is None:
        values = np.array([[1, 2], [3, 4], [5, 6]], "float32" if kind == "float32" else "int8")
        weights = Tensor.constant(values, **({} if kind == "float32" else {**scales, "scale": np.float32(0.02)}))
    return single(op, [x, weights, bias], [y])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_bias_of_another_type_is_read_as_what_the_kernel_takes_it_for(dtype):
    """FLOAT32 activations read four bytes a channel: the first three int32, or the halves of the first two int64."""
    given = np.array([1, -2, 1 << 30], dtype)
    interpreter = MicroInterpreter(product(Tensor.constant(given), "float32"))
    x = np.array([[1, -1]], np.float32)
    interpreter.set_input(0, x)
    interpreter.invoke()
    read = given.view(np.float32)[:3]
    expected = np.float32([-1, -1, -1]) + read
    assert interpreter.output(0).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "kind, dtype",
    [("int16", np.float32), ("int8", np.int16), ("float32", np.float16)],
)
def test_a_bias_that_is_too_short_fails_when_the_node_runs(kind, dtype):
    model = product(Tensor.constant(np.zeros(3, dtype), scale=np.float32(0.001), zero_point=0), kind)
    assert "beyond the bias's end" in demand(model).failures[0, 0]
    interpreter = MicroInterpreter(model)
    with pytest.raises(RuntimeError, match="TFLM's kernel does not take these types"):
        interpreter.invoke()
