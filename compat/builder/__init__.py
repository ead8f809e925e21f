"""Build (and read back) .tflite models with nothing but numpy and flatbuffers; see `model` for how to use it."""

from .model import Model, Subgraph, operator_name, read_model, write_model
from .tensor import Sparsity, Tensor, pack_bits, pack_strings

__all__ = [
    "Model",
    "Sparsity",
    "Subgraph",
    "Tensor",
    "operator_name",
    "pack_bits",
    "pack_strings",
    "read_model",
    "write_model",
]
