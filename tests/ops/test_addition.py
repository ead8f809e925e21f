"""ADD, SUB, SQUARED_DIFFERENCE, and the broadcasting that all operators on two operands share."""

import numpy as np
import pytest

from compat.builder import Tensor

from .evaluate import REFUSED, evaluate, like, real, same_bytes

RNG = np.random.default_rng(1)
FUNCTIONS = {"ADD": np.add, "SUB": np.subtract, "SQUARED_DIFFERENCE": lambda a, b: (a - b) * (a - b)}
SHAPES = [
    ((4,), (4,)),
    ((), (5,)),
    ((2, 3, 4), (4,)),
    ((2, 3, 4), (3, 1)),
    ((2, 1, 4), (1, 3, 1)),
    ((7, 3), (3,)),
    ((700, 3), (1, 3)),
    ((3, 600), (3, 1)),
    ((1,), (2, 2, 2)),
    ((2, 1, 3, 1, 2, 1, 2), (1, 2, 1, 3, 2, 2, 1)),
    ((900, 1), (1, 7)),
    ((3, 700, 1), (1, 1, 5)),
    ((2, 300, 1, 3), (1, 1, 4, 3)),
    ((5, 1, 1, 90), (1, 4, 30, 1)),
    ((300, 1), (1, 100)),
    ((0, 3), (1, 3)),
    ((2, 0), (2, 1)),
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("shapes", SHAPES)
def test_operands_are_broadcast_as_numpy_does(name, dtype, shapes):
    a, b = (RNG.integers(-1000, 1000, shape).astype(dtype) for shape in shapes)
    assert same_bytes(evaluate(name, [a, b], dtype), FUNCTIONS[name](a, b))
    assert same_bytes(evaluate(name, [b, a], dtype), FUNCTIONS[name](b, a))


@pytest.mark.parametrize("shapes", SHAPES)
def test_bytes_are_broadcast_as_numpy_does(shapes):
    a, b = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in shapes)
    assert same_bytes(evaluate("MAXIMUM", [a, b], np.int8), np.maximum(a, b))
    assert same_bytes(evaluate("MINIMUM", [b, a], np.int8), np.minimum(a, b))


def test_shapes_that_do_not_go_together_are_refused():
    with pytest.raises(REFUSED, match=r"\[2, 3\] and \[2, 4\], are not broadcastable"):
        evaluate("ADD", [np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)], Tensor([2, 3], "float32"))


