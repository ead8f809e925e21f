"""QUANTIZE and DEQUANTIZE."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, run
from tests.machine import AARCH64

from .evaluate import REFUSED, evaluate, like, real, same_bytes

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_quantize_rounds_halves_away_from_zero(dtype):
    x = np.array([0.5, 1.5, -0.5, -1.5, 2.25, -2.75, 0.49999997, 1e6, -1e6, 8388607.5], np.float32)
    info = np.iinfo(dtype)
    y = evaluate("QUANTIZE", [x], Tensor([10], dtype, scale=1.0, zero_point=5))
    assert y.tolist() == np.clip([6, 7, 4, 3, 7, 2, 5, 10**6, -(10**6), 8388613], info.min, info.max).tolist()


def test_what_int32_cannot_hold_becomes_the_lowest_value():
    """On aarch64 the nearest one, and NaN 0."""
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483648.0], np.float32)
    assert (
        evaluate("QUANTIZE", [x], Tensor([6], "int8", scale=1.0, zero_point=3)).tolist()
        == [3 if AARCH64 else -128] + [-128] * 5
    )
    below = evaluate("QUANTIZE", [x], Tensor([6], "int8", scale=1.0, zero_point=-3))
    assert below.tolist() == [-3 if AARCH64 else 127] + [127] * 5  # the addition of the zero point wraps


def test_quantize_to_int4():
    x = np.array([[-100, -1.4, 0.6], [3, 100, 2]], np.float32)
    y = evaluate("QUANTIZE", [x], Tensor([2, 3], "int4", scale=1.0, zero_point=1))
    assert np.array_equal(np.asarray(y).ravel(), [-8, 0, 2, 4, 7, 3])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_quantize_per_channel(dtype, axis):
    x = RNG.standard_normal((3, 4, 5)).astype(np.float32)
    n = x.shape[axis]
    scales = RNG.uniform(0.01, 0.05, n).astype(np.float32)
    zeros = np.zeros(n, int) if dtype == np.int16 else RNG.integers(0, 40, n)
    wide = [1, 1, 1]
    wide[axis] = n
    output = Tensor([3, 4, 5], dtype, scale=scales.tolist(), zero_point=zeros.tolist(), axis=axis)
    q = x / scales.reshape(wide)
    expected = np.trunc(q + np.copysign(np.float32(0.5), q)).astype(int) + zeros.reshape(wide)
    info = np.iinfo(dtype)
    assert np.array_equal(evaluate("QUANTIZE", [x], output), np.clip(expected, info.min, info.max))


PAIRS = [
    (np.int8, np.int8),
    (np.int8, np.uint8),
    (np.uint8, np.int8),
    (np.uint8, np.uint8),
    (np.int16, np.int8),
    (np.int16, np.int16),
    (np.int16, np.int32),
    (np.int32, np.int8),
    (np.int32, np.int16),
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_requantize_is_within_one_step(source, target):
    x = RNG.integers(max(np.iinfo(source).min, -90000), min(np.iinfo(source).max, 90000) + 1, 500).astype(source)
    zx, zy = (0 if np.dtype(t).itemsize > 1 else 9 for t in (source, target))
    sx = 4 / float(np.abs(x.astype(float)).max())
    info = np.iinfo(target)
    sy = 3.7 / min(info.max, 10**6)
    y = evaluate("QUANTIZE", [x], Tensor([500], target, scale=sy, zero_point=zy), inputs=[like(x, sx, zx)])
    assert np.abs(y - np.clip(real(x, sx, zx) / sy + zy, info.min, info.max)).max() <= 1.01


def test_requantize_by_hand():
    x = np.array([-128, -1, 0, 1, 127], np.int8)
    y = evaluate("QUANTIZE", [x], Tensor([5], "uint8", scale=0.5, zero_point=128), inputs=[like(x, 0.5)])
    assert y.tolist() == [0, 127, 128, 129, 255]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_dequantize(dtype):
    info = np.iinfo(dtype)
    x = np.arange(info.min, info.max + 1).astype(dtype)
    scale, zero_point = np.float32(0.013), 0 if dtype == np.int16 else 77
    y = evaluate("DEQUANTIZE", [x], np.float32, 3, inputs=[like(x, float(scale), zero_point)])
    assert same_bytes(y, real(x, float(scale), zero_point).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_dequantize_per_channel(dtype):
    x = RNG.integers(0, 100, (2, 3, 4)).astype(dtype)
    scales, zeros = np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 3])
    inputs = [Tensor([2, 3, 4], dtype, scale=scales.tolist(), zero_point=zeros.tolist(), axis=1)]
    expected = scales[:, None] * (x.astype(int) - zeros[:, None]).astype(np.float32)
    assert same_bytes(evaluate("DEQUANTIZE", [x], np.float32, 5, inputs=inputs), expected)


def test_dequantize_int4():
    x = np.array([[-8, 7, 3], [0, -1, 2]], np.int8)
    one = evaluate(
        "DEQUANTIZE", [], Tensor([2, 3], "float32"), 6, inputs=[Tensor.constant(x, "int4", scale=0.5, zero_point=1)]
    )
    assert same_bytes(one, (0.5 * (x.astype(int) - 1)).astype(np.float32))
    constant = Tensor.constant(x, "int4", scale=[0.5, 0.25], zero_point=[0, 0], axis=0)
    each = evaluate("DEQUANTIZE", [], Tensor([2, 3], "float32"), 6, inputs=[constant])
    assert same_bytes(each, (np.array([[0.5], [0.25]]) * x).astype(np.float32))


@pytest.mark.parametrize("constant", [False, True])
def test_every_float16_is_converted(constant):
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    inputs = [Tensor.constant(x)] if constant else None
    y = evaluate("DEQUANTIZE", [] if constant else [x], Tensor([65536], "float32"), 3, inputs=inputs or [like(x)])
    expected = x.astype(np.float32)
    numbers = ~np.isnan(expected)
    assert same_bytes(y[numbers], expected[numbers])
    bits = x[~numbers].view(np.uint16).astype(np.uint32)
    quiet = bits * 0 if AARCH64 else np.uint32(0x400000)  # signalling ones become quiet, but on aarch64
    assert same_bytes(y[~numbers].view(np.uint32), (bits & 0x8000) << 16 | 0x7F800000 | (bits & 0x3FF) << 13 | quiet)


def test_refusals():
    x = np.ones(3, np.float32)
    with pytest.raises(REFUSED, match="has no scale"):
        evaluate("QUANTIZE", [x], np.int8)
    with pytest.raises(REFUSED, match="not supported"):
        evaluate("QUANTIZE", [x], Tensor([3], "int32", scale=1.0))
    q = x.astype(np.int8)
    with pytest.raises(REFUSED, match="kTfLiteInt8 was not true"):
        evaluate("QUANTIZE", [q], Tensor([3], "int16", scale=1.0), inputs=[like(q, 1.0)])
    with pytest.raises(REFUSED, match=r"do not fit the shape|scales"):
        evaluate("QUANTIZE", [x], Tensor([3], "int8", scale=[1.0, 2.0], zero_point=[0, 0], axis=0))
    with pytest.raises(REFUSED, match="not supported"):
        evaluate("DEQUANTIZE", [x], np.float32)
    h = x.astype(np.int16)
    with pytest.raises(REFUSED, match="zero point 0"):
        evaluate("DEQUANTIZE", [h], np.float32, 3, inputs=[like(h, 1.0, 4)])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_of_fewer_channels_than_scales_the_first_ones_count(dtype):
    """After a resize; TensorFlow looks at no more scales than there are channels."""
    q, real_values = np.array([[5, 6], [7, 8]], dtype), np.array([[4, 8], [6, 12]], np.float32)
    for op, given, wanted in (("DEQUANTIZE", q, real_values), ("QUANTIZE", real_values, q)):
        integers = Tensor([2, 3], dtype, scale=[1.0, 2.0, 4.0], zero_point=[1, 2, 3], axis=1)
        floats = Tensor([2, 3], "float32")
        x, y = (integers, floats) if op == "DEQUANTIZE" else (floats, integers)
        interpreter = allocated(Model.single(op, [x], [y]))
        interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [2, 2])
        interpreter.allocate_tensors()
        [got] = run(interpreter, given)
        assert got.tolist() == wanted.tolist()
