"""The optimized arithmetic on integers: how the vector code of TensorFlow's kernels rounds, beside the reference's rounding.

The sums are exact in both, so that every test here is about ties, block lengths or a formula of its own.
"""

import itertools
import math

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64
from tflm_cy import Interpreter, OpResolverType

from .one_operator import same

MODES = {"reference": OpResolverType.BUILTIN_REF, "optimized": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
LIMITS = {name: np.iinfo(name) for name in ("int8", "uint8", "int16")}


def compute(op, inputs, output, arrays, mode="optimized", threads=1, version=1, **options):
    blob = Model.single(op, inputs, [output], version, **options).to_bytes()
    interpreter = Interpreter(model_content=blob, num_threads=threads, experimental_op_resolver_type=MODES[mode])
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def away(x):
    return np.trunc(x + np.copysign(0.5, x))


def up(x):
    return np.floor(x + 0.5)


def rescaled(x, real, rounds_up):
    """x times a real number in TensorFlow's fixed point: a product with 31 bits, ties up, then a shift, ties up or away from zero."""
    mantissa, exponent = math.frexp(real)
    product = (x * round(mantissa * 2**31) + 2**30) // 2**31
    half = 2**-exponent // 2 if exponent < 0 else 0
    return (product + half - (half > 0 and product < 0 and not rounds_up)) >> -exponent


def clip(x, dtype):
    return np.clip(x, LIMITS[dtype].min, LIMITS[dtype].max).astype(dtype)


def quantized(shape, dtype, scale=1.0, zero_point=0, **more):
    return Tensor(shape, dtype, scale=scale, zero_point=zero_point, **more)


def quantized_constant(values, scale=1.0, **more):
    return Tensor.constant(values, scale=scale, zero_point=0, **more)


@pytest.mark.parametrize("mode", MODES)
def test_products_round_ties_up(mode):
    """An identity matrix with scale 1, an output scale of 2: every odd value is a tie."""
    x = np.arange(-20, 20, dtype=np.int8).reshape(10, 4)
    weights = quantized_constant(np.eye(4, dtype=np.int8))
    bias = quantized_constant(np.zeros(4, np.int32))
    y = compute(
        "FULLY_CONNECTED", [quantized(x.shape, "int8"), weights, bias], quantized(x.shape, "int8", 2.0), [x], mode
    )
    same(y, (up if mode == "optimized" else away)(x / 2).astype(np.int8))


@pytest.mark.parametrize("real", [0.11, 0.3, 0.7, 1.3])
def test_aarch64_rounds_products_once(real):
    """Not the product with the multiplier and then the shift."""
    x = np.arange(-96, 96, dtype=np.int8).reshape(48, 4)
    weights = quantized_constant(np.eye(4, dtype=np.int8))
    zeros = quantized_constant(np.zeros(4, np.int32))
    scale = np.float32(1 / real)
    y = compute("FULLY_CONNECTED", [quantized(x.shape, "int8"), weights, zeros], quantized(x.shape, "int8", scale), [x])
    mantissa, exponent = math.frexp(1 / float(scale))
    once = (x.astype(int) * round(mantissa * 2**31) * 2 ** max(exponent, 0) + (2 ** (30 - min(exponent, 0)))) >> (
        31 - min(exponent, 0)
    )
    if not AARCH64:
        whole, factor = x.astype(int) * 2 ** max(exponent, 0), math.ldexp(mantissa, min(exponent, 0))
        once = np.vectorize(lambda v: rescaled(int(v), factor, True))(whole)
    same(y, clip(once, "int8"))


@pytest.mark.parametrize("op", ["FULLY_CONNECTED", "CONV_2D"])
@pytest.mark.parametrize("rows", [1, 3])
def test_int16_products_with_an_int32_bias_round_halves_up(op, rows):
    """Of a multiplier of 0.0069 these sums, biases here, are just below a half: the rounded product reaches it, the cut one does not."""
    bias, below = np.int32([1956, 2101, 2246, -1087]), np.int64([13, 14, 15, -8])
    filters = np.zeros((4, 8) if op == "FULLY_CONNECTED" else (4, 1, 1, 8), np.int8)
    shape = [rows, 8] if op == "FULLY_CONNECTED" else [1, rows, 1, 8]
    inputs = [quantized(shape, "int16"), quantized_constant(filters, 0.0069), quantized_constant(bias, 0.0069)]
    options = {} if op == "FULLY_CONNECTED" else {"stride_w": 1, "stride_h": 1}
    output = quantized([*shape[:-1], 4], "int16")
    y = compute(op, inputs, output, [np.zeros(shape, np.int16)], version=8, quantized_bias_type="INT32", **options)
    same(y.reshape(rows, 4), np.tile(below + (not AARCH64), (rows, 1)).astype(np.int16))


@pytest.mark.parametrize("machine", ["neon", "dotprod"] if AARCH64 else [""])
@pytest.mark.parametrize("op", ["FULLY_CONNECTED", "CONV_2D", "TRANSPOSE_CONV"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_pairs_of_the_lowest_bytes_wrap_without_dot_products(op, dtype, machine, monkeypatch):
    """Products k and k + 8 meet in 16 bits there; behind the depth of 20 stand zero points: of uint8 they are lowest bytes, too."""
    monkeypatch.setenv("TFLM_CY_XNNPACK", machine)
    lowest = LIMITS[dtype].min
    x, w = np.full((2, 20), lowest + 1, dtype), np.full((3, 20), lowest + 1, dtype)
    x[0, [1, 9]] = x[1, [4, 5, 13, 18]] = lowest
    w[0, [1, 9, 4]] = w[1, [5, 13, 18]] = w[2, 1] = lowest
    total = x.astype(int) @ w.T.astype(int)
    if machine == "neon":
        pairs = np.array([[1, 0, 0], [0, 1, 0]]) + (0 if dtype == "int8" else np.array([[4, 4, 4], [4, 5, 4]]))
        total = total - 65536 * pairs
    zeros = quantized_constant(np.zeros(3, np.int32))
    shape, filters = (x.shape, w) if op == "FULLY_CONNECTED" else ((1, 2, 1, 20), w.reshape(3, 1, 1, 20))
    options = {} if op == "FULLY_CONNECTED" else {"stride_w": 1, "stride_h": 1}
    output = quantized([*shape[:-1], 3], dtype, 8192.0, 100)
    inputs = [quantized(shape, dtype), quantized_constant(filters), zeros]
    if op == "TRANSPOSE_CONV":
        inputs = [Tensor.constant(np.array(output.shape, np.int32)), inputs[1], inputs[0], zeros]
    y = compute(op, inputs, output, [x.reshape(shape)], version=3, **options)
    want = np.floor(total / 8192 + 0.5).astype(int) + 100
    same(y.reshape(2, 3), clip(want, dtype))


def test_conv_2d_of_int8_and_int16_rounds_ties_up():
    for dtype, bias_type in (("int8", "int32"), ("int16", "int32")):
        x = np.arange(-16, 16).astype(dtype).reshape(1, 4, 4, 2)
        weights = quantized_constant(np.eye(2, dtype=np.int8).reshape(2, 1, 1, 2))
        bias = quantized_constant(np.zeros(2, bias_type))
        inputs = [quantized(x.shape, dtype), weights, bias]
        options = {"stride_w": 1, "stride_h": 1} | ({"quantized_bias_type": 2} if dtype == "int16" else {})
        y = compute("CONV_2D", inputs, quantized(x.shape, dtype, 2.0), [x], version=8, **options)
        same(y, up(x / 2).astype(dtype))


@pytest.mark.parametrize("channels", [8, 11, 16])
def test_depthwise_rounds_up_in_blocks_of_eight_channels(channels):
    x = np.full((1, 2, 2, channels), -6, np.int8)
    weights = quantized_constant(np.ones((1, 1, 1, channels), np.int8))
    bias = quantized_constant(np.zeros(channels, np.int32))
    inputs = [quantized(x.shape, "int8"), weights, bias]
    y = compute(
        "DEPTHWISE_CONV_2D", inputs, quantized(x.shape, "int8", 4.0), [x], stride_w=1, stride_h=1, depth_multiplier=1
    )
    want = np.where(np.arange(channels) < channels // 8 * 8, -1, -2)
    same(y, np.broadcast_to(want, x.shape).astype(np.int8))


def test_transpose_conv_of_uint8_counts_its_blocks_over_the_whole_output():
    x = np.full((1, 3, 3, 3), 94, np.uint8)
    weights = Tensor.constant(np.eye(3, dtype=np.uint8).reshape(3, 1, 1, 3), scale=1.0, zero_point=0)
    inputs = [Tensor.constant(np.array(x.shape, np.int32)), weights, quantized(x.shape, "uint8", 1.0, 100)]
    y = compute("TRANSPOSE_CONV", inputs, quantized(x.shape, "uint8", 4.0, 50), [x], stride_w=1, stride_h=1)
    want = np.where(np.arange(27) < 16, 49, 48).reshape(x.shape)
    same(y, want.astype(np.uint8))


@pytest.mark.parametrize("mode", MODES)
def test_requantizing_in_blocks_of_sixteen(mode):
    x = np.full(37, -6, np.int8)
    y = compute("QUANTIZE", [quantized([37], "int8")], quantized([37], "int8", 4.0), [x], mode)
    same(y, np.where((np.arange(37) < 32) & (mode == "optimized"), -1, -2).astype(np.int8))


def test_quantizing_floats_ties_to_even_in_blocks_of_eight():
    x = np.repeat(np.float32([0.5, 1.5, 2.5, -0.5, -1.5]), 4)[:19]
    y = compute("QUANTIZE", [Tensor([19], "float32")], quantized([19], "int8"), [x])
    same(y, np.where(np.arange(19) < 16, np.rint(x), away(x)).astype(np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_what_int32_cannot_hold_is_its_minimum(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, -0.0, 1e-40, 2e5, -2e5, 7, -7], np.float32)
    y = compute("QUANTIZE", [Tensor([11], "float32")], quantized([11], dtype), [x])
    beyond = [0, 2.0**31 - 1, -(2.0**31), 2.0**31 - 1, -(2.0**31)] if AARCH64 else [-(2.0**31)] * 5
    want = np.array([*beyond, 0, 0, 2e5, -2e5, 7, -7])
    same(y, clip(want, dtype))


def test_dequantizing_adds_the_rounded_zero_point_in_blocks_of_eight():
    """On aarch64 fused with the product."""
    scale, zero_point = np.float32(0.0123), -77
    q = np.arange(-128, 127, dtype=np.int8)
    y = compute("DEQUANTIZE", [quantized([255], "int8", scale, zero_point)], Tensor([255], "float32"), [q])
    wide = np.float64 if AARCH64 else np.float32
    block = (q.astype(wide) * wide(scale) + np.float32(-zero_point * float(scale))).astype(np.float32)
    tail = (float(scale) * (q.astype(float) - zero_point)).astype(np.float32)
    same(y, np.where(np.arange(255) < 248, block, tail))


def test_addition_narrows_the_sum_before_the_zero_point():
    """Scaled sums beyond int16 are cut off in whole blocks and clamped in the tail."""
    a = np.full(17, 127, np.int8)
    tensors = [quantized([17], "int8"), quantized([17], "int8")]
    y = compute("ADD", tensors, quantized([17], "int8", 2.0**-8), [a, a])
    same(y, np.where(np.arange(17) < 16, -128, 127).astype(np.int8))  # 254 * 256 = 65024 is -512 in int16


def test_addition_of_int8_shifts_before_the_product_in_blocks():
    """High halves of products with and without the spare bits differ by one at most; the tail is the reference's."""
    rng = np.random.default_rng(1)
    for dtype in ("int8", "uint8", "int16"):
        a, b = (rng.integers(LIMITS[dtype].min, LIMITS[dtype].max + 1, 4999).astype(dtype) for _ in range(2))
        zero_point = 128 if dtype == "uint8" else 0
        tensors = [quantized([4999], dtype, s, zero_point) for s in (0.0317, 0.0123)]
        options = {"pot_scale_int16": False} if dtype == "int16" else {}
        out = quantized([4999], dtype, 0.041, zero_point)
        fast, slow = (
            compute("ADD", tensors, out, [a, b], mode, version=2, **options) for mode in ("optimized", "reference")
        )
        assert np.abs(fast.astype(int) - slow).max() <= 1
        same(fast[-7:], slow[-7:])


def test_multiplication_saturates_at_int16_in_blocks():
    x = np.full(17, 100, np.uint8)
    tensors = [quantized([17], "uint8"), quantized([17], "uint8")]
    y = compute("MUL", tensors, quantized([17], "uint8", 0.1, 50), [x, x], fused_activation_function=2)
    same(y, np.where(np.arange(17) < 16, 40, 60).astype(np.uint8))  # 32767 + 50 wraps: the clamp's lower end


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("threads", [1, 3])
def test_mean_over_height_and_width(dtype, threads):
    rng = np.random.default_rng(2)
    x = rng.integers(LIMITS[dtype].min, LIMITS[dtype].max + 1, (2, 3, 4, 45)).astype(dtype)
    scale, zero_point, out_scale, out_zero_point = np.float32(0.5), 7, np.float32(1), 3
    shift = np.float32(zero_point * scale) / out_scale
    bias = out_zero_point - int(shift + 0.5)
    real = float(scale / np.float32(12 * out_scale))
    sums = x.astype(np.int64).sum((1, 2))
    starts = np.cumsum([0] + [45 // threads] * threads) if threads > 1 else np.array([0, 45])
    rounds_up = np.zeros(45, bool)
    for start, end in itertools.pairwise(starts):
        rounds_up[start : start + (end - start) // 16 * 16] = True
    want = [[rescaled(int(v), real, u) + bias for v, u in zip(row, rounds_up, strict=True)] for row in sums]
    axes = Tensor.constant(np.array([1, 2], np.int32))
    out = quantized([2, 1, 1, 45], dtype, out_scale, out_zero_point)
    y = compute("MEAN", [quantized(x.shape, dtype, scale, zero_point), axes], out, [x], threads=threads, keep_dims=True)
    same(y, clip(np.array(want), dtype).reshape(2, 1, 1, 45))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_sum_in_float32(dtype):
    rng = np.random.default_rng(3)
    x = rng.integers(LIMITS[dtype].min, LIMITS[dtype].max + 1, (5, 13)).astype(dtype)
    scale, out_scale = np.float32(0.3), np.float32(1.7)
    zero_point = 0 if dtype == "int16" else 9
    ratio = scale / out_scale
    bias = np.float32(np.float32(-zero_point) * ratio) * np.float32(13)
    want = away((x.astype(np.int64).sum(1).astype(np.float32) * ratio + bias).astype(float)) + zero_point
    axes = Tensor.constant(np.array([1], np.int32))
    y = compute(
        "SUM", [quantized(x.shape, dtype, scale, zero_point), axes], quantized([5], dtype, out_scale, zero_point), [x]
    )
    same(y, clip(want, dtype))


def test_sum_of_booleans_is_refused_unless_nothing_is_summed():
    axes = Tensor.constant(np.array([1], np.int32))
    x = np.array([[True], [False]])
    same(compute("SUM", [Tensor([2, 1], "bool"), axes], Tensor([2], "bool"), [x]), x[:, 0])
    x = np.array([[True, False]])
    with pytest.raises((ValueError, RuntimeError), match="REDUCE_ANY"):
        compute("SUM", [Tensor([1, 2], "bool"), axes], Tensor([1], "bool"), [x])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_softmax_rows_sum_to_one(dtype):
    x = np.random.default_rng(4).integers(-100, 100, (7, 23)).astype(np.int8).view(dtype)
    zero_point = -128 if dtype == "int8" else 0
    y = compute(
        "SOFTMAX", [quantized(x.shape, dtype, 0.07)], quantized(x.shape, dtype, 1 / 256, zero_point), [x], beta=1.0
    )
    powers = np.exp((x.astype(float) - x.max(1, keepdims=True)) * np.float32(0.07))
    want = powers / powers.sum(1, keepdims=True) * 256 + zero_point
    assert np.abs(y - want).max() <= 0.5001 or y.max() == LIMITS[dtype].max


@pytest.mark.parametrize("op, function", [("LOGISTIC", lambda v: 1 / (1 + np.exp(-v))), ("TANH", np.tanh)])
def test_sixteen_bit_activations_are_fixed_point_for_powers_of_two(op, function):
    x = np.arange(-32768, 32768, 17).astype(np.int16)
    for scale, exact in ((2.0**-12, True), (0.0003, False)):
        tensors = [quantized(x.shape, "int16", scale)], quantized(x.shape, "int16", 2.0**-15)
        fast, slow = (compute(op, *tensors, [x], mode) for mode in ("optimized", "reference"))
        assert np.abs(fast - function(x * np.float32(scale).astype(float)) * 32768).max() < 14
        assert (fast.tobytes() != slow.tobytes()) == exact
