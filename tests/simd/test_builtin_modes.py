"""The kernels outside of XNNPACK's arithmetic: in both modes without the delegate every instruction set against the scalar definition.

TFLM_CY_KERNEL_CASES=2000 pytest tests/simd
"""

import functools

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from . import float32, products_i8
from .instruction_sets import ISAS, check, telling
from .test_elementwise_i8 import draw_image, draw_one, draw_pair

modes = pytest.mark.parametrize(
    "mode",
    [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES],
    ids=["reference", "optimized"],
)


def check_all(draw, mode, cases=KERNEL_CASES):
    refused = 0
    for seed in range(cases):
        blob, feeds = draw(np.random.default_rng(seed))
        try:
            with telling(f"seed {seed}"):
                check(ISAS, blob, feeds, experimental_op_resolver_type=mode)
        except RuntimeError as error:  # hybrid filters with groups and one scale, which only the delegate takes
            if "scales along dimension" not in str(error):
                raise
            refused += 1
    assert refused <= KERNEL_CASES // 5


@modes
@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("op", products_i8.DRAWS)
def test_products_of_bytes(op, dtype, mode):
    if op.startswith("DEPTHWISE_CONV_2D") and dtype == "float32":
        pytest.skip("the hybrid operator wants a scale per channel, which these draws do not always have")
    check_all(lambda rng: products_i8.DRAWS[op](rng, dtype), mode)


@modes
@pytest.mark.parametrize("op", float32.DRAWS)
def test_floats(op, mode):
    draw = float32.DRAWS[op]
    if op == "unary":
        draw = functools.partial(draw, names=[name for name in float32.UNARY if name not in float32.NOT_IN_REFERENCE])
    check_all(draw, mode, float32.share(op, KERNEL_CASES))


@modes
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
def test_pairs(op, dtype, mode):
    check_all(lambda rng: draw_pair(rng, dtype, op), mode)


@modes
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["MAX_POOL_2D", "RESIZE_BILINEAR", "MEAN"])
def test_images(op, dtype, mode):
    check_all(lambda rng: draw_image(rng, dtype, op), mode)


@modes
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["QUANTIZE", "QUANTIZE_F32", "DEQUANTIZE"])
def test_single_values(op, dtype, mode):
    check_all(lambda rng: draw_one(rng, dtype, op), mode)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("factor", [0.5, 0.25, 1.0, 2.0**-31, 3.0, 1e5, 1e30])
def test_halves_and_overflows_of_a_fully_connected_layer(factor, dtype):
    """Sums that are ties once multiplied, and products that no int32 holds."""
    zero, columns = (0, 37) if dtype == "int8" else (128, 37)
    big = [2**31 - 1, -(2**31), 2**30, -(2**30), 1, -1]
    bias = np.array([*range(-12, 19), *big], "int32")
    scale = np.float32(factor)
    model = Model.single(
        "FULLY_CONNECTED",
        [
            Tensor([5, 3], dtype, scale=scale, zero_point=zero),
            Tensor.constant(np.full((columns, 3), zero + 1, dtype), scale=1.0, zero_point=zero),
            Tensor.constant(bias, scale=scale, zero_point=0),
        ],
        [Tensor([5, columns], dtype, scale=1.0, zero_point=zero)],
    )
    x = (np.arange(15).reshape(5, 3) % 7 + zero).astype(dtype)
    check(ISAS, model.to_bytes(), [x], experimental_op_resolver_type=OpResolverType.BUILTIN_REF)


@pytest.mark.parametrize("exponent", [-1, 0, 19, 20, 24])
@pytest.mark.parametrize("zero_point", [-128, -1, 0, 1, 127])
def test_scales_in_double(zero_point, exponent):
    """Halves, and what does not fit an int32, on either side of its limits: the zero point is added to that, and wraps."""
    sums = np.concatenate([np.arange(-2050, 2051, 1), [-(10**6), 10**6]]).astype(np.int32)
    x = Tensor([1, 1], "int8", scale=1.0)
    w = Tensor.constant(np.zeros([sums.size, 1], np.int8), scale=1.0)
    y = Tensor([1, sums.size], "int8", scale=2.0**-exponent, zero_point=zero_point)
    bias = Tensor.constant(sums, scale=1.0)
    blob = Model.single("FULLY_CONNECTED", [x, w, bias], [y], 4).to_bytes()
    check(ISAS, blob, [np.zeros([1, 1], np.int8)], experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
