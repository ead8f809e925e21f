"""DENSIFY and sparse weights of FULLY_CONNECTED and LSTM: compressed constants of every layout (CSR in some dimensions, blocks)."""

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
    """A matrix in rows of blocks of `block` columns, each stored whole; columns behind the last whole block are left out."""
    blocks = dense[:, : dense.shape[1] // block * block].reshape(dense.shape[0], -1, block)
    rows = [np.flatnonzero(row.any(1)) for row in blocks]
    segments, indices = np.cumsum([0] + [len(r) for r in rows]), np.concatenate(rows).astype(np.int64)
    values = np.concatenate([row[at].ravel() for row, at in zip(blocks, rows, strict=True)])
    return values, [("dense", dense.shape[0]), ("csr", segments, indices), ("dense", block)]


def _blocks_kept(d, rows, columns, block):
    """Which values of a matrix lie in blocks that are stored: at least one where there is any."""
    keep = d.rng.random((rows, columns // block)) < 0.5
    keep.flat[:1] = True
    return np.pad(np.repeat(keep, block, 1), [[0, 0], [0, columns % block]])


@cases(
    "DENSIFY",
    dtypes=("float32", "float16", "int8"),
    variants=("rows", "blocks", "ragged blocks", "narrow blocks", "short indices", "image", "used"),
)
def densify(d):
    """The dense constant is the output; in the variant "used" it is (made float32 and) added to an input."""
    rows, columns, block = d.between(1, 7), 4 * d.between(1, 5), 4
    if d.variant == "ragged blocks":
        columns += d.between(-3, 3)
    if d.variant == "narrow blocks":
        columns = d.between(1, 3)
    keep = _blocks_kept(d, rows, columns, block)
    values = d.rng.integers(1, 100, (rows, columns)).astype(d.dtype)
    if d.variant.endswith("blocks"):
        dense = values * keep
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
        return d.case(
            Model.single("DENSIFY", [compressed], [y]), refused=None
        )  # the delegate cannot invoke constants alone
    model = Model()
    main = model.subgraph("main")
    main.op("DENSIFY", [compressed], [y])
    if d.dtype == "float16":
        y = main.op("DEQUANTIZE", [y], [Tensor(shape, "float32")], 3)[0]
    x = d.tensor(shape, y.dtype)
    main.op("ADD", [x, y], [d.tensor(shape, y.dtype)], 2, pot_scale_int16=False)
    return d.case(model, lambda: [d.values(x)])


@cases("FULLY_CONNECTED", dtypes=("int8", "float32"), variants=("sparse blocks", "sparse per channel", "sparse rows"))
@cases("FULLY_CONNECTED", dtypes=("int8", "float32", "hybrid_i8"), variants=("sparse ragged blocks", "sparse narrow"))
@cases("FULLY_CONNECTED", dtypes=("hybrid_i8",), variants=("sparse blocks", "sparse per channel", "sparse asymmetric"))
@cases("FULLY_CONNECTED", dtypes=("hybrid_i8",), variants=("sparse asymmetric per channel", "sparse zero rows"))
@cases("FULLY_CONNECTED", dtypes=("hybrid_i8",), variants=("special sparse", "special sparse asymmetric"))
def sparse_weights(d):
    """int8: blocks of 16 columns; float32: blocks of 4 or single values. Other layouts are refused."""
    block = 4 if d.dtype == "float32" else 16
    rows, columns, batch = d.between(1, 9), block * d.between(1, 4), d.between(1, 4)
    if "ragged" in d.variant:
        columns += d.between(1 - block, block - 1)
    if d.variant == "sparse narrow":  # fewer columns than a block
        columns = d.between(1, block - 1)
    dense = d.normal([rows, columns]) if d.dtype == "float32" else d.integers("int8", [rows, columns])
    if d.variant == "sparse rows":
        dense = dense * (d.rng.random(dense.shape) < 0.4)
        dense.flat[0] = 1
        stored, dims = compress_rows(dense)
        sparsity = Sparsity([0, 1], dims)
    else:
        kept = (dense * _blocks_kept(d, rows, columns, block)).astype(dense.dtype)
        stored, dims = compress_blocks(kept, block)
        sparsity = Sparsity([0, 1, 2], dims, block_map=[1])
    w = Tensor.constant(stored.astype(dense.dtype), shape=[rows, columns], sparsity=sparsity)
    kind = "int8" if d.dtype == "int8" else "float32"
    x, y = d.tensor([batch, columns], kind), d.tensor([batch, rows], kind)
    bias = Tensor.constant(d.normal([rows]))
    if d.dtype != "float32":
        n = rows if d.variant.endswith("per channel") else 1
        w.scale, w.zero_point, w.axis = np.array([d.scale() for _ in range(n)], np.float32), 0, 0
    if d.dtype == "int8":
        y.scale = np.float32(y.scale * 8)
        bias = Tensor.constant(d.integers("int32", [rows], -999, 999), scale=w.scale * x.scale, zero_point=0)
    inputs = [x, w, bias] if d.flag(0.8) else [x, w]
    options = {"fused_activation_function": d.activation(), "asymmetric_quantize_inputs": "asymmetric" in d.variant}
    refused = d.dtype == "int8" and d.variant == "sparse rows"

    def feed():
        values = d.values(x)
        if d.variant == "sparse zero rows":  # rows of zeros, which the threads' parts decide about
            values[d.rng.random(batch) < 0.6] = 0
        return [values]

    return d.case(Model.single(d.op, inputs, [y], 8, **options), feed, refused=refused)


_LSTM = (
    "sparse",
    "sparse cifg",
    "sparse peephole",
    "sparse layer norm",
    "sparse zero input",
    "sparse some dense",
    "sparse ragged",
)


@cases(
    "LSTM", dtypes=("hybrid_i8",), variants=(*_LSTM, "sparse asymmetric", "sparse clipped", "sparse without projection")
)
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybrid_i8",), variants=("sparse",))
@cases("LSTM", dtypes=("hybrid_i8",), variants=("sparse wrong block", "sparse other gates"))
def sparse_lstm(d):
    """One step, whose matrices hold blocks of 16 columns; TensorFlow fails without a projection."""
    batch, depth, units = d.between(1, 3), 16 * d.between(1, 2), 16 * d.between(1, 2)
    projected = d.variant != "sparse without projection"
    outputs = 16 * d.between(1, 2) if projected else units
    if d.variant == "sparse ragged":
        depth, units, outputs = (n + d.between(0, 15) for n in (depth, units, outputs))
    leading = [batch] if d.op == "LSTM" else [batch, d.between(1, 3)]
    x, y = Tensor([*leading, depth], "float32"), Tensor([*leading, outputs], "float32")

    def matrix(name, rows, columns):
        dense = d.integers("int8", [rows, columns])
        scale = {"scale": d.scale(0.001, 0.01), "zero_point": 0}
        some = d.variant == "sparse some dense" and name != "io" and d.flag()
        if some or (d.variant == "sparse other gates" and name == "io"):
            return Tensor.constant(dense, **scale)
        block = 8 if d.variant == "sparse wrong block" else 16
        stored, dims = compress_blocks((dense * _blocks_kept(d, rows, columns, block)).astype(np.int8), block)
        return Tensor.constant(stored, shape=dense.shape, sparsity=Sparsity([0, 1, 2], dims, block_map=[1]), **scale)

    gates = "fco" if "cifg" in d.variant else "ifco"
    inputs = [matrix("i" + g, units, depth) if g in gates else None for g in "ifco"]
    recurrent = [matrix("r" + g, units, outputs) if g in gates else None for g in "ifco"]
    peepholes, norms = [None] * 3, [None] * 4
    if "peephole" in d.variant:
        peepholes = [
            Tensor.constant(d.integers("int8", [units]), scale=d.scale(0.001, 0.01), zero_point=0) for _ in "ifo"
        ]
    if "layer norm" in d.variant:
        norms = [Tensor.constant(d.normal([units], 0.3) + np.float32(1)) for _ in "ifco"]
    biases = [Tensor.constant(d.normal([units], 0.4)) if g in gates else None for g in "ifco"]
    projection = [matrix("p", outputs, units), Tensor.constant(d.normal([outputs], 0.4))] if projected else [None, None]
    state, cells = (Tensor([batch, n], "float32", variable=True) for n in (outputs, units))
    tensors = [x, *inputs, *recurrent, *peepholes, *biases, *projection, state, cells, *norms]
    options = {
        "fused_activation_function": d.choice("TANH", "TANH", "RELU"),
        "cell_clip": 0.5 if d.variant == "sparse clipped" else 0.0,
        "proj_clip": 0.7 if d.variant == "sparse clipped" else 0.0,
        "asymmetric_quantize_inputs": d.variant == "sparse asymmetric",
    }
    zeros = 0.5 if d.variant == "sparse zero input" else 0

    def feed():
        return [d.normal(x.shape, 0.7) * np.float32(d.rng.random() >= zeros)]

    wrong = d.op != "LSTM" or d.variant in ("sparse wrong block", "sparse other gates")
    return d.case(Model.single(d.op, tensors, [y], 2, **options), feed, refused=None if wrong else False)
