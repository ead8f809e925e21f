"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D against windows cut out by numpy."""

import numpy as np
import pytest

from compat.builder import Tensor
from tests.machine import AARCH64

from .successive import REFUSED, outputs, same

LARGEST = np.finfo(np.float32).max


def windows(x, kernel, stride, padding):
    """The values of each window that lie inside of the image: (row, column, [batch, taps, channels])."""
    found = []
    for size, k, s in zip(x.shape[1:3], kernel, stride, strict=True):
        count = -(-size // s) if padding == "SAME" else (size - k) // s + 1
        before = max((count - 1) * s + k - size, 0) // 2 if padding == "SAME" else 0
        starts = [i * s - before for i in range(count)]
        found.append([(max(start, 0), min(start + k, size)) for start in starts])
    for i, (top, bottom) in enumerate(found[0]):
        for j, (left, right) in enumerate(found[1]):
            yield i, j, x[:, top:bottom, left:right].reshape(len(x), -1, x.shape[3])


def expected(x, kernel, stride, padding, fold):
    cells = {(i, j): fold(taps) for i, j, taps in windows(x, kernel, stride, padding)}
    rows, columns = (max(axis) + 1 for axis in zip(*cells, strict=True))
    return np.stack([np.stack([cells[i, j] for j in range(columns)], 1) for i in range(rows)], 1)


def pool(op, x, kernel, stride, padding, version=1, **quantization):
    tensor = Tensor(x.shape, x.dtype, **quantization)
    result = Tensor([1, 1, 1, x.shape[3]], x.dtype, **quantization)
    return outputs(
        op, [tensor], [result], [[x]], version, padding=padding, stride_h=stride[0], stride_w=stride[1],
        filter_height=kernel[0], filter_width=kernel[1],
    )[0]  # fmt: skip


def average_of_integers(taps):
    total, count = taps.astype(np.int64).sum(1), taps.shape[1]
    return (np.sign(total) * ((np.abs(total) + count // 2) // count)).astype(taps.dtype)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("channels", [1, 3, 70])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_integer_pools(dtype, channels, padding):
    rng = np.random.default_rng(channels)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max + 1, (2, 7, 9, channels)).astype(dtype)
    geometry = (3, 2), (2, 1), padding
    quantization = {"scale": 0.5, "zero_point": 0 if dtype == "int16" else 3}
    got = pool("AVERAGE_POOL_2D", x, *geometry, 3, **quantization)
    same(got, expected(x, *geometry, average_of_integers))
    got = pool("MAX_POOL_2D", x, *geometry, 3, **quantization)
    same(got, expected(x, *geometry, lambda taps: taps.max(1)))


def test_float_pools_keep_the_order_of_the_window():
    x = np.random.default_rng(5).standard_normal((1, 5, 5, 66)).astype(np.float32)
    geometry = (3, 3), (2, 2), "SAME"

    def sequential(values):
        total = np.zeros(values[:, 0].shape, np.float32)
        for k in range(values.shape[1]):
            total = total + values[:, k]
        return total

    def squares(taps):
        """Fused with the sum on aarch64."""
        if not AARCH64:
            return sequential(taps * taps)
        total = np.zeros(taps[:, 0].shape, np.float32)
        for k in range(taps.shape[1]):
            total = (taps[:, k].astype(float) ** 2 + total).astype(np.float32)
        return total

    same(
        pool("AVERAGE_POOL_2D", x, *geometry),
        expected(x, *geometry, lambda taps: sequential(taps) / np.float32(taps.shape[1])),
    )
    same(
        pool("L2_POOL_2D", x, *geometry),
        expected(x, *geometry, lambda taps: np.sqrt(squares(taps) / np.float32(taps.shape[1]))),
    )
    same(pool("MAX_POOL_2D", x, *geometry), expected(x, *geometry, lambda taps: taps.max(1)))


def test_maximum_ignores_nan_and_is_clamped_to_finite_floats():
    x = np.array([np.nan, 1, np.inf, -np.inf, -np.inf, np.nan], np.float32).reshape(1, 3, 2, 1)
    same(pool("MAX_POOL_2D", x, (1, 2), (1, 2), "VALID").ravel(), [1, LARGEST, -LARGEST], np.float32)


def test_a_fused_activation_clamps_in_the_output_scale():
    x = np.array([-100, -3, 7, 120], np.int8).reshape(1, 2, 2, 1)
    quantization = {"scale": 0.1, "zero_point": -3}
    tensors = [Tensor(x.shape, "int8", **quantization) for _ in range(2)]
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1}
    got = outputs("MAX_POOL_2D", tensors[:1], tensors[1:], [[x]], 3, fused_activation_function="RELU6", **options)
    same(got[0].ravel(), [-3, -3, 7, 57], np.int8)


@pytest.mark.parametrize("options", [{"stride_h": 0}, {"stride_w": -1}, {"filter_height": -2}, {"filter_width": 9}])
@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"])
def test_hostile_geometry_is_refused(op, options):
    x, y = Tensor([1, 4, 4, 1], "float32"), Tensor([1, 4, 4, 1], "float32")
    usual = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}
    with pytest.raises(REFUSED):
        outputs(op, [x], [y], [[np.zeros((1, 4, 4, 1), np.float32)]], **{**usual, **options})


@pytest.mark.parametrize(("shape", "dtype"), [([4, 4], "float32"), ([1, 4, 4, 1], "int32"), ([1, 4, 4, 1], "bool")])
def test_other_ranks_and_types_are_refused(shape, dtype):
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}
    with pytest.raises(REFUSED):
        outputs(
            "AVERAGE_POOL_2D", [Tensor(shape, dtype)], [Tensor(shape, dtype)], [[np.zeros(shape, dtype)]], **options
        )


