"""TFLM's memory of a model, without running TFLM: every allocation in order, to the byte.

    >>> from tflm_cy.micro.figures import figures                # doctest: +SKIP
    >>> person = figures(Model.from_path("person_detect.tflite"))        # doctest: +SKIP
    >>> person.head, person.tail, person.total                   # doctest: +SKIP
    (55296, 29968, 85264)

Three steps, which do not depend on the arena's size until the last:

1. `Demand`: what TFLM asks for. Objects in the tail, in the order of its constructors, StartModelAllocation, builtin
   options, init and prepare of every node, FinishModelAllocation, and the main graph's inputs and outputs; and the
   buffers to be planned, tensors first, then scratch.
2. A plan of the buffers: the greedy planner's, as TFLM's, or another one.
3. `figures`: the objects laid down in an arena. The tail begins where the arena ends, which need not be aligned, so
   up to 15 bytes depend on the arena's size modulo 16.

"used" is what the tail moved, padding included, "requested" the sizes; the total is head and tail. Sizes of planned
buffers are rounded up to 16, sizes in the tail are not.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/micro_allocator.cc, recording_micro_allocator.cc. Checked against
the tflite_micro package: `python -m compat.arena`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear
from tflm_cy.memory.problem import Plan, Problem
from tflm_cy.micro.graph_view import GraphView, Node, view
from tflm_cy.micro.lifetimes import Lifetimes
from tflm_cy.micro.offline import ONLINE, OfflinePlan, read_plan
from tflm_cy.micro.requests import MOST_SCRATCH, OPENED_TWICE, kernel_of, requests_of
from tflm_cy.micro.target import ARENA_ALIGNMENT, Target, target

EVAL_TENSORS = "TfLiteEvalTensor data"
TENSORS = "Persistent TfLiteTensor data"
QUANTIZATION = "Persistent TfLiteTensor quantization data"
PERSISTENT = "Persistent buffer data"
VARIABLES = "TfLiteTensor variable buffer data"
NODES = "NodeAndRegistration struct"

# kind -> what its count is called, in the order in which TFLM prints them
KINDS = {
    EVAL_TENSORS: "allocations",
    TENSORS: "tensors",
    QUANTIZATION: "allocations",
    PERSISTENT: "allocations",
    VARIABLES: "allocations",
    NODES: "NodeAndRegistration structs",
}
RUNTIME_ARENA_FACTOR = 10  # the tflite_micro package's default arena, in sizes of the model file
_MOST_PRESERVED = 1024  # buffers that the linear planner has room for


class Allocation(NamedTuple):
    """One object in the tail."""

    what: str
    size: int
    alignment: int
    kind: str | None = None  # as recorded; None is counted in the total only
    count: int = 1


@dataclass(frozen=True)
class Buffer:
    """One buffer of the head: a tensor, or a scratch request."""

    label: str
    place: tuple[int, int]  # (subgraph, tensor), or (subgraph, node) of scratch
    scratch: bool
    nbytes: int
    first: int
    last: int
    fixed: int = ONLINE  # by an offline plan

    @property
    def size(self):
        """In the head."""
        return _round_up(self.nbytes)

    def __str__(self):
        if self.scratch:
            return self.label
        return f"tensor {self.place[1]} '{self.label}'"


@dataclass
class Record:
    """Sums of one recorded kind."""

    used: int = 0
    requested: int = 0
    count: int = 0


@dataclass(frozen=True)
class Demand:
    """Everything that TFLM asks for. `before` and `after`: the tail's objects before and after the plan is made."""

    graph: GraphView
    target: Target
    preserve_all: bool
    before: list[Allocation]
    after: list[Allocation]
    buffers: list[Buffer]
    offline: OfflinePlan | None
    node_times: list[tuple[int, Node]]
    prepare_bytes: list[tuple[int, int]]  # (objects made, bytes in temporary memory) at the end of each prepare
    planning_bytes: int  # in temporary memory while planning, besides the planner's own

    def problem(self, relaxed=()):
        """The planning problem; `relaxed` as in `memory.Problem`."""
        return Problem(
            [buffer.size for buffer in self.buffers],
            [buffer.first for buffer in self.buffers],
            [buffer.last for buffer in self.buffers],
            [buffer.fixed for buffer in self.buffers],
            ARENA_ALIGNMENT,
            relaxed,
        )

    def plan(self):
        """What TFLM's own planner does."""
        if any(buffer.fixed < ONLINE for buffer in self.buffers):
            raise ValueError("the offline plan has an offset below -1")
        return (linear if self.preserve_all else greedy)(self.problem())


