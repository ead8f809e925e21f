"""NaN, infinities, numbers whose differences overflow: every family with floats on every instruction set against the scalar definition.

TFLM_CY_KERNEL_CASES=1000 pytest tests/simd/test_special_values.py

The draws are those of the families' own tests; feeds and constants then get special values, at any lane (compat/cases/special_values.py).
"""

import functools

import numpy as np
import pytest

from compat.builder import read_model, write_model
from compat.builder.schema import ENUMS
from compat.cases.special_values import scattered
from tests.draws import KERNEL_CASES
from tests.machine import delegated
from tflm_cy.experimental import OpResolverType

from . import float32, products_i8
from .instruction_sets import ISAS, check, telling
from .test_elementwise_i8 import draw_one

modes = pytest.mark.parametrize(
    "mode",
    [
        pytest.param(OpResolverType.AUTO, marks=delegated, id="delegate"),
        pytest.param(OpResolverType.BUILTIN_REF, id="reference"),
        pytest.param(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, id="optimized"),
    ],
)
FLOATS = {ENUMS["TensorType"]["FLOAT32"]: np.float32, ENUMS["TensorType"]["FLOAT16"]: np.float16}


def with_special_constants(rng, blob):
    """The model, its constants of floats with special values now and then."""
    if rng.random() < 0.6:
        return blob
    model = read_model(blob)
    for tensor in model["subgraphs"][0]["tensors"]:
        data = model["buffers"][tensor["buffer"]].get("data")
        if tensor["type"] in FLOATS and data is not None and len(data) and rng.random() < 0.5:
            values = np.frombuffer(bytes(data), FLOATS[tensor["type"]])
            model["buffers"][tensor["buffer"]] = {"data": scattered(rng, values.reshape(tensor["shape"])).tobytes()}
    return write_model(model)


def check_all(draw, mode, cases=KERNEL_CASES):
    refused = 0
    for seed in range(cases):
        rng = np.random.default_rng(seed)
        blob, feeds = draw(rng)
        blob = with_special_constants(rng, blob)
        try:
            with telling(f"seed {seed}"):
                check(ISAS, blob, [scattered(rng, feed) for feed in feeds], experimental_op_resolver_type=mode)
        except RuntimeError as error:  # hybrid filters with groups and one scale, which only the delegate takes
            if "scales along dimension" not in str(error):
                raise
            refused += 1
    assert refused <= cases // 5


@modes
@pytest.mark.parametrize("op", float32.DRAWS)
def test_floats(op, mode, monkeypatch):
    monkeypatch.setenv("TFLM_CY_L1D", "32768")
    draw = float32.DRAWS[op]
    if op == "unary" and mode == OpResolverType.BUILTIN_REF:
        draw = functools.partial(draw, names=[name for name in float32.UNARY if name not in float32.NOT_IN_REFERENCE])
    check_all(draw, mode, float32.share(op, KERNEL_CASES))


@modes
@pytest.mark.parametrize("op", [op for op in products_i8.DRAWS if not op.startswith("DEPTHWISE_CONV_2D")])
def test_rows_quantized_on_the_way(op, mode):
    check_all(lambda rng: products_i8.DRAWS[op](rng, "float32"), mode)


@modes
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantize(dtype, mode):
    check_all(lambda rng: draw_one(rng, dtype, "QUANTIZE_F32"), mode)
