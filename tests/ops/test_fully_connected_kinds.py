"""FULLY_CONNECTED's rarer kinds against exact numbers: int2, uint8 to int16, shuffled, blockwise and sparse weights, mixtures."""

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tests.machine import AARCH64
from tflm_cy import Interpreter, OpResolverType

from .blockwise import layer
from .one_operator import run
from .test_matrix_product import REFUSED, round_away

OPTIMIZED = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
MODES = [OpResolverType.BUILTIN_REF, OPTIMIZED]


def invoke(model, x, resolver):
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_int2_weights(dtype):
    """Scales of powers of two: the rescaling is exact but for one rounding."""
    rng = np.random.default_rng(1)
    x, w = rng.integers(-100, 101, (3, 21)).astype(dtype), rng.integers(-2, 2, (5, 21)).astype(np.int8)
    weights = Tensor.constant(w, "int2", scale=np.float32(0.5), zero_point=0)
    inputs = [(x, Tensor(x.shape, dtype, scale=np.float32(0.25), zero_point=0)), weights]
    [y] = run("FULLY_CONNECTED", inputs, [Tensor([1], dtype, scale=np.float32(0.5), zero_point=0)], version=13)
    info = np.iinfo(dtype)
    np.testing.assert_array_equal(y, np.clip(round_away(x.astype(float) @ w.T / 4), info.min, info.max))


def test_int2_weights_of_floats():
    """127 steps of 1: the values are their own quantization."""
    rng = np.random.default_rng(2)
    x = rng.integers(-127, 128, (3, 20)).astype(np.float32)
    x[:, 0] = 127
    w = rng.integers(-1, 2, (4, 20)).astype(np.int8)
    weights = Tensor.constant(w, "int2", scale=np.float32(0.5), zero_point=0)
    [y] = run("FULLY_CONNECTED", [(x, "float32"), weights], [Tensor([1], "float32")], version=13)
    np.testing.assert_array_equal(y, x @ w.T * np.float32(0.5))


def to_16_model(x, w, b, zero_point=0, **options):
    weights = Tensor.constant(w, scale=np.float32(0.25), zero_point=120)
    bias = None if b is None else Tensor.constant(b, scale=np.float32(0.125), zero_point=0)
    inputs = [Tensor(x.shape, "uint8", scale=np.float32(0.5), zero_point=130), weights, bias]
    y = Tensor([len(x), len(w)], "int16", scale=np.float32(0.25), zero_point=zero_point)
    return Model.single("FULLY_CONNECTED", inputs, [y], 11, **options)


@pytest.mark.parametrize("resolver", MODES, ids=["reference", "optimized"])
def test_bytes_to_16_bits(resolver):
    """Halves: away from zero in the reference, up in the optimized kernel, which knows no zero point of the output."""
    rng = np.random.default_rng(3)
    x, w = (rng.integers(0, 256, s).astype(np.uint8) for s in ((3, 9), (5, 9)))
    b = rng.integers(-999, 999, 5).astype(np.int32)
    half = ((x.astype(int) - 130) @ (w.astype(int) - 120).T + b) / 2
    want = round_away(half) if resolver != OPTIMIZED else np.floor(half + 0.5)
    np.testing.assert_array_equal(invoke(to_16_model(x, w, b), x, resolver)[0], np.clip(want, -32768, 32767))
    moved = invoke(to_16_model(x, w, b, 7), x, resolver)[0]
    np.testing.assert_array_equal(moved, np.clip(want + (0 if resolver == OPTIMIZED else 7), -32768, 32767))


def test_bytes_to_16_bits_want_a_bias_of_the_reference():
    x, w = np.zeros((1, 4), np.uint8), np.zeros((3, 4), np.uint8)
    with pytest.raises(REFUSED, match="bias"):
        invoke(to_16_model(x, w, None), x, OpResolverType.BUILTIN_REF)
    assert invoke(to_16_model(x, w, None), x, OPTIMIZED)[0].shape == (1, 3)


