"""Random material for one case, all of it decided by the case's name.

d.op, d.dtype, d.variant, d.seed      what is asked for
d.between(1, 4), d.flag(), d.choice("SAME", "VALID"), d.shape(3, 5), d.scale()
d.rows(2, 5, 40), d.side(3, 8), d.channels(1, 9), d.width(1, 40)     sizes that benchmarks draw larger
x = d.tensor([2, 3])                  a tensor of d.dtype, with random quantization when the type is quantized
d.values(x)                           values over the type's whole range; `special` ones in the variant of that name
                                      (in variants named "halves" scales are powers of two: many results lie between two steps)
d.case(model, lambda: [d.values(x)])  the case; the function is called once per invoke
"""

from zlib import crc32

import numpy as np

from ..builder import Tensor
from ..case import Case

QUANTIZED = ("int8", "uint8", "int16")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")

# What float kernels go wrong on: signed zeros, infinities, NaN, the smallest and largest numbers, ties, odd thresholds.
SPECIAL_FLOATS = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, -1e-40, 3.4028235e38, -3.4028235e38),
        *(0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 3.0, -3.0, 6.0, 16777216.0, -16777217.0, 88.8, -88.8, 1e-6, 1e30),
    ],
    np.float32,
)

# Where two NaN meet in an addition the first operand's sign wins, and which is first is the compiler's choice. Operators that
# add up values are therefore fed NaN or infinities (which make NaN of the other sign), never both in one case.
_SUMS = ("SOFTMAX", "LOG_SOFTMAX", "CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED", "BATCH_MATMUL")
_WITHOUT_NAN = SPECIAL_FLOATS[~np.isnan(SPECIAL_FLOATS)]
_WITHOUT_INFINITY = SPECIAL_FLOATS[~(np.abs(SPECIAL_FLOATS) > 1e18)]


