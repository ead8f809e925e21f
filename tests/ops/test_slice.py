"""SLICE and STRIDED_SLICE."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import interpret, run, same

TYPES = ["float32", "float16", "int8", "uint8", "int16", "int32", "uint32", "int64", "bool"]
X = np.arange(2 * 5 * 4)


def given(value, constant, dtype="int32"):
    value = np.array(value, dtype)
    return value if constant else (value, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("begin", "size"), [((0, 1, 2), (2, 3, 2)), ((1, 0, 0), (-1, -1, 1)), ((0, 4, 0), (1, -1, 4))])
@pytest.mark.parametrize("constant", ["both", "size", "none"])
def test_slice(dtype, begin, size, constant):
    x = (X % 2 if dtype == "bool" else X).astype(dtype).reshape(2, 5, 4)
    index = "int64" if dtype == "int16" else "int32"
    inputs = [(x, dtype), given(begin, constant == "both", index), given(size, constant != "none", index)]
    [y] = run("SLICE", inputs, [Tensor([], dtype)])
    same(y, x[tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size, strict=True))])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("begin", "size"),
    [((0, 4), (2, 2)), ((-1, 0), (1, 1)), ((0, 0), (-2, 1)), ((3, 0), (-1, 1)), ((0, 2**31 - 1), (1, 2**31 - 1))],
)
def test_slice_refuses(begin, size, constant):
    with pytest.raises(RuntimeError, match="Invalid"):
        run(
            "SLICE",
            [(np.zeros((2, 5), np.int8), "int8"), given(begin, constant), given(size, constant)],
            [Tensor([], "int8")],
        )


def test_slice_refuses_six_dimensions_and_short_vectors():
    x = (np.zeros((1,) * 6, np.int8), "int8")
    with pytest.raises(RuntimeError, match="1D-5D"):
        run("SLICE", [x, given([0] * 6, True), given([1] * 6, True)], [Tensor([], "int8")])
    with pytest.raises(RuntimeError, match="1D-5D"):
        run("SLICE", [x, given([0], True), given([1], True)], [Tensor([], "int8")])
    with pytest.raises(RuntimeError, match="vector of 5"):
        run("SLICE", [(x[0][0], "int8"), given([0], True), given([1], True)], [Tensor([], "int8")])


@pytest.mark.parametrize("constant", [True, False])
def test_slices_of_strings(constant):
    x = np.array([[b"a", b"bc", b""], [b"def", b"g", b"hi"]], object)
    [y] = run("SLICE", [(x, "string"), given([0, 1], constant), given([2, 2], constant)], [Tensor([], "string")])
    assert y.tolist() == x[:, 1:].tolist()
    indices = [given(v, constant) for v in ([1, 2], [0, 0], [-1, -1])]
    [y] = run("STRIDED_SLICE", [(x, "string"), *indices], [Tensor([1], "string")], end_mask=3)
    assert y.tolist() == x[1::-1, 2::-1].tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [
        ((0, 1, 0), (2, 4, 4), (1, 2, 1)),
        ((-1, -1, 3), (-3, 0, -5), (-1, -2, -1)),
        ((0, -9, 1), (9, 9, 3), (1, 1, 1)),
        ((1,), (2,), (1,)),
        ((0, 4), (2, 0), (1, -1)),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_strided_slice(dtype, begin, end, strides, constant):
    x = (X % 2 if dtype == "bool" else X).astype(dtype).reshape(2, 5, 4)
    inputs = [(x, dtype), given(begin, constant), given(end, constant), given(strides, True)]
    [y] = run("STRIDED_SLICE", inputs, [Tensor([1], dtype)])
    same(y, x[tuple(slice(*part) for part in zip(begin, end, strides, strict=True))])


def strided(begin, end, strides, shape=(2, 5, 4), **masks):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    inputs = [(x, "int32"), *(given(v, True) for v in (begin, end, strides))]
    return x, run("STRIDED_SLICE", inputs, [Tensor([1], "int32")], **masks)[0]


def test_masks_leave_begin_and_end_open():
    x, y = strided((1, 1, 3), (1, 2, 1), (1, 1, -1), begin_mask=0b101, end_mask=0b110)
    same(y, x[:1, 1:, ::-1])


def test_shrunk_axes_disappear():
    x, y = strided((1, -2, 0), (9, 9, 4), (1, 1, 2), shrink_axis_mask=0b011)
    same(y, x[1, -2, ::2])


def test_a_shrunk_axis_with_its_begin_mask_takes_index_zero():
    x, y = strided((1, 3, 2), (2, 4, 3), (1, 1, 1), shrink_axis_mask=0b010, begin_mask=0b010)
    same(y, x[1:2, 0, 2:3])


def test_an_index_far_below_zero_is_clamped_before_it_shrinks():
    x, y = strided((-9, 0, 0), (0, 5, 4), (1, 1, 1), shrink_axis_mask=0b001)
    same(y, x[0])


def test_ellipsis_and_new_axes():
    x, y = strided((0, 0, 1), (1, 0, 3), (1, 1, 1), ellipsis_mask=0b010)
    same(y, x[0:1, ..., 1:3])
    x, y = strided((0, 0, 1), (0, 2, 3), (1, 1, 1), new_axis_mask=0b001)
    same(y, x[np.newaxis, 0:2, 1:3])
    x, y = strided((0, 0, 1), (0, 0, 3), (1, 1, 1), ellipsis_mask=0b001, new_axis_mask=0b010)
    same(y, x[..., np.newaxis, 1:3])


@pytest.mark.parametrize("constant", [True, False])
def test_end_may_be_an_offset_from_begin(constant):
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    inputs = [(x, "int32"), given((1, 2), constant), given((2, 3), True), given((1, 1), True)]
    interpreter = interpret("STRIDED_SLICE", inputs, [Tensor([1], "int32")], offset=True)
    assert interpreter.get_output_details()[0]["shape"].tolist() == [2, 3]
    interpreter.invoke()
    same(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), x[1:3, 2:5])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("begin", "strides", "masks", "text"),
    [
        ((7, 0), (1, 1), {"shrink_axis_mask": 1}, "shrunk"),
        ((1, 0), (-1, 1), {"shrink_axis_mask": 1}, "shrunk"),
        ((0, 0), (0, 1), {}, "non-zero"),
        ((2, 0), (1, 1), {"offset": True}, "offset"),
    ],
)
def test_strided_slice_refuses(begin, strides, masks, text, constant):
    inputs = [
        (np.zeros((3, 4), np.int8), "int8"),
        given(begin, constant),
        given((3, 4), True),
        given(strides, constant),
    ]
    with pytest.raises(RuntimeError, match=text):
        run("STRIDED_SLICE", inputs, [Tensor([1], "int8")], **masks)


@pytest.mark.parametrize(
    "masks",
    [
        {"ellipsis_mask": 0xFF},
        {"new_axis_mask": 0xFF},
        {"ellipsis_mask": -1, "new_axis_mask": -1},
        {"ellipsis_mask": 8},
        {"new_axis_mask": -2, "ellipsis_mask": 1},
        {"shrink_axis_mask": -1},
    ],
)
@pytest.mark.parametrize("indices", [0, 1, 3, 5, 31])
def test_any_masks_give_an_error_or_elements_of_the_input(masks, indices):
    x = np.arange(1, 25, dtype=np.int32).reshape(2, 3, 4)
    inputs = [(x, "int32"), given([0] * indices, True), given([2] * indices, True), given([1] * indices, True)]
    try:
        [y] = run("STRIDED_SLICE", inputs, [Tensor([1], "int32")], **masks)
    except RuntimeError:
        return
    assert set(y.ravel().tolist()) <= set(range(1, 25))


def test_constants_are_sliced_before_the_first_invoke():
    x = np.arange(6, dtype=np.int32)
    inputs = [x, given([1], True), given([5], True), given([2], True)]
    interpreter = interpret("STRIDED_SLICE", inputs, [Tensor([1], "int32")])
    same(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), x[1:5:2])


@pytest.mark.parametrize("constant", [True, False])
def test_fewer_strides_than_indices_are_refused(constant):
    """Where they are fed, as after a resize, when the node runs."""
    inputs = [(np.zeros((4, 6), np.int8), "int8"), *(given(v, constant) for v in ([0, 0], [2, 2], [1]))]
    with pytest.raises(RuntimeError, match="fewer strides" if constant else "failed to invoke"):
        run("STRIDED_SLICE", inputs, [Tensor([1, 1], "int8")])
