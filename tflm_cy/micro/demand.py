"""What TFLM asks of the arena for a model: objects in the tail, in order, and buffers in the head.

    >>> from tflm_cy.micro.demand import demand                  # doctest: +SKIP
    >>> demand(model, "arm32").before[0]                         # doctest: +SKIP
    Allocation(what='SingleArenaBufferAllocator', size=36, alignment=4, kind=None, count=1)

The order is that of TFLM's calls: the constructors of allocator and planner, the table of resource variables,
StartModelAllocation, builtin options of all nodes, init of all nodes, prepare of all nodes, FinishModelAllocation (the
plan is made here), and the main graph's inputs and outputs. Nothing here depends on the arena's size.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/micro_allocator.cc and recording_micro_allocator.cc.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear
from tflm_cy.memory.problem import Problem
from tflm_cy.micro import decode_requests
from tflm_cy.micro.accepted import FAILS, REFUSES, refusal_of
from tflm_cy.micro.graph_view import GraphView, Node, view
from tflm_cy.micro.lifetimes import Lifetimes
from tflm_cy.micro.offline import ONLINE, OfflinePlan, read_plan
from tflm_cy.micro.requests import MOST_SCRATCH, OPENED_TWICE, Kernel, kernel_of
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
        return round_up(self.nbytes)

    def __str__(self):
        if self.scratch:
            return self.label
        return f"tensor {self.place[1]} '{self.label}'"


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
    refusals: list[str]  # why TFLM would not take the model
    keeps_inputs: bool = False  # whether the graph's inputs live to the end, which they do not in TFLM

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

    @property
    def failures(self):
        """{(subgraph, node): why every invoke fails that reaches it}."""
        found = {}
        for node in self.graph.nodes:
            try:
                failure = refusal_of(node, FAILS)
            except (IndexError, AttributeError):
                continue
            if failure:
                found[node.subgraph, node.index] = failure
        return found

    def keeping_inputs(self):
        """The same, but the graph's inputs live to the end: for callers who do not set them before every invoke."""
        end = max((buffer.last for buffer in self.buffers), default=0)
        inputs = {(0, t) for t in self.graph.subgraphs[0].inputs}
        kept = [replace(b, last=end) if not b.scratch and b.place in inputs else b for b in self.buffers]
        return replace(self, buffers=kept, keeps_inputs=True)

    def plan(self):
        """What TFLM's own planner does."""
        if any(buffer.fixed < ONLINE for buffer in self.buffers):
            raise ValueError("the offline plan has an offset below -1")
        return (linear if self.preserve_all else greedy)(self.problem())


def demand(model, target_name="host64", *, preserve_all=False, recording=None, refuse=True, decompression_memory=0):
    """The Demand of a model (or of its GraphView).

    Parameters and errors: see `figures.figures`. `decompression_memory`: bytes of a memory of its own for what
    TFLM_DECODE decodes (SetDecompressionMemory).
    """
    graph = model if isinstance(model, GraphView) else view(model)
    machine = target(target_name, recording)
    refusals = _refusals(graph, machine)
    if refusals and refuse:
        raise ValueError(refusals[0])
    before = [*_constructors(machine, preserve_all), *_resource_variables(graph, machine)]
    if decompression_memory:
        before.append(_asked(machine.size("pointer"), "decompression memory in use"))
    before += _start(graph, machine)
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
    outside = decode_requests.outside(graph.nodes, decompression_memory)
    buffers = [buffer for buffer in _planned_tensors(graph, lifetimes, fixed) if buffer.place not in outside]
    buffers += _planned_scratch(scratch, lifetimes)
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
        refusals=refusals,
        planning_bytes=machine.size("ScratchBufferRequest") * (MOST_SCRATCH + len(scratch))
        + machine.size("pointer") * len(graph.subgraphs)
        + machine.size("AllocationInfo") * (tensors + len(scratch)),
    )


def _refusals(graph, machine):
    """Why TFLM would refuse the model, as far as operators, shapes and types tell."""
    found = []
    for node in graph.nodes:
        try:
            kernel = kernel_of(node.op)
            _asks(kernel.init, node, machine)
            if sum(request.scratch for request in _asks(kernel.prepare, node, machine)) > MOST_SCRATCH:
                found.append(f"{node} asks for more than {MOST_SCRATCH} scratch buffers")
            refusal = refusal_of(node, REFUSES)
            if refusal:
                found.append(refusal)
        except ValueError as error:
            found.append(str(error))
        except (IndexError, AttributeError):
            found.append(f"{node} has not the inputs and outputs that its kernel expects")
        for t in node.outputs:
            tensor = node.tensors[t]
            if tensor.shape != (0,) and any(size <= 0 for size in tensor.shape):
                found.append(f"{node} has an output of shape {tensor.shape}: TFLM has no dynamic tensors")
    return list(dict.fromkeys(found))


def _asks(function, node, machine):
    """A kernel's requests; ValueError when the node has not what the kernel looks at."""
    if function is None:
        return []
    try:
        return list(function(node, machine))
    except (IndexError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(f"{node} has not the inputs, outputs and shapes that its kernel expects: {error}") from None


def _requests(node, machine, stage):
    """As `_asks` for "init" or "prepare"; what would be refused asks for nothing."""
    try:
        return _asks(getattr(kernel_of(node.op), stage), node, machine)
    except ValueError:
        return []


def _kernel(node):
    """The node's Kernel, one without needs for an operator that TFLM has not."""
    try:
        return kernel_of(node.op)
    except ValueError:
        return Kernel()


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
        name = _kernel(node).options
        if name:
            yield Allocation(f"{node} options", *machine.options[name])


def _init(graph, machine):
    for node in graph.nodes:
        row = _kernel(node).op_data
        op_data = machine.op_data[row] if row else None
        if op_data is not None:
            yield _asked(op_data, f"{node} op data")
        for request in _requests(node, machine, "init"):
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
        for request in _requests(node, machine, "prepare"):
            if request.scratch:
                scratch.append((request.size, node))
            else:
                made += 1
                yield _asked(request.size, f"{node} prepare")
        prepare_bytes.append((made, _with_temporary_tensors(node, machine, held)))


def _with_temporary_tensors(node, machine, at):
    """The end of temporary memory when a prepare has opened all of its tensors, some kernels twice, above `at`."""
    opened = [t for t in (*node.inputs, *node.outputs) if t >= 0]
    if node.op in OPENED_TWICE:
        opened += [t for t in (*node.inputs[:2], *node.outputs) if t >= 0]
    for t in opened:
        at = aligned(at, machine.alignment("TfLiteTensor")) + machine.size("TfLiteTensor")
        if node.tensors[t].scales:
            at = aligned(at, machine.alignment("TfLiteAffineQuantization")) + machine.size("TfLiteAffineQuantization")
            at = aligned(at, 4) + 4 + 4 * len(node.tensors[t].scales)
    return at


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
        memory = not tensor.constant and place not in handles and tensor.nbytes > 0
        if offset != ONLINE if tensor.variable else memory:  # a variable that is not placed lies in the tail
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


def aligned(size, alignment):
    return -(-size // alignment) * alignment


def round_up(size):
    return aligned(size, ARENA_ALIGNMENT)
