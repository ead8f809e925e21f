"""Whether a firmware will run a model in an arena, what stops it first, and what to do: what `python -m tflm_cy doctor` says.

    >>> from tflm_cy.micro.diagnosis import Diagnosis            # doctest: +SKIP
    >>> found = Diagnosis("model.tflite", "cortex-m4", arena_size=65536)     # doctest: +SKIP
    >>> found.runs, found.needed                                 # doctest: +SKIP
    (False, 85280)

What a firmware may do wrong besides (an operator that its resolver was not given, an arena on the stack) cannot be seen
in the model; the operators that the resolver needs are listed.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

from tflm_cy.micro import messages
from tflm_cy.micro.device import resolve
from tflm_cy.micro.library_bytes import other_bytes
from tflm_cy.micro.refusal import Refusal
from tflm_cy.micro.resolver import firmware
from tflm_cy.micro.shortage import shortage
from tflm_cy.micro.survey import Survey
from tflm_cy.micro.target import ARENA_ALIGNMENT

_ENOUGH = 0.02  # of the head: what a planner must save to be worth a line


@dataclass(frozen=True)
class First:
    """What stops the model first: TFLM's words and plain ones."""

    call: str  # of the firmware, that returns an error
    stage: str
    node: object
    words: str
    plain: str

    def as_json(self):
        node = self.node
        return {
            "call": self.call,
            "stage": self.stage,
            "node": None if node is None else node.index,
            "subgraph": None if node is None else node.subgraph,
            "op": None if node is None else node.op,
            "words": self.words,
            "reason": self.plain,
        }


@dataclass(frozen=True)
class OperatorRow:
    """An operator of the model."""

    op: str
    nodes: int
    macs: int
    weights: int  # bytes of constants that it is the first to read
    persistent: int
    scratch: int


