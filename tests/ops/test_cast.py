"""CAST."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64

from .evaluate import REFUSED, evaluate, run, same_bytes

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64]
FLOATS = [np.float32, np.float64, np.float16]
TYPES = [*INTEGERS, *FLOATS, bool, np.complex64]


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_values_that_both_types_hold(source, target):
    x = np.array([0, 1, 2, 77, 100, 3, 1, 0] * 40).astype(source)
    expected = x.real.astype(target) if source == np.complex64 and target != np.complex64 else x.astype(target)
    assert same_bytes(evaluate("CAST", [x], target), expected)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integers_keep_their_low_bits(source, target):
    x = np.array([np.iinfo(source).min, np.iinfo(source).max, np.iinfo(source).max // 3], source)
    assert same_bytes(evaluate("CAST", [x], target), x.astype(target))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", [np.int16, np.int32, np.int64])
def test_floats_are_truncated(source, target):
    x = np.array([2.9, -2.9, 0.5, -0.5, -0.0, 1000.99], source)
    assert same_bytes(evaluate("CAST", [x], target), np.trunc(x).astype(target))


def test_float32_saturates():
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 300, -1], np.float32)
    top, bottom = 2**31 - 1, -(2**31)
    assert evaluate("CAST", [x], np.int32).tolist() == [top, top, bottom, top, bottom, 300, -1]
    assert evaluate("CAST", [x], np.uint8).tolist() == [0, 255, 0, 255, 0, 255, 0]
    assert evaluate("CAST", [x], np.int16).tolist() == [0, 32767, -32768, 32767, -32768, 300, -1]
    lowest = -(2**63)
    beyond = [0, 2**63 - 1, lowest] if AARCH64 else [lowest, lowest, lowest]
    assert evaluate("CAST", [x], np.int64).tolist() == [*beyond, 3 * 10**9, -3 * 10**9, 300, -1]


def test_whole_vector_blocks_saturate_where_the_tail_keeps_the_low_bits():
    """On aarch64 they keep them, too."""
    x = np.full(37, 300, np.float32)
    assert evaluate("CAST", [x], np.int8).tolist() == [44 if AARCH64 else 127] * 32 + [44] * 5


@pytest.mark.skipif(not AARCH64, reason="x86-64 has another table")
@pytest.mark.parametrize(
    ("source", "target", "value", "blocks", "block", "tail"),
    [
        (np.float64, np.int8, 2.0**33 + 5, 16, 5, -1),
        (np.float64, np.uint16, 2.0**33 + 5, 16, 5, 65535),
        (np.float64, np.int32, 2.0**33 + 5, 16, 5, 2**31 - 1),
        (np.float64, np.uint32, 2.0**33 + 5, 16, 5, 2**32 - 1),
        (np.float64, np.uint32, -5, 16, 0, 0),
        (np.float32, np.uint16, 2.0**31, 16, 0, 65535),
        (np.float32, np.uint32, -5, 16, 0, 0),
        (np.float16, np.int32, np.inf, 16, 2**31 - 1, 2**31 - 1),
        (np.float32, np.int16, np.nan, 16, 0, 0),
    ],
)
def test_low_bits_on_aarch64(source, target, value, blocks, block, tail):
    got = evaluate("CAST", [np.full(19, value, source)], target)
    assert got.tolist() == [block] * blocks + [tail] * (19 - blocks)


def test_float16_rounds_to_even():
    x = np.array([2049, 2051, 65519, 65520, 2.0**-25, 3 * 2.0**-25, 1e-9, 0.1], np.float32)
    with np.errstate(over="ignore"):
        assert same_bytes(evaluate("CAST", [x], np.float16), x.astype(np.float16))


def test_bfloat16_there_and_back():
    x = np.array([1.0, 1.00390625, 1.01171875, 3.3895314e38, -0.1], np.float32)
    model = Model()
    main = model.subgraph("main")
    a, b, c = Tensor([5], "float32"), Tensor([5], "bfloat16"), Tensor([5], "float32")
    main.op("CAST", [a], [b])
    main.op("CAST", [b], [c])
    y = run(model.to_bytes(), [x])[0]
    assert y[:3].tolist() == [1.0, 1.0, 1.015625]  # halfway: to even
    assert np.abs(y / x - 1).max() <= 2.0**-8


def test_int4():
    x = np.array([-20.5, -7.9, 7.9, 20, 0.5], np.float32)
    assert np.asarray(evaluate("CAST", [x], Tensor([5], "int4"))).ravel().tolist() == [-8, -7, 7, 7, 0]
    packed = Tensor.constant(np.array([-8, 7, 3], np.int8), "int4")
    assert evaluate("CAST", [], Tensor([3], "float32"), inputs=[packed]).tolist() == [-8, 7, 3]


@pytest.mark.parametrize(
    ("source", "target"), [(np.uint64, np.float32), (np.float32, np.uint64), (np.complex128, np.float32)]
)
def test_refusals(source, target):
    with pytest.raises(REFUSED, match="unsupported by op Cast"):
        evaluate("CAST", [np.ones(2, source)], target)


def test_int64_rounds_once_to_float32():
    """What no double holds, too: halves of float32's last place, and those beside them."""
    rng = np.random.default_rng(0)
    halves = (rng.integers(2**23, 2**24, 20000).astype(np.int64) * 2 + 1) << rng.integers(0, 38, 20000)
    powers = np.int64(1) << rng.integers(0, 63, 20000)
    limits = np.array([-(2**63), 2**63 - 1, 0, -1, 2**52, 2**53 + 1, -(2**52)], np.int64)
    x = np.concatenate([halves + rng.integers(-1, 2, 20000), -halves, powers - 1, -powers, limits])
    assert same_bytes(evaluate("CAST", [x], np.float32), x.astype(np.float32))
