"""Which value, and which NaN, comes out where NaN and infinities go in: written out as TensorFlow 2.21 gives them."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import run_model
from tests.machine import AARCH64, delegated, of_x86_64
from tflm_cy.experimental import OpResolverType

REFERENCE, OPTIMIZED = OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
NAN, INF = np.nan, np.inf


def constant(values, dtype=np.float32, **fields):
    return Tensor.constant(np.array(values, dtype), **fields)


def run(model, *feeds, mode=REFERENCE):
    return run_model(model, *feeds, experimental_op_resolver_type=mode)


def nans(*shape, first=1):
    """NaN that tell themselves apart by their payloads: first, first + 1, ..."""
    count = int(np.prod(shape))
    return (np.arange(first, first + count, dtype=np.uint32) | 0x7FC00000).view(np.float32).reshape(shape)


def payloads(values):
    bits = np.ascontiguousarray(values).view(np.uint32).ravel()
    assert np.isnan(values).all() and (bits & 0x400000).all()  # quiet
    return (bits & 0x3FFFFF).tolist()


@pytest.mark.parametrize(
    ("op", "row", "index"),
    [
        ("ARG_MAX", [NAN, 0.5, -1, 0.69], 2147483647),
        ("ARG_MAX", [0.05, 0.5, -1, NAN], 1),
        ("ARG_MAX", [NAN, 2, 1], 0),
        ("ARG_MIN", [NAN, 0.5, -1, 0.69], 2147483647),
        ("ARG_MIN", [0.05, 0.5, -1, NAN], 2),
        ("ARG_MAX", [1, 2, 3, 4, 5, NAN, NAN, NAN], 4),
    ],
)
def test_arg_of_rows_in_four_lanes(op, row, index):
    """On aarch64 a NaN in a row of lanes leaves no index."""
    index = 2147483647 if AARCH64 and len(row) >= 4 else index
    axis = constant(1, np.int32)
    model = Model.single(op, [Tensor([1, len(row)], "float32"), axis], [Tensor([1], "int32")], 2, output_type="INT32")
    assert run(model, np.float32([row]))[0].tolist() == [index]


@pytest.mark.skipif(not AARCH64, reason="what aarch64 gives; x86-64 takes its NaN in another order")
@pytest.mark.parametrize(
    ("op", "shapes", "mode", "options", "want"),
    [
        ("SOFTMAX", [[1, 8]], OPTIMIZED, {"beta": 1.0}, [5] * 8),
        ("SOFTMAX", [[1, 7]], OPTIMIZED, {"beta": 1.0}, [1] * 7),
        (
            "LOCAL_RESPONSE_NORMALIZATION",
            [[1, 1, 1, 3]],
            REFERENCE,
            {"radius": 2, "alpha": 1.0, "beta": 1.0},
            [1, 2, 3],
        ),
        (
            "LOCAL_RESPONSE_NORMALIZATION",
            [[1, 1, 1, 5]],
            OPTIMIZED,
            {"radius": 2, "alpha": 1.0, "beta": 0.75},
            [1, 2, 3, 4, 1],
        ),
        ("MUL", [[7], [1]], OPTIMIZED, {}, [1, 2, 3, 4, 8, 8, 8]),
        ("MUL", [[1], [7]], OPTIMIZED, {}, [2, 3, 4, 5, 1, 1, 1]),
        ("ADD", [[2], [2]], OPTIMIZED, {}, [1, 2]),
    ],
)
def test_which_nan_stays_on_aarch64(op, shapes, mode, options, want):
    """Of sums in two accumulators the second's; of a value and its factor the value's, of a value and one for all in whole vectors only."""
    inputs = [Tensor(shape, "float32") for shape in shapes]
    output = Tensor(max(shapes, key=np.prod), "float32")
    starts = np.cumsum([1] + [np.prod(shape) for shape in shapes])
    feeds = [nans(*shape, first=start) for shape, start in zip(shapes, starts, strict=False)]
    assert payloads(run(Model.single(op, inputs, [output], **options), *feeds, mode=mode)[0]) == want


@of_x86_64
@delegated
def test_the_range_of_a_row_is_taken_in_lanes(monkeypatch):
    """Behind other values a NaN leaves no range, in front of them it is forgotten."""
    monkeypatch.setenv("TFLM_CY_XNNPACK", "avx2")
    w = constant(np.eye(8), np.int8, scale=[1.0] * 8, zero_point=0)
    inputs = [Tensor([1, 8], "float32"), w, constant(np.zeros(8))]
    model = Model.single("FULLY_CONNECTED", inputs, [Tensor([1, 8], "float32")], 11)
    front = run(model, np.float32([[NAN, 1, 2, 3, 4, 5, 6, 7]]), mode=OpResolverType.AUTO)[0]
    assert front.view(np.uint32)[0, :3].tolist() == [0x40E00001, 0x3F7CFCFE, 0x40004041]
    behind = run(model, np.float32([[1, 2, 3, 4, 5, 6, 7, NAN]]), mode=OpResolverType.AUTO)[0]
    assert behind.tolist() == [[-INF] * 8]


@pytest.mark.parametrize(("activation", "high"), [("NONE", 3.4028234663852886e38), ("RELU6", 6), ("RELU_N1_TO_1", 1)])
def test_conv_3d_clamps_nan_to_the_upper_limit(activation, high):
    """On aarch64 NaN stays."""
    options = {f"{name}_{axis}": 1 for name in ("stride", "dilation") for axis in "dhw" if name == "stride"}
    options |= {f"dilation_{axis}_factor": 1 for axis in "dhw"}
    x, w = Tensor([1, 1, 1, 1, 1], "float32"), constant(np.ones([1, 1, 1, 1, 2]))
    model = Model.single(
        "CONV_3D",
        [x, w],
        [Tensor([1, 1, 1, 1, 2], "float32")],
        padding="VALID",
        fused_activation_function=activation,
        **options,
    )
    feed = np.full([1, 1, 1, 1, 1], NAN, np.float32)
    got = run(model, feed, mode=OPTIMIZED)[0].ravel()
    assert np.isnan(got).all() if AARCH64 else got.tolist() == [high, high]
    assert np.isnan(run(model, feed)[0]).all()


def hybrid_row(row):
    w = constant(np.ones([3, len(row)]), np.int8, scale=1.0, zero_point=0)
    model = Model.single(
        "FULLY_CONNECTED",
        [Tensor([1, len(row)], "float32"), w, constant([0.5, 0.25, 2])],
        [Tensor([1, 3], "float32")],
        9,
    )
    return run(model, np.float32([row]))[0][0].tolist()


def test_in_blocks_of_four_nan_counts_as_zero():
    """Not on aarch64."""
    for row in ([NAN, 0, 0, 0], [NAN, 0, 0, 0, 0]):
        assert np.isnan(hybrid_row(row)).all() if AARCH64 else hybrid_row(row) == [0.5, 0.25, 2]
    assert np.isnan(hybrid_row([NAN, 0, 0])).all()


def test_sums_keep_the_first_nan():
    for axes, kept in (([0], [1, 2, 3]), ([1], [1, 4, 7, 10])):
        for op in ("SUM", "MEAN", "REDUCE_PROD"):
            y = Tensor([3 if axes == [0] else 4], "float32")
            model = Model.single(op, [Tensor([4, 3], "float32"), constant(axes, np.int32)], [y], 2, keep_dims=False)
            assert payloads(run(model, nans(4, 3))[0]) == kept
    for n in (3, 9):
        model = Model.single("ADD_N", [Tensor([n], "float32") for _ in range(3)], [Tensor([n], "float32")])
        assert payloads(run(model, *(nans(n, first=1 + 100 * i) for i in range(3)))[0]) == list(range(1, n + 1))


def test_added_rows_keep_the_last_nan():
    indices = constant([[0], [0], [0]], np.int32)
    model = Model.single(
        "SCATTER_ND", [indices, Tensor([3, 5], "float32"), constant([1, 5], np.int32)], [Tensor([1, 5], "float32")]
    )
    assert payloads(run(model, nans(3, 5))[0]) == [11, 12, 13, 14, 15]
    model = Model.single(
        "SEGMENT_SUM", [Tensor([3, 5], "float32"), constant([0, 0, 0], np.int32)], [Tensor([1, 5], "float32")]
    )
    assert payloads(run(model, nans(3, 5), mode=OPTIMIZED)[0]) == [11, 12, 13, 14, 15]


@of_x86_64
@pytest.mark.parametrize(
    ("op", "mode", "a", "b", "second"),
    [
        ("ADD", REFERENCE, [3], [3], False),
        ("ADD", REFERENCE, [1], [5], True),
        ("ADD", REFERENCE, [5], [1], False),
        ("ADD", OPTIMIZED, [1], [5], False),
        ("ADD", OPTIMIZED, [5], [1], True),
        ("ADD", OPTIMIZED, [3, 5], [5], True),
        ("MUL", REFERENCE, [5], [1], False),
        ("MUL", OPTIMIZED, [5], [1], True),
    ],
)
def test_which_operand_of_a_pair_stands_first(op, mode, a, b, second):
    shape = list(np.broadcast_shapes(tuple(a), tuple(b)))
    model = Model.single(op, [Tensor(a, "float32"), Tensor(b, "float32")], [Tensor(shape, "float32")], 2)
    got = payloads(run(model, nans(*a), nans(*b, first=101), mode=mode)[0])
    assert all((value > 100) == second for value in got)


@pytest.mark.parametrize("op", ["STABLEHLO_ADD", "STABLEHLO_MULTIPLY"])
def test_halves_keep_a_nans_payload(op):
    """But for the last of it on aarch64."""
    model = Model.single(op, [Tensor([2], "float16"), Tensor([2], "float16")], [Tensor([2], "float16")])
    x = np.array([0x7E12, 0xFD21], np.uint16).view(np.float16)
    assert run(model, x, np.float16([1, 1]))[0].view(np.uint16).tolist() == (
        [0x7E00, 0xFE00] if AARCH64 else [0x7E12, 0xFF21]
    )


def test_the_largest_among_nan_are_those_of_the_librarys_heap():
    row = np.float32([[NAN, 3, 1, NAN, 2, 5, NAN, 4]])
    model = Model.single(
        "TOPK_V2",
        [Tensor([1, 8], "float32"), constant(3, np.int32)],
        [Tensor([1, 3], "float32"), Tensor([1, 3], "int32")],
        2,
    )
    assert run(model, row)[1].tolist() == [[0, 5, 7]]


@pytest.mark.parametrize("dims", [[3], [1, 3]])
@pytest.mark.parametrize("op", ["STABLEHLO_ADD", "STABLEHLO_MULTIPLY"])
def test_a_loop_over_several_dimensions_takes_the_second_nan(op, dims):
    """On aarch64 the first, too."""
    model = Model.single(op, [Tensor(dims, "float32"), Tensor(dims, "float32")], [Tensor(dims, "float32")])
    got = run(model, nans(*dims), nans(*dims, first=11))[0]
    assert payloads(got) == ([1, 2, 3] if AARCH64 or len(dims) == 1 else [11, 12, 13])


@pytest.mark.parametrize(("mode", "first"), [(REFERENCE, 101), (OPTIMIZED, 1)])
def test_prelu_of_two_nan(mode, first):
    x = Tensor([1, 21], "float32")
    model = Model.single("PRELU", [x, constant(nans(21, first=101))], [Tensor([1, 21], "float32")])
    assert payloads(run(model, nans(1, 21), mode=mode)[0]) == list(range(first, first + 21))


@pytest.mark.parametrize(("columns", "alphas"), [(8, 0), (16, 16), (21, 16)])
def test_prelu_of_two_nan_by_one_alpha(columns, alphas):
    """The optimized kernel's vectors of 16 multiply alpha by x, the rest x by alpha."""
    shape = [2, columns]
    x = Tensor(shape, "float32")
    model = Model.single("PRELU", [x, constant(nans(2, 1, first=101))], [Tensor(shape, "float32")])
    got = payloads(run(model, nans(*shape), mode=OPTIMIZED)[0])
    whole = list(range(1, 2 * columns + 1))
    whole[:alphas] = [101] * alphas
    whole[columns : columns + alphas] = [102] * alphas
    assert got == whole


