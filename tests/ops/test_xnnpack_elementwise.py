"""float32 functions of one and of two values in the default mode: known answers, special values, denormals, operand order."""

import math

import numpy as np
import pytest
from tflm_cy.ops.generation import generation_name

from compat.builder import Model, Tensor
from tests.machine import AARCH64, of_x86_64

from .delegated import Constant, f32, invoke, only_where_supported, run, same

pytestmark = only_where_supported

INF, NAN = np.inf, np.nan
WIDE = generation_name() == "avx512"
SPECIAL = f32([INF, -INF, NAN, 0.0, -0.0])
erf = np.vectorize(math.erf)

# function, what SPECIAL gives, greatest error relative to the largest of 1 and the result
APPROXIMATED = {
    "EXP": (np.exp, [INF, 0, NAN if AARCH64 else 0, 1, 1], 2e-6),
    "LOGISTIC": (lambda x: 1 / (1 + np.exp(-x)), [1, 0, NAN, 0.5, 0.5], 3e-7),
    "TANH": (np.tanh, [1, -1, NAN, 0.0, -0.0], 3e-7),
    "SIN": (np.sin, [NAN, NAN, NAN, 0, 0], 2e-5),
    "COS": (np.cos, [NAN, NAN, NAN, 1, 1], 2e-5),
    "SQRT": (lambda x: np.sqrt(np.abs(x)), [INF if AARCH64 else NAN, NAN, NAN, 0.0, -0.0], 3e-7),
    "RSQRT": (lambda x: 1 / np.sqrt(np.abs(x)), [0, NAN, NAN, INF, -INF] if AARCH64 else [0, NAN, NAN, NAN, NAN], 3e-7),
    "ELU": (lambda x: np.where(x < 0, np.expm1(x), x), [INF, -1, NAN, 0.0, 0.0], 3e-7),
    "HARD_SWISH": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), [INF, NAN, NAN, 0.0, -0.0], 3e-7),
    "GELU": (lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), [INF, NAN, NAN, 0.0, -0.0], 1e-6),
}


@pytest.mark.parametrize("op", APPROXIMATED)
def test_approximations(op):
    function, special, tolerance = APPROXIMATED[op]
    x = f32(np.random.default_rng(1).uniform(-12, 12, 1003))
    if op in ("SQRT", "RSQRT"):
        x = np.abs(x) + f32(0.01)
    [y] = run(op, [x], [x.shape])
    want = function(x.astype(np.float64))
    assert np.max(np.abs(y - want) / np.maximum(np.abs(want), 1)) < tolerance
    [y] = run(op, [SPECIAL], [SPECIAL.shape])
    np.testing.assert_array_equal(y, f32(special))


def test_gelu_approximate_is_another_function():
    x = f32(np.linspace(-6, 6, 77))
    [y] = run("GELU", [x], [x.shape], approximate=True)
    wide = x.astype(np.float64)
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
    np.testing.assert_allclose(y, wide / 2 * (1 + np.tanh(inner)), atol=2e-6)


X = f32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7.25, -7.25, 0.0, -0.0, INF, -INF, NAN])
ZERO = f32(0 if AARCH64 else -0.0)  # + ZERO: there a clamp at 0 turns -0 into 0
EXACT = {
    "ABS": np.abs(X),
    "NEG": -X if AARCH64 else f32(0) - X,
    "SQUARE": X * X,
    "FLOOR": np.floor(X),
    "CEIL": np.ceil(X),
    "ROUND": np.rint(X),
    "RELU": np.where(X < 0, f32(0), X + ZERO),
    "RELU6": np.where(X < 0, f32(0), np.where(X > 6, f32(6), X + ZERO)),
    "RELU_N1_TO_1": np.where(X < -1, f32(-1), np.where(X > 1, f32(1), X)),
}


@pytest.mark.parametrize("op", EXACT)
def test_exact_functions(op):
    [y] = run(op, [X], [X.shape])
    same(y[:-1], EXACT[op][:-1])
    assert np.isnan(y[-1])


def test_denormals_count_as_zeros_except_in_bitwise_operations():
    x = f32([1e-40, -1e-40, 2.0])
    same(run("RELU", [x], [x.shape])[0], [0.0, 0.0 if AARCH64 else -0.0, 2.0])
    same(run("ABS", [x], [x.shape])[0], [1e-40, 1e-40, 2.0])
    same(run("ADD", [x, Constant([0, 0, 0])], [x.shape])[0], [0.0, 0.0, 2.0])
    same(run("EXP", [f32([-88.0])], [(1,)])[0], [0.0])
    assert f32(1e-40) + f32(1e-40) > 0  # this thread's own arithmetic is as before


