"""Tables and words: known answers, and what is refused."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

from .evaluate import REFUSED
from .one_operator import run, same

i32 = np.int32
OPTIMIZED = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def table_model(keys, values, asked, default, fill=True, **options):
    """CALL_ONCE fills a table, HASHTABLE_FIND asks it, HASHTABLE_SIZE counts."""
    key, value = ("string" if np.asarray(v, object).ravel()[0].__class__ is bytes else "int64" for v in (keys, values))
    options = {"table_id": 3, "key_dtype": key.upper(), "value_dtype": value.upper(), **options}
    model = Model()
    main, start = model.subgraph("main"), model.subgraph("start")
    handles = [graph.op("HASHTABLE", [], [Tensor([1], "resource")], **options)[0] for graph in (main, start)]
    constants = [
        Tensor.constant(np.array(v, object if t == "string" else np.int64), t)
        for v, t in ((keys, key), (values, value))
    ]
    start.op("HASHTABLE_IMPORT", [handles[1], *constants], [])
    if fill:
        main.op("CALL_ONCE", [], [], init_subgraph_index=start)
    x, y, size = Tensor([len(asked)], key), Tensor([len(asked)], value), Tensor([1], "int64")
    fallback = Tensor.constant(np.array([default], object if value == "string" else np.int64), value)
    main.op("HASHTABLE_FIND", [handles[0], x, fallback], [y])
    main.op("HASHTABLE_SIZE", [handles[0]], [size])
    main.inputs, main.outputs, start.inputs, start.outputs = [x], [y, size], [], []
    return model.to_bytes()


def ask(blob, asked, resolver=OPTIMIZED):
    interpreter = Interpreter(model_content=blob, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    found = []
    for _ in range(2):
        dtype = object if isinstance(asked[0], bytes) else np.int64
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array(asked, dtype))
        interpreter.invoke()
        found = [interpreter.get_tensor(d["index"]).tolist() for d in interpreter.get_output_details()]
    return found


def test_a_table_from_numbers_to_strings():
    asked = [5, 6, -1]
    blob = table_model([5, -1, 5], [b"five", b"", b"again"], asked, b"?")
    assert ask(blob, asked) == [[b"five", b"?", b""], [2]]  # of equal keys the first counts


def test_a_table_from_strings_to_numbers():
    asked = [b"b", b"", b"c"]
    blob = table_model([b"a", b"b", b""], [1, 2, 3], asked, -7)
    assert ask(blob, asked) == [[2, 3, -7], [3]]


def test_a_table_that_is_not_filled_is_refused():
    with pytest.raises(REFUSED, match="initialized"):
        ask(table_model([1], [b"x"], [1], b"", fill=False), [1])


def test_the_reference_resolver_has_no_tables():
    with pytest.raises(ValueError, match="Didn't find op"):
        ask(table_model([1], [b"x"], [1], b""), [1], OpResolverType.BUILTIN_REF)


@pytest.mark.parametrize("options", [{"key_dtype": "INT32"}, {"value_dtype": "INT64"}, {"key_dtype": "STRING"}])
def test_tables_of_other_types_are_refused(options):
    with pytest.raises(REFUSED):
        ask(table_model([1], [b"x"], [1], b"", **options), [1])


def test_handles_of_no_table_are_refused():
    x, y = Tensor([1], "resource"), Tensor([1], "int64")
    model = Model.single("HASHTABLE_SIZE", [x], [y])
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OPTIMIZED)
    with pytest.raises(REFUSED):
        interpreter.allocate_tensors()
        interpreter.invoke()


def test_tables_of_many_keys():
    """Against a dictionary, in both directions; strings of all lengths around those that are copied at once."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(-(2**63), 2**63 - 1, 1000).tolist()
    texts = [rng.bytes(int(n)) for n in rng.integers(0, 40, 1000)]
    asked = [*rng.choice(numbers, 500).tolist(), 1, 2, 3]
    known = dict(zip(numbers, texts, strict=True))
    assert ask(table_model(numbers, texts, asked, b"?"), asked) == [[known.get(n, b"?") for n in asked], [1000]]
    first = {}
    for text, number in zip(texts, numbers, strict=True):
        first.setdefault(text, number)
    asked = [*[texts[i] for i in rng.integers(0, 1000, 500)], b"nowhere"]
    found = ask(table_model(texts, numbers, asked, -7), asked)
    assert found == [[first.get(text, -7) for text in asked], [len(first)]]


def lookup(wanted, keys, value, dtype):
    inputs = [(np.array(wanted, i32), "int32"), (np.array(keys, i32), "int32"), (value, dtype)]
    return run("HASHTABLE_LOOKUP", inputs, [Tensor([1], dtype), Tensor([1], "uint8")])


def test_hashtable_lookup():
    value = np.arange(6, dtype=np.float32).reshape(3, 2) + 1
    rows, hits = lookup([4, 5, -(2**31), 2], [2, 4, 2**31 - 1], value, "float32")
    assert rows.tolist() == [[3, 4], [0, 0], [0, 0], [1, 2]]
    same(hits, np.array([1, 0, 0, 1], np.uint8))


def test_hashtable_lookup_of_strings():
    found, hits = lookup([9, 1, 3], [1, 3], np.array([b"one", b"three"], object), "string")
    assert found.tolist() == [b"", b"one", b"three"]
    assert hits.tolist() == [0, 1, 1]


