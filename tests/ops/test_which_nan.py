"""Which of several NaN comes out of sums and products, as TensorFlow 2.21 gives them on x86-64 and on aarch64.

`nan(k)` tell themselves apart by their payloads, `payloads` reads them.
"""

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tests.harness import run_model
from tests.machine import AARCH64, delegated, of_x86_64
from tflm_cy.experimental import OpResolverType

OPTIMIZED, AUTO = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO


def nan(payload):
    return np.uint32(0x7FC00000 | payload).view(np.float32)


def payloads(values):
    bits = np.ascontiguousarray(values).view(np.uint32).ravel()
    assert np.isnan(values).all()
    return [int(b & 0x3FFFFF) for b in bits]


def ones(*shape, **at):
    """Ones, but for some values of the last axis: i3=nan(1)."""
    values = np.ones(shape, np.float32)
    for place, value in at.items():
        values[..., int(place[1:])] = value
    return values


def constants(*arrays):
    return [Tensor.constant(a) for a in arrays]


def run(op, inputs, output, feed, version=1, mode=OPTIMIZED, **options):
    model = Model.single(op, inputs, [Tensor(output, "float32")], version, **options)
    return run_model(model, feed, experimental_op_resolver_type=mode)[0]


def fully_connected(w, bias, x):
    inputs = [Tensor(x.shape, "float32"), *constants(w, bias)]
    return run("FULLY_CONNECTED", inputs, [len(x), len(w)], x, fused_activation_function="NONE")


@of_x86_64
@pytest.mark.parametrize(
    ("a", "b", "mode", "firsts"),
    [
        ([1, 4, 1, 1], [1, 3, 1], "BUILTIN_REF", [2] * 12),
        ([34, 1], [1], "BUILTIN_REF", [2] * 32 + [1] * 2),
        ([3, 33], [3, 1], "BUILTIN_REF", ([2] * 32 + [1]) * 3),
        ([1], [70], "BUILTIN_REF", [1] * 64 + [2] * 6),
        ([40], [40], "BUILTIN_REF", [1] * 40),
        ([2, 5, 3], [5, 1], "BUILTIN_WITHOUT_DEFAULT_DELEGATES", [1] * 30),
        ([2, 5, 34], [5, 1], "BUILTIN_WITHOUT_DEFAULT_DELEGATES", ([2] * 32 + [1] * 2) * 10),
    ],
)
def test_a_sum_of_a_run_and_a_value(a, b, mode, firsts):
    """The reference's, also where the optimized kernels' vector code takes no broadcast: the run's in the tail behind blocks of 32."""
    inputs = [Tensor(shape, "float32") for shape in (a, b)]
    model = Model.single("ADD", inputs, [Tensor(list(np.broadcast_shapes(a, b)), "float32")])
    feed = [np.full(shape, nan(k)) for k, shape in ((1, a), (2, b))]
    [y] = run_model(model, *feed, experimental_op_resolver_type=OpResolverType[mode])
    assert payloads(y) == firsts


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("depth", [3, 8, 9])
def test_a_product_and_its_bias(rows, depth):
    """On x86-64 the bias's in blocks of four outputs."""
    y = fully_connected(ones(6, depth, i2=nan(1)), np.full(6, nan(2)), ones(rows, depth))
    assert payloads(y) == ([1] * 6 if AARCH64 else [2] * 4 + [1] * 2) * rows


@pytest.mark.skipif(not AARCH64, reason="x86-64's order is Eigen's: tests/ops/test_special_values.py")
@pytest.mark.parametrize(("rows", "depth", "first"), [(1, 3, 1), (1, 4, 2), (1, 9, 2), (2, 4, 1), (5, 9, 1)])
@pytest.mark.parametrize("place", ["i0", "i2"])
def test_a_weight_and_its_value(rows, depth, first, place):
    """Where four sums take turns, the value's."""
    y = fully_connected(
        ones(6, depth, **{place: nan(1)}), np.zeros(6, np.float32), ones(rows, depth, **{place: nan(2)})
    )
    assert payloads(y) == [first] * 6 * rows


