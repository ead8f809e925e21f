"""What TFLM asks of the arena for a model: objects in the tail, in order, and buffers in the head.

    >>> from tflm_cy.micro.arena_usage import demand                  # doctest: +SKIP
    >>> demand(model, "arm32").before[0]                         # doctest: +SKIP
    Allocation(what='SingleArenaBufferAllocator', size=36, alignment=4, kind=None, count=1)

The order is that of TFLM's calls: the constructors of allocator and planner, the table of resource variables,
StartModelAllocation, builtin options of all nodes, init of all nodes, prepare of all nodes, FinishModelAllocation (the
plan is made here), and the main graph's inputs and outputs. Nothing here depends on the arena's size.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/micro_allocator.cc and recording_micro_allocator.cc.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear
from tflm_cy.memory.problem import Problem
from tflm_cy.micro import decode_requests
from tflm_cy.micro.graph_view import GraphView, Node, view
from tflm_cy.micro.lifetimes import Lifetimes
from tflm_cy.micro.offline import ONLINE, OfflinePlan, read_plan
from tflm_cy.micro.refusal import INIT, INVOKE, NO_OPERATOR, PLAN, PREPARE, RESOLVE, STAGES, Refusal
from tflm_cy.micro.requests import MOST_SCRATCH, Kernel, has_kernel, kernel_of
from tflm_cy.micro.target import ARENA_ALIGNMENT, Target, target
from tflm_cy.micro.type_support import failure_of
from tflm_cy.micro.walks.walk import walked
from tflm_cy.schema.names import TENSOR_TYPE_NAMES

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

# op -> options that TFLM's parser refuses: lists that are too long, types and formats that it does not know
_MOST_PARSED = {"RESHAPE": ("new_shape", 8), "SQUEEZE": ("squeeze_dims", 8)}
_PARSED_TYPES = {
    "ARG_MAX": ("output_type",),
    "ARG_MIN": ("output_type",),
    "CAST": ("in_data_type", "out_data_type"),
    "CONV_2D": ("quantized_bias_type",),
    "FULLY_CONNECTED": ("quantized_bias_type",),
    "SHAPE": ("out_type",),
    "TRANSPOSE_CONV": ("quantized_bias_type",),
}
_WEIGHTS_FORMATS = 2
_MOST_PRESERVED = 1024  # buffers that the linear planner has room for


class Allocation(NamedTuple):
    """One object in the tail."""

    what: str
    size: int
    alignment: int
    kind: str | None = None  # as recorded; None is counted in the total only
    count: int = 1
    place: tuple[int, int] | None = None  # (subgraph, node) whose kernel asks for it


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
    prepare_bytes: list[tuple[int, int]]  # (objects made, bytes of the head taken below them) through all prepares
    planning_bytes: int  # in temporary memory while planning, besides the planner's own
    objections: list[Refusal]  # why TFLM would not take the model, in TFLM's order: it stops at the first
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
    def refusals(self):
        """The objections as texts, each once."""
        return list(dict.fromkeys(str(objection) for objection in self.objections))

    @cached_property
    def faults(self):
        """Nodes that are allocated, but where every invoke fails that reaches them."""
        found = []
        for node in self.graph.nodes:
            try:
                reason = failure_of(node)
            except (IndexError, AttributeError, ValueError):
                continue
            if reason:
                found.append(Refusal(INVOKE, node, reason))
        return found

    @property
    def failures(self):
        """{(subgraph, node): why every invoke fails that reaches it}."""
        return {(fault.node.subgraph, fault.node.index): str(fault) for fault in self.faults}

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
    before = [*_constructors(machine, preserve_all), *_resource_variables(graph, machine)]
    if decompression_memory:
        before.append(_asked(machine.size("pointer"), "decompression memory in use"))
    before += _start(graph, machine)
    before += _builtin_options(graph, machine)
    before += _init(graph, machine)
    scratch = []  # (bytes, node)
    prepare_bytes = []
    objections = [*_unresolved(graph), *_uninitialized(graph, machine)]
    before += _prepare(graph, machine, scratch, prepare_bytes, objections, len(before))
    objections += [*_without_size(graph), *_with_intermediates(graph)]
    offline = _offline(graph, objections)
    objections.sort(key=lambda objection: STAGES.index(objection.stage))
    if objections and refuse:
        more = len(objections) - 1
        behind = f" (and {more} more: `python -m tflm_cy arena` lists them)" if more else ""
        raise ValueError(f"{objections[0].placed}{behind}")
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
        objections=objections,
        planning_bytes=machine.size("ScratchBufferRequest") * (MOST_SCRATCH + len(scratch))
        + machine.size("pointer") * len(graph.subgraphs)
        + machine.size("AllocationInfo") * (tensors + len(scratch)),
    )


def _unresolved(graph):
    """Nodes without a kernel, and those whose options TFLM does not parse."""
    for node in graph.nodes:
        if not has_kernel(node.op, node.custom):
            yield Refusal(RESOLVE, node, f"{NO_OPERATOR}{node.op}")
        elif node.has_custom_options and not node.custom:
            yield Refusal(RESOLVE, node, "it has custom options, which TFLM takes from custom operators only")
        else:
            yield from (Refusal(RESOLVE, node, reason) for reason in _unparsed(node))


def _unparsed(node):
    if node.op in _MOST_PARSED:
        field, most = _MOST_PARSED[node.op]
        if len(getattr(node.options, field)) > most:
            yield f"its option {field} has more than {most} numbers"
    for field in _PARSED_TYPES.get(node.op, ()):
        if not 0 <= getattr(node.options, field) < len(TENSOR_TYPE_NAMES):
            yield f"its option {field} is {getattr(node.options, field)}, which is no type"
    if node.op == "FULLY_CONNECTED" and not 0 <= node.options.weights_format < _WEIGHTS_FORMATS:
        yield f"its option weights_format is {node.options.weights_format}, which TFLM does not know"


def _uninitialized(graph, machine):
    for node in graph.nodes:
        try:
            _asks(_kernel(node).init, node, machine)
        except ValueError as error:
            yield Refusal(INIT, node, str(error))


def _without_size(graph):
    """Tensors whose bytes TFLM cannot count, that no node's prepare has looked at."""
    for place in graph.tensor_places:
        tensor = graph.tensor(place)
        if not tensor.has_size:
            where = f"tensor {place[1]} '{tensor.name}'" + (f" of subgraph {place[0]}" if place[0] else "")
            yield Refusal(PLAN, None, f"{where} is {tensor.type}, a type that TFLM cannot hold")