class Draw:
    def __init__(self, op, dtype, variant, seed, invokes):
        self.op, self.dtype, self.variant, self.seed, self.invokes = op, dtype, variant, seed, invokes
        self.rng = np.random.default_rng([seed, crc32(f"{op}/{dtype}/{variant}".encode())])

    # ---- scalars

    def between(self, low, high):
        """An integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def flag(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def choice(self, *options):
        return options[self.between(0, len(options) - 1)]

    def uniform(self, low, high):
        return np.float32(self.rng.uniform(low, high))

    def shape(self, rank, high):
        """`rank` sizes of 1 to high."""
        return [self.between(1, high) for _ in range(rank)]

    def rows(self, rank, high, last):
        """A shape of `rank` sizes of 1 to high and rows of 1 to last values."""
        return [*self.shape(rank, high), self.between(1, last)]

    def side(self, low, high):
        """Of an image."""
        return self.between(low, high)

    def channels(self, low, high):
        """Of an image."""
        return self.between(low, high)

    def width(self, low, high):
        """Of a matrix or a layer."""
        return self.between(low, high)

    def bound(self):
        """Of a state that would grow from step to step; 0: none. Benchmarks, which take many steps, have one."""
        return 0.0

    def widths(self, count, high):
        """Several of 1 to high."""
        return self.shape(count, high)

    def batch(self, rank, high):
        """The sizes in front of a matrix's or a layer's own."""
        return self.shape(rank, high)

    def axes(self, rank, count=None, negative=True):
        """`count` different axes (default: 1 to rank of them), sorted, some counted from the end."""
        count = self.between(1, rank) if count is None else count
        chosen = sorted(self.rng.choice(rank, count, replace=False))
        return [int(a) - rank if negative and self.flag(0.3) else int(a) for a in chosen]

    def scale(self, low=0.002, high=0.05):
        scale = self.uniform(low, high)
        return np.float32(2.0 ** np.rint(np.log2(scale))) if self.variant.startswith("halves") else scale

    def activation(self):
        return self.choice(*ACTIVATIONS)

    # ---- tensors

    def quantization(self, dtype=None):
        """Per-tensor parameters: {} for types that are not quantized, zero point 0 for int16."""
        dtype = dtype or self.dtype
        if dtype not in QUANTIZED:
            return {}
        if dtype == "int16":
            return {"scale": self.scale(1e-4, 2e-3), "zero_point": 0}
        limits = np.iinfo(dtype)
        return {"scale": self.scale(), "zero_point": self.between(limits.min, limits.max)}

    def tensor(self, shape, dtype=None, **quantization):
        """An activation; give scale and zero_point to decide them, `like=tensor` to copy another's."""
        dtype = dtype or self.dtype
        like = quantization.pop("like", None)
        if like is not None:
            quantization = {"scale": like.scale, "zero_point": like.zero_point}
        return Tensor(shape, dtype, **{**self.quantization(dtype), **quantization})

    # ---- values

    def integers(self, dtype, shape, low=None, high=None):
        """Integers from low to high, by default the type's whole range."""
        limits = np.iinfo(dtype)
        low, high = limits.min if low is None else low, limits.max if high is None else high
        wide = np.uint64 if dtype == "uint64" else np.int64
        return self.rng.integers(low, high, shape, wide, endpoint=True).astype(dtype)

    def normal(self, shape, spread=1.0):
        return (self.rng.standard_normal(shape) * spread).astype(np.float32)

    def special_floats(self, shape):
        """Normal values with about a third of them replaced by special ones."""
        values, specials = self.normal(shape, 4), SPECIAL_FLOATS
        if self.op in _SUMS:
            specials = _WITHOUT_INFINITY if self.seed % 2 else _WITHOUT_NAN
        picked = specials[self.rng.integers(0, len(specials), shape)]
        return np.where(self.rng.random(shape) < 0.35, picked, values).astype(np.float32)

    def saturating(self, dtype, shape):
        """Integers of which most are the type's smallest and largest."""
        limits = np.iinfo(dtype)
        picked = np.array([limits.min, limits.max, limits.min, limits.max, 0], dtype)[self.rng.integers(0, 5, shape)]
        return np.where(self.rng.random(shape) < 0.8, picked, self.integers(dtype, shape)).astype(dtype)

    def values(self, tensor, dtype=None):
        """Values for a tensor (or a shape and a type name): the whole range, extremes in the variant "special"."""
        shape, dtype = (tensor.shape, tensor.dtype) if isinstance(tensor, Tensor) else (tensor, dtype or self.dtype)
        special = self.variant.startswith("special")
        if dtype.startswith("float"):
            values = self.special_floats(shape) if special else self.normal(shape, self.choice(1, 1, 4, 0.1))
            with np.errstate(over="ignore"):
                return values.astype(dtype)
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype in ("int4", "int2"):
            return self.integers("int8", shape, *((-8, 7) if dtype == "int4" else (-2, 1)))
        return self.saturating(dtype, shape) if special else self.integers(dtype, shape)

    # ---- the case

    def case(self, model, feed=list, text="", refused=False):
        """The case of a model; `feed()` gives the input arrays of one invoke."""
        feeds = [[np.asarray(array) for array in feed()] for _ in range(self.invokes)]
        text = " ".join(filter(None, [describe(model), text]))
        return Case(self.op, self.dtype, self.variant, self.seed, model.to_bytes(), feeds, text, refused)


def describe(model):
    """The first operator's inputs and options, for people; of a graph all operators and tensors."""
    graph = model.subgraphs[0]
    if len(graph.operators) > 2:
        return "; ".join(_describe_node(graph, operator) for operator in graph.operators)
    operator = graph.operators[0]
    inputs = " ".join("-" if t is None else f"{t.dtype}{t.shape}" for t in operator["inputs"])
    options = operator["options"][1][1] if operator["options"] else {}
    return " ".join([inputs, *(f"{k}={v}" for k, v in options.items())]).replace(", ", ",")


def _describe_node(graph, operator):
    """`CONV_2D(0 1 2)->3 int8[1,4,4,2]`: tensors by index."""
    inputs, outputs = (" ".join(str(graph.index_of(t)) for t in operator[role]) for role in ("inputs", "outputs"))
    shape = "".join(f" {t.dtype}{t.shape}".replace(", ", ",") for t in operator["outputs"][:1] if t is not None)
    return f"{operator['name']}({inputs})->{outputs}{shape}"
