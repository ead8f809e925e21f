# cython: binding=True
"""MicroInterpreter: a model run by TensorFlow Lite Micro's rules, in one arena of fixed size.

    >>> from tflm_cy.micro.interpreter import MicroInterpreter
    >>> interpreter = MicroInterpreter("model.tflite", arena=64 * 1024)        # doctest: +SKIP
    >>> interpreter.set_input(0, values)                                       # doctest: +SKIP
    >>> interpreter.invoke()                                                   # doctest: +SKIP
    0
    >>> interpreter.output(0), interpreter.arena_used_bytes                    # doctest: +SKIP

What is TFLM's: the bytes of every operator (`micro` arithmetic), the lifetimes (`micro.lifetimes`: an input dies at its
last read and must be set before every invoke), the alignment (16 bytes, no slack), an offline plan in the model, and that
everything is allocated by the constructor. What is not: the objects in the tail are this package's own (tensors, nodes,
packed weights), so `arena_used_bytes` is what this interpreter really needs; TFLM's own figure is `micro.figures`.

The tail begins on 16 bytes whatever the arena's size, so an arena of exactly `arena_used_bytes` suffices, and one byte
less does not, if the caller's buffer starts on 16 bytes too (`alignment_loss` says what it loses otherwise).

The planner `overlap` lays outputs over inputs that die where the operator's kernel permits it (`ops.overlaps`). An offline plan
in the model is obeyed as far as that permits it too; one that overlaps more is not, and the planner chooses.
"""
from importlib import import_module

from libc.stdint cimport uint8_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from tflm_cy.graph.loader cimport load
from tflm_cy.graph.passes.prepare cimport refuse_when_reached
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport DYNAMIC, PLANNED, Tensor
from tflm_cy.memory.arena cimport KIND_OTHER, Arena
from tflm_cy.schema.model cimport Model

from tflm_cy.core import Core
from tflm_cy.graph.passes.prepare import refused_nodes
from tflm_cy.memory.arena import ArenaExhausted
from tflm_cy.memory.check import check
from tflm_cy.memory.problem import Problem
from tflm_cy.memory.recording import RecordingArena
from tflm_cy.memory.single_arena import SingleArena
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.safe_overlaps import relaxed_rows
from tflm_cy.micro.lifetimes import Lifetimes
from tflm_cy.micro.offline import ONLINE
from tflm_cy.micro.planners import planners
from tflm_cy.micro.signal_requests import NPU
from tflm_cy.ops import find_micro
from tflm_cy.ops.overlaps import permits

ALIGNMENT = 16                   # of the head, of planned tensors and of what operators ask for
ABORTED = 15                     # what invoke returns when an operator stops the graph

cdef uint8_t[16] EMPTY           # where tensors of zero bytes point to


