"""FULLY_CONNECTED and BATCH_MATMUL: against numpy in exact integers, refusals."""

import platform

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tflm_cy import Interpreter, OpResolverType

from .one_operator import run

RNG = np.random.default_rng(6)
REFUSED = (ValueError, RuntimeError)


def bytes_of(shape, dtype="int8"):
    info = np.iinfo(dtype)
    return RNG.integers(info.min + 1, info.max + 1, shape).astype(dtype)


def round_away(values):
    return np.trunc(values + np.copysign(0.5, values))


@pytest.mark.parametrize(("batches", "depth", "outputs"), [(1, 5, 3), (3, 17, 21), (2, 1, 1), (5, 64, 40), (0, 4, 4)])
@pytest.mark.parametrize("constant", [False, True])
def test_fully_connected_float(batches, depth, outputs, constant):
    x, w, b = (RNG.integers(-9, 10, s).astype(np.float32) for s in ((batches, depth), (outputs, depth), outputs))
    [y] = run("FULLY_CONNECTED", [(x, "float32"), w if constant else (w, "float32"), b], [Tensor([1], "float32")])
    np.testing.assert_array_equal(y, x @ w.T + b)
    [y] = run("FULLY_CONNECTED", [(x, "float32"), w, None], [Tensor([1], "float32")], fused_activation_function="RELU6")
    np.testing.assert_array_equal(y, np.clip(x @ w.T, 0, 6))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int16, int32 bias", "per row", "int4"])
@pytest.mark.parametrize("bias", [False, True])
def test_fully_connected_quantized_rounds_the_double_product(kind, bias):
    dtype = kind.split(",")[0] if kind in ("int8", "uint8", "int16", "int16, int32 bias") else "int8"
    xz, wz, yz = {"int8": (3, -4, -5), "uint8": (120, 131, 90)}.get(kind, (0, 0, 0))
    x = bytes_of((3, 19), dtype)
    w = (
        RNG.integers(-8, 8, (7, 19)).astype(np.int8)
        if kind == "int4"
        else bytes_of((7, 19), "uint8" if kind == "uint8" else "int8")
    )
    b = bytes_of(7).astype("int64" if kind == "int16" else "int32")
    scales = [np.float32(0.01 * (i + 1)) for i in range(7)] if kind == "per row" else [np.float32(0.02)]
    total = (x.astype(np.int64) - xz) @ (w.astype(np.int64) - wz).T + (b.astype(np.int64) if bias else 0)
    xs, ys = np.float32(0.5), np.float32(np.abs(total).max() * 0.5 * float(max(scales)) / np.iinfo(dtype).max)
    info = np.iinfo(dtype)
    want = round_away(total * (float(xs) * np.array(scales, float) / float(ys))) + yz
    weights = Tensor.constant(w, "int4" if kind == "int4" else None, scale=scales, zero_point=[wz] * len(scales))
    quantized_bias = Tensor.constant(b, scale=[xs * s for s in scales], zero_point=[0] * len(scales))
    [y] = run(
        "FULLY_CONNECTED",
        [(x, Tensor(x.shape, dtype, scale=xs, zero_point=xz)), weights, quantized_bias if bias else None],
        [Tensor([1], dtype, scale=ys, zero_point=yz)],
        version=11,
        **({"quantized_bias_type": "INT32"} if kind == "int16, int32 bias" else {}),
    )
    np.testing.assert_array_equal(y, np.clip(want, info.min, info.max))


def test_shapes_of_fully_connected():
    x, w = np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32)
    assert run("FULLY_CONNECTED", [(x, "float32"), w, None], [Tensor([1], "float32")])[0].shape == (6, 5)
    assert run("FULLY_CONNECTED", [(x, "float32"), w, None], [Tensor([1], "float32")], keep_num_dims=True)[0].shape == (
        2,
        3,
        5,
    )
    [y] = run("FULLY_CONNECTED", [(np.ones((2, 6), np.float32), "float32"), w, None], [Tensor([1], "float32")])
    assert y.shape == (3, 5)


