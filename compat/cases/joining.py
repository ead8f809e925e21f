"""CONCATENATION, SPLIT, SPLIT_V, PACK, UNPACK and the padding operators.

MIRROR_PAD wider than its input is left out: TensorFlow reads outside of it.
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_EVERY = ("float32", "int8", "uint8", "int16", "int32", "int64")


@cases("CONCATENATION", dtypes=(*_EVERY, "bool"))
@cases("CONCATENATION", dtypes=("uint8",), variants=("rescaled",))
@cases("CONCATENATION", dtypes=("float32", "int8"), variants=("zero size", "constant part", "one input", "rank 6"))
@cases("CONCATENATION", dtypes=("float32",), variants=("wrong shape",))
def concatenation(d):
    rank = 6 if d.variant == "rank 6" else d.between(1, 4)
    axis, shape = d.between(0, rank - 1), d.shape(rank, 3 if rank == 6 else 5)
    y, parts = d.tensor(shape), []
    for i in range(1 if d.variant == "one input" else d.between(2, 4)):
        part = list(shape)
        part[axis] = 0 if d.variant == "zero size" and i == 0 else d.between(1, 5)
        parts.append(d.tensor(part) if d.variant == "rescaled" else d.tensor(part, like=y))
    y.shape[axis] = sum(p.shape[axis] for p in parts)
    if d.variant == "wrong shape":
        parts[0].shape[axis - 1 if rank > 1 else 0] += 1
        if rank == 1:
            parts[0].shape.append(2)
    if d.variant == "constant part":
        parts[-1].data = d.values(parts[-1])
    model = Model.single("CONCATENATION", parts, [y], 3, axis=axis - rank if d.flag() else axis)
    fed = [p for p in parts if p.data is None]
    refused = None if d.variant == "wrong shape" else False  # the delegate copies across the ends of the tensors
    return d.case(model, lambda: [d.values(p) for p in fed], refused=refused)


@cases("SPLIT", dtypes=_EVERY)
@cases("SPLIT", dtypes=("float32",), variants=("axis fed", "not divisible"))
def split(d):
    rank, count = d.between(1, 4), d.between(1, 4)
    axis, part = d.between(-rank, rank - 1), d.shape(rank, 4)
    whole = list(part)
    whole[axis] = part[axis] * count
    if d.variant == "not divisible":
        count, whole[axis] = 3, 4
    x, index = d.tensor(whole), np.array(axis, np.int32)
    fed = d.variant == "axis fed"
    first = Tensor([], "int32") if fed else Tensor.constant(index)
    outputs = [d.tensor(part, like=x) for _ in range(count)]
    model = Model.single("SPLIT", [first, x], outputs, 2, num_splits=count)
    feed = (lambda: [index, d.values(x)]) if fed else (lambda: [d.values(x)])
    refused = None if d.variant == "not divisible" else False  # the delegate gives parts that do not fit their tensors
    return d.case(model, feed, refused=refused)


@cases("SPLIT_V", dtypes=_EVERY)
@cases("SPLIT_V", dtypes=("float32", "int8"), variants=("unknown size", "sizes fed"))
def split_v(d):
    rank = d.between(1, 4)
    axis, shape, sizes = d.between(-rank, rank - 1), d.shape(rank, 4), d.shape(d.between(1, 4), 4)
    shape[axis] = sum(sizes)
    x = d.tensor(shape)
    parts = [[size if i == axis % rank else n for i, n in enumerate(shape)] for size in sizes]
    asked = np.array(sizes, np.int32)
    if d.variant == "unknown size":
        asked[d.between(0, len(sizes) - 1)] = -1
    fed = d.variant == "sizes fed"
    inputs = [
        x,
        Tensor([len(sizes)], "int32") if fed else Tensor.constant(asked),
        Tensor.constant(np.array(axis, np.int32)),
    ]
    model = Model.single("SPLIT_V", inputs, [d.tensor(p, like=x) for p in parts], 2, num_splits=len(sizes))
    return d.case(model, lambda: [d.values(x), asked] if fed else [d.values(x)])


@cases("PACK", "UNPACK", dtypes=("float32", "int8", "uint8", "int16", "int32"))
@cases("PACK", dtypes=("int64",))
@cases("UNPACK", dtypes=("bool",))
def pack(d):
    rank, count = d.between(0, 3), d.between(1, 4)
    axis, part = d.between(-rank - 1, rank), d.shape(rank, 4)
    whole = list(part)
    whole.insert(axis % (rank + 1), count)
    one = d.tensor(whole)
    many = [d.tensor(part, like=one) for _ in range(count)]
    if d.op == "PACK":
        model = Model.single("PACK", many, [one], 2, values_count=count, axis=axis)
        return d.case(model, lambda: [d.values(t) for t in many])
    return d.case(Model.single("UNPACK", [one], many, 2, num=count, axis=axis), lambda: [d.values(one)])


@cases("PAD", dtypes=(*_EVERY, "bool"))
@cases("PADV2", dtypes=_EVERY)
@cases("PAD", "PADV2", dtypes=("float32", "int8"), variants=("int64 paddings", "paddings fed", "rank 5", "image"))
@cases("PAD", dtypes=("float32",), variants=("negative", "zero size"))
def pad(d):
    rank = {"rank 5": 5, "image": 4}.get(d.variant, d.between(1, 4))
    shape, edges = d.shape(rank, 4), d.rng.integers(0, 4, (rank, 2))
    if d.variant == "image":
        edges[0], edges[3] = 0, 0
    if d.variant == "negative":
        edges[0, 0] = -1
    if d.variant == "zero size":
        shape[0] = 0
    x = d.tensor(shape)
    y = d.tensor((np.array(shape) + edges.sum(1)).clip(0), like=x)
    edges = edges.astype("int64" if d.variant == "int64 paddings" else "int32")
    fed = d.variant == "paddings fed"
    inputs = [x, Tensor(edges.shape, edges.dtype) if fed else Tensor.constant(edges)]
    if d.op == "PADV2":
        value = d.tensor([], like=x)
        value.data = d.values(value)
        inputs.append(value)
    model = Model.single(d.op, inputs, [y], 2)
    return d.case(model, lambda: [d.values(x), edges] if fed else [d.values(x)], refused=d.variant == "negative")


@cases("MIRROR_PAD", dtypes=_EVERY, variants=("reflect", "symmetric"))
@cases("MIRROR_PAD", dtypes=("float32",), variants=("reflect fed",))
def mirror_pad(d):
    rank = d.between(1, 4)
    shape = [max(2, n) for n in d.shape(rank, 5)]
    reflect = not d.variant.startswith("symmetric")
    edges = np.array([[d.between(0, n - reflect) for _ in range(2)] for n in shape], np.int32)
    x = d.tensor(shape)
    y = d.tensor(np.array(shape) + edges.sum(1), like=x)
    fed = d.variant == "reflect fed"
    inputs = [x, Tensor(edges.shape, "int32") if fed else Tensor.constant(edges)]
    model = Model.single("MIRROR_PAD", inputs, [y], 2, mode="REFLECT" if reflect else "SYMMETRIC")
    return d.case(model, lambda: [d.values(x), edges] if fed else [d.values(x)])
