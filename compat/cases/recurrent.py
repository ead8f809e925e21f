"""SVDF, RNN, LSTM and the sequence forms of the latter two: integer, float32 and hybrid, their states carried from invoke to invoke.

Type labels: float32, int8 (int16 state), hybrid_i8 (float32 activations, int8 weights), hybridu8 (the same weights declared uint8).
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases

_ACTIVATIONS = {"no activation": "NONE", "sign bit": "SIGN_BIT", "odd activation": 77}


def quantized_constant(d, shape, dtype, scale, low=None, high=None):
    if d.dtype == "hybridu8" and dtype == "int8":
        return Tensor.constant(d.integers("int8", shape, low, high).view(np.uint8), scale=scale, zero_point=0)
    return Tensor.constant(d.integers(dtype, shape, low, high), scale=scale, zero_point=0)


@cases("SVDF", dtypes=("float32", "int8", "hybrid_i8", "hybridu8"))
@cases("SVDF", dtypes=("hybrid_i8",), variants=("asymmetric",))
@cases("SVDF", dtypes=("float32",), variants=("no bias", "activations", "sign bit"))
def svdf(d):
    batch, depth, units, memory, rank = (
        d.between(1, 3),
        d.width(1, 40),
        d.width(1, 8),
        d.between(1, 12),
        d.between(1, 4),
    )
    filters = units * rank
    options = {"rank": rank, "fused_activation_function": "NONE" if d.variant == "random" else d.activation()}
    if d.variant == "sign bit":
        options["fused_activation_function"] = "SIGN_BIT"
    if d.dtype == "int8":
        feature, state, time = d.scale(), d.scale(0.0005, 0.003), d.scale(0.0001, 0.001)
        x, y = d.tensor([batch, depth]), d.tensor([batch, units])
        inputs = [
            x,
            quantized_constant(d, [filters, depth], "int8", feature),
            quantized_constant(d, [filters, memory], "int16", time),
            quantized_constant(d, [units], "int32", state * time, -9000, 9000),
            Tensor([batch, filters * memory], "int16", scale=state, zero_point=0, variable=True),
        ]
        options["fused_activation_function"] = "RELU"  # the integer kernel takes nothing else
        return d.case(Model.single("SVDF", inputs, [y], 3, **options), lambda: [d.values(x)])
    x, y = d.tensor([batch, depth], "float32"), d.tensor([batch, units], "float32")
    if d.dtype.startswith("hybrid"):
        constants = [quantized_constant(d, [filters, n], "int8", d.scale()) for n in (depth, memory)]
        options["asymmetric_quantize_inputs"] = d.variant == "asymmetric"
    else:
        constants = [Tensor.constant(d.normal([filters, n])) for n in (depth, memory)]
    bias = None if d.variant == "no bias" else Tensor.constant(d.normal([units]))
    inputs = [x, *constants, bias, Tensor([batch, filters * memory], "float32", variable=True)]
    return d.case(Model.single("SVDF", inputs, [y], 4, **options), lambda: [d.values(x)])


@cases("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("float32", "hybrid_i8", "hybridu8"))
@cases("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("hybrid_i8",), variants=("asymmetric",))
@cases("UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("float32",), variants=("time major",))
@cases("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("float32", "hybrid_i8"), variants=("sign bit", "odd activation"))
def rnn(d):
    batch, depth, units, steps = d.between(1, 3), d.width(1, 30), d.width(1, 20), d.between(1, 4)
    leading = [batch] if d.op == "RNN" else [steps, batch] if d.variant == "time major" else [batch, steps]
    x, y = d.tensor([*leading, depth], "float32"), d.tensor([*leading, units], "float32")
    options = {"fused_activation_function": d.choice("NONE", "RELU", "RELU6", "TANH")}
    if d.variant in _ACTIVATIONS:
        options["fused_activation_function"] = _ACTIVATIONS[d.variant]
    if d.dtype.startswith("hybrid"):
        matrices = [quantized_constant(d, [units, n], "int8", d.scale(0.001, 0.01)) for n in (depth, units)]
        options["asymmetric_quantize_inputs"] = d.variant == "asymmetric"
    else:
        matrices = [Tensor.constant(d.normal([units, n], 0.4)) for n in (depth, units)]
    if d.op != "RNN":
        options["time_major"] = d.variant == "time major"
    state = Tensor([batch, units], "float32", variable=True)
    inputs = [x, *matrices, Tensor.constant(d.normal([units], 0.4)), state]
    return d.case(
        Model.single(d.op, inputs, [y], 3 if d.dtype.startswith("hybrid") else 1, **options), lambda: [d.values(x)]
    )


class Gates:
    """The constants of an LSTM by gate (i, f, c, o); a gate that the variant lacks is None."""

    def __init__(self, d, depth, units, state_units):
        self.d, self.depth, self.units, self.state_units = d, depth, units, state_units
        self.names = "fco" if "cifg" in d.variant else "ifco"

    def matrices(self, columns):
        """Weights [units, columns] of each gate."""
        return [self._matrix([self.units, columns]) if gate in self.names else None for gate in "ifco"]

    def _matrix(self, shape):
        if self.d.dtype == "float32":
            return Tensor.constant(self.d.normal(shape, 0.4))
        low, high = (0.001, 0.02) if self.d.dtype == "int8" else (0.001, 0.01)
        return quantized_constant(self.d, shape, "int8", self.d.scale(low, high))

    def peepholes(self):
        """Cell-to-gate weights of i, f and o."""
        return [self._peephole() if "peephole" in self.d.variant and g in self.names else None for g in "ifo"]

    def _peephole(self):
        if self.d.dtype == "int8":
            return quantized_constant(self.d, [self.units], "int16", self.d.scale(1e-5, 1e-4), -32767, 32767)
        return self._matrix([self.units])

    def biases(self, x, matrices):
        found = []
        for matrix in matrices:
            if matrix is None:
                found.append(None)
            elif self.d.dtype == "int8":
                scale = np.float32(np.float32(matrix.scale) * x.scale)
                found.append(quantized_constant(self.d, [self.units], "int32", scale, -3000, 3000))
            else:
                found.append(Tensor.constant(self.d.normal([self.units], 0.4)))
        return found

    def layer_norms(self):
        if "layer norm" not in self.d.variant:
            return [None] * 4
        return [self._layer_norm() if gate in self.names else None for gate in "ifco"]

    def _layer_norm(self):
        if self.d.dtype == "int8":
            return quantized_constant(self.d, [self.units], "int16", self.d.scale(1e-5, 1e-4), 1000, 32767)
        return Tensor.constant(self.d.normal([self.units], 0.3) + np.float32(1))


_VARIANTS = ("random", "cifg", "peephole", "time major", "clipped")
_DIAGONAL = ("diagonal", "diagonal cifg peephole", "diagonal time major", "some diagonal", "diagonal no activation")
_WITHOUT = ("no activation", "no activation cifg", "no activation layer norm", "no activation time major", "sign bit")


@cases("LSTM", dtypes=("float32", "hybrid_i8"), variants=("random", "cifg", "peephole", "clipped"))
@cases("LSTM", dtypes=("int8",), variants=("random", "layer norm"))
@cases("LSTM", dtypes=("float32", "hybrid_i8"), variants=("no activation", "sign bit", "odd activation"))
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "hybrid_i8"), variants=_DIAGONAL)
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "hybrid_i8"), variants=_WITHOUT)
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("int8",), variants=("no activation",))
@cases("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybridu8",), variants=("random", "peephole"))
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "int8", "hybrid_i8"), variants=_VARIANTS)
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybrid_i8",), variants=("asymmetric", "asymmetric cifg"))
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "int8"), variants=("layer norm", "projection"))
def lstm(d):
    batch, steps, depth, units = d.between(1, 3), d.between(1, 5), d.width(1, 30), d.width(1, 20)
    outputs = d.width(1, 12) if d.variant == "projection" else units
    shapes = [[batch, steps, depth], [batch, steps, outputs]]
    if d.op == "LSTM":
        shapes = [[batch, n] for n in (depth, outputs)]
    elif "time major" in d.variant:
        shapes = [[steps, batch, n] for n in (depth, outputs)]
    integer = d.dtype == "int8"
    kind = "int8" if integer else "float32"
    x, y = d.tensor(shapes[0], kind), d.tensor(shapes[1], kind)
    cell = {}
    if integer:
        x.scale = d.scale(0.005, 0.03)
        y.scale, y.zero_point = d.uniform(0.006, 0.009), d.between(-20, 20)
        cell = {"scale": np.float32(2.0 ** d.between(-14, -9)), "zero_point": 0}
    gates = Gates(d, depth, units, outputs)
    inputs, recurrent = gates.matrices(depth), gates.matrices(outputs)
    biases = gates.biases(x, inputs)
    if "diagonal" in d.variant:
        recurrent = [
            r if r is None or (d.variant == "some diagonal" and d.flag()) else Tensor.constant(d.normal([units], 0.4))
            for r in recurrent
        ]
    projection = [None, None]
    if d.variant == "projection":
        projection[0] = gates._matrix([outputs, units])
        if integer:
            projection[1] = quantized_constant(d, [outputs], "int32", projection[0].scale * 2.0**-15, -3000, 3000)
    state = d.tensor([batch, outputs], kind, like=y) if integer else Tensor([batch, outputs], kind)
    cells = Tensor([batch, units], "int16" if integer else kind, variable=True, **cell)
    state.variable = True
    tensors = [x, *inputs, *recurrent, *gates.peepholes(), *biases, *projection, state, cells, *gates.layer_norms()]
    options = {
        "fused_activation_function": "TANH" if integer else d.choice("TANH", "TANH", "RELU"),
        "cell_clip": float(d.uniform(0.3, 2)) if d.variant == "clipped" else 0.0,
        "asymmetric_quantize_inputs": d.variant.startswith("asymmetric"),
    }
    unusual = [name for name in _ACTIVATIONS if name in d.variant]
    if unusual:
        options["fused_activation_function"] = _ACTIVATIONS[unusual[0]]
        options["cell_clip"] = d.bound()
    if d.op != "LSTM":
        options["time_major"] = "time major" in d.variant
    scales = []
    if integer:  # the kernel reads the scales of its intermediate results from five tensors without data
        scales = [Tensor([], "int16", scale=0.0007, zero_point=0) for _ in range(4)]
        hidden = d.scale(0.004, 0.009) if d.variant == "projection" else y.scale
        scales.append(Tensor([], "int8", scale=hidden, zero_point=y.zero_point))
    model = Model()
    main = model.subgraph("main")
    main.op(d.op, tensors, [y], 3 if integer and d.op != "LSTM" else 2, intermediates=scales, **options)
    spreads = (0, 0.4, 1) if unusual else (0.4, 1)  # what is left without an activation depends on zeros
    return d.case(model, lambda: [d.values(x) if integer else d.normal(x.shape, d.choice(*spreads))])


@cases("LSTM", dtypes=("int8",), variants=("gates8", "gates8 cifg", "gates8 clipped"))
def lstm_gates_i8(d):
    """Twelve intermediates. With another cell scale TensorFlow forgets the clips."""
    batch, depth, units, outputs = d.between(1, 3), d.width(1, 30), d.width(1, 20), d.width(1, 12)
    x, y = d.tensor([batch, depth], scale=d.scale(0.005, 0.03)), d.tensor([batch, outputs], scale=d.scale(0.002, 0.02))
    gates = Gates(d, depth, units, outputs)
    inputs, recurrent = gates.matrices(depth), gates.matrices(outputs)
    biases = [b and quantized_constant(d, [units], "int32", 1e-4, -30000, 30000) for b in gates.biases(x, inputs)]
    norms = [m and gates._layer_norm() for m in inputs]
    projection = gates._matrix([outputs, units])
    bias = quantized_constant(d, [outputs], "int32", projection.scale * 2.0**-15, -30000, 30000)
    state = d.tensor([batch, outputs], like=y)
    cells = Tensor([batch, units], "int16", scale=2.0 ** -(15 if d.flag(0.7) else d.between(9, 14)), zero_point=0)
    state.variable = cells.variable = True
    options = {}
    if d.variant.endswith("clipped"):
        options = {"cell_clip": float(d.uniform(0.2, 1.2)), "proj_clip": float(d.uniform(0.1, 1))}
    intermediates = [Tensor([], "int8", scale=d.scale(), zero_point=d.between(-128, 127)) for _ in range(12)]
    for i in (0, 3, 6, 9):
        intermediates[i].scale = d.scale(0.0001, 0.001)
    tensors = [x, *inputs, *recurrent, None, None, None, *biases, projection, bias, state, cells, *norms]
    model = Model()
    model.subgraph("main").op("LSTM", tensors, [y], 2, intermediates=intermediates, **options)
    return d.case(model, lambda: [d.values(x)])


@cases("LSTM", dtypes=("float32", "uint8"), variants=("basic", "basic variable", "basic special"))
@cases("LSTM", dtypes=("uint8",), variants=("basic other scale", "basic int32 state"))
def lstm_basic(d):
    """All four outputs are compared, and the states, which are inputs that the kernel writes."""
    batch, depth, units = d.between(1, 4), d.width(1, 40), d.width(1, 24)
    quantized = d.dtype == "uint8"
    values = {"scale": np.float32(1 / 128), "zero_point": 128} if quantized else {}
    scale = 2.0 ** -d.choice(9, 10, 12, 11.3) if d.variant.endswith("other scale") else 2.0**-11
    wide = {"scale": np.float32(scale), "zero_point": 0} if quantized else {}
    kind = "int32" if d.variant.endswith("int32 state") else "int16" if quantized else "float32"
    x, h, new_h = (Tensor([batch, n], d.dtype, **values) for n in (depth, units, units))
    c, new_c = (Tensor([batch, units], kind, **wide) for _ in range(2))
    operands = Tensor([batch, depth + units], d.dtype, **values)
    sums = Tensor([batch, 4 * units], "int16" if quantized else "float32", **wide)
    h.variable = c.variable = d.variant.endswith("variable")
    if quantized:
        w = Tensor.constant(
            d.values([4 * units, depth + units], "uint8"), scale=d.scale(), zero_point=d.between(0, 255)
        )
        b = Tensor.constant(
            d.integers("int32", [4 * units], -9999, 9999), scale=w.scale / np.float32(128), zero_point=0
        )
    else:
        w, b = Tensor.constant(d.normal([4 * units, depth + units], 0.4)), Tensor.constant(d.normal([4 * units]))
    fed = [x] if h.variable else [x, h, c]
    model = Model.single("LSTM", [x, h, w, b, c], [new_h, new_c, operands, sums], 2, kernel_type="BASIC", cell_clip=0.1)
    refused = d.variant.endswith(("other scale", "int32 state"))
    whole = quantized or "special" in d.variant
    return d.case(model, lambda: [d.values(t) if whole else d.normal(t.shape) for t in fed], refused=refused)


_STACKED = ("stacked", "stacked wide", "linked")  # an auxiliary input with weights, a wider one, one without weights


def auxiliary(d, leading, depth):
    """(the auxiliary input or None, its depth when it has weights)."""
    if d.variant not in _STACKED:
        return None, 0
    width = {"stacked": depth, "stacked wide": depth + d.between(1, 9), "linked": depth}[d.variant]
    return Tensor([*leading, width], "float32"), 0 if d.variant == "linked" else width


@cases(
    "BIDIRECTIONAL_SEQUENCE_RNN",
    dtypes=("float32", "hybrid_i8"),
    variants=("random", "time major", "merged", *_STACKED),
)
@cases("BIDIRECTIONAL_SEQUENCE_RNN", dtypes=("hybrid_i8", "hybridu8"), variants=("asymmetric",))
@cases("BIDIRECTIONAL_SEQUENCE_RNN", dtypes=("int8",))
def bidirectional_rnn(d):
    batch, depth, steps = d.between(1, 3), d.between(1, 30), d.between(1, 4)
    units = [d.between(1, 20), d.between(1, 20)]
    time_major = d.variant == "time major" or d.flag(0.3)
    merged = d.variant == "merged" or d.flag(0.3)
    leading = [steps, batch] if time_major else [batch, steps]
    kind = "float32" if d.dtype == "float32" else "hybrid_i8"

    def matrix(shape):
        if kind == "float32":
            return Tensor.constant(d.normal(shape, 0.4))
        return quantized_constant(d, shape, "int8", d.scale(0.001, 0.01))

    x = Tensor([*leading, depth], "int8" if d.dtype == "int8" else "float32")
    aux, width = auxiliary(d, leading, depth)
    inputs = [x]
    for n in units:
        state = Tensor([batch, n], "float32", variable=True)
        inputs += [matrix([n, depth]), matrix([n, n]), Tensor.constant(d.normal([n], 0.4)), state]
    inputs += [aux, *([matrix([n, width]) for n in units] if width else [None, None])]
    outputs = [Tensor([*leading, n], "float32") for n in ([sum(units)] if merged else units)]
    options = {
        "time_major": time_major,
        "merge_outputs": merged,
        "fused_activation_function": d.choice("NONE", "RELU", "TANH"),
        "asymmetric_quantize_inputs": d.variant == "asymmetric",
    }
    model = Model.single(d.op, inputs, outputs, 3, **options)
    feed = lambda: [d.values(x), *([d.values(aux)] if aux else [])]  # noqa: E731
    return d.case(model, feed, refused=d.dtype == "int8")


_CELLS = ("random", "cifg", "peephole", "projection", "clipped", "time major", "merged", "cifg stacked", *_STACKED)


@cases("BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "hybrid_i8"), variants=_CELLS)
@cases("BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybrid_i8",), variants=("asymmetric", "asymmetric stacked"))
@cases("BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32",), variants=("cells differ",))
@cases(
    "BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "hybrid_i8"), variants=("no activation", "no activation stacked")
)
def bidirectional_lstm(d):
    """Merged outputs, batches first, only with one batch: TensorFlow then steps outside of its states."""
    time_major = d.variant == "time major" or d.flag(0.3)
    merged = d.variant == "merged" or d.flag(0.3)
    batch = 1 if merged and not time_major else d.between(1, 3)
    steps, depth = d.between(1, 4), d.between(1, 30)
    leading = [steps, batch] if time_major else [batch, steps]
    x = Tensor([*leading, depth], "float32")
    stacked = d.variant.endswith("stacked")
    aux, width = (Tensor(x.shape, "float32"), depth) if stacked else auxiliary(d, leading, depth)
    cells, states, aux_weights, sizes = [], [], [], []
    units, narrow = d.between(1, 20), d.between(1, 12)
    for i in range(2):
        units += i if d.variant == "cells differ" else 0
        outputs = narrow if d.variant == "projection" else units
        gates = Gates(d, depth, units, outputs)
        matrices = gates.matrices(depth)
        cells += [*matrices, *gates.matrices(outputs), *gates.peepholes(), *gates.biases(x, matrices)]
        projection = gates._matrix([outputs, units]) if d.variant == "projection" else None
        cells += [projection, Tensor.constant(d.normal([outputs])) if projection and d.flag() else None]
        states += [Tensor([batch, n], "float32", variable=True) for n in (outputs, units)]
        aux_weights += gates.matrices(width) if width else [None] * 4
        sizes.append(outputs)
    ys = [Tensor([*leading, n], "float32") for n in ([sum(sizes)] if merged else sizes)]
    options = {
        "fused_activation_function": d.choice("TANH", "TANH", "RELU"),
        "cell_clip": float(d.uniform(0.3, 2)) if d.variant == "clipped" else 0.0,
        "proj_clip": float(d.uniform(0.3, 2)) if d.variant == "projection" else 0.0,
        "time_major": time_major,
        "merge_outputs": merged,
        "asymmetric_quantize_inputs": d.variant.startswith("asymmetric"),
    }
    spreads = (0.4, 1)
    if d.variant.startswith("no activation"):
        options["fused_activation_function"], spreads = "NONE", (0, 0.4, 1)
    model = Model.single(d.op, [x, *cells, *states, aux, *aux_weights], ys, 3, **options)
    feed = lambda: [d.normal(t.shape, d.choice(*spreads)) for t in (x, aux) if t is not None]  # noqa: E731
    return d.case(model, feed, refused=d.variant == "cells differ")
