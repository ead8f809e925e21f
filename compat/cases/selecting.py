"""Operators that pick: SLICE, STRIDED_SLICE, REVERSE_V2, GATHER, GATHER_ND, SELECT, SELECT_V2, WHERE, and their like.

SLICE beyond the end is left out: TensorFlow does not look, and reads outside or aborts.
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .arithmetic import operand_shapes

_EVERY = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


@cases("SLICE", dtypes=_EVERY)
@cases("SLICE", dtypes=("float32", "int8"), variants=("rank 5", "to the end", "fed", "int64 begin", "zero size"))
@cases("SLICE", dtypes=("float32", "int8"), variants=("larger in the file",))
def slice_(d):
    rank = 5 if d.variant == "rank 5" else d.between(1, 4)
    shape = d.shape(rank, 6)
    begin = [d.between(0, n - 1) for n in shape]
    size = [min(d.between(1, n - b), n - b) for n, b in zip(shape, begin, strict=True)]
    if d.variant == "zero size":
        size[0] = 0
    result, asked = list(size), list(size)
    if d.variant == "to the end":
        asked[0], result[0] = -1, shape[0] - begin[0]
    x, kind = d.tensor(shape), "int64" if d.variant == "int64 begin" else "int32"
    extra = [np.array(begin, kind), np.array(asked, kind)]
    fed = d.variant == "fed" or (d.variant == "larger in the file" and d.flag())
    if d.variant == "larger in the file":
        result[0] += d.between(1, 3)
    tensors = [Tensor([rank], kind) if fed else Tensor.constant(a) for a in extra]
    model = Model.single("SLICE", [x, *tensors], [d.tensor(result, like=x)], 2)
    return d.case(model, lambda: [d.values(x), *(extra if fed else [])])


@cases("STRIDED_SLICE", dtypes=_EVERY)
@cases(
    "STRIDED_SLICE", dtypes=("float32", "int8"), variants=("shrink", "new axis", "ellipsis", "rank 5", "fed", "masks")
)
@cases("STRIDED_SLICE", dtypes=("float32",), variants=("empty", "zero stride"))
def strided_slice(d):
    rank = 5 if d.variant == "rank 5" else d.between(1, 3) if d.variant in ("new axis", "ellipsis") else d.between(1, 4)
    shape = d.shape(rank, 6)
    count = d.between(1, rank)  # trailing axes may go unmentioned
    begin, end, strides = [], [], []
    for n in shape[:count]:
        stride = d.choice(1, 1, 2, 3, -1, -2)
        low, high = sorted((d.between(0, n - 1), d.between(0, n - 1)))
        first, last = (low, high + 1) if stride > 0 else (high, low - 1)
        begin.append(first - n if d.flag(0.3) else first)
        end.append(last - n if d.flag(0.3) and 0 < last < n else last if last >= 0 else -n - 1)
        strides.append(stride)
    bits = lambda probability: sum(1 << i for i in range(count) if d.flag(probability))  # noqa: E731
    masks = {"begin_mask": 0, "end_mask": 0}
    if d.variant == "masks" or d.flag(0.3):
        masks = {"begin_mask": bits(0.4), "end_mask": bits(0.4)}
    if d.variant == "shrink":
        masks["shrink_axis_mask"] = bits(0.5) or 1
        for i in range(count):
            if masks["shrink_axis_mask"] >> i & 1:
                strides[i] = 1
                masks["begin_mask"] &= ~(1 << i)  # a shrunk axis with its begin bit set takes index 0 in TensorFlow
                end[i] = begin[i] + 1
    if d.variant in ("new axis", "ellipsis"):
        place = d.between(0, count)
        for values, filler in ((begin, 0), (end, 0), (strides, 1)):
            values.insert(place, filler)
        low = (1 << place) - 1
        masks = {k: (v & low) | ((v & ~low) << 1) for k, v in masks.items()}
        masks["new_axis_mask" if d.variant == "new axis" else "ellipsis_mask"] = 1 << place
    if d.variant == "empty":
        begin[0], end[0], strides[0], masks = 0, 0, 1, {}
    if d.variant == "zero stride":
        strides[0] = 0
    x = d.tensor(shape)
    extra = [np.array(v, np.int32) for v in (begin, end, strides)]
    fed = d.variant == "fed"
    tensors = [Tensor(a.shape, "int32") if fed else Tensor.constant(a) for a in extra]
    model = Model.single("STRIDED_SLICE", [x, *tensors], [d.tensor([1], like=x)], 2, **masks)
    return d.case(model, lambda: [d.values(x), *(extra if fed else [])], refused=d.variant == "zero stride")


@cases("REVERSE_V2", dtypes=_EVERY)
def reverse(d):
    rank = d.between(1, 4)
    x, start = d.tensor(d.shape(rank, 5)), d.between(0, rank - 1)
    axes = np.arange(start, d.between(start, rank - 1) + 1, dtype=np.int32)  # TensorFlow takes adjacent axes only
    return d.case(Model.single(d.op, [x, Tensor.constant(axes)], [d.tensor(x.shape, like=x)]), lambda: [d.values(x)])


@cases("GATHER", dtypes=_EVERY, variants=("random", "int64 indices"))
@cases("GATHER", dtypes=("float32", "int8"), variants=("batch dims", "scalar index", "zero size", "constant indices"))
@cases("GATHER", dtypes=("float32",), variants=("out of range", "negative"))
def gather(d):
    rank = d.between(2, 4) if d.variant == "batch dims" else d.between(1, 4)
    shape = d.shape(rank, 5)
    batch = 1 if d.variant == "batch dims" else 0
    axis = d.between(batch, rank - 1)
    index_shape = (
        []
        if d.variant == "scalar index"
        else [0]
        if d.variant == "zero size"
        else [d.width(1, 4) for _ in range(d.between(1, 2))]
    )
    if batch:
        index_shape[0] = shape[0]
    kind = "int64" if d.variant == "int64 indices" else "int32"
    x, y = d.tensor(shape), d.tensor([*shape[:axis], *index_shape[batch:], *shape[axis + 1 :]])
    y.scale, y.zero_point = x.scale, x.zero_point
    indices = Tensor(index_shape, kind)

    def picks():
        low, high = {"out of range": (shape[axis], shape[axis] + 3), "negative": (-2, -1)}.get(
            d.variant, (0, shape[axis] - 1)
        )
        return d.integers(kind, index_shape, low, high)

    if d.variant == "constant indices":
        indices.data = picks()
    model = Model.single(
        "GATHER", [x, indices], [y], 5, axis=axis - rank if d.flag(0.3) and not batch else axis, batch_dims=batch
    )
    feed = (lambda: [d.values(x)]) if indices.data is not None else (lambda: [d.values(x), picks()])
    return d.case(model, feed, refused=d.variant in ("out of range", "negative"))


@cases("GATHER_ND", dtypes=_EVERY, variants=("random", "int64 indices"))
@cases("GATHER_ND", dtypes=("float16", *_EVERY), variants=("short slices",))
@cases("GATHER_ND", dtypes=("float32",), variants=("out of range", "negative"))
def gather_nd(d):
    """Short slices have 1 to 8 values."""
    rank = d.between(1, 4)
    shape, depth, leading = d.shape(rank, 5), d.between(1, rank), [d.width(1, 3) for _ in range(d.between(0, 2))]
    if d.variant == "short slices":
        shape, depth = [*shape, d.between(1, 8)], rank
    kind = "int64" if d.variant == "int64 indices" else "int32"
    x = d.tensor(shape)
    offset = {"out of range": 7, "negative": -7}.get(d.variant, 0)

    def picks():
        columns = [d.integers(kind, leading, 0, n - 1) + offset for n in shape[:depth]]
        return np.stack(columns, -1).astype(kind).reshape([*leading, depth])

    y = d.tensor([*leading, *shape[depth:]], like=x)
    model = Model.single("GATHER_ND", [x, Tensor([*leading, depth], kind)], [y], 3)
    return d.case(model, lambda: [d.values(x), picks()], refused=bool(offset))


@cases("SELECT", dtypes=_EVERY, variants=("random", "scalar condition", "row condition"))
@cases("SELECT_V2", dtypes=_EVERY, variants=("random", "broadcast", "scalar"))
@cases("SELECT_V2", dtypes=("float32", "int8"), variants=("high rank",))
def select(d):
    shape_a, shape_b, shape = operand_shapes(d, 5)
    if d.op == "SELECT":
        shape_a = shape_b = shape
    condition = {"scalar condition": [], "row condition": shape[:1]}.get(d.variant, shape)
    if d.variant in ("broadcast", "high rank"):
        condition = [1 if d.flag(0.4) else n for n in shape][d.between(0, len(shape) - 1) :]
    a = d.tensor(shape_a)
    b, y, c = d.tensor(shape_b, like=a), d.tensor(shape, like=a), Tensor(condition, "bool")
    model = Model.single(d.op, [c, a, b], [y])
    return d.case(model, lambda: [d.values(c), d.values(a), d.values(b)])


@cases("WHERE", dtypes=("bool", "float32", "int8", "uint8", "int32", "int64"), variants=("random", "none true"))
def where(d):
    x = Tensor(d.shape(d.between(1, 4), 5), d.dtype)

    def feed():
        if d.variant == "none true":
            return [np.zeros(x.shape, d.dtype)]
        values = np.where(d.rng.random(x.shape) < 0.5, d.values(x), 0).astype(d.dtype)
        values.flat[0] = 1
        return [values]

    model = Model.single("WHERE", [x], [Tensor([1, len(x.shape)], "int64")])
    return d.case(model, feed, refused=d.variant == "none true")


@cases("TOPK_V2", dtypes=("float32", "int8", "uint8", "int32", "int64"), variants=("random", "ties"))
@cases("TOPK_V2", dtypes=("float32",), variants=("special all",))
def topk(d):
    """All of a row are sorted by another algorithm than some: "all"."""
    x = d.tensor(d.rows(d.between(0, 2), 3, 9) if "all" not in d.variant else [d.between(1, 3), d.between(2, 99)])
    k = np.array(x.shape[-1] if "all" in d.variant else d.between(1, x.shape[-1]), np.int32)
    shape = [*x.shape[:-1], int(k)]
    model = Model.single("TOPK_V2", [x, Tensor.constant(k)], [d.tensor(shape, like=x), Tensor(shape, "int32")], 2)

    def feed():
        return [d.rng.integers(0, 3, x.shape).astype(d.dtype) if d.variant == "ties" else d.values(x)]

    return d.case(model, feed)


@cases("SCATTER_ND", dtypes=("float32", "int8", "uint8", "int32", "int64"))
def scatter_nd(d):
    """Repeated indices add up."""
    shape = d.shape(d.between(1, 3), 5)
    depth, count = d.between(1, len(shape)), d.width(1, 6)
    indices = Tensor([count, depth], "int32")
    updates = d.tensor([count, *shape[depth:]])
    model = Model.single(
        d.op, [indices, updates, Tensor.constant(np.array(shape, np.int32))], [d.tensor(shape, like=updates)]
    )

    def feed():
        columns = [d.integers("int32", [count], 0, n - 1) for n in shape[:depth]]
        return [np.stack(columns, -1), d.values(updates)]

    return d.case(model, feed)


@cases("EMBEDDING_LOOKUP", dtypes=("float32", "int8", "hybrid_i8"))
def embedding_lookup(d):
    rows, columns, count = d.width(1, 6), d.width(1, 6), d.width(1, 5)
    if d.dtype == "hybrid_i8":
        table, y = Tensor([rows, columns], "int8", scale=d.scale(), zero_point=0), Tensor([count, columns], "float32")
        table.data = d.values(table)
    else:
        table = d.tensor([rows, columns])
        table.data, y = d.values(table), d.tensor([count, columns], like=table)
    model = Model.single(d.op, [Tensor([count], "int32"), table], [y], 3)
    return d.case(model, lambda: [d.integers("int32", [count], 0, rows - 1)])
