"""SOFTMAX and LOG_SOFTMAX: float rows bit by bit with the C library's functions, quantized rows within their step."""

import ctypes
import ctypes.util
import platform

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import run_model

from .successive import REFUSED, outputs, same

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
QUANTIZED = {("int8", "int8"): (1 / 256, -128), ("uint8", "uint8"): (1 / 256, 0), ("int16", "int16"): (1 / 32768, 0),
             ("int8", "int16"): (1 / 65536, -32768), ("uint8", "int16"): (1 / 65536, -32768)}  # fmt: skip


def of_libm(name, values):
    function = getattr(LIBM, name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return np.array([function(float(v)) for v in values], np.float32)


def sequential_sum(values):
    total = np.float32(0)
    for value in values:
        total = np.float32(total + value)
    return total


def soft(op, x, result, version=3, x_quantization=None, **options):
    tensor = Tensor(x.shape, x.dtype, **(x_quantization or {}))
    return outputs(op, [tensor], [result], [[x]], version, **options)[0]


@pytest.mark.parametrize("beta", [1.0, 0.25])
def test_softmax_of_floats(beta):
    x = (np.random.default_rng(1).standard_normal((3, 2, 17)) * 4).astype(np.float32)
    want = np.empty_like(x)
    for row, out in zip(x.reshape(-1, 17), want.reshape(-1, 17), strict=True):
        powers = of_libm("expf", (row - row.max()) * np.float32(beta))
        out[:] = powers / sequential_sum(powers)
    same(soft("SOFTMAX", x, Tensor(x.shape, "float32"), beta=beta), want)


def test_log_softmax_of_floats():
    x = (np.random.default_rng(2).standard_normal((4, 11)) * 3).astype(np.float32)
    want = np.empty_like(x)
    for row, out in zip(x, want, strict=True):
        total = sequential_sum(of_libm("expf", row - row.max()))
        out[:] = row - row.max() - of_libm("logf", [total])
    same(soft("LOG_SOFTMAX", x, Tensor(x.shape, "float32"), 2), want)


@pytest.mark.parametrize(("dtype", "result"), list(QUANTIZED))
def test_softmax_of_integers_is_near_the_real_one(dtype, result):
    rng = np.random.default_rng(3)
    limits = np.iinfo(dtype)
    scale = 0.0002 if dtype == "int16" else 0.05
    x = rng.integers(limits.min, limits.max + 1, (6, 10)).astype(dtype)
    step, zero_point = QUANTIZED[dtype, result]
    y = Tensor(x.shape, result, scale=step, zero_point=zero_point)
    got = soft("SOFTMAX", x, y, x_quantization={"scale": scale, "zero_point": 0}, beta=1.0)
    powers = np.exp((x.astype(float) - x.max(1, keepdims=True)) * np.float32(scale))
    assert got.dtype == result
    tolerance = 1.01 * step if result != "int16" else 3e-4
    real = (got.astype(float) - zero_point) * step
    assert np.abs(real - np.minimum(powers / powers.sum(1, keepdims=True), 1 - step)).max() < tolerance


def test_softmax_of_equal_values_is_exact():
    """Four times a quarter: 64 of 256 steps; one value alone saturates."""
    y = Tensor([1, 4], "int8", scale=1 / 256, zero_point=-128)
    got = soft("SOFTMAX", np.full((1, 4), 9, np.int8), y, x_quantization={"scale": 0.1}, beta=1.0)
    same(got, [[-64] * 4], np.int8)
    y = Tensor([1, 1], "int8", scale=1 / 256, zero_point=-128)
    same(soft("SOFTMAX", np.full((1, 1), -7, np.int8), y, x_quantization={"scale": 0.1}, beta=1.0), [[127]], np.int8)


def test_a_row_of_very_many_equal_values():
    """1000 values share 256 steps: each gets the lowest output (TensorFlow ends the process here)."""
    y = Tensor([1, 1000], "int8", scale=1 / 256, zero_point=-128)
    got = soft("SOFTMAX", np.zeros((1, 1000), np.int8), y, x_quantization={"scale": 0.1}, beta=1.0)
    assert (got == -128).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_of_4096_and_more_wrap(dtype):
    """Of 8193 equal values only one is left."""
    y = Tensor([1, 8193], "int16", scale=1 / 32768, zero_point=0)
    got = soft("SOFTMAX", np.zeros((1, 8193), dtype), y, x_quantization={"scale": 0.1, "zero_point": 0}, beta=1.0)
    assert (got == 32767).all()


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", 127), ("uint8", 255)])
def test_log_softmax_of_integers_is_near_the_real_one(dtype, zero_point):
    x = np.random.default_rng(4).integers(0, 100, (5, 8)).astype(dtype)
    y = Tensor(x.shape, dtype, scale=16 / 256, zero_point=zero_point)
    got = soft("LOG_SOFTMAX", x, y, 2, x_quantization={"scale": 0.05, "zero_point": 1})
    real = x.astype(float) * np.float32(0.05)
    want = real - real.max(1, keepdims=True)
    want = np.maximum(want - np.log(np.exp(want).sum(1, keepdims=True)), -16)
    assert np.abs((got.astype(float) - zero_point) / 16 - want).max() <= 1.01 / 16


@pytest.mark.parametrize(("dtype", "lowest", "invalid"), [("int8", -128, -128), ("uint8", 0, 0)])
@pytest.mark.parametrize("depth", [15, 40, 500])
@pytest.mark.parametrize("scale", [1e37, 3e38, np.inf])
def test_log_softmax_beyond_float32(scale, depth, dtype, lowest, invalid):
    """Where infinity is taken from infinity, blocks of 16 int8 values give the lowest one, the values behind them 0."""
    x = np.random.default_rng(depth).choice([127, 1, 0, -1, -128], (2, depth)) + lowest + 128
    scale, step = np.float32(scale), np.float32(1 / 16)
    with np.errstate(all="ignore"):
        x32, one = (
            x.astype(np.float32),
            np.exp(-scale * np.float32(0)),
        )  # the largest value's power, NaN of an infinite scale
        outcome = scale / step * x32 - (scale * x32.max(1, keepdims=True) + np.log(one)) / step
    want = np.where(outcome < 0, lowest, lowest + 255)
    blocks = 0 if platform.machine() == "aarch64" else depth - depth % 16
    for body, value in ((slice(blocks), invalid), (slice(blocks, None), 0)):
        want[:, body][np.isnan(outcome[:, body])] = value
    tensors = [Tensor(x.shape, dtype, scale=scale), Tensor(x.shape, dtype, scale=step, zero_point=lowest + 255)]
    model = Model.single("LOG_SOFTMAX", tensors[:1], tensors[1:], 2).to_bytes()
    same(run_model(model, x.astype(dtype))[0], want.astype(dtype))


@pytest.mark.parametrize(
    ("op", "x", "result", "options"),
    [
        ("SOFTMAX", Tensor([2, 3], "int8", scale=0.1), Tensor([2, 3], "int8", scale=0.1), {"beta": 1.0}),
        ("SOFTMAX", Tensor([2, 3], "int8", scale=1e-9), Tensor([2, 3], "int8", scale=1 / 256, zero_point=-128), {"beta": 1.0}),
        ("SOFTMAX", Tensor([2, 3], "int8", scale=0.1), Tensor([2, 3], "int8", scale=1 / 256, zero_point=-128), {"beta": -1.0}),
        ("SOFTMAX", Tensor([2, 3], "int32"), Tensor([2, 3], "int32"), {"beta": 1.0}),
        ("SOFTMAX", Tensor([2, 3], "float32"), Tensor([2, 3], "int8", scale=1 / 256, zero_point=-128), {"beta": 1.0}),
        ("SOFTMAX", Tensor([], "float32"), Tensor([], "float32"), {"beta": 1.0}),
        ("LOG_SOFTMAX", Tensor([2, 3], "int8", scale=0.1), Tensor([2, 3], "int8", scale=1 / 16, zero_point=0), {}),
        ("LOG_SOFTMAX", Tensor([2, 3], "int16", scale=0.1), Tensor([2, 3], "int16", scale=1 / 16), {}),
    ],
)  # fmt: skip
def test_refusals(op, x, result, options):
    with pytest.raises(REFUSED):
        outputs(op, [x], [result], [[np.zeros(x.shape, x.dtype)]], 2, **options)