@pytest.mark.parametrize("keys, shape", [([1, 2], [3, 2]), ([], [0, 2])])
def test_hashtable_lookup_refuses(keys, shape):
    with pytest.raises(REFUSED):
        lookup([1], keys, np.zeros(shape, np.float32), "float32")


def fingerprint(data):
    """FarmHash's fingerprint of 8 to 16 bytes."""
    mask, k2 = 2**64 - 1, 0x9AE16A3B2F90404F
    turn = lambda x, n: (x >> n | x << (64 - n)) & mask  # noqa: E731
    factor = k2 + 2 * len(data)
    a, b = (int.from_bytes(data[:8], "little") + k2) & mask, int.from_bytes(data[-8:], "little")
    u, v = (turn(b, 37) * factor + a) & mask, (turn(a, 25) + b) * factor & mask
    h = (u ^ v) * factor & mask
    h = ((h ^ h >> 47) ^ v) * factor & mask
    return (h ^ h >> 47) * factor & mask


@pytest.mark.parametrize("kind", ["SPARSE", "DENSE"])
def test_lsh_projection(kind):
    rng = np.random.default_rng(5)
    seeds, x, weight = (
        rng.standard_normal([3, 4]).astype(np.float32),
        rng.integers(-99, 99, [5, 2]).astype(i32),
        rng.random(5).astype(np.float32),
    )
    signed = lambda h: h - 2**64 if h >> 63 else h  # noqa: E731
    bits = [
        [
            sum(float(w) * signed(fingerprint(s.tobytes() + row.tobytes())) for w, row in zip(weight, x, strict=True))
            > 0
            for s in line
        ]
        for line in seeds
    ]
    want = np.array(bits, i32).ravel()
    if kind == "SPARSE":
        want = np.array([sum(b << (3 - j) for j, b in enumerate(line)) + 16 * i for i, line in enumerate(bits)], i32)
    got = run("LSH_PROJECTION", [seeds, (x, "int32"), weight], [Tensor([1], "int32")], type=kind)[0]
    same(got, want)


@pytest.mark.parametrize(
    "shape, kind, weights", [([3, 33], "SPARSE", 5), ([3, 4], "UNKNOWN", 5), ([3, 4], "DENSE", 4), ([12], "DENSE", 5)]
)
def test_lsh_projection_refuses(shape, kind, weights):
    inputs = [np.zeros(shape, np.float32), (np.zeros([5, 2], i32), "int32"), np.zeros(weights, np.float32)]
    with pytest.raises(REFUSED):
        run("LSH_PROJECTION", inputs, [Tensor([1], "int32")], type=kind)


def grams(text, size, skip=0, shorter=False):
    inputs = [(np.array([text], object), "string")]
    options = {"ngram_size": size, "max_skip_size": skip, "include_all_ngrams": shorter}
    return run("SKIP_GRAM", inputs, [Tensor([1], "string")], **options)[0].tolist()


def test_skip_gram():
    assert grams(b"a b c", 2) == [b"a b", b"b c"]
    assert grams(b"a b c", 2, 1) == [b"a b", b"a c", b"b c"]
    assert sorted(grams(b"a b c", 2, 0, True)) == [b"a", b"a b", b"b", b"b c", b"c"]
    assert grams(b"a\tb  c\n", 1) == [b"a", b"b", b"c"]
    assert grams(b"a b", 3) == []
    assert grams(b"", 1) == []
    assert grams(b"a b", -1) == []


def sparse(ids, indices, shape, weights, value, combiner):
    inputs = [
        (np.array(ids, i32), "int32"),
        (np.array(indices, i32), "int32"),
        (np.array(shape, i32), "int32"),
        (np.array(weights, np.float32), "float32"),
        (np.array(value, np.float32), "float32"),
    ]
    return run("EMBEDDING_LOOKUP_SPARSE", inputs, [Tensor([1], "float32")], combiner=combiner)[0].tolist()


def test_embedding_lookup_sparse():
    arguments = [1, 3, 0], [[0, 0], [2, 0], [2, 1]], [3, 2], [1, 2, 4], [[0, 1], [10, 11], [20, 21], [30, 31]]
    assert sparse(*arguments, "SUM") == [[10, 11], [0, 0], [60, 66]]
    assert sparse(*arguments, "MEAN") == [[10, 11], [0, 0], [10, 11]]
    root = float(np.sqrt(np.float32(20)))
    assert np.allclose(sparse(*arguments, "SQRTN"), [[10, 11], [0, 0], [60 / root, 66 / root]])


def test_embedding_lookup_sparse_leaves_out_what_lies_outside():
    assert sparse([0], [[7, 0]], [3, 2], [1], [[1, 2]], "MEAN") == [[0, 0]] * 3
    assert sparse([0], [[-1, 0]], [3, 2], [1], [[1, 2]], "MEAN") == [[0, 0]] * 3


@pytest.mark.parametrize(
    "arguments",
    [
        ([2], [[0, 0]], [3, 2], [1], [[1, 2]]),
        ([-1], [[0, 0]], [3, 2], [1], [[1, 2]]),
        ([0], [[0, 0]], [3], [1], [[1, 2]]),
        ([0], [[0, 0]], [-3, 2], [1], [[1, 2]]),
        ([0, 0], [[0, 0]], [3, 2], [1], [[1, 2]]),
        ([0], [[0, 0, 0]], [2**31 - 1] * 3, [1], [[1, 2]]),
    ],
)
def test_embedding_lookup_sparse_refuses(arguments):
    with pytest.raises((*REFUSED, MemoryError)):
        sparse(*arguments, "SUM")
