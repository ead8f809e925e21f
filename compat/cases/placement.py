"""Values put in other places or joined by segment: REVERSE_SEQUENCE, DYNAMIC_UPDATE_SLICE, SPARSE_TO_DENSE, DILATE, UNIQUE, segments.

Lengths and sizes that TensorFlow does not check, and reads outside for, are left out.
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_SEGMENTS = ("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN")


@cases("REVERSE_SEQUENCE", dtypes=("float32", "uint8", "int16", "int32", "int64"), variants=("random", "int64 lengths"))
@cases("REVERSE_SEQUENCE", dtypes=("int8",))
@cases("REVERSE_SEQUENCE", dtypes=("float32",), variants=("too long",))
def reverse_sequence(d):
    rank = d.between(2, 4)
    shape, kind = d.shape(rank, 5), "int64" if d.variant == "int64 lengths" else "int32"
    sequence, batch = (int(a) for a in d.rng.permutation(rank)[:2])
    x, lengths = Tensor(shape, d.dtype), Tensor([shape[batch]], kind)
    model = Model.single(d.op, [x, lengths], [Tensor(shape, d.dtype)], seq_dim=sequence, batch_dim=batch)
    more = 3 if d.variant == "too long" else 0

    def feed():
        low = 0 if not more else shape[sequence] + 1
        return [d.values(x), d.integers(kind, lengths.shape, low, shape[sequence] + more)]

    return d.case(model, feed, refused=d.dtype == "int8" or bool(more))


@cases("DYNAMIC_UPDATE_SLICE", dtypes=("float32", "float16", "int8", "int16", "int32", "int64", "bool", "uint8"))
@cases("DYNAMIC_UPDATE_SLICE", dtypes=("float32",), variants=("int64 start", "whole", "zero size", "too large"))
def dynamic_update_slice(d):
    rank = d.between(1, 5)
    shape = d.shape(rank, 5)
    size = list(shape) if d.variant == "whole" else [d.between(1, n) for n in shape]
    if d.variant in ("zero size", "too large"):
        size[0] = 0 if d.variant == "zero size" else shape[0] + 1
    kind = "int64" if d.variant == "int64 start" else "int32"
    x, update, start = Tensor(shape, d.dtype), Tensor(size, d.dtype), Tensor([rank], kind)
    model = Model.single(d.op, [x, update, start], [Tensor(shape, d.dtype)], d.between(1, 2))

    def feed():
        return [d.values(x), d.values(update), d.integers(kind, [rank], -2, 6)]

    return d.case(model, feed, refused=d.variant == "too large" or d.dtype == "uint8")


@cases("SPARSE_TO_DENSE", dtypes=("float32", "int8", "uint8", "int32", "int64"), variants=("random", "one value"))
@cases("SPARSE_TO_DENSE", dtypes=("float32",), variants=("int64", "shape fed", "vector"))
@cases("SPARSE_TO_DENSE", dtypes=("int16",))
def sparse_to_dense(d):
    rank = 1 if d.variant == "vector" else d.between(1, 4)
    shape, count = d.shape(rank, 5), d.between(1, 6)
    kind = "int64" if d.variant == "int64" else "int32"
    indices = Tensor([count] if d.variant == "vector" else [count, rank], kind)
    dims = np.array(shape, kind)
    fed = d.variant == "shape fed"
    values, default = Tensor([] if d.variant == "one value" else [count], d.dtype), Tensor([], d.dtype)
    inputs = [indices, Tensor([rank], kind) if fed else Tensor.constant(dims), values, default]
    model = Model.single(d.op, inputs, [Tensor(shape, d.dtype)], d.between(1, 3))

    def feed():
        columns = [d.integers(kind, [count], 0, n - 1) for n in shape]
        places = np.stack(columns, -1).astype(kind).reshape(indices.shape)
        return [places, *([dims] if fed else []), d.values(values), d.values(default)]

    return d.case(model, feed, refused=d.dtype == "int16" or (d.variant == "one value" and count > 1))


@cases("DILATE", dtypes=("float32", "int8", "int16", "int32", "int64", "bool"))
@cases("DILATE", dtypes=("float32",), variants=("fed", "zero"))
def dilate(d):
    shape = d.shape(d.between(1, 4), 4)
    by = np.array([0] * len(shape) if d.variant == "zero" else d.shape(len(shape), 3), np.int32)
    result = [max(0, (n - 1) * int(k) + 1) for n, k in zip(shape, by, strict=True)]
    x, padding, fed = Tensor(shape, d.dtype), Tensor([], d.dtype), d.variant != "random"
    inputs = [x, Tensor(by.shape, "int32") if fed else Tensor.constant(by), padding]
    model = Model.single(d.op, inputs, [Tensor(result, d.dtype)])

    def feed():
        return [d.values(x), *([by] if fed else []), d.values(padding)]

    return d.case(model, feed, refused=d.variant == "zero")


@cases("UNIQUE", dtypes=("float32", "int8", "uint8", "int16", "int32", "int64"), variants=("random", "int64 indices"))
@cases("UNIQUE", dtypes=("float32",), variants=("special",))
@cases("UNIQUE", dtypes=("bool",))
def unique(d):
    x = Tensor(d.shape(1, 40), d.dtype)
    kind = "int64" if d.variant == "int64 indices" else "int32"
    model = Model.single(d.op, [x], [Tensor([1], d.dtype), Tensor(x.shape, kind)], idx_out_type=kind.upper())

    def feed():
        if d.variant == "special":
            return [d.special_floats(x.shape)]
        return [d.rng.integers(0, d.choice(2, 9, 100), x.shape).astype(d.dtype)]

    return d.case(model, feed, refused=d.dtype == "bool")


@cases(*_SEGMENTS, dtypes=("float32", "int32"), variants=("random", "constant segments", "special", "too few"))
@cases(*_SEGMENTS, dtypes=("int8",))
def unsorted_segments(d):
    shape = d.shape(d.between(1, 4), 5)
    depth, number = d.between(1, len(shape)), d.between(1, 5)
    x, ids = Tensor(shape, d.dtype), Tensor(shape[:depth], "int32")
    limit = number + 2 if d.variant == "too few" else number - 1
    if d.variant == "constant segments":
        ids.data = d.integers("int32", ids.shape, -1, limit)
    inputs = [x, ids, Tensor.constant(np.array(number, np.int32))]
    model = Model.single(d.op, inputs, [Tensor([number, *shape[depth:]], d.dtype)])

    def picked():
        values = d.integers("int32", ids.shape, -1, limit)
        if d.variant == "too few":
            values.flat[0] = limit
        return values

    def feed():
        return [d.values(x), *([picked()] if ids.data is None else [])]

    return d.case(model, feed, refused=d.variant == "too few" or d.dtype == "int8")


@cases("SEGMENT_SUM", dtypes=("float32", "int32"), variants=("random", "constant", "jump"))
@cases("SEGMENT_SUM", dtypes=("int8",))
def segment_sum(d):
    shape = d.shape(d.between(1, 4), 6)
    ids = np.cumsum([0, *d.rng.integers(0, 2, shape[0] - 1)]).astype(np.int32)
    if d.variant == "jump":
        ids[-1] += 2
    x, constant = Tensor(shape, d.dtype), d.variant == "constant"
    if constant:
        x.data = d.values(x)
    segments = Tensor.constant(ids) if constant else Tensor(ids.shape, "int32")
    model = Model.single(d.op, [x, segments], [Tensor([int(ids[-1]) + 1, *shape[1:]], d.dtype)])
    feed = list if constant else lambda: [d.values(x), ids]
    return d.case(model, feed, refused=d.variant == "jump" or d.dtype == "int8" or None)  # BUILTIN_REF lacks it
