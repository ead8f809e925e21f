"""TensorFlow Lite's ArenaPlanner, as in 2.21, on plain data: which tensor lives when, shares what, and lies where.

    >>> planner = ArenaPlanner(sizes=[16, 96, 96, 8], nodes=[PlannedNode([0], [1]), PlannedNode([1], [2]),
    ...                        PlannedNode([2], [3])], inputs=[0], outputs=[3], alignment=16)
    >>> planner.plan()
    >>> planner.execute()
    >>> planner.offsets, planner.arena_bytes
    ({0: 0, 1: 16, 2: 112, 3: 16}, 208)

Two steps as there: `plan` finds the nodes at which tensors are allocated and released, `execute` gives offsets to the
tensors of a range of nodes (a graph with a dynamic output is planned in several ranges).
- Allocated at node 0: inputs and variables; else at the node that has it as an output; a temporary at its own node.
- Released after the last node that reads it, by counted references. Graph outputs, variables and (`preserve_inputs`)
  graph inputs hold one more, so they are never released; nor is what nobody reads. `preserve_all` releases nothing.
- Output 0 of a node may take over an input (`PlannedNode.takes_over`). If the data stays as it is (`unchanged`, as in
  RESHAPE), the input need only not be a graph input, the output no graph output; if not, both must have the same size
  of more than 4 bytes, and the input, and the tensor whose memory it has itself, must be read once.
- Tensors of the persistent arena lie one behind the other and are never reused.
- Order: what is allocated at node 0 and never released, by index; then by size, the largest first; then by the node
  that allocates it. What remains equal stays where `std::sort` leaves it, which sorts what libstdc++'s unordered sets,
  one per node, list: both are followed here, since addresses depend on them. `by_size=False` is the order of TensorFlow
  before usage intervals: node by node, temporaries before outputs.

A tensor index of -1 is an optional input that is not there; it is skipped everywhere.

Source: tensorflow/tensorflow:tensorflow/lite/arena_planner.cc; ARENA_TFLM, section 8.
"""

from collections.abc import Iterable, Sequence

from tflm_cy.memory.libstdcxx import IntSet, std_sort
from tflm_cy.memory.simple_memory_arena import NEVER, SimpleMemoryArena

READ_WRITE = 0
PERSISTENT = 1
NOT_IN_ARENA = -1  # constants, dynamic tensors
SCALAR = 4  # bytes up to which taking over changed data does not pay


class PlannedNode:
    """A node's tensors; `takes_over`: positions among the inputs that output 0 may take over, in order of trial."""

    def __init__(
        self,
        inputs: Iterable[int],
        outputs: Iterable[int],
        temporaries: Iterable[int] = (),
        takes_over: Iterable[int] = (),
        unchanged: bool = False,
    ) -> None:
        self.inputs = list(inputs)
        self.outputs = [t for t in outputs if t >= 0]
        self.temporaries = [t for t in temporaries if t >= 0]
        self.takes_over = tuple(takes_over)
        self.unchanged = unchanged


