"""Graphs of several operators, grown node by node; every shape is propagated, so that each graph is a valid model.

    g = Growing(d, model.subgraph("main"), weights="float32")
    x = g.feed([1, 5, 5, 3], "int8")
    g.grow(4, ("CONV_2D", "ADD", "MAX_POOL_2D"))      # four operators over what is there, each drawn from the names
    y = g.step("SOFTMAX", g.last)                     # one operator over this tensor; None when it does not fit it

A step is a function of `steps`: it is given an operator's name and a tensor, and adds the operator with whatever else
it reads (constants, another tensor of the graph) to the graph. Types are float32, int8, uint8; `weights` says how
constants of float32 operators are stored: "float32", "int8" (dynamic range) or "float16" (behind DEQUANTIZE).
Scales are chosen so that quantized values neither vanish nor all saturate.
"""

import numpy as np

from ..builder import Tensor

QUANTIZED = ("int8", "uint8")
_STEPS = {}


def step(*ops, on):
    """Register a function for operators over these types."""

    def register(function):
        for op in ops:
            _STEPS.setdefault(op, []).append((on, function))
        return function

    return register


class Growing:
    """A subgraph and the tensors that it has so far; `unread` constants and shape tensors are not among them."""

    def __init__(self, d, graph, weights="float32"):
        self.d, self.graph, self.weights = d, graph, weights
        self.pool, self.inputs = [], []

    @property
    def last(self):
        return self.pool[-1]

    def feed(self, shape, dtype="float32"):
        """An input of the graph."""
        x = self.tensor(shape, dtype)
        self.graph.tensor(x)
        self.inputs.append(x)
        self.pool.append(x)
        return x

    def step(self, op, x):
        """Add one operator over `x`; its output (the first of several), or None when it does not fit."""
        function = next((function for on, function in _STEPS[op] if x.dtype in on), None)
        return function and function(self, op, x)

    def grow(self, count, ops):
        """Add `count` operators drawn from `ops` over tensors drawn from what is there, mostly the latest."""
        for _ in range(20 * count):
            if count == 0:
                break
            x = self.last if self.d.flag(0.6) else self.d.choice(*self.pool)
            count -= self.step(self.d.choice(*ops), x) is not None

    def add(self, op, inputs, shape, like=None, scale=None, dtype=None, version=1, **options):
        """Add an operator over `inputs` whose output has this shape; it joins the pool."""
        y = self.tensor(shape, dtype or (like or inputs[0]).dtype, like, scale)
        self.graph.op(op, inputs, [y], version, **options)
        self.pool.append(y)
        return y

    def tensor(self, shape, dtype, like=None, scale=None):
        """A tensor; quantized as another, with this scale, or at random."""
        if dtype not in QUANTIZED:
            return Tensor(shape, dtype)
        if like is not None:
            return Tensor(shape, dtype, scale=like.scale, zero_point=like.zero_point)
        zero_point = self.d.between(-30, 30) + (128 if dtype == "uint8" else 0)
        return Tensor(shape, dtype, scale=np.float32(scale or self.d.uniform(0.01, 0.05)), zero_point=zero_point)

    def constant(self, shape, dtype="float32", spread=1.0, positive=False):
        """A constant operand; float32 ones are stored as float16 where weights are."""
        if dtype in QUANTIZED:
            value = self.tensor(shape, dtype)
            value.data = self.d.integers(dtype, shape)
            return value
        data = self.d.normal(shape, spread)
        return self.float_constant(np.abs(data) + np.float32(0.25) if positive else data)

    def float_constant(self, data):
        if self.weights != "float16":
            return Tensor.constant(data)
        wide = Tensor(data.shape, "float32")
        self.graph.op("DEQUANTIZE", [Tensor.constant(data.astype(np.float16))], [wide])
        return wide

    def is_constant(self, tensor):
        """Whether a tensor is a constant, or one behind DEQUANTIZE."""
        made = (op for op in self.graph.operators if op["name"] == "DEQUANTIZE" and tensor in op["outputs"])
        return tensor.data is not None or any(self.is_constant(op["inputs"][0]) for op in made)

    def filter(self, x, shape, axis, fan, per_channel=None):
        """Constant weights for activations x, `axis` their channels, `fan` products per output."""
        channels, d = shape[axis], self.d
        if x.dtype == "float32" and self.weights != "int8":
            return self.float_constant(d.normal(shape, 1 / np.sqrt(fan)))
        many = x.dtype != "uint8" and (d.flag() if per_channel is None else per_channel)
        scales = [d.uniform(0.5, 2) / np.float32(100 * np.sqrt(fan)) for _ in range(channels if many else 1)]
        if x.dtype == "uint8":
            return Tensor.constant(d.integers("uint8", shape), scale=scales, zero_point=d.between(100, 150))
        return Tensor.constant(d.integers("int8", shape, -127), scale=scales, zero_point=0, axis=axis)

    def bias(self, x, w, channels):
        if x.dtype == "float32":
            data = self.d.normal([channels], 0.3)
            return self.float_constant(data) if self.weights == "float16" else Tensor.constant(data)
        scales = np.asarray(w.scale, np.float32) * np.float32(x.scale)
        return Tensor.constant(self.d.integers("int32", [channels], -3000, 3000), scale=scales, zero_point=0)

    def other(self, x):
        """A second operand for x: itself, another tensor of its shape, or a constant that broadcasts."""
        fitting = [t for t in self.pool if t is not x and (t.shape, t.dtype) == (x.shape, x.dtype)]
        if fitting and self.d.flag(0.6):
            return self.d.choice(*fitting)
        if self.d.flag(0.15):
            return x
        return self.constant(self.d.choice(x.shape, x.shape[-1:], [], [1]), x.dtype)

    def positive(self, x):
        """x made positive, for operators that need that."""
        squashed = self.add("ABS", [x], x.shape) if self.d.flag() else self.step("LOGISTIC", x)
        return self.add("ADD", [squashed, Tensor.constant(np.float32(0.125))], x.shape)


def integers(values):
    return Tensor.constant(np.array(values, np.int32))
