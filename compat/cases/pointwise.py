"""Rarer functions of each value: SIGN, ATAN2, bits, buckets, fake quantization, sums of many, parts of complex numbers."""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .arithmetic import operand_shapes


@cases("SIGN", dtypes=("float32", "float64", "int32"), variants=("random", "special", "zero size"))
@cases("SIGN", dtypes=("int8", "int64"))
@cases("FAKE_QUANT", dtypes=("float32",), variants=("random", "special", "narrow"))
def one_value(d):
    shape = d.shape(d.between(0, 4), 5)
    if d.variant == "zero size":
        shape = [2, 0]
    x, options = Tensor(shape, d.dtype), {}
    if d.op == "FAKE_QUANT":
        low = d.uniform(-5, 1)
        options = {"min": low, "max": low + d.uniform(0.1, 7), "num_bits": d.choice(8, 8, 4, 16)}
        options["narrow_range"] = d.variant == "narrow"
    refused = d.dtype in ("int8", "int64") or d.variant == "narrow"
    model = Model.single(d.op, [x], [Tensor(shape, d.dtype)], d.between(1, 2), **options)
    return d.case(model, lambda: [d.values(x)], refused=refused)


@cases("ATAN2", dtypes=("float32", "float64", "float16"), variants=("random", "special"))
@cases("ATAN2", dtypes=("int32",))
def atan2(d):
    a, b, y = (Tensor(shape, d.dtype) for shape in [d.shape(d.between(0, 4), 5)] * 3)
    return d.case(Model.single(d.op, [a, b], [y]), lambda: [d.values(a), d.values(b)], refused=d.dtype == "int32")


@cases("BITWISE_XOR", "RIGHT_SHIFT", dtypes=("int8", "uint8", "int16", "uint16", "int32", "uint32"))
@cases("BITWISE_XOR", "RIGHT_SHIFT", dtypes=("int8", "uint16", "int32"), variants=("broadcast", "scalar", "zero size"))
@cases("BITWISE_XOR", "RIGHT_SHIFT", dtypes=("int64", "float32"))
def bits(d):
    a, b, y = (Tensor(shape, d.dtype) for shape in operand_shapes(d))

    def feed():
        by = d.values(b) if d.op == "BITWISE_XOR" or d.flag() else d.rng.integers(0, 9, b.shape).astype(d.dtype)
        return [d.values(a), by]

    return d.case(Model.single(d.op, [a, b], [y]), feed, refused=d.dtype in ("int64", "float32"))


@cases("BITCAST", dtypes=("float32", "int32", "uint32", "int8", "uint8", "int16", "uint16", "int64", "float64"))
@cases("BITCAST", dtypes=("float32",), variants=("wrong shape",))
def bitcast(d):
    other = d.choice("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "int64", "float64")
    shape, size, wanted = d.shape(d.between(0, 3), 4), np.dtype(d.dtype).itemsize, np.dtype(other).itemsize
    result = list(shape)
    if d.variant == "wrong shape":
        shape, other = [2, 3], "float64"
    elif size > wanted:
        result = [*shape, size // wanted]
    elif size < wanted:
        shape = [*shape, wanted // size]
    x = Tensor(shape, d.dtype)
    model = Model.single(d.op, [x], [Tensor(result, other)])
    return d.case(model, lambda: [d.values(x)], refused=d.variant == "wrong shape")


@cases("BUCKETIZE", dtypes=("float32", "float64", "int32", "int64"), variants=("random", "special", "no boundaries"))
@cases("BUCKETIZE", dtypes=("int8",))
@cases("BUCKETIZE", dtypes=("float32",), variants=("unsorted",))
def bucketize(d):
    x = Tensor(d.shape(d.between(0, 3), 6), d.dtype)
    boundaries = np.sort(np.round(d.normal([d.between(1, 9)], 3))) if d.variant != "no boundaries" else []
    if d.variant == "unsorted":
        boundaries = [1.0, -1.0]
    model = Model.single(d.op, [x], [Tensor(x.shape, "int32")], boundaries=[float(b) for b in boundaries])

    def feed():
        return [d.values(x) if d.flag() else d.rng.integers(-9, 9, x.shape).astype(d.dtype)]

    return d.case(model, feed, refused=d.dtype == "int8" or d.variant == "unsorted")


@cases("ADD_N", dtypes=("float32", "int32"), variants=("random", "infinities"))
@cases("ADD_N", dtypes=("int8",))
def add_n(d):
    shape = d.shape(d.between(0, 3), 6)
    inputs = [Tensor(shape, d.dtype) for _ in range(d.between(2, 7))]

    def feed():
        values = [d.values(x) for x in inputs]
        if d.variant == "infinities" and d.dtype == "float32":
            values[0].flat[0], values[-1].flat[-1] = np.inf, -np.inf
        return values

    return d.case(Model.single(d.op, inputs, [Tensor(shape, d.dtype)]), feed, refused=d.dtype == "int8")


@cases("REAL", "IMAG", "COMPLEX_ABS", dtypes=("complex64", "complex128"), variants=("random", "special"))
@cases("REAL", "IMAG", "COMPLEX_ABS", dtypes=("float32",))
def complex_parts(d):
    x = Tensor(d.shape(d.between(0, 4), 5), d.dtype)
    part = "float64" if d.dtype == "complex128" else "float32"

    def feed():
        values = d.values([*x.shape, 2], part)
        return [values[..., 0] if d.dtype == "float32" else values.view(d.dtype)[..., 0]]

    return d.case(Model.single(d.op, [x], [Tensor(x.shape, part)]), feed, refused=d.dtype == "float32")
