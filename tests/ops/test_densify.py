"""DENSIFY."""

import numpy as np
import pytest

from compat.builder import Sparsity, Tensor

from .one_operator import run, same

DENSE = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0, 3]])


def densify(values, shape, sparsity):
    return run("DENSIFY", [Tensor.constant(values, shape=shape, sparsity=sparsity)], [Tensor([1], values.dtype)])[0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("width", ["Int32Vector", "Uint16Vector", "Uint8Vector"])
def test_rows(dtype, width):
    rows = Sparsity([0, 1], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, 3])], index_type=width)
    same(densify(np.array([1, 2, 3], dtype), [3, 4], rows), DENSE.astype(dtype))


def test_columns_first():
    columns = Sparsity([1, 0], [("dense", 4), ("csr", [0, 1, 2, 2, 3], [2, 0, 2])])
    same(densify(np.array([2, 1, 3], np.int8), [3, 4], columns), DENSE.astype(np.int8))


def test_both_levels_sparse():
    both = Sparsity([0, 1], [("csr", [0, 2], [0, 2]), ("csr", [0, 1, 3], [1, 0, 3])])
    same(densify(np.array([1, 2, 3], np.float32), [3, 4], both), DENSE.astype(np.float32))


def test_blocks():
    dense = np.array([[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 5, 6], [0, 0, 7, 8]], np.float32)
    blocks = Sparsity(
        [0, 1, 2, 3], [("dense", 2), ("csr", [0, 1, 2], [0, 1]), ("dense", 2), ("dense", 2)], block_map=[0, 1]
    )
    same(densify(np.arange(1, 9, dtype=np.float32), [4, 4], blocks), dense)


@pytest.mark.parametrize(
    ("order", "dims", "block_map"),
    [
        ([0, 1], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, 4])], None),
        ([0, 1], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, -1])], None),
        ([0, 1], [("dense", 3), ("csr", [0, 1, 1, 9], [1, 0, 3])], None),
        ([0, 1], [("dense", 3), ("csr", [-2, 1, 1, 3], [1, 0, 3])], None),
        ([0, 1], [("dense", 3), ("csr", [0, 2, 2, 4], [1, 2, 0, 3])], None),
        ([0, 1], [("dense", 1000000), ("csr", [0, 1, 1, 3], [1, 0, 3])], None),
        ([0, 0], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, 3])], None),
        ([0, 7], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, 3])], None),
        ([0], [("dense", 3)], None),
        ([0, 1, 2], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, 3]), ("dense", 3)], [1]),
        ([0, 1, 2], [("dense", 3), ("csr", [0, 1, 1, 3], [1, 0, 3]), ("dense", 2)], [5]),
    ],
)
def test_hostile_sparsity_is_refused(order, dims, block_map):
    with pytest.raises((RuntimeError, ValueError), match=r"sparsity|its 4 elements need 4 bytes"):
        densify(np.array([1, 2, 3], np.int8), [3, 4], Sparsity(order, dims, block_map))


def test_a_dense_constant_is_refused():
    with pytest.raises(RuntimeError, match="sparsity"):
        run("DENSIFY", [np.zeros((2, 2), np.float32)], [Tensor([1], "float32")])
