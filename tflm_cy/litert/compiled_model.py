"""A model whose signatures run on `TensorBuffer`s: `CompiledModel` of ai_edge_litert, over this package's interpreter.

Signatures are counted in the file's order. Their inputs and outputs have the order of the subgraph's, by which `run_by_index` takes
buffers. A model without signatures has one, whose key is PLACEHOLDER and whose names are those of the main graph's tensors.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from tflm_cy.interpreter import Interpreter
from tflm_cy.litert.accelerator import HardwareAccelerator, check_accelerators
from tflm_cy.litert.environment import Environment
from tflm_cy.litert.options import Options
from tflm_cy.litert.tensor_buffer import TensorBuffer

PLACEHOLDER = "<placeholder signature>"
HOST_MEMORY = 1  # of LiteRT's numbers of kinds of buffers the one that every machine has


@dataclass(frozen=True)
class _Signature:
    """A subgraph with names for its inputs and outputs: (name, tensor) in the subgraph's order."""

    key: str
    subgraph: int
    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, int]]


def _in_order(tensors: Sequence[int], names: dict[str, int]) -> list[tuple[str, int]]:
    """The names of a signature in the order of a subgraph's inputs or outputs."""
    place = {tensor: position for position, tensor in reversed(list(enumerate(tensors)))}
    return sorted(names.items(), key=lambda item: place.get(item[1], len(place)))


def _signatures(interpreter: Any) -> list[_Signature]:
    core = interpreter._interpreter
    found = [
        _Signature(key, subgraph, _in_order(core.inputs(subgraph), inputs), _in_order(core.outputs(subgraph), outputs))
        for key, (subgraph, inputs, outputs) in interpreter._signature_defs.items()
    ]
    if found:
        return found
    sides = [
        [(core.tensor_details(tensor)["name"], tensor) for tensor in side] for side in (core.inputs(), core.outputs())
    ]
    return [_Signature(PLACEHOLDER, 0, *sides)]


