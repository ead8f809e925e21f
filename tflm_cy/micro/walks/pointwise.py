"""Operators that treat each element by itself: activations, sums and products, comparisons, conversions."""

import math

import numpy as np

from tflm_cy.micro.walks.walk import Refused, broadcast, single


def one_to_one(w):
    w.counts(1)
    w.open("i0 o0")


def one_of_its_type(w):
    one_to_one(w)
    w.same_type("i0", "o0")


def as_it_is(w):
    """CEIL, EXP, ROUND: float32, and the output has the input's shape."""
    w.counts(1)
    x, _ = w.open("i0 o0")
    w.types("i0", "FLOAT32")
    w.same_type("i0", "o0")
    w.shape("o0", x.shape)


def rescale(w):
    """ABS, RSQRT."""
    w.counts(1)
    x, _ = w.open("i0 o0")
    w.same_type("i0", "o0")
    if x.type == "INT8" or (x.type == "INT16" and x.affine):
        w.quantized("i0 o0")
        if x.type == "INT16":
            w.zero_points("i0 o0")


def relu(w):
    x, _ = w.open("i0 o0")
    if x.type == "INT16":
        w.zero_points("i0 o0")


def relu6(w):
    w.open("i0")


def prelu(w):
    w.open("i0 i1 o0")
    if w.type("o0") == "INT16":
        w.types("i1", "INT8")


def hard_swish(w):
    w.counts(1)
    x, y = w.open("i0 o0")
    if x.type == "INT8":
        with np.errstate(all="ignore"):
            ratio = float(single(1 / 128) * single(x.scale) / single(y.scale))
        w.ensure(
            math.frexp(ratio)[1] <= 0,
            f"input 0's scale {x.scale:g} is more than 128 times output 0's scale {y.scale:g}",
        )


def logistic(w):
    x, y = w.open("i0 o0")
    w.same_type("i0", "o0")
    if x.type == "INT8":
        w.zero_points("o0", -128)
    if x.type == "INT16":
        _sixteen_bits(w, y)


def tanh(w):
    w.open("i0")
    w.counts(1)
    x, _ = w.open("i0 o0")
    w.same_type("i0", "o0")
    if x.type == "INT16":
        _sixteen_bits(w, w.tensor("o0"))


def _sixteen_bits(w, y):
    w.zero_points("i0 o0")
    w.ensure(_power_of_two(y.scale), f"output 0 has scale {y.scale:g}, which is no power of two")
    w.equal("the scale of output 0", round(math.log2(y.scale)), -15)


def _power_of_two(scale):
    """CheckedLog2: within 1e-3."""
    if not scale > 0:
        return False
    log = math.log2(scale)
    return abs(log - round(log)) < 1e-3


def add(w):
    w.open("i0 i1 o0")
    added(w)


def added(w):
    """CalculateOpDataAdd, and what an INT32 sum is refused for."""
    a, b, y = (w.tensor(name) for name in ("i0", "i1", "o0"))
    if y.type in ("INT8", "INT16"):
        if not y.affine:
            raise Refused("output 0 has no scales and zero points; TFLM stops the program")
        twice = 2 * max(a.scale, b.scale)
        _scales(w, a, b, y, twice)
        w.activation_range(y)
    if y.type == "INT32":
        w.not_quantized("i0 i1")


def subtract(w):
    a, b, y = w.open("i0 i1 o0")
    if y.type in ("INT8", "INT16"):
        _scales(w, a, b, y, 2 * max(a.scale, b.scale))
        w.activation_range(y)
    if y.type == "INT32":
        w.not_quantized("i0 i1 o0")


def _scales(w, a, b, y, twice):
    for name, tensor in (("input 0", a), ("input 1", b)):
        w.below_one(tensor.scale / twice if twice else math.nan, f"{name}'s scale over twice the larger input's")
    steps = (1 << (15 if y.type == "INT16" else 20)) * y.scale
    w.below_one(twice / steps if steps else math.nan, "twice the larger input's scale, in fine steps of output 0's")


def multiply(w):
    a, _, y = w.open("i0 i1 o0")
    w.counts(2)
    w.same_type("i0", "i1")
    if y.type in ("INT8", "INT16"):
        w.activation_range(y)
        if a.type == "INT16":
            w.zero_points("i0 i1 o0")


def divide(w):
    _, _, y = w.open("i0 i1 o0")
    w.same_type("i0", "i1", "o0")
    if y.type == "INT8":
        w.activation_range(y)
    if y.type == "INT32":
        w.not_quantized("i0 i1")


def floor_divide(w):
    w.counts(2)
    w.open("i0 i1 o0")
    w.same_type("i0", "i1", "o0")


