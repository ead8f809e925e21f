"""GATHER, GATHER_ND, SCATTER_ND, EMBEDDING_LOOKUP."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import interpret, run, same

TYPES = ["float32", "float16", "uint8", "int8", "int16", "int32", "int64", "bool"]


def sample(shape, dtype):
    return (np.arange(np.prod(shape)) % (2 if dtype == "bool" else 99)).astype(dtype).reshape(shape)


def given(value, constant, dtype="int32"):
    value = np.array(value, dtype)
    return value if constant else (value, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("index", ["int16", "int32", "int64"])
def test_gather_along_an_axis(dtype, axis, index):
    x, positions = sample((3, 4, 5), dtype), [[2, 0], [1, 1]]
    [y] = run("GATHER", [(x, dtype), given(positions, index == "int32", index)], [Tensor([1], dtype)], axis=axis)
    same(y, np.take(x, positions, axis))


@pytest.mark.parametrize(("axis", "batch_dims"), [(1, 1), (2, 1), (2, 2), (2, -1)])
def test_gather_within_batches(axis, batch_dims):
    x = sample((2, 3, 4), "float32")
    shape = (2, 3, 2) if batch_dims in (2, -1) else (2, 2)
    positions = np.random.default_rng(1).integers(0, 3, shape, np.intp)
    batch = 2 if batch_dims in (2, -1) else 1
    want = np.stack([np.take(x[at], positions[at], axis - batch) for at in np.ndindex(*x.shape[:batch])]).reshape(
        x.shape[:batch] + np.take(x[(0,) * batch], positions[(0,) * batch], axis - batch).shape
    )
    [y] = run(
        "GATHER", [(x, "float32"), given(positions, True)], [Tensor([1], "float32")], axis=axis, batch_dims=batch_dims
    )
    same(y, want)


def test_constants_are_gathered_before_the_first_invoke():
    interpreter = interpret("GATHER", [np.arange(5, dtype=np.int32), given([4, 0], True)], [Tensor([1], "int32")])
    same(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), np.array([4, 0], np.int32))


@pytest.mark.parametrize("constant", [True, False])
def test_strings_are_gathered(constant):
    x = np.array([b"a", b"", b"long"], object)
    [y] = run("GATHER", [(x, "string"), given([[2, 0], [1, 2]], constant)], [Tensor([1], "string")])
    assert y.tolist() == x[[[2, 0], [1, 2]]].tolist()
    [y] = run("GATHER_ND", [(x.reshape(3, 1), "string"), given([[2], [0]], constant)], [Tensor([1], "string")])
    assert y.tolist() == [[b"long"], [b"a"]]


@pytest.mark.parametrize("op", ["GATHER", "GATHER_ND"])
@pytest.mark.parametrize("index", [3, -1, 2**31 - 1])
def test_indices_out_of_bounds_fail_the_invoke(op, index):
    positions = [index] if op == "GATHER" else [[index]]
    with pytest.raises(RuntimeError, match="index out of bounds"):
        run(op, [(np.zeros((3, 2), np.int8), "int8"), given(positions, False)], [Tensor([1], "int8")])


@pytest.mark.parametrize(
    "options", [{"axis": 2}, {"axis": -3}, {"axis": 0, "batch_dims": 1}, {"axis": 1, "batch_dims": 1}]
)
def test_gather_refuses(options):
    with pytest.raises(RuntimeError, match=r"axis|positions"):
        run("GATHER", [(np.zeros((3, 2), np.int8), "int8"), given([0], True)], [Tensor([1], "int8")], **options)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("index", ["int16", "int32", "int64"])
def test_gather_nd(dtype, depth, index):
    x = sample((3, 4, 2), dtype)
    at = np.random.default_rng(2).integers(0, 2, (2, 3, depth))
    [y] = run("GATHER_ND", [(x, dtype), given(at, index == "int64", index)], [Tensor([1], dtype)])
    same(y, np.stack([x[tuple(i)] for i in at.reshape(6, depth)]).reshape((2, 3, *x.shape[depth:])))


def test_gather_nd_checks_the_whole_offset_only():
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    [y] = run("GATHER_ND", [(x, "int32"), given([[0, 4]], True)], [Tensor([1], "int32")])
    assert y.tolist() == [4]


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "int32", "int64", "bool"])
@pytest.mark.parametrize("constant", [True, False])
def test_scatter_nd_adds_up(dtype, constant):
    indices, updates = np.array([[1], [3], [1]], np.int32), sample((3, 2), dtype)
    [y] = run("SCATTER_ND", [(indices, "int32"), (updates, dtype), given([4, 2], constant)], [Tensor([1], dtype)])
    want = np.zeros((4, 2), dtype)
    for at, update in zip(indices[:, 0], updates, strict=True):
        want[at] = want[at] | update if dtype == "bool" else want[at] + update
    same(y, want)


def test_scatter_nd_lets_one_index_make_up_for_another():
    indices = np.array([[1, -1]], np.int32)
    [y] = run(
        "SCATTER_ND",
        [(indices, "int32"), (np.array([5], np.int32), "int32"), given([2, 3], True)],
        [Tensor([1], "int32")],
    )
    assert y.tolist() == [[0, 0, 5], [0, 0, 0]]


@pytest.mark.parametrize(
    ("index", "shape", "text"),
    [(4, [4], "out of bounds"), (-1, [4], "out of bounds"), (0, [-4], "negative"), (0, [4, 2], "updates")],
)
def test_scatter_nd_refuses(index, shape, text):
    with pytest.raises(RuntimeError, match=text):
        run(
            "SCATTER_ND",
            [(np.array([[index]], np.int32), "int32"), (np.ones(1, np.int32), "int32"), given(shape, True)],
            [Tensor([1], "int32")],
        )


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "complex64"])
def test_embedding_lookup_copies_rows(dtype):
    rows = sample((4, 2, 3), dtype)
    [y] = run("EMBEDDING_LOOKUP", [given([3, 0, 3], False), rows], [Tensor([1], dtype)])
    same(y, rows[[3, 0, 3]])


@pytest.mark.parametrize("dtype", ["int8", "int4"])
@pytest.mark.parametrize("scales", [[0.3], [0.3, 0.7, 1.1]])
def test_embedding_lookup_scales_rows(dtype, scales):
    rows = np.random.default_rng(4).integers(-8, 8, (3, 4)).astype(np.int8)
    [y] = run(
        "EMBEDDING_LOOKUP",
        [given([2, 0, 1, 2], False), Tensor.constant(rows, dtype, scale=scales)],
        [Tensor([1], "float32")],
    )
    top = 16 if dtype == "int4" else 1
    scale = np.broadcast_to(np.array(scales, np.float32) / np.float32(top), 3)
    same(y, ((rows * top).astype(np.float32) * scale[:, None])[[2, 0, 1, 2]])


@pytest.mark.parametrize("row", [3, -1])
def test_embedding_lookup_refuses(row):
    with pytest.raises(RuntimeError, match="out of bounds"):
        run("EMBEDDING_LOOKUP", [given([row], False), np.zeros((3, 2), np.float32)], [Tensor([1], "float32")])
