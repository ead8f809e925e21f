"""A model with its constants compressed: by `tflite_micro.compression`, as far as it goes.

    content, how = Compressor().compressed(model, "tables", rng)     # or "huffman", "pruning"

Look-up tables are the package's `compress`; it has no encoder of Huffman codes and pruned values, which its runtime decodes: these are
encoded here (`builder.encoded`) and put into the model by the package's `insert_decode_operators`. ImportError: there is no such package.
"""

import contextlib
import importlib
import io
import warnings

import numpy as np

from ..builder import encoded

METHODS = ("tables", "huffman", "pruning")


class CannotError(Exception):
    """Why a model cannot be compressed in this way."""


class Compressor:
    """The package's modules, and what they lack."""

    def __init__(self):
        for name in ("compress", "compressor", "constant_inputs", "decode_insert", "model_editor", "spec"):
            setattr(self, name, importlib.import_module(f"tflite_micro.tensorflow.lite.micro.compression.{name}"))

    def compressed(self, content, method, rng):
        """(a copy with constants compressed, what was done); CannotError."""
        model = self.model_editor.read(content)
        places = [(g, t) for g, subgraph in enumerate(model.subgraphs) for t in self.constants(subgraph)]
        if not places:
            raise CannotError("no constant that a kernel reads while it runs")
        some = [place for place in places if rng.random() < 0.7] or [places[int(rng.integers(len(places)))]]
        results, specs, done, reasons = {}, [], [], set()
        for g, t in some:
            tensor = model.subgraphs[g].tensors[t]
            try:
                what, result = getattr(self, method)(tensor, rng)
            except CannotError as error:
                reasons.add(str(error))
                continue
            if isinstance(result, self.compressor.CompressionResult):
                results[g, t] = result
            else:
                specs.append(self.spec.Tensor(g, t, [result]))
            done.append(f"{t} {what}")
        if not results and not specs:
            raise CannotError(" and ".join(sorted(reasons)))
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stderr(io.StringIO()),
        ):  # of what grows, or could be narrower
            warnings.simplefilter("ignore")
            try:
                if specs:
                    return bytes(self.compress.compress(model.build(), specs)), "; ".join(done)
                self.decode_insert.insert_decode_operators(model, results)
                return bytes(self.compress._apply_flatbuffer_alignment(model.build())), "; ".join(done)
            except self.compressor.CompressionError as error:
                raise CannotError(str(error)) from None

    def constants(self, subgraph):
        """Of whole bytes, which an operator reads and no kernel reads in prepare."""
        for t, tensor in enumerate(subgraph.tensors):
            if tensor.buffer is None or not tensor.buffer.data or not subgraph.consumers_of(tensor):
                continue
            if not self.constant_inputs.find_uses(subgraph, tensor):
                with contextlib.suppress(KeyError, ValueError):  # strings and types that share bytes
                    if tensor.array is not None and tensor.array.dtype.name in _TYPES and tensor.array.size:
                        yield t

    def tables(self, tensor, rng):
        """The values of weights are cut down to a few, which are their own."""
        values, width = tensor.array, int(rng.integers(1, 8))
        axis = self.axis(tensor, rng)
        rows = [values] if axis is None else list(np.moveaxis(values, axis, 0))
        if values.dtype.name in _WEIGHTS:
            few = []
            for row in rows:
                held = rng.permutation(np.unique(row))[: 1 << width]
                few.append(held[rng.integers(0, len(held), row.shape)])
            few = few[0] if axis is None else np.moveaxis(np.stack(few), 0, axis)
            tensor.array = np.ascontiguousarray(few.reshape(values.shape)).astype(values.dtype)
        else:
            width = max(width, (max(len(np.unique(row)) for row in rows) - 1).bit_length())
            if width > 7:
                raise CannotError("more than 128 different values")
        mode = self.spec.PerTensor() if axis is None else self.spec.PerChannel(axis=axis)
        where = "in one table" if axis is None else f"in a table per slice of axis {axis}"
        return f"{where}, {width} bits", self.spec.LookUpTableCompression(index_bitwidth=width, mode=mode)

    def axis(self, tensor, rng):
        """Of the tables: that of the scales, mostly; None: one table."""
        rank, weights = len(tensor.shape), tensor.array.dtype.name in _WEIGHTS
        if len(_scales(tensor)) > 1 and not (weights and rng.random() < 0.15):
            return tensor.quantization.axis or 0
        return int(rng.choice([0, rank - 1])) if weights and rank and rng.random() < 0.1 else None

    def huffman(self, tensor, rng):
        values = tensor.array
        if values.dtype.name not in ("int8", "int16"):
            raise CannotError(f"{values.dtype.name} has no Huffman codes")
        wide = bool(values.dtype == np.int16 or rng.random() < 0.5)
        first, following, word = int(rng.integers(1, 9)), int(rng.integers(1, 6)), int(rng.choice([1, 4]))
        try:
            codes, ancillary = encoded.huffman(values, first, wide, following, word)
        except ValueError as error:
            raise CannotError(str(error)) from None
        how = f"in codes, {first} and {following} bits, entries of {32 if wide else 16}"
        return how, self.compressor.CompressionResult(codes, ancillary)

    def pruning(self, tensor, rng):
        """Some values of weights become the zero point."""
        values, scales = tensor.array, _scales(tensor)
        zero = np.zeros((), values.dtype)
        if values.dtype == np.int8 and scales:
            zero = np.array(tensor.quantization.zero_points, np.int64).astype(np.int8)
            axis = tensor.quantization.axis or 0
            zero = zero[0] if len(scales) == 1 else zero.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
        kept = float(rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.05, 0.3, 0.6, 0.05]))
        if values.dtype.name in _WEIGHTS:
            tensor.array = np.where(rng.random(values.shape) < kept, values, zero).astype(values.dtype)
        mask, ancillary = encoded.pruned(tensor.array, zero)
        return f"pruned to {np.mean(tensor.array != zero):.0%}", self.compressor.CompressionResult(mask, ancillary)


_TYPES = ("bool", "float32", "int8", "int16", "int32", "int64")
_WEIGHTS = ("float32", "int8", "int16")  # the others may be shapes and axes: they stay what they are


def _scales(tensor):
    quantization = tensor.quantization
    if quantization is None or quantization.scales is None:
        return []
    return list(np.atleast_1d(quantization.scales))
