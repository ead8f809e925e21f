"""RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 LEAKY_RELU PRELU HARD_SWISH LOGISTIC TANH GELU ELU."""

import math

import numpy as np
import pytest

from compat.builder import Tensor
from tests.machine import AARCH64
from tflm_cy import OpResolverType

from .evaluate import REFUSED, evaluate, like, real, same_bytes

RNG = np.random.default_rng(6)
F = np.float32
EXACT = {
    "RELU": lambda v: np.maximum(v, F(0)),
    "RELU6": lambda v: np.clip(v, F(0), F(6)),
    "RELU_N1_TO_1": lambda v: np.clip(v, F(-1), F(1)),
    "RELU_0_TO_1": lambda v: np.clip(v, F(0), F(1)),
    "LEAKY_RELU": lambda v: np.where(v > 0, v, v * F(0.25)),
    "HARD_SWISH": lambda v: v * np.clip(v + F(3), F(0), F(6)) / F(6),
}
SMOOTH = {
    "LOGISTIC": lambda v: 1 / (1 + np.exp(-v)),
    "TANH": np.tanh,
    "GELU": lambda v: v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
    "ELU": lambda v: np.where(v < 0, np.expm1(v), v),
}
OPTIONS = {"LEAKY_RELU": {"alpha": 0.25}, "GELU": {"approximate": True}}
ANY = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def values():
    return np.concatenate([RNG.standard_normal(100) * 5, [0.0, 3, -3, 6, 1, -1, 20, -20]]).astype(F)


@pytest.mark.parametrize("name", EXACT)
def test_float32(name):
    x = values()
    assert same_bytes(evaluate(name, [x], F, **OPTIONS.get(name, {})), EXACT[name](x))


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_float32(name):
    x = values()
    y = evaluate(name, [x], F, resolver=ANY, **OPTIONS.get(name, {}))
    assert np.abs(y - SMOOTH[name](x.astype(float))).max() < 2e-6


def test_nan_and_minus_zero_pass_the_clips():
    x = np.array([np.nan, -0.0], F)
    for name in ("RELU", "RELU6", "RELU_0_TO_1"):
        y = evaluate(name, [x], F)
        assert np.isnan(y[0])
        assert math.copysign(1, y[1]) == -1


def test_relu_of_minus_zero_in_whole_blocks_of_four_on_aarch64():
    x = np.full(7, -0.0, F)
    y = evaluate("RELU", [x], F)
    assert np.signbit(y).tolist() == [not AARCH64] * 4 + [True] * 3


@pytest.mark.parametrize(
    ("x", "in_vectors", "alone"),
    [(-2.6343596, -0.011103321, -0.01110332), (-3.0742774, -0.0032435642, -0.0032435637)],
)
def test_gelu_of_values_that_fill_no_vector(x, in_vectors, alone):
    """On x86-64 they have Eigen's formula, too, without fused multiply-adds."""
    y = evaluate("GELU", [np.full(7, x, F)], F, resolver=ANY, approximate=False)
    assert y.tolist() == ([F(in_vectors)] * 4 + [F(alone)] * 3 if AARCH64 else [y[0]] * 7)
    assert math.isclose(y[0], alone, rel_tol=1e-5)


@pytest.mark.parametrize("name", [*EXACT, *SMOOTH])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_quantized_results_are_within_two_steps(name, dtype):
    if dtype == np.int16 and name in ("RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", "ELU"):
        pytest.skip("8 bits only")
    if dtype == np.uint8 and name == "ELU":
        pytest.skip("int8 only")
    info = np.iinfo(dtype)
    x = np.arange(info.min, info.max + 1, 1 if dtype != np.int16 else 37).astype(dtype)
    zx = {np.int8: -20, np.uint8: 100, np.int16: 0}[dtype]
    sx = 8 / info.max
    sy, zy = 8 / info.max, {np.int8: 0, np.uint8: 120, np.int16: 0}[dtype]
    if name == "LOGISTIC":
        sy, zy = (1 / 32768, 0) if dtype == np.int16 else (1 / 256, info.min)
    if name == "TANH" and dtype == np.int16:
        sy = 1 / 32768
    exact = (EXACT | SMOOTH)[name](real(x, sx, zx))
    expected = np.clip(exact / sy + zy, info.min, info.max)
    y = evaluate(
        name, [x], like(x, sy, zy), 1 if dtype != np.int16 else 2, ANY, [like(x, sx, zx)], **OPTIONS.get(name, {})
    )
    steps = 2 if dtype != np.int16 or name.startswith(("RELU", "LEAKY")) else 40  # tables of 256 steps interpolated
    assert np.abs(y - expected).max() <= steps


