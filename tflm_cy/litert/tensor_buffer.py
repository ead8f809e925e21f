"""The memory that a CompiledModel reads its inputs from and writes its outputs to.

A buffer has bytes, and the dtype and shape of the tensor that it was made for. As in LiteRT, `write` and `read` copy bytes and convert
nothing: an array of another dtype is taken as its bytes.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _native_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """A dtype of numbers in this machine's byte order; ValueError for another one."""
    found = np.dtype(dtype)
    if found.kind not in "biufc" or not found.isnative:
        raise ValueError(f"Unsupported dtype: {dtype}")
    return found


class TensorBuffer:
    """Memory of one tensor; made by `CompiledModel.create_input_buffers` and its siblings, or over an array.

    Unlike LiteRT's it takes every dtype that a tensor of numbers can have (int16, int64 and float64, too), and memory of any alignment
    without a copy.

    >>> import numpy as np
    >>> from tflm_cy.litert import TensorBuffer
    >>> array = np.zeros(4, np.float32)
    >>> buffer = TensorBuffer.create_from_host_memory(array)
    >>> buffer.write(np.array([1, 2], np.float32))
    >>> array
    array([1., 2., 0., 0.], dtype=float32)
    """

    def __init__(self, array: Array) -> None:
        self._array: Array | None = array

    @classmethod
    def create_from_host_memory(cls, data_array: Array) -> "TensorBuffer":
        """Return a buffer over the memory of an array, without a copy.

        Parameters
        ----------
        data_array : numpy.ndarray
            C-contiguous, of any shape; the buffer's shape is flat. An output buffer must be writeable.

        Raises
        ------
        ValueError
            Not an array, not C-contiguous, or of a dtype that no tensor has.
        """
        if not isinstance(data_array, np.ndarray):
            raise ValueError("data_array must be a NumPy array")
        _native_dtype(data_array.dtype)
        if not data_array.flags.c_contiguous:
            raise ValueError("data_array must be C-contiguous for zero-copy host-memory binding")
        return cls(data_array.reshape(-1))

    @property
    def array(self) -> Array:
        """The memory as an array of the tensor's dtype and shape, without a copy; ValueError behind `destroy`."""
        if self._array is None:
            raise ValueError("TensorBuffer has been destroyed")
        return self._array

    def _bytes(self) -> npt.NDArray[np.uint8]:
        return self.array.reshape(-1).view(np.uint8)

    def write(self, data_array: Array) -> None:
        """Copy an array's bytes to the begin of the buffer.

        Raises
        ------
        ValueError
            Not an array, of a dtype that no tensor has, or a buffer over memory that is read-only.
        RuntimeError
            The array has more bytes than the buffer.
        """
        if not isinstance(data_array, np.ndarray):
            raise ValueError("data_array must be a NumPy array")
        _native_dtype(data_array.dtype)
        given = np.ascontiguousarray(data_array).reshape(-1).view(np.uint8)
        memory = self._bytes()
        if given.size > memory.size:
            raise RuntimeError(
                f"the source has {given.size} bytes and is larger than the tensor buffer, which has {memory.size}"
            )
        memory[: given.size] = given

    def read(self, num_elements: int, output_dtype: npt.DTypeLike) -> Array:
        """Return a copy of the first elements.

        Parameters
        ----------
        num_elements : int
        output_dtype : dtype
            What the bytes are taken for.

        Returns
        -------
        numpy.ndarray
            Of one dimension.

        Raises
        ------
        ValueError
            A negative number of elements, or a dtype that no tensor has.
        RuntimeError
            More bytes than the buffer has.
        """
        dtype = _native_dtype(output_dtype)
        found = np.empty(num_elements, dtype)
        memory = self._bytes()
        if found.nbytes > memory.size:
            raise RuntimeError(
                f"{found.nbytes} bytes are asked for: the destination buffer is larger than the tensor buffer, which has "
                f"{memory.size}"
            )
        found.view(np.uint8)[:] = memory[: found.nbytes]
        return found

    def get_tensor_details(self) -> dict[str, Any]:
        """Return `{"dtype": name, "shape": [int, ...]}`."""
        return {"dtype": self.array.dtype.name, "shape": list(self.array.shape)}

    def destroy(self) -> None:
        """Give the memory back; the buffer can no longer be used."""
        self._array = None

    def __repr__(self) -> str:
        if self._array is None:
            return "<TensorBuffer, destroyed>"
        return f"<TensorBuffer {self._array.dtype.name}{list(self._array.shape)}>"