class ArenaPlanner:
    """See the module. `arenas` holds READ_WRITE, PERSISTENT or NOT_IN_ARENA per tensor (default: all READ_WRITE).

    After `plan`: `first_node` and `last_node` per tensor (NEVER: not allocated, not released), `root` (tensor -> the
    tensor whose memory it has). After `execute`: `offsets` of the tensors with memory in the read-write arena,
    `persistent_offsets`, `arena_bytes`, `persistent_bytes`.
    """

    def __init__(
        self,
        sizes: Iterable[int],
        nodes: Iterable[PlannedNode],
        inputs: Iterable[int],
        outputs: Iterable[int],
        variables: Iterable[int] = (),
        arenas: Sequence[int] | None = None,
        *,
        preserve_inputs: bool = True,
        preserve_all: bool = False,
        alignment: int = 64,
        by_size: bool = True,
    ) -> None:
        self.sizes = list(sizes)
        self.nodes = list(nodes)
        self.inputs = [t for t in inputs if t >= 0]
        self.outputs = [t for t in outputs if t >= 0]
        self.variables = [t for t in variables if t >= 0]
        self.arenas = [READ_WRITE] * len(self.sizes) if arenas is None else list(arenas)
        if len(self.arenas) != len(self.sizes):
            raise ValueError(f"{len(self.arenas)} arenas for {len(self.sizes)} tensors")
        self.preserve_inputs = preserve_inputs
        self.preserve_all = preserve_all
        self.by_size = by_size
        self.arena = SimpleMemoryArena(alignment)
        self.persistent_arena = SimpleMemoryArena(alignment)

    @property
    def arena_bytes(self) -> int:
        return self.arena.high_water_mark

    @property
    def persistent_bytes(self) -> int:
        return self.persistent_arena.high_water_mark

    @property
    def offsets(self) -> dict[int, int]:
        """{tensor: offset}, those that share memory included; tensors without bytes have none."""
        found = {t: block[0] for t, block in self.blocks.items() if self.sizes[t]}
        for t, source in self.root.items():
            if source in found and t in self.reached:
                found[t] = found[source]
        return dict(sorted(found.items()))

    def plan(self) -> None:
        """Find lifetimes and shares of the whole graph; forgets all offsets."""
        count = len(self.sizes)
        self.arena.clear()
        self.persistent_arena.clear()
        self.blocks: dict[int, tuple[int, int, int, int]] = {}  # tensor -> (offset, size, first, last)
        self.persistent_offsets: dict[int, int] = {}
        self.reached: set[int] = set()  # tensors that some `execute` has seen
        self.last_active_node = NEVER
        self.first_node = [NEVER] * count
        self.last_node = [NEVER] * count
        self.queue = [IntSet() for _ in range(max(len(self.nodes), 1))]
        self.listed: list[list[int]] = [[] for _ in self.queue]  # the same in the order of calls, for `by_size=False`
        kept = [*self.outputs, *self.variables, *(self.inputs if self.preserve_inputs else ())]
        for t in [*self.inputs, *self.variables] if not self.by_size else [*self.variables, *self.inputs]:
            self.allocate_at(0, t)
        self.find_shares(kept)
        references = self.counted(kept, self.root)
        for i, node in enumerate(self.nodes):
            for t in node.outputs:
                self.allocate_at(i, t)
            if self.preserve_all:
                continue
            for t in node.inputs:
                if t < 0:
                    continue
                t = self.root.get(t, t)
                references[t] -= 1
                if references[t] == 0 and self.first_node[t] != NEVER:
                    self.last_node[t] = i

    def allocate_at(self, node: int, t: int) -> None:
        self.queue[node].add(t)
        if self.first_node[t] == NEVER:
            self.first_node[t] = node
            self.listed[node].append(t)

    def counted(self, kept: Iterable[int], root: dict[int, int]) -> list[int]:
        references = [0] * len(self.sizes)
        for t in kept:
            references[t] += 1
        for node in self.nodes:
            for t in node.inputs:
                if t >= 0:
                    references[root.get(t, t)] += 1
        return references

    def find_shares(self, kept: Iterable[int]) -> None:
        self.root: dict[int, int] = {}
        if self.preserve_all:
            return
        uses = self.counted(kept, {})
        for node in self.nodes:
            if not node.outputs:
                continue
            output = node.outputs[0]
            offered = [t for k, t in enumerate(node.inputs) if k in node.takes_over]
            sources = [t for t in offered if self.may_share(t, output, node.unchanged, uses)]
            if not sources:
                continue
            source = self.root.get(sources[0], sources[0])
            if node.unchanged or uses[source] <= 1:
                self.root[output] = source

    def may_share(self, t: int, output: int, unchanged: bool, uses: list[int]) -> bool:
        if t < 0 or t in self.inputs or output in self.outputs:
            return False
        if self.arenas[t] != self.arenas[output] and self.arenas[t] != READ_WRITE:
            return False
        return unchanged or (self.sizes[t] == self.sizes[output] > SCALAR and uses[t] <= 1)

    def execute(self, first: int = 0, last: int | None = None) -> None:
        """Give offsets to the tensors that the nodes first .. last allocate, temporaries included."""
        last = len(self.nodes) - 1 if last is None else min(last, len(self.nodes) - 1)
        for i in range(first, last + 1):
            for t in self.nodes[i].temporaries:
                self.first_node[t] = i
                self.queue[i].add(t)
                if not self.preserve_all:
                    self.last_node[t] = i
        waiting = [t for t in self.waiting(first, last) if self.needs_memory(t)]
        if not waiting:
            self.last_active_node = last
            return
        if first < self.last_active_node:
            self.arena.restore(())
            self.last_active_node = first
        else:
            self.arena.purge_before(first)
        for t in std_sort(waiting, self.is_before) if self.by_size else waiting:
            self.allocate(t)
        self.last_active_node = last

    def waiting(self, first: int, last: int) -> list[int]:
        """The tensors that the nodes allocate, in the order in which the sort gets them."""
        if first == 0 and not self.nodes:
            return self.queue[0].order
        if self.by_size:
            return [t for i in range(first, last + 1) for t in self.queue[i].order]
        begin = [t for t in self.listed[0] if t not in self.nodes[0].outputs] if first == 0 else []
        listed = [t for i in range(first, last + 1) for t in [*self.nodes[i].temporaries, *self.listed[i]]]
        return begin + [t for t in listed if t not in begin]

    def needs_memory(self, t: int) -> bool:
        if self.arenas[t] == READ_WRITE:
            return self.sizes[t] > (self.blocks[t][1] if t in self.blocks else 0)
        return self.arenas[t] == PERSISTENT

    def allocate(self, t: int) -> None:
        self.reached.add(t)
        if t in self.root:
            if self.arenas[self.root[t]] == READ_WRITE and self.sizes[self.root[t]] == self.sizes[t]:
                return
            del self.root[t]
        if self.arenas[t] == READ_WRITE:
            if self.needs_memory(t):
                offset = self.arena.allocate(self.sizes[t], self.first_node[t], self.last_node[t])
                self.blocks[t] = (offset, self.sizes[t], self.first_node[t], self.last_node[t])
        elif t not in self.persistent_offsets and self.sizes[t]:
            self.persistent_offsets[t] = self.persistent_arena.allocate(self.sizes[t], self.first_node[t], NEVER)

    def reset_after(self, node: int) -> None:
        """Forget the read-write tensors that are allocated after a node (their shapes have changed)."""
        self.blocks = {t: block for t, block in self.blocks.items() if block[2] <= node}
        if self.last_active_node > node:
            self.arena.restore([block for block in self.blocks.values() if block[3] >= node])
        else:
            self.arena.purge_after(node)
        self.last_active_node = node

    def is_before(self, a: int, b: int) -> bool:
        whole_a, whole_b = self.lives_throughout(a), self.lives_throughout(b)
        if whole_a or whole_b:
            return whole_a and (not whole_b or a < b)
        if self.sizes[a] != self.sizes[b]:
            return self.sizes[a] > self.sizes[b]
        return self.first_node[a] < self.first_node[b]

    def lives_throughout(self, t: int) -> bool:
        return self.first_node[t] == 0 and self.last_node[t] == NEVER
