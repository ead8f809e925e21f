"""UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM against double precision: every variant, states over invokes, refusals."""

import numpy as np
import pytest

from compat.builder import Sparsity, Tensor
from tests.machine import of_x86_64

from .recurrent import Lstm, float_constant, float_state, int8_constant
from .successive import REFUSED, constant, outputs, same

BATCH, TIME, INPUTS, CELLS = 3, 4, 10, 7
VARIANTS = [{}, {"coupled": True}, {"peephole": True}, {"norm": True}, {"projection": True, "outputs": 5},
            {"coupled": True, "peephole": True, "norm": True, "projection": True}]  # fmt: skip


def sequence(layer, weight, feeds, time_major=False, **options):
    shape = [TIME, BATCH, layer.inputs] if time_major else [BATCH, TIME, layer.inputs]
    tensors = layer.tensors(Tensor(shape, "float32"), float_state([BATCH, layer.outputs]), float_state([BATCH, layer.cells]),
                            weight, float_constant)  # fmt: skip
    y = Tensor([*shape[:2], layer.outputs], "float32")
    axes = (1, 0, 2) if time_major else (0, 1, 2)
    got = outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[np.ascontiguousarray(x.transpose(axes))] for x in feeds],
                  fused_activation_function="TANH", time_major=time_major, **options)  # fmt: skip
    return [y.transpose(axes) for y in got]


def random_feeds(seed):
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal((BATCH, TIME, INPUTS)) * 0.7).astype(np.float32) for _ in range(2)]


def real_outputs(layer, feeds):
    h, c = np.zeros((BATCH, layer.outputs)), np.zeros((BATCH, layer.cells))
    return [layer.run(x.astype(float), h, c) for x in feeds]


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(v) or "plain")
def test_floats(variant, time_major):
    layer, feeds = Lstm(1, INPUTS, CELLS, **variant), random_feeds(2)
    for got, want in zip(sequence(layer, float_constant, feeds, time_major), real_outputs(layer, feeds), strict=True):
        assert np.allclose(got, want, atol=2e-5)


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(v) or "plain")
def test_hybrid(variant, asymmetric):
    layer, feeds = Lstm(3, INPUTS, CELLS, **variant), random_feeds(4)
    got = sequence(layer, int8_constant, feeds, asymmetric_quantize_inputs=asymmetric)
    for y, want in zip(got, real_outputs(layer, feeds), strict=True):
        assert np.abs(y - want).max() < 0.08


@of_x86_64
def test_the_order_of_the_batches_does_not_reach_into_the_results():
    """One batch after another computes what a batch alone computes, bit by bit; on aarch64 rows of matrices are summed by their place."""
    layer, feeds = Lstm(5, INPUTS, CELLS), random_feeds(6)
    together = sequence(layer, float_constant, feeds)
    twisted = sequence(layer, float_constant, [x[::-1] for x in feeds])
    for a, b in zip(together, twisted, strict=True):
        same(np.ascontiguousarray(a), np.ascontiguousarray(b[::-1]))


def test_a_clipped_cell():
    layer, feeds = Lstm(7, INPUTS, CELLS), random_feeds(8)
    layer.clip = 0.2
    free = sequence(layer, float_constant, feeds)
    clipped = sequence(layer, float_constant, feeds, cell_clip=0.2)
    assert np.allclose(clipped[1], real_outputs(layer, feeds)[1], atol=2e-5)
    assert not np.allclose(free[1], clipped[1], atol=1e-3)