class CompiledModel:
    """A model, ready to run on buffers; a drop-in for `ai_edge_litert.compiled_model.CompiledModel`.

    Made by `from_file` and `from_buffer`. Where LiteRT ends the process (an index of a signature that does not exist), or writes beyond
    a buffer (one that is too small for an output), this raises RuntimeError.

    Examples
    --------
    >>> import numpy as np
    >>> from tflm_cy.litert import CompiledModel
    >>> model = CompiledModel.from_file("tflm_cy/demo/digits_int8.tflite")
    >>> model.get_signature_list()
    {'serving_default': {'inputs': ['image'], 'outputs': ['probabilities']}}
    >>> image = model.create_input_buffer_by_name("serving_default", "image")
    >>> probabilities = model.create_output_buffer_by_name("serving_default", "probabilities")
    >>> image.write(np.zeros((1, 8, 8, 1), np.int8))
    >>> model.run_by_name("serving_default", {"image": image}, {"probabilities": probabilities})
    >>> probabilities.get_tensor_details()
    {'dtype': 'int8', 'shape': [1, 10]}
    """

    def __init__(self, interpreter: Interpreter, environment: Environment) -> None:
        self._interpreter: Any = interpreter
        self._environment = environment
        self._signatures = _signatures(interpreter)

    @classmethod
    def from_file(
        cls,
        model_path: str | os.PathLike[str],
        hardware_accel: HardwareAccelerator | None = None,
        environment: Environment | None = None,
        options: Options | None = None,
    ) -> "CompiledModel":
        """Open a file.

        Parameters
        ----------
        model_path : str or os.PathLike
        hardware_accel : HardwareAccelerator, optional
            The CPU, alone or with others; not together with `options`.
        environment : Environment, optional
        options : Options, optional
            Threads and kernels.

        Raises
        ------
        RuntimeError
            The model cannot be loaded, or the CPU is not among the accelerators.
        ValueError
            Both hardware_accel and options are given, or the environment is closed.
        """
        return cls._open("file", {"model_path": os.fspath(model_path)}, hardware_accel, environment, options)

    @classmethod
    def from_buffer(
        cls,
        model_data: bytes | bytearray | memoryview,
        hardware_accel: HardwareAccelerator | None = None,
        environment: Environment | None = None,
        options: Options | None = None,
    ) -> "CompiledModel":
        """Open a model in memory, which is used in place; everything else as `from_file`. TypeError for a str."""
        return cls._open("buffer", {"model_content": model_data}, hardware_accel, environment, options)

    @classmethod
    def _open(
        cls,
        source: str,
        model: dict[str, Any],
        hardware_accel: HardwareAccelerator | None,
        environment: Environment | None,
        options: Options | None,
    ) -> "CompiledModel":
        if options is not None and hardware_accel is not None:
            raise ValueError("Pass either options or hardware_accel, not both.")
        chosen = options or Options()
        check_accelerators(chosen.hardware_accelerators if hardware_accel is None else hardware_accel)
        environment = environment or Environment.create()
        environment.check()
        cpu = chosen.cpu_options
        try:
            interpreter = Interpreter(
                num_threads=max(cpu.num_threads, 1), experimental_op_resolver_type=cpu.resolver(), **model
            )
        except (ValueError, OSError) as error:
            raise RuntimeError(f"Failed to load model from {source}: {error}") from error
        return cls(interpreter, environment)

    @property
    def environment(self) -> Environment:
        """The environment that it was made in."""
        return self._environment

    def _check_open(self) -> None:
        if self._interpreter is None:
            raise RuntimeError("the CompiledModel is closed")

    @property
    def _core(self) -> Any:
        self._check_open()
        return self._interpreter._interpreter

    def close(self) -> None:
        """Give its memory back. Buffers stay; nothing else can be called."""
        self._interpreter = None

    def __enter__(self) -> "CompiledModel":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---------------------------------------------------------------- signatures

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Return `{key: {"inputs": [names], "outputs": [names]}}`."""
        return {s.key: self._names(s) for s in self._checked_signatures()}

    def get_num_signatures(self) -> int:
        """Return how many signatures there are, at least 1."""
        return len(self._checked_signatures())

    def get_signature_by_index(self, index: int) -> dict[str, Any]:
        """Return `{"key": ..., "inputs": [names], "outputs": [names]}`; RuntimeError where there is no such signature."""
        signature = self._at(index)
        return {"key": signature.key, **self._names(signature)}

    def get_signature_index(self, key: str) -> int:
        """Return the index of a signature; -1 if there is none of this key."""
        keys = [s.key for s in self._checked_signatures()]
        return keys.index(key) if key in keys else -1

    @staticmethod
    def _names(signature: _Signature) -> dict[str, list[str]]:
        return {"inputs": [name for name, _ in signature.inputs], "outputs": [name for name, _ in signature.outputs]}

    def _checked_signatures(self) -> list[_Signature]:
        self._check_open()
        return self._signatures

    def _at(self, index: int) -> _Signature:
        found = self._checked_signatures()
        if not 0 <= index < len(found):
            raise RuntimeError(f"Signature index {index} is out of range: the model has {len(found)}")
        return found[index]

    def _of(self, key: str) -> _Signature:
        index = self.get_signature_index(key)
        if index < 0:
            raise RuntimeError(
                f"Signature not found: {key}; the model has {', '.join(s.key for s in self._signatures)}"
            )
        return self._signatures[index]

    # ---------------------------------------------------------------- tensors

    def get_input_tensor_details(self, signature_key: str) -> dict[str, dict[str, Any]]:
        """Return `{input: {"name", "index", "dtype", "shape"}}` of a signature; `name` and `index` are the tensor's in the file."""
        signature = self._of(signature_key)
        return {name: self._details(signature, tensor) for name, tensor in signature.inputs}

    def get_output_tensor_details(self, signature_key: str) -> dict[str, dict[str, Any]]:
        """Return the same of the outputs. Behind a resize the operators are prepared, and shapes are the new ones."""
        signature = self._of(signature_key)
        self._core.allocate(signature.subgraph)
        return {name: self._details(signature, tensor) for name, tensor in signature.outputs}

    def _details(self, signature: _Signature, tensor: int) -> dict[str, Any]:
        found = self._core.tensor_details(tensor, signature.subgraph)
        dtype = np.dtype(found["dtype"])
        return {
            "name": found["name"],
            "index": found["index"],
            "dtype": dtype.name if dtype.kind in "biufc" else "unknown",
            "shape": [int(size) for size in found["shape"]],
        }

    def get_input_buffer_requirements(self, input_index: int, signature_index: int = 0) -> dict[str, Any]:
        """Return `{"buffer_size": bytes, "supported_types": [1]}` of an input: 1 is the memory of the host."""
        signature = self._at(signature_index)
        return self._requirements(signature, self._member(signature, "Input", signature.inputs, input_index)[1])

    def get_output_buffer_requirements(self, output_index: int, signature_index: int = 0) -> dict[str, Any]:
        """Return the same of an output."""
        signature = self._at(signature_index)
        tensor = self._member(signature, "Output", signature.outputs, output_index)[1]
        self._core.allocate(signature.subgraph)
        return self._requirements(signature, tensor)

    def _requirements(self, signature: _Signature, tensor: int) -> dict[str, Any]:
        """Of strings no bytes, as LiteRT says."""
        details = self._details(signature, tensor)
        each = 0 if details["dtype"] == "unknown" else np.dtype(details["dtype"]).itemsize
        count = int(np.prod(details["shape"], dtype=np.int64))
        return {"buffer_size": each * count, "supported_types": [HOST_MEMORY]}

    def is_fully_accelerated(self) -> bool:
        """Return whether the default delegate runs every node that the execution plans name."""
        core = self._core
        core.allocate()
        plans = [(set(core.execution_plan(g)), core.delegate_nodes(g)) for g in range(core.num_subgraphs())]
        return all(plan <= set(delegated) for plan, delegated in plans)

    # ---------------------------------------------------------------- buffers

    def create_input_buffers(self, signature_index: int) -> list[TensorBuffer]:
        """Return a buffer for each input, zeros in it. A string tensor has none: RuntimeError."""
        signature = self._at(signature_index)
        return [self._buffer(signature, name, tensor) for name, tensor in signature.inputs]

    def create_output_buffers(self, signature_index: int) -> list[TensorBuffer]:
        """Return a buffer for each output, of the shape that it has with the inputs' present shapes."""
        signature = self._at(signature_index)
        self._core.allocate(signature.subgraph)
        return [self._buffer(signature, name, tensor) for name, tensor in signature.outputs]

    def create_input_buffer_by_name(self, signature_key: str, input_name: str) -> TensorBuffer:
        """Return a buffer for an input."""
        signature = self._of(signature_key)
        return self._named(signature, "Input", signature.inputs, input_name)

    def create_output_buffer_by_name(self, signature_key: str, output_name: str) -> TensorBuffer:
        """Return a buffer for an output."""
        signature = self._of(signature_key)
        self._core.allocate(signature.subgraph)
        return self._named(signature, "Output", signature.outputs, output_name)

    def _named(self, signature: _Signature, side: str, tensors: list[tuple[str, int]], name: str) -> TensorBuffer:
        found = dict(tensors)
        if name not in found:
            raise RuntimeError(f"{side} tensor not found: {name}; {signature.key} has {', '.join(found)}")
        return self._buffer(signature, name, found[name])

    @staticmethod
    def _member(signature: _Signature, side: str, tensors: list[tuple[str, int]], index: int) -> tuple[str, int]:
        if not 0 <= index < len(tensors):
            raise RuntimeError(f"{side} index {index} is out of range: {signature.key} has {len(tensors)}")
        return tensors[index]

    def _buffer(self, signature: _Signature, name: str, tensor: int) -> TensorBuffer:
        details = self._details(signature, tensor)
        if details["dtype"] == "unknown":
            raise RuntimeError(
                f"{signature.key}: {name} holds strings, which no TensorBuffer can; tflm_cy.Interpreter runs them"
            )
        return TensorBuffer(np.zeros(details["shape"], details["dtype"]))

    # ---------------------------------------------------------------- shapes

    def resize_input_tensor(
        self, input_index: int, dims: Sequence[int], signature_index: int = 0, strict: bool = True
    ) -> None:
        """Change the shape of an input.

        Parameters
        ----------
        input_index : int
            Of the signature's inputs.
        dims : sequence of int
            All positive.
        signature_index : int
        strict : bool
            Allow only dimensions that are -1 in the tensor's shape_signature to change.

        Raises
        ------
        RuntimeError
            No such input, a dimension that is not positive, or what `strict` forbids. What the operators refuse is raised by what comes
            next: a run, details or buffers of the outputs.
        """
        signature = self._at(signature_index)
        self._resize(signature, self._member(signature, "Input", signature.inputs, input_index)[1], dims, strict)

    def resize_input_tensor_by_name(
        self, signature_key: str, input_name: str, dims: Sequence[int], strict: bool = True
    ) -> None:
        """Change the shape of an input, as `resize_input_tensor`."""
        signature = self._of(signature_key)
        found = dict(signature.inputs)
        if input_name not in found:
            raise RuntimeError(f"Input tensor not found: {input_name}; {signature_key} has {', '.join(found)}")
        self._resize(signature, found[input_name], dims, strict)

    def _resize(self, signature: _Signature, tensor: int, dims: Sequence[int], strict: bool) -> None:
        shape = [int(size) for size in dims]
        if min(shape, default=1) <= 0:
            raise RuntimeError(f"Dimensions must be positive, not {shape}")
        self._core.resize(tensor, shape, strict, signature.subgraph)

    # ---------------------------------------------------------------- runs

    def run_by_index(
        self, signature_index: int, input_buffers: Sequence[TensorBuffer], output_buffers: Sequence[TensorBuffer]
    ) -> None:
        """Run a signature.

        Parameters
        ----------
        signature_index : int
        input_buffers : sequence of TensorBuffer
            One for each input, in order, of the tensor's dtype. One of as many elements as the tensor is taken for the tensor's shape;
            one of another shape resizes the tensor to it.
        output_buffers : sequence of TensorBuffer
            One for each output, in order, at least as large as the output. It may be one of the inputs' (a key-value cache in place).

        Raises
        ------
        RuntimeError
            No such signature, a wrong number of buffers, a buffer of another dtype or too small for its output; or the model refuses the
            shapes, or fails while it runs.
        ValueError
            A buffer that was destroyed, or an output buffer over memory that is read-only.
        """
        signature = self._at(signature_index)
        for side, tensors, buffers in (
            ("Input", signature.inputs, input_buffers),
            ("Output", signature.outputs, output_buffers),
        ):
            if len(buffers) != len(tensors):
                raise RuntimeError(
                    f"{side} buffer size mismatch: number of tensors: {len(tensors)} vs buffers: {len(buffers)}"
                )
        self._run(signature, input_buffers, output_buffers)

    def run_by_name(
        self, signature_key: str, input_map: Mapping[str, TensorBuffer], output_map: Mapping[str, TensorBuffer]
    ) -> None:
        """Run a signature with buffers by name, as `run_by_index`. Names that it does not have are ignored."""
        signature = self._of(signature_key)
        chosen = []
        for side, tensors, given in (("input", signature.inputs, input_map), ("output", signature.outputs, output_map)):
            missing = [name for name, _ in tensors if name not in given]
            if missing:
                raise RuntimeError(f"The given map is missing some {side} TensorBuffers: {', '.join(missing)}")
            chosen.append([given[name] for name, _ in tensors])
        self._run(signature, *chosen)

    def _run(self, signature: _Signature, inputs: Sequence[TensorBuffer], outputs: Sequence[TensorBuffer]) -> None:
        """Tensors go by position: nothing keeps two inputs of a file from having one name."""
        values = {i: self._value(signature, i, buffer) for i, buffer in enumerate(inputs)}
        for (name, _), buffer in zip(signature.outputs, outputs, strict=True):
            if not buffer.array.flags.writeable:
                raise ValueError(f"{signature.key}: the buffer for {name} is over memory that is read-only")
        tensors = [{i: tensor for i, (_, tensor) in enumerate(side)} for side in (signature.inputs, signature.outputs)]
        found = self._run_or_restore(signature, tensors, values)
        for (name, _), array, buffer in zip(signature.outputs, found.values(), outputs, strict=True):
            if array.nbytes > buffer.array.nbytes:
                raise RuntimeError(
                    f"{signature.key}: {name} has {array.nbytes} bytes, its buffer has {buffer.array.nbytes}"
                )
        for array, buffer in zip(found.values(), outputs, strict=True):
            buffer.write(np.asarray(array))

    def _value(self, signature: _Signature, index: int, buffer: TensorBuffer) -> Any:
        """The array that an input is set to: of the tensor's shape where the number of elements is the same."""
        name, tensor = signature.inputs[index]
        details, array = self._details(signature, tensor), buffer.array
        if details["dtype"] != array.dtype.name:
            raise RuntimeError(f"{signature.key}: {name} is {details['dtype']}, its buffer {array.dtype.name}")
        if array.size == int(np.prod(details["shape"], dtype=np.int64)):
            return array.reshape(details["shape"])
        if array.ndim != len(details["shape"]):
            raise RuntimeError(
                f"{signature.key}: {name} is {details['shape']}, its buffer has {array.size} elements in {list(array.shape)}"
            )
        return array

    def _run_or_restore(self, signature: _Signature, tensors: list[dict[int, int]], values: dict[int, Any]) -> Any:
        """Run; where that fails, undo the resizes that the buffers' shapes asked for."""
        core = self._core
        before = [list(core.tensor_details(tensor, signature.subgraph)["shape"]) for tensor in tensors[0].values()]
        try:
            return core.run_signature(signature.subgraph, *tensors, values)
        except Exception:
            for tensor, shape, value in zip(tensors[0].values(), before, values.values(), strict=True):
                if shape != list(value.shape):
                    core.resize(tensor, [int(size) for size in shape], False, signature.subgraph)
            raise
