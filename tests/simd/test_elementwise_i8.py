"""Elementwise operators, pooling, reductions and resizing of bytes: every instruction set against the scalar definition."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tests.machine import delegated

from .instruction_sets import ISAS, check, telling
from .products_i8 import CHANNELS, activation, floats, values, zero_point

pytestmark = delegated


def scale(rng):
    return float(np.float32(rng.choice([0.5, 2.0**-6, rng.uniform(0.01, 0.3)])))


def quantized(rng, dtype, shape):
    return Tensor(shape, dtype, scale=scale(rng), zero_point=zero_point(rng, dtype))


def draw_pair(rng, dtype, op):
    shape = [int(v) for v in rng.choice(CHANNELS, int(rng.integers(1, 4)))]
    if np.prod(shape) > 1e5:
        shape = shape[:1]
    other = [1 if rng.random() < 0.3 else d for d in shape][
        int(rng.integers(len(shape))) if rng.random() < 0.3 else 0 :
    ]
    a, b, y = quantized(rng, dtype, shape), quantized(rng, dtype, other), quantized(rng, dtype, shape)
    feeds = [values(rng, dtype, shape), values(rng, dtype, other)]
    return Model.single(op, [a, b], [y], 2, fused_activation_function=activation(rng)).to_bytes(), feeds


def draw_one(rng, dtype, op):
    shape = [int(rng.choice([1, 5, 63, 64, 65, 200, 1000]))]
    x, y = quantized(rng, dtype, shape), quantized(rng, dtype, shape)
    feed = values(rng, dtype, shape)
    if op == "QUANTIZE_F32":
        op, x, feed = "QUANTIZE", Tensor(shape, "float32"), floats(rng, shape)
        feed.flat[0] = rng.choice([np.nan, np.inf, -np.inf, 0.5, -1e30])
    elif op == "DEQUANTIZE":
        y = Tensor(shape, "float32")
    elif op in ("QUANTIZE", "LEAKY_RELU"):
        y.scale = float(np.float32(x.scale * 2 ** rng.uniform(-6.9, 6)))
    options = {"alpha": float(np.float32(rng.choice([0, 0.25, 1, rng.uniform(0, 1)])))} if op == "LEAKY_RELU" else {}
    return Model.single(op, [x], [y], 2 if op == "DEQUANTIZE" else 1, **options).to_bytes(), [feed]


def draw_image(rng, dtype, op):
    c = int(rng.choice(CHANNELS))
    h, w = (int(v) for v in rng.integers(1, 12, 2))
    w *= int(rng.choice([1, 1, 8]))
    shape = [int(rng.integers(1, 3)), h, w, c]
    x = quantized(rng, dtype, shape)
    feed = values(rng, dtype, shape)
    same = {"scale": x.scale, "zero_point": x.zero_point}
    if op == "MAX_POOL_2D":
        kernel, stride = rng.integers(1, 6, 2), rng.integers(1, 4, 2)
        padding = "SAME" if rng.random() < 0.6 or h < kernel[0] or w < kernel[1] else "VALID"
        size = np.array([h, w]) - (kernel - 1 if padding == "VALID" else 0)
        y = Tensor([shape[0], *(-(-size // stride)).tolist(), c], dtype, **same)
        options = {"stride_h": int(stride[0]), "stride_w": int(stride[1]), "padding": padding}
        options |= {"filter_height": int(kernel[0]), "filter_width": int(kernel[1])}
        options |= {"fused_activation_function": activation(rng)}
        return Model.single(op, [x], [y], 2, **options).to_bytes(), [feed]
    if op == "RESIZE_BILINEAR":
        size = [int(v) for v in rng.integers(2, 30, 2)]
        y = Tensor([shape[0], *size, c], dtype, **same)
        half, corners = rng.choice([[True, False], [False, True], [False, False]])
        options = {"half_pixel_centers": bool(half), "align_corners": bool(corners)}
        return Model.single(op, [x, Tensor.constant(np.array(size, np.int32))], [y], 3, **options).to_bytes(), [feed]
    axes = sorted(rng.choice(4, int(rng.integers(1, 5)), replace=False).tolist())
    y = quantized(rng, dtype, [1 if d in axes else shape[d] for d in range(4)])
    return Model.single(op, [x, Tensor.constant(np.array(axes, np.int32))], [y], 2, keep_dims=True).to_bytes(), [feed]


def draw_arg(rng, dtype, op):
    shape = [int(rng.choice([1, 3, 50])), int(rng.choice([*CHANNELS, 300]))]
    kind = str(rng.choice(["int32", "int64"]))
    inputs = [quantized(rng, dtype, shape), Tensor.constant(np.array([1], np.int32))]
    blob = Model.single(op, inputs, [Tensor(shape[:1], kind)], 1, output_type=kind.upper()).to_bytes()
    return blob, [values(rng, dtype, shape)]


def check_all(draw, op, dtype):
    for seed in range(KERNEL_CASES):
        blob, feeds = draw(np.random.default_rng(seed), dtype, op)
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
def test_pairs(op, dtype):
    check_all(draw_pair, op, dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["QUANTIZE", "QUANTIZE_F32", "LEAKY_RELU", "DEQUANTIZE", "LOGISTIC", "TANH"])
def test_single_values(op, dtype):
    check_all(draw_one, op, dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["MAX_POOL_2D", "RESIZE_BILINEAR", "MEAN", "SUM"])
def test_images(op, dtype):
    check_all(draw_image, op, dtype)


@pytest.mark.parametrize("depth", [1, 5])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_resizing_with_whole_weights(dtype, depth):
    """5000 pixels of 4999: the last weights round to 2048, and no two pixels lie between the same ones."""
    rng = np.random.default_rng(depth)
    x, y = Tensor([1, 1, 4999, depth], dtype, scale=1.0), Tensor([1, 1, 5000, depth], dtype, scale=1.0)
    size = Tensor.constant(np.array([1, 5000], np.int32))
    check(ISAS, Model.single("RESIZE_BILINEAR", [x, size], [y], 3).to_bytes(), [values(rng, dtype, x.shape)])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
def test_positions_in_short_rows(op, dtype):
    """Rows of every length up to what a vector takes, all places of the extreme, most of them several times."""
    rng = np.random.default_rng(5)
    for n in range(1, 35):
        x = rng.choice(np.array([0, 1, 127, 128, 255], np.uint8), [200, n]).view(dtype)
        inputs = [Tensor(x.shape, dtype, scale=1.0), Tensor.constant(np.array([1], np.int32))]
        for kind in ("int32", "int64"):
            y = Tensor([200], kind)
            check(ISAS, Model.single(op, inputs, [y], 1, output_type=kind.upper()).to_bytes(), [x])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
def test_positions_of_extremes(op, dtype):
    check_all(draw_arg, op, dtype)


@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, 17, 65536])
def test_widening_float16(n):
    """Every pattern, and rests of vectors."""
    x = np.arange(65536 - n, 65536).astype(np.uint16).view(np.float16)
    check(ISAS, Model.single("DEQUANTIZE", [Tensor([n], "float16")], [Tensor([n], "float32")], 3).to_bytes(), [x])


def test_requantizing_between_types():
    """The optimized builtin kernel, which rounds in blocks and behind them in two ways."""
    for seed in range(KERNEL_CASES):
        rng = np.random.default_rng(seed)
        shape = [int(rng.choice([1, 15, 64, 100, 1000]))]
        x, y = quantized(rng, "uint8", shape), quantized(rng, "int8", shape)
        check(ISAS, Model.single("QUANTIZE", [x], [y], 2).to_bytes(), [values(rng, "uint8", shape)])