@pytest.mark.parametrize("name", ["ADD", "SUB"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_wrap_and_are_clamped(name, dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a, b = np.array([low, high, 5, -5], dtype), np.array([high, low, 3, 1], dtype)
    with np.errstate(over="ignore"):
        expected = FUNCTIONS[name](a, b)
    assert same_bytes(evaluate(name, [a, b], dtype), expected)
    six = evaluate(name, [a, b], dtype, fused_activation_function="RELU6")
    assert same_bytes(six, np.clip(expected, 0, 6))


@pytest.mark.parametrize(("activation", "low", "high"), [("RELU", 0, np.inf), ("RELU6", 0, 6), ("RELU_N1_TO_1", -1, 1)])
def test_fused_activations_on_float32(activation, low, high):
    a, b = RNG.standard_normal((2, 50)).astype(np.float32) * 5
    assert same_bytes(
        evaluate("SUB", [a, b], np.float32, fused_activation_function=activation), np.clip(a - b, low, high)
    )


def test_infinity_is_clamped_to_the_largest_number_and_nan_passes():
    a = np.array([np.inf, -np.inf, np.nan], np.float32)
    top = np.finfo(np.float32).max
    result = evaluate("ADD", [a, np.zeros(3, np.float32)], np.float32)
    assert result[0] == top
    assert result[1] == -top
    assert np.isnan(result[2])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_quantized_results_are_within_one_step(name, dtype):
    if name == "SQUARED_DIFFERENCE" and dtype != np.int8:
        pytest.skip("int8 only")
    info = np.iinfo(dtype)
    a, b = RNG.integers(info.min, info.max + 1, (2, 400)).astype(dtype)
    za, zb, zy = (0, 0, 0) if dtype == np.int16 else (3, 7, 11)
    sa, sb, sy = (0.02, 0.05, 0.09) if dtype != np.int16 else (0.0002, 0.0005, 0.0009)
    if name == "SQUARED_DIFFERENCE":
        sy = 1.3
    exact = FUNCTIONS[name](real(a, sa, za), real(b, sb, zb))
    options = {} if name == "SQUARED_DIFFERENCE" else {"pot_scale_int16": False}
    y = evaluate(name, [a, b], like(a, sy, zy), 2, inputs=[like(a, sa, za), like(b, sb, zb)], **options)
    expected = np.clip(exact / sy + zy, info.min, info.max)
    assert np.abs(y - expected).max() <= 1.01
    assert np.abs(y - expected).mean() < 0.3


def test_an_int8_sum_by_hand():
    a, b = np.array([10, -10, 127, -128], np.int8), np.array([5, 5, 127, -128], np.int8)
    y = evaluate("ADD", [a, b], like(a, 1.0, 1), inputs=[like(a, 0.5, 0), like(b, 1.0, 0)])
    assert y.tolist() == [11, 1, 127, -128]  # 10 * 0.5 + 5 + 1; ...; saturated


def test_int16_with_scales_that_are_powers_of_two():
    a, b = np.array([100, -101, 32767, 3], np.int16), np.array([7, 5, 32767, -9], np.int16)
    tensors = [like(a, 2.0**-10), like(b, 2.0**-12)]
    y = evaluate("ADD", [a, b], like(a, 2.0**-10), 2, inputs=tensors, pot_scale_int16=True)
    assert y.tolist() == [102, -100, 32767, 1]  # b / 4, halves away from zero, then saturated
    with pytest.raises(REFUSED, match="input1_shift == 0"):
        evaluate("SUB", [a, b], like(a, 2.0**-9), 2, inputs=tensors, pot_scale_int16=True)


def test_refusals():
    x = np.zeros(4, np.float32)
    with pytest.raises(REFUSED, match="types differ"):
        evaluate("ADD", [x, x.astype(np.int32)], np.float32)
    with pytest.raises(REFUSED, match="unsupported by op Add"):
        evaluate("ADD", [x.astype(bool), x.astype(bool)], bool)
    with pytest.raises(REFUSED, match="requires float"):
        evaluate("SUB", [x.astype(bool), x.astype(bool)], bool)
    with pytest.raises(REFUSED, match="quotient nan is out of range"):
        evaluate("ADD", [x.astype(np.int8), x.astype(np.int8)], np.int8)
    with pytest.raises(REFUSED, match="zero point 0"):
        evaluate(
            "SUB",
            [x.astype(np.int16)] * 2,
            Tensor([4], "int16", scale=1.0),
            inputs=[Tensor([4], "int16", scale=1.0, zero_point=4), Tensor([4], "int16", scale=1.0)],
        )
    with pytest.raises(REFUSED, match="only supports FLOAT32 and INT32"):
        evaluate("SQUARED_DIFFERENCE", [x.astype(np.int64)] * 2, np.int64)


@pytest.mark.parametrize("scale", [1e-38, 1e38, float("inf"), float("nan"), -1.0, 0.0])
@pytest.mark.parametrize("zero_point", [0, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_absurd_quantization_raises_or_computes(name, scale, zero_point):
    a = np.arange(-8, 8).astype(np.int8)
    odd = like(a, scale, zero_point)
    for inputs, output in (([odd, like(a, 0.1)], like(a, 0.1)), ([like(a, 0.1)] * 2, odd)):
        try:
            y = evaluate(name, [a, a] if inputs[0] is not inputs[1] else [a], output, 2, inputs=inputs)
        except REFUSED:
            continue
        assert y.shape == a.shape
