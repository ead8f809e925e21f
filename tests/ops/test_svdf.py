"""SVDF: integers exactly, floats to a tolerance and in successive steps, states of int16 and int8."""

import numpy as np
import pytest

from compat.builder import Tensor

from .successive import REFUSED, constant, outputs, same

BATCH, INPUTS, UNITS, RANK, MEMORY = 2, 5, 3, 2, 4
FILTERS = UNITS * RANK


def inputs(x, feature, time, bias, state):
    return [x, feature, time, bias, state]


def test_floats_remember_their_past():
    rng = np.random.default_rng(1)
    feature = rng.standard_normal((FILTERS, INPUTS)).astype(np.float32)
    time = rng.standard_normal((FILTERS, MEMORY)).astype(np.float32)
    bias = rng.standard_normal(UNITS).astype(np.float32)
    feeds = [rng.standard_normal((BATCH, INPUTS)).astype(np.float32) for _ in range(6)]
    state = Tensor([BATCH, FILTERS * MEMORY], "float32", variable=True)
    tensors = inputs(Tensor([BATCH, INPUTS], "float32"), constant(feature, "float32"), constant(time, "float32"),
                     constant(bias, "float32"), state)  # fmt: skip
    got = outputs("SVDF", tensors, [Tensor([BATCH, UNITS], "float32")], [[x] for x in feeds], rank=RANK)
    past = np.zeros((BATCH, FILTERS, MEMORY))
    for x, y in zip(feeds, got, strict=True):
        past = np.concatenate([past[:, :, 1:], (x @ feature.T)[:, :, None]], 2)
        want = (past * time).sum(2).reshape(BATCH, UNITS, RANK).sum(2) + bias
        assert np.allclose(y, want, atol=1e-5)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_hybrid_is_near_the_float_one(asymmetric):
    rng = np.random.default_rng(2)
    feature = rng.integers(-127, 128, (FILTERS, INPUTS)).astype(np.int8)
    time = rng.integers(-127, 128, (FILTERS, MEMORY)).astype(np.int8)
    x = rng.standard_normal((BATCH, INPUTS)).astype(np.float32)
    state = Tensor([BATCH, FILTERS * MEMORY], "float32", variable=True)
    tensors = inputs(Tensor([BATCH, INPUTS], "float32"), constant(feature, "int8", scale=0.02), constant(time, "int8", scale=0.01),
                     None, state)  # fmt: skip
    got = outputs("SVDF", tensors, [Tensor([BATCH, UNITS], "float32")], [[x], [np.zeros_like(x)]], 4, rank=RANK,
                  asymmetric_quantize_inputs=asymmetric)  # fmt: skip
    products = x @ (feature.T * 0.02)
    for step, y in enumerate(got):
        want = (products * time[:, MEMORY - 1 - step] * 0.01).reshape(BATCH, UNITS, RANK).sum(2)
        assert np.abs(y - want).max() < 0.1
        assert np.abs(want).max() > 0.5