def test_leaky_relu_with_a_negative_alpha():
    x = np.array([-100, -3, 0, 100], np.int8)
    y = evaluate("LEAKY_RELU", [x], like(x, 1.0), inputs=[like(x, 1.0)], alpha=-0.5)
    assert y.tolist() == [50, 2, 0, 100]  # 1.5 away from zero


def test_prelu():
    x, alpha = values().reshape(2, 6, 9), RNG.standard_normal((6, 1)).astype(F)
    y = evaluate("PRELU", [x], F, inputs=[like(x), Tensor.constant(alpha)])
    assert same_bytes(y, np.where(x >= 0, x, x * alpha))
    with pytest.raises(REFUSED, match="HaveSameShapes"):
        evaluate("PRELU", [x[0]], Tensor([6, 9], "float32"), inputs=[like(x[0]), Tensor.constant(x)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_prelu_quantized(dtype):
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max + 1, (3, 4, 50)).astype(dtype)
    narrow = np.int8 if dtype == np.int16 else dtype
    alpha = RNG.integers(np.iinfo(narrow).min, np.iinfo(narrow).max + 1, (50,)).astype(narrow)
    zx, za, zy = (0, 3, 0) if dtype == np.int16 else (7, 3, 11)
    sx, sa, sy = 4 / info.max, 0.01, 6 / info.max
    rx = real(x, sx, zx)
    exact = np.where(rx >= 0, rx, rx * real(alpha, sa, za))
    y = evaluate(
        "PRELU", [x], like(x, sy, zy), inputs=[like(x, sx, zx), Tensor.constant(alpha, scale=sa, zero_point=za)]
    )
    assert np.abs(y - np.clip(exact / sy + zy, info.min, info.max)).max() <= 1.01


def test_float16():
    x = np.array([0, 1, -1, 30, -30, np.inf], np.float16)
    wide = x.astype(float)
    assert same_bytes(evaluate("LOGISTIC", [x], np.float16), (1 / (1 + np.exp(-wide))).astype(np.float16))
    assert same_bytes(evaluate("TANH", [x], np.float16), np.tanh(wide).astype(np.float16))


def test_refusals():
    x, q = np.ones(3, np.float64), np.ones(3, np.int8)
    for name in EXACT | {"LOGISTIC": 0, "TANH": 0, "GELU": 0}:
        with pytest.raises(REFUSED, match="supported currently, got FLOAT64"):
            evaluate(name, [x], np.float64)
    with pytest.raises(REFUSED, match="scale == 1"):
        evaluate("LOGISTIC", [q], like(q, 0.1), inputs=[like(q, 0.1)])
    with pytest.raises(REFUSED, match="output_multiplier_exponent <= 0"):
        evaluate("HARD_SWISH", [q], like(q, 0.0001), inputs=[like(q, 1.0)])
    with pytest.raises(REFUSED, match="zero point 0"):
        evaluate(
            "RELU",
            [q.astype(np.int16)],
            Tensor([3], "int16", scale=1.0),
            2,
            inputs=[Tensor([3], "int16", scale=1.0, zero_point=1)],
        )


@pytest.mark.parametrize("scale", [1e-38, 1e38, float("inf"), float("nan")])
@pytest.mark.parametrize("zero_point", [0, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("name", [*EXACT, *SMOOTH])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_absurd_quantization_raises_or_computes(name, dtype, scale, zero_point):
    x = np.array([-128, -1, 0, 127], dtype)
    odd, fine = like(x, scale, zero_point), like(x, 0.1)
    for input_tensor, output in ((odd, fine), (fine, odd)):
        try:
            y = evaluate(name, [x], output, resolver=ANY, inputs=[input_tensor])
        except REFUSED:
            continue
        assert y.shape == x.shape


def test_exact_gelu():
    x = np.linspace(-5, 5, 203).astype(F)
    want = [v / 2 * math.erfc(-v / math.sqrt(2)) for v in x.astype(np.float64)]
    np.testing.assert_allclose(evaluate("GELU", [x], F), want, rtol=2e-6, atol=1e-9)
