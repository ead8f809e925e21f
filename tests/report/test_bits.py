"""Distances of values: ULP of floats, LSB of integers, zeros, NaN and what cannot be compared."""

import numpy as np
import pytest

from tflm_cy.report import distance


def test_floats_by_ulp():
    a = np.float32([1, 1, -1, 2, 0, 0, np.nan])
    b = a.copy()
    b[1] = np.nextafter(np.float32(1), np.float32(2))
    b[2] = np.nextafter(np.float32(-1), np.float32(0))
    b[3] = np.float32(2) + 5 * np.spacing(np.float32(2))
    b[4] = np.float32(-0.0)
    b[6] = 3
    d = distance(a, b)
    assert (d.elements, d.differing, d.largest, d.unit, d.first) == (7, 5, 5, "ULP", (1,))
    assert d.histogram == {"1": 2, "5-8": 1, "-0": 1, "NaN": 1}


def test_across_zero():
    tiny = np.float32(1e-45)
    assert distance(np.float32([tiny]), np.float32([-tiny])).largest == 2


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_integers_by_lsb(dtype):
    info = np.iinfo(dtype)
    d = distance(np.array([[info.min, 3]], dtype), np.array([[info.max, 4]], dtype))
    assert d.largest == int(info.max) - int(info.min)
    assert d.histogram["1"] == 1 and d.first == (0, 0) and d.unit == "LSB"


def test_equal_and_empty():
    assert distance(np.zeros(3, np.float64), np.zeros(3, np.float64)).differing == 0
    assert distance(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32)).elements == 0
    assert distance(np.float32(3), np.float32(4)).first == ()


@pytest.mark.parametrize("other", [np.zeros(2, np.float32), np.zeros(3, np.float64)])
def test_other_shapes_or_types(other):
    with pytest.raises(ValueError, match="cannot be compared"):
        distance(np.zeros(3, np.float32), other)