def squared_difference(w):
    w.counts(2)
    a, b, y = w.open("i0 i1 o0")
    w.same_type("i0", "i1")
    if a.type == "INT8":
        for name, tensor in (("input 0", a), ("input 1", b), ("output 0", y)):
            w.ensure(-128 <= tensor.zero_point <= 127, f"the zero point of {name} is {tensor.zero_point}")
    elif a.type == "INT16":
        w.zero_points("i0 i1 o0")
    else:
        return
    twice = 2.0 * max(a.scale, b.scale)
    for name, tensor in (("input 0", a), ("input 1", b)):
        w.below_one(tensor.scale / twice if twice else math.nan, f"{name}'s scale over twice the larger input's")


def compare(w):
    a, b = w.open("i0 i1")
    if a.type == "INT8":
        w.below_one(a.scale, "the scale of input 0")
        w.below_one(b.scale, "the scale of input 1")


def sum_of_many(w):
    w.ensure(len(w.node.inputs) >= 2, "it has fewer than 2 inputs")
    w.counts(None)
    first, y = w.open("i0 o0")
    w.same_type("o0", "i0")
    for i in range(1, len(w.node.inputs)):
        x = w.open(f"i{i}")
        w.shape(f"i{i}", first.shape)
        w.same_type("i0", f"i{i}")
        if first.type == "INT8":
            w.zero_points(f"i{i}", first.zero_point)
            w.equal(f"the scale of input {i}", x.scale, first.scale)
    w.types("o0", "FLOAT32 INT8")
    if y.type == "INT8":
        w.keep(w.machine.op_data["ADD_N"])
    w.scratch(w.machine.size("pointer") * len(w.node.inputs))
    if y.type == "INT8":
        _fine(w, first, y)


def cumulate(w):
    w.counts(2)
    x, axis = w.open("i0 i1")
    w.types("i0", "FLOAT32 INT8")
    w.types("i1", "INT32")
    w.equal("the number of axes", axis.elements, 1)
    w.ensure(x.rank >= 1, "input 0 is a scalar")
    y = w.open("o0")
    w.same_type("i0", "o0")
    w.shape("o0", x.shape)
    if y.type == "INT8":
        w.keep(w.machine.op_data["CUMSUM"])
        _fine(w, x, y)


def _fine(w, x, y):
    """Sums of int8 in steps of 2^-20 of the output's."""
    twice = 2 * x.scale
    w.below_one(x.scale / twice if twice else math.nan, "half of input 0's scale over itself")
    steps = (1 << 20) * y.scale
    w.below_one(twice / steps if steps else math.nan, "twice input 0's scale, in fine steps of output 0's")


def select(w):
    w.counts(3)
    condition, x, y, z = w.open("i0 i1 i2 o0")
    w.types("i0", "BOOL")
    w.same_type("i1", "i2")
    single_values = all(t.elements == 1 for t in (condition, x, y, z))
    if condition.shape == x.shape == y.shape or single_values:
        return
    shape = broadcast(condition.shape, x.shape, y.shape)
    w.ensure(shape is not None, f"{condition.shape}, {x.shape} and {y.shape} do not broadcast")
    w.shape("o0", shape)


def quantize(w):
    w.counts(1)
    _, y = w.open("i0 o0")
    w.quantized("o0")
    w.ensure(len(y.scales) == 1, f"output 0 has {len(y.scales)} scales; TFLM quantizes with one scale")
    w.types("i0", "FLOAT32 INT32 INT16 INT8 UINT8")
    w.types("o0", "INT8 INT16 INT32 UINT8")


def dequantize(w):
    w.counts(1)
    w.open("i0 o0")
    w.types("i0", "INT8 INT16 UINT8")
    w.types("o0", "FLOAT32")


def nothing(w):
    """Kernels without a prepare."""


WALKS = {
    **dict.fromkeys(
        ["ARG_MAX", "ARG_MIN", "FLOOR", "LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "NEG", "PACK", "UNPACK"],
        nothing,
    ),
    **dict.fromkeys(["CEIL", "EXP", "ROUND"], as_it_is),
    **dict.fromkeys(["COS", "ELU", "LEAKY_RELU", "LOG", "LOGICAL_NOT", "SIN", "SQRT", "SQUARE"], one_of_its_type),
    **dict.fromkeys(["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"], compare),
    **dict.fromkeys(["FLOOR_DIV", "FLOOR_MOD"], floor_divide),
    **dict.fromkeys(["CAST", "ZEROS_LIKE"], one_to_one),
    "ABS": rescale,
    "ADD": add,
    "ADD_N": sum_of_many,
    "CUMSUM": cumulate,
    "DEQUANTIZE": dequantize,
    "DIV": divide,
    "HARD_SWISH": hard_swish,
    "LOGISTIC": logistic,
    "MUL": multiply,
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "RELU": relu,
    "RELU6": relu6,
    "RSQRT": rescale,
    "SELECT_V2": select,
    "SQUARED_DIFFERENCE": squared_difference,
    "SUB": subtract,
    "TANH": tanh,
}
