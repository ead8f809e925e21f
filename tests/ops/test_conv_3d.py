"""CONV_3D and CONV_3D_TRANSPOSE against sums in numpy, and what is refused."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64
from tflm_cy import OpResolverType

from .evaluate import REFUSED, run

RESOLVERS = (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO)


def window(size, kernel, stride, dilation, padding):
    """(windows, padding in front)."""
    span = (kernel - 1) * dilation + 1
    windows = -(-size // stride) if padding == "SAME" else (size - span) // stride + 1
    return windows, max((windows - 1) * stride + span - size, 0) // 2


def taps(sizes, kernel, strides, dilations, padding):
    """(output place, tap, input place) of a convolution, all inside."""
    axes = []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        windows, pad = window(size, k, stride, dilation, padding)
        axes.append([(o, t, o * stride - pad + t * dilation) for o in range(windows) for t in range(k)])
    for d in axes[0]:
        for h in axes[1]:
            for w in axes[2]:
                places = list(zip(d, h, w, strict=True))
                if all(0 <= i < n for i, n in zip(places[2], sizes, strict=True)):
                    yield places


def options(strides, dilations, padding, **more):
    names = ("stride_d", "stride_h", "stride_w", "dilation_d_factor", "dilation_h_factor", "dilation_w_factor")
    return {**dict(zip(names, [*strides, *dilations], strict=True)), "padding": padding, **more}


SHAPES = [
    ((4, 5, 3), (2, 3, 1), (1, 2, 1), (1, 1, 1), "SAME"),
    ((4, 5, 3), (2, 2, 2), (2, 1, 1), (1, 1, 1), "VALID"),
    ((5, 5, 5), (2, 2, 3), (1, 1, 1), (2, 1, 2), "SAME"),
    ((1, 1, 1), (3, 3, 3), (1, 1, 1), (1, 1, 1), "SAME"),
]


@pytest.mark.parametrize("resolver", RESOLVERS, ids=str)
@pytest.mark.parametrize("sizes, kernel, strides, dilations, padding", SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_conv_3d(sizes, kernel, strides, dilations, padding, with_bias, resolver):
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ([2, *sizes, 3], [*kernel, 3, 5]))
    bias = rng.integers(-9, 9, 5).astype(np.float32) * with_bias
    out = [window(*v, padding)[0] for v in zip(sizes, kernel, strides, dilations, strict=True)]
    want = np.zeros([2, *out, 5], np.float32) + bias
    for (d, h, v), t, (a, b, c) in taps(sizes, kernel, strides, dilations, padding):
        want[:, d, h, v] += x[:, a, b, c] @ w[t]
    inputs = [Tensor(x.shape, "float32"), Tensor.constant(w), *([Tensor.constant(bias)] if with_bias else [])]
    y = Tensor(want.shape, "float32")
    more = options(strides, dilations, padding, fused_activation_function="RELU")
    got = run(Model.single("CONV_3D", inputs, [y], **more).to_bytes(), [x], resolver)[0]
    assert got.tolist() == np.maximum(want, 0).tolist()


@pytest.mark.parametrize("channels, at, fused", [(2, 1, True), (1, 1, False), (1, 8, True)])
def test_products_are_fused_with_their_sum_on_aarch64(channels, at, fused):
    """But not in blocks of eight of the only output channel."""
    x, w = np.zeros([1, 1, 1, 1, 9], np.float32), np.zeros([1, 1, 1, 9, channels], np.float32)
    x[..., 0], w[..., 0, :] = -1 - 2**-11, 1
    x[..., at] = w[..., at, :] = 1 + 2**-12
    y = Tensor([1, 1, 1, 1, channels], "float32")
    blob = Model.single(
        "CONV_3D", [Tensor(x.shape, "float32"), Tensor.constant(w)], [y], **options([1] * 3, [1] * 3, "SAME")
    ).to_bytes()
    got = run(blob, [x], OpResolverType.BUILTIN_REF)[0]
    assert got.tolist() == [[[[[2.0**-24 * (fused and AARCH64)] * channels]]]]


@pytest.mark.parametrize("resolver", RESOLVERS, ids=str)
@pytest.mark.parametrize(
    "sizes, kernel, strides, dilations, padding",
    [
        ((4, 4, 3), (3, 3, 1), (1, 1, 2), (1, 1, 1), "SAME"),
        *SHAPES[1:],
    ],  # see test_planes_are_left_out for other paddings
)
@pytest.mark.parametrize("shape_fed", [True, False])
def test_conv_3d_transpose(sizes, kernel, strides, dilations, padding, shape_fed, resolver):
    rng = np.random.default_rng(4)
    small = [window(*v, padding)[0] for v in zip(sizes, kernel, strides, dilations, strict=True)]
    x, w = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ([2, *small, 4], [*kernel, 3, 4]))
    bias = rng.integers(-9, 9, 3).astype(np.float32)
    want = np.zeros([2, *sizes, 3], np.float32) + bias
    for (d, h, v), t, (a, b, c) in taps(sizes, kernel, strides, dilations, padding):
        want[:, a, b, c] += x[:, d, h, v] @ w[t].T
    shape = np.array(want.shape, np.int32)
    first = Tensor([5], "int32") if shape_fed else Tensor.constant(shape)
    inputs = [first, Tensor.constant(w), Tensor(x.shape, "float32"), Tensor.constant(bias)]
    model = Model.single(
        "CONV_3D_TRANSPOSE", inputs, [Tensor(shape, "float32")], **options(strides, dilations, padding)
    )
    arrays = [shape, x] if shape_fed else [x]
    assert run(model.to_bytes(), arrays, resolver)[0].tolist() == want.tolist()


def test_planes_are_left_out():
    """TensorFlow's optimized kernel reckons the padding behind the depth from the height's."""
    w, x = np.ones([3, 1, 1, 1, 1], np.float32), np.ones([1, 3, 1, 1, 1], np.float32)
    inputs = [Tensor.constant(np.array([1, 3, 1, 1, 1], np.int32)), Tensor.constant(w), Tensor(x.shape, "float32")]
    model = Model.single("CONV_3D_TRANSPOSE", inputs, [Tensor(x.shape, "float32")], **options([1] * 3, [1] * 3, "SAME"))
    assert run(model.to_bytes(), [x], RESOLVERS[0])[0].ravel().tolist() == [2, 3, 2]
    assert run(model.to_bytes(), [x], RESOLVERS[1])[0].ravel().tolist() == [2, 2, 1]


@pytest.mark.parametrize(
    "x, w, bias, changes",
    [
        ([1, 3, 3, 3], [1, 1, 1, 3, 2], [2], {}),
        ([1, 3, 3, 3, 4], [1, 1, 1, 3, 2], [2], {}),
        ([1, 3, 3, 3, 3], [1, 1, 1, 3, 2], [3], {}),
        ([1, 3, 3, 3, 3], [1, 1, 1, 3, 2], [2], {"stride_d": -1}),
        ([1, 3, 3, 3, 3], [1, 1, 1, 3, 2], [2], {"dilation_w_factor": -1}),
        ([1, 3, 3, 3, 3], [2, 1, 1, 3, 2], [2], {"dilation_d_factor": 2**31 - 1}),
        ([1, 3, 3, 3, 3], [9, 1, 1, 3, 2], [2], {"padding": "VALID"}),
    ],
)
def test_conv_3d_refuses(x, w, bias, changes):
    inputs = [
        Tensor(x, "float32"),
        Tensor.constant(np.zeros(w, np.float32)),
        Tensor.constant(np.zeros(bias, np.float32)),
    ]
    more = {**options([1] * 3, [1] * 3, "SAME"), **changes}
    with pytest.raises(REFUSED):
        run(Model.single("CONV_3D", inputs, [Tensor([1], "float32")], **more).to_bytes(), [np.zeros(x, np.float32)])


@pytest.mark.parametrize(
    "shape", [[1, 4, 3, 3, 2], [2, 3, 3, 3, 2], [1, 3, 3, 3, 4], [1, -3, 3, 3, 2], [1, 3, 3, 2**31 - 1, 2]]
)
@pytest.mark.parametrize("fed", [True, False])
def test_conv_3d_transpose_refuses(shape, fed):
    shape, x = np.array(shape, np.int32), np.zeros([1, 3, 3, 3, 5], np.float32)
    first = Tensor([5], "int32") if fed else Tensor.constant(shape)
    inputs = [first, Tensor.constant(np.zeros([1, 1, 1, 2, 5], np.float32)), Tensor(x.shape, "float32")]
    model = Model.single("CONV_3D_TRANSPOSE", inputs, [Tensor([1], "float32")], **options([1] * 3, [1] * 3, "SAME"))
    with pytest.raises(REFUSED):
        run(model.to_bytes(), [shape, x] if fed else [x])


@pytest.mark.parametrize("changes", [{"stride_d": 0}, {"padding": 9}])
def test_conv_3d_without_windows_is_empty(changes):
    x = np.zeros([1, 3, 3, 3, 3], np.float32)
    more = {**options([1] * 3, [1] * 3, "SAME"), **changes}
    w = Tensor.constant(np.ones([1, 1, 1, 3, 2], np.float32))
    model = Model.single("CONV_3D", [Tensor(x.shape, "float32"), w], [Tensor([1], "float32")], **more)
    [y] = run(model.to_bytes(), [x])
    assert y.size == 0
    assert y.shape == ((1, 0, 3, 3, 2) if "stride_d" in changes else (1, 0, 0, 0, 2))


@pytest.mark.parametrize(
    ("resolver", "want"),
    [(OpResolverType.BUILTIN_REF, 0x00555555), (OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, 0)],
)
def test_the_optimized_kernel_takes_denormals_for_zeros(resolver, want):
    x = np.full((1, 2, 2, 2, 1), 0x00555555, np.uint32).view(np.float32)
    inputs = [Tensor([1, 2, 2, 2, 1], "float32"), Tensor.constant(np.ones((1, 1, 1, 1, 1), np.float32))]
    model = Model.single("CONV_3D", inputs, [Tensor([1, 2, 2, 2, 1], "float32")], **options([1] * 3, [1] * 3, "VALID"))
    (got,) = run(model.to_bytes(), [x], resolver)
    assert (got.view(np.uint32) == want).all()
