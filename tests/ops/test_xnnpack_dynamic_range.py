"""The default mode's products of float32 activations and narrow weights, quantized while they run: known answers by numpy.

Every model here is one node that the default delegate takes.
"""

import platform

import numpy as np
import pytest

from compat.builder import Tensor

from .blockwise import layer
from .delegated import invoke, only_where_supported, run_quantized
from .one_operator import same

pytestmark = only_where_supported

F32 = np.float32


def quantized_row(x):
    """Whole numbers less the zero point, and the value of a step."""
    low, high = min(F32(0), x.min()), max(F32(0), x.max())
    scale = F32(255) / (high - low)
    zero = (
        F32(-128) - low * scale
        if (F32(-128) + low * scale) + (F32(127) + high * scale) > 0
        else F32(127) - high * scale
    )
    zero = np.rint(np.clip(zero, -128, 127))
    return np.clip(np.rint(x * scale), -128 - zero, 127 - zero).astype(int), F32(1) / scale


@pytest.mark.parametrize("activations", ["float32", "int8"])
def test_int4_of_zero_point_8(activations):
    """Unsigned beside floats, signed beside int8."""
    x = np.array([[-128, 127]], activations)
    weight = Tensor.constant(np.array([[0, 1], [0, -1]], np.int8), "int4", scale=[1.0, 1.0], zero_point=8)
    quantization = {"scale": 1.0, "zero_point": 0} if activations == "int8" else {}
    x[0, 1] = 1 if activations == "int8" else 127
    [got] = run_quantized(
        "FULLY_CONNECTED",
        [Tensor(x.shape, activations, **quantization), weight],
        [Tensor([1, 2], activations, **quantization)],
        [x],
    )
    want = [[1, -1]] if activations == "int8" else [[128 * 8 - 7 * 127, 128 * 8 + 7 * 127]]
    same(got, np.array(want, activations))


@pytest.mark.parametrize("weights", ["int8", "int4", "int2"])
def test_dynamic_fully_connected_quantizes_each_row(weights):
    rng = np.random.default_rng(6)
    low, high = {"int4": (-8, 7), "int2": (-2, 1), "int8": (-128, 127)}[weights]
    x = (rng.standard_normal((3, 24)) * [[1], [1000], [0.001]]).astype(F32)
    w = rng.integers(low, high + 1, (4, 24)).astype(np.int8)
    scales = np.array([0.5, 0.25, 2, 0.125], F32)
    [got] = run_quantized(
        "FULLY_CONNECTED", [Tensor(x.shape, "float32"), Tensor.constant(w, weights, scale=scales, zero_point=0)],
        [Tensor([3, 4], "float32")], [x], fused_activation_function="RELU",
    )  # fmt: skip
    want = []
    for row in x:
        q, step = quantized_row(row)
        want.append(np.maximum((q @ w.T.astype(int)).astype(F32) * step * scales, F32(0)))
    same(got, np.array(want, F32))


def test_blockwise_scales():
    model, x, want, _ = layer(seed=11, version=1)
    [got] = invoke(model.to_bytes(), [x])
    same(got, want)


@pytest.mark.parametrize("kernel", [1, 2])
def test_dynamic_convolution_quantizes_images_but_pixels_of_a_1x1_filter(kernel):
    rng = np.random.default_rng(7)
    x = (rng.standard_normal((2, 3, 3, 5)) * rng.choice([1, 100], (2, 3, 3, 1))).astype(F32)
    w = rng.integers(-128, 128, (4, kernel, kernel, 5)).astype(np.int8)
    bias = np.array([8, -4, 0, 0.5], F32)
    out = 4 - kernel
    [got] = run_quantized(
        "CONV_2D", [Tensor(x.shape, "float32"), Tensor.constant(w, scale=0.5, zero_point=0), Tensor.constant(bias)],
        [Tensor([2, out, out, 4], "float32")], [x], 5, padding="VALID", stride_h=1, stride_w=1,
    )  # fmt: skip
    want = np.zeros((2, out, out, 4), F32)
    for n, i, j in np.ndindex(2, out, out):
        part = x[n, i, j] if kernel == 1 else x[n]
        q, step = quantized_row(part)
        window = q if kernel == 1 else q[i : i + kernel, j : j + kernel]
        total = (window.reshape(-1) @ w.reshape(4, -1).T.astype(int)).astype(F32) * step
        want[n, i, j] = (total.astype(float) * 0.5 + bias).astype(F32)  # fused: one rounding
    same(got, want)


