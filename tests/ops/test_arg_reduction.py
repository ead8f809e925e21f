"""ARG_MAX and ARG_MIN: the first of equals, every axis, both index types."""

import numpy as np
import pytest

from compat.builder import Tensor

from .successive import REFUSED, constant, outputs, same


def arg(op, x, axis, output_type="INT64", fed=False, axis_type="int32"):
    shape = list(np.delete(np.array(x.shape), axis)) if -x.ndim <= axis < x.ndim else [1]
    y = Tensor(shape, output_type.lower())
    where = Tensor([], axis_type) if fed else constant(axis, axis_type)
    feed = [x, np.array(axis, axis_type)] if fed else [x]
    quantization = {"scale": 0.1} if x.dtype in (np.int8, np.uint8) else {}
    return outputs(op, [Tensor(x.shape, x.dtype, **quantization), where], [y], [feed], 2, output_type=output_type)[0]


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "bool"])
def test_the_first_of_the_best(dtype, axis, fed):
    x = np.random.default_rng(axis + 5).integers(0, 4, (3, 19, 18)).astype(dtype)
    same(arg("ARG_MAX", x, axis, fed=fed), x.argmax(axis), np.int64)
    same(arg("ARG_MIN", x, axis, "INT32", fed), x.argmin(axis), np.int32)


def test_an_axis_of_64_bits():
    x = np.array([[3, 1, 2]], np.float32)
    same(arg("ARG_MAX", x, 1, axis_type="int64"), [0], np.int64)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_out_of_range_is_refused(axis, fed):
    with pytest.raises(REFUSED, match="axis"):
        arg("ARG_MAX", np.zeros((2, 2), np.float32), axis, fed=fed)


@pytest.mark.parametrize("fed", [False, True])
def test_the_first_of_nothing_is_0(fed):
    same(arg("ARG_MIN", np.zeros((2, 0), np.float32), 1, fed=fed), [0, 0], np.int64)


@pytest.mark.parametrize("dtype", ["int16", "int64", "float64"])
def test_other_types_are_refused(dtype):
    with pytest.raises(REFUSED):
        arg("ARG_MAX", np.zeros((2, 2), dtype), 1)
