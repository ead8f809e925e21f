"""Slices, gathers, scatters, shapes made of shapes."""

import numpy as np

from . import Input, Program, family, integers

TYPES = ("float32", "int32", "int64", "bool", "uint8", "int8", "int16")


def anything(d, shape):
    return d.rng.integers(0, 2 if d.dtype == "bool" else 100, shape).astype(d.dtype)


def _index(d, size):
    """One part of x[...]: a slice of any step, an index, a new axis, ...; None stands for a part that ends the list."""
    low, high = sorted(d.sizes(2, 0, size))
    return d.choice(
        slice(None), slice(low, high + 1), slice(None, None, -1), slice(-1, None), slice(None, -1), slice(low, None, 2),
        d.between(-size, size - 1), d.tf.newaxis,
    )  # fmt: skip


@family
def slices(d):
    """x[a:b:c, ..., newaxis, -1] with drawn parts."""
    rank = d.between(1, 4)
    shape = d.sizes(rank, 1, 6)
    parts, k = [], 0
    while k < d.between(1, rank):
        part = _index(d, shape[k])
        parts.append(part)
        k += part is not d.tf.newaxis
    if d.flag(0.3) and k < rank:
        parts.append(Ellipsis)
    d.dtype = d.choice("float32", "float32", *TYPES)
    free = [
        None if d.flag(0.3) and not isinstance(part, int) else size
        for part, size in zip([slice(None)] * rank, shape, strict=True)
    ]
    if any(isinstance(part, int) for part in parts):
        free = shape
    return Program(lambda x: x[tuple(parts)], [Input(free, d.dtype, anything, (2, 6))])


@family
def moving_window(d):
    """A slice whose begin is fed, in all the ways that programs write it."""
    tf, size, length = d.tf, d.between(1, 3), d.between(4, 9)
    way, features = d.choice("slice", "index", "gather", "turn", "dynamic"), d.between(1, 4)

    def function(x, start):
        if way == "slice":
            return tf.slice(x, [start, 0], [size, features])
        if way == "index":
            return x[start : start + size]
        if way == "gather":
            return tf.gather(x, start + tf.range(size))
        if way == "turn":
            return tf.concat([x[start:], x[:start]], 0)
        return tf.slice(x, tf.stack([start, 0]), tf.stack([tf.shape(x)[0] - start, -1]))

    return Program(function, [Input([length, features]), Input([], "int32", integers(0, length - size))])


@family
def shapes_of_shapes(d):
    """Shapes computed of shapes: reshape, broadcast_to, tile, fill, split by a fed size, squeeze."""
    tf, rank = d.tf, d.between(2, 4)
    last, way = (
        d.between(1, 5),
        d.choice("flat", "pairs", "broadcast", "tile", "fill", "ones", "repeat", "meshgrid", "size"),
    )

    def function(x):
        shape = tf.shape(x)
        if way == "flat":
            return tf.reshape(x, [shape[0], tf.reduce_prod(shape[1:])])
        if way == "pairs":
            return x[:, None] - x[None]
        if way == "broadcast":
            return tf.broadcast_to(x[:1], shape) * 2.0
        if way == "tile":
            return tf.tile(x, tf.concat([[2], tf.ones([rank - 1], tf.int32)], 0))
        if way == "fill":
            return tf.fill(shape, 3.5) + x
        if way == "ones":
            return tf.concat([x, tf.ones_like(x), tf.zeros(shape)], -1)
        if way == "repeat":
            return tf.repeat(x, 2, axis=rank - 1)
        if way == "meshgrid":
            return tf.meshgrid(tf.range(shape[0]), tf.range(shape[1]), indexing="ij")
        return tf.cast(tf.size(x), tf.float32) * x, tf.rank(x) + shape[0]

    free = [d.choice(None, d.between(1, 4)) for _ in range(rank - 1)]
    return Program(function, [Input([*free, last])])


@family
def gathers(d):
    tf = d.tf
    batch, rows, columns, picks = d.between(1, 3), d.between(1, 6), d.between(1, 4), d.between(1, 5)
    way = d.choice("axis 0", "axis 1", "batch", "nd", "nd rows", "along", "embedding", "none")
    dtype = d.choice("int32", "int64")
    high = {"axis 0": batch, "nd": min(batch, rows), "nd rows": batch}.get(way, rows) - 1

    def function(x, at):
        if way in ("axis 0", "embedding"):
            return tf.gather(x, at)
        if way == "axis 1":
            return tf.gather(x, at, axis=1)
        if way in ("batch", "along"):
            return tf.gather(x, at, batch_dims=1, axis=1)
        if way == "nd":
            return tf.gather_nd(x, tf.stack([at, at], -1))
        if way == "nd rows":
            return tf.gather_nd(x, at[..., None])
        return tf.gather(x, at[0], axis=1)

    if way == "embedding":
        high = batch - 1
    d.dtype = d.choice("float32", "float32", *TYPES)
    inputs = [Input([batch, rows, columns], d.dtype, anything), Input([batch, picks], dtype, integers(0, high, dtype))]
    return Program(function, inputs)


