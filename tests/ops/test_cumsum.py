"""CUMSUM: exclusive, reverse, both; the axis constant or fed."""

import numpy as np
import pytest

from compat.builder import Tensor

from .successive import REFUSED, constant, outputs, same


def cumsum(x, axis, fed=False, **options):
    where = Tensor([], "int32") if fed else constant(axis, "int32")
    feed = [x, np.array(axis, np.int32)] if fed else [x]
    return outputs("CUMSUM", [Tensor(x.shape, x.dtype), where], [Tensor(x.shape, x.dtype)], [feed], **options)[0]


def expected(x, axis, exclusive, reverse):
    source = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
    found, total = np.empty_like(source), np.zeros(source.shape[1:], x.dtype)
    for k, values in enumerate(source):
        if exclusive:
            found[k] = total
        total = total + values
        if not exclusive:
            found[k] = total
    return np.moveaxis(found[:: -1 if reverse else 1], 0, axis)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_running_sums(dtype, axis, exclusive, reverse, fed):
    x = (np.random.default_rng(1).standard_normal((4, 5, 3)) * 1000).astype(dtype)
    got = cumsum(x, axis, fed, exclusive=exclusive, reverse=reverse)
    same(got, expected(x, axis, exclusive, reverse))


def test_a_sum_starts_at_plus_zero():
    got = cumsum(np.array([-0.0, -0.0], np.float32), 0)
    assert not np.signbit(got).any()


def test_integers_wrap():
    same(cumsum(np.array([2**31 - 1, 1], np.int32), 0), [2**31 - 1, -(2**31)], np.int32)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("axis", [1, -2])
def test_an_axis_out_of_range_is_refused(axis, fed):
    with pytest.raises(REFUSED, match="axis"):
        cumsum(np.zeros(3, np.float32), axis, fed)


def test_other_types_are_refused():
    with pytest.raises(REFUSED):
        cumsum(np.zeros(3, np.int8), 0)


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 3), (6, 8), (2, 6, 11)])
def test_of_two_nan_the_sum_keeps_its_own(shape):
    axis = max(len(shape) - 2, 0)
    steps = np.zeros((6, *np.delete(shape, axis)), np.uint32)
    steps[1], steps[3] = 0x7FC12345, 0x7FC54321
    bits = np.ascontiguousarray(np.moveaxis(steps, 0, axis))
    got = cumsum(bits.view(np.float32), axis, exclusive=False, reverse=False).view(np.uint32)
    assert set(np.moveaxis(got, axis, 0)[1:].ravel().tolist()) == {0x7FC12345}
