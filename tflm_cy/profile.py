"""Where the time of an interpreter's runs goes, node by node: what `Interpreter.profile` gives.

    with interpreter.profile() as profile:
        for _ in range(100):
            interpreter.invoke()
    for node in profile.nodes():
        print(node.op_name, node.seconds, node.macs)

While a profile is on, each node is run between two looks at a clock (some 40 ns together); off, nothing is different. A delegate's nodes
are told apart, though `execution_plan` shows them as one.

Multiply-adds (`macs`) are those of the definition: what a kernel leaves out (padding) or adds (zeros to fill a vector) is not known here.
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np


@dataclass(frozen=True)
class Operand:
    """A tensor that a node reads or writes; `type` as the schema names it."""

    index: int
    name: str
    type: str
    shape: tuple[int, ...]
    nbytes: int
    constant: bool


@dataclass(frozen=True)
class NodeTime:
    """One step of the engine.

    `node`: its index; above the file's when the delegate made it. `part_of`: the node of `execution_plan` that it belongs to, itself
    outside of delegates. `seconds`: the median over the runs, `least` and `total` their minimum and sum. `share`: of the median
    times of all steps. `nbytes`: of the tensors that it reads and writes, constants included.
    """

    subgraph: int
    node: int
    part_of: int
    op_name: str
    arithmetic: str
    calls: int
    seconds: float
    least: float
    total: float
    share: float
    macs: int
    nbytes: int
    kind: str = ""  # of its products: "float32", "int8", "hybrid" (float32 times int8), "int16"; "" without
    inputs: tuple = field(repr=False, default=())
    outputs: tuple = field(repr=False, default=())

    @property
    def macs_per_second(self):
        """Multiply-adds per second at the median, 0 for operators without."""
        return self.macs / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self):
        return self.nbytes / self.seconds if self.seconds else 0.0


class Profile:
    """The runs of one interpreter since `Interpreter.profile()`; ends with `stop`, or as a context manager."""

    def __init__(self, core):
        self._core = core
        self._runs = []
        self._steps = None
        core.record(self._runs)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self):
        """Record no more; what was recorded stays."""
        if self._steps is None:
            self._core.record(None)
            self._steps = self._look()

    def runs(self, subgraph=0):
        """Times of all recorded runs: int64 nanoseconds of a monotonic clock, [runs, steps, (begin, end)]."""
        count = len(self._steps[subgraph] if self._steps is not None else self._core.steps(subgraph))
        # A run of another plan, before the default delegate took its nodes, is not comparable.
        kept = [times for index, times in self._runs if index == subgraph and len(times) == 16 * count]
        return np.frombuffer(b"".join(kept), np.int64).reshape(len(kept), count, 2)

    def nodes(self):
        """A `NodeTime` per step that has run, of all subgraphs, in the order of execution."""
        found = []
        for subgraph, steps in enumerate(self._steps if self._steps is not None else self._look()):
            runs = self.runs(subgraph)
            if not len(runs):
                continue
            times = (runs[:, :, 1] - runs[:, :, 0]) * 1e-9
            for step, seconds in zip(steps, times.T, strict=True):
                found.append((subgraph, step, seconds))
        # A subgraph that runs several times per invoke counts as often.
        calls = max((len(seconds) for subgraph, _, seconds in found if subgraph == 0), default=1)
        whole = sum(np.median(seconds) * len(seconds) / calls for subgraph, _, seconds in found if subgraph == 0)
        return [_node_time(subgraph, step, seconds, calls, whole) for subgraph, step, seconds in found]

    def seconds(self):
        """Seconds of each recorded run of the main subgraph, from its first node to its last."""
        runs = self.runs(0)
        if not runs.shape[1]:
            return np.zeros(len(runs))
        return (runs[:, -1, 1] - runs[:, 0, 0]) * 1e-9

    def _look(self):
        return [self._core.steps(subgraph) for subgraph in range(self._core.num_subgraphs())]

    def __repr__(self):
        return f"<Profile of {len(self._runs)} runs>"


def _node_time(subgraph, step, seconds, calls, whole):
    node, part_of, op_name, arithmetic, inputs, outputs = step
    inputs, outputs = (tuple(_operand(given) for given in side) for side in (inputs, outputs))
    median = float(np.median(seconds))
    return NodeTime(
        subgraph,
        node,
        part_of,
        op_name,
        arithmetic,
        len(seconds),
        median,
        float(seconds.min()),
        float(seconds.sum()),
        median * len(seconds) / calls / whole if whole else 0.0,
        multiply_adds(op_name, inputs, outputs),
        sum(operand.nbytes for operand in (*inputs, *outputs) if operand is not None),
        _kind(op_name, inputs),
        inputs,
        outputs,
    )


def _operand(given):
    if given is None:
        return None
    index, name, kind, shape, nbytes, constant = given
    return Operand(index, name, kind, tuple(shape), nbytes, constant)


def multiply_adds(op_name, inputs, outputs):
    """Multiply-adds of one run of a node; 0 for operators that are not sums of products.

    >>> x = Operand(0, "x", "FLOAT32", (1, 8, 8, 3), 768, False)
    >>> w = Operand(1, "w", "FLOAT32", (16, 3, 3, 3), 1728, True)
    >>> y = Operand(2, "y", "FLOAT32", (1, 8, 8, 16), 4096, False)
    >>> multiply_adds("CONV_2D", (x, w, None), (y,))
    27648
    """
    count = _COUNTS.get(op_name)
    if count is None:
        return 0
    try:
        return count(inputs, outputs)
    except (IndexError, AttributeError):  # an operand is missing or of another rank: the operator knows what that means
        return 0


def _per_output(filter_axes):
    def count(inputs, outputs):
        return prod(outputs[0].shape) * prod(inputs[1].shape[filter_axes])

    return count


def _transposed(inputs, outputs):
    weights = inputs[1].shape
    return prod(inputs[2].shape[:3]) * prod(weights)


def _batch_matmul(inputs, outputs):
    # x [.., m, k] or its transpose times y [.., k, n]: k follows from the sizes whatever is transposed
    m, n = outputs[0].shape[-2:]
    return prod(outputs[0].shape) * (inputs[0].shape[-1] * inputs[0].shape[-2] // m if m else 0) if n else 0


def _all_weights(inputs, outputs):
    """Every weight of a recurrent cell meets each row of each time step once."""
    rows = prod(inputs[0].shape[:-1])
    return rows * sum(prod(w.shape) for w in inputs[1:] if w is not None and w.constant and len(w.shape) == 2)


_COUNTS = {
    "CONV_2D": _per_output(slice(1, None)),
    "CONV_3D": lambda inputs, outputs: prod(outputs[0].shape) * prod(inputs[1].shape[:4]),
    "DEPTHWISE_CONV_2D": _per_output(slice(1, 3)),
    "FULLY_CONNECTED": _per_output(slice(-1, None)),
    "TRANSPOSE_CONV": _transposed,
    "Convolution2DTransposeBias": lambda inputs, outputs: prod(inputs[0].shape[:3]) * prod(inputs[1].shape),
    "BATCH_MATMUL": _batch_matmul,
    "LSTM": _all_weights,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _all_weights,
    "RNN": _all_weights,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _all_weights,
    "SVDF": _all_weights,
}


def _kind(op_name, inputs):
    if op_name not in _COUNTS or len(inputs) < 2 or inputs[1] is None:
        return ""
    values = inputs[2] if op_name == "TRANSPOSE_CONV" and len(inputs) > 2 else inputs[0]
    if values is None:
        return ""
    if values.type == "FLOAT32":
        weights = inputs[1]
        return "hybrid" if weights is not None and weights.type in ("INT8", "UINT8", "INT4", "INT2") else "float32"
    return {"INT8": "int8", "UINT8": "int8", "INT16": "int16"}.get(values.type, "")
