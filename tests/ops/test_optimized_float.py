"""The optimized arithmetic on float32: the order of Eigen's sums and its functions, bit by bit.

The definitions below are written with numpy, one rounding per operation, from the descriptions in the kernels' docstrings.
"""

import ctypes
import ctypes.util
import os
import subprocess
import sys

import numpy as np
import pytest

from compat.builder import Tensor
from tests.machine import AARCH64, of_x86_64

from .one_operator import same
from .test_optimized_quantized import compute
from .test_xnnpack_products import fma

F = np.float32


def fold4(v):
    return (v[0] + v[2]) + (v[1] + v[3])


def fold8(v):
    return fold4(v[:4] + v[4:])


def in_order(p, start=None):
    total = F(0) if start is None else start
    for value in p:
        total = F(total + value)
    return total


def row_sum(p, start=0):
    """Two accumulators of eight lanes from `start` on, then what lies before, then what lies behind."""
    blocks = [p[i : i + 8] for i in range(start, len(p) - 7, 8)]
    if not blocks:
        return in_order(p[1:], p[0])
    a, pairs = blocks[0], len(blocks) // 2
    if pairs:
        b = blocks[1]
        for i in range(1, pairs):
            a, b = a + blocks[2 * i], b + blocks[2 * i + 1]
        a = a + b
        a = a + blocks[-1] if len(blocks) % 2 else a
    rest = np.concatenate([p[:start], p[start + 8 * len(blocks) :]])
    return in_order(rest, fold8(a))


def matrix_times_vector(w, x):
    """One accumulator of eight lanes per row; the last of an odd number of rows takes four more at once."""
    found = []
    for r, row in enumerate(w):
        p, full = row * x, len(x) // 8 * 8
        lanes = np.zeros(8, F)
        for i in range(0, full, 8):
            lanes = lanes + p[i : i + 8]
        total = fold8(lanes)
        if len(w) % 2 and r == len(w) - 1 and len(x) % 8 >= 4:
            total, full = F(total + fold4(p[full : full + 4])), full + 4
        found.append(in_order(p[full:], total))
    return np.array(found, F)


