"""STABLEHLO operators and REDUCE_WINDOW: values, slices, windows, subgraphs, bits of a generator."""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_NUMBERS = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
_ALL = (*_NUMBERS, "bool")


@cases("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", dtypes=_ALL)
@cases(
    *("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"),
    dtypes=("float32", "float16", "float64"),
    variants=("special",),
)
@cases("STABLEHLO_AND", dtypes=(*_ALL[3:],))
@cases("STABLEHLO_SHIFT_LEFT", dtypes=("int8", "int16", "int32"), variants=("random", "any distance"))
@cases("STABLEHLO_SHIFT_LEFT", dtypes=("uint8", "int64", "float32"))
@cases("STABLEHLO_ADD", "STABLEHLO_MAXIMUM", dtypes=("float32", "int8"), variants=("broadcast",))
@cases("STABLEHLO_ADD", dtypes=("complex64",))
def elementwise(d):
    shape = d.shape(d.between(0, 4), 6)
    a, b = Tensor(shape, d.dtype), Tensor(shape, d.dtype)
    if d.variant == "broadcast":
        a, b = Tensor([2, 3], d.dtype), Tensor([3], d.dtype)
    y = Tensor(a.shape, d.dtype)

    def feed():
        if d.dtype == "complex64":
            return [np.zeros(shape, d.dtype)] * 2
        second = d.values(b)
        if d.op == "STABLEHLO_SHIFT_LEFT":
            low, high = (-700, 700) if d.variant == "any distance" else (0, 31)
            second = d.rng.integers(low, high, b.shape).astype(d.dtype)
        return [d.values(a), second]

    refused = d.variant == "broadcast" or d.dtype == "complex64"
    refused |= d.op == "STABLEHLO_SHIFT_LEFT" and d.dtype not in ("int8", "int16", "int32")
    if d.op in ("STABLEHLO_AND", "STABLEHLO_SHIFT_LEFT"):
        refused = refused or None  # BUILTIN_REF lacks them
    return d.case(Model.single(d.op, [a, b], [y]), feed, refused=refused)


@cases("STABLEHLO_PAD", dtypes=_ALL, variants=("random", "cut"))
@cases("STABLEHLO_PAD", dtypes=("float32",), variants=("to nothing",))
def pad(d):
    shape = d.shape(d.between(1, 4), 5)
    low, high = ([d.between(-3 if d.variant == "cut" else 0, 4) for _ in shape] for _ in "lh")
    inner = [d.between(0, 2) for _ in shape]
    if d.variant == "to nothing":
        low[0] = -99
    sizes = [(n - 1) * (i + 1) + 1 + p + q for n, i, p, q in zip(shape, inner, low, high, strict=True)]
    if d.variant == "cut" and min(sizes) <= 0:
        low = [max(v, 0) for v in low]
        high = [max(v, 0) for v in high]
    x, value = Tensor(shape, d.dtype), Tensor([], d.dtype)
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": inner}
    model = Model.single(d.op, [x, value], [Tensor([max(1, s) for s in sizes], d.dtype)], **options)
    return d.case(model, lambda: [d.values(x), d.values(value)])


def _slices(d, shape, collapsed, batch_rank):
    """(indices' shape, place of the index vector, map, positions of the window dimensions)."""
    windows = len(shape) - len(collapsed)
    batch = d.shape(batch_rank, 3)
    mapped = [int(v) for v in d.rng.permutation(len(shape))[: d.between(1, len(shape))]]
    vector = d.between(0, batch_rank)
    indices = [*batch[:vector], len(mapped), *batch[vector:]]
    window_dims = sorted(int(v) for v in d.rng.permutation(batch_rank + windows)[:windows])
    return batch, indices, vector, mapped, window_dims


def _merged(batch, window, window_dims):
    """The sizes of the walked side."""
    batch, window = iter(batch), iter(window)
    return [next(window) if i in window_dims else next(batch) for i in range(len(window_dims) + _left(batch))]


def _left(iterator):
    return iterator.__length_hint__()


