"""What `arena --fast --slow` keeps in fast memory, judged apart from what chose it.

    python -m compat.memories                              # 50 random graphs
    python -m compat.memories --models DIR                 # and every model below DIR that TFLM allocates

Each model is divided for several sizes of fast memory. The judge knows the graph, the sizes, and where everything lies. It
runs the operators on two memories of single bytes: every byte that is read must be the one that was written. It counts the
bytes that operators write to and read from slow memory, each time, and compares them with what was said, with the bound,
and with a first fit of its own: the largest first, each in fast memory where it fits there. For the offline plan it looks
at where TFLM's own planner puts the buffers of the copy.

Exit code: 0 all as said, and nothing moves more than first fit; 1 otherwise; 2 wrong usage.
"""

import argparse
import sys

import numpy as np

from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.two_memories import divide
from tflm_cy.micro.two_memory_plan import follow
from tflm_cy.report import text_table
from tflm_cy.schema.model import Model

from .builder import Model as Builder
from .builder import Tensor
from .models import find_models
from .verdict import UsageError, judge

_SHARES = (0.1, 0.3, 0.6, 1.0)  # of the head
_SLOW = 1 << 30
_UNIT = 16
_LARGEST = 1 << 26  # heads that are replayed byte by byte


@judge("compat.memories")
def main(argv=None):
    parser = argparse.ArgumentParser(
        "python -m compat.memories", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=50, help="random ones (default %(default)s)")
    parser.add_argument("--models", action="append", metavar="DIR", default=[], help="models below; repeatable")
    parser.add_argument("--target", default="cortex-m7", help="whose scratch buffers count (default %(default)s)")
    arguments = parser.parse_args(argv)
    files = find_models(arguments.models) if arguments.models else []
    if arguments.models and not files:
        raise UsageError(f"no .tflite file below {', '.join(arguments.models)}")
    groups = [("random graphs", ((f"seed {seed}", random_graph(seed)) for seed in range(arguments.graphs)))]
    groups.append(("models", ((name, Model.from_path(path)) for name, path in _readable(files))))
    rows, wrong = [], 0
    for title, models in groups:
        counts = dict.fromkeys(("choices", "fewer than first fit", "as many", "proven least", "followed by TFLM"), 0)
        for name, model in models:
            for fault in judged(model, arguments.target, counts):
                wrong += 1
                print(f"  {name}: {fault}", flush=True)
        rows.append([title, *counts.values()])
    print(text_table(["", *counts], rows))
    print(f"{wrong} wrong")
    return wrong > 0 or not any(row[1] for row in rows)


def _readable(files):
    for name, path in files:
        try:
            Model.from_path(path)
        except (ValueError, OSError):
            continue
        yield name, path