@pytest.mark.parametrize(("depth", "place", "first"), [(3, 2, 1), (4, 3, 2), (8, 0, 2), (9, 0, 2), (9, 8, 1)])
def test_a_recurrent_product_in_lanes(depth, place, first):
    """In whole fours the value's, behind them the weight's."""
    at = f"i{place}"
    x = ones(2, depth, **{at: nan(2)})
    state = Tensor([2, 6], "float32", variable=True)
    weights = constants(ones(6, depth, **{at: nan(1)}), ones(6, 6), np.zeros(6, np.float32))
    y = run("RNN", [Tensor(x.shape, "float32"), *weights, state], [2, 6], x, fused_activation_function="NONE")
    assert payloads(y) == [first] * 12
    features = constants(ones(6, depth, **{at: nan(1)}), ones(6, 1), np.zeros(6, np.float32))
    y = run("SVDF", [Tensor(x.shape, "float32"), *features, state], [2, 6], x, rank=1, fused_activation_function="NONE")
    assert payloads(y) == [first] * 12


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_recurrent_product_and_what_it_is_added_to(batches):
    """The product's; of several rows on aarch64 the other's."""
    cells, depth = 3, 5
    x = ones(batches, depth)
    states = [Tensor([batches, cells], "float32", variable=True) for _ in range(2)]
    w, r, b = ones(cells, depth), ones(cells, cells), np.zeros(cells, np.float32)
    gates = constants(*[w] * 4, r, r, ones(cells, cells, i1=nan(1)), r)
    biases = constants(b, b, np.full(cells, nan(2)), b)
    inputs = [Tensor(x.shape, "float32"), *gates, None, None, None, *biases, None, None, *states]
    y = run("LSTM", inputs, [batches, cells], x, fused_activation_function="TANH")
    assert payloads(y) == [2 if AARCH64 and batches > 1 else 1] * cells * batches


@pytest.mark.parametrize("channels", [1, 4, 7])
def test_a_hybrid_depthwise_product_and_its_bias(channels):
    """An image with an infinity: on x86-64 the whole fours have no NaN any more."""
    x = ones(1, 2, 2, channels)
    x[0, 0, 0, 0] = np.inf
    w = Tensor.constant(
        np.ones((1, 1, 1, channels), np.int8), scale=[0.5] * channels, zero_point=[0] * channels, axis=3
    )
    inputs = [Tensor(x.shape, "float32"), w, *constants(np.full(channels, nan(3)))]
    y = run("DEPTHWISE_CONV_2D", inputs, x.shape, x, 6, padding="VALID", stride_h=1, stride_w=1, depth_multiplier=1,
            fused_activation_function="NONE")  # fmt: skip
    if AARCH64:
        assert payloads(y) == [3] * y.size
    else:
        assert not np.isnan(y[..., : channels - channels % 4]).any()


@delegated
@pytest.mark.skipif(not AARCH64, reason="x86-64 has other sums")
@pytest.mark.parametrize(
    ("channels", "new_first"), [(1, [True]), (6, [False] * 4 + [True] * 2), (21, [True] * 16 + [False] * 4 + [True])]
)
def test_sums_over_separated_axes(channels, new_first):
    x = ones(3, 2, 1, channels)
    x[0, :, 0] = nan(1)
    x[2, :, 0] = nan(2)
    axes = Tensor.constant(np.int32([0, 2]))
    y = run("SUM", [Tensor(x.shape, "float32"), axes], [2, channels], x, mode=AUTO, keep_dims=False)
    assert payloads(y) == [2 if new else 1 for new in new_first] * 2


@delegated
@pytest.mark.parametrize(("size", "places", "x86_64"), [(8, (0, 4), 1), (23, (4, 16), 2), (37, (4, 32), 2)])
def test_a_row_of_softmax(size, places, x86_64):
    """On aarch64 that of the largest value."""
    x = ones(1, size, **{f"i{place}": nan(k + 1) for k, place in enumerate(places)})
    y = run("SOFTMAX", [Tensor(x.shape, "float32")], x.shape, x, mode=AUTO, beta=1.0)
    assert payloads(y) == [1 if AARCH64 else x86_64] * size


@pytest.mark.parametrize(("first", "second", "wanted_x86_64"), [(3, 4, 3), (0, 7, 7), (5, 1, 1), (6, 5, 6)])
@pytest.mark.skipif(AARCH64, reason="what x86-64 gives: aarch64 adds the lanes in another order")
def test_a_product_of_sparse_blocks(first, second, wanted_x86_64):
    """Sums in four lanes keep their first NaN; of the lanes' the last one's comes out."""
    sparsity = Sparsity([0, 1, 2], [("dense", 1), ("csr", [0, 2], [0, 1]), ("dense", 4)], block_map=[1])
    weights = Tensor.constant(np.ones(8, np.float32), shape=[1, 8], sparsity=sparsity)
    x = ones(1, 8, **{f"i{first}": nan(first), f"i{second}": nan(second)})
    inputs = [Tensor(x.shape, "float32"), weights, Tensor.constant(np.zeros(1, np.float32))]
    y = run("FULLY_CONNECTED", inputs, [1, 1], x, fused_activation_function="NONE")
    assert payloads(y) == [wanted_x86_64]
