"""float32 convolutions and matrix products in the default mode: chains of fused multiply-adds, their order, the padding that wraps."""

from fractions import Fraction

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, feed, outputs_of
from tests.machine import AARCH64, take_product_rules

from .delegated import Constant, f32, only_where_supported, run, same

pytestmark = only_where_supported


@pytest.fixture(autouse=True)
def one_chain(monkeypatch):
    """As on x86-64; which products have several chains on Arm cores, and how these add, is told below."""
    if AARCH64:
        take_product_rules(monkeypatch, "one", 0, 0)


BIG = f32(2**24)


def fma(a, b, c):
    """One rounding: the exact sum of a * b and c to odd in double, then to float32."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = float(exact)
    if Fraction(near) != exact and not np.float64(near).view(np.int64) & 1:
        near = float(np.nextafter(near, np.inf if exact > Fraction(near) else -np.inf))
    return f32(near)


def chain(bias, pairs):
    for x, w in pairs:
        bias = fma(x, w, bias)
    return bias


def windows(x, kh, kw, stride, dilation, pad):
    """Of an image [h, w, c]: {(oy, ox): [kh, kw, c]}, zeros outside."""
    size = [-(-n // s) for n, s in zip(x.shape, stride, strict=False)]
    before = [0, 0]
    if pad == "VALID":
        size = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape, (kh, kw), stride, dilation, strict=False)]
    else:
        for a, k in enumerate((kh, kw)):
            before[a] = max((size[a] - 1) * stride[a] + (k - 1) * dilation[a] + 1 - x.shape[a], 0) // 2
    found = {}
    for oy in range(size[0]):
        for ox in range(size[1]):
            w = np.zeros((kh, kw, x.shape[2]), np.float32)
            for ky in range(kh):
                for kx in range(kw):
                    iy = oy * stride[0] - before[0] + ky * dilation[0]
                    ix = ox * stride[1] - before[1] + kx * dilation[1]
                    if 0 <= iy < x.shape[0] and 0 <= ix < x.shape[1]:
                        w[ky, kx] = x[iy, ix]
            found[oy, ox] = w
    return size, found


def options(stride, dilation, pad, **more):
    return {
        "padding": pad, "stride_h": stride[0], "stride_w": stride[1], "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1], **more,
    }  # fmt: skip


GEOMETRIES = [((1, 1), (1, 1), "SAME"), ((2, 1), (1, 1), "VALID"), ((1, 2), (2, 1), "SAME")]


@pytest.mark.parametrize(("stride", "dilation", "pad"), GEOMETRIES)
@pytest.mark.parametrize(("groups", "channels", "outputs"), [(1, 3, 21), (2, 4, 6), (1, 1, 2)])
def test_convolution(groups, channels, outputs, stride, dilation, pad):
    rng = np.random.default_rng(3)
    x, w = f32(rng.standard_normal((1, 5, 6, channels))), f32(rng.standard_normal((outputs, 2, 3, channels // groups)))
    b = f32(rng.standard_normal(outputs))
    size, found = windows(x[0], 2, 3, stride, dilation, pad)
    want = np.empty((1, *size, outputs), np.float32)
    for (oy, ox), taps in found.items():
        for o in range(outputs):
            g, n = o // (outputs // groups), channels // groups
            want[0, oy, ox, o] = chain(b[o], zip(taps[:, :, g * n : g * n + n].ravel(), w[o].ravel(), strict=True))
    [y] = run("CONV_2D", [x, Constant(w), Constant(b)], [want.shape], **options(stride, dilation, pad))
    same(y, want)


@pytest.mark.parametrize(("stride", "dilation", "pad"), GEOMETRIES)
@pytest.mark.parametrize(("kh", "kw"), [(2, 3), (1, 2), (3, 3), (2, 13)])
def test_depthwise_goes_down_the_columns_up_to_25_taps(kh, kw, stride, dilation, pad):
    rng = np.random.default_rng(4)
    x, w, b = (
        f32(rng.standard_normal((1, 6, 28, 5))),
        f32(rng.standard_normal((1, kh, kw, 5))),
        f32(rng.standard_normal(5)),
    )
    size, found = windows(x[0], kh, kw, stride, dilation, pad)
    want = np.empty((1, *size, 5), np.float32)
    order = (0, 1) if kh * kw > 25 else (1, 0)
    for (oy, ox), taps in found.items():
        for c in range(5):
            pairs = zip(taps[:, :, c].transpose(order).ravel(), w[0, :, :, c].transpose(order).ravel(), strict=True)
            want[0, oy, ox, c] = chain(b[c], pairs)
    settings = options(stride, dilation, pad, depth_multiplier=1)
    same(run("DEPTHWISE_CONV_2D", [x, Constant(w), Constant(b)], [want.shape], **settings)[0], want)


def test_depthwise_with_a_multiplier_goes_along_the_rows():
    x = f32([[BIG, 1], [-BIG, 0]]).reshape(1, 2, 2, 1)
    w = np.ones((1, 2, 2, 2), np.float32)
    settings = options((1, 1), (1, 1), "VALID")
    [y] = run("DEPTHWISE_CONV_2D", [x, Constant(w), Constant([0, 0])], [(1, 1, 1, 2)], depth_multiplier=2, **settings)
    same(y, np.zeros((1, 1, 1, 2)))  # 2^24 + 1 is lost before - 2^24
    [y] = run(
        "DEPTHWISE_CONV_2D", [x, Constant(w[..., :1]), Constant([0])], [(1, 1, 1, 1)], depth_multiplier=1, **settings
    )
    same(y, np.ones((1, 1, 1, 1)))


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_negative_same_padding_leaves_the_bias(op):
    x = np.ones((1, 1, 3, 1), np.float32)
    w = np.ones((1, 1, 2, 1), np.float32)
    settings = options((3, 3), (1, 1), "SAME", **({"depth_multiplier": 1} if op[0] == "D" else {}))
    same(run(op, [x, Constant(w), Constant([0.5])], [(1, 1, 1, 1)], **settings)[0], [[[[0.5]]]])


def test_surplus_taps_of_a_depthwise_kernel_read_the_next_column():
    """A 1x2 filter runs on three taps, the third has weight 0: it makes NaN of an infinity behind the window."""
    x = f32([1, 2, np.inf, 3]).reshape(1, 1, 4, 1)
    settings = options((1, 1), (1, 1), "VALID", depth_multiplier=1)
    [y] = run("DEPTHWISE_CONV_2D", [x, Constant(np.ones((1, 1, 2, 1))), Constant([0])], [(1, 1, 3, 1)], **settings)
    assert np.isnan(y[0, 0, 0, 0])
    same(y[0, 0, 1:, 0], [np.inf, np.inf])


@pytest.mark.parametrize(("rows", "depth", "outputs"), [(1, 9, 70), (3, 7, 17), (6, 1, 8), (1, 3, 1)])
def test_fully_connected(rows, depth, outputs):
    rng = np.random.default_rng(5)
    x, w, b = (f32(rng.standard_normal(shape)) for shape in ((rows, depth), (outputs, depth), (outputs,)))
    want = [[max(chain(b[o], zip(x[r], w[o], strict=True)), f32(0)) for o in range(outputs)] for r in range(rows)]
    [y] = run("FULLY_CONNECTED", [x, Constant(w), Constant(b)], [(rows, outputs)], fused_activation_function="RELU")
    same(y, want)


def test_fused_products_round_once():
    x = f32([[1 + 2**-12, 1 + 2**-11]])
    w = f32([[1 + 2**-12, -1]])
    same(run("FULLY_CONNECTED", [x, Constant(w), None], [(1, 1)])[0], [[chain(f32(0), zip(x[0], w[0], strict=True))]])


def lanes(bias, pairs):
    """Four sums, value k in sum k % 4, over whole groups of four; and the pairs that are left over."""
    whole = len(pairs) // 4 * 4
    return [chain(start, pairs[i:whole:4]) for i, start in enumerate([bias, f32(0), f32(0), f32(0)])], pairs[whole:]


def two_chains(bias, pairs):
    return chain(bias, pairs[::2]) + chain(f32(0), pairs[1::2])


def four_lanes(bias, pairs):
    s, rest = lanes(bias, pairs)
    return chain((s[0] + s[1]) + (s[2] + s[3]), rest)


def four_chains(bias, pairs):
    s, rest = lanes(bias, pairs)
    return chain(s[0] + s[2], rest[::2]) + chain(s[1] + s[3], rest[1::2])


@pytest.mark.skipif(not AARCH64, reason="only Arm cores have kernels of several chains")
@pytest.mark.parametrize(
    ("rules", "rows", "outputs", "order"),
    [
        (("one", 1, 8), 1, 16, chain),
        (("two", 1, 8), 1, 16, two_chains),
        (("four", 2, 8), 1, 16, four_chains),
        (("two", 1, 8), 3, 16, chain),
        (("two", 1, 8), 3, 5, four_lanes),  # narrower than a block
        (("two", 1, 8), 3, 17, four_lanes),  # seven columns of a whole block would be surplus
        (("two", 1, 8), 3, 40, chain),
        (("one", 0, 16), 3, 9, four_lanes),
    ],
)
def test_several_chains(rules, rows, outputs, order, monkeypatch):
    take_product_rules(monkeypatch, *rules)
    rng = np.random.default_rng(8)
    for depth in (1, 2, 7, 12, 15):
        x, w, b = (f32(rng.standard_normal(shape)) for shape in ((rows, depth), (outputs, depth), (outputs,)))
        want = [[order(b[o], list(zip(x[r], w[o], strict=True))) for o in range(outputs)] for r in range(rows)]
        same(run("FULLY_CONNECTED", [x, Constant(w), Constant(b)], [(rows, outputs)])[0], want)


@pytest.mark.skipif(not AARCH64, reason="only Arm cores have kernels of several chains")
@pytest.mark.parametrize(("outputs", "side", "order"), [(5, 5, two_chains), (8, 2, two_chains), (8, 5, chain)])
def test_windows_of_several_chains(outputs, side, order, monkeypatch):
    """Few columns, or few positions: here one."""
    take_product_rules(monkeypatch, "one", 1, 8)
    rng = np.random.default_rng(9)
    x, w = f32(rng.standard_normal((1, side, side, 4))), f32(rng.standard_normal((outputs, 2, 2, 4)))
    b = f32(rng.standard_normal(outputs))
    size, found = windows(x[0], 2, 2, (1, 1), (1, 1), "VALID")
    want = np.empty((1, *size, outputs), np.float32)
    for (oy, ox), taps in found.items():
        for o in range(outputs):
            want[0, oy, ox, o] = order(b[o], list(zip(taps.ravel(), w[o].ravel(), strict=True)))
    settings = options((1, 1), (1, 1), "VALID")
    same(run("CONV_2D", [x, Constant(w), Constant(b)], [want.shape], **settings)[0], want)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "turned"),
    [
        ((2, 3, 4), (4, 5), (0, 0)),
        ((2, 1, 4, 3), (3, 5, 4), (1, 1)),
        ((2, 4, 3), (4, 21), (1, 0)),
        ((3, 7, 9), (1, 18, 9), (0, 1)),
        ((5, 6), (2, 1, 6, 33), (0, 0)),
    ],
)
def test_batch_matmul(first, second, turned, constant):
    rng = np.random.default_rng(6)
    a, b = f32(rng.standard_normal(first)), f32(rng.standard_normal(second))
    left = np.swapaxes(a, -1, -2) if turned[0] else a
    right = np.swapaxes(b, -1, -2) if turned[1] else b
    batches = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = np.broadcast_to(left, batches + left.shape[-2:]), np.broadcast_to(right, batches + right.shape[-2:])
    want = np.empty((*batches, left.shape[-2], right.shape[-1]), np.float32)
    for i in np.ndindex(want.shape):
        want[i] = chain(f32(0), zip(left[i[:-1]], right[(*i[:-2], slice(None), i[-1])], strict=True))
    operands = [a, Constant(b) if constant else b]
    same(run("BATCH_MATMUL", operands, [want.shape], adj_x=bool(turned[0]), adj_y=bool(turned[1]))[0], want)


def transposed(x, w, b, stride, before, size):
    """Scatter: output [oh, ow, o] from an image [h, w, i] and filters [o, kh, kw, i], taps in the order of the filter."""
    y = np.empty((*size, len(w)), np.float32)
    for oy, ox, o in np.ndindex(y.shape):
        pairs = []
        for ky, kx in np.ndindex(*w.shape[1:3]):
            ty, tx = oy + before[0] - ky, ox + before[1] - kx
            if ty % stride[0] or tx % stride[1]:
                continue
            iy, ix = ty // stride[0], tx // stride[1]
            inside = 0 <= iy < x.shape[0] and 0 <= ix < x.shape[1]
            pairs += zip(x[iy, ix] if inside else np.zeros(x.shape[2], np.float32), w[o, ky, kx], strict=True)
        y[oy, ox, o] = chain(b[o], pairs)
    return y


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize(
    ("stride", "pad", "size", "before"),
    [((2, 2), "SAME", (6, 8), (0, 0)), ((1, 2), "SAME", (3, 7), (1, 1)), ((2, 1), "VALID", (8, 6), (0, 0))],
)
def test_transposed_convolution(stride, pad, size, before, custom):
    rng = np.random.default_rng(7)
    x, w, b = (
        f32(rng.standard_normal((1, 3, 4, 3))),
        f32(rng.standard_normal((18, 3, 3, 3))),
        f32(rng.standard_normal(18)),
    )
    want = transposed(x[0], w, b, stride, before, size)[None]
    if custom:
        data = np.array([1 if pad == "SAME" else 2, stride[1], stride[0]], np.int32).tobytes()
        [y] = run("Convolution2DTransposeBias", [x, Constant(w), Constant(b)], [want.shape], custom_options=data)
    else:
        shape = Constant(want.shape, "int32")
        [y] = run(
            "TRANSPOSE_CONV",
            [shape, Constant(w), x, Constant(b)],
            [want.shape],
            3,
            padding=pad,
            stride_h=stride[0],
            stride_w=stride[1],
        )
    same(y, want)


def test_transposed_filters_of_other_channels_are_refused_when_they_are_reached():
    """TensorFlow's delegate does not compare them when the input is resized."""
    x, y = Tensor([1, 1, 1, 2], "float32"), Tensor([1, 1, 1, 1], "float32")
    given = [np.int32([1, 1, 1, 1]), np.ones([1, 1, 1, 2], np.float32), np.zeros(1, np.float32)]
    size, w, bias = (Tensor.constant(value) for value in given)
    model = Model.single("TRANSPOSE_CONV", [size, w, x, bias], [y], 3, padding="VALID", stride_h=1, stride_w=1)
    interpreter = allocated(model)
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, [1, 1, 1, 1])
    interpreter.allocate_tensors()
    feed(interpreter, np.ones([1, 1, 1, 1], np.float32))
    with pytest.raises(RuntimeError, match="a filter of the shape"):
        interpreter.invoke()
    interpreter.resize_tensor_input(index, [1, 1, 1, 2])
    interpreter.allocate_tensors()
    feed(interpreter, np.float32([3, 4]).reshape(1, 1, 1, 2))
    interpreter.invoke()
    same(outputs_of(interpreter)[0], f32(7).reshape(1, 1, 1, 1))
