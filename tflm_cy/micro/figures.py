"""TFLM's memory of a model, without running TFLM: every allocation in order, to the byte.

    >>> from tflm_cy.micro.figures import figures                # doctest: +SKIP
    >>> person = figures(Model.from_path("person_detect.tflite"))        # doctest: +SKIP
    >>> person.head, person.tail, person.total                   # doctest: +SKIP
    (55296, 29968, 85264)

Three steps: what TFLM asks for (`demand`); a plan of the buffers, the greedy planner's, as TFLM's, or another one; and
here the objects laid down in an arena. The tail begins where the arena ends, which need not be aligned, so up to 15
bytes depend on the arena's size modulo 16.

"used" is what the tail moved, padding included, "requested" the sizes; the total is head and tail. Sizes of planned
buffers are rounded up to 16, sizes in the tail are not.

The smallest arena is exact: in a multiple of 16 bytes less TFLM gives up, because of the plan, of what planning takes, or
of the tensors that a kernel's prepare has open (`walks`). Where an object would come to lie over such a tensor, which TFLM
does not notice, it counts as too little.

Checked against the tflite_micro package: `python -m compat.arena`.
"""

from dataclasses import dataclass, field

from tflm_cy.memory.problem import Plan
from tflm_cy.micro.arena_usage import KINDS, Allocation, Demand, demand, round_up
from tflm_cy.micro.target import ARENA_ALIGNMENT

RUNTIME_ARENA_FACTOR = 10  # the tflite_micro package's default arena, in sizes of the model file


@dataclass
class Record:
    """Sums of one recorded kind."""

    used: int = 0
    requested: int = 0
    count: int = 0


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
        tails = _tails(self.demand.before + self.demand.after, self.arena_size)
        return all(tails[objects] >= size for objects, size in peaks(self.demand, self.head))

    def text(self):
        """As TFLM prints it."""
        lines = [f"Arena allocation {what} {getattr(self, what)} bytes" for what in ("total", "head", "tail")]
        for kind, record in self.kinds.items():
            lines.append(
                f"'{kind}' used {record.used} bytes with alignment overhead "
                f"(requested {record.requested} bytes for {record.count} {KINDS[kind]})"
            )
        return "\n".join(f"[RecordingMicroAllocator] {line}" for line in lines)


def figures(
    model, target_name="host64", arena_size=None, *, plan=None, preserve_all=False, recording=None, refuse=True
):
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
    refuse : bool
        Whether a model that TFLM would refuse raises; else `demand.refusals` says why it would, and the nodes concerned
        count as asking for nothing.

    Raises
    ------
    ValueError
        TFLM would refuse the model; or a negative arena.
    """
    if not isinstance(model, Demand):
        model = demand(model, target_name, preserve_all=preserve_all, recording=recording, refuse=refuse)
    if arena_size is None:
        arena_size = RUNTIME_ARENA_FACTOR * model.graph.file_bytes
    if arena_size < 0:
        raise ValueError(f"an arena of {arena_size} bytes")
    plan = plan or model.plan()
    objects = place_objects(model.before + model.after, arena_size)
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
        smallest_arena=smallest_arena(model.before + model.after, peaks(model, plan.high_water_mark)),
        arena_size=arena_size,
        objects=objects,
        demand=model,
        plan=plan,
    )


def place_objects(allocations, arena_size):
    """[(allocation, bytes that the tail moved)]: each object below the last, aligned downwards."""
    tail, objects = arena_size, []
    for allocation in allocations:
        lower = (tail - allocation.size) // allocation.alignment * allocation.alignment
        objects.append((allocation, tail - lower))
        tail = lower
    return objects


def peaks(demand, head):
    """[(objects in the tail, bytes needed below it)]: when the arena's two ends come close."""
    end = len(demand.before) + len(demand.after)
    return [*demand.prepare_bytes, (len(demand.before), planning_bytes(demand)), (end, head)]


def planning_bytes(demand):
    """Bytes of temporary memory while TFLM plans."""
    per_buffer = 1 if demand.preserve_all else demand.target.size("GreedyPlannerBuffer")
    planning = round_up(demand.planning_bytes) + per_buffer * len(demand.buffers) if demand.buffers else 0
    return round_up(planning)


def _tails(objects, arena_size):
    """Where the tail ends after each number of objects."""
    tails = [arena_size]
    for _, moved in place_objects(objects, arena_size):
        tails.append(tails[-1] - moved)
    return tails


def smallest_arena(objects, needs):
    """The least arena for objects in the tail and [(objects, bytes needed below them)].

    Only the size modulo 16 shapes the tail: for each remainder the smallest size, then the smallest of those.
    """
    large = 1 << 40
    sizes = []
    for remainder in range(ARENA_ALIGNMENT):
        tails = _tails(objects, large + remainder)
        needed = max(large + remainder - tails[count] + size for count, size in needs)
        sizes.append(needed + (remainder - needed) % ARENA_ALIGNMENT)
    return min(sizes)