def shuffle(w):
    """Rows and columns in blocks of 4 x 16, as int8 less 128."""
    rows, depth = w.shape
    return (w.reshape(rows // 4, 4, depth // 16, 16).transpose(0, 2, 1, 3) ^ 0x80).reshape(rows, depth)


def shuffled_model(x, w, b, operands=None, **options):
    weights = Tensor.constant(shuffle(w), scale=np.float32(0.25), zero_point=128)
    bias = Tensor.constant(b, scale=np.float32(0.125), zero_point=0)
    y = Tensor([len(x), len(w)], "int16", scale=np.float32(0.25), zero_point=0)
    inputs = [Tensor(x.shape, "uint8", scale=np.float32(0.5), zero_point=128), weights, bias]
    operands = operands or Tensor(x.shape, "uint8", scale=np.float32(0.5), zero_point=128)
    options = {"weights_format": "SHUFFLED4x16INT8", **options}
    return Model.single("FULLY_CONNECTED", inputs, [y, operands], 2, **options)


@pytest.mark.parametrize("batches", [1, 4])
@pytest.mark.parametrize("resolver", MODES, ids=["reference", "optimized"])
def test_shuffled_weights(batches, resolver):
    rng = np.random.default_rng(4)
    x, w = (rng.integers(0, 256, s).astype(np.uint8) for s in ((batches, 48), (8, 48)))
    b = rng.integers(-999, 999, 8).astype(np.int32)
    y, operands = invoke(shuffled_model(x, w, b), x, resolver)
    total = (x.astype(int) - 128) @ (w.astype(int) - 128).T + b
    np.testing.assert_array_equal(
        y, np.clip(np.floor(total / 2 + 0.5), -32768, 32767)
    )  # the first rounding takes halves up
    blocks = (x ^ 0x80).reshape(batches, 3, 16).transpose(1, 0, 2)
    np.testing.assert_array_equal(operands, blocks.reshape(batches, 48))


def test_shuffled_weights_refuse():
    x, w, b = np.zeros((1, 16), np.uint8), np.zeros((4, 16), np.uint8), np.zeros(4, np.int32)
    for wrong, message in [
        (shuffled_model(np.zeros((3, 16), np.uint8), w, b), "1 or 4 rows"),
        (shuffled_model(x, w, b, Tensor([1, 8], "uint8")), "too few"),
        (shuffled_model(x, w, b, Tensor([1, 16], "int8")), "Unexpected data type"),
    ]:
        with pytest.raises(REFUSED, match=message):
            invoke(wrong, np.zeros(wrong.subgraphs[0].tensors[0].shape, np.uint8), OpResolverType.BUILTIN_REF)


@pytest.mark.parametrize("activation", ["TANH", "SIGN_BIT"])
def test_curved_activations_of_hybrid_layers(activation):
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((3, 20)).astype(np.float32), rng.integers(-127, 128, (6, 20)).astype(np.int8)
    weights = Tensor.constant(w, scale=np.float32(0.005), zero_point=0)

    def outputs(name):
        inputs = [(x, "float32"), weights]
        return run("FULLY_CONNECTED", inputs, [Tensor([1], "float32")], version=9, fused_activation_function=name)[0]

    plain = outputs("NONE")
    want = np.tanh(plain) if activation == "TANH" else np.signbit(plain)
    np.testing.assert_allclose(outputs(activation), want, atol=1e-6)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_sparse_hybrid_weights_are_those_made_dense(asymmetric):
    rng = np.random.default_rng(6)
    dense = rng.integers(-127, 128, [5, 48]).astype(np.int8)
    dense[:, 16:32] = 0
    rows = [("dense", 5), ("csr", np.arange(0, 11, 2), np.tile([0, 2], 5)), ("dense", 16)]
    stored = dense.reshape(5, 3, 16)[:, [0, 2]].ravel()
    scale = {"scale": np.float32(0.01), "zero_point": 0}
    x = rng.uniform(-1, 3, [3, 48]).astype(np.float32)
    found = []
    for w in (
        Tensor.constant(dense, **scale),
        Tensor.constant(stored, shape=[5, 48], sparsity=Sparsity([0, 1, 2], rows, block_map=[1]), **scale),
    ):
        inputs = [(x, "float32"), w, np.arange(5, dtype=np.float32)]
        options = {"asymmetric_quantize_inputs": asymmetric}
        found += run("FULLY_CONNECTED", inputs, [Tensor([1], "float32")], version=9, **options)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("machine", ["neon", "dotprod"] if AARCH64 else [""])
@pytest.mark.parametrize("columns", [32, 24, 40])
def test_sparse_rows_without_blocks(columns, machine, monkeypatch):
    """Times a scale that is not finite they are NaN; on aarch64 they are left out, but for dot products of whole blocks."""
    monkeypatch.setenv("TFLM_CY_XNNPACK", machine)
    rows = [("dense", 3), ("csr", [0, 1, 1, 2], [0, 0]), ("dense", 16)]
    weights = Tensor.constant(
        np.ones(32, np.int8),
        shape=[3, columns],
        sparsity=Sparsity([0, 1, 2], rows, block_map=[1]),
        scale=np.float32(0.01),
        zero_point=0,
    )
    x = np.ones((2, columns), np.float32)
    x[:, 3] = np.inf
    y = run("FULLY_CONNECTED", [(x, "float32"), weights, np.float32([1, 2, 3])], [Tensor([1], "float32")], version=9)[0]
    left_out = AARCH64 and (machine == "neon" or columns % 16 != 0)
    np.testing.assert_array_equal(y[:, 1], [2.0 if left_out else np.nan] * 2)
    assert not np.isfinite(y[:, [0, 2]]).any()


def test_blockwise_scales_of_the_optimized_kernel():
    """The reference takes the scale for 0."""
    model, x, want, bias = layer(seed=7, version=13)
    np.testing.assert_array_equal(invoke(model, x, OPTIMIZED)[0], want)
    np.testing.assert_array_equal(invoke(model, x, OpResolverType.BUILTIN_REF)[0], np.tile(bias, (3, 1)))


def test_types_that_do_not_belong_together_are_read_as_the_kernels():
    """int16 values of an int8 kernel: the first half of their bytes."""
    rng = np.random.default_rng(8)
    x, w = rng.integers(-999, 999, (2, 8)).astype(np.int16), rng.integers(-9, 9, (3, 8)).astype(np.int8)
    weights = Tensor.constant(w, scale=np.float32(0.5), zero_point=0)
    inputs = [(x, Tensor(x.shape, "int16", scale=np.float32(1), zero_point=0)), weights]
    [y] = run("FULLY_CONNECTED", inputs, [Tensor([1], "int8", scale=np.float32(8), zero_point=0)], version=11)
    read = np.frombuffer(x.tobytes(), np.int8)[:16].reshape(2, 8).astype(int)
    np.testing.assert_array_equal(y, np.clip(round_away(read @ w.T / 16), -128, 127))
