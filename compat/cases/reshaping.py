"""RESHAPE, SQUEEZE, EXPAND_DIMS, SHAPE, TRANSPOSE and the operators between space, depth and batch."""

import math

import numpy as np

from ..builder import Model, Tensor
from . import cases

_EVERY = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")
_BLOCKS = ("float32", "int8", "uint8", "int32", "int64")


@cases("RESHAPE", dtypes=_EVERY, variants=("random", "unknown size"))
@cases("RESHAPE", dtypes=("float32", "int8"), variants=("shape fed", "shape option", "to scalar", "zero size"))
@cases("RESHAPE", dtypes=("float32",), variants=("wrong count",))
def reshape(d):
    sizes = d.shape(d.between(1, 4), 4)
    if d.variant == "to scalar":
        sizes = [1, 1]
    if d.variant == "zero size":
        sizes = [0, *sizes]
    count = math.prod(sizes)
    target = [] if d.variant == "to scalar" else [int(n) for n in d.rng.permutation(sizes)]
    x, y = d.tensor(sizes), d.tensor(target)
    asked = list(target)
    if d.variant == "unknown size":
        asked[d.between(0, len(asked) - 1)] = -1
    if d.variant == "wrong count":
        asked = [count + 1]
    shape = np.array(asked, np.int32)
    options, inputs = {"new_shape": asked}, [x, Tensor.constant(shape)]
    if d.variant == "shape option":
        inputs = [x]
    if d.variant == "shape fed":
        inputs = [x, Tensor(shape.shape, "int32")]
    model = Model.single("RESHAPE", inputs, [y], **options)
    fed = d.variant == "shape fed"
    return d.case(model, lambda: [d.values(x), shape] if fed else [d.values(x)], refused=d.variant == "wrong count")


@cases("SQUEEZE", dtypes=_EVERY, variants=("random", "all"))
@cases("SQUEEZE", dtypes=("float32",), variants=("wrong dim",))
def squeeze(d):
    rank = d.between(2, 5)
    shape = [1 if d.flag() else d.between(2, 4) for _ in range(rank)]
    ones = [i for i, n in enumerate(shape) if n == 1]
    chosen = [i for i in ones if d.flag(0.7)] if d.variant == "random" else ones
    dims = [i - rank if d.flag(0.3) else i for i in chosen] if d.variant == "random" else []
    if d.variant == "wrong dim":
        shape[0], dims = 3, [0]
    gone = set(chosen or ones)
    x, y = d.tensor(shape), d.tensor([n for i, n in enumerate(shape) if i not in gone])
    model = Model.single("SQUEEZE", [x], [y], squeeze_dims=dims)
    return d.case(model, lambda: [d.values(x)], refused=d.variant == "wrong dim")


@cases("EXPAND_DIMS", dtypes=_EVERY)
@cases("EXPAND_DIMS", dtypes=("float32",), variants=("axis fed",))
def expand_dims(d):
    rank = d.between(0, 4)
    shape, axis = d.shape(rank, 4), d.between(-rank - 1, rank)
    expanded = list(shape)
    expanded.insert(axis % (rank + 1), 1)
    x, axis = d.tensor(shape), np.array(axis, np.int32)
    fed = d.variant == "axis fed"
    model = Model.single(
        "EXPAND_DIMS", [x, Tensor([], "int32") if fed else Tensor.constant(axis)], [d.tensor(expanded, like=x)]
    )
    return d.case(model, lambda: [d.values(x), axis] if fed else [d.values(x)])


@cases("SHAPE", dtypes=("float32", "int8", "bool"), variants=("random", "int64", "resized"))
def shape_of(d):
    x, kind = d.tensor(d.shape(d.between(1, 5), 6)), "int64" if d.variant == "int64" else "int32"
    declared = list(x.shape)
    if d.variant == "resized":
        x.shape_signature = [-1] * len(declared)
        x.shape = [1] * len(declared)
    model = Model.single("SHAPE", [x], [Tensor([len(declared)], kind)], out_type=kind.upper())
    return d.case(model, lambda: [d.values(declared, d.dtype)])


@cases("TRANSPOSE", dtypes=_EVERY)
@cases("TRANSPOSE", dtypes=("float32", "int8"), variants=("rank 6", "permutation fed", "zero size"))
@cases("TRANSPOSE", dtypes=("int8", "uint8"), variants=("same scale",))
def transpose(d):
    rank = 6 if d.variant == "rank 6" else d.between(1, 5)
    shape = d.shape(rank, 3 if rank == 6 else 5)
    if d.variant == "zero size":
        shape[0] = 0
    order = d.rng.permutation(rank).astype(np.int32)
    x = d.tensor(shape)
    y = d.tensor([shape[i] for i in order], like=x if d.variant == "same scale" else None)
    fed = d.variant == "permutation fed"
    model = Model.single("TRANSPOSE", [x, Tensor([rank], "int32") if fed else Tensor.constant(order)], [y], 4)
    refused = None if x.scale is not None else False  # the delegate does not rescale
    return d.case(model, lambda: [d.values(x), order] if fed else [d.values(x)], refused=refused)


@cases("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", dtypes=_BLOCKS)
@cases("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", dtypes=("float32",), variants=("not divisible",))
@cases("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", dtypes=("int8", "uint8"), variants=("same scale",))
def space_and_depth(d):
    block, (n, h, w, c) = d.between(2, 3), d.shape(4, 4)
    wide, deep = [n, h * block, w * block, c], [n, h, w, c * block * block]
    if d.variant == "not divisible":
        wide[1] += 1
        deep[3] = block * block + 1
    shape, result = (wide, deep) if d.op == "SPACE_TO_DEPTH" else (deep, wide)
    x = d.tensor(shape)
    y = d.tensor(result, like=x if d.variant == "same scale" else None)
    model = Model.single(d.op, [x], [y], block_size=block)
    refused = d.variant == "not divisible" or (None if x.scale is not None else False)  # the delegate does not rescale
    return d.case(model, lambda: [d.values(x)], refused=refused)


@cases("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", dtypes=(*_BLOCKS, "int16"), variants=("random", "rank 3"))
@cases("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", dtypes=("float32", "int8"), variants=("fed",))
def space_and_batch(d):
    spatial = 1 if d.variant == "rank 3" else 2
    n, c, block = d.between(1, 2), d.channels(1, 3), d.shape(spatial, 3)
    small = [d.side(1, 3) for _ in range(spatial)]
    edges = []
    for size, b in zip(small, block, strict=True):
        before = d.between(0, size * b - 1)
        edges.append([before, d.between(0, size * b - 1 - before)])
    cut = [size * b - sum(edge) for size, b, edge in zip(small, block, edges, strict=True)]
    spread, gathered = [n, *cut, c], [n * math.prod(block), *small, c]
    shape, result = (spread, gathered) if d.op == "SPACE_TO_BATCH_ND" else (gathered, spread)
    x = d.tensor(shape)
    y = d.tensor(result, like=x)
    extra = [np.array(block, np.int32), np.array(edges, np.int32)]
    fed = d.variant == "fed"
    tensors = [Tensor(a.shape, "int32") if fed else Tensor.constant(a) for a in extra]
    return d.case(Model.single(d.op, [x, *tensors], [y], 3), lambda: [d.values(x), *(extra if fed else [])])
