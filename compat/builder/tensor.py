"""One tensor of a model under construction: shape, type, quantization, constant data, sparsity.

    Tensor([1, 8, 8, 3], "int8", scale=0.05, zero_point=-4)                     # an activation, quantized per tensor
    Tensor.constant(weights, scale=[0.1, 0.2, 0.3], axis=0)                     # a constant, quantized per channel
    Tensor.constant(np.array([[1, -8, 7]], np.int8), "int4", scale=0.1)         # values -8..7, packed two per byte
    Tensor([1, 16], "int16", scale=2**-11, variable=True)                       # state that lives from invoke to invoke

A tensor is compared by identity: the same object used by two operators is one tensor of the model.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

_PACKED_BITS = {"int4": 4, "uint4": 4, "int2": 2}
_NUMPY_NAMES = {
    "bool_": "bool",
    "float": "float64",
    "int": "int64",
    "str": "string",
    "bytes": "string",
    "object": "string",
}


def type_name(dtype):
    """The schema's lower-case type name of a numpy dtype, or of a name such as "int4" or "bfloat16"."""
    if isinstance(dtype, str) and dtype in (*_PACKED_BITS, "string", "bfloat16", "resource", "variant"):
        return dtype
    dtype = np.dtype(dtype)
    return "string" if dtype.kind in "SUO" else _NUMPY_NAMES.get(dtype.name, dtype.name)


def pack_bits(values, bits):
    """Integers of fewer than 8 bits as bytes, the first value in the lowest bits; the last byte is padded with 0."""
    per_byte = 8 // bits
    flat = np.asarray(values).ravel().astype(np.int64) & ((1 << bits) - 1)
    flat = np.append(flat, np.zeros(-len(flat) % per_byte, np.int64)).reshape(-1, per_byte)
    return (flat << (np.arange(per_byte) * bits)).sum(1).astype(np.uint8).tobytes()


def pack_strings(strings):
    """TFLite's string buffer: count, then the offset of each string and of the end, then the bytes."""
    strings = [s.encode() if isinstance(s, str) else bytes(s) for s in strings]
    start = 4 * (len(strings) + 2)
    offsets = np.cumsum([start] + [len(s) for s in strings])
    return np.array([len(strings), *offsets], "<i4").tobytes() + b"".join(strings)


@dataclass
class Sparsity:
    """A compressed constant: `dims` holds ("dense", size) or ("csr", segments, indices) per traversed dimension.

    `index_type` is the width that segments and indices are stored in: "Int32Vector", "Uint16Vector" or "Uint8Vector".
    """

    traversal_order: Any
    dims: Any
    block_map: Any = None
    index_type: str = "Int32Vector"

    def fields(self):
        return {
            "traversal_order": self.traversal_order,
            "block_map": self.block_map,
            "dim_metadata": [self._dimension(*dim) for dim in self.dims],
        }

    def _dimension(self, kind, *values):
        if kind == "dense":
            return {"format": "DENSE", "dense_size": values[0]}
        segments, indices = ((self.index_type, {"values": v}) for v in values)
        return {"format": "SPARSE_CSR", "array_segments": segments, "array_indices": indices}


@dataclass(eq=False)
class Tensor:
    """See the module's text. `data` None is "computed or fed"; `axis` is the quantized dimension.

    `quantization` gives the table's fields directly (min, max, details ...) in addition to scale and zero_point.
    `buffer` replaces the buffer index that the model would choose, for malformed models.
    """

    shape: Any
    dtype: Any
    scale: Any = None
    zero_point: Any = None
    axis: int = 0
    data: Any = None
    variable: bool = False
    name: str | None = None
    shape_signature: Any = None
    sparsity: Sparsity | None = None
    quantization: dict | None = None
    has_rank: bool = False
    buffer: int | None = None

    def __post_init__(self):
        self.shape = [int(d) for d in self.shape]
        self.dtype = type_name(self.dtype)

    @classmethod
    def constant(cls, values, dtype=None, **fields):
        """A constant of the array's shape; `dtype` when it is not the array's ("int4", "bfloat16")."""
        values = np.asarray(values)
        fields.setdefault("shape", values.shape)
        return cls(dtype=values.dtype if dtype is None else dtype, data=values, **fields)

    def data_bytes(self):
        """The constant's bytes as they lie in the file; None without data."""
        if self.data is None:
            return None
        if isinstance(self.data, (bytes, bytearray, memoryview)):
            return bytes(self.data)
        if self.dtype == "string":
            return pack_strings(np.ravel(np.asarray(self.data, object)))
        if self.dtype in _PACKED_BITS:
            return pack_bits(self.data, _PACKED_BITS[self.dtype])
        return np.ascontiguousarray(self.data).tobytes()

    def fields(self, buffer, name):
        """The schema table's fields."""
        return {
            "shape": self.shape,
            "type": self.dtype.upper(),
            "buffer": buffer if self.buffer is None else self.buffer,
            "name": name if self.name is None else self.name,
            "quantization": self._quantization(),
            "is_variable": self.variable,
            "sparsity": self.sparsity and self.sparsity.fields(),
            "shape_signature": self.shape_signature,
            "has_rank": self.has_rank,
        }

    def _quantization(self):
        if self.scale is None:
            return self.quantization
        scales = np.atleast_1d(np.asarray(self.scale, np.float32))
        zero_points = np.atleast_1d(np.asarray(0 if self.zero_point is None else self.zero_point, np.int64))
        if len(zero_points) == 1:
            zero_points = np.repeat(zero_points, len(scales))
        fields = {"scale": scales, "zero_point": zero_points, "quantized_dimension": self.axis}
        return {**fields, **(self.quantization or {})}
