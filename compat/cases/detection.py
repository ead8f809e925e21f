"""Boxes chosen by score and overlap: NON_MAX_SUPPRESSION_V4, NON_MAX_SUPPRESSION_V5; equal scores included."""

import numpy as np

from ..builder import Model, Tensor
from . import cases


@cases("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", dtypes=("float32",), variants=("random", "ties", "fed"))
def suppression(d):
    soft, n, limit = d.op.endswith("5"), d.between(1, 30), np.array(d.between(1, 20), np.int32)
    thresholds = [
        d.uniform(0.1, 0.9),
        d.uniform(0, 0.4),
        *([d.choice(np.float32(0), d.uniform(0.1, 1))] if soft else []),
    ]
    boxes, scores, fed = Tensor([n, 4], "float32"), Tensor([n], "float32"), d.variant == "fed"
    inputs = [boxes, scores, Tensor([], "int32") if fed else Tensor.constant(limit)]
    inputs += [Tensor.constant(np.array(t, np.float32)) for t in thresholds]
    outputs = [Tensor([int(limit)], "int32"), *([Tensor([int(limit)], "float32")] if soft else []), Tensor([], "int32")]
    model = Model.single(d.op, inputs, outputs)

    def feed():
        corners = d.rng.random((n, 2)).astype(np.float32) * 2
        values = np.concatenate([corners, corners + d.rng.random((n, 2)).astype(np.float32)], -1)
        given = d.rng.random(n).astype(np.float32)
        given = np.round(given * 4) / 4 if d.variant == "ties" else given
        return [values, given.astype(np.float32), *([limit] if fed else [])]

    return d.case(model, feed)
