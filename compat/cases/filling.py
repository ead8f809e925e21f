"""Operators that make or repeat values: FILL, ZEROS_LIKE, RANGE, ONE_HOT, TILE, BROADCAST_TO, MATRIX_DIAG and its like."""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_EVERY = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


@cases("FILL", dtypes=("float32", "int8", "int16", "int32", "int64", "bool"), variants=("random", "dims fed"))
@cases("FILL", dtypes=("float32",), variants=("int64 dims", "zero size"))
def fill(d):
    shape = d.shape(d.between(1, 4), 5)
    if d.variant == "zero size":
        shape[0] = 0
    dims = np.array(shape, "int64" if d.variant == "int64 dims" else "int32")
    value, fed = d.tensor([]), d.variant == "dims fed"
    inputs = [Tensor(dims.shape, dims.dtype) if fed else Tensor.constant(dims), value]
    model = Model.single("FILL", inputs, [d.tensor(shape, like=value)], 3)
    return d.case(model, lambda: [dims, d.values(value)] if fed else [d.values(value)])


@cases("RANGE", dtypes=("float32", "int32", "int64"), variants=("constant", "fed", "backwards"))
@cases("RANGE", dtypes=("int32",), variants=("zero delta",))
def range_(d):
    start, count = d.between(-9, 9), d.between(1, 9)
    step = (d.between(1, 4) if d.dtype != "float32" else d.uniform(0.1, 2)) * (-1 if d.variant == "backwards" else 1)
    if d.variant == "zero delta":
        step = 0
    values = [np.array(v, d.dtype) for v in (start, start + step * count, step)]
    fed = d.variant != "constant"
    inputs = [Tensor([], d.dtype) if fed else Tensor.constant(v) for v in values]
    model = Model.single("RANGE", inputs, [Tensor([count], d.dtype)])
    return d.case(model, lambda: values if fed else [], refused=d.variant == "zero delta")


@cases("ONE_HOT", dtypes=("float32", "int8", "uint8", "int32", "int64", "bool"))
@cases("ONE_HOT", dtypes=("float32",), variants=("int64 indices", "depth fed"))
def one_hot(d):
    shape, depth = d.shape(d.between(0, 3), 4), np.array(d.between(1, 6), np.int32)
    axis = d.between(-1, len(shape))
    kind = "int64" if d.variant == "int64 indices" else "int32"
    result = list(shape)
    result.insert(len(shape) if axis == -1 else axis, int(depth))
    on, off, fed = d.tensor([]), d.tensor([]), d.variant == "depth fed"
    on.data, off.data = d.values(on), d.values(off)
    inputs = [Tensor(shape, kind), Tensor([], "int32") if fed else Tensor.constant(depth), on, off]
    model = Model.single("ONE_HOT", inputs, [d.tensor(result, like=on)], axis=axis)

    def feed():
        indices = d.integers(kind, shape, -2, int(depth) + 1)
        return [indices, depth] if fed else [indices]

    return d.case(model, feed)


@cases("TILE", dtypes=("float32", "int8", "uint8", "int32", "int64", "bool"))
@cases("TILE", dtypes=("float32",), variants=("int64 multiples", "multiples fed", "zero multiple"))
@cases("TILE", dtypes=("float32",), variants=("negative out of range",))
def tile(d):
    shape = d.shape(d.between(1, 5), 4)
    times = np.array(d.shape(len(shape), 3), "int64" if d.variant == "int64 multiples" else "int32")
    if d.variant == "zero multiple":
        times[0] = 0
    x, fed = d.tensor(shape), d.variant in ("multiples fed", "negative out of range")
    inputs = [x, Tensor(times.shape, times.dtype) if fed else Tensor.constant(times)]
    model = Model.single("TILE", inputs, [d.tensor(np.array(shape) * times, like=x)], 2)
    if d.variant == "negative out of range":
        times[d.between(0, len(shape) - 1)] *= -1
        times[d.between(0, len(shape) - 1)] *= d.between(0, 1)
    negative = bool((times < 0).any()) or (d.variant == "negative out of range" and None)
    return d.case(model, lambda: [d.values(x), times] if fed else [d.values(x)], refused=negative)


@cases("BROADCAST_TO", dtypes=_EVERY)
@cases("BROADCAST_TO", dtypes=("float32",), variants=("rank 8", "shape fed", "int64 shape"))
def broadcast_to(d):
    shape = d.shape(8 if d.variant == "rank 8" else d.between(1, 5), 2 if d.variant == "rank 8" else 4)
    small = [1 if d.flag() else n for n in shape][d.between(0, len(shape) - 1) :]
    target = np.array(shape, "int64" if d.variant == "int64 shape" else "int32")
    x, fed = d.tensor(small), d.variant == "shape fed"
    inputs = [x, Tensor(target.shape, target.dtype) if fed else Tensor.constant(target)]
    model = Model.single("BROADCAST_TO", inputs, [d.tensor(shape, like=x)], 3)
    return d.case(model, lambda: [d.values(x), target] if fed else [d.values(x)])


@cases("BROADCAST_ARGS", dtypes=("int32", "int64"))
def broadcast_args(d):
    shape = d.shape(d.between(1, 4), 5)
    pair = [[1 if d.flag(0.4) else n for n in shape] for _ in range(2)]
    pair[1] = pair[1][d.between(0, len(shape) - 1) :]
    result = np.broadcast_shapes(*map(tuple, pair))
    arrays = [np.array(a, d.dtype) for a in pair]
    model = Model.single(d.op, [Tensor(a.shape, d.dtype) for a in arrays], [Tensor([len(result)], d.dtype)])
    return d.case(model, lambda: arrays)


@cases("RANK", dtypes=("float32", "int8", "bool"))
def rank(d):
    x = d.tensor(d.shape(d.between(1, 5), 4))
    return d.case(Model.single("RANK", [x], [Tensor([], "int32")]), lambda: [d.values(x)])


@cases("ZEROS_LIKE", dtypes=("float32", "int32", "int64"))
def zeros_like(d):
    x = d.tensor(d.shape(d.between(1, 4), 4))
    return d.case(Model.single("ZEROS_LIKE", [x], [d.tensor(x.shape)]), lambda: [d.values(x)])


@cases("MATRIX_DIAG", "MATRIX_SET_DIAG", dtypes=("float32", "int8", "uint8", "int16", "int32", "int64"))
def matrix_diag(d):
    leading = d.shape(d.between(0, 2), 3)
    rows, columns = d.width(1, 5), d.width(1, 5)
    if d.op == "MATRIX_DIAG":
        x = d.tensor([*leading, rows])
        return d.case(Model.single(d.op, [x], [d.tensor([*leading, rows, rows], like=x)]), lambda: [d.values(x)])
    x = d.tensor([*leading, rows, columns])
    diagonal = d.tensor([*leading, min(rows, columns)], like=x)
    model = Model.single(d.op, [x, diagonal], [d.tensor(x.shape, like=x)])
    return d.case(model, lambda: [d.values(x), d.values(diagonal)])
