"""CONCATENATION and PACK."""

import numpy as np
import pytest

from compat.builder import Model, Tensor, pack_bits
from tests.harness import allocated

from .one_operator import interpret, run, same

CONCATENATED = ["float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool", "uint32"]


def draw(shape, dtype, seed=3):
    bits = np.random.default_rng(seed).integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8)
    return bits.astype(bool).reshape(shape) if dtype == "bool" else np.frombuffer(bits.tobytes(), dtype).reshape(shape)


@pytest.mark.parametrize("dtype", CONCATENATED)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_concatenation(dtype, axis):
    shapes = [[2, 3, 4] for _ in range(3)]
    shapes[1][axis], shapes[2][axis] = 1, 0
    parts = [draw(shape, dtype) for shape in shapes]
    [y] = run("CONCATENATION", [(part, dtype) for part in parts], [Tensor([1], dtype)], axis=axis)
    same(y, np.concatenate(parts, axis))


def test_concatenation_of_constants_is_known_before_the_first_invoke():
    parts = [draw((2, 2), "float32", seed) for seed in range(2)]
    interpreter = interpret("CONCATENATION", parts, [Tensor([1], "float32")], axis=1)
    same(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), np.concatenate(parts, 1))


def test_constant_scalars_become_a_vector():
    [y] = run("CONCATENATION", [np.array(5, np.int32), np.array(-7, np.int32)], [Tensor([], "int32")], axis=0)
    same(y, np.array([5, -7], np.int32))


def test_uint8_is_rescaled_in_float32():
    x = np.arange(256, dtype=np.uint8)
    scale, zero, to_scale, to_zero = np.float32(0.7), 13, np.float32(0.3), 140
    [y] = run(
        "CONCATENATION",
        [(x, Tensor([256], "uint8", scale=scale, zero_point=zero))] * 1,
        [Tensor([1], "uint8", scale=to_scale, zero_point=to_zero)],
        axis=0,
    )
    ratio = scale * (np.float32(1) / to_scale)
    real = x.astype(np.float32) * ratio + np.float32(-zero) * ratio
    want = np.clip(np.sign(real) * np.floor(np.abs(real) + np.float32(0.5)) + to_zero, 0, 255)
    same(y, want.astype(np.uint8))


@pytest.mark.parametrize("axis", [0, 1])
def test_int4_pieces_may_begin_within_a_byte(axis):
    a, b = np.array([[1, -8, 7]], np.int8), np.array([[-1, 2, -3]], np.int8)
    parts = [Tensor.constant(v, "int4") for v in (a, b)]
    interpreter = interpret("CONCATENATION", parts, [Tensor([1], "int4")], axis=axis)
    details = interpreter.get_output_details()[0]
    assert details["shape"].tolist() == list(np.concatenate((a, b), axis).shape)
    want = np.frombuffer(pack_bits(np.concatenate((a, b), axis), 4), np.uint8)
    interpreter.invoke()
    got = interpreter.get_tensor(details["index"])
    assert got.astype(np.int8).ravel().tolist() in (want.tolist(), np.concatenate((a, b), axis).ravel().tolist())


@pytest.mark.parametrize(
    ("shapes", "axis", "text"),
    [
        ([(2, 3), (2, 4)], 0, "differ outside"),
        ([(2, 3), (2,)], 0, "rank"),
        ([(2,), (2,)], 1, "axis"),
        ([(), ()], 0, "constant"),
    ],
)
def test_concatenation_refuses_shapes(shapes, axis, text):
    with pytest.raises(RuntimeError, match=text):
        run("CONCATENATION", [(np.zeros(s, np.int32), "int32") for s in shapes], [Tensor([1], "int32")], axis=axis)


def test_concatenation_refuses_what_int8_cannot_rescale_and_activations():
    x = (np.zeros(2, np.int8), Tensor([2], "int8", scale=0.5))
    with pytest.raises(RuntimeError, match=r"params\.scale"):
        run("CONCATENATION", [x], [Tensor([1], "int8", scale=0.25)], axis=0)
    x = (np.zeros(2, np.float32), "float32")
    with pytest.raises(RuntimeError, match="activation"):
        run("CONCATENATION", [x], [Tensor([1], "float32")], axis=0, fused_activation_function="RELU")
    with pytest.raises(RuntimeError, match="not supported"):
        run("CONCATENATION", [(np.zeros(2), "float64")], [Tensor([1], "float64")], axis=0)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_pack(dtype, axis):
    parts = [draw((2, 3), dtype, seed) for seed in range(3)]
    inputs = [(parts[0], dtype), parts[1], (parts[2], dtype)]
    [y] = run("PACK", inputs, [Tensor([1], dtype)], axis=axis, values_count=3)
    same(y, np.stack(parts, axis))


def test_pack_of_scalars():
    [y] = run("PACK", [(np.array(3, np.int64), "int64")] * 1, [Tensor([1], "int64")], axis=0, values_count=1)
    same(y, np.array([3], np.int64))


@pytest.mark.parametrize(
    ("options", "text"), [({"axis": 3, "values_count": 1}, "axis"), ({"axis": 0, "values_count": 2}, "values_count")]
)
def test_pack_refuses(options, text):
    with pytest.raises(RuntimeError, match=text):
        run("PACK", [(np.zeros((2, 2), np.int32), "int32")], [Tensor([1], "int32")], **options)


def test_a_negative_axis_is_counted_from_the_end_of_the_first_shape():
    x, y = Tensor([2, 3], "float32"), Tensor([2, 3, 1], "float32")
    interpreter = allocated(Model.single("PACK", [x], [y], axis=-1, values_count=1).to_bytes())
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [2, 3, 4])
    interpreter.allocate_tensors()
    assert interpreter.get_output_details()[0]["shape"].tolist() == [2, 3, 1, 4]