cdef class MicroInterpreter:
    """A model in an arena, by TFLM's rules.

    Parameters
    ----------
    model : str, os.PathLike, bytes-like or schema.model.Model
        A path, or the model itself.
    arena : int or writable buffer, optional
        Its size, or memory of the caller's, which is pinned while the interpreter or a view of a tensor lives. None:
        as large as it has to be.
    planner : str
        "greedy" (TFLM's), "optimal", "overlap" or "linear".
    preserve_all_tensors : bool
        Gives every tensor a place of its own, so that all can be read after `invoke` (`tensor`).
    resource_variables : int, optional
        How many resource variables there may be; None: as many as the model names.
    recording : bool
        Count what lies in the arena by kind (`records`, `table`).

    Raises
    ------
    ArenaExhausted
        The arena is too small; says which section, what was asked, what is left, and the smallest arena that suffices.
    ValueError
        TFLM would refuse the model, or an argument is wrong.
    RuntimeError
        An operator refuses its types or shapes.
    """

    cdef readonly object core
    cdef readonly Model model
    cdef readonly object arena                  # the memory.SingleArena, or the memory.RecordingArena around it
    cdef readonly object plan                   # memory.Plan of `problem`
    cdef readonly object problem                # memory.Problem
    cdef readonly bint preserve_all_tensors
    cdef readonly str planner
    cdef readonly list inputs                   # tensor indices
    cdef readonly list outputs
    cdef object __weakref__
    cdef object single

    def __init__(
        self, model, arena=None, planner="greedy", bint preserve_all_tensors=False, resource_variables=None, bint recording=False,
    ):
        if self.core is not None:
            raise RuntimeError("an interpreter keeps its arena: make a new one")
        if planner not in planners():
            raise ValueError(f"no planner {planner!r}; there are {', '.join(planners())}")
        self.planner = "linear" if preserve_all_tensors else planner
        self.preserve_all_tensors = preserve_all_tensors
        self.model = opened(model)
        wanted = runnable(demand(self.model, preserve_all=preserve_all_tensors, recording=False))
        expect_room_for_variables(wanted.graph, resource_variables)
        if arena is not None:
            single = SingleArena(arena, ALIGNMENT)
            try:
                self.allocate(single, wanted, recording)
            except ArenaExhausted as error:        # which knows what sufficed so far
                other = MicroInterpreter(self.model, None, planner, preserve_all_tensors, resource_variables, recording)
                sufficient = single.alignment_loss + other.arena_used_bytes
                raise ArenaExhausted(error.section, error.asked, error.left, sufficient) from None
            return
        size = max(4096, 2 * sum([buffer.size for buffer in wanted.buffers]), 2 * self.model.nbytes)
        while self.core is None:
            try:
                self.allocate(SingleArena(size, ALIGNMENT), wanted, recording)
            except ArenaExhausted as error:
                size = 2 * max(size, error.sufficient or 0)

    cdef int allocate(self, object single, object wanted, bint recording) except -1:
        """Load, prepare, plan and place, all in one arena."""
        cdef Arena arena = RecordingArena(single) if recording else single
        cdef list subgraphs = []
        cdef Subgraph g
        try:
            arena.allocate_tail(0, ALIGNMENT, KIND_OTHER)      # the rest begins on a multiple, whatever the arena's size
            subgraphs = load(self.model, find_micro, False, self.preserve_all_tensors, arena)
            for g in subgraphs:
                g.num_threads = 1
                g.allocate()
            fail_when_reached(subgraphs, wanted.faults)
            self.plan_memory(subgraphs, wanted, arena)
        except BaseException:
            subgraphs.clear()                                  # they hold this list too
            raise
        self.single = single
        self.arena = arena
        self.core = Core(self.model, None, False, self.preserve_all_tensors, 1, subgraphs=subgraphs)
        self.inputs = self.core.inputs()
        self.outputs = self.core.outputs()
        return 0

    cdef int plan_memory(self, list subgraphs, object wanted, Arena arena) except -1:
        """One plan of all subgraphs' tensors and scratch buffers, TFLM's lifetimes, and the addresses that follow."""
        cdef list places = tensors_with_memory(subgraphs)
        cdef list requests = scratch_requests(subgraphs)
        cdef object lifetimes = Lifetimes(wanted.graph, [(g, node) for g, node, _ in requests])
        cdef list lives = [lifetimes.tensors[g, t] for g, t, _ in places] + lifetimes.scratch
        cdef list sizes = [size for *_, size in (*places, *requests)]
        cdef dict offline = {}
        if wanted.offline is not None:
            offline = dict(zip(wanted.graph.tensor_places, wanted.offline.offsets))
        fixed = [offline.get((g, t), ONLINE) for g, t, _ in places] + [ONLINE] * len(requests)
        self.problem, self.plan = planned(self.planner, sizes, lives, fixed, self.overlaps_of(wanted, places))
        place(subgraphs, places, requests, self.plan.offsets, <char*>arena.set_head(self.plan.high_water_mark))
        return 0

    cdef list overlaps_of(self, object wanted, list places):
        """The relaxed rows (see `memory.Problem`) of the operators whose kernels permit them."""
        cdef dict position = {}
        cdef list rows = []
        if self.planner != "overlap" and wanted.offline is None:
            return rows
        for i, (g, t, size) in enumerate(places):
            position[g, t] = i, size
        for o, s, distance in relaxed_rows(wanted, permits=permits):
            output, source = wanted.buffers[o], wanted.buffers[s]
            if output.place in position and source.place in position:
                row, bytes_of_output = position[output.place]
                other, bytes_of_source = position[source.place]
                if (bytes_of_output, bytes_of_source) == (output.nbytes, source.nbytes):
                    rows.append((row, other, distance))
        return rows

    # ---------------------------------------------------------------- use

    def invoke(self):
        """Run the model once: 0, or 15 when an operator stopped it on purpose (CIRCULAR_BUFFER between its cycles)."""
        from tflm_cy.ops.stop import Stopped

        try:
            self.core.invoke()
        except Stopped:
            return ABORTED
        return 0

    def set_input(self, index, value):
        """Copy a value of exactly the input's type and shape into input `index`."""
        self.core.set_tensor(self.inputs[index], value)

    def input(self, index):
        """A copy of what input `index` holds; after `invoke` other tensors have used its memory."""
        return self.core.get_tensor(self.inputs[index])

    def output(self, index):
        """A copy of output `index`."""
        return self.core.get_tensor(self.outputs[index])

    def input_details(self, index):
        """The details dictionary of input `index`, as tf.lite's."""
        return self.core.tensor_details(self.inputs[index])

    def output_details(self, index):
        """The details dictionary of output `index`, as tf.lite's."""
        return self.core.tensor_details(self.outputs[index])

    def tensor(self, index, subgraph=0):
        """A copy of any tensor's value.

        Raises
        ------
        RuntimeError
            The interpreter was made without preserve_all_tensors, so that the value may be gone.
        """
        if not self.preserve_all_tensors:
            raise RuntimeError("tensors can be read with preserve_all_tensors=True only")
        return self.core.get_tensor(index, subgraph)

    def reset(self):
        """Variables, resource variables and what operators keep between invokes are as at the start; returns 0."""
        cdef Subgraph g
        self.core.reset_variables()
        for g in self.core.subgraphs:
            for kept in g.compilation.kept:
                if hasattr(kept, "reset"):
                    kept.reset()
        return 0

    @property
    def refused(self):
        """[(subgraph, node, why)] of the nodes that fail each time that they are reached."""
        cdef Subgraph g
        return [(g.index, node, why) for g in self.core.subgraphs for node, why in refused_nodes(g.compilation)]

    # ---------------------------------------------------------------- memory

    @property
    def arena_used_bytes(self):
        """The smallest arena for this model: head and tail, rounded up to 16."""
        return -(-(self.head_bytes + self.tail_bytes) // ALIGNMENT) * ALIGNMENT

    @property
    def head_bytes(self):
        """The plan's size."""
        return self.arena.head_size

    @property
    def tail_bytes(self):
        """What lies below the arena's last multiple of 16."""
        return self.arena.tail_used - (self.single.size - self.single.alignment_loss) % ALIGNMENT

    @property
    def alignment_loss(self):
        """Bytes of the caller's buffer before its first multiple of 16."""
        return self.single.alignment_loss

    @property
    def records(self):
        """{kind: {"requested": bytes, "used": bytes, "count": n}} of the tail; needs recording=True."""
        return self.recorded().records

    def table(self):
        """The records, the tail, the head and their sum as text; needs recording=True."""
        return self.recorded().table()

    cdef object recorded(self):
        if not isinstance(self.arena, RecordingArena):
            raise ValueError("Cannot print allocations as they were not recorded")
        return self.arena


cdef Model opened(object model):
    """The verified model of a path, a buffer or a model."""
    if isinstance(model, Model):
        return model
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return Model.from_path(model)
    return Model.from_buffer(model)


cdef object runnable(object wanted):
    """The demand, unless a node is a computer's that is not here."""
    for node in wanted.graph.nodes:
        if node.op == NPU:
            raise ValueError(f"{node} runs on Arm's Ethos-U only")
    return wanted


cdef int expect_room_for_variables(object graph, object limit) except -1:
    if limit is not None and len(graph.variables) > limit:
        raise ValueError(f"the model has {len(graph.variables)} resource variables, {limit} are allowed")
    return 0


cdef int fail_when_reached(list subgraphs, list faults) except -1:
    """TFLM's kernels look at types only when they run: the model is allocated, the node fails."""
    cdef Subgraph g
    for fault in faults:
        g = subgraphs[fault.node.subgraph]
        if fault.node.index < g.graph.node_count:
            text = f"TFLM's kernel does not take these types: {fault.reason}"
            refuse_when_reached(g, &g.graph.nodes[fault.node.index], text.encode("utf-8", "replace"))
    return 0


cdef list tensors_with_memory(list subgraphs):
    """(subgraph, tensor, bytes) of all that lie in the head, in the file's order."""
    cdef Subgraph g
    cdef const Tensor* tensor
    cdef int t
    cdef list places = []
    for g in subgraphs:
        for t in range(g.tensor_count):
            tensor = &g.tensors[t]
            if (tensor.allocation == PLANNED or tensor.allocation == DYNAMIC) and tensor.bytes > 0:
                places.append((g.index, t, tensor.bytes))
    return places


cdef list scratch_requests(list subgraphs):
    """(subgraph, node, bytes) of all scratch buffers."""
    cdef Subgraph g
    cdef int r
    cdef list requests = []
    for g in subgraphs:
        for r in range(g.memory.scratch_count):
            requests.append((g.index, g.memory.scratch_requests[r].source, max(g.memory.scratch_requests[r].bytes, 1)))
    return requests


cdef tuple planned(str name, list sizes, list lives, list fixed, list rows):
    """(problem, plan); offsets that would put buffers over each other, more than the rows permit, are given up."""
    cdef list first = [life[0] for life in lives]
    cdef list last = [life[1] for life in lives]
    planner = getattr(import_module(f"tflm_cy.memory.{name}"), name)
    if any([offset != ONLINE for offset in fixed]):
        try:
            problem = Problem(sizes, first, last, fixed, ALIGNMENT, rows)
            plan = planner(problem)
            check(problem, plan)
            return problem, plan
        except ValueError:
            pass
    problem = Problem(sizes, first, last, alignment=ALIGNMENT, relaxed=rows if name == "overlap" else ())
    return problem, planner(problem)


cdef int place(list subgraphs, list places, list requests, object offsets, char* base) except -1:
    """Addresses of tensors and scratch buffers; all is zero."""
    cdef Subgraph g
    cdef Tensor* tensor
    cdef void** buffers
    cdef int t, k
    for g in subgraphs:
        for t in range(g.tensor_count):
            tensor = &g.tensors[t]
            if tensor.allocation == PLANNED or tensor.allocation == DYNAMIC:
                tensor.data = EMPTY
            g.graph.first_use[t] = 0
            g.graph.last_use[t] = g.graph.step_count       # so that nothing counts as overwritten: what is read here is not
        buffers = <void**>realloc(g.scratch_buffers, (g.memory.scratch_count + 1) * sizeof(void*))
        if buffers == NULL:
            raise MemoryError()
        g.scratch_buffers = buffers
        g.memory.scratch_bound = 0
    for (s, t, size), offset in zip(places, offsets):
        g = subgraphs[s]
        g.tensors[t].data = base + <size_t>offset
        memset(g.tensors[t].data, 0, size)
    for k, (s, _, _) in enumerate(requests):
        g = subgraphs[s]
        g.scratch_buffers[g.memory.scratch_bound] = base + <size_t>offsets[len(places) + k]
        g.memory.scratch_bound += 1
    return 0
