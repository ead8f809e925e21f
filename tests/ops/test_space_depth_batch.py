"""SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same


def sample(shape, dtype):
    return (np.arange(np.prod(shape)) % 99).astype(dtype).reshape(shape)


def given(value, constant):
    value = np.array(value, np.int32)
    return value if constant else (value, "int32")


def into_depth(x, b):
    n, h, w, c = x.shape
    return x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)


def into_batches(x, block, paddings):
    """Pixels taken at strides of the block: one batch per starting point."""
    x = np.pad(x, [[0, 0], *paddings, [0, 0]])
    starts = np.ndindex(*block)
    return np.concatenate(
        [x[(slice(None), *(slice(s, None, b) for s, b in zip(start, block, strict=True)))] for start in starts]
    )


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize(
    ("shape", "block"), [((2, 4, 6, 3), 2), ((1, 3, 3, 1), 3), ((1, 2, 2, 5), 1), ((0, 4, 4, 1), 2)]
)
def test_depth_and_space(dtype, shape, block):
    x = sample(shape, dtype)
    deep = into_depth(x, block)
    [y] = run("SPACE_TO_DEPTH", [(x, dtype)], [Tensor([1], dtype)], block_size=block)
    same(y, deep)
    [y] = run("DEPTH_TO_SPACE", [(deep, dtype)], [Tensor([1], dtype)], block_size=block)
    same(y, x)


@pytest.mark.parametrize("op", ["SPACE_TO_DEPTH", "DEPTH_TO_SPACE"])
@pytest.mark.parametrize("block", [0, -2, 3, 2**31 - 1])
def test_block_sizes_that_are_refused(op, block):
    with pytest.raises(RuntimeError, match="block"):
        run(op, [(np.zeros((1, 2, 2, 4), np.int8), "int8")], [Tensor([1], "int8")], block_size=block)


BATCHED = [
    ((2, 4, 6, 3), (2, 3), ((0, 0), (0, 0))),
    ((1, 3, 5, 2), (2, 2), ((1, 0), (2, 1))),
    ((1, 5, 2), (3,), ((1, 0),)),
    ((1, 2, 2, 1), (4, 3), ((1, 1), (0, 1))),
]


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(("shape", "block", "edges"), BATCHED)
@pytest.mark.parametrize("constant", [True, False])
def test_batches_and_space(dtype, shape, block, edges, constant):
    x = sample(shape, dtype)
    batches = into_batches(x, block, edges)
    [y] = run("SPACE_TO_BATCH_ND", [(x, dtype), given(block, True), given(edges, constant)], [Tensor([1], dtype)])
    same(y, batches)
    [y] = run("BATCH_TO_SPACE_ND", [(batches, dtype), given(block, constant), given(edges, True)], [Tensor([1], dtype)])
    same(y, x)


def test_padding_pixels_are_the_zero_point():
    x = Tensor([1, 1, 1, 1], "int8", scale=0.5, zero_point=-3)
    [y] = run(
        "SPACE_TO_BATCH_ND",
        [(np.full((1, 1, 1, 1), 9, np.int8), x), given([1, 2], True), given([[0, 0], [1, 0]], True)],
        [Tensor([1], "int8", scale=0.5, zero_point=-3)],
    )
    assert y.ravel().tolist() == [-3, 9]


def test_negative_paddings_crop():
    x = sample((1, 4, 4, 1), "int32")
    [y] = run(
        "SPACE_TO_BATCH_ND",
        [(x, "int32"), given([1, 1], True), given([[-1, 0], [0, -2]], True)],
        [Tensor([1], "int32")],
    )
    same(y, x[:, 1:, :2])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("op", "block", "edges"),
    [
        ("SPACE_TO_BATCH_ND", [0, 1], [[0, 0], [0, 0]]),
        ("SPACE_TO_BATCH_ND", [3, 1], [[0, 0], [0, 0]]),
        ("SPACE_TO_BATCH_ND", [-1, 1], [[0, 0], [0, 0]]),
        ("SPACE_TO_BATCH_ND", [1, 1], [[-9, 0], [0, 0]]),
        ("SPACE_TO_BATCH_ND", [2**30, 2**30], [[2**30 - 4, 0], [2**30 - 4, 0]]),
        ("BATCH_TO_SPACE_ND", [3, 1], [[0, 0], [0, 0]]),
        ("BATCH_TO_SPACE_ND", [2, 1], [[-1, 0], [0, 0]]),
        ("BATCH_TO_SPACE_ND", [2, 1], [[5, 4], [0, 0]]),
        ("BATCH_TO_SPACE_ND", [0, 1], [[0, 0], [0, 0]]),
    ],
)
def test_blocks_that_are_refused(op, block, edges, constant):
    with pytest.raises(RuntimeError, match=r"block_shape|crops|output of"):
        run(
            op,
            [(np.zeros((2, 4, 4, 1), np.int8), "int8"), given(block, constant), given(edges, constant)],
            [Tensor([1], "int8")],
        )