def _with_intermediates(graph):
    for node in graph.nodes:
        if any(t >= 0 and node.tensors[t].elements for t in node.intermediates):
            yield Refusal(PLAN, node, "it has intermediate tensors with bytes, which TFLM does not take")


def _offline(graph, objections):
    try:
        return read_plan(graph)
    except ValueError as error:
        objections.append(Refusal(PLAN, None, str(error)))
        return None


def _asks(function, node, machine):
    """A kernel's requests; ValueError when the node has not what the kernel looks at."""
    if function is None:
        return []
    try:
        return list(function(node, machine))
    except (IndexError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(f"has not the inputs, outputs and shapes that its kernel expects: {error}") from None


def _kernel(node):
    """The node's Kernel, one without needs for an operator that TFLM has not."""
    return kernel_of(node.op) if has_kernel(node.op, node.custom) else Kernel()


def _struct(machine, name, count=1, kind=None):
    size, alignment = machine.structs[name]
    return Allocation(name, size * count, alignment, kind, count)


def _asked(size, what, node=None):
    """A kernel's AllocatePersistentBuffer."""
    place = None if node is None else (node.subgraph, node.index)
    return Allocation(what, size, ARENA_ALIGNMENT, PERSISTENT, place=place)


def _constructors(machine, preserve_all):
    recording = "Recording" if machine.recording else ""
    yield _struct(machine, f"{recording}SingleArenaBufferAllocator")
    yield _struct(machine, "LinearMemoryPlanner" if preserve_all else "GreedyMemoryPlanner")
    yield _struct(machine, f"{recording}MicroAllocator")


def _resource_variables(graph, machine):
    """Whoever creates the interpreter makes the table first, one entry per name."""
    count = len(graph.variables)
    if count:
        yield _asked(machine.size("MicroResourceVariables"), "MicroResourceVariables")
        yield _asked(machine.size("MicroResourceVariable") * count, "MicroResourceVariable")


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
            yield _asked(op_data, f"{node} op data", node)
        try:
            requests = _asks(_kernel(node).init, node, machine)
        except ValueError:
            continue
        for request in requests:
            yield _asked(request.size, f"{node} state", node)


def _prepare(graph, machine, scratch, prepare_bytes, objections, made):
    """The objects of prepare, `made` of which exist before; its scratch requests go to `scratch`, the memory below the
    objects to `prepare_bytes`, what is refused to `objections`: such a node asks for nothing."""
    handles, owned = {}, set()
    for node in graph.nodes:
        if not has_kernel(node.op, node.custom):
            continue
        held = machine.size("ScratchBufferRequest") * (MOST_SCRATCH + len(scratch))
        walk, refused = walked(node, machine, graph, held)
        refused = node.lost or refused or _dynamic(node)
        if refused:
            objections.append(Refusal(PREPARE, node, refused))
            continue
        if node.op == "VAR_HANDLE" and node.outputs:
            handles[node.subgraph, node.outputs[0]] = (node.options.container, node.options.shared_name)
        if node.op == "ASSIGN_VARIABLE":  # the first to assign a variable of its own graph makes its memory
            name = handles.get((node.subgraph, node.inputs[0]))
            if name is not None and name not in owned:
                owned.add(name)
                walk.keep(node.input(1).nbytes)
        prepare_bytes += [(made + kept, size) for kept, size in walk.peaks]
        made += len(walk.kept)
        scratch += [(size, node) for size in walk.scratches]
        for size in walk.kept:
            yield _asked(size, f"{node} prepare", node)


def _dynamic(node):
    """TFLM refuses outputs without elements, except the shape (0,), which it takes for a scalar."""
    for t in node.outputs:
        shape = node.tensors[t].shape
        if shape != (0,) and any(size <= 0 for size in shape):
            return f"it has an output of shape {shape}: TFLM has no dynamic tensors"
    return None


def _finish(graph, machine, scratch, fixed):
    if scratch:
        yield _struct(machine, "ScratchBufferHandle", len(scratch))
    for place in graph.tensor_places:
        tensor = graph.tensor(place)
        if tensor.variable and tensor.has_size and fixed.get(place, ONLINE) == ONLINE:
            yield Allocation(f"variable '{tensor.name}'", tensor.nbytes, ARENA_ALIGNMENT, VARIABLES)


def _planned_tensors(graph, lifetimes, fixed):
    handles = {(node.subgraph, t) for node in graph.nodes if node.op == "VAR_HANDLE" for t in node.outputs[:1]}
    for place in graph.tensor_places:
        tensor, offset = graph.tensor(place), fixed.get(place, ONLINE)
        if not tensor.has_size:
            continue
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
