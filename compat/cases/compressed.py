"""TFLM_DECODE alone: constants compressed by each method, of every type and of shapes with odd numbers of bits. TFLM only.

`python -m compat.compressed` has the operators that read them.
"""

import numpy as np

from ..builder import Model, Tensor
from ..builder.encoded import constants, header, huffman, pruned, tables
from . import cases

ALL = ("bool", "float32", "int8", "int16", "int32", "int64")
CHANNELS = ("first", "last")


def palette(d, count, dtype):
    """Some values of a type."""
    if dtype == "float32":
        return d.normal(count)
    return d.integers("uint8", count, 0, 1).astype(dtype) if dtype == "bool" else d.integers(dtype, count)


def decoded(d, shape, channels=None, zero_points=None):
    """An output: with one scale, or along the first or last axis."""
    axis = {"first": 0, "last": len(shape) - 1, None: None}[channels]
    count = 1 if axis is None else shape[axis]
    if d.dtype not in ("int8", "int16", "int32"):
        return (
            Tensor(shape, d.dtype)
            if axis is None
            else Tensor(shape, d.dtype, scale=[0.5] * count, zero_point=[0] * count, axis=axis)
        )
    zero_points = [0] * count if zero_points is None else zero_points
    return Tensor(shape, d.dtype, scale=[d.scale() for _ in range(count)], zero_point=zero_points, axis=axis or 0)


def case(d, pairs):
    """A node that decodes each (encoded, ancillary, output)."""
    model = Model()
    main = model.subgraph("main")
    inputs = [tensor for encoded, ancillary, _ in pairs for tensor in constants(encoded, ancillary)]
    outputs = [y for *_, y in pairs]
    main.op("TFLM_DECODE", inputs, outputs)
    main.inputs, main.outputs = [], outputs
    return d.case(model, refused=True)


def drawn_tables(d, channels, shape=None):
    shape = shape or d.shape(d.between(2, 4), 9)
    width = d.between(1, 7)
    axis = {"first": 0, "last": len(shape) - 1, None: None}[channels]
    count = 1 if axis is None else shape[axis]
    entries = min(d.between(1, 1 << width), 1 << width)  # a draw of special values goes beyond
    rows = palette(d, (count, entries), d.dtype)  # what each channel may hold
    picked = d.rng.integers(0, rows.shape[1], shape)
    channel = 0 if axis is None else np.arange(count).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    values = rows[channel, picked]
    return *tables(values, width, axis), decoded(d, shape, channels)


def drawn_pruned(d, channels, shape=None):
    shape = shape or d.shape(d.between(2, 4), 9)
    axis = {"first": 0, "last": len(shape) - 1, None: None}[channels]
    count = 1 if axis is None else shape[axis]
    zeros = d.integers("int8", count, -20, 20) if d.dtype == "int8" and d.flag(0.7) else np.zeros(count, "int8")
    zero = zeros[0] if axis is None else zeros.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    kept = d.rng.random(shape) < d.choice(0.1, 0.5, 1.0)
    values = np.where(kept, palette(d, tuple(shape), d.dtype), zero).astype(d.dtype)
    return *pruned(values, zero.astype(d.dtype)), decoded(d, shape, channels, [int(z) for z in zeros])


def drawn_codes(d, wide):
    shape = d.shape(d.between(1, 3), 12)
    spread = d.choice(0.2, 2.0, 20.0)
    values = np.clip(np.round(d.normal(tuple(shape), spread)), -128, 127).astype(d.dtype)
    if wide and d.dtype == "int16":
        values = (values.astype(np.int32) * 200).astype(np.int16)
    return *huffman(values, d.between(1, 8), wide, d.between(1, 4), d.choice(1, 4)), decoded(d, shape)


@cases("TFLM_DECODE", dtypes=ALL, variants=("tables", "tables along the first axis", "tables along the last axis"))
def look_up_tables(d):
    return case(d, [drawn_tables(d, next((c for c in CHANNELS if c in d.variant), None))])


@cases("TFLM_DECODE", dtypes=ALL, variants=("pruned", "pruned along the first axis", "pruned along the last axis"))
def pruning(d):
    return case(d, [drawn_pruned(d, next((c for c in CHANNELS if c in d.variant), None))])


@cases("TFLM_DECODE", dtypes=("int8",), variants=("codes",))
def short_entries(d):
    return case(d, [drawn_codes(d, False)])


@cases("TFLM_DECODE", dtypes=("int8", "int16"), variants=("codes in long entries",))
def long_entries(d):
    return case(d, [drawn_codes(d, True)])


@cases("TFLM_DECODE", dtypes=("int8",), variants=("three outputs",))
def three_outputs(d):
    return case(
        d,
        [
            drawn_tables(d, d.choice(None, "first", "last")),
            drawn_codes(d, d.flag()),
            drawn_pruned(d, d.choice(None, "first")),
        ],
    )


@cases("TFLM_DECODE", dtypes=("int8",), variants=("one table for many scales",))
def one_table(d):
    """TFLM reads on in the file."""
    encoded, ancillary, _ = drawn_tables(d, None, shape := [d.between(2, 5), d.between(1, 9)])
    return case(d, [(encoded, ancillary, decoded(d, shape, "first"))])


@cases("TFLM_DECODE", dtypes=("int8", "uint8", "int16"), variants=("refused",))
def refused(d):
    """Versions, methods, axes, types and zero points that TFLM does not take."""
    shape = [3, 4, 5]
    values = d.integers("int8", tuple(shape), 0, 1).astype(d.dtype)
    encoded, ancillary = d.choice(tables(values, 1), pruned(values), huffman(values, 1, d.flag()))
    y = Tensor(shape, d.dtype, scale=[0.1] * 4, zero_point=[0] * 4, axis=1)
    if d.flag():
        y = Tensor(shape, d.dtype, scale=0.1, zero_point=d.choice(0, 3))
        ancillary = header(d.choice(3, 127, 128, 255), 1, 2) + ancillary[16:] if d.flag() else ancillary
        ancillary = (
            d.choice(ancillary, header(ancillary[0], 1, 2, 2), header(ancillary[0], 1, 2, 1, 0)) + ancillary[16:]
        )
    return case(d, [(encoded, ancillary, y)])
