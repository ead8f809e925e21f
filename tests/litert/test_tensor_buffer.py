"""Buffers: bytes in, bytes out."""

import numpy as np
import pytest

from tflm_cy.litert import TensorBuffer

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype):
    values = np.arange(6).astype(dtype)
    buffer = TensorBuffer.create_from_host_memory(np.zeros((2, 3), dtype))
    buffer.write(values.reshape(2, 3))
    got = buffer.read(6, np.dtype(dtype))
    assert (got.dtype, got.tobytes()) == (np.dtype(dtype), values.tobytes())
    assert buffer.get_tensor_details() == {"dtype": dtype, "shape": [6]}


def test_memory_is_the_array_itself():
    array = np.zeros(70, np.float32)[3:]  # of no alignment but a float's
    buffer = TensorBuffer.create_from_host_memory(array)
    buffer.write(np.array([1, 2], np.float32))
    assert array[:3].tolist() == [1, 2, 0]
    array[0] = 7
    copy = buffer.read(1, "float32")
    array[0] = 8
    assert copy.tolist() == [7] and buffer.array.tolist()[0] == 8


def test_bytes_are_not_converted():
    buffer = TensorBuffer.create_from_host_memory(np.zeros(2, np.float32))
    buffer.write(np.array([0, 0, 0x80, 0x3F], np.uint8))
    assert buffer.read(1, np.float32).tolist() == [1]
    assert buffer.read(0, np.int64).size == 0


def test_an_array_of_another_layout_is_written_in_order():
    buffer = TensorBuffer.create_from_host_memory(np.zeros(6, np.int32))
    buffer.write(np.arange(6, dtype=np.int32).reshape(2, 3).T)
    assert buffer.read(6, np.int32).tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: TensorBuffer.create_from_host_memory([1.0]), ValueError, "must be a NumPy array"),
        (lambda: TensorBuffer.create_from_host_memory(np.zeros((2, 3)).T), ValueError, "C-contiguous"),
        (lambda: TensorBuffer.create_from_host_memory(np.zeros(2, ">f4")), ValueError, "Unsupported dtype"),
        (lambda: TensorBuffer.create_from_host_memory(np.array(["a"])), ValueError, "Unsupported dtype"),
    ],
)
def test_what_no_buffer_can_hold(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_misuse_is_told_and_loses_nothing():
    buffer = TensorBuffer.create_from_host_memory(np.arange(4, dtype=np.float32))
    for call, error, text in (
        (lambda: buffer.write(np.zeros(5, np.float32)), RuntimeError, "20 bytes.*has 16"),
        (lambda: buffer.write([1.0]), ValueError, "must be a NumPy array"),
        (lambda: buffer.write(np.zeros(1, object)), ValueError, "Unsupported dtype"),
        (lambda: buffer.read(5, np.float32), RuntimeError, "larger than the tensor buffer"),
        (lambda: buffer.read(-1, np.float32), ValueError, "negative"),
        (lambda: buffer.read(1, "S4"), ValueError, "Unsupported dtype"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert buffer.read(4, np.float32).tolist() == [0, 1, 2, 3]
    buffer.destroy()
    for call in (lambda: buffer.read(1, np.float32), lambda: buffer.write(np.zeros(1)), buffer.get_tensor_details):
        with pytest.raises(ValueError, match="destroyed"):
            call()


def test_read_only_memory_is_not_written():
    array = np.zeros(2, np.float32)
    array.flags.writeable = False
    buffer = TensorBuffer.create_from_host_memory(array)
    assert buffer.read(2, np.float32).tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        buffer.write(np.ones(2, np.float32))
