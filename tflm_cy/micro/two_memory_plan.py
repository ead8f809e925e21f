"""How far TFLM follows a choice of two memories: one range of addresses, of which the first bytes are fast.

    found = divide(demand, fast=65536, slow=4 << 20, weights=False)
    followed = follow(model, demand, found, fast=65536)
    followed.content, followed.moved, followed.persistent, followed.non_persistent

TFLM has one head for tensors and scratch buffers. Where the slow memory begins at the address at which the fast one ends,
an offline plan puts each tensor into the memory that was chosen for it: into the fast one at its offset, into the slow one
behind the fast one's bytes. TFLM places scratch buffers itself, as a plan of its own does, so the bytes that move are
counted again in the plan that it makes of the copy. The tail is an arena of its own (`arena_layouts.split`).
"""

from dataclasses import dataclass, field

from tflm_cy.memory.problem import Plan
from tflm_cy.micro.arena_layouts import split
from tflm_cy.micro.arena_usage import Demand
from tflm_cy.micro.arena_usage import demand as demand_of
from tflm_cy.micro.export import exported
from tflm_cy.micro.two_memories import Division, traffic
from tflm_cy.schema.model import Model


@dataclass(frozen=True)
class Followed:
    """A copy of a model whose offline plan lies in two memories."""

    content: bytes = field(repr=False)
    plan: Plan  # of the buffers, as TFLM places them
    demand: Demand = field(repr=False)  # of the copy
    moved: int  # bytes per invoke to and from slow memory
    persistent: int  # bytes of the two arenas
    non_persistent: int


def one_range(demand: Demand, division: Division, fast: int):
    """The memory.Plan of a demand's buffers in one range of addresses, where slow memory begins at offset `fast`."""
    offsets, ends = [], [0]
    placed = {True: iter(division.fast_plan.offsets), False: iter(division.slow_plan.offsets)}
    for item, inside in zip(division.items, division.fast, strict=True):
        offset = next(placed[inside]) + (0 if inside else fast)
        if item.kind != "weights":
            offsets.append(offset)
            ends.append(offset + item.size)
    if len(offsets) != len(demand.buffers):
        raise ValueError(f"the choice is for {len(offsets)} buffers, the model has {len(demand.buffers)}")
    return Plan(offsets, max(ends))


def moved(demand: Demand, plan: Plan, fast: int):
    """Bytes per invoke to and from the memory behind offset `fast`, in a plan of a demand's buffers."""
    total = 0
    for buffer, offset, bytes_ in zip(demand.buffers, plan.offsets, traffic(demand), strict=True):
        behind = min(max(offset + buffer.size - fast, 0), buffer.size)
        total += -(-bytes_ * behind // buffer.size) if buffer.size else 0
    return total


def follow(model: Model, demand: Demand, division: Division, fast: int):
    """The Followed of a model and a `two_memories.Division` without weights.

    Raises
    ------
    ValueError
        TFLM's own planner would put a scratch buffer behind what was planned.
    """
    content = exported(model, demand, one_range(demand, division, fast))
    copy = demand_of(Model.from_buffer(content), demand.target.name, recording=False, refuse=False)
    plan, sizes = copy.plan(), split(copy)
    return Followed(content, plan, copy, moved(copy, plan, fast), sizes.persistent, sizes.non_persistent)
