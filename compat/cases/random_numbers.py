"""Random numbers of known seeds: RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL."""

import numpy as np

from ..builder import Model, Tensor
from . import cases


def _seeds(d):
    return {"seed": int(d.rng.integers(-(2**62), 2**62)), "seed2": d.choice(0, 7, int(d.rng.integers(1, 2**62)))}


@cases("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", dtypes=("float32",), variants=("random", "fed"))
@cases("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", dtypes=("int32",))
def numbers(d):
    shape = np.array(d.shape(d.between(0, 3), 9), np.int32)
    fed = d.variant == "fed"
    inputs = [Tensor(shape.shape, "int32") if fed else Tensor.constant(shape)]
    model = Model.single(d.op, inputs, [Tensor(shape, d.dtype)], **_seeds(d))
    return d.case(model, lambda: [shape] if fed else [], refused=d.dtype == "int32")


@cases("MULTINOMIAL", dtypes=("int32", "int64"), variants=("random", "special", "constant"))
def multinomial(d):
    logits, samples = Tensor([d.between(1, 4), d.between(1, 9)], "float32"), np.array(d.between(1, 9), np.int32)
    if d.variant == "constant":
        logits.data = d.values(logits)
    y = Tensor([logits.shape[0], int(samples)], d.dtype)
    model = Model.single(d.op, [logits, Tensor.constant(samples)], [y], **_seeds(d))
    return d.case(model, list if d.variant == "constant" else lambda: [d.values(logits)])