@cases("STABLEHLO_GATHER", dtypes=_NUMBERS, variants=("random", "int64 indices"))
@cases("STABLEHLO_GATHER", dtypes=("bool",))
def gather(d):
    shape = d.shape(d.between(1, 4), 5)
    collapsed = [i for i in range(len(shape)) if d.flag(0.4)]
    sizes = [1 if i in collapsed else d.between(1, n) for i, n in enumerate(shape)]
    batch, indices, vector, mapped, offsets = _slices(d, shape, collapsed, d.between(0, 2))
    walked = _merged(batch, [n for i, n in enumerate(sizes) if i not in collapsed], offsets)
    wide = "int64" if d.variant == "int64 indices" else "int32"
    x = Tensor(shape, d.dtype)
    options = {
        "offset_dims": offsets,
        "collapsed_slice_dims": collapsed,
        "start_index_map": mapped,
        "index_vector_dim": vector,
        "slice_sizes": sizes,
    }
    model = Model.single(d.op, [x, Tensor(indices, wide)], [Tensor(walked, d.dtype)], **options)
    # indices beyond the end are clipped; TensorFlow reads outside of the operand at those before the beginning
    return d.case(model, lambda: [d.values(x), d.rng.integers(0, 7, indices).astype(wide)], refused=d.dtype == "bool")


@cases("STABLEHLO_SCATTER", dtypes=_ALL, variants=("take", "int64 indices"))
@cases("STABLEHLO_SCATTER", dtypes=("float32", "int32", "bool", "float16"), variants=("ADD", "MULTIPLY", "MAXIMUM"))
@cases("STABLEHLO_SCATTER", dtypes=("float32", "int8", "uint64"), variants=("MINIMUM", "MUL"))
def scatter(d):
    shape = d.shape(d.between(1, 4), 5)
    inserted = [i for i in range(len(shape)) if d.flag(0.4)]
    window = [d.between(1, n) for i, n in enumerate(shape) if i not in inserted]
    batch, indices, vector, mapped, window_dims = _slices(d, shape, inserted, d.between(0, 2))
    walked = _merged(batch, window, window_dims)
    wide = "int64" if d.variant == "int64 indices" else "int32"
    x, updates = Tensor(shape, d.dtype), Tensor(walked, d.dtype)
    model = Model()
    main, body = model.subgraph("main"), model.subgraph("body")
    a, b, y = (Tensor([], d.dtype) for _ in range(3))
    if d.variant in ("take", "int64 indices"):
        body.tensor(a), body.tensor(b)
        body.inputs, body.outputs = [a, b], [b]
    else:
        body.op(d.variant if d.variant == "MUL" else f"STABLEHLO_{d.variant}", [a, b], [y])
        body.inputs, body.outputs = [a, b], [y]
    main.op(
        d.op,
        [x, Tensor(indices, wide), updates],
        [Tensor(shape, d.dtype)],
        update_window_dims=window_dims,
        inserted_window_dims=inserted,
        scatter_dims_to_operand_dims=mapped,
        index_vector_dim=vector,
        update_computation_subgraph_index=body,
    )

    def feed():
        return [d.values(x), d.rng.integers(0, 6, indices).astype(wide), d.values(updates)]

    return d.case(model, feed, refused=d.variant == "MUL")


_REDUCED = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
_BODIES = ("ADD", "MUL", "MINIMUM", "MAXIMUM", "LOGICAL_AND", "LOGICAL_OR")


