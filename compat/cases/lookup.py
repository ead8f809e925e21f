"""Tables and words: HASHTABLE*, HASHTABLE_LOOKUP, LSH_PROJECTION, SKIP_GRAM, EMBEDDING_LOOKUP_SPARSE."""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_WORDS = (b"", b"a", b"b", b"word", b"another", "größe".encode(), b"\xff\x00z")


def _strings(d, n, choice=_WORDS):
    return np.array([d.choice(*choice) for _ in range(n)], object)


@cases("HASHTABLE", "HASHTABLE_IMPORT", "HASHTABLE_FIND", "HASHTABLE_SIZE", dtypes=("int64", "string"))
@cases("HASHTABLE_FIND", dtypes=("int64", "string"), variants=("not filled", "of another type"))
@cases("HASHTABLE", dtypes=("int32",))
def hashtable(d):
    """A table filled by CALL_ONCE, or never; the type label is the keys'."""
    value = "string" if d.dtype == "int64" else "int64"
    options = {"table_id": d.between(0, 99), "key_dtype": d.dtype.upper(), "value_dtype": value.upper()}

    def content(dtype, n):
        return _strings(d, n) if dtype == "string" else d.rng.integers(-5, 5, n).astype(np.int64)

    def handle(graph):
        return graph.op("HASHTABLE", [], [Tensor([1], "resource")], **options)[0]

    model = Model()
    main, start = model.subgraph("main"), model.subgraph("start")
    if d.variant != "not filled":
        n = d.between(1, 9)
        pair = [Tensor.constant(content(t, n), dtype=t) for t in (d.dtype, value)]
        start.op("HASHTABLE_IMPORT", [handle(start), *pair], [])
        main.op("CALL_ONCE", [], [], init_subgraph_index=start)
    table = handle(main)
    asked = value if d.variant == "of another type" else d.dtype
    given = d.dtype if d.variant == "of another type" else value
    shape = d.shape(d.between(1, 2), 5)
    keys, default = Tensor(shape, asked), Tensor.constant(content(given, 1), dtype=given)
    found, size = Tensor(shape, given), Tensor([1], "int64")
    main.op("HASHTABLE_FIND", [table, keys, default], [found])
    main.op("HASHTABLE_SIZE", [table], [size])
    main.inputs, main.outputs, start.inputs, start.outputs = [keys], [found, size], [], []
    feed = lambda: [content(asked, int(np.prod(shape))).reshape(shape)]  # noqa: E731
    return d.case(model, feed, refused=d.dtype == "int32" or d.variant != "random" or None)  # BUILTIN_REF lacks it


@cases("HASHTABLE_LOOKUP", dtypes=("float32", "int32", "int8", "int64", "bool", "string"))
@cases("HASHTABLE_LOOKUP", dtypes=("float32",), variants=("no rows", "unsorted", "extremes"))
def hashtable_lookup(d):
    rows, n = d.between(1, 9), d.between(1, 7)
    if d.variant == "no rows":
        rows = 0
    keys = np.sort(d.rng.integers(-9, 9, rows)).astype(np.int32)
    wanted = d.rng.integers(-9, 9, n).astype(np.int32)
    if d.variant == "extremes":
        keys = np.sort(d.integers("int32", [rows]))
        wanted = np.where(d.rng.random(n) < 0.5, keys[d.rng.integers(0, rows, n)], d.integers("int32", [n])).astype(
            np.int32
        )
    if d.variant == "unsorted":
        keys = keys[::-1]
    shape = [rows] if d.dtype == "string" else [rows, *d.shape(d.between(0, 2), 4)]
    value = Tensor(shape, d.dtype)
    outputs = [Tensor([n, *shape[1:]], d.dtype), Tensor([n], "uint8")]
    model = Model.single(d.op, [Tensor([n], "int32"), Tensor([rows], "int32"), value], outputs)

    def feed():
        return [wanted, keys, _strings(d, rows) if d.dtype == "string" else d.values(value)]

    return d.case(model, feed, refused=d.variant == "no rows")


@cases("LSH_PROJECTION", dtypes=("int32", "float32", "int8", "string"), variants=("SPARSE", "DENSE", "weighted"))
@cases("LSH_PROJECTION", dtypes=("int32",), variants=("UNKNOWN", "33 bits", "32 bits", "long items"))
def lsh_projection(d):
    bits = {"33 bits": 33, "32 bits": 32}.get(d.variant, d.between(1, 8))
    kind = {"DENSE": "DENSE", "UNKNOWN": "UNKNOWN"}.get(d.variant, d.choice("SPARSE", "DENSE"))
    kind = "SPARSE" if d.variant == "SPARSE" else kind
    hashes, items = d.between(1, 4), d.between(1, 6)
    shape = [items] if d.dtype == "string" else [items, *d.shape(d.between(0, 2), 5)]
    if d.variant == "long items":
        shape = [items, d.between(4, 60)]
    x, seeds = Tensor(shape, d.dtype), Tensor.constant(d.normal([hashes, bits]))
    inputs = [seeds, x, *([Tensor.constant(d.normal([items]))] if d.variant == "weighted" else [])]
    y = Tensor([hashes * (bits if kind == "DENSE" else 1)], "int32")
    model = Model.single(d.op, inputs, [y], type=kind)
    feed = lambda: [_strings(d, items) if d.dtype == "string" else d.values(x)]  # noqa: E731
    return d.case(model, feed, refused=d.variant in ("UNKNOWN", "33 bits"))


@cases("SKIP_GRAM", dtypes=("string",), variants=("random", "spaces", "all sizes", "too few words"))
def skip_gram(d):
    letters = b"ab \t\n" if d.variant == "spaces" else b"abc  "

    def text():
        if d.variant == "spaces":
            return bytes(d.rng.choice(list(letters), d.between(0, 12)).astype(np.uint8))
        words = [d.choice(b"the", b"quick", b"brown", b"fox", b"x") for _ in range(d.between(1, 7))]
        return b" ".join(words)

    options = {"ngram_size": d.between(1, 4), "max_skip_size": d.between(0, 3)}
    options["include_all_ngrams"] = d.variant == "all sizes"
    if d.variant == "too few words":
        options["ngram_size"] = 9
    model = Model.single(d.op, [Tensor([1], "string")], [Tensor([1], "string")], **options)
    return d.case(model, lambda: [np.array([text()], object)])


@cases("EMBEDDING_LOOKUP_SPARSE", dtypes=("float32",), variants=("SUM", "MEAN", "SQRTN", "row out of bounds"))
def embedding_lookup_sparse(d):
    rows, n, rank = d.between(1, 6), d.between(1, 8), d.between(1, 3)
    shape = np.array(d.shape(rank, 4), np.int32)
    value = Tensor([rows, *d.shape(d.between(1, 2), 4)], "float32")
    inputs = [
        Tensor([n], "int32"),
        Tensor([n, rank], "int32"),
        Tensor.constant(shape),
        Tensor([n], "float32"),
        value,
    ]
    combiner = d.variant if d.variant.isupper() else "SUM"
    y = Tensor([*shape[:-1], *value.shape[1:]], "float32")
    model = Model.single(d.op, inputs, [y], combiner=combiner)
    out = d.variant == "row out of bounds"

    def feed():
        ids = d.rng.integers(0, rows, n).astype(np.int32) + (rows if out else 0)
        places = np.stack(
            [np.sort(d.rng.integers(0, m, n)) if i == 0 else d.rng.integers(0, m, n) for i, m in enumerate(shape)], -1
        )
        return [ids, places.astype(np.int32), d.normal([n]), d.values(value)]

    return d.case(model, feed, refused=out)
