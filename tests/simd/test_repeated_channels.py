"""Depthwise convolutions whose input channels each have several outputs, as the scalar definitions have them, whatever the multiplier."""

import numpy as np
import pytest

from compat.builder import Tensor
from tests.simd.instruction_sets import ISAS, check
from tests.simd.products_i8 import node, weights
from tflm_cy.experimental import OpResolverType


@pytest.mark.parametrize("x_type", ["uint8", "float32"])
@pytest.mark.parametrize("multiplier", [2, 3, 5, 8, 9, 16, 17, 33])
def test_repeated_channels(x_type, multiplier):
    rng = np.random.default_rng(multiplier)
    for channels in (1, 3, 8, 16, 21, 37):
        outputs = channels * multiplier
        w = weights(rng, x_type, [1, 3, 2, outputs], outputs, 3)
        if x_type == "float32":  # which wants a scale per channel
            scales = np.resize(w.scale, outputs).tolist()
            w = Tensor.constant(w.data, scale=scales, zero_point=[0] * outputs, axis=3)
        options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": multiplier}
        blob, feeds = node(
            rng, "DEPTHWISE_CONV_2D", x_type, [2, 5, 6, channels], [2, 5, 6, outputs], w, outputs, 6, 3, **options
        )
        check(ISAS, blob, feeds, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
