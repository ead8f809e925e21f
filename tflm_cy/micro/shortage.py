"""Where TFLM runs out of memory in an arena that is too small, and what it prints there.

    >>> from tflm_cy.micro.shortage import shortage              # doctest: +SKIP
    >>> shortage(demand, head, 4096).words                       # doctest: +SKIP
    'Failed to resize buffer. Requested: 55296, available 1580, missing: 53716'

The arena begins on a multiple of 16, as it does in the lines that `resolver` prints. TFLM's own order: objects are laid
down from the arena's end; before and between them come the kernels' tensors, the planner's work space, and at last the
head. Numbers in TFLM's messages are those of the call that fails, so `missing` is only what that call lacks.
"""

from dataclasses import dataclass

from tflm_cy.micro.arena_usage import round_up
from tflm_cy.micro.graph_view import Node
from tflm_cy.micro.requests import MOST_SCRATCH

_FIRST = "SubgraphAllocations"
HEAD = "the head (tensors and scratch buffers)"
REQUESTS = "the list of scratch requests"

SETUP, PREPARE, PLAN, ENDS = "setting up", "prepare", "planning", "inputs and outputs"


@dataclass(frozen=True)
class Shortage:
    """The call that fails."""

    stage: str
    what: str  # what the memory is for
    node: Node | None
    requested: int
    available: int
    words: str  # as TFLM prints it

    def __str__(self):
        where = f" of {self.node}" if self.node is not None else ""
        return f"{self.what}{where} needs {self.requested} bytes where {self.available} are free"


def shortage(demand, head, arena_size):
    """The first call that fails in an arena of `arena_size` bytes; None when none does.

    Parameters
    ----------
    demand : arena_usage.Demand
    head : int
        Of the plan.
    arena_size : int
    """
    tail, used = arena_size, demand.target.size("ScratchBufferRequest") * MOST_SCRATCH
    objects = [*demand.before, *demand.after]
    planned, started = len(demand.before), _started(demand)
    for count, allocation in enumerate(objects):
        found = _resize(used, tail, REQUESTS) if count == started else None
        if count <= planned:
            found = found or _temporary(demand, count, tail)
        if count == planned:
            found = found or _planning(demand, tail) or _resize(head, tail, HEAD)
            used = head
        if found:
            return found
        lower = (tail - allocation.size) // allocation.alignment * allocation.alignment
        held = used if count >= started else 0
        if lower < held:
            stage = ENDS if count >= planned else PREPARE if allocation.place is not None else SETUP
            return _tail(stage, allocation, _node(demand, allocation), held - lower)
        tail = lower
    return None


def _started(demand):
    """The first object that is made when the kernels' requests have their place at the arena's begin."""
    return next((i for i, allocation in enumerate(demand.before) if allocation.what == _FIRST), 0)


def _temporary(demand, count, tail):
    needed = max((size for made, size in demand.prepare_bytes if made == count), default=0)
    if needed <= tail:
        return None
    node = next((_node(demand, allocation) for allocation in demand.before[count:] if allocation.place), None)
    words = "Failed to allocate temp memory."
    return Shortage(PREPARE, "what prepare looks at", node, needed, tail, words)


def _planning(demand, tail):
    if not demand.buffers:
        return None
    space = round_up(demand.planning_bytes)
    each = 1 if demand.preserve_all else demand.target.size("GreedyPlannerBuffer")
    needed = space + each * len(demand.buffers)
    if needed <= tail:
        return None
    words = f"Failed to allocate memory for memory planning, {space} bytes required"
    if space <= tail:
        words = f"Too many buffers (max is {(tail - space) // each})"
    return Shortage(PLAN, "the memory planner's work space", None, needed, tail, words)


def _resize(head, tail, what):
    if head <= tail:
        return None
    words = f"Failed to resize buffer. Requested: {head}, available {tail}, missing: {head - tail}"
    return Shortage(PLAN if what == HEAD else SETUP, what, None, head, tail, words)


def _node(demand, allocation):
    """The Node whose kernel asks for an object; None for TFLM's own."""
    if allocation.place is None:
        return None
    subgraph, index = allocation.place
    return demand.graph.subgraphs[subgraph].nodes[index]


def _tail(stage, allocation, node, missing):
    size, free = allocation.size, allocation.size - missing
    unsigned = free % (1 << 32)  # as TFLM prints what is less than nothing
    words = f"Failed to allocate tail memory. Requested: {size}, available {unsigned}, missing: {missing}"
    return Shortage(stage, allocation.what, node, size, max(0, free), words)
