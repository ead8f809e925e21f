"""What the default delegate makes of several nodes at once, where it changes bits; and what it says about it."""

import numpy as np
import pytest
from tflm_cy.ops.generation import generation_name

from compat.builder import Model, Tensor
from tests import harness
from tests.machine import AARCH64, delegated
from tflm_cy import Interpreter, OpResolverType

pytestmark = delegated

RNG = np.random.default_rng(5)
X = (RNG.standard_normal((15, 40)) * 3).astype(np.float32)


def f32(*shape):
    return Tensor(list(shape), "float32")


def run(model, x, **options):
    interpreter = harness.allocated(model, **options)
    return interpreter, harness.run(interpreter, x)[0]


def chain(*nodes, shape=X.shape):
    """Operators one after the other: (name, output shape, further inputs, options)."""
    model = Model()
    main = model.subgraph("main")
    value = f32(*shape)
    for op, out, more, options in nodes:
        y = f32(*out)
        main.op(op, [value, *(Tensor.constant(c) for c in more)], [y], **options)
        value = y
    main.outputs = [value]
    return model


AXIS, KEEP = np.int32([1]), {"keep_dims": True}


def test_a_sum_of_squares_rounds_once():
    """With AVX-512 and on Arm; AVX2 rounds the square, too, so that the fusion does not show."""
    wide = (RNG.standard_normal((15, 640)) * 3).astype(np.float32)
    model = chain(("SQUARE", wide.shape, [], {}), ("SUM", (15, 1), [AXIS], KEEP), shape=wide.shape)
    interpreter, fused = run(model, wide)
    _, apart = run(model, wide, experimental_preserve_all_tensors=True)
    exact = (wide.astype(np.float64) ** 2).sum(axis=1, keepdims=True)
    once = generation_name() != "avx2"
    assert (fused != apart).any() == once  # in some rows
    np.testing.assert_allclose(fused, exact, rtol=1e-6)
    assert [q["rule"] for q in interpreter.quirks()] == ["sum of squares"] * once


@pytest.mark.parametrize(("op", "factor"), [("MUL", np.float32([1]) / np.float32(40)), ("DIV", np.float32([40]))])
def test_a_sum_times_a_reciprocal_is_a_mean(op, factor):
    _, mean = run(chain(("MEAN", (15, 1), [AXIS], KEEP)), X)
    _, product = run(chain(("SUM", (15, 1), [AXIS], KEEP), (op, (15, 1), [factor], {})), X)
    assert product.tobytes() == mean.tobytes()


def test_a_fused_activation_survives():
    relu = {"fused_activation_function": "RELU"}
    _, plain = run(chain(("MEAN", (15, 1), [AXIS], KEEP)), X)
    _, clamped = run(chain(("SUM", (15, 1), [AXIS], KEEP), ("DIV", (15, 1), [np.float32([40])], relu)), X)
    assert (plain < 0).any()
    assert clamped.tobytes() == np.maximum(plain, np.float32(0)).tobytes()


def test_another_factor_stays_a_product():
    _, total = run(chain(("SUM", (15, 1), [AXIS], KEEP)), X)
    _, product = run(chain(("SUM", (15, 1), [AXIS], KEEP), ("MUL", (15, 1), [np.float32([0.5])], {})), X)
    assert product.tobytes() == (total * np.float32(0.5)).tobytes()


def test_n_divided_by_a_sum_is_turned_over():
    """As in TensorFlow, and listed as a quirk."""
    x, s, y = f32(15, 40), f32(15, 1), f32(15, 1)
    model = Model()
    main = model.subgraph("main")
    main.op("SUM", [x, Tensor.constant(AXIS)], [s], keep_dims=True)
    main.op("DIV", [Tensor.constant(np.float32([40])), s], [y])
    main.outputs = [y]
    interpreter, turned = run(model, X)
    _, mean = run(chain(("MEAN", (15, 1), [AXIS], KEEP)), X)
    assert turned.tobytes() == mean.tobytes()
    assert [q["rule"] for q in interpreter.quirks()] == ["quotient upside down"]
    _, right = run(model, X, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    np.testing.assert_allclose(right * mean, np.ones_like(mean), rtol=1e-5)


def test_a_clamp_behind_a_pool_swallows_nan_and_minus_zero():
    """On aarch64 NaN stays."""
    x = np.full((1, 4, 4, 1), -0.0, np.float32)
    x[0, :2, :2] = np.nan
    window = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2, "padding": "VALID"}
    pool = ("MAX_POOL_2D", (1, 2, 2, 1), [], window)
    _, merged = run(chain(pool, ("RELU", (1, 2, 2, 1), [], {}), shape=(1, 4, 4, 1)), x)
    want = np.zeros((1, 2, 2, 1), np.float32)
    if AARCH64:
        want[0, 0, 0] = np.nan
    assert merged.tobytes() == want.tobytes()


