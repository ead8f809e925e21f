"""Booleans whose bytes are not 0 and 1, as in masks of 255: what TensorFlow 2.21 computes of them."""

import numpy as np
import pytest

from compat.builder import Tensor
from tests.harness import allocated, run
from tflm_cy import OpResolverType

from .evaluate import evaluate
from .successive import build, constant

ODD = np.array([0, 1, 2, 3, 128, 254, 255], np.uint8)
A, B = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(ODD, ODD, indexing="ij"))
OPTIMIZED = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def truths(values):
    return np.array(values, np.uint8).view(bool)


def outputs(op, inputs, result, feed, resolver=OpResolverType.BUILTIN_REF, **options):
    [y] = run(allocated(build(op, inputs, [result], **options), experimental_op_resolver_type=resolver), *feed)
    return y.view(np.uint8) if y.dtype == bool else y


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_floating_point_takes_the_truth(dtype):
    assert np.array_equal(evaluate("CAST", [ODD.view(bool)], dtype), (ODD != 0).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers_take_the_byte(dtype):
    assert np.array_equal(evaluate("CAST", [ODD.view(bool)], dtype), ODD.astype(dtype))


def test_equal_compares_truths():
    expected = (A != 0) == (B != 0)
    assert np.array_equal(evaluate("EQUAL", [A.view(bool), B.view(bool)], bool, version=2), expected)
    assert np.array_equal(evaluate("NOT_EQUAL", [A.view(bool), B.view(bool)], bool, version=2), ~expected)


@pytest.mark.parametrize(
    ("op", "values", "index"),
    [
        *(("ARG_MAX", v, i) for v, i in (([1, 2], 1), ([2, 1], 1), ([3, 1], 0), ([255, 254], 1), ([2, 0], 0))),
        *(("ARG_MIN", v, i) for v, i in (([2, 0], 0), ([1, 2, 0], 2), ([3, 1], 0))),
    ],
)
def test_of_the_best_the_lowest_bit_is_kept(op, values, index):
    inputs = [Tensor([len(values)], "bool"), constant(0, np.int32)]
    assert outputs(op, inputs, Tensor([], "int32"), [truths(values)], output_type="INT32") == index
    inputs = [Tensor([len(values), 2], "bool"), constant(0, np.int32)]
    columns = truths([[v, 0] for v in values])
    assert outputs(op, inputs, Tensor([2], "int32"), [columns], output_type="INT32").tolist() == [index, 0]


@pytest.mark.parametrize(
    ("op", "resolver", "values", "axes", "expected"),
    [
        ("REDUCE_ANY", OpResolverType.BUILTIN_REF, [[2, 128], [4, 0]], [1], [[130], [4]]),
        ("REDUCE_ALL", OpResolverType.BUILTIN_REF, [[3, 255], [2, 255]], [1], [[1], [0]]),
        ("REDUCE_ANY", OpResolverType.BUILTIN_REF, [[254, 0, 2]], [0, 1], [[3]]),
        ("REDUCE_ANY", OpResolverType.BUILTIN_REF, [[254]], [0, 1], [[254]]),
        ("REDUCE_ALL", OpResolverType.BUILTIN_REF, [[2, 3]], [0, 1], [[1]]),
        ("REDUCE_ALL", OpResolverType.BUILTIN_REF, [[3, 2]], [0, 1], [[0]]),
        ("REDUCE_ANY", OPTIMIZED, [[2, 128], [4, 0]], [0], [[6, 128]]),
        ("REDUCE_ANY", OPTIMIZED, [[2, 128], [4, 0]], [1], [[1], [1]]),
        ("REDUCE_ANY", OPTIMIZED, [[2], [4]], [1], [[2], [4]]),
        ("REDUCE_ALL", OPTIMIZED, [[2, 128], [4, 0]], [0], [[1, 0]]),
    ],
)
def test_reductions(op, resolver, values, axes, expected):
    values = truths(values)
    inputs = [Tensor(list(values.shape), "bool"), constant(axes, np.int32)]
    found = outputs(op, inputs, Tensor([1], "bool"), [values], resolver, keep_dims=True)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("STABLEHLO_ADD", A | B),
        ("STABLEHLO_MAXIMUM", A | B),
        ("STABLEHLO_MULTIPLY", (A != 0) & (B != 0)),
        ("STABLEHLO_MINIMUM", (A != 0) & (B != 0)),
        ("LOGICAL_AND", A & B),
        ("LOGICAL_OR", A | B),
    ],
)
def test_pairs(op, expected):
    assert np.array_equal(evaluate(op, [A.view(bool), B.view(bool)], bool).view(np.uint8), expected)


def test_scattered_bytes_add_up_to_a_truth():
    inputs = [constant([[0], [0], [1], [2]], np.int32), Tensor([4], "bool"), constant([3], np.int32)]
    assert outputs("SCATTER_ND", inputs, Tensor([3], "bool"), [truths([1, 255, 2, 0])]).tolist() == [0, 1, 0]
