"""float32 pools, resizing, reductions and SOFTMAX in the default mode: known answers and the order of sums."""

import numpy as np
import pytest
from tflm_cy.ops.generation import generation_name

from compat.builder import Model, Tensor
from tests.machine import AARCH64

from .delegated import Constant, f32, invoke, only_where_supported, run, same

pytestmark = only_where_supported

NAN = np.nan
WIDE = generation_name() == "avx512"


def pool(op, x, size, out, pad="VALID", stride=(1, 1), **options):
    return run(
        op, [x], [out], padding=pad, stride_h=stride[0], stride_w=stride[1], filter_height=size[0], filter_width=size[1], **options
    )[0]  # fmt: skip


@pytest.mark.parametrize("channels", [1, 8, 19])
def test_pools_of_whole_numbers(channels):
    x = f32(np.random.default_rng(1).integers(-99, 99, (2, 7, 8, channels)))
    out = (2, 4, 3, channels)
    blocks = np.stack([x[:, i : i + 4, j : j + 6][:, :4, :5:2] for i in range(4) for j in range(4)])
    same(pool("MAX_POOL_2D", x, (4, 4), out, stride=(1, 2)), blocks.max(0))
    same(pool("AVERAGE_POOL_2D", x, (4, 4), out, stride=(1, 2)), blocks.sum(0) / f32(16))


def test_averages_leave_padding_out_of_the_count():
    x = f32([[1, 2], [3, 4]]).reshape(1, 2, 2, 1)
    same(pool("AVERAGE_POOL_2D", x, (2, 2), (1, 2, 2, 1), "SAME").ravel(), [2.5, 3, 3.5, 4])