@dataclass(frozen=True)
class Figures:
    """What `RecordingMicroAllocator::PrintAllocations` says, and the smallest arena."""

    head: int
    tail: int
    kinds: dict[str, Record]  # those that occur
    smallest_arena: int
    arena_size: int
    objects: list[tuple[Allocation, int]] = field(repr=False)  # with the bytes that the tail moved
    demand: Demand = field(repr=False)
    plan: Plan = field(repr=False)

    @property
    def total(self):
        return self.head + self.tail

    @property
    def fits(self):
        """Whether the model can be allocated in `arena_size` bytes."""
        tails = _tails(self.demand, self.arena_size)
        return all(tails[objects] >= size for objects, size in _pressures(self.demand, self.head))

    def text(self):
        """As TFLM prints it."""
        lines = [f"Arena allocation {what} {getattr(self, what)} bytes" for what in ("total", "head", "tail")]
        for kind, record in self.kinds.items():
            lines.append(
                f"'{kind}' used {record.used} bytes with alignment overhead "
                f"(requested {record.requested} bytes for {record.count} {KINDS[kind]})"
            )
        return "\n".join(f"[RecordingMicroAllocator] {line}" for line in lines)


def figures(model, target_name="host64", arena_size=None, *, plan=None, preserve_all=False, recording=None):
    """TFLM's figures of a model.

    Parameters
    ----------
    model : schema.model.Model, GraphView or Demand
    target_name : str
        Of `target.NAMES`.
    arena_size : int, optional
        By default as large as the tflite_micro package makes it: ten times the file.
    plan : memory.Plan, optional
        Another plan for `Demand.buffers` than TFLM's.
    preserve_all : bool
        Nothing shares memory (kPreserveAllTensors).
    recording : bool, optional
        The allocator that records, or the plain one; by default what is usual for the target.

    Raises
    ------
    ValueError
        TFLM would refuse the model; or a negative arena.
    """
    if not isinstance(model, Demand):
        model = demand(model, target_name, preserve_all=preserve_all, recording=recording)
    if arena_size is None:
        arena_size = RUNTIME_ARENA_FACTOR * model.graph.file_bytes
    if arena_size < 0:
        raise ValueError(f"an arena of {arena_size} bytes")
    plan = plan or model.plan()
    objects = _lay_down(model.before + model.after, arena_size)
    kinds = {kind: Record() for kind in KINDS}
    for allocation, moved in objects:
        if allocation.kind:
            record = kinds[allocation.kind]
            record.used += moved
            record.requested += allocation.size
            record.count += allocation.count
    return Figures(
        head=plan.high_water_mark,
        tail=sum(moved for _, moved in objects),
        kinds={kind: record for kind, record in kinds.items() if record.used or record.requested},
        smallest_arena=_smallest_arena(model, plan.high_water_mark),
        arena_size=arena_size,
        objects=objects,
        demand=model,
        plan=plan,
    )


def demand(model, target_name="host64", *, preserve_all=False, recording=None):
    """The Demand of a model (or of its GraphView); see `figures`."""
    graph = model if isinstance(model, GraphView) else view(model)
    machine = target(target_name, recording)
    before = [*_constructors(machine, preserve_all), *_resource_variables(graph, machine), *_start(graph, machine)]
    before += _builtin_options(graph, machine)
    before += _init(graph, machine)
    scratch = []  # (bytes, node)
    prepare_bytes = []
    before += _prepare(graph, machine, scratch, prepare_bytes, len(before))
    offline = read_plan(graph)
    if offline and preserve_all:
        raise ValueError("an offline plan cannot be kept when all tensors are preserved")
    fixed = dict(zip(graph.tensor_places, offline.offsets if offline else [], strict=False))
    before += _finish(graph, machine, scratch, fixed)
    lifetimes = Lifetimes(graph, [(node.subgraph, node.index) for _, node in scratch])
    buffers = [*_planned_tensors(graph, lifetimes, fixed), *_planned_scratch(scratch, lifetimes)]
    if preserve_all and len(buffers) > _MOST_PRESERVED:
        raise ValueError(f"{len(buffers)} buffers; TFLM can preserve {_MOST_PRESERVED}")
    tensors = len(graph.tensor_places)
    return Demand(
        graph=graph,
        target=machine,
        preserve_all=preserve_all,
        before=before,
        after=list(_ends(graph, machine)),
        buffers=buffers,
        offline=offline,
        node_times=lifetimes.node_times,
        prepare_bytes=prepare_bytes,
        planning_bytes=machine.size("ScratchBufferRequest") * (MOST_SCRATCH + len(scratch))
        + machine.size("pointer") * len(graph.subgraphs)
        + machine.size("AllocationInfo") * (tensors + len(scratch)),
    )


