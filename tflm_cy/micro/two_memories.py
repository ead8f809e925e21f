"""Which tensors and weights to keep in a small fast memory, so that the fewest bytes move to and from the slow one.

    >>> from tflm_cy.micro.two_memories import divide            # doctest: +SKIP
    >>> found = divide(demand, fast=65536, slow=4 << 20)         # doctest: +SKIP
    >>> found.moved, found.bound                                 # doctest: +SKIP
    (1184256, 1180032)

A tensor moves its bytes once when it is written and once for each node that reads it; weights once for each node that
reads them; a scratch buffer once each way. Buffers in one memory share it as their lives permit; weights that are in
fast memory stay there, and have been copied when the program starts.

The choice is a knapsack with a capacity at each time. Prices per time and byte that no choice can beat (Lagrange
multipliers, by subgradient steps) give the bound and an order; the order is walked, each item that can be planned is
kept, and items are exchanged while that helps. All of it is deterministic. The plans are checked by `memory.check`.
"""

from dataclasses import dataclass

import numpy as np

from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.optimal import fit
from tflm_cy.memory.problem import Plan, Problem
from tflm_cy.micro.arena_usage import Demand, round_up
from tflm_cy.micro.target import ARENA_ALIGNMENT

_STEPS = 400  # of the prices
_STATES = 20_000  # that the exact planner looks at, per attempt
_EXCHANGES = 200
_EXACT = 64  # buffers: with more the greedy planner decides alone


@dataclass(frozen=True)
class Item:
    """A tensor, a scratch buffer or weights."""

    label: str
    place: tuple[int, int]  # (subgraph, tensor or node)
    size: int
    first: int
    last: int
    moved: int  # bytes per invoke
    kind: str  # tensor, scratch or weights


@dataclass(frozen=True)
class Division:
    """Which items are in fast memory, and where."""

    items: list[Item]
    fast: list[bool]
    fast_plan: Plan  # of the fast items, in their order
    slow_plan: Plan
    moved: int  # bytes per invoke to and from slow memory
    bound: int  # no choice moves fewer
    first_fit: int  # what the largest buffers first would move

    @property
    def proven(self):
        return self.moved == self.bound


def traffic(demand: Demand):
    """Per buffer the bytes that are written and read in an invoke."""
    reads, writes = _counts(demand, "inputs"), _counts(demand, "outputs")
    for buffer in demand.buffers:
        times = 2 if buffer.scratch else reads.get(buffer.place, 0) + max(1, writes.get(buffer.place, 0))
        yield times * buffer.nbytes


def _counts(demand, which):
    found = {}
    for _, node in demand.node_times:
        for t in getattr(node, which):
            if t >= 0:
                found[node.subgraph, t] = found.get((node.subgraph, t), 0) + 1
    return found


def items_of(demand: Demand, weights=True):
    """The Items of a `arena_usage.Demand`; weights once per buffer of the file that several tensors share."""
    reads, end = _counts(demand, "inputs"), max((b.last for b in demand.buffers), default=0)
    found = []
    for buffer, moved in zip(demand.buffers, traffic(demand), strict=True):
        kind = "scratch" if buffer.scratch else "tensor"
        first, last = max(buffer.first, 0), max(buffer.last, 0)
        found.append(Item(str(buffer), buffer.place, buffer.size, first, last, moved, kind))
    for place in demand.graph.tensor_places if weights else ():
        tensor = demand.graph.tensor(place)
        if tensor.constant and reads.get(place):
            size = len(tensor.data)
            label = f"weights {place[1]} '{tensor.name}'"
            found.append(Item(label, place, round_up(size), 0, end, size * reads[place], "weights"))
    return found


