"""What the tflite_micro package's Python runtime offers, so that its import can be replaced.

    from tflm_cy.micro import runtime            # for: from tflite_micro import runtime
    interpreter = runtime.Interpreter.from_file("model.tflite")
    interpreter.set_input(values, 0)
    interpreter.invoke()
    interpreter.get_output(0)

Outputs, exceptions and their texts are that runtime's. `arena_size` means what it means there: a model that TFLM could
not allocate in so many bytes is refused, and `print_allocations` prints TFLM's figures (`micro.figures`). What this
interpreter itself needs is another number, see `micro.interpreter`. The names InterpreterConfig, GetTensor and the
misspelled keyword are the runtime's.

Differences: a custom operator that is not known cannot be registered by a C symbol; `alt_decompression_memory_size` counts
in the figures, and what TFLM_DECODE decodes is kept until it is read, also over the next TFLM_DECODE; what is printed goes
to Python's stderr.
"""

import enum
import os
import sys

import numpy as np

from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.figures import RUNTIME_ARENA_FACTOR, figures
from tflm_cy.micro.interpreter import MicroInterpreter
from tflm_cy.schema.model import Model

_NAMES = {"uint16": "NOTYPE"}  # numpy's name -> the runtime's, where it is not the same in upper case
_ALLOCATION_FAILED = "TFLM failed to allocate tensors"
_NOT_AN_INDEX = "Index must be a non-negative integer"


class InterpreterConfig(enum.Enum):
    """Either memory is recorded (`print_allocations`), or every tensor is kept (`GetTensor`)."""

    kAllocationRecording = 0  # noqa: N815 (the runtime's name)
    kPreserveAllTensors = 1  # noqa: N815


