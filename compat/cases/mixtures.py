"""Products of every mixture of types: FULLY_CONNECTED, CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV.

The type label is "input x weights + bias -> output". What TensorFlow refuses is refused here, too; many mixtures it takes and
computes from memory that is not theirs: see compat.deviations.
"""

from itertools import product

import numpy as np

from ..builder import Model, Tensor
from . import cases

_INPUTS, _WEIGHTS = ("float32", "int8", "uint8", "int16"), ("float32", "int8", "uint8", "int16", "int4")
_BIASES, _OUTPUTS = ("none", "float32", "int32", "int64"), ("float32", "int8", "uint8", "int16")
_LABELS = tuple(
    f"{x} x {w} + {b} -> {y}"
    for x, w, b, y in product(_INPUTS, _WEIGHTS, _BIASES, _OUTPUTS)
    if (x == "float32") == (y == "float32") or x == "int8"
)
_QUANTIZATION = {"float32": {}, "int8": (0.05, 3), "uint8": (0.05, 130), "int16": (0.001, 0)}


def _tensor(shape, dtype):
    given = _QUANTIZATION[dtype]
    return Tensor(shape, dtype, **({"scale": np.float32(given[0]), "zero_point": given[1]} if given else {}))


def _weights(d, shape, dtype):
    if dtype == "float32":
        return Tensor.constant(d.normal(shape, 0.4))
    if dtype == "int4":
        return Tensor.constant(d.integers("int8", shape, -7, 7), dtype="int4", scale=np.float32(0.02), zero_point=0)
    return Tensor.constant(d.integers(dtype, shape), scale=np.float32(0.02), zero_point=128 if dtype == "uint8" else 0)


@cases("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", dtypes=_LABELS, variants=("mixture",))
def mixture(d):
    kinds, output = d.dtype.split(" -> ")
    kinds, bias = kinds.split(" + ")
    kind, weight = kinds.split(" x ")
    n = 4
    shapes = {
        "FULLY_CONNECTED": ([2, 6], [n, 6], [2, n]),
        "CONV_2D": ([1, 3, 3, 2], [n, 2, 2, 2], [1, 3, 3, n]),
        "DEPTHWISE_CONV_2D": ([1, 3, 3, n], [1, 2, 2, n], [1, 3, 3, n]),
        "TRANSPOSE_CONV": ([1, 3, 3, 2], [n, 2, 2, 2], [1, 3, 3, n]),
    }[d.op]
    x, w, y = _tensor(shapes[0], kind), _weights(d, shapes[1], weight), _tensor(shapes[2], output)
    inputs = [x, w]
    if bias == "float32":
        inputs.append(Tensor.constant(d.normal([n])))
    elif bias != "none":
        scale = np.float32((x.scale or 0.05) * (w.scale or 0.02))
        inputs.append(Tensor.constant(d.integers(bias, [n], -999, 999), scale=scale, zero_point=0))
    options = {} if d.op == "FULLY_CONNECTED" else {"stride_w": 1, "stride_h": 1, "padding": "SAME"}
    if d.op == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    if d.op == "TRANSPOSE_CONV":
        inputs = [Tensor.constant(np.array(y.shape, np.int32)), w, x, *inputs[2:]]
    versions = {"FULLY_CONNECTED": 12, "CONV_2D": 8, "DEPTHWISE_CONV_2D": 7, "TRANSPOSE_CONV": 5}
    return d.case(Model.single(d.op, inputs, [y], versions[d.op], **options), lambda: [d.values(x)], refused=None)
