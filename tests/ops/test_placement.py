"""Values put in other places or joined by segment, against numpy."""

import numpy as np
import pytest

from compat.builder import Tensor
from tflm_cy import OpResolverType

from .one_operator import run, same

REFUSED = (ValueError, RuntimeError)


def fed(array, dtype=None):
    array = np.asarray(array, dtype)
    return array, str(array.dtype)


@pytest.mark.parametrize("batch, sequence", [(0, 1), (1, 0), (0, 2)])
def test_reverse_sequence(batch, sequence):
    x = np.arange(3 * 4 * 2, dtype=np.int32).reshape(3, 4, 2)
    lengths = np.arange(x.shape[batch]) % (x.shape[sequence] + 1)
    want = x.copy()
    for i, n in enumerate(lengths):
        part = np.moveaxis(np.moveaxis(want, (batch, sequence), (0, 1))[i], 0, 0)
        part[:n] = part[:n][::-1].copy()
    got = run(
        "REVERSE_SEQUENCE", [fed(x), fed(lengths, "i4")], [Tensor(x.shape, "int32")], seq_dim=sequence, batch_dim=batch
    )
    same(got[0], want)


@pytest.mark.parametrize("lengths, options", [([5, 5], {"seq_dim": 1}), ([1, 1], {}), ([1], {"seq_dim": 1})])
def test_reverse_sequence_refuses(lengths, options):
    with pytest.raises(REFUSED):
        x = fed(np.zeros((2, 3), np.float32))
        run("REVERSE_SEQUENCE", [x, fed(lengths, "i4")], [Tensor([2, 3], "float32")], **options)


def test_dynamic_update_slice_clamps_its_start():
    x, update = np.arange(12, dtype=np.float32).reshape(3, 4), np.full((2, 2), -1, np.float32)
    want = x.copy()
    want[1:, :2] = -1
    got = run("DYNAMIC_UPDATE_SLICE", [fed(x), fed(update), fed([9, -9], "i4")], [Tensor([3, 4], "float32")])
    same(got[0], want)
    with pytest.raises(REFUSED):
        run("DYNAMIC_UPDATE_SLICE", [fed(update), fed(x), fed([0, 0], "i4")], [Tensor([2, 2], "float32")])


@pytest.mark.parametrize("constant", [True, False])
def test_sparse_to_dense(constant):
    shape = np.array([2, 3], np.int32)
    inputs = [fed([[0, 1], [1, 2]], "i8"), shape if constant else fed(shape), fed([5, 6], "i4"), fed(-1, "i4")]
    same(run("SPARSE_TO_DENSE", inputs, [Tensor([2, 3], "int32")])[0], np.array([[-1, 5, -1], [-1, -1, 6]], "i4"))


@pytest.mark.parametrize("index", [-1, 4])
def test_sparse_to_dense_refuses_an_index_outside(index):
    with pytest.raises(REFUSED):
        inputs = [fed([index], "i4"), np.array([4], "i4"), fed([5], "i4"), fed(0, "i4")]
        run("SPARSE_TO_DENSE", inputs, [Tensor([4], "int32")])


def test_dilate():
    x = np.arange(1, 7, dtype=np.int8).reshape(2, 3)
    want = np.full((3, 5), 9, np.int8)
    want[::2, ::2] = x
    y = [Tensor([3, 5], "int8")]
    same(run("DILATE", [fed(x), np.array([2, 2], "i4"), fed(9, "i1")], y)[0], want)
    same(run("DILATE", [fed(x), fed([2, 2], "i4"), fed(9, "i1")], y)[0], want)
    for wrong in ([0, 1], [1, 2**30], [1]):
        with pytest.raises(REFUSED):
            run("DILATE", [fed(x), np.array(wrong, "i4"), fed(9, "i1")], y)


@pytest.mark.parametrize("shape", [(7,), (1, 5), (3, 2, 4), (2, 1, 3, 5), (2, 2, 2, 2, 3)])
def test_dilate_by_other_steps(shape):
    rng = np.random.default_rng(len(shape))
    x = rng.integers(-99, 99, shape).astype(np.int16)
    for _ in range(8):
        steps = rng.integers(1, 4, len(shape))
        want = np.full((np.array(shape) - 1) * steps + 1, 5, np.int16)
        want[tuple(slice(None, None, step) for step in steps)] = x
        got = run("DILATE", [fed(x), steps.astype("i4"), fed(5, "i2")], [Tensor(want.shape, "int16")])
        same(got[0], want)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16", "int32", "int64"])