class Interpreter:
    """A model, allocated by the constructor; see `from_file` and `from_bytes`.

    Raises
    ------
    ValueError
        Bad arguments.
    RuntimeError
        TFLM would refuse the model, or not fit it into the arena; the cause is the exception's.
    """

    def __init__(
        self,
        model_data,
        custom_op_registerers,
        arena_size,
        intrepreter_config=InterpreterConfig.kAllocationRecording,
        alt_decompression_memory_size=0,
    ):
        if model_data is None:
            raise ValueError("Model must not be None")
        if not isinstance(custom_op_registerers, list) or not all(isinstance(s, str) for s in custom_op_registerers):
            raise ValueError("Custom ops registerers must be a list of strings")
        if not isinstance(model_data, bytes):
            raise TypeError(f"the model must be bytes, not {type(model_data).__name__}")
        if custom_op_registerers:
            raise RuntimeError(f"TFLM could not register custom op via {custom_op_registerers[0]}")
        if arena_size is None:
            arena_size = RUNTIME_ARENA_FACTOR * len(model_data)
        self._preserves = intrepreter_config is InterpreterConfig.kPreserveAllTensors
        try:
            model = Model.from_buffer(model_data)
            self._figures = _fitting(model, arena_size, self._preserves, alt_decompression_memory_size)
            self._interpreter = MicroInterpreter(model, preserve_all_tensors=self._preserves)
        except (ValueError, RuntimeError, MemoryError) as error:
            raise RuntimeError(_ALLOCATION_FAILED) from error

    @classmethod
    def from_file(
        cls,
        model_path,
        custom_op_registerers=None,
        arena_size=None,
        intrepreter_config=InterpreterConfig.kAllocationRecording,
        alt_decompression_memory_size=0,
    ):
        """The interpreter of a .tflite file.

        Parameters
        ----------
        model_path : str or os.PathLike
        custom_op_registerers : list of str, optional
            None can be looked up here: only an empty list is accepted.
        arena_size : int, optional
            Bytes in which TFLM must be able to allocate the model; by default ten times the file.
        intrepreter_config : InterpreterConfig
        alt_decompression_memory_size : int
            Bytes of a memory of its own for what TFLM_DECODE decodes, which the arena then need not hold.
        """
        if model_path is None or not os.path.isfile(model_path):
            raise ValueError("Invalid model file path")
        with open(model_path, "rb") as file:
            model = file.read()
        registerers = [] if custom_op_registerers is None else custom_op_registerers
        return cls(model, registerers, arena_size, intrepreter_config, alt_decompression_memory_size)

    @classmethod
    def from_bytes(
        cls,
        model_data,
        custom_op_registerers=None,
        arena_size=None,
        intrepreter_config=InterpreterConfig.kAllocationRecording,
        alt_decompression_memory_size=0,
    ):
        """The interpreter of a model in `bytes`; the other arguments are those of `from_file`."""
        registerers = [] if custom_op_registerers is None else custom_op_registerers
        return cls(model_data, registerers, arena_size, intrepreter_config, alt_decompression_memory_size)

    def set_input(self, input_data, index):
        """Copy an array of the input's type and shape into an input."""
        if input_data is None:
            raise ValueError("Input data must not be None")
        tensor = self._at(self._interpreter.inputs, index)
        details = self._interpreter.core.tensor_details(tensor)
        array = np.asarray(input_data)
        _expect(array, details, index)
        self._interpreter.core.set_tensor(tensor, array.astype(array.dtype.newbyteorder("="), copy=False))

    def invoke(self):
        """Run the model: 0, or 15 when an operator stopped it before its end; RuntimeError when one fails."""
        try:
            return self._interpreter.invoke()
        except RuntimeError as error:
            raise RuntimeError("Interpreter invocation failed.") from error

    def get_output(self, index):
        """A copy of an output."""
        return np.asarray(self._interpreter.core.get_tensor(self._at(self._interpreter.outputs, index)))

    def get_input_details(self, index):
        """dtype, shape and quantization_parameters (scales, zero_points, quantized_dimension) of an input."""
        return _details(self._interpreter.core.tensor_details(self._at(self._interpreter.inputs, index)))

    def get_output_details(self, index):
        """As `get_input_details`, of an output."""
        return _details(self._interpreter.core.tensor_details(self._at(self._interpreter.outputs, index)))

    def GetTensor(self, tensor_index, subgraph_index):  # noqa: N802 (the runtime's name)
        """dtype, shape and tensor_data of any tensor; needs kPreserveAllTensors."""
        if not self._preserves:
            raise RuntimeError(
                "TFLM only supports GetTensor() when using a python interpreter with the "
                "InterpreterConfig.kPeserverAllTensors interpreter_config"
            )
        details = self._interpreter.core.tensor_details(tensor_index, subgraph_index)
        value = np.asarray(self._interpreter.tensor(tensor_index, subgraph_index))
        return {"dtype": details["dtype"], "shape": details["shape"], "tensor_data": value}

    def reset(self):
        """Operators' states, variables and resource variables are as at the start; returns 0."""
        return self._interpreter.reset()

    def print_allocations(self):
        """Print TFLM's memory for the model to stderr."""
        if self._preserves:
            raise ValueError("Cannot print allocations as they were not recorded")
        sys.stderr.write(self._figures.text().replace("\n", "\r\n") + "\r\n")
        sys.stderr.flush()

    def _at(self, tensors, index):
        """The tensor at a position."""
        if index is None or index < 0:
            raise ValueError(_NOT_AN_INDEX)
        if index >= len(tensors):
            raise IndexError("Tensor is out of bound, please check tensor index.")
        return tensors[index]


def _fitting(model, arena_size, preserves, decompression_memory):
    """TFLM's figures; ValueError when the arena is too small for TFLM."""
    wanted = demand(model, preserve_all=preserves, decompression_memory=decompression_memory)
    found = figures(wanted, arena_size=arena_size)
    if not found.fits:
        raise ValueError(f"TFLM needs {found.smallest_arena} bytes for this model, the arena has {arena_size}")
    return found


def _details(details):
    quantization = details["quantization_parameters"]
    names = ("scales", "zero_points", "quantized_dimension")
    return {
        "dtype": details["dtype"],
        "shape": details["shape"],
        "quantization_parameters": {name: quantization[name] for name in names},
    }


def _expect(array, details, index):
    """ValueError unless the array has the tensor's type and shape."""
    wanted, shape = np.dtype(details["dtype"]), details["shape"]
    if array.dtype.newbyteorder("=") != wanted or wanted.name in _NAMES:
        raise ValueError(
            f"Cannot set tensor: Got value of type {_type_name(array.dtype)} but expected type {wanted.name.upper()} "
            f"for input {index}"
        )
    if array.ndim != len(shape):
        raise ValueError(
            f"Cannot set tensor: Dimension mismatch. Got {array.ndim} but expected {len(shape)} for input {index}"
        )
    for d, (got, expected) in enumerate(zip(array.shape, shape, strict=True)):
        if got != expected:
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {got} but expected {expected} "
                f"for dimension {d} of input {index}"
            )


def _type_name(dtype):
    return _NAMES.get(dtype.name, dtype.name.upper())