def test_one_step_is_the_lstm_operator():
    layer = Lstm(9, INPUTS, CELLS, peephole=True)
    feeds = [x[:, 0] for x in random_feeds(10)]
    tensors = layer.tensors(Tensor([BATCH, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                            float_constant, float_constant)  # fmt: skip
    got = outputs(
        "LSTM", tensors, [Tensor([BATCH, CELLS], "float32")], [[x] for x in feeds], fused_activation_function="TANH"
    )
    h, c = np.zeros((BATCH, CELLS)), np.zeros((BATCH, CELLS))
    for x, y in zip(feeds, got, strict=True):
        assert np.allclose(y, layer.run(x[:, None].astype(float), h, c)[:, 0], atol=2e-5)


def integer_layer(variant, cell_scale=2.0**-11):
    """int8 with an int16 cell: scales that hold the layer's values."""
    layer = Lstm(11, INPUTS, CELLS, **variant)
    layer.n = {g: np.abs(v) for g, v in layer.n.items()}
    x_scale, h_scale = 0.02, 0.01
    bias_scale = 0.02 * 0.015
    norm_scale = 2.0 / 32767

    def weight(values):
        return constant(np.clip(np.round(values / 0.015), -127, 127), "int8", scale=0.015)

    def bias(values):
        scale = norm_scale / 1024 if layer.n else bias_scale
        return constant(np.round(values / scale), "int32", scale=scale)

    tensors = layer.tensors(
        Tensor([BATCH, TIME, INPUTS], "int8", scale=x_scale, zero_point=5),
        Tensor([BATCH, layer.outputs], "int8", scale=h_scale, zero_point=-3, variable=True),
        Tensor([BATCH, CELLS], "int16", scale=cell_scale, variable=True),
        weight,
        bias,
        lambda values: constant(np.round(values / 1e-4), "int16", scale=1e-4),
        lambda values: constant(np.round(values / norm_scale), "int16", scale=norm_scale),
    )
    y = Tensor([BATCH, TIME, layer.outputs], "int8", scale=h_scale, zero_point=-3)
    hidden = Tensor([], "int8", scale=h_scale, zero_point=-3)
    scales = [Tensor([], "int16", scale=2.0**-10, zero_point=0) for _ in range(4)] + [hidden]
    return layer, tensors, y, scales


@pytest.mark.parametrize("variant", VARIANTS[:3] + VARIANTS[4:5], ids=lambda v: " ".join(v) or "plain")
def test_integers(variant):
    layer, tensors, y, scales = integer_layer(variant)
    feeds = [np.clip(np.round(x / 0.02) + 5, -128, 127).astype(np.int8) for x in random_feeds(12)]
    got = outputs(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[x] for x in feeds], 3, scales, fused_activation_function="TANH"
    )
    wanted = real_outputs(layer, [(x.astype(float) - 5) * 0.02 for x in feeds])
    for found, want in zip(got, wanted, strict=True):
        assert found.dtype == np.int8
        assert np.abs((found + 3.0) * 0.01 - want).max() < 0.05


def test_integers_with_layer_normalisation():
    layer, tensors, y, scales = integer_layer({"norm": True})
    feeds = [np.clip(np.round(x / 0.02) + 5, -128, 127).astype(np.int8) for x in random_feeds(13)]
    got = outputs(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[x] for x in feeds], 3, scales, fused_activation_function="TANH"
    )
    wanted = real_outputs(layer, [(x.astype(float) - 5) * 0.02 for x in feeds])
    assert np.abs((got[1] + 3.0) * 0.01 - wanted[1]).max() < 0.1


@pytest.mark.parametrize("scale", [0.0006, 0.0, float("inf"), float("nan"), 1e-6])
def test_a_cell_scale_that_is_no_power_of_two_leaves_zeros(scale):
    """No multiplier is set then."""
    _, tensors, y, scales = integer_layer({}, cell_scale=scale)
    x = np.full([BATCH, TIME, INPUTS], 100, np.int8)
    got = outputs(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        tensors,
        [y],
        [[x]],
        3,
        scales,
        fused_activation_function="TANH",
        cell_clip=0.5,
    )
    assert not got[0].any()


def test_a_cell_of_too_many_integer_bits_shows_the_input_gate():
    """There is no tanh of it: the output is the product of the input's and the output's gate, never negative."""
    _, tensors, y, scales = integer_layer({}, cell_scale=1.0)
    rng = np.random.default_rng(16)
    x = rng.integers(-128, 128, [BATCH, TIME, INPUTS]).astype(np.int8)
    got = outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[x]], 3, scales, fused_activation_function="TANH")
    assert got[0].min() >= -3 and got[0].max() > 40


