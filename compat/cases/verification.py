"""NumericVerify: the difference of a quantized tensor and a float32 one, with and without a tolerance."""

import numpy as np
from flatbuffers import flexbuffers

from ..builder import Model, Tensor
from . import cases

_VARIANTS = ("random", "constant", "checked", "failing", "zero point")


@cases("NumericVerify", dtypes=("int8", "uint8", "int16", "float16"), variants=_VARIANTS)
@cases("NumericVerify", dtypes=("int8", "uint8"), variants=("per channel",))
@cases("NumericVerify", dtypes=("float32", "int32"), variants=("wrong type",))
def numeric_verify(d):
    """In "checked" the reference is at most half a step away, in "failing" it is not, as always from float16, which has no steps; other
    types are refused."""
    shape = [d.between(1, 3), d.between(1, 40)]
    x = d.tensor(shape)
    if d.variant == "per channel":
        x.scale, x.zero_point, x.axis = [d.scale() for _ in range(shape[1])], [d.between(0, 20)] * shape[1], 1
    if d.variant == "zero point" and d.dtype == "int16":
        x.zero_point = d.between(-99, 99)
    values = d.values(x)
    if d.variant == "constant":
        x.data = values
    reference, y = Tensor(shape, "float32"), Tensor(shape, "float32")
    options = {"tolerance": float(d.uniform(0.6, 2)), "log_if_failed": d.variant in ("checked", "failing")}
    if d.variant == "random":
        options = {"tolerance": d.choice(5, 0.05), "log_if_failed": False}
    model = Model.single("NumericVerify", [x, reference], [y], custom_options=bytes(flexbuffers.Dumps(options)))

    def feed():
        given = values if x.data is not None else d.values(x)
        if d.variant not in ("checked", "failing") or d.dtype == "float16":
            near = d.normal(shape)
        else:
            near = ((given.astype(float) - (x.zero_point or 0)) * x.scale).astype(np.float32)
            near += x.scale * (d.rng.uniform(-0.5, 0.5, shape) if d.variant == "checked" else d.choice(-3, 3))
        near = near.astype(np.float32)
        return [near] if x.data is not None else [given, near]

    fails = d.variant == "failing" or (d.variant == "checked" and d.dtype == "float16")
    return d.case(model, feed, refused=fails or d.variant == "wrong type")