def _struct(machine, name, count=1, kind=None):
    size, alignment = machine.structs[name]
    return Allocation(name, size * count, alignment, kind, count)


def _asked(size, what):
    """A kernel's AllocatePersistentBuffer."""
    return Allocation(what, size, ARENA_ALIGNMENT, PERSISTENT)


def _constructors(machine, preserve_all):
    recording = "Recording" if machine.recording else ""
    yield _struct(machine, f"{recording}SingleArenaBufferAllocator")
    yield _struct(machine, "LinearMemoryPlanner" if preserve_all else "GreedyMemoryPlanner")
    yield _struct(machine, f"{recording}MicroAllocator")


def _resource_variables(graph, machine):
    """Whoever creates the interpreter makes the table first, one entry per name."""
    names = {node.options.shared_name for node in graph.nodes if node.op == "VAR_HANDLE"}
    if names:
        yield _asked(machine.size("MicroResourceVariables"), "MicroResourceVariables")
        yield _asked(machine.size("MicroResourceVariable") * len(names), "MicroResourceVariable")


def _start(graph, machine):
    yield _struct(machine, "MicroBuiltinDataAllocator")
    yield _struct(machine, "SubgraphAllocations", len(graph.subgraphs))
    for subgraph in graph.subgraphs:
        yield _struct(machine, "TfLiteEvalTensor", len(subgraph.tensors), EVAL_TENSORS)
    for subgraph in graph.subgraphs:
        yield _struct(machine, "NodeAndRegistration", len(subgraph.nodes), NODES)


def _builtin_options(graph, machine):
    for node in graph.nodes:
        name = kernel_of(node.op).options
        if name:
            yield Allocation(f"{node} options", *machine.options[name])


def _init(graph, machine):
    for node in graph.nodes:
        kernel = kernel_of(node.op)
        op_data = machine.op_data[kernel.op_data] if kernel.op_data else None
        if op_data is not None:
            yield _asked(op_data, f"{node} op data")
        for request in kernel.init(node, machine) if kernel.init else ():
            yield _asked(request.size, f"{node} state")


def _prepare(graph, machine, scratch, prepare_bytes, made):
    """The objects of prepare, `made` of which exist before; its scratch requests go to `scratch`, the temporary memory
    of each node to `prepare_bytes`."""
    handles, owned = {}, set()
    for node in graph.nodes:
        held = machine.size("ScratchBufferRequest") * (MOST_SCRATCH + len(scratch))
        if node.op == "VAR_HANDLE" and node.outputs:
            handles[node.subgraph, node.outputs[0]] = (node.options.container, node.options.shared_name)
        if node.op == "ASSIGN_VARIABLE":  # the first to assign a variable of its own graph makes its memory
            name = handles.get((node.subgraph, node.inputs[0]))
            if name is not None and name not in owned:
                owned.add(name)
                made += 1
                yield _asked(node.input(1).nbytes, f"{node} variable '{name[1]}'")
        for request in _guarded(node, machine):
            if request.scratch:
                scratch.append((request.size, node))
            else:
                made += 1
                yield _asked(request.size, f"{node} prepare")
        prepare_bytes.append((made, _with_temporary_tensors(node, machine, held)))
        for t in node.outputs:
            tensor = node.tensors[t]
            if tensor.shape != (0,) and any(size <= 0 for size in tensor.shape):
                raise ValueError(f"{node} has an output of shape {tensor.shape}: TFLM has no dynamic tensors")