@pytest.mark.skipif(not AARCH64, reason="a definition of aarch64: elsewhere a NaN becomes the lowest value")
@pytest.mark.parametrize("channels", [3, 4, 13])
def test_which_nan_an_average_has_on_aarch64(channels):
    """The order of the sums of nine; their own comes last in whole fours of channels, and first in what is left."""
    last, first = [2, 3, 4, 5, 6, 7, 0, 1, 8, 11, 9, 10], [11, 9, 10, 2, 3, 4, 5, 6, 7, 0, 1, 8]
    pairs = [(a, b) for b in range(12) for a in range(b)]
    bits = np.full((len(pairs), 12, channels), 0x3F800000, np.uint32)
    for image, taps in zip(bits, pairs, strict=True):
        for tap in taps:
            image[tap] = 0x7FC00000 + tap
    x = bits.view(np.float32).reshape(len(pairs), 4, 3, channels).transpose(0, 2, 1, 3)
    got = pool("AVERAGE_POOL_2D", f32(x), (3, 4), (len(pairs), 1, 1, channels)).view(np.uint32)
    orders = [last if c < channels // 4 * 4 else first for c in range(channels)]
    want = [[0x7FC00000 + min(taps, key=order.index) for order in orders] for taps in pairs]
    same(got, np.array(want, np.uint32).reshape(got.shape))


def test_an_average_is_a_tree_over_the_columns():
    """Taps go down the columns: v0 v1 v2 are the first column, v2 + v3 are added first."""
    taps = f32([0, 0, 2**24, 1, -(2**24), 0, 0, 0, 0])  # (2^24 + 1) + (-2^24) = 0
    x = taps.reshape(3, 3).T.reshape(1, 3, 3, 1)
    same(pool("AVERAGE_POOL_2D", x, (3, 3), (1, 1, 1, 1)).ravel(), [0])
    taps = f32([0, 0, 2**24, -(2**24), 1, 0, 0, 0, 0])
    x = taps.reshape(3, 3).T.reshape(1, 3, 3, 1)
    same(pool("AVERAGE_POOL_2D", x, (3, 3), (1, 1, 1, 1)).ravel(), [f32(1) / f32(9)])


def test_clamps_of_pools_turn_nan_into_the_lower_bound():
    """On aarch64 NaN stays."""
    kept = NAN if AARCH64 else 0
    x = f32([NAN, 1, -0.0, 9]).reshape(1, 4, 1, 1)
    same(
        pool("MAX_POOL_2D", x, (2, 1), (1, 2, 1, 1), stride=(2, 1), fused_activation_function="RELU6").ravel(),
        [kept, 6],
    )
    same(pool("AVERAGE_POOL_2D", x, (2, 1), (1, 3, 1, 1), fused_activation_function="RELU").ravel(), [kept, 0.5, 4.5])
    same(pool("AVERAGE_POOL_2D", f32([1e-40]).reshape(1, 1, 1, 1), (1, 1), (1, 1, 1, 1)).ravel(), [1e-40])


def test_a_relu_behind_a_pool_is_the_pools_clamp():
    x, y, z = Tensor([1, 2, 2, 1], "float32"), Tensor([1, 1, 1, 1], "float32"), Tensor([1, 1, 1, 1], "float32")
    model = Model()
    main = model.subgraph("main")
    main.op("MAX_POOL_2D", [x], [y], padding="VALID", stride_h=1, stride_w=1, filter_height=2, filter_width=2)
    main.op("RELU", [y], [z])
    main.outputs = [z]
    same(invoke(model.to_bytes(), [np.full((1, 2, 2, 1), NAN, np.float32)])[0].ravel(), [NAN if AARCH64 else 0])


def custom(pad, size):
    return np.array([1 if pad == "SAME" else 2, size[1], size[0], size[1], size[0], 0], np.int32).tobytes()


def test_places_of_maxima_and_back():
    x = f32([[1, 5, 2, 0], [4, 5, 3, 9]]).reshape(1, 2, 4, 1)
    values, places = run("MaxPoolingWithArgmax2D", [x], [(1, 1, 2, 1)] * 2, custom_options=custom("VALID", (2, 2)))
    same(values.ravel(), [5, 9])
    assert places.view(np.uint32).ravel().tolist() == [2, 3]  # down the columns, the first of equal ones
    [y] = run("MaxUnpooling2D", [values, places], [x.shape], custom_options=custom("VALID", (2, 2)))
    same(y.reshape(2, 4), [[0, 5, 0, 0], [0, 0, 0, 9]])


def test_places_outside_of_the_window_are_an_error():
    places = np.full((1, 1, 1, 1), 4, np.uint32).view(np.float32)
    with pytest.raises((ValueError, RuntimeError), match="outside of a window of 4"):
        run("MaxUnpooling2D", [f32([[[[1]]]]), places], [(1, 2, 2, 1)], custom_options=custom("VALID", (2, 2)))


@pytest.mark.parametrize("channels", [1, 9])
def test_resize_bilinear(channels):
    x = np.repeat(f32([[0, 4], [8, 12]]).reshape(1, 2, 2, 1), channels, 3)
    size = Constant([4, 4], "int32")
    [y] = run("RESIZE_BILINEAR", [x, size], [(1, 4, 4, channels)])
    same(y[0, :, :, 0], [[0, 2, 4, 4], [4, 6, 8, 8], [8, 10, 12, 12], [8, 10, 12, 12]])
    [y] = run("RESIZE_BILINEAR", [x, size], [(1, 4, 4, channels)], half_pixel_centers=True)
    same(y[0, 0, :, -1], [0, 1, 3, 4])
    [y] = run("RESIZE_BILINEAR", [x, Constant([3, 3], "int32")], [(1, 3, 3, channels)], align_corners=True)
    same(y[0, :, :, -1], [[0, 2, 4], [4, 6, 8], [8, 10, 12]])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 200), [1]), ((2, 5, 7, 11), [1, 2]), ((4, 3, 2, 9, 2, 5), [0, -2]), ((6, 1, 3), [0, 1, 2])]
)
@pytest.mark.parametrize("op", ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"])
def test_reductions_of_whole_numbers(op, shape, axes, keep):
    x = f32(np.random.default_rng(2).integers(-99, 99, shape))
    function = {"MEAN": np.sum, "SUM": np.sum, "REDUCE_MAX": np.max, "REDUCE_MIN": np.min}[op]
    want = function(x, axis=tuple(axes), keepdims=keep)
    [y] = run(op, [x, Constant(axes, "int32")], [want.shape], keep_dims=keep)
    if op == "MEAN":
        np.testing.assert_allclose(y, want / (x.size / want.size), rtol=1e-6)
    else:
        same(y, want)


def test_the_mean_over_pixels_is_sequential():
    x = np.zeros((1, 2, 2, 9), np.float32)
    x[0, :, :, 4] = [[2**24, 1], [-(2**24), 1]]
    [y] = run("MEAN", [x, Constant([1, 2], "int32")], [(1, 9)])
    same(y[0], [0, 0, 0, 0, 0.25, 0, 0, 0, 0])


def test_sums_along_a_row_meet_in_lanes():
    """Values 8 apart meet in one lane of AVX2 machines after 32 values, 16 apart on others; the tree comes last.

    On aarch64 a last value comes behind it.
    """
    x = np.zeros((1, 17), np.float32)
    x[0, 0], x[0, 1], x[0, 4] = 2**24, 1, -(2**24)
    [y] = run("SUM", [x, Constant([1], "int32")], [(1,)])
    same(y, [1])  # lanes 0 and 4 meet before lane 1 comes
    x[0, 4], x[0, 16] = 0, -(2**24)
    same(run("SUM", [x, Constant([1], "int32")], [(1,)])[0], [0 if AARCH64 else 1])


@pytest.mark.skipif(WIDE or AARCH64, reason="with AVX-512 and on aarch64 sums have another order")
def test_the_fourth_accumulator_comes_before_the_second():
    """What shows is which of two NaN comes out."""
    bits = np.zeros(32, np.uint32)
    bits[[9, 25]] = 0x7FC00001, 0xFFC00002
    [y] = run("SUM", [bits.view(np.float32).reshape(1, 32), Constant([1], "int32")], [(1,)])
    assert y.view(np.uint32).tolist() == [0xFFC00002]


@pytest.mark.parametrize("machine", ["neon", "i8mm"] if AARCH64 else ["avx2", "avx512"])
def test_squares_before_a_sum_are_fused(machine, monkeypatch):
    """With AVX-512 and on Arm it is not rounded: 1 + 2^-11 + 2^-24 less 1 + 2^-11 in another lane leaves nothing of it either way."""
    if machine == "avx512" and not WIDE:
        pytest.skip("a CPU without AVX-512")
    monkeypatch.setenv("TFLM_CY_XNNPACK", machine)
    x, s, y = Tensor([2, 1], "float32"), Tensor([2, 1], "float32"), Tensor([1], "float32")
    model = Model()
    main = model.subgraph("main")
    main.op("SQUARE", [x], [s])
    main.op("SUM", [s, Tensor.constant(np.int32([0]))], [y])
    main.outputs = [y]
    values = f32([[2**-12], [1 + 2**-12]])
    first, second = np.float64(values[:, 0])
    [got] = invoke(model.to_bytes(), [values])
    rounded = f32(first * first) + f32(second * second)
    fused = f32(first * first + second * second)  # exact in double
    assert rounded != fused
    same(got, [rounded if machine == "avx2" else fused])


@pytest.mark.parametrize("depth", [1, 5, 16, 70, 300])
def test_softmax(depth):
    x = f32(np.random.default_rng(3).standard_normal((3, depth)) * 5)
    [y] = run("SOFTMAX", [x], [x.shape], beta=1.0)
    e = np.exp(np.float64(x) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-6, atol=1e-37)


def test_softmax_of_special_values():
    x = f32([[0, NAN, 1], [np.inf, 0, 1], [-np.inf, 0, 0]])
    [y] = run("SOFTMAX", [x], [x.shape], beta=1.0)
    assert np.isnan(y[:2]).all()
    same(y[2], [0, 0.5, 0.5])


@pytest.mark.parametrize("axes", [[0, 0], [2], [-3]])
def test_axes_that_repeat_or_lie_outside_are_refused(axes):
    with pytest.raises((ValueError, RuntimeError)):
        run("MEAN", [np.ones((2, 3), np.float32), Constant(axes, "int32")], [(3,)])


def test_softmax_of_nothing_is_refused_after_a_resize():
    from tflm_cy import Interpreter

    blob = Model.single("SOFTMAX", [Tensor([2, 5], "float32")], [Tensor([2, 5], "float32")], beta=1.0).to_bytes()
    interpreter = Interpreter(model_content=blob)
    interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [2, 0])
    with pytest.raises((ValueError, RuntimeError)):
        interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [3, 4])
    interpreter.allocate_tensors()