def integer_model(state_type, zero_point):
    rng = np.random.default_rng(3)
    feature = rng.integers(-128, 128, (FILTERS, INPUTS)).astype(np.int8)
    limits = np.iinfo(state_type)
    time = rng.integers(limits.min // 2, limits.max // 2, (FILTERS, MEMORY)).astype(state_type)
    bias = rng.integers(-500, 500, UNITS).astype(np.int32)
    scales = {
        "x": 0.05,
        "feature": 0.01,
        "state": 0.25 if state_type == "int8" else 0.001,
        "time": 0.02 / limits.max,
        "y": 0.02,
    }
    tensors = inputs(
        Tensor([BATCH, INPUTS], "int8", scale=scales["x"], zero_point=-4),
        constant(feature, "int8", scale=scales["feature"]),
        constant(time, state_type, scale=scales["time"]),
        constant(bias, "int32", scale=scales["state"] * scales["time"]),
        Tensor([BATCH, FILTERS * MEMORY], state_type, scale=scales["state"], zero_point=zero_point, variable=True),
    )
    feeds = [rng.integers(-128, 128, (BATCH, INPUTS)).astype(np.int8) for _ in range(6)]
    return tensors, feeds, feature, time, bias, scales


@pytest.mark.parametrize(("state_type", "zero_point"), [("int16", 0), ("int8", -50)])
def test_integers_with_either_state(state_type, zero_point):
    """In real numbers, the state rounded and clamped after each step; the result may be off by one."""
    tensors, feeds, feature, time, bias, scales = integer_model(state_type, zero_point)
    y = Tensor([BATCH, UNITS], "int8", scale=scales["y"], zero_point=-10)
    got = outputs("SVDF", tensors, [y], [[x] for x in feeds], 3, rank=RANK, fused_activation_function="RELU")
    limits = np.iinfo(state_type)
    past = np.zeros((BATCH, FILTERS, MEMORY))
    for x, found in zip(feeds, got, strict=True):
        products = (x.astype(float) + 4) @ feature.T * (scales["x"] * scales["feature"] / scales["state"])
        products = np.clip(np.round(products) + zero_point, limits.min, limits.max) - zero_point
        past = np.concatenate([past[:, :, 1:], products[:, :, None]], 2)
        sums = (past * time).sum(2).reshape(BATCH, UNITS, RANK).sum(2) + bias
        want = np.clip(sums * (scales["state"] * scales["time"] / scales["y"]) - 10, -128, 127)
        assert np.abs(found - want).max() <= 2
        assert found.dtype == np.int8


def test_a_state_of_int8_starts_at_its_zero_point():
    """With no input above its zero point and no bias the output stays at its own zero point."""
    tensors, _, *_ = integer_model("int8", -50)
    tensors[3] = None
    y = Tensor([BATCH, UNITS], "int8", scale=0.02, zero_point=-10)
    quiet = np.full((BATCH, INPUTS), -4, np.int8)
    got = outputs("SVDF", tensors, [y], [[quiet], [quiet]], 3, rank=RANK, fused_activation_function="RELU")
    for found in got:
        same(found, np.full((BATCH, UNITS), -10, np.int8))


@pytest.mark.parametrize("options", [{"rank": 0}, {"rank": -1}, {"rank": 4}])
def test_hostile_options_are_refused(options):
    tensors = inputs(Tensor([1, 2], "float32"), constant(np.zeros((6, 2)), "float32"), constant(np.zeros((6, 3)), "float32"), None,
                     Tensor([1, 18], "float32", variable=True))  # fmt: skip
    with pytest.raises(REFUSED):
        outputs("SVDF", tensors, [Tensor([1, 3], "float32")], [[np.zeros((1, 2), np.float32)]], **options)


def test_the_sign_as_an_activation():
    weights = [constant(np.eye(2), "float32"), constant(np.ones((2, 1)), "float32"), None]
    tensors = inputs(Tensor([1, 2], "float32"), *weights, Tensor([1, 2], "float32", variable=True))
    x = np.array([[-3, 4]], np.float32)
    options = {"rank": 1, "fused_activation_function": "SIGN_BIT"}
    same(outputs("SVDF", tensors, [Tensor([1, 2], "float32")], [[x]], **options)[0], np.array([[1, 0]], np.float32))


@pytest.mark.parametrize("broken", range(4))
def test_shapes_that_do_not_fit_are_refused(broken):
    feature, time = np.zeros((6, 2)), np.zeros((6, 3))
    state = Tensor([1, 18], "float32", variable=True)
    if broken == 0:
        feature = np.zeros((6, 5))
    elif broken == 1:
        time = np.zeros((4, 3))
    elif broken == 2:
        state = Tensor([1, 12], "float32", variable=True)
    else:
        state = constant(np.zeros((1, 18)), "float32")
    tensors = inputs(Tensor([1, 2], "float32"), constant(feature, "float32"), constant(time, "float32"), None, state)
    with pytest.raises(REFUSED):
        outputs("SVDF", tensors, [Tensor([1, 3], "float32")], [[np.zeros((1, 2), np.float32)]], rank=2)