def test_depth_0_gives_zeros_without_the_bias():
    x, w, b = np.zeros((2, 0), np.float32), np.zeros((3, 0), np.float32), np.ones(3, np.float32)
    [y] = run("FULLY_CONNECTED", [(x, "float32"), (w, "float32"), b], [Tensor([1], "float32")])
    assert y.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("asymmetric", [False, True])
def test_hybrid_fully_connected(asymmetric):
    x, w = RNG.uniform(0, 1, (2, 40)).astype(np.float32), bytes_of((6, 40))
    weights = Tensor.constant(w, scale=[0.01], zero_point=[0])
    b = np.arange(6, dtype=np.float32)

    def outputs(x):
        return run(
            "FULLY_CONNECTED",
            [(x, "float32"), weights, b],
            [Tensor([1], "float32")],
            version=9,
            asymmetric_quantize_inputs=asymmetric,
        )[0]

    exact = x @ (w * np.float32(0.01)).T + b
    assert 0 < np.abs(outputs(x) - exact).max() < 0.05
    np.testing.assert_array_equal(outputs(np.zeros_like(x)), [b, b])


def test_sums_of_rows_of_weights_overflow_in_lanes_of_16_bits():
    """Inputs of 1 become 127 with a zero point of -128; 132 blocks of 16 weights of 127 are beyond a lane, but not on aarch64."""
    depth = 132 * 16
    weights = Tensor.constant(np.full((1, depth), 127, np.int8), scale=[1.0], zero_point=[0])
    x = np.ones((1, depth), np.float32)
    [y] = run(
        "FULLY_CONNECTED",
        [(x, "float32"), weights, None],
        [Tensor([1], "float32")],
        version=9,
        asymmetric_quantize_inputs=True,
    )
    row_sum = 127 * depth - (0 if platform.machine() == "aarch64" else 8 * 65536)
    np.testing.assert_allclose(y[0, 0], (127 * 127 * depth + 128 * row_sum) / 255, rtol=1e-5)


def test_hybrid_products_have_tensorflows_sign_error():
    """-1 * -128 counts as -128 within full blocks of 16 columns, but not on aarch64."""
    weights = Tensor.constant(np.full((1, 16), -128, np.int8), scale=[1.0], zero_point=[0])
    [y] = run("FULLY_CONNECTED", [(-np.ones((1, 16), np.float32), "float32"), weights, None], [Tensor([1], "float32")])
    assert y.tolist() == [[2048 if platform.machine() == "aarch64" else -2048]]
    weights = Tensor.constant(np.full((1, 15), -128, np.int8), scale=[1.0], zero_point=[0])
    [y] = run("FULLY_CONNECTED", [(-np.ones((1, 15), np.float32), "float32"), weights, None], [Tensor([1], "float32")])
    assert y.tolist() == [[1920]]


def test_hybrid_values_are_rounded_as_the_machine_does():
    """In full blocks of 8 values 0.49999997 becomes 1 by adding a half, but on aarch64; behind them 0 everywhere."""
    x = np.array([[127, 0.49999997, 0, 0, 0, 0, 0, 0, 0.49999997]], np.float32)
    w = np.zeros((2, 9), np.int8)
    w[0, 1] = w[1, 8] = 1
    [y] = run(
        "FULLY_CONNECTED",
        [(x, "float32"), Tensor.constant(w, scale=[1.0], zero_point=[0]), None],
        [Tensor([1], "float32")],
    )
    assert y.tolist() == [[0 if platform.machine() == "aarch64" else 1, 0]]


