"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV of int16 images on every instruction set against the scalar definition: odd depths, groups,
strides, filters whose sums need more than 32 bits, channels of several outputs, and both widths of the bias.
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from .instruction_sets import ISAS, check, telling

MODES = [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]


def weights(rng, shape, heavy):
    """heavy: so many large ones that an int32 does not hold their sum with int16 values."""
    low, high = (100, 128) if heavy else (-127, 128)
    return rng.integers(low, high, shape).astype(np.int8)


def bias_of(rng, channels, narrow):
    kind = np.int32 if narrow else np.int64
    return rng.integers(-(1 << 20), 1 << (20 if narrow else 36), channels).astype(kind)


def scales_of(rng, channels):
    return [float(np.float32(10.0 ** rng.uniform(-4, -2))) for _ in range(channels if rng.random() < 0.6 else 1)]


def draw_conv(rng):
    groups, heavy, narrow = int(rng.choice([1, 1, 1, 2, 3])), rng.random() < 0.2, rng.random() < 0.5
    ic, oc = groups * int(rng.integers(1, 20)), groups * int(rng.integers(1, 40))
    kh, kw = (int(rng.integers(1, 4)) for _ in range(2))
    if heavy:
        groups, ic, kh, kw = 1, int(rng.integers(650, 900)), 1, 1
    strides = [int(rng.integers(1, 4)) for _ in range(2)]
    shape = [int(rng.integers(1, 3)), int(rng.integers(kh, kh + 9)), int(rng.integers(kw, kw + 9)), ic]
    oh, ow = (-(-size // stride) for size, stride in zip(shape[1:3], strides, strict=True))
    values = weights(rng, (oc, kh, kw, ic // groups), heavy)
    scales = scales_of(rng, oc)
    x = Tensor(shape, "int16", scale=0.01, zero_point=0)
    w = Tensor(values.shape, "int8", data=values, scale=scales, zero_point=[0] * len(scales))
    bias = bias_of(rng, oc, narrow)
    b = Tensor([oc], str(bias.dtype), data=bias, scale=[0.01 * s for s in scales], zero_point=[0] * len(scales))
    y = Tensor([shape[0], oh, ow, oc], "int16", scale=float(10.0 ** rng.uniform(-3, 1)), zero_point=0)
    options = {"stride_h": strides[0], "stride_w": strides[1], "quantized_bias_type": "INT32" if narrow else "INT64"}
    activation = int(rng.integers(0, 4))
    model = Model.single("CONV_2D", [x, w, b], [y], padding=0, fused_activation_function=activation, **options)
    return model.to_bytes(), [rng.integers(-32768, 32768, shape).astype(np.int16)]


def draw_transposed(rng):
    heavy, narrow = rng.random() < 0.2, rng.random() < 0.5
    ic, oc = int(rng.integers(1, 20)) if not heavy else int(rng.integers(650, 900)), int(rng.integers(1, 40))
    kh, kw = (int(rng.integers(1, 5)) for _ in range(2))
    strides = [int(rng.integers(1, 4)) for _ in range(2)]
    batches, oh, ow = int(rng.integers(1, 3)), int(rng.integers(kh, kh + 9)), int(rng.integers(kw, kw + 9))
    shape = [batches, -(-oh // strides[0]), -(-ow // strides[1]), ic]
    values = weights(rng, (oc, kh, kw, ic), heavy)
    scales = scales_of(rng, oc)
    size = Tensor([4], "int32", data=np.array([batches, oh, ow, oc], np.int32))
    w = Tensor(values.shape, "int8", data=values, scale=scales, zero_point=[0] * len(scales))
    x = Tensor(shape, "int16", scale=0.01, zero_point=0)
    bias = bias_of(rng, oc, narrow)
    b = Tensor([oc], str(bias.dtype), data=bias, scale=[0.01 * s for s in scales], zero_point=[0] * len(scales))
    y = Tensor([batches, oh, ow, oc], "int16", scale=float(10.0 ** rng.uniform(-3, 1)), zero_point=0)
    options = {"stride_h": strides[0], "stride_w": strides[1], "quantized_bias_type": "INT32" if narrow else "INT64"}
    model = Model.single("TRANSPOSE_CONV", [size, w, x, b], [y], padding=0, **options)
    return model.to_bytes(), [rng.integers(-32768, 32768, shape).astype(np.int16)]


def draw_depthwise(rng):
    """Channels of one or several outputs, an only channel, and filters of so many taps that an int32 might not hold their sum."""
    many = rng.random() < 0.1
    ic, multiplier = (1 if rng.random() < 0.2 else int(rng.integers(2, 40))), int(rng.choice([1, 1, 1, 2, 3, 8]))
    kh, kw = (23, 23) if many else (int(rng.integers(1, 5)) for _ in range(2))
    strides, dilations = ([int(v) for v in rng.integers(1, 3, 2)] for _ in range(2))
    shape = [int(rng.integers(1, 3)), int(rng.integers(1, 12)), int(rng.integers(1, 12)), 3 if many else ic]
    oc = shape[3] * multiplier
    oh, ow = (-(-size // stride) for size, stride in zip(shape[1:3], strides, strict=True))
    values = weights(rng, (1, kh, kw, oc), many)
    scales = scales_of(rng, oc)
    x = Tensor(shape, "int16", scale=0.01, zero_point=0)
    w = Tensor(values.shape, "int8", data=values, scale=scales, zero_point=[0] * len(scales), axis=3)
    b = Tensor(
        [oc], "int64", data=bias_of(rng, oc, False), scale=[0.01 * s for s in scales], zero_point=[0] * len(scales)
    )
    y = Tensor([shape[0], oh, ow, oc], "int16", scale=float(10.0 ** rng.uniform(-3, 1)), zero_point=0)
    options = {"stride_h": strides[0], "stride_w": strides[1], "depth_multiplier": multiplier}
    options |= {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
    activation = int(rng.integers(0, 4))
    model = Model.single(
        "DEPTHWISE_CONV_2D", [x, w, b], [y], padding=0, fused_activation_function=activation, **options
    )
    return model.to_bytes(), [rng.integers(-32768, 32768, shape).astype(np.int16)]


@pytest.mark.parametrize("mode", MODES, ids=["reference", "optimized"])
@pytest.mark.parametrize("draw", [draw_conv, draw_depthwise, draw_transposed])
def test_columns(draw, mode):
    for seed in range(KERNEL_CASES):
        blob, feeds = draw(np.random.default_rng(seed))
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds, experimental_op_resolver_type=mode)
