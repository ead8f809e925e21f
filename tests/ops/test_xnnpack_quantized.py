"""The default mode's operators on int8 and uint8: known answers by numpy.

Every model here is one node that the default delegate takes. Scales are powers of two where a fused product and sum could round twice.
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64
from tflm_cy.ops import arm_cores, generation
from tflm_cy.simd import table

from .delegated import invoke, only_where_supported, run_quantized
from .one_operator import same

pytestmark = only_where_supported

F32 = np.float32
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


def every(dtype):
    low, high = LIMITS[dtype]
    return np.arange(low, high + 1).astype(dtype)


def narrowed(values, dtype):
    return np.clip(values, *LIMITS[dtype]).astype(dtype)


def requantized(sums, scales, zero_point, dtype):
    """One float32 product, nearest even; on aarch64 uint8 is the exact product, half up."""
    if AARCH64 and dtype == "uint8":
        return narrowed(half_up(sums * F32(scales).astype(float)) + zero_point, dtype)
    return narrowed(np.rint(sums.astype(F32) * F32(scales)) + zero_point, dtype)


def averaged(total, scale, offset):
    """One product and one sum, on aarch64 fused."""
    return (total.astype(float) * float(scale) + float(offset)).astype(F32) if AARCH64 else total * scale + offset


def offset_of(zero_point, total, scale):
    """The zero points' share in an average, likewise."""
    return F32(zero_point - float(F32(total)) * float(scale)) if AARCH64 else F32(zero_point) - F32(total) * scale


def half_up(values):
    return np.floor(values + 0.5)


def away(values):
    return np.where(values < 0, -np.floor(0.5 - values), np.floor(values + 0.5))


# ---- elementwise


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantize_rounds_to_even_and_nan_is_the_highest(dtype):
    """On aarch64 NaN is the zero point."""
    x = np.array([0.5, 1.5, 2.5, -0.5, 1e30, -1e30, np.inf, -np.inf, np.nan, -0.0], F32)
    low, high = LIMITS[dtype]
    [got] = run_quantized(
        "QUANTIZE", [Tensor(x.shape, "float32")], [Tensor(x.shape, dtype, scale=1.0, zero_point=10)], [x]
    )
    same(got, np.array([10, 12, 12, 10, high, low, high, low, 10 if AARCH64 else high, 10], dtype))