def test_fully_connected_refuses():
    x, out = (np.ones((2, 4), np.float32), "float32"), [Tensor([1], "float32")]
    for w, options, message in [
        (np.ones((3, 4, 1), np.float32), {}, "NumDimensions"),
        (np.ones((3, 4), np.int32), {}, "not supported"),
        (np.ones((3, 3), np.float32), {"keep_num_dims": True}, "keep_num_dims"),
        (np.ones((3, 4), np.float32), {"fused_activation_function": "TANH"}, "kTfLiteActRelu6"),
        (np.ones((3, 4), np.float32), {"weights_format": "SHUFFLED4x16INT8"}, "shuffled"),
    ]:
        with pytest.raises(REFUSED, match=message):
            run("FULLY_CONNECTED", [x, w, None], out, **options)
    with pytest.raises(REFUSED, match="NumElements"):
        run("FULLY_CONNECTED", [x, np.ones((3, 4), np.float32), np.ones(4, np.float32)], out)
    q = Tensor([2, 4], "int16", scale=0.1)
    weights = Tensor.constant(np.ones((3, 4), np.int8), scale=[0.1], zero_point=[0])
    with pytest.raises(REFUSED, match="quantized_bias_type"):
        run(
            "FULLY_CONNECTED",
            [(np.ones((2, 4), np.int16), q), weights, Tensor.constant(np.ones(3, np.int32), scale=[0.01])],
            [Tensor([1], "int16", scale=0.1)],
            version=11,
        )


