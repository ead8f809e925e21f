"""What the tflite_micro package's Python runtime offers."""

import enum
from os import PathLike
from typing import Any

import numpy.typing as npt

class InterpreterConfig(enum.Enum):
    kAllocationRecording = 0  # noqa: N815 (the runtime's name)
    kPreserveAllTensors = 1  # noqa: N815

class Interpreter:
    def __init__(
        self,
        model_data: bytes,
        custom_op_registerers: list[str],
        arena_size: int | None,
        intrepreter_config: InterpreterConfig = ...,
        alt_decompression_memory_size: int = 0,
    ) -> None: ...
    @classmethod
    def from_file(
        cls,
        model_path: str | PathLike[str],
        custom_op_registerers: list[str] | None = None,
        arena_size: int | None = None,
        intrepreter_config: InterpreterConfig = ...,
        alt_decompression_memory_size: int = 0,
    ) -> Interpreter: ...
    @classmethod
    def from_bytes(
        cls,
        model_data: bytes,
        custom_op_registerers: list[str] | None = None,
        arena_size: int | None = None,
        intrepreter_config: InterpreterConfig = ...,
        alt_decompression_memory_size: int = 0,
    ) -> Interpreter: ...
    def set_input(self, input_data: npt.ArrayLike, index: int) -> None: ...
    def invoke(self) -> int: ...
    def get_output(self, index: int) -> npt.NDArray[Any]: ...
    def get_input_details(self, index: int) -> dict[str, Any]: ...
    def get_output_details(self, index: int) -> dict[str, Any]: ...
    def GetTensor(self, tensor_index: int, subgraph_index: int) -> dict[str, Any]: ...  # noqa: N802 (the runtime's name)
    def reset(self) -> int: ...
    def print_allocations(self) -> None: ...