class Diagnosis:
    """A model, a target and an arena.

    Parameters
    ----------
    path : str, os.PathLike, bytes-like or schema.model.Model
    target : str
        Of `device.NAMES`, with kernels or without.
    arena_size : int, optional
        Of the firmware; without it the model has the memory that it needs.
    macs_of : callable, optional
        The multiply-adds of a `graph_view.Node`; without it none are counted.
    """

    def __init__(self, path, target, arena_size=None, macs_of=None):
        self._macs_of = macs_of or (lambda node: 0)
        self.build = resolve(target)
        self.survey = Survey(path, targets=(self.build.name,))
        self.graph = self.survey.graph
        self.arena_size = arena_size
        self.figures = self.survey.figures()

    @property
    def needed(self):
        """The least kTensorArenaSize, a multiple of 16."""
        return -(-self.figures.smallest_arena // ARENA_ALIGNMENT) * ARENA_ALIGNMENT

    @cached_property
    def shortage(self):
        """`shortage.Shortage` of the arena that is given."""
        if self.arena_size is None:
            return None
        return shortage(self.survey.demand, self.figures.head, self.arena_size)

    @property
    def runs(self):
        return self.survey.runs and (self.arena_size is None or self.arena_size >= self.figures.smallest_arena)

    @property
    def first(self):
        """The First thing that stops it; None where it runs."""
        objections, faults = self.survey.objections, self.survey.faults
        if objections:
            return self._refused(objections[0])
        if self.shortage is not None:
            short = self.shortage
            return First("AllocateTensors", short.stage, short.node, short.words, f"The arena is too small: {short}.")
        if self.arena_size is not None and self.arena_size < self.figures.smallest_arena:
            return First("AllocateTensors", "prepare", None, "", "The arena is too small.")
        return self._refused(faults[0]) if faults else None

    def _refused(self, refusal):
        return First(
            messages.call(refusal), refusal.stage, refusal.node, messages.words(refusal), f"{_sentence(refusal)}."
        )

    @property
    def reasons(self):
        """All `Refusal`s, as texts."""
        found = [*self.survey.objections, *self.survey.faults]
        return [f"{r.node or 'the model'} ({r.stage}): {r.reason}" for r in found if isinstance(r, Refusal)]

    @cached_property
    def changes(self):
        """What to change, as sentences; the most important first."""
        found = list(self.survey.advice)
        short = self.arena_size is not None and self.arena_size < self.needed
        if short:
            found.append(f"Make the arena larger: kTensorArenaSize = {self.needed}, on a multiple of 16 bytes.")
        if short or self.arena_size is None:
            found += self._smaller()
        return found

    def _smaller(self):
        """Ways to need less memory."""
        survey, head = self.survey, self.figures.head
        best = self._better_planner(head)
        if best:
            least = _up(survey.figures(planner=best).smallest_arena)
            yield (
                f"Plan the memory better: `python -m tflm_cy arena MODEL --target {self.build.name} --planner {best} "
                f"--export-plan planned.tflite` writes a copy that needs {least} bytes; its outputs are the same."
            )
        floats = sum(
            b.size for b in self.peak_buffers if not b.scratch and self.graph.tensor(b.place).type == "FLOAT32"
        )
        if floats > head / 2:
            yield (
                "The tensors at the peak are FLOAT32: quantize to INT8 (a representative_dataset, and inference_input_type "
                "and inference_output_type tf.int8), which needs a quarter of the memory and of the flash."
            )
        if find_spec("tflm_cy.micro.patchwise") and head > self.figures.tail:
            yield (
                "Compute the first layers patch by patch: `python -m tflm_cy arena MODEL --patches --target "
                f"{self.build.name}` says what that saves."
            )
        batch = max((self.graph.tensor((0, t)).shape[:1] or (1,))[0] for t in self.graph.subgraphs[0].inputs or [0])
        if batch > 1:
            yield f"The model computes a batch of {batch} at once: convert it with a batch of 1."

    def _better_planner(self, head):
        """The first of those that need the least, if that is worth it."""
        names = [name for name in ("optimal", "overlap") if name in self.survey.planners]
        if not names or not self.survey.allocates:
            return None
        heads = {name: self.survey.plan(name).high_water_mark for name in names}
        best = min(heads, key=heads.get)
        return best if head - heads[best] > _ENOUGH * head else None

    # ---------------------------------------------------------------- memory

    @property
    def peak(self):
        """(node or None for the graph's input, bytes alive) where most is alive."""
        time = self.survey.peak
        return self.survey.steps[time], self.survey.live_bytes[time]

    @property
    def peak_buffers(self):
        """The buffers that are alive there, the largest first."""
        time = self.survey.peak
        alive = [b for b in self.survey.demand.buffers if b.first <= time <= b.last]
        return sorted(alive, key=lambda buffer: -buffer.size)

    @cached_property
    def operators(self):
        """`OperatorRow`s, by multiply-adds and then by memory."""
        asked = self.survey.operators()
        macs, weights, seen = {}, {}, set()
        for node in self.graph.nodes:
            macs[node.op] = macs.get(node.op, 0) + self._macs_of(node)
            for t in node.inputs:
                if t >= 0 and node.tensors[t].constant:
                    data = node.tensors[t].data
                    key = (len(data), memoryview(data).tobytes()[:64], node.subgraph, t)
                    weights[node.op] = weights.get(node.op, 0) + (len(data) if key not in seen else 0)
                    seen.add(key)
        rows = [
            OperatorRow(op, u.nodes, macs[op], weights.get(op, 0), u.persistent, u.largest_scratch)
            for op, u in asked.items()
        ]
        return sorted(rows, key=lambda row: (-row.macs, -row.persistent - row.scratch, row.op))

    @property
    def weights(self):
        return sum(row.weights for row in self.operators)

    @property
    def macs(self):
        return sum(row.macs for row in self.operators)

    # ---------------------------------------------------------------- the firmware

    @property
    def resolver(self):
        """The lines of C++: an arena that is large enough, and the operators."""
        return firmware(self.graph, self.needed)

    @property
    def other_bytes(self):
        """{node: what the library's kernels compute otherwise than the reference kernels}."""
        machine = self.survey.demand.target
        found = {str(node): other_bytes(node, machine) for node in self.graph.nodes}
        return {name: text for name, text in found.items() if text}

    def as_json(self):
        """Everything as dicts, lists, numbers and texts."""
        node, live = self.peak
        return {
            "target": self.build.device,
            "kernels": self.build.kernels,
            "version": self.build.version,
            "runs": self.runs,
            "allocates": self.survey.allocates and self.shortage is None,
            "arena": {
                "given": self.arena_size,
                "needed": self.needed,
                "head": self.figures.head,
                "tail": self.figures.tail,
            },
            "first": self.first.as_json() if self.first else None,
            "reasons": self.reasons,
            "changes": self.changes,
            "peak": {
                "node": None if node is None else node.index,
                "op": None if node is None else node.op,
                "live_bytes": live,
                "buffers": [{"name": str(b), "bytes": b.nbytes, "scratch": b.scratch} for b in self.peak_buffers],
            },
            "operators": [vars(row) for row in self.operators],
            "macs": self.macs,
            "flash": {"model": self.graph.file_bytes, "weights": self.weights},
            "resolver": self.resolver,
            "other_bytes": self.other_bytes,
        }


def _sentence(refusal):
    node = refusal.node
    if node is None:
        return refusal.reason
    named = f" '{node.tensors[node.outputs[0]].name}'" if node.outputs else ""
    return f"{node}{named}: {refusal.reason}"


def _up(size):
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
