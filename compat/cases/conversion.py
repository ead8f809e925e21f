"""QUANTIZE, DEQUANTIZE and CAST: every pair of types that TensorFlow takes. The type label is "from-to"."""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .draw import SPECIAL_FLOATS

_FROM_FLOAT = ("float32-int8", "float32-uint8", "float32-int16")
_BETWEEN = (
    *("int8-int8", "int8-uint8", "uint8-int8", "uint8-uint8"),
    *("int16-int8", "int16-int16", "int16-int32", "int32-int8", "int32-int16"),
)
_NUMBERS = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


@cases("QUANTIZE", dtypes=_FROM_FLOAT, variants=("random", "ties", "special", "zero size"))
@cases("QUANTIZE", dtypes=("float32-int8", "float32-uint8"), variants=("per channel",))
@cases("QUANTIZE", dtypes=_BETWEEN, variants=("random", "same scale", "halves"))
@cases("QUANTIZE", dtypes=("int8-int16",), variants=("refused",))
def quantize(d):
    source, target = d.dtype.split("-")
    shape = [0, 3] if d.variant == "zero size" else d.shape(d.between(1, 4), 9)
    y = d.tensor(shape, target)
    if source == "float32":
        if d.variant == "per channel":
            y.axis = d.between(0, len(shape) - 1)
            y.scale = [d.scale() for _ in range(shape[y.axis])]
            y.zero_point = d.integers("int32", [shape[y.axis]], 0, 50)
        step = np.float32(np.mean(y.scale))
        return d.case(Model.single("QUANTIZE", [Tensor(shape, source)], [y], 3), lambda: [_floats(d, shape, step)])
    x = d.tensor(shape, source)
    if source == "int32":
        x.scale, x.zero_point = d.uniform(1e-5, 1e-4), 0
    if target == "int32":
        y.scale, y.zero_point = np.float32(x.scale / d.uniform(1, 500)), 0
    if d.variant == "same scale":
        y.scale = x.scale
        if {source, target} == {"int8", "uint8"}:
            x.zero_point = d.between(-100, 100) + (0 if source == "int8" else 128)
            x.zero_point = max(0, x.zero_point) if source == "uint8" else x.zero_point
            y.zero_point = x.zero_point + (128 if source == "int8" else -128)

    def feed():
        return [d.integers("int32", shape, -200000, 200000) if source == "int32" else d.values(x)]

    return d.case(Model.single("QUANTIZE", [x], [y], 2), feed, refused=d.variant == "refused")


def _floats(d, shape, step):
    """Floats around the type's range; "ties" lie halfway between two steps."""
    if d.variant == "ties":
        return ((d.rng.integers(-150, 150, shape) + 0.5) * step).astype(np.float32)
    if d.variant == "special":
        return d.special_floats(shape)
    return d.normal(shape, float(step) * 80)


@cases("DEQUANTIZE", dtypes=("int8-float32", "uint8-float32", "int16-float32"), variants=("random", "special"))
@cases("DEQUANTIZE", dtypes=("int8-float32", "uint8-float32"), variants=("per channel",))
@cases("DEQUANTIZE", dtypes=("int4-float32", "float16-float32"), variants=("constant",))
@cases("DEQUANTIZE", dtypes=("float16-float32",), variants=("random", "special"))
def dequantize(d):
    source = d.dtype.split("-")[0]
    shape = d.shape(d.between(1, 4), 9)
    x = Tensor(shape, source, scale=d.scale(), zero_point=0) if source == "int4" else d.tensor(shape, source)
    if d.variant == "per channel":
        x.axis = d.between(0, len(shape) - 1)
        x.scale = [d.scale() for _ in range(shape[x.axis])]
        x.zero_point = d.integers("int32", [shape[x.axis]], 0, 50)
    if d.variant != "constant":
        return d.case(Model.single("DEQUANTIZE", [x], [Tensor(shape, "float32")], 5), lambda: [d.values(x)])
    x.data = d.values(x)
    refused = None if source == "float16" else False  # the delegate cannot invoke constants alone
    return d.case(Model.single("DEQUANTIZE", [x], [Tensor(shape, "float32")], 6), refused=refused)


@cases("CAST", dtypes=[f"{a}-{b}" for a in _NUMBERS for b in _NUMBERS if a != b])
@cases(
    "CAST", dtypes=[f"float32-{b}" for b in ("int8", "uint8", "int16", "int32", "int64", "bool")], variants=("special",)
)
@cases("CAST", dtypes=("float16-float32", "float32-float16", "float32-float64", "float64-float32", "uint32-float32"))
@cases(
    "CAST", dtypes=("float32-uint32", "int32-uint32", "int64-uint32", "uint16-int32", "int32-uint16", "float32-uint16")
)
def cast(d):
    source, target = d.dtype.split("-")
    shape = d.shape(d.between(0, 4), 7)
    extremes = np.array([3e9, -3e9, 300, -129, 2.9, -2.9, 0.5, -0.5, 1e20, 65536.5, -32769.0, 255.99], np.float32)

    def feed():
        if source == "float32":
            picked = np.concatenate([SPECIAL_FLOATS, extremes]) if d.variant == "special" else extremes[3:8]
            values = np.where(d.rng.random(shape) < 0.5, d.rng.choice(picked, shape), d.normal(shape, 60))
            return [values.astype(np.float32)]
        return [d.values(shape, source)]

    return d.case(
        Model.single(
            "CAST",
            [Tensor(shape, source)],
            [Tensor(shape, target)],
            1,
            in_data_type=source.upper(),
            out_data_type=target.upper(),
        ),
        feed,
    )
