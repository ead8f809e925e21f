"""EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL, MAXIMUM, MINIMUM, LOGICAL_AND, LOGICAL_OR."""

import numpy as np
import pytest

from compat.builder import Tensor

from .evaluate import REFUSED, evaluate, like, real, same_bytes

RNG = np.random.default_rng(3)
RELATIONS = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
}


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int16, np.int32, np.int64])
def test_relations(name, dtype):
    a, b = RNG.integers(-2, 3, (3, 4, 5)).astype(dtype), RNG.integers(-2, 3, (4, 1)).astype(dtype)
    if dtype == np.float32:
        a[0, 0] = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    assert same_bytes(evaluate(name, [a, b], bool), RELATIONS[name](a, b))
    assert same_bytes(evaluate(name, [b, a], bool), RELATIONS[name](b, a))


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_quantized_values_are_compared_as_real_ones(name, dtype):
    a, b = RNG.integers(0, 100, (2, 300)).astype(dtype)
    ra, rb = real(a, 0.5, 3), real(b, 0.25, 10)  # exact in binary
    assert same_bytes(
        evaluate(name, [a, b], bool, inputs=[like(a, 0.5, 3), like(b, 0.25, 10)]), RELATIONS[name](ra, rb)
    )


@pytest.mark.parametrize("name", ["EQUAL", "NOT_EQUAL"])
def test_bool(name):
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert same_bytes(evaluate(name, [a, b], bool), RELATIONS[name](a, b))
    with pytest.raises(REFUSED, match="Does not support type BOOL"):
        evaluate("LESS", [a, b], bool)


@pytest.mark.parametrize("name", ["EQUAL", "NOT_EQUAL"])
def test_strings(name):
    words = np.array([[b"", b"a", b"ab"], [b"a\0", b"b", b"ab"]], object)
    for other in (np.array([[b"", b"b", b"ab"], [b"a", b"b", b"abc"]], object), np.array([b"a", b"b", b"ab"], object)):
        inputs = [Tensor(list(a.shape), "string") for a in (words, other)]
        got = evaluate(name, [words, other], Tensor([2, 3], "bool"), inputs=inputs)
        assert same_bytes(got, (words == other) == (name == "EQUAL"))
    with pytest.raises(REFUSED, match="kTfLiteString"):
        evaluate("LESS", [words, words], Tensor([2, 3], "bool"), inputs=[Tensor([2, 3], "string")] * 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_maximum_and_minimum(dtype):
    a, b = RNG.integers(0, 100, (4, 6)).astype(dtype), RNG.integers(0, 100, (4, 1)).astype(dtype)
    assert same_bytes(evaluate("MAXIMUM", [a, b], dtype), np.maximum(a, b))
    assert same_bytes(evaluate("MINIMUM", [a, b], dtype), np.minimum(a, b))


def test_beside_a_nan_the_second_operand_is_taken():
    a, b = np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)
    for name in ("MAXIMUM", "MINIMUM"):
        result = evaluate(name, [a, b], np.float32)
        assert result[0] == 1
        assert np.isnan(result[1])


def test_logical_and_and_or():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert same_bytes(evaluate("LOGICAL_AND", [a, b], bool), a & b)
    assert same_bytes(evaluate("LOGICAL_OR", [a, b], bool), a | b)
    with pytest.raises(REFUSED, match="unsupported by op LogicalOp"):
        evaluate("LOGICAL_AND", [a.astype(np.int32)] * 2, bool)
    with pytest.raises(REFUSED, match="not supported by Maximum"):
        evaluate("MAXIMUM", [a, b], bool)


def test_quantized_int16_is_scaled_for_equality_and_raw_for_order():
    a, b = np.array([2, 4, 100], np.int16), np.array([4, 4, 50], np.int16)
    inputs = [like(a, 0.5), like(b, 0.25)]
    assert evaluate("EQUAL", [a, b], bool, inputs=inputs).tolist() == [True, False, False]
    assert evaluate("NOT_EQUAL", [a, b], bool, inputs=inputs).tolist() == [False, True, True]
    assert evaluate("LESS", [a, b], bool, inputs=inputs).tolist() == [True, False, False]
    assert evaluate("GREATER_EQUAL", [a, b], bool, inputs=inputs).tolist() == [False, True, True]
