"""LSTM's basic kernel against double precision: four outputs, states written in place, types that fail when invoked."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter

from .recurrent import sigmoid
from .successive import REFUSED

BATCH, INPUTS, CELLS = 3, 5, 4
WEIGHT = 1 / 64


def interpreter_of(
    dtype="float32", variable=True, wide=None, state_scale=2.0**-11, constant_state=False, cells=CELLS, seed=1
):
    """(interpreter, weights, bias) of a model with random weights."""
    rng = np.random.default_rng(seed)
    w = np.round(rng.normal(0, 0.4, (4 * CELLS, INPUTS + CELLS)) / WEIGHT) * WEIGHT
    b = np.round(rng.normal(0, 0.4, 4 * CELLS) * 8192) / 8192
    values, states, weights, bias = {}, {}, Tensor.constant(w.astype(np.float32)), Tensor.constant(b.astype(np.float32))
    if dtype == "uint8":
        values, states = {"scale": 1 / 128, "zero_point": 128}, {"scale": state_scale, "zero_point": 0}
        weights = Tensor.constant(
            np.clip(np.round(w / WEIGHT) + 100, 0, 255).astype(np.uint8), scale=WEIGHT, zero_point=100
        )
        bias = Tensor.constant(np.round(b * 8192).astype(np.int32), scale=1 / 8192, zero_point=0)
        w = (weights.data.astype(float) - 100) * WEIGHT
    wide = wide or ("int16" if dtype == "uint8" else "float32")
    x, h, new_h = (Tensor([BATCH, n], dtype, **values) for n in (INPUTS, cells, CELLS))
    c, new_c = Tensor([BATCH, CELLS], wide, **states), Tensor([BATCH, CELLS], wide, **states)
    if constant_state:
        c = Tensor.constant(np.zeros((BATCH, CELLS), wide), **states)
    operands = Tensor([BATCH, INPUTS + CELLS], dtype, **values)
    gates = Tensor([BATCH, 4 * CELLS], "int16" if dtype == "uint8" else "float32", **states)
    h.variable = variable
    c.variable = variable and not constant_state
    model = Model.single("LSTM", [x, h, weights, bias, c], [new_h, new_c, operands, gates], 2, kernel_type="BASIC")
    return Interpreter(model_content=model.to_bytes()), w, b


def step(w, b, x, h, c):
    """(h, c, gates) in real numbers."""
    gates = np.concatenate([x, h], 1) @ w.T + b
    i, g, f, o = np.split(gates, 4, 1)
    c = sigmoid(i) * np.tanh(g) + sigmoid(f) * c
    return sigmoid(o) * np.tanh(c), c, gates


def invoke(interpreter, *arrays):
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def test_floats_over_steps():
    interpreter, w, b = interpreter_of()
    interpreter.allocate_tensors()
    h, c = np.zeros((BATCH, CELLS)), np.zeros((BATCH, CELLS))
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((BATCH, INPUTS)).astype(np.float32)
        before = h
        h, c, gates = step(w, b, x.astype(float), h, c)
        found_h, found_c, operands, found_gates = invoke(interpreter, x)
        for found, want in (
            (found_h, h),
            (found_c, c),
            (found_gates, gates),
            (operands, np.concatenate([x, before], 1)),
        ):
            assert np.allclose(found, want, atol=1e-5)


def test_states_that_are_inputs_are_written():
    interpreter, _, _ = interpreter_of(variable=False)
    interpreter.allocate_tensors()
    x, h = np.ones((BATCH, INPUTS), np.float32), np.full((BATCH, CELLS), 0.5, np.float32)
    new_h, new_c, *_ = invoke(interpreter, x, h, h)
    _, h_index, c_index = (detail["index"] for detail in interpreter.get_input_details())
    assert np.array_equal(interpreter.get_tensor(h_index), new_h)
    assert np.array_equal(interpreter.get_tensor(c_index), new_c)


def test_bytes_over_steps():
    interpreter, w, b = interpreter_of("uint8")
    interpreter.allocate_tensors()
    h, c = np.zeros((BATCH, CELLS)), np.zeros((BATCH, CELLS))
    zero = np.full((BATCH, CELLS), 128, np.uint8)
    assert np.array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).shape, zero.shape)
    interpreter, w, b = interpreter_of("uint8", variable=False)
    interpreter.allocate_tensors()
    state = [zero, np.zeros((BATCH, CELLS), np.int16)]
    for seed in range(3):
        x = np.random.default_rng(seed).integers(0, 256, (BATCH, INPUTS)).astype(np.uint8)
        h, c, gates = step(w, b, (x.astype(float) - 128) / 128, h, c)
        found_h, found_c, operands, found_gates = invoke(interpreter, x, *state)
        assert np.array_equal(operands, np.concatenate([x, state[0]], 1))
        assert np.abs(found_gates / 4096 - gates).max() < 0.05
        assert np.abs(found_c / 2048 - c).max() < 0.05
        assert np.abs((found_h - 128.0) / 128 - h).max() < 0.05
        state = [found_h, found_c]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"wide": "int32"}, "Unsupported combination of data types"),
        ({"state_scale": 0.0006}, "power-of-two"),
        ({"state_scale": 2.0**-10}, "StateIntegerBits==4"),
    ],
)
def test_what_fails_when_invoked(options, text):
    interpreter, _, _ = interpreter_of("uint8", **options)
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match=text):
        interpreter.invoke()


@pytest.mark.parametrize("options", [{"cells": CELLS + 1}, {"constant_state": True}])
def test_what_is_refused(options):
    interpreter, _, _ = interpreter_of(**options)
    with pytest.raises(REFUSED):
        interpreter.allocate_tensors()