@pytest.mark.parametrize("missing", range(21))
def test_weights_that_must_be_there(missing):
    """Without one of its 20 inputs a layer is refused, but for those that it may lack."""
    layer = Lstm(14, INPUTS, CELLS)
    tensors = layer.tensors(Tensor([BATCH, TIME, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                            float_constant, float_constant)[:20]  # fmt: skip
    if missing == 20:
        tensors = tensors[:19]
    elif tensors[missing] is None:
        return
    else:
        tensors[missing] = None
    with pytest.raises(REFUSED):
        outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [Tensor([BATCH, TIME, CELLS], "float32")], [[]],
                fused_activation_function="TANH")  # fmt: skip


@pytest.mark.parametrize("which", [1, 3, 4, 6, 8, 12, 15, 18, 19])
def test_weights_that_do_not_fit_are_refused(which):
    layer = Lstm(15, INPUTS, CELLS)
    tensors = layer.tensors(Tensor([BATCH, TIME, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                            float_constant, float_constant)  # fmt: skip
    wrong = [*tensors[which].shape[:-1], tensors[which].shape[-1] + 1]
    tensors[which] = float_state(wrong) if which in (18, 19) else float_constant(np.zeros(wrong))
    with pytest.raises(REFUSED):
        outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [Tensor([BATCH, TIME, CELLS], "float32")], [[]],
                fused_activation_function="TANH")  # fmt: skip


# ---- diagonal recurrent weights, no activation


@pytest.mark.parametrize("weight", [float_constant, int8_constant], ids=["float32", "hybrid"])
def test_diagonal_recurrent_weights(weight):
    """Vectors, float32 also beside int8 weights: r * h instead of R h."""
    layer, feeds = Lstm(16, INPUTS, CELLS), random_feeds(17)
    layer.r = {g: np.diag(np.diag(r)) for g, r in layer.r.items()}
    tensors = layer.tensors(Tensor([BATCH, TIME, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                            weight, float_constant)  # fmt: skip
    tensors[5:9] = [float_constant(np.diag(layer.r[g])) for g in "ifco"]
    y = Tensor([BATCH, TIME, CELLS], "float32")
    got = outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[x] for x in feeds], fused_activation_function="TANH")
    for found, want in zip(got, real_outputs(layer, feeds), strict=True):
        assert np.abs(found - want).max() < (2e-5 if weight is float_constant else 0.05)


def test_diagonals_that_do_not_fit_are_refused():
    layer = Lstm(18, INPUTS, CELLS)
    for wrong in (float_constant(np.zeros(CELLS + 1)), int8_constant(np.ones(CELLS))):
        tensors = layer.tensors(Tensor([BATCH, TIME, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                                float_constant, float_constant)  # fmt: skip
        tensors[6] = wrong
        with pytest.raises(REFUSED):
            outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [Tensor([BATCH, TIME, CELLS], "float32")], [[]],
                    fused_activation_function="TANH")  # fmt: skip


def test_without_an_activation():
    """The hybrid layer: g is its sum as it is, and the output is o * g; the cell does not reach it."""
    layer, x = Lstm(19, INPUTS, CELLS), random_feeds(20)[0][:, :1]
    want = []
    for values in x[:, 0].astype(float):
        o = 1 / (1 + np.exp(-layer.gate("o", values, np.zeros(CELLS), np.zeros(CELLS))))
        want.append(o * layer.gate("c", values, np.zeros(CELLS), np.zeros(CELLS)))
    for weight, error in ((int8_constant, 0.08), (float_constant, 2e-5)):
        tensors = layer.tensors(Tensor([BATCH, 1, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                                weight, float_constant)  # fmt: skip
        y = Tensor([BATCH, 1, CELLS], "float32")
        [got] = outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[x]], fused_activation_function="NONE")
        assert np.abs(got[:, 0] - want).max() < error


def test_without_an_activation_zeros_leave_the_bias_of_floats():
    """One product only: it lies in the other buffer, and the gate's memory holds the bias."""
    layer = Lstm(21, INPUTS, CELLS)
    tensors = layer.tensors(Tensor([1, 2, INPUTS], "float32"), float_state([1, CELLS]), float_state([1, CELLS]),
                            float_constant, float_constant)  # fmt: skip
    y = Tensor([1, 2, CELLS], "float32")
    zeros = np.zeros((1, 2, INPUTS), np.float32)
    [got] = outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[zeros]], fused_activation_function="NONE")
    h = np.zeros(CELLS)
    for t in range(2):
        h = 1 / (1 + np.exp(-layer.gate("o", zeros[0, t], h, h))) * layer.b["c"]
        assert np.allclose(got[0, t], h, atol=2e-5)


def test_an_unknown_activation_is_none():
    layer, x = Lstm(22, INPUTS, CELLS), random_feeds(23)[0]
    tensors = layer.tensors(Tensor([BATCH, TIME, INPUTS], "float32"), float_state([BATCH, CELLS]), float_state([BATCH, CELLS]),
                            float_constant, float_constant)  # fmt: skip
    y = Tensor([BATCH, TIME, CELLS], "float32")
    [a], [b] = (
        outputs("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [y], [[x]], fused_activation_function=code)
        for code in ("NONE", 77)
    )
    same(a, b)


def sparse_rows(dense):
    """In blocks of 16 columns, those with zeros alone left out."""
    blocks = dense.reshape(len(dense), -1, 16)
    rows = [np.flatnonzero(row.any(1)) for row in blocks]
    segments = np.cumsum([0] + [len(row) for row in rows])
    dims = [("dense", len(dense)), ("csr", segments, np.concatenate(rows)), ("dense", 16)]
    stored = np.concatenate([block[row].ravel() for block, row in zip(blocks, rows, strict=True)])
    return stored, Sparsity([0, 1, 2], dims, block_map=[1])


def sparse_constant(values):
    dense = int8_constant(values)
    stored, sparsity = sparse_rows(np.asarray(dense.data).view(np.int8).reshape(values.shape))
    return Tensor.constant(stored, shape=values.shape, sparsity=sparsity, scale=dense.scale, zero_point=0)


def hybrid_step(layer, feeds, how, op="LSTM", **options):
    """`how` makes the input's and the output's weights; the others are dense."""
    shape = [BATCH, layer.inputs] if op == "LSTM" else [BATCH, 1, layer.inputs]
    tensors = layer.tensors(Tensor(shape, "float32"), float_state([BATCH, layer.outputs]), float_state([BATCH, layer.cells]),
                            int8_constant, float_constant)  # fmt: skip
    for i, gate in enumerate("ifco"):
        tensors[1 + i] = how(layer.w[gate])
    tensors[16] = how(layer.projection)
    y = Tensor([*shape[:-1], layer.outputs], "float32")
    return outputs(op, tensors, [y], [[x] for x in feeds], 2, fused_activation_function="TANH", **options)


def sparse_layer():
    layer = Lstm(21, 32, 16, outputs=16, projection=True)
    for w in layer.w.values():
        w[::2, :16] = 0
        w[1, 16:] = 0
    return layer


def test_sparse_weights_are_those_made_dense():
    layer = sparse_layer()
    rng = np.random.default_rng(22)
    feeds = [rng.standard_normal((BATCH, 32)).astype(np.float32) for _ in range(3)]
    for a, b in zip(hybrid_step(layer, feeds, sparse_constant), hybrid_step(layer, feeds, int8_constant), strict=True):
        same(a, b)


def test_sparse_recurrent_weights_have_the_scale_of_the_input():
    """The quirk: an input twice as large counts the state twice."""
    layer = sparse_layer()
    for w in layer.w.values():
        w[:] = 0
        w[0, 0] = 1e-30  # a block that is stored, so that the weights are sparse, and counts for nothing
    feeds = [np.full((BATCH, 32), v, np.float32) for v in (1, 1)], [np.full((BATCH, 32), v, np.float32) for v in (1, 2)]
    dense = [hybrid_step(layer, x, int8_constant) for x in feeds]
    same(dense[0][1], dense[1][1])
    found = []
    for x in feeds:
        tensors = layer.tensors(Tensor([BATCH, 32], "float32"), float_state([BATCH, 16]), float_state([BATCH, 16]),
                                sparse_constant, float_constant)  # fmt: skip
        y = Tensor([BATCH, 16], "float32")
        found.append(outputs("LSTM", tensors, [y], [[v] for v in x], 2, fused_activation_function="TANH"))
    same(found[0][0], found[1][0])
    assert np.abs(found[0][1] - found[1][1]).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"asymmetric_quantize_inputs": True}, "dense beside sparse"),
        ({"op": "UNIDIRECTIONAL_SEQUENCE_LSTM"}, "is a sparse constant"),
    ],
)
def test_sparse_weights_that_are_refused(options, reason):
    with pytest.raises(REFUSED, match=reason):
        hybrid_step(sparse_layer(), [np.ones((BATCH, 1, 32), np.float32)], sparse_constant, **options)