@of_x86_64
@pytest.mark.parametrize("machine", ["avx2", "avx512"])
def test_generations(machine, monkeypatch):
    """They differ in the sign of zeros, in roots and in the last bits of LOGISTIC and ELU."""
    if machine == "avx512" and not WIDE:
        pytest.skip("a CPU without AVX-512")
    monkeypatch.setenv("TFLM_CY_XNNPACK", machine)
    x = f32([-3, -0.0, 0.0, 5, -1e-40])
    [y] = run("LEAKY_RELU", [x], [x.shape], alpha=-0.5)
    same(y, [1.5, 0.0, 0.0, 5, 0.0] if machine == "avx2" else [1.5, -0.0, 0.0, 5, -1e-40])
    [y] = run("LOGISTIC", [f32([-1e30, -90.0])], [(2,)])
    if machine == "avx2":
        same(y, [0, 0])
    else:
        assert np.isnan(y[0]) and y[1] == 0
    assert abs(run("ELU", [f32([-1])], [(1,)])[0][0] - np.expm1(-1)) < 1e-6
    assert abs(run("RSQRT", [f32([2])], [(1,)])[0][0] - 2**-0.5) < 1e-6


def test_a_generation_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("TFLM_CY_XNNPACK", "sse9")
    with pytest.raises((ValueError, RuntimeError), match="neon, dotprod or i8mm" if AARCH64 else "avx2 or avx512"):
        run("LOGISTIC", [f32([1])], [(1,)])


BINARY = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "DIV": np.divide,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) * (a - b),
}
SHAPES = [
    ((3, 5, 11), (3, 5, 11)),
    ((3, 5, 11), (11,)),
    ((1,), (3, 5)),
    ((3, 1, 7), (4, 1)),
    ((2, 1, 1, 4, 2, 9), (3, 1, 2, 1)),
]


@pytest.mark.parametrize(("first", "second"), SHAPES)
@pytest.mark.parametrize("op", BINARY)
def test_two_operands(op, first, second):
    rng = np.random.default_rng(2)
    a, b = f32(rng.standard_normal(first)), f32(rng.standard_normal(second))
    want = BINARY[op](a, b)
    same(run(op, [a, b], [want.shape])[0], want)
    same(run(op, [Constant(a), b], [want.shape])[0], want)


def test_fused_activations():
    a, b = f32([-3, 0.5, 3, 9, NAN]), f32([1, 1, 1, 1, 1])
    for name, low, high in (("RELU", 0, INF), ("RELU_N1_TO_1", -1, 1), ("RELU6", 0, 6)):
        [y] = run("SUB", [a, b], [(5,)], fused_activation_function=name)
        same(y[:4], np.clip(a - b, low, high)[:4])
        assert np.isnan(y[4])


def test_prelu():
    x, slope = f32([[-2, 3], [-4, 0]]), Constant([0.5, 0.25])
    same(run("PRELU", [x, slope], [x.shape])[0], [[-1, 3], [-2, 0]])


def test_the_order_of_a_maximum():
    """The second operand wins against NaN; a repeated first one changes places; with a constant it is a clamp, which keeps NaN.

    On aarch64 NaN stays.
    """
    nan, one = f32([NAN]), f32([1])
    pairs = f32([[NAN, 1], [1, NAN]])
    same(run("MAXIMUM", [pairs[0], pairs[1]], [(2,)])[0], [NAN if AARCH64 else 1, NAN])
    same(run("MAXIMUM", [nan, pairs[1]], [(2,)])[0], [NAN, NAN])
    same(run("MAXIMUM", [pairs[1], nan], [(2,)])[0], [NAN, NAN])
    same(run("MINIMUM", [pairs[0], Constant(one)], [(2,)])[0], [NAN, 1])
    same(run("MAXIMUM", [Constant(one), pairs[0]], [(2,)])[0], [NAN, 1])


def test_a_clamp_by_infinity_is_a_copy_and_has_the_shape_of_its_operand():
    x = f32([1e-40, -1e-40, NAN])
    same(run("MINIMUM", [x, Constant([INF])], [x.shape])[0], x)
    same(run("MINIMUM", [x, Constant([5])], [x.shape])[0], [0.0, -0.0, NAN])
    same(run("MAXIMUM", [x, Constant([[0]])], [(1, 3)])[0], [0.0, 0.0 if AARCH64 else -0.0, NAN])


def test_more_than_six_dimensions_are_refused_after_a_resize():
    from tflm_cy import Interpreter

    blob = Model.single("NEG", [Tensor([2], "float32")], [Tensor([2], "float32")]).to_bytes()
    interpreter = Interpreter(model_content=blob)
    interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [1] * 7)
    with pytest.raises((ValueError, RuntimeError), match="6 dimensions"):
        interpreter.allocate_tensors()


def test_a_chain_of_operators():
    x, y, z = (Tensor([4], "float32") for _ in range(3))
    model = Model()
    main = model.subgraph("main")
    main.op("NEG", [x], [y])
    main.op("ABS", [y], [z])
    main.outputs = [z]
    same(invoke(model.to_bytes(), [f32([1, -2, 3, -4])])[0], [1, 2, 3, 4])