def test_quantize_takes_denormals_for_zero():
    x = np.array([1e-40, -1e-40, 1.2e-38], F32)
    [got] = run_quantized(
        "QUANTIZE", [Tensor(x.shape, "float32")], [Tensor(x.shape, "int8", scale=1.2e-38, zero_point=3)], [x]
    )
    same(got, np.array([3, 3, 4], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_dequantize(dtype):
    x = every(dtype)
    [got] = run_quantized(
        "DEQUANTIZE", [Tensor(x.shape, dtype, scale=0.3, zero_point=7)], [Tensor(x.shape, "float32")], [x], 2
    )
    same(got, (x.astype(np.int32) - 7).astype(F32) * F32(0.3))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_rescaling_has_eight_fractional_bits(dtype):
    x = every(dtype)
    tensors = [Tensor(x.shape, dtype, scale=0.1, zero_point=5)], [Tensor(x.shape, dtype, scale=0.07, zero_point=9)]
    d = x.astype(int) - 5
    [got] = run_quantized("QUANTIZE", *tensors, [x])
    same(got, narrowed(((d * 366 + 128) >> 8) + 9, dtype))  # 256 * 0.1 / 0.07 = 365.7
    [got] = run_quantized("LEAKY_RELU", *tensors, [x], alpha=0.25)
    same(got, narrowed(((np.where(d > 0, d * 366, d * 91) + 128) >> 8) + 9, dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_round_half_up(dtype, sign):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(*LIMITS[dtype], shape).astype(dtype) for shape in [(3, 1, 50), (4, 50)])
    tensors = [Tensor(a.shape, dtype, scale=0.5, zero_point=3), Tensor(b.shape, dtype, scale=0.25, zero_point=8)]
    y = Tensor([3, 4, 50], dtype, scale=1.0, zero_point=20)
    [got] = run_quantized("ADD" if sign > 0 else "SUB", tensors, [y], [a, b], fused_activation_function="RELU6")
    want = np.floor((a.astype(int) - 3) / 2 + sign * (b.astype(int) - 8) / 4 + 0.5) + 20
    same(got, np.clip(want, 20, 26).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_round_to_even_but_squares_away_from_zero(dtype):
    """On aarch64 products round half up."""
    x = every(dtype)
    tensor = Tensor(x.shape, dtype, scale=0.5, zero_point=11)
    y = Tensor(x.shape, dtype, scale=2.0, zero_point=1)
    d = x.astype(int) - 11
    [got] = run_quantized("MUL", [tensor, Tensor.constant(x, scale=0.5, zero_point=11)], [y], [x])
    same(got, narrowed((half_up if AARCH64 else np.rint)(d * d / 8) + 1, dtype))
    model = Model()
    main = model.subgraph("main")
    main.op("MUL", [tensor, tensor], [y], 1)
    main.outputs = [y]
    [got] = invoke(model.to_bytes(), [x])
    same(got, narrowed(away(d * d / 8 + 1), dtype))


@pytest.mark.parametrize(
    ("op", "dtype", "function"),
    [
        ("LOGISTIC", "int8", lambda v: 1 / (1 + np.exp(-v))),
        ("LOGISTIC", "uint8", lambda v: 1 / (1 + np.exp(-v))),
        ("TANH", "int8", np.tanh),
        ("TANH", "uint8", np.tanh),
        ("ELU", "int8", lambda v: np.where(v < 0, np.expm1(v), v)),
    ],
)
def test_tables(op, dtype, function):
    """Any scale of the output will do."""
    x = every(dtype)
    [got] = run_quantized(
        op,
        [Tensor(x.shape, dtype, scale=0.03, zero_point=9)],
        [Tensor(x.shape, dtype, scale=0.011, zero_point=70)],
        [x],
    )
    v = (x.astype(F32) - F32(9)) * F32(0.03)
    same(got, narrowed(away(function(v.astype(float)).astype(F32) * (F32(1) / F32(0.011)) + F32(70)), dtype))


# ---- convolutions and matrix products


def padded_windows(x, kernel, stride, dilation, padding):
    """[batch, rows, columns, taps..., channels]; what lies outside is 0."""
    before, out = [], []
    for size, k, s, d in zip(x.shape[1:3], kernel, stride, dilation, strict=True):
        out.append(-(-size // s) if padding == "SAME" else (size - (k - 1) * d - 1) // s + 1)
        before.append(max((out[-1] - 1) * s + (k - 1) * d + 1 - size, 0) // 2 if padding == "SAME" else 0)
    wide = np.zeros((len(x), x.shape[1] + 40, x.shape[2] + 40, x.shape[3]), np.int64)
    wide[:, before[0] : before[0] + x.shape[1], before[1] : before[1] + x.shape[2]] = x
    found = np.zeros((len(x), *out, *kernel, x.shape[3]), np.int64)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            rows = wide[:, top : top + out[0] * stride[0] : stride[0], left : left + out[1] * stride[1] : stride[1]]
            found[:, :, :, i, j] = rows[:, : out[0], : out[1]]
    return found


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [((1, 1), (1, 1), (1, 1)), ((3, 2), (2, 1), (1, 1)), ((3, 3), (1, 1), (2, 1))]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_convolutions(dtype, kernel, stride, dilation, padding):
    rng = np.random.default_rng(2)
    low, high = LIMITS[dtype]
    x = rng.integers(low, high + 1, (2, 9, 8, 4)).astype(dtype)
    w = rng.integers(low, high + 1, (6, *kernel, 4)).astype(dtype)
    depthwise = rng.integers(low, high + 1, (1, *kernel, 8)).astype(dtype)
    bias = rng.integers(-3000, 3000, 8).astype(np.int32)
    w_zero = 100 if dtype == "uint8" else 0
    geometry = {
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
    }
    image = Tensor(x.shape, dtype, scale=0.05, zero_point=12)
    windows = padded_windows(x.astype(int) - 12, kernel, stride, dilation, padding)
    scales = np.array([0.003, 0.002, 0.001, 0.004, 0.002, 0.005], F32) if dtype == "int8" else np.array([0.002], F32)
    y = Tensor([*windows.shape[:3], 6], dtype, scale=0.4, zero_point=-20 if dtype == "int8" else 90)
    [got] = run_quantized(
        "CONV_2D",
        [image, Tensor.constant(w, scale=scales, zero_point=w_zero), Tensor.constant(bias[:6], scale=F32(0.05) * scales, zero_point=0)],
        [y], [x], padding=padding, **geometry,
    )  # fmt: skip
    sums = np.einsum("nhwijc,oijc->nhwo", windows, w.astype(int) - w_zero) + bias[:6]
    same(got, requantized(sums, (F32(0.05) * scales) / F32(0.4), y.zero_point, dtype))
    y = Tensor([*windows.shape[:3], 8], dtype, scale=0.4, zero_point=40)
    [got] = run_quantized(
        "DEPTHWISE_CONV_2D",
        [image, Tensor.constant(depthwise, scale=0.01, zero_point=w_zero), Tensor.constant(bias, scale=0.0005, zero_point=0)],
        [y], [x], padding=padding, depth_multiplier=2, fused_activation_function="RELU", **geometry,
    )  # fmt: skip
    sums = (np.repeat(windows, 2, -1) * (depthwise[0].astype(int) - w_zero)).sum((3, 4)) + bias
    same(got, np.maximum(requantized(sums, F32(0.05) * F32(0.01) / F32(0.4), 40, dtype), 40))


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_same_padding_below_zero_leaves_the_bias(op):
    x = np.full((1, 12, 12, 2), 50, np.int8)
    w = np.full((2, 2, 2, 2) if op == "CONV_2D" else (1, 2, 2, 2), 9, np.int8)
    inputs = [Tensor(x.shape, "int8", scale=0.5, zero_point=0), Tensor.constant(w, scale=0.5, zero_point=0)]
    bias = Tensor.constant(np.array([40, -8], np.int32), scale=0.25, zero_point=0)
    extra = {"depth_multiplier": 1} if op != "CONV_2D" else {}
    y = Tensor([1, 4, 4, 2], "int8", scale=1.0, zero_point=0)
    [got] = run_quantized(op, [*inputs, bias], [y], [x], padding="SAME", stride_h=3, stride_w=3, **extra)
    same(got, np.broadcast_to(np.array([10, -2], np.int8), (1, 4, 4, 2)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
def test_transpose_conv(dtype):
    rng = np.random.default_rng(3)
    weights = "int8" if dtype == "float32" else dtype
    w = rng.integers(*LIMITS[weights], (3, 3, 3, 2)).astype(weights)
    w_zero, zero = (100, 7) if dtype == "uint8" else (0, 7)
    if dtype == "float32":  # 255 steps: the scale is 1, the zero point 0
        x = rng.integers(-128, 128, (2, 4, 5, 2)).astype(F32)
        x[:, 0, 0] = [-128, 127]
        zero = 0
    else:
        x = rng.integers(*LIMITS[dtype], (2, 4, 5, 2)).astype(dtype)
    sums = np.zeros((2, 9, 11, 3), int)
    for i in range(4):
        for j in range(5):
            pixel = x[:, i, j].astype(int) - zero
            sums[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += np.einsum("nc,oijc->nijo", pixel, w.astype(int) - w_zero)
    shape = Tensor.constant(np.array(sums.shape, np.int32))
    weight = Tensor.constant(w, scale=0.5, zero_point=w_zero)
    if dtype == "float32":
        inputs, y = [shape, weight, Tensor(x.shape, dtype), None], Tensor(sums.shape, dtype)
        want = sums.astype(F32) * F32(0.5)
    else:
        bias = Tensor.constant(np.array([5, 0, -9], np.int32), scale=0.25, zero_point=0)
        inputs, y = (
            [shape, weight, Tensor(x.shape, dtype, scale=0.5, zero_point=zero), bias],
            Tensor(sums.shape, dtype, scale=64.0, zero_point=3),
        )
        want = requantized(sums + np.array([5, 0, -9]), 0.25 / 64, 3, dtype)
    if inputs[-1] is None:
        inputs.pop()
    [got] = run_quantized("TRANSPOSE_CONV", inputs, [y], [x], 4, padding="VALID", stride_h=2, stride_w=2)
    same(got, want)


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize(
    ("dtype", "weights"), [("int8", "int8"), ("int8", "int4"), ("int8", "int2"), ("uint8", "uint8")]
)
def test_fully_connected(dtype, weights, rows):
    rng = np.random.default_rng(4)
    low, high = {"int4": (-8, 7), "int2": (-2, 1), **LIMITS}[weights]
    x = rng.integers(*LIMITS[dtype], (rows, 20)).astype(dtype)
    w = rng.integers(low, high + 1, (5, 20)).astype("int8" if weights != "uint8" else weights)
    w_zero = 77 if weights == "uint8" else 0
    scales = np.array([0.5, 0.25, 1, 2, 0.125], F32) if weights != "uint8" else F32(0.5)
    weight = Tensor.constant(w, weights, scale=scales, zero_point=w_zero)
    y = Tensor([rows, 5], dtype, scale=128.0, zero_point=4)
    [got] = run_quantized("FULLY_CONNECTED", [Tensor(x.shape, dtype, scale=0.5, zero_point=9), weight], [y], [x])
    sums = (x.astype(int) - 9) @ (w.astype(int) - w_zero).T
    same(got, requantized(sums, scales / 256, 4, dtype))


@pytest.mark.skipif(not AARCH64, reason="only some Arm cores round these sums twice")
@pytest.mark.parametrize(("operator", "rows"), [("FULLY_CONNECTED", 1), ("FULLY_CONNECTED", 70), ("CONV_2D", 6)])
def test_sums_of_uint8_that_round_twice(monkeypatch, operator, rows):
    monkeypatch.setattr(arm_cores, "rounds_twice", lambda: True)
    rng = np.random.default_rng(8)
    x, w = rng.integers(0, 256, (rows, 20)).astype(np.uint8), rng.integers(0, 256, (19, 20)).astype(np.uint8)
    b = np.arange(-900, 1000, 100, np.int32)
    sums = (x.astype(int) - 9) @ (w.astype(int) - 77).T + b
    m = 23170 / 32768  # of the scale m / 2^9, in 15 bits
    want = narrowed(half_up(np.clip(half_up(sums / 512), -32768, 32767) * m) + 4, "uint8")
    if operator == "CONV_2D":
        x, w, want = x.reshape(1, 2, 3, 20), w.reshape(19, 1, 1, 20), want.reshape(1, 2, 3, 19)
    weight, bias = Tensor.constant(w, scale=m / 256, zero_point=77), Tensor.constant(b, scale=m / 512, zero_point=0)
    y = Tensor(want.shape, "uint8", scale=1.0, zero_point=4)
    options = {"stride_h": 1, "stride_w": 1} if operator == "CONV_2D" else {}
    inputs = [Tensor(x.shape, "uint8", scale=0.5, zero_point=9), weight, bias]
    [got] = run_quantized(operator, inputs, [y], [x], **options)
    same(got, want)


def test_sums_beyond_32_bits_of_a_negative_zero_point():
    """Scaled below -2^31: the AVX-512 kernels add the zero point without saturation."""
    x = np.array([[127]], np.int8)
    bias = Tensor.constant(np.array([-(2**31)], np.int32), scale=1.0, zero_point=0)
    inputs = [
        Tensor(x.shape, "int8", scale=1.0, zero_point=0),
        Tensor.constant(np.array([[0]], np.int8), scale=100.0, zero_point=0),
        bias,
    ]
    [got] = run_quantized("FULLY_CONNECTED", inputs, [Tensor([1, 1], "int8", scale=1.0, zero_point=-1)], [x])
    same(got, np.array([[127 if generation.generation_name() == "avx512" else -128]], np.int8))


@pytest.mark.parametrize("zero_point", [-1, 0, 5])
def test_products_beyond_float32(zero_point):
    """The scale of a sum is huge, and the product infinite: both signs keep theirs, but for the quirk above."""
    x, w = np.array([[1], [-1], [0]], np.int8), np.array([[127, 1]], np.int8)
    inputs = [Tensor(x.shape, "int8", scale=3e37, zero_point=0), Tensor(w.shape, "int8", scale=1.0, zero_point=0)]
    y = Tensor([3, 2], "int8", scale=0.5, zero_point=zero_point)
    [got] = run_quantized("BATCH_MATMUL", inputs, [y], [x, w])
    least = 127 if generation.generation_name() == "avx512" and zero_point < 0 else -128
    same(got, np.array([[127] * 2, [least] * 2, [zero_point] * 2], np.int8))


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("fixed", [False, True])
def test_batch_matmul(adjoint, fixed):
    rng = np.random.default_rng(5)
    a, b = rng.integers(-128, 128, (2, 1, 3, 6)).astype(np.int8), rng.integers(-128, 128, (4, 6, 5)).astype(np.int8)
    want = requantized((a.astype(int) - 3) @ b.astype(int), 0.25 / 32, -7, "int8")
    a = a.swapaxes(2, 3).copy() if adjoint[0] else a
    b = b.swapaxes(1, 2).copy() if adjoint[1] else b
    right = Tensor.constant(b, scale=0.5, zero_point=0) if fixed else Tensor(b.shape, "int8", scale=0.5, zero_point=0)
    [got] = run_quantized(
        "BATCH_MATMUL", [Tensor(a.shape, "int8", scale=0.5, zero_point=3), right], [Tensor(want.shape, "int8", scale=32.0, zero_point=-7)],
        [a] if fixed else [a, b], adj_x=adjoint[0], adj_y=adjoint[1],
    )  # fmt: skip
    same(got, want)


# ---- images and reductions


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_max_pool(dtype):
    x = np.random.default_rng(9).integers(*LIMITS[dtype], (2, 5, 6, 3)).astype(dtype)
    tensor = Tensor(x.shape, dtype, scale=0.25, zero_point=10)
    y = Tensor([2, 4, 5, 3], dtype, scale=0.25, zero_point=10)
    [got] = run_quantized(
        "MAX_POOL_2D", [tensor], [y], [x], padding="VALID", stride_h=1, stride_w=1, filter_height=2, filter_width=2,
        fused_activation_function="RELU_N1_TO_1",
    )  # fmt: skip
    want = np.max([x[:, :-1, :-1], x[:, 1:, :-1], x[:, :-1, 1:], x[:, 1:, 1:]], 0)
    same(got, np.clip(want, 6, 14))


@pytest.mark.parametrize("shape", [(1, 0, 0, 3), (2, 0, 4, 3), (0, 3, 4, 3), (2, 3, 4, 0)])
def test_a_pool_of_single_pixels_takes_empty_images(shape):
    """It is a clamp; larger windows refuse them."""
    x, tensor = np.zeros(shape, np.int8), Tensor(shape, "int8", scale=0.25, zero_point=10)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_width": 1}
    [got] = run_quantized(
        "MAX_POOL_2D", [tensor], [Tensor(shape, "int8", scale=0.25, zero_point=10)], [x], filter_height=1, **options
    )
    assert got.shape == shape
    if shape[0]:
        with pytest.raises(RuntimeError, match="pixels and channels"):
            run_quantized(
                "MAX_POOL_2D",
                [tensor],
                [Tensor(shape, "int8", scale=0.25, zero_point=10)],
                [x],
                filter_height=2,
                **options,
            )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_resize_bilinear(dtype):
    x = np.array([[0, 100], [50, 101]], dtype).reshape(1, 2, 2, 1)
    tensors = [Tensor(x.shape, dtype, scale=1.0, zero_point=0), Tensor.constant(np.array([4, 4], np.int32))]
    y = Tensor([1, 4, 4, 1], dtype, scale=1.0, zero_point=0)
    [got] = run_quantized("RESIZE_BILINEAR", tensors, [y], [x], 3, half_pixel_centers=True)
    weights = np.array([0, 0.25, 0.75, 1])
    rows = x[0, :1, :, 0] + (x[0, 1:, :, 0].astype(float) - x[0, :1, :, 0]) * weights[:, None]
    want = np.floor(rows[:, :1] + (rows[:, 1:] - rows[:, :1]) * weights + 0.5)
    same(got[0, :, :, 0], want.astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_reductions(dtype):
    x = np.random.default_rng(10).integers(*LIMITS[dtype], (2, 5, 6, 3)).astype(dtype)
    tensors = [Tensor(x.shape, dtype, scale=0.5, zero_point=3), Tensor.constant(np.array([1, -2], np.int32))]
    y = Tensor([2, 3], dtype, scale=2.0, zero_point=20)
    total = x.astype(int).sum((1, 2)).astype(F32)
    [got] = run_quantized("SUM", tensors, [y], [x])
    same(got, narrowed(away(averaged(total, F32(0.25), offset_of(20, 90, F32(0.25)))), dtype))
    scale = F32(0.25) * (F32(1) / F32(30))
    [got] = run_quantized("MEAN", tensors, [y], [x])
    same(got, narrowed(away(averaged(total, scale, offset_of(20, 90, scale))), dtype))
    [got] = run_quantized("REDUCE_MAX", tensors, [y], [x])
    same(got, x.max((1, 2)))
    [got] = run_quantized("REDUCE_MIN", tensors, [y], [x])
    same(got, x.min((1, 2)))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("outputs", [1, 37])
def test_an_average_is_rounded_twice_but_on_aarch64(dtype, outputs):
    """-171 / 18 - 18 + 29 is 1.5, of a fused product and sum less than that."""
    x = np.full((18, outputs), -9)
    x[:9] = -10
    low = LIMITS[dtype][0] + 128
    x = (x + low).astype(dtype)
    tensors = [Tensor(x.shape, dtype, scale=1.0, zero_point=18 + low), Tensor.constant(np.array([0], np.int32))]
    [got] = run_quantized("MEAN", tensors, [Tensor([outputs], dtype, scale=1.0, zero_point=29)], [x])
    scale = F32(1) / F32(18)
    want = averaged(x.astype(int).sum(0).astype(F32), scale, offset_of(29, 18 * (18 + low), scale))
    same(got, narrowed(away(want), dtype))


def sum_in_16_bits(row):
    """64 values at a time in 32 lanes, which begin again after 256 times; what is left one by one."""
    pairs = row[: len(row) // 64 * 64].astype(int).reshape(-1, 32, 2).sum(2)
    lanes = [pairs[i : i + 256].sum(0).astype(np.int16) for i in range(0, len(pairs), 256)]
    return np.sum(lanes, dtype=int) + row[len(row) // 64 * 64 :].sum(dtype=int)


@pytest.mark.parametrize(
    ("shape", "axes", "runs"), [([2, 12000], [1], True), ([12000, 1], [0], False), ([3, 1, 9001], [0, 2], True)]
)
def test_long_runs_are_summed_in_16_bits_on_avx2_without_vnni(shape, axes, runs):
    x = np.full(shape, 127, np.int8)
    scale = F32(1 / 16384)
    tensors = [Tensor(shape, "int8", scale=scale, zero_point=0), Tensor.constant(np.array(axes, np.int32))]
    y = Tensor([2] if axes == [1] else [1], "int8", scale=1.0, zero_point=0)
    [got] = run_quantized("SUM", tensors, [y], [x])
    wraps = runs and generation.generation_name() == "avx2" and "avxvnni" not in table.available()
    sums = [sum_in_16_bits(row) if wraps else row.sum(dtype=int) for row in x.reshape(-1, shape[-1])]
    sums = np.array(sums if axes == [1] else [sum(sums)])
    assert (sums == x.size * 127 // len(sums)).all() != wraps
    same(got, narrowed(away(sums.astype(F32) * scale), "int8"))


def test_the_zero_points_share_of_an_average_is_rounded_as_the_average():
    """108 / 6 - 53.5 + 26 is -9.5, by roundings of two kinds."""
    x = np.array([[17, -20, 111]], np.int8)
    tensors = [Tensor(x.shape, "int8", scale=0.5, zero_point=107), Tensor.constant(np.array([1], np.int32))]
    [got] = run_quantized("MEAN", tensors, [Tensor([1], "int8", scale=1.0, zero_point=26)], [x])
    same(got, np.array([-10], np.int8))


def test_an_axis_that_is_named_twice():
    tensors = [Tensor([2, 3], "int8", scale=1.0, zero_point=0), Tensor.constant(np.array([1, -1], np.int32))]
    with pytest.raises((ValueError, RuntimeError), match="twice"):
        run_quantized("MEAN", tensors, [Tensor([2], "int8", scale=1.0, zero_point=0)], [])


# ---- copies


def test_slice_from_the_end():
    x = np.arange(12, dtype=F32).reshape(2, 6)
    begin, size = (Tensor.constant(np.array(values, np.int32)) for values in ([0, -1], [2, 1]))
    [got] = run_quantized("SLICE", [Tensor(x.shape, "float32"), begin, size], [Tensor([2, 1], "float32")], [x])
    same(got, x[:, -1:])


def test_strided_slice_to_zero_is_to_the_end():
    x = np.arange(12, dtype=np.int8).reshape(2, 6)
    tensor = Tensor(x.shape, "int8", scale=1.0, zero_point=0)
    vectors = [Tensor.constant(np.array(values, np.int32)) for values in ([0, 1], [2, 0], [1, 1])]
    [got] = run_quantized("STRIDED_SLICE", [tensor, *vectors], [Tensor([2, 5], "int8", scale=1.0, zero_point=0)], [x])
    same(got, x[:, 1:])


def test_concatenation_ignores_its_activation():
    x = np.array([[-1, 2]], F32)
    tensor = Tensor(x.shape, "float32")
    [got] = run_quantized(
        "CONCATENATION",
        [tensor, Tensor(x.shape, "float32")],
        [Tensor([2, 2], "float32")],
        [x, x],
        axis=0,
        fused_activation_function="RELU",
    )
    same(got, np.concatenate([x, x]))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_pad_of_six_dimensions(dtype):
    x = np.arange(8).reshape(1, 2, 1, 2, 1, 2).astype(dtype)
    borders = np.array([[0, 1], [1, 0], [0, 0], [2, 0], [0, 0], [0, 3]], np.int32)
    quantization = {"scale": 1.0, "zero_point": 5} if dtype == "int8" else {}
    want = np.pad(x, borders, constant_values=5 if dtype == "int8" else 0)
    [got] = run_quantized(
        "PAD",
        [Tensor(x.shape, dtype, **quantization), Tensor.constant(borders)],
        [Tensor(want.shape, dtype, **quantization)],
        [x],
    )
    same(got, want)