@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"])
def test_a_padding_of_another_name_gives_nothing(op):
    assert pool(op, np.ones((2, 4, 4, 3), np.float32), (2, 2), (1, 1), 9).shape == (2, 0, 0, 3)


def integer_pool(op, dtype, activation, scale=None):
    x = np.arange(4).astype(dtype).reshape(1, 2, 2, 1)
    more = {} if scale is None else {"scale": scale, "zero_point": 1}
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1}
    tensors = [Tensor(x.shape, dtype, **more) for _ in range(2)]
    return outputs(op, tensors[:1], tensors[1:], [[x]], 3, fused_activation_function=activation, **options)[0].ravel()


@pytest.mark.parametrize("activation", ["NONE", "TANH", "SIGN_BIT", 55])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_without_a_scale_nothing_is_clamped(op, dtype, activation):
    same(integer_pool(op, dtype, activation), [0, 1, 2, 3], dtype)


@pytest.mark.parametrize("activation", ["RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("scale", [None, 1e-10])
def test_edges_beyond_32_bits_are_refused(op, dtype, activation, scale):
    with pytest.raises(REFUSED, match="no_integer_overflow_from_quantization"):
        integer_pool(op, dtype, activation, scale)


def test_an_edge_of_0_fits_every_scale():
    same(integer_pool("MAX_POOL_2D", "int8", "RELU", 1e-10), [1, 1, 2, 3], "int8")


@pytest.mark.parametrize("channels", [1, 3, 66])
def test_which_of_two_nan_comes_out(channels):
    """The first of an average of the reference, the last of sums of squares (on aarch64 the first): seen in TensorFlow."""
    bits = np.broadcast_to(np.uint32([0x3F800000, 0x7FC00002, 0xFFC00003])[:, None], (1, 1, 3, channels))
    x = np.ascontiguousarray(bits).view(np.float32)
    assert set(pool("AVERAGE_POOL_2D", x, (1, 3), (1, 1), "VALID").view(np.uint32).flat) == {0x7FC00002}
    assert set(pool("L2_POOL_2D", x, (1, 3), (1, 1), "VALID").view(np.uint32).flat) == {
        0x7FC00002 if AARCH64 else 0xFFC00003
    }
