"""SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION. SOFTMAX's type label may be "from-to"."""

import numpy as np

from ..builder import Model
from . import cases

_SOFTMAX_OUTPUT = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}


@cases("SOFTMAX", dtypes=("float32", "int8", "uint8", "int16"), variants=("random", "flat", "special", "one value"))
@cases("SOFTMAX", dtypes=("int8-int16", "uint8-int16"), variants=("random", "flat"))
@cases("SOFTMAX", dtypes=("int8", "uint8", "int8-int16", "uint8-int16"), variants=("long rows",))
@cases("SOFTMAX", dtypes=("float32", "int8", "uint8", "int16", "int8-int16", "uint8-int16"), variants=("many rows",))
@cases("SOFTMAX", dtypes=("float32", "int8"), variants=("zero batch",))
@cases("SOFTMAX", dtypes=("int8", "uint8", "int8-int16", "uint8-int16"), variants=("wrapping sum",))
def softmax(d):
    source, target = (d.dtype.split("-") * 2)[:2]
    shape = d.rows(d.between(0, 3), 4, 1 if d.variant == "one value" else 40)
    if d.variant == "zero batch":
        shape = [0, 5]
    if d.variant == "long rows":
        shape = [d.between(1, 3), d.between(300, 1100)]
    if d.variant == "many rows":
        shape = [d.between(250, 1200), d.choice(1, 2, 2, 3, d.between(4, 30))]
    x, y = d.tensor(shape, source), d.tensor(shape, target)
    if y.scale is not None:
        y.scale, y.zero_point = _SOFTMAX_OUTPUT[target]
        x.scale = np.float32(x.scale * d.choice(1, 8))
    if d.variant == "wrapping sum":
        shape[-1] = d.between(8700, 18000)
        x.scale = np.float32(d.choice(0.002, 0.05, 0.2) if target == "int16" else 0.2)
        x.shape, y.shape = shape, shape
    model = Model.single("SOFTMAX", [x], [y], 3, beta=float(d.choice(1, 1, 0.5, 2)))
    if d.variant == "wrapping sum":
        return d.case(model, lambda: [_wrapping(d, d.values(x), all_sums=target == "int16")])
    return d.case(model, lambda: [_flat(d, d.values(x))])


def _flat(d, values):
    """In the variant "flat": close together, so that no value swallows the others."""
    if d.variant != "flat":
        return values
    return (values / 8).astype(values.dtype)


def _wrapping(d, values, all_sums):
    """Rows whose sums of exponentials wrap: they are signed fractions of 2^13. The reference kernels abort where 8-bit outputs have a sum
    of 512 and more: without `all_sums` 2^13 values of a row, or twice as many, and up to 500 others are its maximum, the rest far below.
    """
    info = np.iinfo(values.dtype)
    for row in values.reshape(-1, values.shape[-1]):
        if all_sums and d.flag(0.5):
            continue
        row[...] = info.min
        tops = d.between(1, len(row) // 8192) * 8192 + d.between(1, 500)
        row[d.rng.permutation(len(row))[:tops]] = info.max
    return values


@cases("LOG_SOFTMAX", dtypes=("int8", "uint8"), variants=("wrapping sum",))
@cases("LOG_SOFTMAX", dtypes=("float32", "int8", "uint8"), variants=("random", "flat", "special", "many rows"))
def log_softmax(d):
    shape = d.rows(d.between(0, 3), 4, 30)
    if d.variant == "many rows":
        shape = [d.between(250, 1200), d.choice(1, 1, 2, 3, d.between(4, 20))]
    if d.variant == "wrapping sum":
        shape[-1] = d.between(8700, 18000)
    x, y = d.tensor(shape), d.tensor(shape)
    if y.scale is not None:
        y.scale, y.zero_point = np.float32(16 / 256), {"int8": 127, "uint8": 255}[d.dtype]
        x.scale = np.float32(x.scale * d.choice(1, 8))
    model = Model.single("LOG_SOFTMAX", [x], [y], 2)
    if d.variant == "wrapping sum":
        return d.case(model, lambda: [_wrapping(d, d.values(x), all_sums=True)])
    return d.case(model, lambda: [_flat(d, d.values(x))])


@cases("L2_NORMALIZATION", dtypes=("float32", "int8", "uint8"), variants=("random", "special", "zeros"))
def l2_normalization(d):
    shape = d.rows(d.between(0, 3), 4, 20)
    x, y = d.tensor(shape), d.tensor(shape)
    if y.scale is not None:
        y.scale, y.zero_point = np.float32(1 / 128), {"int8": 0, "uint8": 128}[d.dtype]

    def feed():
        values = d.values(x)
        if d.variant == "zeros":
            values[..., : d.between(1, shape[-1])] = x.zero_point or 0
        return [values]

    return d.case(Model.single("L2_NORMALIZATION", [x], [y], 2), feed)


@cases("LOCAL_RESPONSE_NORMALIZATION", dtypes=("float32",), variants=("random", "special"))
def local_response_normalization(d):
    shape = d.shape(4, 7)
    x, y = d.tensor(shape), d.tensor(shape)
    options = {name: float(d.uniform(0.1, 2)) for name in ("bias", "alpha", "beta")}
    return d.case(Model.single(d.op, [x], [y], radius=d.between(0, 4), **options), lambda: [d.values(x)])
