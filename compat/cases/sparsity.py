"""DENSIFY: compressed constants of every layout (CSR in one or several dimensions, blocks) made dense again."""

import numpy as np

from ..builder import Model, Sparsity, Tensor
from . import cases


def compress_rows(dense):
    """A matrix in CSR: its stored values and how they lie."""
    rows = [np.flatnonzero(row) for row in dense]
    segments, indices = np.cumsum([0] + [len(r) for r in rows]), np.concatenate(rows).astype(np.int64)
    values = np.concatenate([row[at] for row, at in zip(dense, rows, strict=True)])
    return values, [("dense", dense.shape[0]), ("csr", segments, indices)]


def compress_blocks(dense, block):
    """A matrix in rows of blocks of `block` columns, each stored whole."""
    blocks = dense.reshape(dense.shape[0], -1, block)
    rows = [np.flatnonzero(row.any(1)) for row in blocks]
    segments, indices = np.cumsum([0] + [len(r) for r in rows]), np.concatenate(rows).astype(np.int64)
    values = np.concatenate([row[at].ravel() for row, at in zip(blocks, rows, strict=True)])
    return values, [("dense", dense.shape[0]), ("csr", segments, indices), ("dense", block)]


@cases("DENSIFY", dtypes=("float32", "float16", "int8"), variants=("rows", "blocks", "short indices", "image", "used"))
def densify(d):
    """The dense constant is the output; in the variant "used" it is (made float32 and) added to an input."""
    rows, columns, block = d.between(1, 7), 4 * d.between(1, 5), 4
    keep = d.rng.random((rows, columns // block)) < 0.5
    keep.flat[0] = True
    values = d.rng.integers(1, 100, (rows, columns)).astype(d.dtype)
    if d.variant == "blocks":
        dense = values * np.repeat(keep, block, 1)
        stored, dims = compress_blocks(dense, block)
        sparsity = Sparsity([0, 1, 2], dims, block_map=[1])
        shape = dense.shape
    elif d.variant == "image":  # [1, 1, rows, columns], the layout of pointwise filters
        dense = values * (d.rng.random(values.shape) < 0.4)
        dense.flat[0] = 1
        stored, dims = compress_rows(dense)
        sparsity = Sparsity([0, 1, 2, 3], [("dense", 1), ("dense", 1), *dims])
        shape = (1, 1, *dense.shape)
    else:
        dense = values * (d.rng.random(values.shape) < 0.4)
        dense.flat[0] = 1
        stored, dims = compress_rows(dense)
        width = "Uint8Vector" if d.variant == "short indices" else "Int32Vector"
        sparsity = Sparsity([0, 1], dims, index_type=width)
        shape = dense.shape
    compressed = Tensor.constant(stored.astype(d.dtype), shape=shape, sparsity=sparsity)
    y = Tensor(shape, d.dtype)
    if d.dtype == "int8":
        y.scale = compressed.scale = d.scale()
        y.zero_point = compressed.zero_point = 0
    if d.variant != "used":
        return d.case(Model.single("DENSIFY", [compressed], [y]))
    model = Model()
    main = model.subgraph("main")
    main.op("DENSIFY", [compressed], [y])
    if d.dtype == "float16":
        y = main.op("DEQUANTIZE", [y], [Tensor(shape, "float32")], 3)[0]
    x = d.tensor(shape, y.dtype)
    main.op("ADD", [x, y], [d.tensor(shape, y.dtype)], 2, pot_scale_int16=False)
    return d.case(model, lambda: [d.values(x)])