@pytest.mark.parametrize(
    ("channels", "multiplier", "first"),
    [(5, 1, 101), (1, 8, 101), (1, 4, 1), (2, 8, 1), (3, 4, 101), (4, 2, 1), (3, 2, 101)],
)
def test_a_depthwise_product_of_two_nan(channels, multiplier, first):
    """On aarch64 one channel's eight filters alone have the input's first."""
    outputs = channels * multiplier
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "depth_multiplier": multiplier}
    w = constant(nans(1, 1, 1, outputs, first=101))
    inputs = [Tensor([1, 4, 4, channels], "float32"), w, constant(np.zeros(outputs, np.float32))]
    model = Model.single("DEPTHWISE_CONV_2D", inputs, [Tensor([1, 4, 4, outputs], "float32")], 2, **options)
    x = np.broadcast_to(nans(channels), (1, 4, 4, channels))
    got = np.reshape(payloads(run(model, np.ascontiguousarray(x), mode=OPTIMIZED)[0]), (16, outputs))
    by_input = (channels, multiplier) == (1, 8) if AARCH64 else first == 1
    assert (got == (np.arange(outputs) // multiplier + 1 if by_input else np.arange(101, 101 + outputs))).all()


@pytest.mark.parametrize(("mode", "both"), [(REFERENCE, [1, 2, 3, 4]), (OPTIMIZED, [101, 102, 103, 104])])
def test_the_last_product_of_a_depthwise_convolution(mode, both):
    """Of two NaN taps the later one; on aarch64 the earlier one, in the optimized kernel behind the bias."""
    w = np.ones((1, 1, 2, 4), np.float32)
    w[0, 0, 0] = nans(4, first=101)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    inputs = [Tensor([1, 1, 3, 4], "float32"), constant(w), constant(nans(4, first=201))]
    model = Model.single("DEPTHWISE_CONV_2D", inputs, [Tensor([1, 1, 2, 4], "float32")], 2, **options)
    x = np.ones((1, 1, 3, 4), np.float32)
    x[0, 0, 1] = nans(4)
    want = [1, 2, 3, 4, *both]
    if AARCH64:
        want = [101, 102, 103, 104, 1, 2, 3, 4] if mode == REFERENCE else [201, 202, 203, 204] * 2
    assert payloads(run(model, x, mode=mode)[0]) == want


@pytest.mark.parametrize("op", ["MEAN", "SUM", "REDUCE_PROD"])
def test_a_reduction_of_single_values_copies_signalling_nan(op):
    model = Model.single(
        op, [Tensor([1, 3], "float32"), constant([0], np.int32)], [Tensor([3], "float32")], 1, keep_dims=False
    )
    x = np.array([[0x7F800001, 0x3F800000, 0xFF812345]], np.uint32)
    assert (run(model, x.view(np.float32), mode=OPTIMIZED)[0].view(np.uint32) == x[0]).all()
