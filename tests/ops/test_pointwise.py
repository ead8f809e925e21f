"""Rarer functions of each value: signs, angles, bits, buckets, fake quantization, sums of many, parts of complex numbers."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same

REFUSED = (ValueError, RuntimeError)


def fed(array):
    return array, str(array.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_sign(dtype):
    x = np.array([-3, 0, 7], dtype)
    same(run("SIGN", [fed(x)], [Tensor([3], dtype)], 2)[0], np.array([-1, 0, 1], dtype))


def test_sign_of_nan_and_of_minus_zero_is_zero():
    x = np.array([np.nan, -0.0, -np.inf], np.float32)
    same(run("SIGN", [fed(x)], [Tensor([3], "float32")])[0], np.array([0, 0, -1], np.float32))


def test_sign_refuses_int8():
    with pytest.raises(REFUSED):
        run("SIGN", [fed(np.zeros(3, np.int8))], [Tensor([3], "int8")])


def test_atan2():
    y, x = np.array([0.0, 1.0, -1.0], np.float64), np.array([-1.0, 0.0, 0.0], np.float64)
    same(run("ATAN2", [fed(y), fed(x)], [Tensor([3], "float64")])[0], np.array([np.pi, np.pi / 2, -np.pi / 2]))
    with pytest.raises(REFUSED):
        run("ATAN2", [fed(y), fed(x[:2])], [Tensor([3], "float64")])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_bits(dtype):
    a, b = np.arange(6).reshape(2, 3).astype(dtype) * 17, np.array([1, 2, 40], dtype)
    bits = np.dtype(dtype).itemsize * 8
    y = [Tensor([2, 3], dtype)]
    same(run("BITWISE_XOR", [fed(a), fed(b)], y)[0], a ^ b)
    same(run("RIGHT_SHIFT", [fed(a), fed(b)], y)[0], a >> np.minimum(b, bits - 1).astype(dtype))


def test_a_negative_shift_is_none():
    same(
        run("RIGHT_SHIFT", [fed(np.array([-8], np.int8)), fed(np.array([-1], np.int8))], [Tensor([1], "int8")])[0],
        np.array([-8], np.int8),
    )


def test_bitcast_narrower_wider_and_refused():
    x = np.array([[1, 2], [3, -4]], np.int32)
    same(run("BITCAST", [fed(x)], [Tensor([1], "int8")])[0], x.view(np.int8).reshape(2, 2, 4))
    same(run("BITCAST", [fed(x)], [Tensor([1], "int64")])[0], x.view(np.int64).reshape(2))
    for shape in ([2, 3], []):
        with pytest.raises(REFUSED):
            run("BITCAST", [fed(np.zeros(shape, np.int32))], [Tensor([1], "int64")])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_bucketize(dtype):
    x = np.array([-5, 0, 3, 10], dtype)
    same(
        run("BUCKETIZE", [fed(x)], [Tensor([4], "int32")], boundaries=[0.0, 3.0, 9.5])[0], np.array([0, 1, 2, 3], "i4")
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("count", [0, 1, 16, 17, 40])
def test_bucketize_counts_few_boundaries_and_searches_many(dtype, count):
    rng = np.random.default_rng(count)
    boundaries = np.sort(rng.integers(-20, 20, count)).astype(np.float32)
    x = rng.integers(-25, 25, 2500).astype(dtype)
    want = np.searchsorted(boundaries, x.astype(np.float32), side="right").astype(np.int32)
    if dtype.startswith("float"):
        x[::7] = np.nan
        want[::7] = count  # above all
    same(run("BUCKETIZE", [fed(x)], [Tensor([2500], "int32")], boundaries=boundaries.tolist())[0], want)


def test_boundaries_that_are_nan_are_searched():
    x = np.array([0.0, 2.0, 4.0], np.float32)
    [y] = run("BUCKETIZE", [fed(x)], [Tensor([3], "int32")], boundaries=[1.0, float("nan"), 3.0])
    assert y.tolist() == [2, 2, 3]  # a binary search's first question is NaN


@pytest.mark.parametrize("options", [{"boundaries": [2.0, 1.0]}, {}])
def test_bucketize_wants_sorted_boundaries(options):
    with pytest.raises(REFUSED):
        run("BUCKETIZE", [fed(np.zeros(1, np.float32))], [Tensor([1], "int32")], **options)


def test_fake_quant():
    x = np.array([-9.0, 0.0, 0.26, 9.0], np.float32)
    options = {"min": -1.0, "max": 2.0, "num_bits": 2}
    same(
        run("FAKE_QUANT", [fed(x)], [Tensor([4], "float32")], **options)[0],
        np.array([-1.0, 0.0, 0.0, 2.0], np.float32),
    )
    for wrong in ({**options, "num_bits": 99}, {**options, "narrow_range": True}):
        with pytest.raises(REFUSED):
            run("FAKE_QUANT", [fed(x)], [Tensor([4], "float32")], **wrong)


def test_add_n():
    x = np.array([2**31 - 1, 5], np.int32)
    same(run("ADD_N", [fed(x)] * 3, [Tensor([2], "int32")])[0], np.array([2**31 - 3, 15], np.int32))
    big = np.array([np.inf, 1], np.float32)
    same(run("ADD_N", [fed(big), fed(big)], [Tensor([2], "float32")])[0], np.array([np.finfo("f4").max, 2], np.float32))
    with pytest.raises(REFUSED):
        run("ADD_N", [fed(x), fed(x[:1])], [Tensor([2], "int32")])


def test_parts_of_complex_numbers():
    x = np.array([3 + 4j, -5j], np.complex64)
    y = [Tensor([2], "float32")]
    same(run("REAL", [fed(x)], y)[0], x.real)
    same(run("IMAG", [fed(x)], y)[0], x.imag)
    same(run("COMPLEX_ABS", [fed(x)], y)[0], np.array([5, 5], np.float32))
    with pytest.raises(REFUSED):
        run("REAL", [fed(x)], [Tensor([2], "float64")])
    with pytest.raises(REFUSED):
        run("IMAG", [fed(x.real.copy())], y)
