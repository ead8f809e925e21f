"""MUL, DIV, FLOOR_DIV, FLOOR_MOD, POW."""

import numpy as np
import pytest

from compat.builder import Tensor

from .evaluate import REFUSED, evaluate, like, real, same_bytes

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32, np.int64, np.int16])
def test_mul(dtype):
    a, b = RNG.integers(0, 30000, (2, 6, 5)).astype(dtype)
    with np.errstate(over="ignore"):
        assert same_bytes(evaluate("MUL", [a, b[:, :1]], dtype), a * b[:, :1])
    assert same_bytes(evaluate("MUL", [a, b], dtype, fused_activation_function="RELU6"), np.clip(a * b, 0, 6))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("name", ["MUL", "DIV"])
def test_quantized_results_are_within_one_step(name, dtype):
    info = np.iinfo(dtype)
    a = RNG.integers(info.min, info.max + 1, 500).astype(dtype)
    b = RNG.integers(info.max // 2, info.max + 1, 500).astype(dtype)
    za, zb, zy = (0, 0, 0) if dtype == np.int16 else (5, 2, 9)
    sa, sb = 0.02, 0.01
    exact = real(a, sa, za) * real(b, sb, zb) if name == "MUL" else real(a, sa, za) / real(b, sb, zb)
    sy = float(np.abs(exact).max()) / info.max
    y = evaluate(name, [a, b], like(a, sy, zy), 2, inputs=[like(a, sa, za), like(b, sb, zb)])
    assert np.abs(y - np.clip(exact / sy + zy, info.min, info.max)).max() <= 1.01


def test_int16_fractions_to_int8():
    a = np.array([16384, -16384, 32767, 256], np.int16)
    y = evaluate("MUL", [a], Tensor([4], "int8", scale=1 / 128, zero_point=2), 4, inputs=[like(a, 2.0**-15)] * 2)
    assert y.tolist() == [34, 34, 127, 2]  # (1/2)^2 * 128 + 2; ...; saturated; 2^-14 is nothing


def test_div():
    a, b = np.array([7, -7, 7, -7, 0], np.int32), np.array([2, 2, -2, -2, 5], np.int32)
    assert evaluate("DIV", [a, b], np.int32).tolist() == [3, -3, -3, 3, 0]
    x, z = np.array([1, -1, 3], np.float32), np.array([0, 0, 2], np.float32)
    top = np.finfo(np.float32).max
    assert same_bytes(evaluate("DIV", [x, z], np.float32), np.array([top, -top, 1.5], np.float32))
    lowest = np.array([-(2**31)], np.int32)
    assert evaluate("DIV", [lowest, np.array([-1], np.int32)], np.int32).tolist() == [-(2**31)]
    with pytest.raises(REFUSED, match="denominator is 0"):
        evaluate("DIV", [a, np.zeros(5, np.int32)], np.int32)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.float32])
def test_floor_div_and_floor_mod_agree_with_numpy(dtype):
    a = RNG.integers(-100, 100, 200).astype(dtype)
    b = RNG.integers(1, 9, 200).astype(dtype) * np.where(np.arange(200) % 2, 1, -1).astype(dtype)
    assert same_bytes(evaluate("FLOOR_DIV", [a, b], dtype), np.floor(a.astype(float) / b).astype(dtype))
    assert np.array_equal(evaluate("FLOOR_MOD", [a, b], dtype), np.mod(a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_floor_mod_and_the_lowest_value(dtype):
    a, b = np.array([np.iinfo(dtype).min, -7, 7], dtype), np.array([-1, 4, -4], dtype)
    assert evaluate("FLOOR_MOD", [a, b], dtype).tolist() == [0, 1, -1]


@pytest.mark.parametrize("name", ["FLOOR_DIV", "FLOOR_MOD"])
def test_division_by_zero_is_refused(name):
    with pytest.raises(REFUSED, match="Division by 0"):
        evaluate(name, [np.ones(2, np.int32), np.array([1, 0], np.int32)], np.int32)


def test_float_division_by_zero():
    x, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    assert np.isnan(evaluate("FLOOR_MOD", [x, zero], np.float32)[0])
    with pytest.raises(REFUSED, match="Division by 0"):
        evaluate("FLOOR_DIV", [x, zero], np.float32)


def test_pow():
    a, e = np.array([2, -3, 10, 0], np.int32), np.array([10, 3, 0, 0], np.int32)
    assert evaluate("POW", [a, e], np.int32).tolist() == [1024, -27, 1, 1]
    too_large = evaluate("POW", [np.array([10, 10], np.int32), np.array([10, 9], np.int32)], np.int32)
    assert too_large.tolist() == [-(2**31), 10**9]
    wrapped = evaluate("POW", [np.array([10, 3], np.int32), np.array(10, np.int32)], np.int32)
    assert wrapped.tolist() == [10**10 - 2 * 2**32, 59049]  # one exponent: products that wrap
    x = np.array([1.5, -2, 1e30], np.float32)
    top = np.finfo(np.float32).max
    assert same_bytes(evaluate("POW", [x, np.array(3, np.float32)], np.float32), np.array([3.375, -8, top], np.float32))
    assert np.isinf(evaluate("POW", [x, np.full(3, 3, np.float32)], np.float32)[2])
    with pytest.raises(REFUSED, match="negative value for int32"):
        evaluate("POW", [a, -e], np.int32)


def test_refusals():
    x = np.ones(3, np.float64)
    for name, message in (
        ("MUL", "Mul only supports"),
        ("DIV", "Div only supports"),
        ("FLOOR_DIV", "not supported by floor_div"),
        ("FLOOR_MOD", "not supported by floor_mod"),
        ("POW", "Unsupported data type FLOAT64"),
    ):
        with pytest.raises(REFUSED, match=message):
            evaluate(name, [x, x], np.float64)
    f = x.astype(np.float32)
    with pytest.raises(REFUSED, match="Unsupported combination"):
        evaluate("MUL", [f, f], np.int32)
    h = x.astype(np.int16)
    with pytest.raises(REFUSED, match="zero points of 0"):
        evaluate("MUL", [h], like(h, 1.0), inputs=[like(h, 1.0, 3)] * 2)


def test_complex_products():
    a = np.array([1 + 2j, -3j, np.inf + 1j, 0], np.complex64)
    b = np.array([3 - 1j, 2j, 2 + 0j, np.nan], np.complex64)
    y = evaluate("MUL", [a, b], np.complex64, version=6)
    assert y[:2].tolist() == [5 + 5j, 6 + 0j]
    assert y[2].real == np.inf
    assert np.isnan(y[3])
    with pytest.raises(REFUSED, match="Activation is not allowed"):
        evaluate("MUL", [a, b], np.complex64, version=6, fused_activation_function="RELU")