def test_dynamic_batch_matmul():
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((2, 3, 7)).astype(F32), rng.integers(-128, 128, (2, 7, 4)).astype(np.int8)
    scales = np.array([0.5, 1, 4, 0.25], F32)
    [got] = run_quantized(
        "BATCH_MATMUL", [Tensor(a.shape, "float32"), Tensor.constant(b, scale=scales, zero_point=0, axis=2)],
        [Tensor([2, 3, 4], "float32")], [a], 4,
    )  # fmt: skip
    want = np.zeros((2, 3, 4), F32)
    for n, i in np.ndindex(2, 3):
        q, step = quantized_row(a[n, i])
        want[n, i] = (q @ b[n].astype(int)).astype(F32) * step * scales
    same(got, want)


def test_dynamic_rows_with_nan_and_zeros():
    """A row of zeros gives the bias; a NaN becomes the highest step, and a NaN sum the lower limit."""
    x = np.array([[0, 0, 0, 0], [1, np.nan, -1, 0]], F32)
    bias = Tensor.constant(np.array([2, 0, -0.0, 1], F32))
    weight = Tensor.constant(np.eye(4, dtype=np.int8), scale=1.0, zero_point=0)
    [got] = run_quantized(
        "FULLY_CONNECTED", [Tensor(x.shape, "float32"), weight, bias], [Tensor([2, 4], "float32")], [x]
    )
    same(got[0], np.array([2, 0, 0, 1], F32))
    assert np.isfinite(got[1]).all()


on_aarch64 = pytest.mark.skipif(
    platform.machine() != "aarch64", reason="the definitions of aarch64 are compiled there only"
)


@on_aarch64
@pytest.mark.parametrize(("cpu", "half"), [("neon", 0), ("dotprod", 1), ("i8mm", 1)])
def test_rows_that_are_packed_round_halves_away_from_zero(cpu, half, monkeypatch):
    monkeypatch.setenv("TFLM_CY_XNNPACK", cpu)
    x = np.array([[0, 255, 0.5]], F32)
    weight = Tensor.constant(np.array([[0, 0, 1]], np.int8), scale=1.0, zero_point=0)
    [got] = run_quantized("FULLY_CONNECTED", [Tensor(x.shape, "float32"), weight], [Tensor([1, 1], "float32")], [x])
    same(got, np.array([[half]], F32))


@on_aarch64
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("cpu", ["neon", "dotprod", "i8mm"])
def test_rows_that_are_packed_multiply_the_scales_first(cpu, rows, monkeypatch):
    monkeypatch.setenv("TFLM_CY_XNNPACK", cpu)
    rng = np.random.default_rng(9)
    x, bias = rng.standard_normal((rows, 24)).astype(F32), rng.standard_normal(20).astype(F32)
    w, scales = rng.integers(-127, 128, (20, 24)).astype(np.int8), rng.random(20).astype(F32)
    [got] = run_quantized(
        "FULLY_CONNECTED",
        [Tensor(x.shape, "float32"), Tensor.constant(w, scale=scales, zero_point=0), Tensor.constant(bias)],
        [Tensor([rows, 20], "float32")], [x],
    )  # fmt: skip
    want = []
    for row in x:
        q, step = quantized_row(row)
        sums = (q @ w.T.astype(int)).astype(F32)
        fused = ((sums * step).astype(float) * scales + bias).astype(F32)
        want.append(fused if cpu == "neon" else sums * (scales * step) + bias)
    same(got, np.array(want, F32))