@family
def scatters(d):
    tf = d.tf
    rows, columns, picks = d.between(2, 6), d.between(1, 4), d.between(1, 5)
    way = d.choice("new", "update", "add", "segment", "unsorted", "max", "min", "count")

    def function(x, updates, at):
        index = at[:, None]
        if way == "new":
            return tf.scatter_nd(index, updates, [rows, columns])
        if way in ("update", "add", "max", "min"):
            name = {"update": "update", "add": "add", "max": "max", "min": "min"}[way]
            return getattr(tf, f"tensor_scatter_nd_{name}")(x, index, updates)
        if way == "segment":
            return tf.math.segment_sum(updates, tf.sort(at))
        if way == "unsorted":
            return tf.math.unsorted_segment_sum(updates, at, rows)
        return tf.math.bincount(at, minlength=rows, maxlength=rows)

    at = Input([picks], "int32", lambda d, s: d.rng.permutation(max(rows, picks))[:picks].astype("int32") % rows)
    return Program(function, [Input([rows, columns]), Input([picks, columns]), at])


@family
def conditions(d):
    """where with one and three operands, boolean masks, comparisons of all kinds."""
    tf, rank = d.tf, d.between(1, 3)
    way = d.choice("where", "where", "three", "three rows", "mask", "mask rows", "any", "count", "nan", "select")
    rows = [d.choice(None, d.between(1, 5)), *d.sizes(rank - 1, 1, 4)]

    def function(x):
        yes = x > 0.1
        if way == "where":
            return tf.where(yes)
        if way == "three":
            return tf.where(yes, x, -1.0)
        if way == "three rows":
            return tf.where(tf.reduce_any(yes, list(range(1, rank)), keepdims=True), x, tf.zeros_like(x))
        if way == "mask":
            return tf.boolean_mask(x, yes)
        if way == "mask rows":
            return tf.boolean_mask(x, tf.reduce_all(tf.reshape(x, [tf.shape(x)[0], -1]) > -1.0, 1)), tf.reduce_sum(x)
        if way == "any":
            return tf.reduce_any(yes, 0), tf.reduce_all(yes), tf.logical_xor(yes, x < 0.5)
        if way == "count":
            return tf.math.count_nonzero(yes, 0), tf.reduce_sum(tf.cast(yes, tf.int32))
        if way == "nan":
            y = tf.math.divide_no_nan(x, tf.nn.relu(x))
            return tf.where(tf.math.is_nan(tf.math.log(x)), y, x), tf.math.is_finite(1.0 / tf.nn.relu(x))
        return tf.where(tf.equal(tf.round(x), 0.0), tf.sign(x), tf.where(x > 1.0, x * 2.0, tf.zeros([])))

    return Program(function, [Input(rows)])


@family
def sorted_values(d):
    tf = d.tf
    rows, columns = d.choice(None, d.between(1, 4)), d.between(1, 9)
    k, way = d.between(1, columns), d.choice("top", "sort", "argsort", "unique", "median", "rank", "max")
    d.dtype = d.choice("float32", "int32", "float32", "int8", "int64", "uint8")

    def function(x):
        if way == "top":
            return tf.math.top_k(x, k)
        if way == "sort":
            return tf.sort(x, -1, d.order)
        if way == "argsort":
            return tf.argsort(x, -1, "DESCENDING")
        if way == "unique":
            return tf.unique(tf.reshape(x, [-1]))
        if way == "median":
            return tf.math.top_k(x, columns)[0][:, columns // 2]
        if way == "rank":
            return tf.reduce_sum(tf.cast(x[:, :, None] > x[:, None], tf.int32), 1)
        return tf.reduce_max(x, 1, keepdims=True), tf.argmin(x, 1), tf.reduce_min(x)

    d.order = "DESCENDING" if d.flag() else "ASCENDING"
    return Program(function, [Input([rows, columns], d.dtype, anything)])


@family
def joined(d):
    """Splits, stacks, concatenations and transposes, over free dimensions."""
    tf, rank = d.tf, d.between(2, 4)
    axis, parts, order = d.between(0, rank - 1), d.between(1, 3), d.permutation(rank)
    shape = [d.choice(None, d.between(1, 5)) if i != axis else parts * d.between(1, 3) for i in range(rank)]
    way, at = d.choice("split", "stack", "unstack", "transpose", "uneven"), d.between(0, rank)
    d.dtype = d.choice("float32", "float32", *TYPES)
    uneven = [1, shape[axis] - 1]

    def function(x):
        if way == "split":
            return tf.concat(tf.split(x, parts, axis)[::-1], axis)
        if way == "stack":
            return tf.stack([x, x, x], at)
        if way == "unstack":
            return tf.stack(tf.unstack(x, axis=axis)[::-1], axis)
        if way == "transpose":
            y = tf.transpose(x, order)
            return tf.expand_dims(y, at), tf.transpose(y, list(np.argsort(order)))
        return tf.split(x, uneven, axis)

    return Program(function, [Input(shape, d.dtype, anything)])
