"""Other arenas than one for one model: several models in one, and separate ones for what stays and what does not.

    >>> from tflm_cy.micro.arena_layouts import shared, split    # doctest: +SKIP
    >>> shared([demand(a, "cortex-m4"), demand(b, "cortex-m4")]).smallest_arena      # doctest: +SKIP
    31808

**Shared.** One MicroAllocator gives memory to several interpreters, which run one after the other. The tails lie behind
each other; the head is as large as the largest, because each model's tensors overwrite the other's. So a model's inputs
are set before each of its invokes, and its outputs are read before another model runs. The order of the interpreters'
AllocateTensors is the order here.

**Split.** MicroAllocator::Create takes two arenas: one for the tail, one for the head and all that is temporary. The
second can lie in faster memory.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/micro_allocator.cc.
"""

from dataclasses import dataclass

from tflm_cy.micro.arena_usage import Demand, round_up
from tflm_cy.micro.figures import peaks, place_objects, planning_bytes, smallest_arena

_CONSTRUCTED = 3  # objects of a demand that belong to the allocator: itself, the planner, the MicroAllocator


@dataclass(frozen=True)
class Shared:
    """Several models in one arena."""

    head: int
    tails: list[int]  # per model; the first with the allocator's own objects
    smallest_arena: int
    alone: list[int]  # the smallest arena of each model by itself

    @property
    def tail(self):
        return sum(self.tails)


def shared(demands):
    """The Shared of some `arena_usage.Demand`s of one target, in the order in which they are allocated.

    Raises
    ------
    ValueError
        No demand, or demands of several targets.
    """
    if not demands or len({demand.target.name for demand in demands}) != 1:
        raise ValueError("one arena is shared by models of one target")
    objects, needs, ends, head = [], [], [], 0
    for demand in demands:
        own = demand.before if not objects else demand.before[_CONSTRUCTED:]
        skipped = len(demand.before) - len(own)
        begin = len(objects)
        own_head = demand.plan().high_water_mark
        head = max(head, own_head)
        for count, size in peaks(demand, own_head)[:-1]:
            needs.append((begin + max(0, count - skipped), size))
        objects += [*own, *demand.after]
        needs.append((len(objects), head))
        ends.append(len(objects))
    laid = place_objects(objects, 1 << 40)
    return Shared(
        head=head,
        tails=[sum(moved for _, moved in laid[a:b]) for a, b in zip([0, *ends], ends, strict=False)],
        smallest_arena=smallest_arena(objects, needs),
        alone=[smallest_arena(d.before + d.after, peaks(d, d.plan().high_water_mark)) for d in demands],
    )


@dataclass(frozen=True)
class Split:
    """Two arenas for one model; both sizes are multiples of 16."""

    persistent: int
    non_persistent: int
    head: int


def split(demand: Demand):
    """The Split of an `arena_usage.Demand`, with allocators that do not record."""
    planner = demand.before[1]
    names = ["PersistentArenaBufferAllocator", "NonPersistentArenaBufferAllocator", "MicroAllocator"]
    persistent, other, allocator = (
        planner._replace(what=name, size=size, alignment=alignment)
        for name, (size, alignment) in ((name, demand.target.structs[name]) for name in names)
    )
    objects = [persistent, other, planner, allocator, *demand.before[_CONSTRUCTED:], *demand.after]
    head = demand.plan().high_water_mark
    most = max([head, planning_bytes(demand), *(size for _, size in demand.prepare_bytes)])
    return Split(round_up(sum(moved for _, moved in place_objects(objects, 1 << 40))), round_up(most), head)
