"""PAD, PADV2, MIRROR_PAD."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same

PADDED = ["float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool"]
MIRRORED = ["float32", "int8", "uint8", "int16", "int32", "int64"]
PADDINGS = [[[0, 0], [1, 2], [0, 0]], [[1, 0], [0, 0], [0, 3]], [[2, 1], [1, 1], [1, 2]], [[0, 0], [0, 0], [0, 0]]]


def sample(shape, dtype):
    return (np.arange(np.prod(shape)) % (2 if dtype == "bool" else 99)).astype(dtype).reshape(shape)


def given(value, constant, dtype="int32"):
    value = np.array(value, dtype)
    return value if constant else (value, dtype)


@pytest.mark.parametrize("dtype", PADDED)
@pytest.mark.parametrize("paddings", PADDINGS)
@pytest.mark.parametrize("kind", ["int32", "int64", "run time"])
def test_pad(dtype, paddings, kind):
    x = sample((2, 3, 4), dtype)
    pads = given(paddings, False) if kind == "run time" else given(paddings, True, kind)
    [y] = run("PAD", [(x, dtype), pads], [Tensor([1], dtype)])
    same(y, np.pad(x, paddings))


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -7), ("uint8", 131), ("int16", 5)])
def test_the_border_of_a_quantized_tensor_is_the_outputs_zero_point(dtype, zero):
    x = sample((2, 2), dtype)
    quantized = Tensor([2, 2], dtype, scale=0.5, zero_point=1)
    [y] = run("PAD", [(x, quantized), given([[1, 1], [0, 1]], True)], [Tensor([1], dtype, scale=0.25, zero_point=zero)])
    same(y, np.pad(x, [[1, 1], [0, 1]], constant_values=zero))


@pytest.mark.parametrize("dtype", PADDED)
@pytest.mark.parametrize("constant", [True, False])
def test_padv2_takes_its_value_from_a_tensor(dtype, constant):
    x, value = sample((2, 3, 4), dtype), np.array([1], dtype)
    [y] = run(
        "PADV2", [(x, dtype), given(PADDINGS[2], True), value if constant else (value, dtype)], [Tensor([1], dtype)]
    )
    same(y, np.pad(x, PADDINGS[2], constant_values=value[0]))


def test_a_border_may_be_a_nan_with_a_payload():
    value = np.array([0x7FA00201], np.uint32).view(np.float32)
    [y] = run("PADV2", [(np.zeros(2, np.float32), "float32"), given([[5, 3]], True), value], [Tensor([1], "float32")])
    assert y.view(np.uint32).tolist() == [0x7FA00201] * 5 + [0, 0] + [0x7FA00201] * 3


def test_padding_a_scalar_and_five_dimensions():
    [y] = run("PAD", [(np.array(3, np.int32), "int32"), np.zeros((0, 2), np.int32)], [Tensor([], "int32")])
    same(y, np.array(3, np.int32))
    x, paddings = sample((2, 1, 2, 3, 2), "int8"), [[0, 1], [2, 0], [1, 1], [0, 0], [1, 0]]
    [y] = run("PAD", [(x, "int8"), given(paddings, True)], [Tensor([1], "int8")])
    same(y, np.pad(x, paddings))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("paddings", "text"),
    [([[0, -1]], "greater than"), ([[2**31 - 1, 2**31 - 1]], "overflow"), ([[2**40, 0]], "INT64 padding")],
)
def test_pad_refuses(paddings, text, constant):
    with pytest.raises(RuntimeError, match=text):
        run("PAD", [(np.zeros(3, np.int8), "int8"), given(paddings, constant, "int64")], [Tensor([1], "int8")])


def test_pad_refuses_six_dimensions_and_foreign_values():
    with pytest.raises(RuntimeError, match="PadKernelMaxDimensionCount"):
        run("PAD", [(np.zeros((1,) * 6, np.int8), "int8"), given([[0, 0]] * 6, True)], [Tensor([1], "int8")])
    x, value = (
        (np.zeros(3, np.int8), Tensor([3], "int8", scale=0.5)),
        Tensor.constant(np.array([1], np.int8), scale=0.25),
    )
    padded = run(
        "PADV2", [x, given([[1, 1]], True), value], [Tensor([1], "int8", scale=0.5)]
    )  # bytes, whatever the scales
    assert padded[0].tolist() == [1, 0, 0, 0, 1]
    with pytest.raises(RuntimeError, match="paddings must be"):
        run("PAD", [(np.zeros((3, 3), np.int8), "int8"), given([[1, 1]], True)], [Tensor([1], "int8")])


@pytest.mark.parametrize("dtype", MIRRORED)
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("paddings", [[[1, 1], [0, 0], [2, 3]], [[0, 1], [2, 2], [0, 0]], [[0, 0], [1, 0], [0, 0]]])
@pytest.mark.parametrize("constant", [True, False])
def test_mirror_pad(dtype, mode, paddings, constant):
    x = sample((2, 3, 4), dtype)
    [y] = run("MIRROR_PAD", [(x, dtype), given(paddings, constant)], [Tensor([1], dtype)], mode=mode)
    same(y, np.pad(x, paddings, mode.lower()))


@pytest.mark.parametrize(
    ("paddings", "mode", "want"),
    [
        ([[0, 4]], "REFLECT", [0, 1, 2, 1, 0, 0, 0]),
        ([[0, 5]], "SYMMETRIC", [0, 1, 2, 2, 1, 0, 0, 0]),
        ([[-1, 0]], "REFLECT", [1, 2]),
        ([[-1, 1]], "SYMMETRIC", [1, 2, 2]),
        ([[2, -1]], "REFLECT", [2, 1, 0, 1]),
    ],
)
def test_mirror_pad_outside_of_its_purpose(paddings, mode, want):
    [y] = run(
        "MIRROR_PAD",
        [(np.arange(3, dtype=np.int32), "int32"), given(paddings, True)],
        [Tensor([1], "int32")],
        mode=mode,
    )
    assert y.tolist() == want


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("paddings", "mode"), [([[3, 0]], "REFLECT"), ([[4, 0]], "SYMMETRIC"), ([[-4, 0]], "SYMMETRIC")]
)
def test_mirror_pad_refuses(paddings, mode, constant):
    with pytest.raises(RuntimeError, match="MirrorPad"):
        run("MIRROR_PAD", [(np.zeros(3, np.int8), "int8"), given(paddings, constant)], [Tensor([1], "int8")], mode=mode)
