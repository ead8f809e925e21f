"""Operators of two operands: arithmetic, comparisons, logic; every type, broadcasting up to each kernel's rank limit.

Beyond its limit of ranks TensorFlow aborts when shapes differ; those cases would compare nothing and are left out.
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_ALL = ("float32", "int8", "uint8", "int16", "int32", "int64")
_SHAPES = ("random", "broadcast", "scalar", "high rank", "zero size")
_RANK_LIMIT = {"ADD": 6, "SUB": 6, "MUL": 6, "DIV": 5, "MAXIMUM": 5, "MINIMUM": 5}  # others: 4
_FUSED = ("ADD", "SUB", "MUL", "DIV")
_DIVISIONS = ("DIV", "FLOOR_DIV", "FLOOR_MOD")
COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")


def operand_shapes(d, limit=4):
    """The shapes of two operands and of their result."""
    if d.variant == "scalar":
        shape = d.shape(d.between(1, 3), 5)
        pair = [shape, d.choice([], [1])]
    elif d.variant == "zero size":
        shape = d.shape(3, 4)
        shape[d.between(0, 2)] = 0
        pair = [shape, list(shape)]
    else:
        rank = limit if d.variant == "high rank" else d.between(1, min(limit, 4))
        shape = d.shape(rank, 3 if rank > 4 else 5)
        pair = [shape, list(shape)]
        if d.variant == "signed zeros":
            shape[-1] = d.between(1, 20)
            pair = [shape, list(shape)]
        if d.variant in ("broadcast", "high rank") or (d.variant == "signed zeros" and d.flag(0.7)):
            if d.flag(0.25):  # the last axes are no axis to move along
                ones = d.between(1, max(rank - 1, 1))
                shape[-ones:] = [1] * ones
            pair = [[1 if d.flag(0.3) else n for n in shape] for _ in range(2)]
            pair[1] = pair[1][d.between(0, rank - 1) :]
    if d.flag(0.3):
        pair.reverse()
    return *pair, list(np.broadcast_shapes(*map(tuple, pair)))


def operand_values(d, tensor, spread=None):
    """Values for an operand; int32 and int64 stay within `spread`, so that most results do not wrap."""
    if d.variant == "signed zeros":
        return d.rng.choice(np.array([0, -0.0, 1, -1], np.float32), tensor.shape)
    if tensor.dtype in ("int32", "int64") and d.variant != "special":
        return d.integers(tensor.dtype, tensor.shape, -(spread or 1000), spread or 1000)
    if tensor.dtype == "float32" and d.variant != "special":
        return d.normal(tensor.shape, 9)
    return d.values(tensor)


def _divisors(tensor, values):
    """Divisors without 0, -1 in the widest types (the smallest number has no opposite) and the quantized zero."""
    forbidden = {0, -1} if tensor.dtype in ("int32", "int64") else {0}
    if tensor.scale is not None:
        forbidden.add(int(tensor.zero_point))
    step = next(v for v in (3, 5, 7) if v not in forbidden)
    return np.where(np.isin(values, list(forbidden)), np.array(step, values.dtype), values).astype(values.dtype)


@cases("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", dtypes=_ALL, variants=(*_SHAPES, "special", "constant"))
@cases("DIV", dtypes=("float32", "int8", "uint8", "int16", "int32"), variants=(*_SHAPES, "special", "constant"))
@cases("FLOOR_DIV", dtypes=("float32", "int8", "int16", "int32"), variants=(*_SHAPES, "special"))
@cases("FLOOR_MOD", dtypes=("float32", "int8", "int16", "int32", "int64"), variants=(*_SHAPES, "special"))
@cases("SQUARED_DIFFERENCE", dtypes=("float32", "int8", "int16", "int32"), variants=(*_SHAPES, "special"))
@cases("POW", dtypes=("float32", "int32"), variants=(*_SHAPES, "special"))
@cases("DIV", "FLOOR_DIV", "FLOOR_MOD", dtypes=("float32", "int32"), variants=("divide by zero",))
@cases("ADD", "SUB", "MUL", dtypes=("float32", "int8"), variants=("not broadcastable",))
@cases("ADD", "SUB", "MUL", dtypes=("float32",), variants=("signed zeros",))
@cases("ADD", "SUB", "MUL", dtypes=("int8", "uint8", "int16"), variants=("halves",))
@cases("MAXIMUM", "SQUARED_DIFFERENCE", dtypes=("int8",), variants=("halves",))
def arithmetic(d):
    shape_a, shape_b, shape = operand_shapes(d, _RANK_LIMIT.get(d.op, 4))
    if d.variant == "not broadcastable":
        shape_b = [*shape_a[:-1], shape_a[-1] + 2]
        shape_a[-1] += 3
        shape = list(shape_a)
    a, b, y = d.tensor(shape_a), d.tensor(shape_b), d.tensor(shape)
    if d.dtype in ("int8", "int16") and d.op in ("FLOOR_DIV", "FLOOR_MOD"):
        a.scale = b.scale = y.scale = a.zero_point = b.zero_point = y.zero_point = None
    if y.scale is not None:
        y.scale = _output_scale(d, y.scale)
    if d.variant == "constant":
        b.data = _fill(d, b)
    options = {}
    if d.op in _FUSED and (d.dtype != "int64" or d.op in ("ADD", "SUB")):
        options["fused_activation_function"] = d.activation()
    if d.op in ("ADD", "SUB"):
        options["pot_scale_int16"] = False
    version = 4 if d.op == "MUL" and d.dtype == "int16" else 2 if d.op != "POW" else 1
    inputs = [operand for operand in (a, b) if operand.data is None]

    def feed():
        values = [_fill(d, a, base=True), _fill(d, b)]
        if d.variant == "divide by zero":
            values[1].flat[0] = 0
        return values[: len(inputs)]

    by_zero = d.variant == "divide by zero" and (d.dtype == "int32" or d.op == "FLOOR_DIV")
    refused = by_zero or d.variant == "not broadcastable"
    if d.op == "SQUARED_DIFFERENCE" and d.dtype == "int16":
        refused = None  # TFLM alone takes it
    return d.case(Model.single(d.op, [a, b], [y], version, **options), feed, refused=refused)


def _output_scale(d, scale):
    """An output scale that spreads the results over the type."""
    if d.op == "DIV":
        return d.uniform(0.01, 3)
    return np.float32(scale * 0.05) if d.op == "SQUARED_DIFFERENCE" else scale


def _fill(d, tensor, base=False):
    if d.op == "POW":
        return _power(d, tensor, base)
    values = operand_values(d, tensor)
    return _divisors(tensor, values) if d.op in _DIVISIONS and not base else values


def _power(d, tensor, base):
    """Bases of both signs and exponents that keep most results finite; int32 exponents are not negative."""
    if tensor.dtype == "int32":
        return d.integers("int32", tensor.shape, -9, 9) if base else d.integers("int32", tensor.shape, 0, 8)
    if d.variant == "special":
        return d.special_floats(tensor.shape)
    return np.abs(d.normal(tensor.shape, 4)) if base else d.normal(tensor.shape, 3)


@cases("ADD", "SUB", dtypes=("int16",), variants=("powers of two",))
def power_of_two_scales(d):
    """int16 with pot_scale_int16 and scales 2^-k: shifts instead of multipliers."""
    a_log, shape = d.between(-14, -9), d.shape(3, 6)
    b_log = a_log - d.between(0, 4)
    logs = [a_log, b_log] if d.flag() else [b_log, a_log]
    a, b = (d.tensor(shape, scale=2.0**log, zero_point=0) for log in logs)
    y = d.tensor(shape, scale=2.0**a_log, zero_point=0)
    options = {"fused_activation_function": d.activation(), "pot_scale_int16": True}
    return d.case(Model.single(d.op, [a, b], [y], 2, **options), lambda: [d.values(a), d.values(b)])


@cases(*COMPARISONS, dtypes=_ALL, variants=(*_SHAPES, "special"))
@cases("EQUAL", "NOT_EQUAL", dtypes=("bool",), variants=("random", "broadcast", "scalar"))
def comparison(d):
    shape_a, shape_b, shape = operand_shapes(d)
    a, b = d.tensor(shape_a), d.tensor(shape_b)
    if d.flag() and a.scale is not None:
        b.scale, b.zero_point = a.scale, a.zero_point

    def feed():
        values = [operand_values(d, t, spread=4) for t in (a, b)]
        return [np.round(v) for v in values] if d.dtype == "float32" and d.variant != "special" else values

    return d.case(Model.single(d.op, [a, b], [Tensor(shape, "bool")], 2), feed)


@cases("EQUAL", "NOT_EQUAL", dtypes=("string",), variants=("random", "broadcast", "scalar"))
@cases("LESS", "GREATER_EQUAL", dtypes=("string",))
def string_comparison(d):
    """A single string is a constant: TensorFlow's set_tensor stores the address of one that has no dimension."""
    shape_a, shape_b, shape = operand_shapes(d)

    def words(size):
        return np.array([d.choice(b"", b"a", b"b", b"ab", b"a\0") for _ in range(int(np.prod(size)))], object).reshape(
            size
        )

    operands = [
        Tensor(s, "string") if len(s) else Tensor.constant(words(s), dtype="string") for s in (shape_a, shape_b)
    ]
    model = Model.single(d.op, operands, [Tensor(shape, "bool")], 4 if d.op == "EQUAL" else 2)
    refused = d.op not in ("EQUAL", "NOT_EQUAL")
    return d.case(model, lambda: [words(s) for s in (shape_a, shape_b) if len(s)], refused=refused)


@cases("LOGICAL_AND", "LOGICAL_OR", dtypes=("bool",), variants=_SHAPES)
@cases("LOGICAL_NOT", dtypes=("bool",), variants=("random", "zero size"))
def logical(d):
    shape_a, shape_b, shape = operand_shapes(d)
    operands = [Tensor(shape, "bool")] if d.op == "LOGICAL_NOT" else [Tensor(s, "bool") for s in (shape_a, shape_b)]
    model = Model.single(d.op, operands, [Tensor(shape, "bool")])
    return d.case(model, lambda: [d.values(t) for t in operands])


@cases("MUL", dtypes=("complex64",), variants=("random", "broadcast", "scalar", "special"))
def complex_product(d):
    """Without an activation, which TensorFlow refuses; infinities and NaN in parts."""
    shape_a, shape_b, shape = operand_shapes(d, 4)
    a, b, y = (Tensor(s, "complex64") for s in (shape_a, shape_b, shape))

    def values(shape):
        parts = d.special_floats([*shape, 2]) if d.variant == "special" else d.normal([*shape, 2])
        return np.ascontiguousarray(parts).view(np.complex64).reshape(shape)

    return d.case(Model.single(d.op, [a, b], [y], 6), lambda: [values(shape_a), values(shape_b)])
