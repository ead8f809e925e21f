"""SVDF, RNN, LSTM and the sequence forms of the latter two: integer, float32 and hybrid, their states carried from invoke to invoke.

Type labels: float32, int8 (int16 state), hybrid8 (float32 activations, int8 weights), hybridu8 (the same weights declared uint8).
"""

import numpy as np

from ..builder import Model, Tensor
from . import cases


def quantized_constant(d, shape, dtype, scale, low=None, high=None):
    if d.dtype == "hybridu8" and dtype == "int8":
        return Tensor.constant(d.integers("int8", shape, low, high).view(np.uint8), scale=scale, zero_point=0)
    return Tensor.constant(d.integers(dtype, shape, low, high), scale=scale, zero_point=0)


@cases("SVDF", dtypes=("float32", "int8", "hybrid8", "hybridu8"))
@cases("SVDF", dtypes=("hybrid8",), variants=("asymmetric",))
@cases("SVDF", dtypes=("float32",), variants=("no bias", "activations"))
def svdf(d):
    batch, depth, units, memory, rank = (
        d.between(1, 3),
        d.between(1, 40),
        d.between(1, 8),
        d.between(1, 12),
        d.between(1, 4),
    )
    filters = units * rank
    options = {"rank": rank, "fused_activation_function": "NONE" if d.variant == "random" else d.activation()}
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


@cases("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("float32", "hybrid8", "hybridu8"))
@cases("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("hybrid8",), variants=("asymmetric",))
@cases("UNIDIRECTIONAL_SEQUENCE_RNN", dtypes=("float32",), variants=("time major",))
def rnn(d):
    batch, depth, units, steps = d.between(1, 3), d.between(1, 30), d.between(1, 20), d.between(1, 4)
    leading = [batch] if d.op == "RNN" else [steps, batch] if d.variant == "time major" else [batch, steps]
    x, y = d.tensor([*leading, depth], "float32"), d.tensor([*leading, units], "float32")
    options = {"fused_activation_function": d.choice("NONE", "RELU", "RELU6", "TANH")}
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


@cases("LSTM", dtypes=("float32", "hybrid8"), variants=("random", "cifg", "peephole", "clipped"))
@cases("LSTM", dtypes=("int8",), variants=("random", "layer norm"))
@cases("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybridu8",), variants=("random", "peephole"))
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "int8", "hybrid8"), variants=_VARIANTS)
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybrid8",), variants=("asymmetric", "asymmetric cifg"))
@cases("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "int8"), variants=("layer norm", "projection"))
def lstm(d):
    batch, steps, depth, units = d.between(1, 3), d.between(1, 5), d.between(1, 30), d.between(1, 20)
    outputs = d.between(1, 12) if d.variant == "projection" else units
    shapes = [[batch, steps, depth], [batch, steps, outputs]]
    if d.op == "LSTM":
        shapes = [[batch, n] for n in (depth, outputs)]
    elif d.variant == "time major":
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
    if d.op != "LSTM":
        options["time_major"] = d.variant == "time major"
    scales = []
    if integer:  # the kernel reads the scales of its intermediate results from five tensors without data
        scales = [Tensor([], "int16", scale=0.0007, zero_point=0) for _ in range(4)]
        hidden = d.scale(0.004, 0.009) if d.variant == "projection" else y.scale
        scales.append(Tensor([], "int8", scale=hidden, zero_point=y.zero_point))
    model = Model()
    main = model.subgraph("main")
    main.op(d.op, tensors, [y], 3 if integer and d.op != "LSTM" else 2, intermediates=scales, **options)
    return d.case(model, lambda: [d.values(x) if integer else d.normal(x.shape, d.choice(0.4, 1))])


_STACKED = ("stacked", "stacked wide", "linked")  # an auxiliary input with weights, a wider one, one without weights


def auxiliary(d, leading, depth):
    """(the auxiliary input or None, its depth when it has weights)."""
    if d.variant not in _STACKED:
        return None, 0
    width = {"stacked": depth, "stacked wide": depth + d.between(1, 9), "linked": depth}[d.variant]
    return Tensor([*leading, width], "float32"), 0 if d.variant == "linked" else width


@cases(
    "BIDIRECTIONAL_SEQUENCE_RNN", dtypes=("float32", "hybrid8"), variants=("random", "time major", "merged", *_STACKED)
)
@cases("BIDIRECTIONAL_SEQUENCE_RNN", dtypes=("hybrid8", "hybridu8"), variants=("asymmetric",))
@cases("BIDIRECTIONAL_SEQUENCE_RNN", dtypes=("int8",))
def bidirectional_rnn(d):
    batch, depth, steps = d.between(1, 3), d.between(1, 30), d.between(1, 4)
    units = [d.between(1, 20), d.between(1, 20)]
    time_major = d.variant == "time major" or d.flag(0.3)
    merged = d.variant == "merged" or d.flag(0.3)
    leading = [steps, batch] if time_major else [batch, steps]
    kind = "float32" if d.dtype == "float32" else "hybrid8"

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


@cases("BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32", "hybrid8"), variants=_CELLS)
@cases("BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("hybrid8",), variants=("asymmetric", "asymmetric stacked"))
@cases("BIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32",), variants=("cells differ",))
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
    model = Model.single(d.op, [x, *cells, *states, aux, *aux_weights], ys, 3, **options)
    feed = lambda: [d.normal(t.shape, d.choice(0.4, 1)) for t in (x, aux) if t is not None]  # noqa: E731
    return d.case(model, feed, refused=d.variant == "cells differ")