def test_unique(dtype):
    x = np.random.default_rng(0).integers(0, 9, 200).astype(dtype)
    values, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    y, indices = run("UNIQUE", [fed(x)], [Tensor([1], dtype), Tensor([1], "int32")], idx_out_type="INT32")
    same(y, values[order])
    same(indices, np.argsort(order)[inverse].astype(np.int32))


def test_unique_of_nan_is_what_an_ordered_map_finds():
    x = np.array([3, 1, np.nan, 0.0, -0.0, np.nan], np.float32)
    y, indices = run("UNIQUE", [fed(x)], [Tensor([1], "float32"), Tensor([6], "int64")], idx_out_type="INT64")
    same(y, np.array([3, 1, 0], np.float32))
    same(indices, np.array([0, 1, 1, 2, 2, 2], np.int64))


_JOINED = [("SUM", np.add, 0), ("PROD", np.multiply, 1), ("MAX", np.maximum, -(2**31)), ("MIN", np.minimum, 2**31 - 1)]


@pytest.mark.parametrize("name, join, empty", _JOINED)
def test_unsorted_segments(name, join, empty):
    x, ids = np.arange(-6, 6, dtype=np.int32).reshape(4, 3), np.array([2, 0, -1, 2], np.int32)
    want = np.full((4, 3), empty, np.int32)
    for row, i in zip(x, ids, strict=True):
        if i >= 0:
            want[i] = join(want[i], row)
    for segments in (ids, fed(ids)):
        got = run(f"UNSORTED_SEGMENT_{name}", [fed(x), segments, np.array(4, "i4")], [Tensor([4, 3], "int32")])
        same(got[0], want)
    with pytest.raises(REFUSED):
        run(f"UNSORTED_SEGMENT_{name}", [fed(x), fed(ids), np.array(2, "i4")], [Tensor([2, 3], "int32")])


@pytest.mark.parametrize("width", [1, 2, 5, 8, 40])
@pytest.mark.parametrize("name, join, empty", _JOINED)
def test_rows_of_segments(name, join, empty, width):
    """Many rows, sorted and not, some left out."""
    rng = np.random.default_rng(width)
    x = rng.integers(-9, 9, (300, width)).astype(np.int32)
    for ids in (np.sort(rng.integers(-2, 7, 300)), rng.integers(-2, 7, 300)):
        want = np.full((7, width), empty, np.int32)
        for row, i in zip(x, ids, strict=True):
            if i >= 0:
                want[i] = join(want[i], row)
        inputs = [fed(x), fed(ids.astype("i4")), np.array(7, "i4")]
        same(run(f"UNSORTED_SEGMENT_{name}", inputs, [Tensor([7, width], "int32")])[0], want)


def test_named_segments():
    """UNSORTED_SEGMENT_SUM, UNSORTED_SEGMENT_PROD, UNSORTED_SEGMENT_MAX and UNSORTED_SEGMENT_MIN without any row."""
    for name in ("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"):
        inputs = [fed(np.zeros((0, 2)), "f4"), fed([], "i4"), np.array(1, "i4")]
        assert run(name, inputs, [Tensor([1, 2], "float32")])[0].shape == (1, 2)


def test_segment_sum_is_not_in_the_reference_resolver():
    with pytest.raises(REFUSED):
        run("SEGMENT_SUM", [fed([1.0], "f4"), fed([0], "i4")], [Tensor([1], "float32")])


def test_segments_of_several_dimensions_are_taken_from_the_first_one():
    ids = np.array([[0, 1], [5, 7]], np.int32)
    options = {"resolver": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
    [y] = run(
        "SEGMENT_SUM", [fed([[1.0, 2.0], [3.0, 4.0]], "f4"), fed(ids, "i4")], [Tensor([1, 2], "float32")], **options
    )
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]
