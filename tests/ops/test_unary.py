"""ABS NEG EXP LOG SQRT RSQRT SIN COS FLOOR CEIL ROUND SQUARE LOGICAL_NOT."""

import math

import numpy as np
import pytest

from tests.machine import AARCH64
from tflm_cy import OpResolverType

from .evaluate import REFUSED, evaluate, like, real, same_bytes

RNG = np.random.default_rng(5)
EXACT = {"ABS": np.abs, "NEG": np.negative, "SQRT": np.sqrt, "FLOOR": np.floor, "SQUARE": np.square}
OPTIMIZED = {
    "CEIL": np.ceil,
    "ROUND": lambda v: np.where(v == 0, v, np.rint(v) + np.float32(0)),
}  # what rounds to 0 is +0
WITHIN_A_STEP = {
    "EXP": math.exp,
    "LOG": math.log,
    "SIN": math.sin,
    "COS": math.cos,
    "RSQRT": lambda v: 1 / math.sqrt(v),
}


@pytest.mark.parametrize("name", [*EXACT, *OPTIMIZED])
def test_exact_functions(name):
    x = np.concatenate([RNG.standard_normal(40) * 9, [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, np.inf, 3e9]]).astype(np.float32)
    x = np.abs(x) if name == "SQRT" else x
    resolver = OpResolverType.BUILTIN_REF if name in EXACT else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    with np.errstate(over="ignore"):
        expected = (EXACT | OPTIMIZED)[name](x)
    assert same_bytes(evaluate(name, [x], np.float32, resolver=resolver), expected)


@pytest.mark.parametrize("name", OPTIMIZED)
def test_what_the_reference_resolver_lacks(name):
    with pytest.raises(REFUSED, match="Didn't find op"):
        evaluate(name, [np.zeros(2, np.float32)], np.float32)


@pytest.mark.parametrize("name", WITHIN_A_STEP)
def test_transcendental_functions_are_right_to_the_last_place_but_one(name):
    x = RNG.uniform(0.01, 20, 200).astype(np.float32)
    expected = np.array([WITHIN_A_STEP[name](float(v)) for v in x])
    assert np.abs(evaluate(name, [x], np.float32) - expected).max() <= 2 * np.spacing(
        np.float32(np.abs(expected).max())
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_neg_of_integers(dtype):
    x = np.array([np.iinfo(dtype).min, -1, 0, 1, np.iinfo(dtype).max], dtype)
    with np.errstate(over="ignore"):
        assert same_bytes(evaluate("NEG", [x], dtype), -x)


def test_float16():
    x = np.array([1.5, -1.5, 0, -0.0, np.inf, 6e-8], np.float16)
    assert same_bytes(evaluate("NEG", [x], np.float16), -x)
    assert same_bytes(evaluate("FLOOR", [x], np.float16), np.floor(x))


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_abs_of_integers(dtype):
    x = np.array([-7, 0, 7, np.iinfo(dtype).min], dtype)
    with np.errstate(over="ignore"):
        assert same_bytes(evaluate("ABS", [x], dtype), np.abs(x))


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize("name", ["ABS", "EXP", "LOG", "SQRT", "RSQRT"])
def test_quantized_results_are_near(name, dtype):
    info = np.iinfo(dtype)
    zx, zy = (-100, -128) if dtype == np.int8 else (0, 0)
    sx = 4.0 / info.max
    functions = {"ABS": np.abs, "EXP": np.exp, "LOG": np.log, "SQRT": np.sqrt, "RSQRT": lambda v: 1 / np.sqrt(v)}
    x = np.arange(zx + info.max // 8, info.max + 1).astype(dtype)  # well above 0, where all are smooth
    exact = functions[name](real(x, sx, zx))
    sy = float(np.abs(exact).max()) / (info.max if dtype == np.int16 else 127)
    y = evaluate(name, [x], like(x, sy, zy), 2, inputs=[like(x, sx, zx)])
    assert np.abs(y - np.clip(exact / sy + zy, info.min, info.max)).max() <= (
        2 if dtype == np.int8 else 12
    )  # int16: interpolated


@pytest.mark.parametrize("name", ["SQRT", "RSQRT"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_roots_of_negative_values_are_refused(name, dtype):
    zero_point = 5 if dtype == np.int8 else 0
    x = np.array([zero_point - 1, 9], dtype)
    with pytest.raises(REFUSED, match="is only defined for"):
        evaluate(name, [x], like(x, 0.1, 0), 2, inputs=[like(x, 0.1, zero_point)])


def test_edges_of_quantized_functions():
    x = np.array([0, 4], np.int8)
    assert evaluate("RSQRT", [x], like(x, 1.0), 2, inputs=[like(x, 1.0)]).tolist() == [127, 1]
    assert evaluate("LOG", [x - 4], like(x, 0.5, 3), 2, inputs=[like(x, 1.0)]).tolist() == [-128, -128]


def test_logical_not():
    x = np.array([True, False])
    assert same_bytes(evaluate("LOGICAL_NOT", [x], bool), ~x)


def test_refusals():
    x = np.ones(3, np.float64)
    for name in ("ABS", "LOG", "SQRT", "RSQRT", "SIN", "COS", "SQUARE", "LOGICAL_NOT", "FLOOR"):
        with pytest.raises(REFUSED, match=r"Type FLOAT64 is unsupported by op"):
            evaluate(name, [x], np.float64)
    with pytest.raises(REFUSED, match="not supported by Exp"):
        evaluate("EXP", [x], np.float64)
    with pytest.raises(REFUSED, match="Neg only currently supports"):
        evaluate("NEG", [x], np.float64)
    with pytest.raises(REFUSED, match="types differ"):
        evaluate("ABS", [x], np.float32)
    with pytest.raises(REFUSED, match="wants a scale"):
        evaluate("ABS", [x.astype(np.int8)], np.int8)


def test_nan_becomes_quiet_and_log_of_a_negative_number_is_a_negative_nan():
    """A positive one on aarch64."""
    x = np.array([0x7F800001, 0xFFA12345], np.uint32).view(np.float32)
    assert evaluate("FLOOR", [x], np.float32).view(np.uint32).tolist() == [0x7FC00001, 0xFFE12345]
    assert evaluate("LOG", [-np.ones(1, np.float32)], np.float32).view(np.uint32).tolist() == [
        0x7FC00000 if AARCH64 else 0xFFC00000
    ]


def test_a_table_saturates_where_the_function_overflows():
    x = np.array([127, 0], np.int8)
    y = evaluate("EXP", [x], like(x, 1.0), 2, inputs=[like(x, 1.0)])
    assert y.tolist() == [127, 1]
