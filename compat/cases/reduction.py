"""MEAN, SUM, REDUCE_*, ARG_MAX, ARG_MIN and CUMSUM over one, several, repeated and negative axes.

SUM of int16 is left out: TensorFlow's kernel writes only part of its output. NaN for ARG_MAX and ARG_MIN too: it
returns indices that lie nowhere.
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_SHAPES = ("random", "all axes", "last axis", "spatial")
_NUMBERS = ("float32", "int8", "uint8", "int16", "int32", "int64")


@cases("MEAN", "REDUCE_MAX", "REDUCE_MIN", dtypes=_NUMBERS, variants=(*_SHAPES, "special"))
@cases("SUM", dtypes=("float32", "int8", "uint8", "int32", "int64"), variants=(*_SHAPES, "special"))
@cases("MEAN", "SUM", dtypes=("int8", "uint8"), variants=("halves",))
@cases("REDUCE_PROD", dtypes=("float32", "int8", "int16", "int32", "int64"), variants=_SHAPES)
@cases("REDUCE_ANY", "REDUCE_ALL", dtypes=("bool",), variants=_SHAPES)
@cases("MEAN", "SUM", "REDUCE_MAX", dtypes=("float32", "int8"), variants=("axis fed", "repeated axis", "scalar axis"))
@cases("MEAN", "SUM", "REDUCE_MAX", dtypes=("float32",), variants=("zero size", "rank 0"))
def reduce(d):
    rank = {"spatial": 4, "rank 0": 0}.get(d.variant, d.between(1, 5))
    shape = [d.between(1, 3) for _ in range(rank)] if d.op == "REDUCE_PROD" else d.shape(rank, 6)
    axes = {"all axes": range(rank), "last axis": [rank - 1], "spatial": [1, 2], "rank 0": []}.get(d.variant)
    axes = d.axes(rank) if axes is None else list(axes)
    if d.variant == "scalar axis":
        axes = axes[:1]
    if d.variant == "zero size":
        shape[axes[0]] = 0
    reduced = {a % rank for a in axes}
    axes = axes + axes[:1] if d.variant == "repeated axis" else axes
    keep = d.flag()
    x = d.tensor(shape)
    y = d.tensor([1 if i in reduced else n for i, n in enumerate(shape) if keep or i not in reduced])
    if d.op in ("REDUCE_MAX", "REDUCE_MIN"):
        y.scale, y.zero_point = x.scale, x.zero_point
    if d.op == "REDUCE_PROD":
        _scales_of_products(d, x, y)
    axes = np.array(axes, np.int32).reshape([] if d.variant == "scalar axis" else [-1])
    fed, version = d.variant == "axis fed", 1 if d.op in ("REDUCE_ANY", "REDUCE_ALL") else 2
    model = Model.single(
        d.op, [x, Tensor(axes.shape, "int32") if fed else Tensor.constant(axes)], [y], version, keep_dims=keep
    )

    def values():
        small = d.dtype in ("int32", "int64") and d.op == "REDUCE_PROD"
        return d.integers(d.dtype, shape, -5, 5) if small else d.values(x)

    refused = None if d.variant == "repeated axis" else False  # the delegate does not take it
    return d.case(model, lambda: [values(), axes] if fed else [values()], refused=refused)


@cases("SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", dtypes=("float32",), variants=("many", "special, many"))
def reduce_many(d):
    """All of so many that TensorFlow's reference shares them among threads (`--threads`), each of which has 1,024 or more."""
    shape = [d.between(1, 4), d.between(500, 3000)]
    x, y = d.tensor(shape), d.tensor([])
    model = Model.single(d.op, [x, Tensor.constant(np.array([0, 1], np.int32))], [y], 2)

    def near_one():
        return d.rng.uniform(0.99, 1.01, shape).astype(np.float32)

    return d.case(model, lambda: [near_one() if d.op == "REDUCE_PROD" and d.variant == "many" else d.values(x)])


@cases("MEAN", "REDUCE_MAX", dtypes=("int8", "uint8", "int16"), variants=("long run",))
@cases("SUM", dtypes=("int8", "uint8"), variants=("long run",))
def reduce_long(d):
    """Thousands of values of one sign, which sums of few bits do not hold."""
    axis, n = d.between(0, 1), d.between(8000, 40000)
    shape = [d.between(1, 3), n] if axis else [n, d.between(1, 3)]
    x = d.tensor(shape)
    y = d.tensor([shape[1 - axis]], like=x)
    if d.op == "SUM":
        y.scale = np.float32(x.scale * n)
    limits = np.iinfo(d.dtype)
    low = limits.min + 32 * d.between(0, 7) * (2 ** (limits.bits - 8))
    model = Model.single(d.op, [x, Tensor.constant(np.array([axis], np.int32))], [y], 2)
    return d.case(model, lambda: [d.integers(d.dtype, shape, low, low + 31)], refused=False)


def _scales_of_products(d, x, y):
    """Scales with which products of several values stay inside the type."""
    for tensor in (x, y):
        if d.dtype == "int8":
            tensor.scale, tensor.zero_point = d.uniform(0.02, 0.1), d.between(-20, 20)
        elif d.dtype == "int16":
            tensor.scale = d.uniform(1e-4, 1e-3)


@cases(
    "ARG_MAX",
    "ARG_MIN",
    dtypes=("float32", "int8", "uint8", "int32", "bool"),
    variants=("random", "ties", "int64 index"),
)
@cases("ARG_MAX", "ARG_MIN", dtypes=("float32",), variants=("axis fed",))
def arg(d):
    rank = d.between(1, 4)
    shape, axis = d.shape(rank, 6), d.between(-rank, rank - 1)
    x, kind = d.tensor(shape), "int64" if d.variant == "int64 index" else "int32"
    y = Tensor([n for i, n in enumerate(shape) if i != axis % rank], kind)
    axis = np.array(axis, np.int32)
    fed = d.variant == "axis fed"
    model = Model.single(
        d.op, [x, Tensor([], "int32") if fed else Tensor.constant(axis)], [y], 2, output_type=kind.upper()
    )

    def values():
        if d.variant != "ties" or d.dtype == "bool":
            return d.values(x)
        return np.asarray(d.rng.integers(0, 3, shape)).astype(d.dtype)

    return d.case(model, lambda: [values(), axis] if fed else [values()])


@cases("CUMSUM", dtypes=("float32", "int32", "int64"), variants=("random", "special"))
def cumsum(d):
    rank = d.between(1, 4)
    x = d.tensor(d.shape(rank, 6))
    axis = Tensor.constant(np.array(d.between(-rank, rank - 1), np.int32))
    model = Model.single("CUMSUM", [x, axis], [d.tensor(x.shape)], exclusive=d.flag(), reverse=d.flag())
    return d.case(model, lambda: [d.values(x)])
