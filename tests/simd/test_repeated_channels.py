"""Depthwise convolutions whose input channels each have several outputs, as the scalar definitions have them, whatever the multiplier."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.simd.instruction_sets import ISAS, check
from tflm_cy.experimental import OpResolverType


def model(x_type, channels, multiplier, rng):
    outputs = channels * multiplier
    quantized = x_type == "uint8"
    x, y = (
        Tensor([2, 5, 6, n], x_type, **({"scale": scale, "zero_point": 7} if quantized else {}))
        for n, scale in ((channels, 0.1), (outputs, 0.5))
    )
    w_type, low, high = ("uint8", 0, 256) if quantized else ("int8", -127, 128)
    scales = [0.02] if quantized else list(rng.uniform(0.01, 0.03, outputs))
    values = rng.integers(low, high, [1, 3, 2, outputs]).astype(w_type)
    zeros = [99 if quantized else 0] * len(scales)
    w = Tensor(values.shape, w_type, data=values, scale=scales, zero_point=zeros, axis=3)
    options = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "padding": "SAME"}
    feed = rng.integers(0, 256, x.shape).astype(x_type) if quantized else rng.normal(0, 3, x.shape).astype("float32")
    return Model.single("DEPTHWISE_CONV_2D", [x, w], [y], depth_multiplier=multiplier, **options).to_bytes(), [feed]


@pytest.mark.parametrize("x_type", ["uint8", "float32"])
@pytest.mark.parametrize("multiplier", [2, 3, 5, 8, 9, 16, 17, 33])
def test_repeated_channels(x_type, multiplier):
    rng = np.random.default_rng(multiplier)
    for channels in (1, 3, 8, 16, 21, 37):
        blob, feeds = model(x_type, channels, multiplier, rng)
        check(ISAS, blob, feeds, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
