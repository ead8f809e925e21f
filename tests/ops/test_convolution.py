"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV: against numpy in exact integers or float64, refusals, hostile attributes."""

import numpy as np
import pytest

from compat.builder import Tensor
from tests.machine import AARCH64
from tflm_cy import OpResolverType

from .one_operator import run

RNG = np.random.default_rng(5)
REFUSED = (ValueError, RuntimeError)
TYPES = {  # activation, weights, bias
    "float32": ("float32", "float32", "float32"),
    "int8": ("int8", "int8", "int32"),
    "uint8": ("uint8", "uint8", "int32"),
    "int16": ("int16", "int8", "int64"),
}


def numbers(shape, dtype):
    if dtype == "float32":
        return RNG.integers(-8, 9, shape).astype(np.float32)  # exact in any order of summation
    info = np.iinfo(dtype)
    return RNG.integers(info.min + 1, info.max + 1, shape).astype(dtype)


def windows(x, filter_size, stride, dilation, padding):
    """x padded and cut into windows [n, oh, ow, kh, kw, c]; a zero stands outside."""
    pads = []
    for size, k, s, d in zip(x.shape[1:3], filter_size, stride, dilation, strict=True):
        total = max(0, (-(-size // s) - 1) * s + (k - 1) * d + 1 - size) if padding == "SAME" else 0
        pads.append((total // 2, total - total // 2))
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    spans = [(k - 1) * d + 1 for k, d in zip(filter_size, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(x, spans, (1, 2))[:, :: stride[0], :: stride[1]]
    return views[..., :: dilation[0], :: dilation[1]].transpose(0, 1, 2, 4, 5, 3)


def quantized(dtype, scale=None, zero_point=0):
    return {} if dtype == "float32" else {"scale": scale, "zero_point": zero_point}


def rescaled(total, multiplier, zero_point, dtype):
    """What a sum becomes, in float64: exact but for ties."""
    info = np.iinfo(dtype)
    return np.clip(total * multiplier + zero_point, info.min, info.max)


def assert_close_to(y, want):
    """Equal floats; quantized values within rounding (twice for 8 bits, with a 16-bit multiplier for int16)."""
    if y.dtype == np.float32:
        np.testing.assert_array_equal(y, want.astype(np.float32))
    else:
        assert y.shape == want.shape
        assert np.abs(y - want).max() <= (1.51 if y.dtype == np.int16 else 0.55)


GEOMETRIES = [  # filter, stride, dilation, padding
    ((3, 3), (1, 1), (1, 1), "SAME"),
    ((2, 3), (2, 1), (1, 1), "VALID"),
    ((3, 2), (2, 2), (1, 2), "SAME"),
    ((1, 1), (1, 1), (1, 1), "VALID"),
    ((5, 4), (3, 2), (2, 1), "SAME"),
]


def options(stride, dilation, padding, **more):
    return {
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        "padding": padding,
        **more,
    }


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(("channels", "outputs", "groups"), [(3, 5, 1), (4, 24, 1), (6, 8, 2)])
def test_conv_2d(kind, geometry, channels, outputs, groups):
    dtype, weight_type, bias_type = TYPES[kind]
    size, stride, dilation, padding = geometry
    xz, wz, yz = {"int8": (3, 0, -5), "uint8": (120, 131, 90)}.get(kind, (0, 0, 0))
    x, w = numbers((2, 7, 6, channels), dtype), numbers((outputs, *size, channels // groups), weight_type)
    b = numbers(outputs, "int8").astype(bias_type)
    cut = windows(x.astype(np.int64) - xz, size, stride, dilation, padding)
    filters = w.astype(np.int64) - wz
    sums = []
    for c in range(outputs):
        group = c // (outputs // groups)
        part = slice(group * channels // groups, (group + 1) * channels // groups)
        sums.append((cut[..., part] * filters[c]).sum((3, 4, 5)) + int(b[c]))
    want = np.stack(sums, -1)
    scales = RNG.uniform(0.01, 0.02, 1 if kind == "uint8" else outputs).astype(np.float32)
    ys = float(np.abs(want).max()) * 0.02 * 0.5 / np.iinfo(dtype).max if kind != "float32" else 1
    [y] = run(
        "CONV_2D",
        [
            (x, Tensor(x.shape, dtype, **quantized(dtype, 0.5, xz))),
            Tensor.constant(w, **quantized(dtype, list(scales), [wz] * len(scales))),
            Tensor.constant(b, **quantized(dtype, list(0.5 * scales), [0] * len(scales))),
        ],
        [Tensor([1, 1, 1, outputs], dtype, **quantized(dtype, ys, yz))],
        **options(stride, dilation, padding),
    )
    assert_close_to(
        y, want if kind == "float32" else rescaled(want, 0.5 * scales.astype(float) / np.float32(ys), yz, dtype)
    )


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(("channels", "multiplier"), [(1, 3), (5, 1), (21, 1), (4, 2)])
def test_depthwise_conv_2d(kind, geometry, channels, multiplier):
    dtype, weight_type, bias_type = TYPES[kind]
    size, stride, dilation, padding = geometry
    outputs = channels * multiplier
    xz, wz, yz = {"int8": (3, 0, -5), "uint8": (120, 131, 90)}.get(kind, (0, 0, 0))
    x, w = numbers((2, 7, 6, channels), dtype), numbers((1, *size, outputs), weight_type)
    b = numbers(outputs, "int8").astype(bias_type)
    cut = windows(np.repeat(x.astype(np.int64) - xz, multiplier, 3), size, stride, dilation, padding)
    want = (cut * (w[0].astype(np.int64) - wz)).sum((3, 4)) + b.astype(np.int64)
    scales = RNG.uniform(0.01, 0.02, 1 if kind == "uint8" else outputs).astype(np.float32)
    ys = float(np.abs(want).max()) * 0.02 * 0.5 / np.iinfo(dtype).max if kind != "float32" else 1
    [y] = run(
        "DEPTHWISE_CONV_2D",
        [
            (x, Tensor(x.shape, dtype, **quantized(dtype, 0.5, xz))),
            Tensor.constant(w, **quantized(dtype, list(scales), [wz] * len(scales)), axis=3),
            Tensor.constant(b, **quantized(dtype, list(0.5 * scales), [0] * len(scales))),
        ],
        [Tensor([1, 1, 1, outputs], dtype, **quantized(dtype, ys, yz))],
        **options(stride, dilation, padding, depth_multiplier=multiplier),
    )
    assert_close_to(
        y, want if kind == "float32" else rescaled(want, 0.5 * scales.astype(float) / np.float32(ys), yz, dtype)
    )


def scatter(x, w, shape, stride, pad):
    """Every input pixel adds its product with the filter to the output."""
    out = np.zeros((x.shape[0], shape[1] + 16, shape[2] + 16, shape[3]), np.int64)
    for iy in range(x.shape[1]):
        for ix in range(x.shape[2]):
            top, left = iy * stride[0] - pad[0] + 8, ix * stride[1] - pad[1] + 8
            out[:, top : top + w.shape[1], left : left + w.shape[2]] += np.einsum("nc,oyxc->nyxo", x[:, iy, ix], w)
    return out[:, 8 : 8 + shape[1], 8 : 8 + shape[2]]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("size", "stride", "padding", "shape", "pad"),
    [
        ((3, 3), (2, 2), "SAME", (2, 8, 6, 5), (0, 0)),
        ((3, 2), (1, 1), "SAME", (2, 4, 3, 5), (1, 0)),
        ((2, 4), (2, 3), "VALID", (2, 8, 10, 5), (0, 0)),
    ],
)
def test_transpose_conv(kind, dynamic, size, stride, padding, shape, pad):
    dtype, weight_type, bias_type = TYPES[kind]
    xz, wz, yz = {"int8": (3, 0, -5), "uint8": (120, 131, 90)}.get(kind, (0, 0, 0))
    x, w = numbers((2, 4, 3, 4), dtype), numbers((5, *size, 4), weight_type)
    b = numbers(5, "int8").astype(bias_type)
    want = scatter(x.astype(np.int64) - xz, w.astype(np.int64) - wz, shape, stride, pad) + b.astype(np.int64)
    scales = RNG.uniform(0.01, 0.02, 1 if kind == "uint8" else 5).astype(np.float32)
    ys = float(np.abs(want).max()) * 0.02 * 0.5 / np.iinfo(dtype).max if kind != "float32" else 1
    where = np.array(shape, np.int32)
    [y] = run(
        "TRANSPOSE_CONV",
        [
            (where, "int32") if dynamic else where,
            Tensor.constant(w, **quantized(dtype, list(scales), [wz] * len(scales))),
            (x, Tensor(x.shape, dtype, **quantized(dtype, 0.5, xz))),
            Tensor.constant(b, **quantized(dtype, list(0.5 * scales), [0] * len(scales))),
        ],
        [Tensor([1, 1, 1, 5], dtype, **quantized(dtype, ys, yz))],
        version=5,
        stride_h=stride[0],
        stride_w=stride[1],
        padding=padding,
    )
    assert_close_to(
        y, want if kind == "float32" else rescaled(want, 0.5 * scales.astype(float) / np.float32(ys), yz, dtype)
    )


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"])
@pytest.mark.parametrize("scales", [[0.02], [0.02, 0.03, 0.01]])
def test_hybrid_is_near_the_float_result(op, scales):
    if op == "DEPTHWISE_CONV_2D" and len(scales) == 1:
        pytest.skip("a scale per channel is required")
    x = RNG.standard_normal((2, 5, 4, 3)).astype(np.float32)
    filter_shape = (1, 3, 3, 3) if op == "DEPTHWISE_CONV_2D" else (3, 3, 3, 3)
    axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
    w = RNG.integers(-127, 128, filter_shape).astype(np.int8)
    factor = np.array(scales, np.float32) if axis else np.array(scales, np.float32).reshape(-1, 1, 1, 1)
    b = RNG.standard_normal(3).astype(np.float32)

    def outputs(weights):
        inputs = [(x, "float32"), weights, b]
        if op == "TRANSPOSE_CONV":
            inputs = [np.array([2, 5, 4, 3], np.int32), weights, (x, "float32"), b]
        more = {"depth_multiplier": 1} if axis else {}
        return run(op, inputs, [Tensor([1], "float32")], version=5, stride_h=1, stride_w=1, padding="SAME", **more)[0]

    hybrid = outputs(Tensor.constant(w, scale=scales, zero_point=[0] * len(scales), axis=axis))
    exact = outputs(Tensor.constant((w * factor).astype(np.float32)))
    assert 0 < np.abs(hybrid - exact).max() < 0.02 * np.abs(exact).max() + 0.3


def test_an_infinite_weight_outside_of_the_image_is_not_seen():
    w = np.full((1, 3, 3, 1), np.inf, np.float32)
    w[0, 1, 1, 0] = 1
    [y] = run(
        "CONV_2D",
        [(np.full((1, 1, 1, 1), 7, np.float32), "float32"), w, np.zeros(1, np.float32)],
        [Tensor([1], "float32")],
        padding="SAME",
        stride_h=1,
        stride_w=1,
    )
    assert y.tolist() == [[[[7]]]]


def test_of_several_nans_the_last_product_survives():
    """On aarch64, where products and sums are fused, the first one."""
    bits = np.array([0x7FC00001, 0x7FC00002], np.uint32).view(np.float32)
    [y] = run(
        "CONV_2D",
        [(bits.reshape(1, 1, 1, 2), "float32"), np.ones((1, 1, 1, 2), np.float32), bits[:1]],
        [Tensor([1], "float32")],
        padding="VALID",
        stride_h=1,
        stride_w=1,
    )
    assert y.view(np.uint32).tolist() == [[[[0x7FC00001 if AARCH64 else 0x7FC00002]]]]


def test_fused_activation_clamps():
    x = np.array([-9, -0.5, 0.5, 9], np.float32).reshape(1, 4, 1, 1)
    for activation, want in [("RELU", [0, 0, 0.5, 9]), ("RELU6", [0, 0, 0.5, 6]), ("RELU_N1_TO_1", [-1, -0.5, 0.5, 1])]:
        [y] = run(
            "CONV_2D",
            [(x, "float32"), np.ones((1, 1, 1, 1), np.float32), np.zeros(1, np.float32)],
            [Tensor([1], "float32")],
            padding="VALID",
            stride_h=1,
            stride_w=1,
            fused_activation_function=activation,
        )
        assert y.ravel().tolist() == want


@pytest.mark.parametrize("constant", [False, True])
def test_int4_weights(constant):
    x, w = numbers((1, 3, 3, 4), "int8"), RNG.integers(-8, 8, (3, 2, 2, 4)).astype(np.int8)
    b = np.zeros(3, np.int32)
    outputs = []
    for kind in ("int8", "int4"):
        weights = Tensor.constant(w, kind, scale=[0.1, 0.2, 0.3], zero_point=[0, 0, 0])
        [y] = run(
            "CONV_2D",
            [
                (x, Tensor(x.shape, "int8", scale=0.1, zero_point=4)),
                weights,
                Tensor.constant(b, scale=[0.01], zero_point=[0]),
            ],
            [Tensor([1], "int8", scale=0.7)],
            version=8,
            padding="VALID",
            stride_h=1,
            stride_w=1,
        )
        outputs.append(y.tobytes())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stride_h": 0}, "stride_height > 0"),
        ({"stride_w": -1}, "stride_height > 0"),
        ({"dilation_h_factor": 0}, "dilation_height_factor > 0"),
        ({"dilation_w_factor": 2**31 - 1, "padding": "VALID"}, "does not fit"),
    ],
)
@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_refuses_attributes(op, change, message):
    fields = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "padding": "SAME"} | change
    x, w, b = (
        np.ones((1, 3, 3, 2), np.float32),
        np.ones((1, 2, 2, 2), np.float32),
        np.zeros(2 if op[0] == "D" else 1, np.float32),
    )
    with pytest.raises(REFUSED, match="INT16_MAX" if op[0] == "D" and "dilation_w_factor" in change else message):
        run(op, [(x, "float32"), w, b], [Tensor([1], "float32")], **fields)


def test_refuses_shapes_and_types():
    fields = {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
    x, out = (np.ones((1, 3, 3, 2), np.float32), "float32"), [Tensor([1], "float32")]
    with pytest.raises(REFUSED, match="input_channel % filter_input_channel"):
        run("CONV_2D", [x, np.ones((1, 1, 1, 3), np.float32), np.zeros(1, np.float32)], out, **fields)
    with pytest.raises(REFUSED, match="has_bias"):
        run("CONV_2D", [x, np.ones((1, 1, 1, 2), np.float32)], out, **fields)
    with pytest.raises(REFUSED, match="NumElements"):
        run("CONV_2D", [x, np.ones((1, 1, 1, 2), np.float32), np.zeros(2, np.float32)], out, **fields)
    with pytest.raises(REFUSED, match="not supported"):
        run("CONV_2D", [x, np.ones((1, 1, 1, 2), np.int32), np.zeros(1, np.float32)], out, **fields)
    with pytest.raises(REFUSED, match="num_filter_channels % num_input_channels"):
        run("DEPTHWISE_CONV_2D", [x, np.ones((1, 1, 1, 3), np.float32)], out, **fields)
    for shape in ([1, -3, 3, 1], [2, 3, 3, 1], [1, 3, 3, 4]):
        for where in (np.array(shape, np.int32), (np.array(shape, np.int32), "int32")):
            with pytest.raises(REFUSED, match="output shape"):
                run("TRANSPOSE_CONV", [where, np.ones((1, 1, 1, 2), np.float32), x], out, **fields)


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("size", [1, 2])
def test_a_padding_of_another_name_gives_nothing(op, size):
    w = np.ones((1, size, size, 1), np.float32)
    inputs = [(np.ones((2, 4, 3, 1), np.float32), "float32"), w, np.zeros(1, np.float32)]
    [y] = run(op, inputs, [Tensor([1], "float32")], version=5, stride_h=1, stride_w=1, padding=9)
    assert y.shape == (2, 0, 0, 1)


def test_transposed_without_a_known_padding_begins_in_the_corner():
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    inputs = [np.array([1, 3, 3, 1], np.int32), np.ones((1, 2, 2, 1), np.float32), (x, "float32")]
    [y] = run("TRANSPOSE_CONV", inputs, [Tensor([1], "float32")], version=1, stride_h=1, stride_w=1, padding=9)
    assert y.ravel().tolist() == [0, 1, 1, 2, 6, 4, 2, 5, 3]


@pytest.mark.parametrize(
    ("resolver", "second"), [("BUILTIN_REF", [5, 6, 7]), ("BUILTIN_WITHOUT_DEFAULT_DELEGATES", [4, 5, 6])]
)
def test_transposed_to_fewer_columns_than_the_input_has(resolver, second):
    """The optimized kernels take the pixels in the rows that the forward convolution has: 3 instead of 4."""
    x = np.array([9, 1, 2, 4, 5, 6, 7, 8], np.float32).reshape(1, 2, 4, 1)
    inputs = [np.array([1, 2, 3, 1], np.int32), np.ones((1, 1, 1, 1), np.float32), (x, "float32")]
    geometry = {"stride_h": 1, "stride_w": 1, "padding": "VALID", "resolver": getattr(OpResolverType, resolver)}
    [y] = run("TRANSPOSE_CONV", inputs, [Tensor([1], "float32")], **geometry)
    assert y.ravel().tolist() == [9, 1, 2, *second]


@pytest.mark.parametrize("resolver", [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
@pytest.mark.parametrize("dtype", TYPES)
def test_an_image_without_rows_gives_one_without_rows(dtype, resolver):
    weights, bias = TYPES[dtype][1:]
    for op, filter_shape, channels in (("CONV_2D", [4, 1, 2, 3], 4), ("DEPTHWISE_CONV_2D", [1, 1, 2, 3], 3)):
        image = Tensor([1, 0, 11, 3], dtype, **quantized(dtype, 0.5))
        y = Tensor([1, 0, 11, channels], dtype, **quantized(dtype, 0.5))
        w = Tensor.constant(np.ones(filter_shape, weights), **quantized(weights, 0.5))
        b = Tensor.constant(np.ones(channels, bias), **quantized(bias, 0.25))
        options = {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
        found = run(op, [(np.zeros([1, 0, 11, 3], dtype), image), w, b], [y], 3, resolver=resolver, **options)
        assert found[0].shape == (1, 0, 11, channels)


@pytest.mark.parametrize("resolver", [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_transpose_conv_of_nothing_is_the_bias(resolver):
    image, y = Tensor([1, 0, 2, 3], "float32"), Tensor([1, 4, 4, 2], "float32")
    w, b = np.ones([2, 2, 2, 3], np.float32), np.array([5, -7], np.float32)
    options = {"stride_h": 2, "stride_w": 2, "padding": "SAME"}
    shape = np.array([1, 4, 4, 2], np.int32)
    found = run(
        "TRANSPOSE_CONV",
        [shape, w, (np.zeros([1, 0, 2, 3], np.float32), image), b],
        [y],
        3,
        resolver=resolver,
        **options,
    )
    assert (found[0] == b).all()
