"""Random models for the arena: several branches, tensors that nobody uses, variables, several outputs, offline plans.

    random_graph(numpy.random.default_rng(0), planned=0.6)      # 60 % of the tensors have a random fixed offset

Operators with scratch buffers (MEAN), many inputs (CONCATENATION), one input (LOGISTIC, RESHAPE) and a constant (ADD).
Random offsets may overlap: TFLM does not mind, and neither may the figures.
"""

import numpy as np

from tflm_cy.micro.offline import ENTRY, ONLINE, OfflinePlan

from ..builder import Model, Tensor

_SCALE = {"scale": 0.05, "zero_point": 3}


def random_graph(rng, planned=None):
    """A model's bytes; with `planned`, that share of its tensors has an offset."""
    model = Model()
    main = model.subgraph("main")
    inputs = [main.tensor(_activation(rng.integers(1, 200))) for _ in range(rng.integers(1, 4))]
    alive = list(inputs)
    if rng.random() < 0.5:
        main.tensor(_activation(rng.integers(1, 300)))  # belongs to nobody
    for _ in range(rng.integers(1, 14)):
        alive.append(_append(rng, main, alive, inputs))
    if rng.random() < 0.3:
        main.tensor(Tensor([1, int(rng.integers(1, 99))], "int8", **_SCALE, variable=True))
    kept = {id(t): t for t in [*rng.choice(np.array(alive, object), rng.integers(1, 4)), alive[-1]]}
    main.inputs, main.outputs = inputs, list(kept.values())
    if planned is not None:
        count = len(main.tensors)
        offsets = [int(rng.integers(0, 100)) * 16 if rng.random() < planned else ONLINE for _ in range(count)]
        model.metadata(ENTRY, OfflinePlan(offsets).to_bytes())
    return model.to_bytes()


def _activation(size):
    return Tensor([1, int(size)], "int8", **_SCALE)


def _append(rng, main, alive, inputs):
    """One more operator; its output."""
    x = alive[rng.integers(len(alive))]
    size = x.shape[1]
    kind = rng.integers(5)
    if kind == 0:
        one = Tensor.constant(np.ones((1, size), np.int8), **_SCALE)
        return main.op("ADD", [x, one], [_activation(size)])[0]
    if kind == 1:
        parts = [alive[i] for i in rng.integers(len(alive), size=rng.integers(1, 4))] + [x]
        parts = [t for t in parts if t.scale == _SCALE["scale"]] or [inputs[0]]
        whole = _activation(sum(t.shape[1] for t in parts))
        return main.op("CONCATENATION", parts, [whole], axis=1)[0]
    if kind == 2:
        axis = Tensor.constant(np.array([1], np.int32))
        return main.op("MEAN", [x, axis], [_activation(1)], keep_dims=True)[0]
    if kind == 3:
        y = Tensor([1, size], "int8", scale=1 / 256, zero_point=-128)
        return main.op("LOGISTIC", [x], [y])[0]
    return main.op("RESHAPE", [x], [_activation(size)], new_shape=[1, size])[0]