def _with_temporary_tensors(node, machine, at):
    """The end of temporary memory when a prepare has opened all of its tensors, some kernels twice, above `at`."""
    opened = [t for t in (*node.inputs, *node.outputs) if t >= 0]
    if node.op in OPENED_TWICE:
        opened += [t for t in (*node.inputs[:2], *node.outputs) if t >= 0]
    for t in opened:
        at = _aligned(at, machine.alignment("TfLiteTensor")) + machine.size("TfLiteTensor")
        if node.tensors[t].scales:
            at = _aligned(at, machine.alignment("TfLiteAffineQuantization")) + machine.size("TfLiteAffineQuantization")
            at = _aligned(at, 4) + 4 + 4 * len(node.tensors[t].scales)
    return at


def _guarded(node, machine):
    try:
        return requests_of(node, machine)
    except (IndexError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(f"{node} has not the inputs, outputs and shapes that its kernel expects: {error}") from None


def _finish(graph, machine, scratch, fixed):
    if scratch:
        yield _struct(machine, "ScratchBufferHandle", len(scratch))
    for place in graph.tensor_places:
        tensor = graph.tensor(place)
        if tensor.variable and fixed.get(place, ONLINE) == ONLINE:
            yield Allocation(f"variable '{tensor.name}'", tensor.nbytes, ARENA_ALIGNMENT, VARIABLES)


def _planned_tensors(graph, lifetimes, fixed):
    handles = {(node.subgraph, t) for node in graph.nodes if node.op == "VAR_HANDLE" for t in node.outputs[:1]}
    for place in graph.tensor_places:
        tensor, offset = graph.tensor(place), fixed.get(place, ONLINE)
        if tensor.variable:
            planned = offset != ONLINE  # else it lies in the tail
        else:
            planned = not tensor.constant and place not in handles and tensor.nbytes != 0
        if planned:
            yield Buffer(tensor.name, place, False, tensor.nbytes, *lifetimes.tensors[place], offset)


def _planned_scratch(scratch, lifetimes):
    for (size, node), (first, last) in zip(scratch, lifetimes.scratch, strict=True):
        yield Buffer(f"scratch of {node}", (node.subgraph, node.index), True, size, first, last)


def _ends(graph, machine):
    """What the interpreter keeps about the main graph's inputs and outputs."""
    main = graph.subgraphs[0]
    for what, indices in (("inputs", main.inputs), ("outputs", main.outputs)):
        yield _asked(machine.size("pointer") * len(indices), f"pointers to {what}")
        for t in indices:
            tensor = main.tensors[t]
            yield _struct(machine, "TfLiteTensor", 1, TENSORS)
            if tensor.scales:
                yield _struct(machine, "TfLiteAffineQuantization", 1, QUANTIZATION)
                yield Allocation(f"zero points of '{tensor.name}'", 4 + 4 * len(tensor.scales), 4, QUANTIZATION)


def _lay_down(allocations, arena_size):
    """[(allocation, bytes that the tail moved)]: each object below the last, aligned downwards."""
    tail, objects = arena_size, []
    for allocation in allocations:
        lower = (tail - allocation.size) // allocation.alignment * allocation.alignment
        objects.append((allocation, tail - lower))
        tail = lower
    return objects


def _pressures(demand, head):
    """[(objects in the tail, bytes needed below it)]: when the arena's two ends come close."""
    per_buffer = 1 if demand.preserve_all else demand.target.size("GreedyPlannerBuffer")
    planning = _round_up(demand.planning_bytes) + per_buffer * len(demand.buffers) if demand.buffers else 0
    end = len(demand.before) + len(demand.after)
    return [*demand.prepare_bytes, (len(demand.before), _round_up(planning)), (end, head)]


def _tails(demand, arena_size):
    """Where the tail ends after each number of objects."""
    tails = [arena_size]
    for _, moved in _lay_down(demand.before + demand.after, arena_size):
        tails.append(tails[-1] - moved)
    return tails


def _smallest_arena(demand, head):
    """Only the size modulo 16 shapes the tail: for each remainder the smallest size, then the smallest of those."""
    pressures = _pressures(demand, head)
    large = 1 << 40
    sizes = []
    for remainder in range(ARENA_ALIGNMENT):
        tails = _tails(demand, large + remainder)
        needed = max(large + remainder - tails[objects] + size for objects, size in pressures)
        sizes.append(needed + (remainder - needed) % ARENA_ALIGNMENT)
    return min(sizes)


def _aligned(size, alignment):
    return -(-size // alignment) * alignment


def _round_up(size):
    return _aligned(size, ARENA_ALIGNMENT)