@cases("STABLEHLO_REDUCE_WINDOW", dtypes=_REDUCED, variants=("random", "padded", "all"))
@cases("STABLEHLO_REDUCE_WINDOW", dtypes=("float32",), variants=("special", "STABLEHLO_ADD", "STABLEHLO_MAXIMUM"))
@cases("STABLEHLO_REDUCE_WINDOW", dtypes=("float16", "uint32"))
@cases("STABLEHLO_REDUCE_WINDOW", dtypes=("float32",), variants=("STABLEHLO_MULTIPLY", "STABLEHLO_MINIMUM", "SUB"))
def stablehlo_reduce_window(d):
    shape = d.shape(d.between(1, 4), 6)
    x, first = Tensor(shape, d.dtype), Tensor([], d.dtype)
    options = {"window_dimensions": [d.between(1, 3) for _ in shape]}
    if d.variant == "all" or d.flag():
        options["window_strides"] = [d.between(1, 3) for _ in shape]
        options["window_dilations"] = [d.between(1, 2) for _ in shape]
    if d.variant == "all" or d.flag(0.3):
        options["base_dilations"] = [d.between(1, 3) for _ in shape]
    if d.variant in ("all", "padded"):
        options["padding"] = [d.between(0 if shape[i // 2] < 3 else -1, 3) for i in range(2 * len(shape))]
    name = d.variant if d.variant.isupper() else d.choice(*_BODIES)
    model = Model()
    main, body = model.subgraph("main"), model.subgraph("body")
    kind = "bool" if name.startswith("LOGICAL") else d.dtype
    body.op(name, [Tensor([], kind), Tensor([], kind)], [Tensor([], kind)])
    main.op(d.op, [x, first], [Tensor(shape, d.dtype)], body_subgraph_index=body, **options)
    refused = d.variant == "SUB" or d.dtype in ("float16", "uint32")
    return d.case(model, lambda: [d.values(x), d.values(first)], refused=refused)


@cases("REDUCE_WINDOW", dtypes=_REDUCED, variants=_BODIES)
@cases("REDUCE_WINDOW", dtypes=("float32",), variants=("special",))
@cases("REDUCE_WINDOW", dtypes=("uint32",))
def reduce_window(d):
    shape = d.shape(d.between(1, 4), 6)
    x, first = Tensor(shape, d.dtype), Tensor([], d.dtype)
    attributes = [Tensor.constant(np.array([d.between(1, most) for _ in shape], np.int64)) for most in (3, 3, 2)]
    names = {"MUL": 2, "ADD": 1, "MINIMUM": 3, "MAXIMUM": 4, "LOGICAL_AND": 5, "LOGICAL_OR": 6}
    function = names.get(d.variant, d.between(1, 6))
    model = Model.single(d.op, [x, first, *attributes], [Tensor(shape, d.dtype)], reduce_function=function)
    return d.case(model, lambda: [d.values(x), d.values(first)], refused=d.dtype == "uint32")


@cases("STABLEHLO_RNG_BIT_GENERATOR", dtypes=("int32", "int64", "uint32", "uint64"), variants=("PHILOX", "THREEFRY"))
@cases("STABLEHLO_RNG_BIT_GENERATOR", dtypes=("uint32", "int64"), variants=("DEFAULT", "state of 3", "zero size"))
@cases("STABLEHLO_RNG_BIT_GENERATOR", dtypes=("float32", "int8"))
def bits(d):
    size = 3 if d.variant == "state of 3" or (d.variant == "PHILOX" and d.flag()) else 2
    state, after = Tensor([size], "uint64"), Tensor([size], "uint64")
    y = Tensor([0, 3] if d.variant == "zero size" else d.shape(d.between(0, 3), 5), d.dtype)
    algorithm = d.variant if d.variant in ("PHILOX", "THREEFRY") else "DEFAULT"

    def feed():
        values = d.values([size], "uint64")
        values[1] |= np.uint64(d.choice(0, 2**32 - 1, 2**64 - 1))  # the counter, close to its ends
        return [values]

    model = Model.single(d.op, [state], [after, y], algorithm=algorithm)
    return d.case(model, feed, refused=d.dtype in ("float32", "int8"))


@cases("STABLEHLO_CASE", dtypes=("float32", "int32"), variants=("random", "shapes differ", "one branch"))
@cases("STABLEHLO_COMPOSITE", dtypes=("float32", "int32", "int8"), variants=("random", "passes through", "two outputs"))
def subgraphs(d):
    model = Model()
    main = model.subgraph("main")
    composite = d.op == "STABLEHLO_COMPOSITE"
    branches = []
    for i in range(1 if composite or d.variant == "one branch" else d.between(2, 4)):
        graph = model.subgraph(f"branch{i}")
        a, b, y = (d.tensor([2, 3]) for _ in range(3))
        outputs = [y]
        if d.variant == "shapes differ" and i:
            y.shape = [4, 3]
            graph.op("CONCATENATION", [a, b], [y], axis=0)
        else:
            graph.op(("ADD", "MUL", "SUB", "MAXIMUM")[i], [a, b], [y])
        if d.variant == "two outputs":
            z = d.tensor([2, 3], like=y)
            graph.op("RESHAPE", [y, Tensor.constant(np.array([2, 3], np.int32))], [z])
            outputs = [z, y]
        graph.inputs, graph.outputs = [a, b], [b] if d.variant == "passes through" else outputs
        branches.append(graph)
    x = [d.tensor(t.shape, like=t) for t in branches[0].inputs]
    ys = [d.tensor(t.shape, like=t) for t in branches[0].outputs]
    if composite:
        options = {"name": "odml.anything", "decomposition_subgraph_index": branches[0], "composite_attributes": [0]}
        main.op(d.op, x, ys, **options)
        return d.case(model, lambda: [d.values(t) for t in x])
    main.op(d.op, [Tensor([], "int32"), *x], ys, branch_subgraph_indices=[g.index for g in branches])
    feed = lambda: [np.array(d.between(-1, len(branches)), np.int32), *(d.values(t) for t in x)]  # noqa: E731
    return d.case(model, feed, refused=None)  # BUILTIN_REF lacks it