def divide(demand: Demand, fast: int, slow: int, weights=True):
    """The Division of a demand's buffers, and of its weights, between memories of `fast` and `slow` bytes.

    Raises
    ------
    ValueError
        What does not fit in fast memory does not fit in the slow one.
    """
    items = items_of(demand, weights)
    lives = _lives(items)
    prices, saved_at_most = _prices(items, lives, fast)
    total = sum(item.moved for item in items)
    value = np.array([item.moved for item in items], float)
    left = value - np.array([item.size for item in items], float) * (lives @ prices)
    orders = [
        sorted(range(len(items)), key=lambda i: (-left[i] / max(1, items[i].size), i)),
        sorted(range(len(items)), key=lambda i: (-items[i].moved / (max(1, items[i].size) * lives[i].sum()), i)),
        sorted(range(len(items)), key=lambda i: (-items[i].size, items[i].first)),
    ]

    def saved(chosen):
        return sum(items[i].moved for i in chosen)

    kept = [_exchange(items, lives, _walk(items, lives, order, fast), fast, orders[0]) for order in orders]
    fitted = [_fitted(items, order, fast) for order in orders]
    best = max(kept, key=saved)
    fast_plan = _plan([items[i] for i in sorted(best)], fast)
    if saved(best) < max(map(saved, fitted)):
        best = max(fitted, key=saved)
        offsets = [best[i] for i in sorted(best)]
        fast_plan = Plan(offsets, max(best[i] + items[i].size for i in best))
    first_fit = total - saved(fitted[-1])
    inside = [i in best for i in range(len(items))]
    rest = [item for item, here in zip(items, inside, strict=True) if not here]
    slow_plan = _plan(rest, slow)
    if slow_plan is None:
        raise ValueError(
            f"what does not fit in {fast} bytes of fast memory needs more than {slow} bytes of slow memory"
        )
    for chosen, plan in (([items[i] for i in sorted(best)], fast_plan), (rest, slow_plan)):
        check(_problem(chosen), plan)
    moved = sum(item.moved for item in rest)
    bound = min(moved, max(0, total - saved_at_most))
    return Division(items, inside, fast_plan, slow_plan, moved, bound, first_fit)


def _lives(items):
    """Whether each item is alive at each time."""
    end = max((item.last for item in items), default=0) + 1
    times = np.arange(end)
    return np.array([(item.first <= times) & (times <= item.last) for item in items], bool).reshape(len(items), end)


def _prices(items, lives, fast):
    """(prices per time and byte, the most that any choice saves): a subgradient walk on the relaxed problem."""
    if not items:
        return np.zeros(lives.shape[1]), 0
    value = np.array([item.moved for item in items], float)
    size = np.array([item.size for item in items], float)
    prices, best, kept = np.zeros(lives.shape[1]), value.sum(), np.zeros(lives.shape[1])
    scale = value.max() / max(1.0, size.max())
    for step in range(_STEPS):
        left = value - size * (lives @ prices)
        chosen = left > 0
        bound = left[chosen].sum() + fast * prices.sum()
        if bound < best:
            best, kept = bound, prices.copy()
        excess = (size * chosen) @ lives - fast
        norm = np.linalg.norm(excess)
        if norm == 0:
            break
        prices = np.maximum(0, prices + scale * excess / norm / (1 + step / 20))
    return kept, int(np.floor(best + 1e-6))


def _walk(items, lives, order, fast):
    """Items in an order, each kept if those kept before leave room for it."""
    used, chosen = np.zeros(lives.shape[1], np.int64), set()
    for i in order:
        if items[i].size and used[lives[i]].max(initial=0) + items[i].size > fast:
            continue
        if _plan([items[k] for k in sorted([*chosen, i])], fast) is not None:
            chosen.add(i)
            used[lives[i]] += items[i].size
    return chosen


def _fitted(items, order, fast):
    """{item: offset}: items in an order, each at the lowest offset that is free for its life, if it fits there."""
    placed = {}
    for i in order:
        item, offset = items[i], 0
        near = [
            (placed[k], items[k].size) for k in placed if items[k].last >= item.first and items[k].first <= item.last
        ]
        for begin, size in sorted(near):
            if begin - offset >= item.size:
                break
            offset = max(offset, begin + size)
        if offset + item.size <= fast:
            placed[i] = offset
    return placed


def _exchange(items, lives, chosen, fast, order):
    """Items that are left out, taken in for cheaper ones that are in their way."""
    chosen = set(chosen)
    outside = [i for i in order if i not in chosen]
    for i in outside[:_EXCHANGES]:
        for k in sorted(chosen, key=lambda k: items[k].moved):
            if items[k].moved >= items[i].moved:
                break
            if not (lives[i] & lives[k]).any():
                continue
            if _plan([items[n] for n in sorted((chosen - {k}) | {i})], fast) is not None:
                chosen = (chosen - {k}) | {i}
                break
    left = [i for i in order if i not in chosen]
    for i in left:
        if _plan([items[n] for n in sorted(chosen | {i})], fast) is not None:
            chosen.add(i)
    return chosen


def _problem(items):
    return Problem(
        [i.size for i in items], [i.first for i in items], [i.last for i in items], alignment=ARENA_ALIGNMENT
    )


def _plan(items, capacity):
    """A plan in so many bytes; None when none is found."""
    problem = _problem(items)
    plan = greedy(problem)
    if plan.high_water_mark <= capacity:
        return plan
    if plan.proven_lower_bound > capacity or len(items) > _EXACT:
        return None
    return fit(problem, capacity, _STATES)