def test_same_padding_below_zero_is_named():
    """A 1x1-output filter smaller than its stride: the padding wraps around and only the bias is left."""
    x, y = f32(1, 12, 12, 1), f32(1, 4, 4, 1)
    weights, bias = Tensor.constant(np.ones((1, 2, 2, 1), np.float32)), Tensor.constant(np.float32([7]))
    model = Model.single("CONV_2D", [x, weights, bias], [y], padding="SAME", stride_w=3, stride_h=3)
    interpreter, result = run(model, np.ones((1, 12, 12, 1), np.float32))
    assert (result == 7).all()
    (quirk,) = interpreter.quirks()
    assert (quirk["node"], quirk["rule"]) == (0, "padding below zero")
    _, right = run(model, np.ones((1, 12, 12, 1), np.float32), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    assert (right == 11).all()


@pytest.mark.parametrize("multiplier", [1, 3])
def test_no_images_below_zero_are_written_nowhere(multiplier):
    """The one position that stands for all others of such a window is not computed where there is none."""
    x, y = Tensor([2, 6, 4, 9], "float32"), Tensor([2, 2, 2, 9 * multiplier], "float32")
    constants = [
        Tensor.constant(np.ones(shape, np.float32)) for shape in ((1, 1, 3, 9 * multiplier), (9 * multiplier,))
    ]
    options = {
        "stride_h": 3,
        "stride_w": 2,
        "dilation_w_factor": 2,
        "dilation_h_factor": 1,
        "depth_multiplier": multiplier,
    }
    interpreter = Interpreter(
        model_content=Model.single("DEPTHWISE_CONV_2D", [x, *constants], [y], **options).to_bytes()
    )
    for images in (2, 0, 3, 0, 0):
        interpreter.resize_tensor_input(0, [images, 6, 4, 9])
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.ones([images, 6, 4, 9], np.float32))
        interpreter.invoke()
        got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        assert got.shape == (images, 2, 2, 9 * multiplier) and (got == 1).all()


def test_other_modes_have_no_quirks():
    model = chain(("EXP", X.shape, [], {}))
    for mode in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter, _ = run(model, X, experimental_op_resolver_type=mode)
        assert interpreter.quirks() == []
    interpreter, _ = run(model, X)
    assert [q["rule"] for q in interpreter.quirks()] == ([] if AARCH64 else ["special values"])


@pytest.mark.parametrize(
    ("shape", "wanted"), [([0, 4], (3, 4)), ([[3, 4]], (3, 4)), ([[[-1], [6]]], (2, 6)), ([12], (12,)), ([0], (12,))]
)
def test_reshape_reads_its_shape_as_the_delegate_does(shape, wanted):
    """A single 0 is the rest; a tensor of any rank whose dimensions but the last are 1 is a vector."""
    shape = np.array(shape, np.int32)
    if shape.ndim == 3:
        shape = shape.reshape(1, 1, 2)
    model = Model.single("RESHAPE", [f32(2, 6), Tensor.constant(shape)], [f32(*wanted)])
    interpreter, y = run(model, np.arange(12, dtype=np.float32).reshape(2, 6))
    assert y.shape == wanted and y.ravel().tolist() == list(range(12))
    assert [q["rule"] for q in interpreter.quirks()] == (["zero is the rest"] if 0 in shape else [])


def test_reshape_with_two_unknowns_is_refused():
    model = Model.single("RESHAPE", [f32(2, 6), Tensor.constant(np.int32([0, -1]))], [f32(3, 4)])
    with pytest.raises(RuntimeError, match="more than one dimension"):
        run(model, np.zeros((2, 6), np.float32))


def test_float16_steps_are_named():
    model = Model.single("EXP", [Tensor([3], "float16")], [Tensor([3], "float16")])
    interpreter, y = run(model, np.float16([0, np.nan, 20]))
    rules = [q["rule"] for q in interpreter.quirks()]
    if AARCH64:
        np.testing.assert_array_equal(y, np.float16([1, np.nan, np.inf]))
        assert rules == (["float16 arithmetic"] if generation_name() != "neon" else [])
    else:
        assert y.tolist() == [1, 0, np.inf] and rules == ["float16 steps"]


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_a_pad_becomes_the_padding_of_its_convolution(op):
    x = RNG.standard_normal((1, 6, 7, 4)).astype(np.float32)
    border = np.int32([[0, 0], [1, 1], [0, 2], [0, 0]])
    w = RNG.standard_normal((4, 3, 3, 4) if op == "CONV_2D" else (1, 3, 3, 4)).astype(np.float32)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 2, "dilation_h_factor": 1, "dilation_w_factor": 1}
    if op == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    model = chain(
        ("PAD", (1, 8, 9, 4), [border], {}), (op, (1, 6, 4, 4), [w, np.float32([1, 2, 3, 4])], options), shape=x.shape
    )
    interpreter, fused = run(model, x)
    _, apart = run(model, x, fuse=False)
    assert fused.tobytes() == apart.tobytes()
    with interpreter.profile() as profile:
        interpreter.invoke()
    assert [node.op_name for node in profile.nodes()] == [op]


@pytest.mark.parametrize("x_first", [True, False])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_a_product_with_its_own_logistic_is_one_node(x_first, activation):
    x = (RNG.standard_normal((1, 7, 9, 50)) * 20).astype(np.float32)
    x.reshape(-1)[:6] = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-40]
    x.view(np.uint32).reshape(-1)[6:8] = 0x7FC00001, 0xFFC00002
    model = Model()
    main = model.subgraph("main")
    a, b, y = (f32(*x.shape) for _ in range(3))
    main.op("LOGISTIC", [a], [b])
    main.op("MUL", [a, b] if x_first else [b, a], [y], fused_activation_function=activation)
    main.outputs = [y]
    interpreter, fused = run(model, x)
    _, apart = run(model, x, fuse=False)
    assert fused.tobytes() == apart.tobytes()
    with interpreter.profile() as profile:
        interpreter.invoke()
    assert [node.op_name for node in profile.nodes()] == ["MUL"]


def test_a_logistic_that_others_read_is_computed():
    x = RNG.standard_normal((1, 5, 6, 8)).astype(np.float32)
    model = Model()
    main = model.subgraph("main")
    a, b, y, z = (f32(*x.shape) for _ in range(4))
    main.op("LOGISTIC", [a], [b])
    main.op("MUL", [a, b], [y])
    main.op("ADD", [y, b], [z])
    main.outputs = [z]
    _, fused = run(model, x)
    _, apart = run(model, x, fuse=False)
    assert fused.tobytes() == apart.tobytes()
