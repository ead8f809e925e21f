"""Operators of one operand, value by value: activations, elementary functions, PRELU with its alphas.

8-bit and 16-bit types are fed every value that they have.
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_ONLY_POSITIVE = ("RSQRT", "SQRT")
_SIMPLE = ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "TANH")
_FLOATS = ("EXP", "LOG", "SQRT", "RSQRT", "ABS", "NEG", "SIN", "COS", "FLOOR", "SQUARE")


@cases(*_SIMPLE, *_FLOATS, dtypes=("float32",), variants=("random", "wide", "special", "zero size"))
@cases("ABS", "NEG", dtypes=("int32",), variants=("random", "special"))
@cases("NEG", dtypes=("int64", "int8", "int16"), variants=("random",))
@cases("FLOOR", "NEG", "LOGISTIC", "TANH", dtypes=("float16",), variants=("random", "special"))
@cases("ABS", "RELU", "RELU6", "RELU_N1_TO_1", "SQUARE", dtypes=("float16",), variants=("random", "special"))
def function(d):
    shape = [3, 0, 2] if d.variant == "zero size" else d.shape(d.between(1, 5), 6)
    x, y = Tensor(shape, d.dtype), Tensor(shape, d.dtype)
    options = {"alpha": float(d.uniform(-0.5, 1.5))} if d.op == "LEAKY_RELU" else {}

    def feed():
        values = d.values(x)
        if d.variant == "wide":
            x_values = np.concatenate(
                [d.rng.uniform(-110, 110, 600), d.rng.standard_normal(600) * 4, np.arange(-9, 10)]
            )
            values = np.resize(d.rng.permutation(x_values), shape).astype(np.float32)
        if d.op in ("LOG", *_ONLY_POSITIVE) and d.variant != "special":
            values = np.abs(values) + np.float32(1e-6)
        return [values.astype(d.dtype)]

    if d.variant == "wide":
        shape[:] = x.shape[:] = y.shape[:] = [1500]
    refused = None if d.dtype == "float16" else False  # most of them the delegate alone takes
    return d.case(Model.single(d.op, [x], [y], **options), feed, refused=refused)


@cases("CEIL", "ELU", "ROUND", dtypes=("float32",), variants=("random", "wide"))
def not_in_reference(d):
    """Operators that BUILTIN_REF does not have; the other resolvers do."""
    x, y = Tensor([1500], "float32"), Tensor([1500], "float32")

    def feed():
        spread = 30 if d.variant == "wide" else 3
        halves = d.rng.integers(-20, 20, 1500) + np.float32(0.5)
        return [np.where(d.rng.random(1500) < 0.2, halves, d.normal([1500], spread)).astype(np.float32)]

    return d.case(Model.single(d.op, [x], [y]), feed, refused=None)


@cases("GELU", dtypes=("float32", "int8", "uint8", "int16"), variants=("approximate",))
@cases("GELU", dtypes=("float32", "int8", "uint8", "int16"), variants=("exact",))
@cases("GELU", dtypes=("float32",), variants=("special exact",))
def gelu(d):
    limits = (0, 0) if d.dtype == "float32" else (np.iinfo(d.dtype).min, np.iinfo(d.dtype).max + 1)
    everything = np.arange(*limits).astype(d.dtype)
    shape = [d.between(1, 1500)] if d.dtype == "float32" else everything.shape
    x, y = d.tensor(shape), d.tensor(shape)
    if d.variant == "special exact":
        return d.case(Model.single("GELU", [x], [y], 2), lambda: [d.values(x)])
    model = Model.single("GELU", [x], [y], 2, approximate=d.variant == "approximate")
    return d.case(model, lambda: [d.normal(shape, 3) if d.dtype == "float32" else d.rng.permutation(everything)])


@cases("RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH", dtypes=("int8", "uint8", "int16"), variants=("every value",))
@cases("HARD_SWISH", "RELU_N1_TO_1", "RELU_0_TO_1", dtypes=("int8", "uint8"), variants=("every value",))
@cases("ABS", "EXP", "LOG", "RSQRT", "SQRT", dtypes=("int8", "int16"), variants=("every value",))
@cases("LOGISTIC", "TANH", dtypes=("int16",), variants=("power of two",))
@cases("ABS", "RELU", dtypes=("int8", "int16"), variants=("same scale",))
@cases("LEAKY_RELU", dtypes=("int8", "uint8", "int16"), variants=("alpha above one",))
@cases("RELU", "RELU6", "LEAKY_RELU", dtypes=("int8", "uint8", "int16"), variants=("halves",))
@cases("HARD_SWISH", dtypes=("int8", "uint8"), variants=("halves",))
def quantized(d):
    limits = np.iinfo(d.dtype)
    everything = np.arange(limits.min, limits.max + 1).astype(d.dtype)
    x, y = d.tensor(everything.shape), d.tensor(everything.shape)
    if d.variant == "power of two":
        x.scale = np.float32(2.0 ** -d.between(11, 13))
    elif d.dtype == "int16" and d.op in ("LOGISTIC", "TANH"):
        x.scale = d.uniform(1e-5, 3e-3)
    if d.op in ("LOGISTIC", "TANH") and (d.op == "LOGISTIC" or d.dtype == "int16" or d.flag()):
        y.scale, y.zero_point = _unit_output(d)
    options = {}
    if d.op == "LEAKY_RELU":
        low, high = (1.0, 2.5) if d.variant == "alpha above one" else (0.01, 1.0)
        options["alpha"] = float(d.uniform(low, high) * d.choice(1, 1, -1))
    if d.op == "HARD_SWISH":
        y.scale = max(x.scale, y.scale)
    if d.op == "EXP":
        y.scale = d.uniform(0.01, 0.5) if d.dtype == "int8" else d.uniform(1e-4, 1e-2)
    if d.op in _ONLY_POSITIVE:
        everything = everything[everything >= x.zero_point]
        x.shape = y.shape = list(everything.shape)
        y.scale = d.uniform(0.01, 0.2) if d.dtype == "int8" else y.scale
    if d.variant == "same scale":
        y.scale, y.zero_point = x.scale, x.zero_point
    model = Model.single(d.op, [x], [y], _quantized_version(d), **options)
    return d.case(model, lambda: [d.rng.permutation(everything)])


def _unit_output(d):
    """The output parameters that LOGISTIC and TANH insist on."""
    if d.dtype == "int16":
        return np.float32(2.0**-15), 0
    one = 256 if d.op == "LOGISTIC" else 128
    lowest = {"int8": -128, "uint8": 0}[d.dtype]
    return np.float32(1 / one), lowest if d.op == "LOGISTIC" else lowest + 128


def _quantized_version(d):
    if d.op in ("HARD_SWISH", "RELU_N1_TO_1", "RELU_0_TO_1"):
        return 1
    return 3 if d.dtype == "int16" and d.op in ("LOGISTIC", "TANH") else 2


@cases("RSQRT", "SQRT", dtypes=("int8",), variants=("negative",))
def negative_root(d):
    """A value below the zero point has no root: refused while invoking."""
    x, y = d.tensor([4], zero_point=0), d.tensor([4])
    values = np.array([-1, 2, 3, 4], "int8")
    return d.case(Model.single(d.op, [x], [y], 2), lambda: [values], refused=True)


@cases("LOGISTIC", dtypes=("int8", "int16"), variants=("wrong output scale",))
def wrong_output_scale(d):
    x, y = d.tensor([4]), d.tensor([4])
    y.scale = np.float32(0.01)
    return d.case(Model.single("LOGISTIC", [x], [y], 3), lambda: [d.values(x)], refused=None)  # the delegate takes it


@cases("ABS", "CEIL", "COS", "EXP", "FLOOR", "HARD_SWISH", "NEG", dtypes=("float16",), variants=("every value",))
@cases("RELU", "RELU6", "RELU_N1_TO_1", "ROUND", "RSQRT", "SIN", "SQRT", dtypes=("float16",), variants=("every value",))
@cases("SQUARE", "LOGISTIC", "TANH", dtypes=("float16",), variants=("every value",))
@cases("GELU", dtypes=("float16",), variants=("every value exact", "every value approximate"))
def half(d):
    """All 65,536 patterns, NaN included, and a few more so that there is a tail; most operators only run in the delegate."""
    everything = np.arange(65536 + d.between(0, 9)).astype(np.uint16).view(np.float16)
    x, y = Tensor(everything.shape, "float16"), Tensor(everything.shape, "float16")
    options = {"approximate": True} if d.variant.endswith("approximate") else {}
    model = Model.single(d.op, [x], [y], 3 if d.op in ("LOGISTIC", "TANH") else 1, **options)
    return d.case(model, lambda: [d.rng.permutation(everything)], refused=None)


@cases("PRELU", dtypes=("float32", "int8", "uint8", "int16"), variants=("random", "one alpha", "special"))
@cases("PRELU", dtypes=("int8", "uint8", "int16"), variants=("halves",))
def prelu(d):
    shape = d.shape(4, 6)
    alpha_shape = [1, 1, 1] if d.variant == "one alpha" else [1 if d.flag() else n for n in shape[1:]]
    alpha_type = "int8" if d.dtype == "int16" else d.dtype  # an int16 alpha is accepted by TensorFlow, and misread
    x, y, alpha = d.tensor(shape), d.tensor(shape), d.tensor(alpha_shape, alpha_type)
    alpha.data = d.values(alpha)
    return d.case(Model.single("PRELU", [x, alpha], [y]), lambda: [d.values(x)])