SHAPES = [
    ((3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (1, 3, 4, 5)),
    ((2, 2, 2, 3, 4), (4, 5)),
    ((3, 4), (2, 2, 4, 17)),
    ((2, 0, 4), (2, 4, 5)),
    ((2, 3, 0), (2, 0, 5)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
@pytest.mark.parametrize("kind", ["float32", "int8", "int8 to int32", "int16"])
@pytest.mark.parametrize("constant", [False, True])
def test_batch_matmul(a, b, adj_x, adj_y, kind, constant):
    dtype = kind.split()[0]
    x, y = ((RNG.integers(-9, 10, s).astype(np.float32) if kind == "float32" else bytes_of(s, dtype)) for s in (a, b))
    xz, yz, zz = (3, -4, 5) if kind == "int8" else (0, 0, 0)
    total = (x.astype(np.int64) - xz) @ (y.astype(np.int64) - yz)
    x, y = x.swapaxes(-1, -2).copy() if adj_x else x, y.swapaxes(-1, -2).copy() if adj_y else y
    out = "int32" if kind.endswith("int32") else dtype
    scale = (
        max(1e5, float(np.abs(total).max(initial=0))) * 0.02 / np.iinfo(dtype).max if out in ("int8", "int16") else None
    )
    quantized = {} if kind == "float32" else {"scale": 0.2}
    constant = constant and y.size > 0
    second = Tensor.constant(y, **quantized, zero_point=yz) if quantized else y
    [z] = run(
        "BATCH_MATMUL",
        [
            (x, Tensor(x.shape, dtype, **quantized, zero_point=xz) if quantized else dtype),
            second if constant else (y, Tensor(y.shape, dtype, **quantized, zero_point=yz) if quantized else dtype),
        ],
        [Tensor([1], out, **({"scale": scale, "zero_point": zz} if scale else {}))],
        adj_x=adj_x,
        adj_y=adj_y,
    )
    assert z.shape == total.shape
    if scale is None:
        np.testing.assert_array_equal(z, total)
    else:
        info = np.iinfo(dtype)
        want = np.clip(total * (0.04 / np.float32(scale)) + zz, info.min, info.max)
        assert np.abs(z - want).max(initial=0) <= (0.55 if dtype == "int8" else 1.51)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_hybrid_batch_matmul(asymmetric):
    x, y = RNG.uniform(-1, 1, (2, 3, 20)).astype(np.float32), bytes_of((2, 20, 4))
    [z] = run(
        "BATCH_MATMUL",
        [(x, "float32"), Tensor.constant(y, scale=[0.01], zero_point=[0])],
        [Tensor([1], "float32")],
        asymmetric_quantize_inputs=asymmetric,
    )
    assert 0 < np.abs(z - x @ (y * np.float32(0.01))).max() < 0.05


def test_hybrid_batch_matmul_takes_the_scales_of_another_batch():
    """Batch (1, 0) of [2, 2] uses the scale of batch 0 + 1, (1, 1) that of batch 2."""
    x = np.array([1, 2, 4, 8], np.float32).reshape(2, 2, 1, 1)
    ones = Tensor.constant(np.ones((2, 2, 1, 1), np.int8), scale=[1.0], zero_point=[0])
    [z] = run("BATCH_MATMUL", [(x, "float32"), ones], [Tensor([1], "float32")])
    np.testing.assert_allclose(z.ravel(), [1, 2, 2, 4], rtol=1e-6)


def test_a_row_whose_scale_is_too_small_for_float32_becomes_its_zero_point():
    """Seen by the scale of another batch (2, of batch 3): value - zero point is 0 then."""
    x = np.array([1, 2, 4, 1e-45], np.float32).reshape(2, 2, 1, 1)
    ones = Tensor.constant(np.ones((2, 2, 1, 1), np.int8), scale=[1.0], zero_point=[0])
    [z] = run("BATCH_MATMUL", [(x, "float32"), ones], [Tensor([1], "float32")], asymmetric_quantize_inputs=True)
    np.testing.assert_allclose(z.ravel(), [1, 2, 2, 0], rtol=0.01)


def test_batch_matmul_refuses():
    out = [Tensor([1], "float32")]
    for a, b, message in [
        ((3, 4), (5, 6), "accum_dim_lhs"),
        ((2, 3, 4), (3, 4, 5), "broadcast"),
        ((4,), (4, 5), "NumDimensions"),
        ((1,) * 6, (1, 1), "NumDimensions"),
    ]:
        with pytest.raises(REFUSED, match=message):
            run("BATCH_MATMUL", [(np.ones(a, np.float32), "float32"), (np.ones(b, np.float32), "float32")], out)
    with pytest.raises(REFUSED, match="not supported"):
        q = {"scale": 0.1}
        run(
            "BATCH_MATMUL",
            [(np.ones((2, 2), np.int16), Tensor([2, 2], "int16", **q)), Tensor.constant(np.ones((2, 2), np.int8), **q)],
            [Tensor([1], "int16", **q)],
        )


@pytest.mark.parametrize("resolver", [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_sparse_int8_weights_are_those_made_dense(resolver):
    rng = np.random.default_rng(7)
    dense = rng.integers(-127, 128, [5, 48]).astype(np.int8)
    dense[:, 16:32] = 0
    dense[2] = 0
    blocks = [row.reshape(3, 16)[row.reshape(3, 16).any(1)] for row in dense]
    where = [np.flatnonzero(row.reshape(3, 16).any(1)) for row in dense]
    rows = [("dense", 5), ("csr", np.cumsum([0] + [len(r) for r in where]), np.concatenate(where)), ("dense", 16)]
    stored = np.concatenate([b.ravel() for b in blocks])
    scales = {"scale": np.float32(0.01), "zero_point": 0}
    weights = [
        Tensor.constant(dense, **scales),
        Tensor.constant(stored, shape=[5, 48], sparsity=Sparsity([0, 1, 2], rows, block_map=[1]), **scales),
    ]
    x = rng.integers(-128, 128, [3, 48]).astype(np.int8)
    found = []
    for w in weights:
        inputs = [Tensor(x.shape, "int8", scale=0.05, zero_point=-7), w]
        y = Tensor([3, 5], "int8", scale=0.2, zero_point=4)
        model = Model.single("FULLY_CONNECTED", inputs, [y], 8)
        interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).astype(int))
    assert np.abs(found[0] - found[1]).max() <= 1  # the roundings of halves differ
    assert len(np.unique(found[0])) > 3