def panel(w, x, rows, columns, i, j):
    """One output of a panel: in order, even and odd apart, or by k mod 8."""
    p, full = w * x, len(w) // 8 * 8
    if i < rows // 16 * 16 or j >= columns // 4 * 4:
        return in_order(p)
    if i < rows // 4 * 4:
        return in_order(p[full:], F(in_order(p[0:full:2]) + in_order(p[1:full:2])))
    a = [in_order(p[lane:full:8]) for lane in range(8)]
    low, high = (a[0] + a[2]) + (a[4] + a[6]), (a[1] + a[3]) + (a[5] + a[7])
    for k in range(full, len(p) // 2 * 2, 2):
        low, high = F(low + p[k]), F(high + p[k + 1])
    return in_order(p[len(p) // 2 * 2 :], F(low + high))


def product(w, x, block=10**9):
    """y[j][i] = w[i] . x[j]; `block`: of k, when the L1 cache cuts it."""
    (n, k), m = w.shape, len(x)
    if m == 1:
        return matrix_times_vector(w, x[0])[None]
    if n == 1:
        return matrix_times_vector(x, w[0])[:, None]
    if k + n + m < 20:
        return np.array([[row_sum(a * b) for a in w] for b in x], F)
    y = np.zeros((m, n), F)
    for start in range(0, k, block):
        part = slice(start, start + block)
        y = y + np.array([[panel(w[i, part], x[j, part], n, m, i, j) for i in range(n)] for j in range(m)], F)
    return y


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(F)


def feed(array):
    return Tensor(list(array.shape), "float32")


def fully_connected(x, w, b):
    inputs = [feed(x), Tensor.constant(w), Tensor.constant(b)]
    return compute("FULLY_CONNECTED", inputs, Tensor([len(x), len(w)], "float32"), [x])


SHAPES = [(2, 7, 1), (5, 30, 1), (1, 30, 7), (3, 5, 4), (3, 4, 20), (16, 33, 4), (47, 21, 9), (31, 64, 6), (4, 100, 3)]


@of_x86_64
@pytest.mark.parametrize("n, k, m", SHAPES)
def test_products_in_eigens_order(n, k, m):
    x, w, b = random(m, k), random(n, k), random(n)
    same(fully_connected(x, w, b), product(w, x) + b)


def test_an_inner_product_has_four_accumulators():
    x, w = random(1, 77), random(1, 77) * F(2)
    p = (x * w)[0]
    lanes = [p[i : i + 8] for i in range(0, 32, 8)]
    for i in range(32, 72, 8):
        lanes[i // 8 % 4] = lanes[i // 8 % 4] + p[i : i + 8]
    lanes[2] = lanes[2] + lanes[3]
    lanes[1] = lanes[1] + lanes[2]
    lanes[0] = lanes[0] + lanes[1]
    same(fully_connected(x, w, np.zeros(1, F)), in_order(p[72:], fold8(lanes[0]))[None, None])


CUT = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.ops.test_optimized_float import fully_connected, product, random
x, w, b = random(5, 150), random(20, 150), random(20)
assert fully_connected(x, w, b).tobytes() == (product(w, x, 56) + b).tobytes()
"""


@of_x86_64
def test_the_cache_size_cuts_long_sums():
    """(5120 - 256) / 80 is 56 after rounding down to eights: 150 are cut into 56, 56 and 38."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "TFLM_CY_L1D": "5120"}
    subprocess.run([sys.executable, "-c", CUT, root], check=True, env=environment, cwd=root)


@of_x86_64
def test_conv_2d_multiplies_whole_windows():
    x, w, b = random(1, 5, 6, 3), random(18, 3, 3, 3), random(18)
    padded = np.zeros((7, 8, 3), F)
    padded[1:6, 1:7] = x[0]
    windows = np.stack([padded[i : i + 3, j : j + 3].ravel() for i in range(5) for j in range(6)])
    inputs = [feed(x), Tensor.constant(w), Tensor.constant(b)]
    y = compute("CONV_2D", inputs, Tensor([1, 5, 6, 18], "float32"), [x], padding=0, stride_w=1, stride_h=1)
    same(y, (product(w.reshape(18, -1), windows) + b).reshape(1, 5, 6, 18))


def test_taps_outside_of_the_image_take_part():
    """Zero times an infinite weight is NaN; the reference leaves such taps out."""
    x, w = np.ones((1, 2, 2, 1), F), np.ones((17, 3, 3, 1), F)
    w[:, 0, 0] = np.inf
    inputs = [feed(x), Tensor.constant(w), Tensor.constant(np.zeros(17, F))]
    for mode in ("optimized", "reference"):
        y = compute("CONV_2D", inputs, Tensor([1, 2, 2, 17], "float32"), [x], mode, padding=0, stride_w=1, stride_h=1)
        assert np.isnan(y[0, 0, 0]).all() == (mode == "optimized")


@of_x86_64
def test_depthwise_sums_start_with_the_bias():
    x, w, b = random(1, 4, 4, 5), random(1, 2, 2, 5), random(5)
    want = np.broadcast_to(b, (1, 3, 3, 5)).copy()
    for i in range(2):
        for j in range(2):
            want = want + x[:, i : i + 3, j : j + 3] * w[0, i, j]
    inputs = [feed(x), Tensor.constant(w), Tensor.constant(b)]
    y = compute(
        "DEPTHWISE_CONV_2D",
        inputs,
        Tensor(want.shape, "float32"),
        [x],
        padding=1,
        stride_w=1,
        stride_h=1,
        depth_multiplier=1,
    )
    same(y, want)


@of_x86_64
def test_transpose_conv_adds_products_of_pixels():
    x, w, b = random(1, 3, 4, 6), random(5, 2, 2, 6), random(5)
    products = product(w.transpose(1, 2, 0, 3).reshape(20, 6), x.reshape(12, 6)).reshape(3, 4, 2, 2, 5)
    want = np.zeros((1, 4, 5, 5), F)
    for i in range(3):
        for j in range(4):
            want[0, i : i + 2, j : j + 2] = want[0, i : i + 2, j : j + 2] + products[i, j]
    inputs = [Tensor.constant(np.array(want.shape, np.int32)), Tensor.constant(w), feed(x), Tensor.constant(b)]
    same(
        compute("TRANSPOSE_CONV", inputs, Tensor(want.shape, "float32"), [x], padding=1, stride_w=1, stride_h=1),
        want + b,
    )


@of_x86_64
def test_mean_of_rows_starts_at_aligned_elements():
    x = random(6, 43)
    want = np.array([row_sum(row, -i * 43 % 8) for i, row in enumerate(x)], F) / F(43)
    same(compute("MEAN", [feed(x), Tensor.constant(np.array([1], np.int32))], Tensor([6], "float32"), [x]), want)


@pytest.mark.parametrize("op", ["SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN"])
def test_a_fold_starts_with_its_first_element(op):
    x = np.array([[-0.0, np.nan, 1], [-0.0, 1, np.nan]], F)
    y = compute(op, [feed(x), Tensor.constant(np.array([0], np.int32))], Tensor([3], "float32"), [x])
    assert np.signbit(y[0]) and np.isnan(y[2])
    assert np.isnan(y[1]) == (op in ("SUM", "MEAN"))


@pytest.mark.parametrize("op, function, error", [
    ("LOGISTIC", lambda v: 1 / (1 + np.exp(-v)), 4e-7),
    ("TANH", np.tanh, 4e-7),
    ("HARD_SWISH", lambda v: v * np.clip(v + 3, 0, 6) / 6, 3e-7),
])  # fmt: skip
def test_activations_are_near_the_real_ones(op, function, error):
    x = np.linspace(-20, 20, 4001, dtype=F)
    y = compute(op, [feed(x)], feed(x), [x])
    want = function(x.astype(float))
    assert (np.abs(y - want) <= error * np.maximum(np.abs(want), 1e-3)).all() or np.abs(y - want).max() < error


def test_hard_swish_multiplies_by_a_sixth_first_in_blocks():
    x = random(1, 30)
    gate, sixth = np.clip(x + F(3), F(0), F(6)), F(1) / F(6)
    want = np.where(np.arange(30) < 28, (x * sixth) * gate, (x * gate) * sixth)
    same(compute("HARD_SWISH", [feed(x)], feed(x), [x]), want)


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_softmax(beta):
    x = random(4, 21) * F(5)
    y = compute("SOFTMAX", [feed(x)], feed(x), [x], beta=beta)
    powers = np.exp((x - x.max(1, keepdims=True)).astype(float) * beta)
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), rtol=1e-6)
    y = compute("LOG_SOFTMAX", [feed(x)], feed(x), [x])
    powers = np.exp((x - x.max(1, keepdims=True)).astype(float))
    np.testing.assert_allclose(y, np.log(powers / powers.sum(1, keepdims=True)), rtol=1e-5, atol=1e-6)


def test_exponentials_below_the_normal_floats():
    x = np.array([[0, -87, -90, -100, -103.9, -104.5, -np.inf]], F)
    y = compute("SOFTMAX", [feed(x)], feed(x), [x], beta=1.0)[0]
    assert (y[1:5] > 0).all() and (y[5:] == 0).all()


def test_doubling_an_image_makes_halves():
    x = random(1, 2, 3, 5)
    y = compute(
        "RESIZE_BILINEAR", [feed(x), Tensor.constant(np.array([4, 6], np.int32))], Tensor([1, 4, 6, 5], "float32"), [x]
    )
    right = np.concatenate([x[:, :, 1:], x[:, :, -1:]], 2)
    same(y[:, ::2, ::2], x)
    same(y[:, ::2, 1::2], (x + right) * F(0.5))
    below = np.concatenate([x[:, 1:], x[:, -1:]], 1)
    left = (x + below) * F(0.5)
    same(y[:, 1::2, ::2], left)
    same(y[:, 1::2, 1::2], (left + (right + np.concatenate([right[:, 1:], right[:, -1:]], 1)) * F(0.5)) * F(0.5))


@pytest.mark.parametrize("beta", [1.0, 0.5, 0.75, 2.0, -1.5, 9.0])
def test_local_response_normalization(beta):
    x = random(1, 2, 3, 12)
    options = {"radius": 2, "bias": 1.0, "alpha": 0.1, "beta": beta}
    y = compute("LOCAL_RESPONSE_NORMALIZATION", [feed(x)], feed(x), [x], **options)
    squares = np.pad(x.astype(float) ** 2, [(0, 0)] * 3 + [(2, 2)])
    scale = 1 + 0.1 * sum(squares[..., i : i + 12] for i in range(5))  # both ends belong to the window
    np.testing.assert_allclose(y, x * scale**-beta, rtol=2e-6)


def test_l2_pool():
    x = random(1, 4, 6, 3)
    options = {"padding": 1, "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    y = compute("L2_POOL_2D", [feed(x)], Tensor([1, 2, 3, 3], "float32"), [x], **options)
    windows = x.reshape(2, 2, 3, 2, 3).astype(float) ** 2
    np.testing.assert_allclose(y[0], np.sqrt(windows.mean((1, 3))), rtol=1e-6)


def hybrid_inputs(channels):
    """Values whose quantization is known: -128 .. 127 times a scale, with zero point 0."""
    q = np.random.default_rng(6).integers(-128, 128, (1, 3, 3, channels)).astype(F)
    q[0, 0, 0, :2] = -128, 127
    scale = F(0.37)
    lowest, highest = F(-128) * scale, F(127) * scale
    return q, q * scale, F(float(F(highest - lowest)) / 255)


def test_hybrid_convolutions_scale_in_their_own_order():
    q, x, scale = hybrid_inputs(7)
    w = np.random.default_rng(7).integers(-127, 128, (7, 1, 1, 7)).astype(np.int8)
    scales, bias = np.linspace(0.01, 0.02, 7, dtype=F), random(7)
    sums = (q.reshape(9, 7).astype(int) @ w.reshape(7, 7).T.astype(int)).astype(F).reshape(1, 3, 3, 7)
    inputs = [feed(x), Tensor.constant(w, scale=scales, zero_point=[0] * 7), Tensor.constant(bias)]
    same(compute("CONV_2D", inputs, feed(x), [x], stride_w=1, stride_h=1), sums * (scales * scale) + bias)
    sums = (q.astype(int) * w[0, 0, 0]).astype(F)
    weights = Tensor.constant(w[:1], scale=scales, zero_point=[0] * 7, axis=3)
    y = compute(
        "DEPTHWISE_CONV_2D", [feed(x), weights, inputs[2]], feed(x), [x], stride_w=1, stride_h=1, depth_multiplier=1
    )
    same(y, np.where(np.arange(7) < 4, (sums * scales) * scale, (sums * scale) * scales) + bias)


@pytest.mark.parametrize("rows", [1, 3])
def test_int4_weights_are_moved_up_by_seven(rows):
    """A weight of -8 fills its half byte, and that of the weight 16 before it, on x86-64 another one, too. aarch64 fuses the bias, and the
    products of a single row and of the last weights."""
    x, rng = random(rows, 64), np.random.default_rng(5)
    w = rng.integers(-7, 8, (6, 64)).astype(np.int8)
    w[2, [4, 30]] = -8
    inputs = [feed(x), Tensor.constant(w, "int4", scale=0.1, zero_point=0), Tensor.constant(random(6))]
    y = compute("FULLY_CONNECTED", inputs, Tensor([rows, 6], "float32"), [x], version=4)
    top = np.abs(x).max(1, keepdims=True).astype(float)
    scale, product = (top / 127).astype(F), x * (127 / top).astype(F)
    q = np.trunc(product.astype(float) + np.copysign(0.5, product)).astype(int)
    moved, fmas = w.astype(int) + 7, np.vectorize(fma, otypes=[F])
    moved[2, [4, 14, 30] if AARCH64 else [4, 14, 22, 30]] = 15
    offset, products = (-7 * q.sum(1, keepdims=True)).astype(F) * scale, (q @ moved.T).astype(F) * scale
    want = fmas(offset, F(0.1), random(6)) if AARCH64 else offset * F(0.1) + random(6)
    fused = fmas(products, F(0.1), want)
    want = want + products * F(0.1)
    first = 6 if not AARCH64 else 0 if rows == 1 else 4
    want[:, first:] = fused[:, first:]
    same(y, want)


@pytest.mark.skipif(
    not AARCH64, reason="a definition of aarch64: there some powers are the C library's, elsewhere all are Eigen's"
)
def test_powers_behind_blocks_of_four_are_the_c_library_s():
    x = np.linspace(0.5, 2.5, 7, dtype=F).reshape(1, 1, 7, 1)
    y = compute("LOCAL_RESPONSE_NORMALIZATION", [feed(x)], feed(x), [x], radius=0, bias=1.0, alpha=1.0, beta=0.75)
    power = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6").powf
    power.restype, power.argtypes = ctypes.c_float, [ctypes.c_float, ctypes.c_float]
    same(y.ravel()[4:], np.array([v * F(power(F(1) + v * v, -0.75)) for v in x.ravel()[4:]], F))


@pytest.mark.parametrize(("rows", "flushed"), [(1, False), (3, True)])
def test_denormals_are_zeros_in_products_of_several_rows_on_aarch64(rows, flushed):
    x, w = np.full((rows, 8), 1e-40, F), np.full((8, 8), 2, F)
    y = fully_connected(x, w, np.zeros(8, F))
    same(y, np.full((rows, 8), 0 if AARCH64 and flushed else F(1e-40) * 16, F))


@pytest.mark.parametrize(("op", "a", "b"), [("ADD", -0.0, -0.0), ("SUB", -0.0, 0.0), ("MUL", 0.0, -1.0)])
def test_minus_zero_passes_a_clamp_but_in_blocks_of_four_on_aarch64(op, a, b):
    a, b = np.full(6, a, F), np.full(6, b, F)
    y = compute(op, [feed(a), feed(b)], feed(a), [a, b], fused_activation_function="RELU")
    assert np.signbit(y).tolist() == ([False] * 4 if AARCH64 else [True] * 4) + [True] * 2


@pytest.mark.parametrize("channels", [3, 4, 7])
def test_a_maximum_is_nan_in_blocks_of_four_on_aarch64(channels):
    """They begin where the output lies on 16 bytes."""
    x = np.ones((1, 3, 2, channels), F)
    x[:, :, 0] = np.nan
    options = {"padding": 1, "stride_w": 1, "stride_h": 1, "filter_width": 2, "filter_height": 1}
    y = compute("MAX_POOL_2D", [feed(x)], Tensor([1, 3, 1, channels], "float32"), [x], **options)
    want = np.ones((3, channels), F)
    for pixel in range(3 if AARCH64 else 0):
        start = -pixel * channels % 4
        want[pixel, start : start + max(0, channels - start) // 4 * 4] = np.nan
    same(y[0, :, 0], want)