def judged(model, target, counts):
    """What is wrong with the choices for a model, as texts; counts them."""
    try:
        asked = demand(model, target)
    except ValueError:  # TFLM refuses it
        return
    head = asked.plan().high_water_mark
    if not asked.buffers or head > _LARGEST:
        return
    for share in _SHARES:
        fast = -(-int(share * head) // _UNIT) * _UNIT
        for weights in (False, True):
            found = divide(asked, fast, _SLOW, weights=weights)
            counts["choices"] += 1
            yield from (f"{fast} bytes of fast memory: {fault}" for fault in _faults(asked, found, fast))
            fitted = first_fit(found.items, fast)
            if found.moved > fitted:
                yield f"{fast} bytes of fast memory: {found.moved} bytes move, with first fit {fitted}"
            counts["fewer than first fit" if found.moved < fitted else "as many"] += 1
            counts["proven least"] += found.moved == found.bound
        try:
            followed = follow(model, asked, divide(asked, fast, _SLOW, weights=False), fast)
        except ValueError:  # TFLM's own places for scratch buffers need more
            continue
        counts["followed by TFLM"] += 1
        places = followed.plan.offsets
        lost, moved = replay(
            followed.demand, {b.place_key: o for b, o in zip(_keyed(followed.demand), places, strict=True)}, {}, fast
        )
        if lost or moved != followed.moved:
            yield f"{fast} bytes of fast memory: the copy's plan moves {moved} bytes ({followed.moved} were said); {lost}"


def _faults(asked, found, fast):
    """Where a Division is not what it says."""
    placed = {True: iter(found.fast_plan.offsets), False: iter(found.slow_plan.offsets)}
    tensors, weights = {}, {}
    keys = iter(_keyed(asked))
    for item, inside in zip(found.items, found.fast, strict=True):
        offset = next(placed[inside])
        if inside and offset + item.size > fast:
            yield f"{item.label} ends behind the fast memory's end"
        if item.kind == "weights":
            weights[item.place] = offset if inside else offset + fast
        else:
            tensors[next(keys).place_key] = offset + (0 if inside else fast)
    lost, moved = replay(asked, tensors, weights, fast)
    if lost:
        yield lost
    if moved != found.moved:
        yield f"{moved} bytes move, {found.moved} were said"
    if found.bound > found.moved:
        yield f"the bound {found.bound} is above the {found.moved} bytes that move"


class _Keyed:
    """A buffer with a name of its own: several scratch buffers belong to one node."""

    def __init__(self, buffer, number):
        self.buffer = buffer
        self.place_key = (buffer.scratch, *buffer.place, number if buffer.scratch else 0)


def _keyed(asked):
    return [_Keyed(buffer, number) for number, buffer in enumerate(asked.buffers)]


def replay(asked, tensors, weights, fast):
    """(what is read and is not there any more, bytes that move to and from behind `fast`) of an invoke.

    Parameters
    ----------
    asked : arena_usage.Demand
    tensors : dict
        {key of a buffer: offset}; slow memory begins at `fast`.
    weights : dict of (subgraph, tensor) to offset
        Of those that have a place; they are there from the beginning.
    """
    return _Invoke(asked, tensors, weights, fast).run()


class _Invoke:
    def __init__(self, asked, tensors, weights, fast):
        self.asked, self.offsets, self.fast = asked, {**tensors, **weights}, fast
        self.buffers = {keyed.place_key: keyed.buffer for keyed in _keyed(asked)}
        self.weights = {place: len(asked.graph.tensor(place).data) for place in weights}
        self.numbers = {key: number for number, key in enumerate(self.offsets)}
        ends = (offset + self._size(key) for key, offset in self.offsets.items())
        self.memory = np.full(max(ends, default=0) // _UNIT + 1, -1, np.int64)
        self.moved = dict.fromkeys(self.offsets, 0.0)
        self.lost = ""

    def run(self):
        born, running, written = {}, {}, set()
        for key, buffer in self.buffers.items():
            born.setdefault(max(buffer.first, 0), []).append(key)
        for time, node in self.asked.node_times:
            running.setdefault(time, []).append(node)
        for place in self.weights:
            self._write(place)
        for time in sorted({*born, *running}):
            for key in born.get(time, ()):
                self._write(key)
            for node in running.get(time, ()):
                for t in node.inputs:
                    self._read(node, t)
                for t in node.outputs:
                    written.add((False, node.subgraph, t, 0))
                    self._move((False, node.subgraph, t, 0))
        for key in self.buffers:
            for _ in range(2 if key[0] else key not in written):  # scratch both ways; the program writes inputs
                self._move(key)
        return self.lost, sum(-int(-moved // 1) for moved in self.moved.values())

    def _size(self, key):
        return self.weights[key] if key in self.weights else self.buffers[key].size

    def _units(self, key):
        offset = self.offsets[key]
        return slice(offset // _UNIT, -(-(offset + self._size(key)) // _UNIT))

    def _write(self, key):
        self.memory[self._units(key)] = self.numbers[key]

    def _read(self, node, t):
        place = (node.subgraph, t)
        key = place if place in self.weights else (False, *place, 0)
        if key in self.offsets and not self.lost and (self.memory[self._units(key)] != self.numbers[key]).any():
            self.lost = f"{node} reads tensor {t}, which is not there any more"
        self._move(key)

    def _move(self, key):
        """All bytes of a tensor once, as far as they lie in slow memory."""
        if key not in self.offsets or not self._size(key):
            return
        size, nbytes = self._size(key), self.weights[key] if key in self.weights else self.buffers[key].nbytes
        behind = min(max(self.offsets[key] + size - self.fast, 0), size)
        self.moved[key] += nbytes * behind / size


def first_fit(items, fast):
    """Bytes that move when the largest come first, each at the lowest free offset of fast memory, else into slow memory."""
    placed, moved = [], 0
    for item in sorted(items, key=lambda item: (-item.size, item.first)):
        near = sorted(p for p in placed if p[2] <= item.last and item.first <= p[3])
        offset = 0
        for begin, end, *_ in near:
            if begin - offset >= item.size:
                break
            offset = max(offset, end)
        if offset + item.size <= fast:
            placed.append((offset, offset + item.size, item.first, item.last))
        else:
            moved += item.moved
    return moved


def random_graph(seed):
    """A Model of some operators over images: convolutions, sums, concatenations."""
    rng = np.random.default_rng([seed, 7])
    model = Builder()
    main = model.subgraph("main")

    def image(shape):
        return Tensor(list(map(int, shape)), "int8", scale=0.05, zero_point=0)

    images = [image([1, rng.integers(4, 24), rng.integers(4, 24), rng.integers(1, 9)])]
    main.inputs = [images[0]]
    for _ in range(int(rng.integers(4, 20))):
        x = images[int(rng.integers(max(0, len(images) - 4), len(images)))]
        kind = rng.integers(4)
        same = [t for t in images if t.shape == x.shape]
        if kind == 0:
            y = image(x.shape)
            main.op("ADD", [x, same[int(rng.integers(len(same)))]], [y])
        elif kind == 1 and x.shape[3] < 64:
            beside = [t for t in images if t.shape[:3] == x.shape[:3]]
            other = beside[int(rng.integers(len(beside)))]
            y = image([*x.shape[:3], x.shape[3] + other.shape[3]])
            main.op("CONCATENATION", [x, other], [y], axis=3)
        else:
            channels, window = int(rng.integers(1, 17)), int(rng.integers(1, 4))
            weights = rng.integers(-127, 128, [channels, window, window, x.shape[3]]).astype(np.int8)
            scales, zeros = [0.01] * channels, [0] * channels
            bias = Tensor.constant(np.zeros(channels, np.int32), scale=[0.0005] * channels, zero_point=zeros)
            stride = int(rng.integers(1, 3))
            y = image([1, -(-x.shape[1] // stride), -(-x.shape[2] // stride), channels])
            inputs = [x, Tensor.constant(weights, scale=scales, zero_point=zeros, axis=0), bias]
            main.op("CONV_2D", inputs, [y], padding="SAME", stride_h=stride, stride_w=stride)
        images.append(y)
    read = {id(t) for op in main.operators for t in op["inputs"]}
    main.outputs = [t for t in images[1:] if id(t) not in read]
    return Model.from_buffer(model.to_bytes())


if __name__ == "__main__":
    sys.exit(main())
