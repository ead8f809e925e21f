"""Random recurrent layers and what they compute in double precision: the measure of the tests of LSTM and RNN."""

import numpy as np

from compat.builder import Tensor

from .successive import constant

GATES = "ifco"


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


class Lstm:
    """Weights of a layer by gate, all float64; None for what the layer lacks."""

    def __init__(self, seed, inputs, cells, outputs=None, coupled=False, peephole=False, norm=False, projection=False):
        rng = np.random.default_rng(seed)
        self.inputs, self.cells, self.outputs = inputs, cells, outputs or cells
        gates = "fco" if coupled else GATES
        draw = lambda *shape: (rng.standard_normal(shape) * 0.4).astype(np.float32).astype(float)  # noqa: E731
        self.w = {g: draw(cells, inputs) for g in gates}
        self.r = {g: draw(cells, self.outputs) for g in gates}
        self.b = {g: draw(cells) for g in gates}
        self.p = {g: draw(cells) for g in gates if g != "c" and peephole}
        self.n = {g: draw(cells) + 1 for g in gates if norm}
        self.projection = draw(self.outputs, cells) if projection else None
        self.clip = 0.0

    def gate(self, g, x, h, c):
        v = self.w[g] @ x + self.r[g] @ h + (self.p[g] * c if g in self.p else 0)
        if g not in self.n:
            return v + self.b[g]
        return (v - v.mean()) / np.sqrt(v.var() + 1e-8) * self.n[g] + self.b[g]

    def step(self, x, h, c):
        f = sigmoid(self.gate("f", x, h, c))
        i = sigmoid(self.gate("i", x, h, c)) if "i" in self.w else 1 - f
        c = f * c + i * np.tanh(self.gate("c", x, h, c))
        if self.clip:
            c = np.clip(c, -self.clip, self.clip)
        h = sigmoid(self.gate("o", x, h, c)) * np.tanh(c)
        return (h if self.projection is None else self.projection @ h), c

    def run(self, x, h, c):
        """x [batch, time, input]; h and c per batch are updated in place."""
        y = np.empty((*x.shape[:2], self.outputs))
        for n, sequence in enumerate(x):
            for t, values in enumerate(sequence):
                h[n], c[n] = self.step(values, h[n], c[n])
                y[n, t] = h[n]
        return y

    def tensors(self, x, output_state, cell_state, weight, bias, peephole=None, norm=None):
        """The 24 inputs; the functions turn an array into a constant."""
        peephole, norm = peephole or weight, norm or bias
        pick = lambda table, gates, make: [make(table[g]) if g in table else None for g in gates]  # noqa: E731
        return [
            x,
            *pick(self.w, GATES, weight),
            *pick(self.r, GATES, weight),
            *pick(self.p, "ifo", peephole),
            *pick(self.b, GATES, bias),
            None if self.projection is None else weight(self.projection),
            None,
            output_state,
            cell_state,
            *pick(self.n, GATES, norm),
        ]


def float_constant(values):
    return constant(values, "float32")


def int8_constant(values):
    """Symmetric, 127 steps up to the largest value."""
    scale = np.float32(np.abs(values).max() / 127)
    return constant(np.round(values / scale), "int8", scale=scale)


def float_state(shape):
    return Tensor(shape, "float32", variable=True)
