"""The planners by name, for a model's memory as TFLM asks for it.

    >>> from tflm_cy.micro.planners import planners
    >>> "greedy" in planners()
    True

`greedy` is TFLM's own; `optimal` searches for the least head; `overlap` also lays outputs over inputs that die, as far
as the kernels read ahead of what they write; `linear` gives every buffer its own place. A planner is a function of a
`memory.Problem` in the module of `memory` that has its name; one that is not installed is left out.
"""

from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, combinations

from tflm_cy.memory.problem import Plan, Problem
from tflm_cy.micro.offline import ONLINE
from tflm_cy.micro.safe_overlaps import aliases, relaxed_rows

NAMES = ("greedy", "optimal", "overlap", "linear")
_MOST_COPIES = 3


def planners():
    """The names of the planners that are there, best known first."""
    return [name for name in NAMES if find_spec(f"tflm_cy.memory.{name}")]


def plan_with(name, demand):
    """(plan, the relaxed rows that it may use) of a `demand.Demand`.

    Raises
    ------
    ValueError
        No such planner.
    """
    if name not in planners():
        raise ValueError(f"no planner {name!r}; there are {', '.join(planners())}")
    planner = getattr(import_module(f"tflm_cy.memory.{name}"), name)
    plan, rows = _overlap(planner, demand) if name == "overlap" else (planner(demand.problem()), ())
    return _with_true_bound(plan, demand), rows


def _with_true_bound(plan, demand):
    """Where an offline plan lays buffers over each other their sizes do not add up to what is needed."""
    most = max(live_bytes(demand.buffers), default=0)
    if most == max(live_bytes(demand.buffers, apart=True), default=0):
        return plan
    ends = (buffer.fixed + buffer.size for buffer in demand.buffers if buffer.fixed != ONLINE)
    return Plan(plan.offsets, plan.high_water_mark, min(plan.high_water_mark, max(most, *ends)))


def live_bytes(buffers, apart=False):
    """Bytes alive at each time from 0 on; what an offline plan lays over each other counts once, or not (`apart`)."""
    last = max((buffer.last for buffer in buffers), default=-1)
    change = [0] * (last + 2)
    fixed = []
    for buffer in buffers:
        if buffer.last < 0:
            continue
        if buffer.fixed != ONLINE and not apart:
            fixed.append(buffer)
            continue
        change[max(buffer.first, 0)] += buffer.size
        change[buffer.last + 1] -= buffer.size
    live = list(accumulate(change[:-1]))
    fixed.sort(key=lambda buffer: buffer.fixed)
    for time in range(len(live)) if fixed else ():
        end = 0
        for buffer in fixed:
            if buffer.first <= time <= buffer.last:
                live[time] += max(0, buffer.fixed + buffer.size - max(end, buffer.fixed))
                end = max(end, buffer.fixed + buffer.size)
    return live


def plan_overlaps(demand, strict=False, budget=None):
    """(plan, rows) of the planner `overlap`; `strict`: no kernel is relied on (`safe_overlaps.relaxed_rows`), `budget` as
    the planner's."""
    from tflm_cy.memory.overlap import overlap

    def planner(problem):
        return overlap(problem) if budget is None else overlap(problem, budget=budget)

    plan, rows = _overlap(planner, demand, strict)
    return _with_true_bound(plan, demand), rows


def _overlap(planner, demand, strict=False):
    """The best plan over the ways to treat copies (RESHAPE): apart from what they copy, or in its place.

    With few copies all ways are tried, and the least of their bounds is proven for all; with many all apart and all in
    place, and the bound is that of `_taking_turns`.
    """
    rows, copies = relaxed_rows(demand, strict=strict), aliases(demand)
    if not copies:
        return planner(demand.problem(rows)), rows
    few = len(copies) <= _MOST_COPIES
    choices = [c for n in range(len(copies) + 1) for c in combinations(copies, n)] if few else [(), tuple(copies)]
    best, bounds = None, []
    for chosen in choices:
        groups = _groups(demand, chosen)
        plan = planner(_merged(demand, groups, rows))
        bounds.append(plan.proven_lower_bound)
        if best is None or plan.high_water_mark < best[0].high_water_mark:
            best = plan, groups
    plan, groups = best
    rows = rows + _rows_within(groups)
    number = {group: i for i, group in enumerate(sorted(set(groups)))}
    offsets = [plan.offsets[number[group]] for group in groups]
    bound = min(bounds) if few else planner(_taking_turns(demand, copies, rows)).proven_lower_bound
    return Plan(offsets, plan.high_water_mark, min(bound, plan.high_water_mark)), rows


def _groups(demand, pairs):
    """Per buffer the first buffer of those that share its place."""
    groups = list(range(len(demand.buffers)))
    for output, source in pairs:  # in the order of the nodes
        if demand.buffers[output].fixed == demand.buffers[groups[source]].fixed:
            groups[output] = groups[source]
    return groups


def _merged(demand, groups, rows):
    """The problem whose buffers are the groups."""
    members = {group: [] for group in sorted(set(groups))}
    for buffer, group in zip(demand.buffers, groups, strict=True):
        members[group].append(buffer)
    number = {group: i for i, group in enumerate(members)}
    first = {group: min(buffer.first for buffer in buffers) for group, buffers in members.items()}
    last = {group: max(buffer.last for buffer in buffers) for group, buffers in members.items()}
    distances = {(output, source): d for output, source, d in rows}
    relaxed = {}
    for output, source in distances:
        o, i = groups[output], groups[source]
        # of a group that dies at the node, all that are read there need a distance
        dying = [k for k, group in enumerate(groups) if group == i and demand.buffers[k].last == last[i]]
        known = [distances.get((output, k)) for k in dying]
        if o != i and demand.buffers[output].first == first[o] and source in dying and None not in known:
            relaxed[number[o], number[i]] = max(known)
        elif groups.count(o) == groups.count(i) == 1:  # an input that lives on, of which a part is needed
            relaxed[number[o], number[i]] = distances[output, source]
    return Problem(
        [buffers[0].size for buffers in members.values()],
        list(first.values()),
        list(last.values()),
        [buffers[0].fixed for buffers in members.values()],
        relaxed=[(*pair, d) for pair, d in relaxed.items()],
    )


def _taking_turns(demand, copies, rows):
    """A problem that no way to treat the copies can be higher than: where a copy and its source are both alive, only
    one of them is there. Whoever keeps them apart or puts them together keeps all distances that are left."""
    groups = _groups(demand, copies)
    first, size = [b.first for b in demand.buffers], [b.size for b in demand.buffers]
    for group in set(groups):
        end = None
        for k in sorted((k for k, g in enumerate(groups) if g == group), key=lambda k: demand.buffers[k].first):
            if end is not None and demand.buffers[k].last <= end:
                size[k] = 0
                continue
            first[k] = first[k] if end is None else max(first[k], end + 1)
            end = demand.buffers[k].last
    kept = [(o, i, d) for o, i, d in rows if size[o] and size[i]]
    last, fixed = [b.last for b in demand.buffers], [b.fixed for b in demand.buffers]
    return Problem(size, first, last, fixed, relaxed=kept)


def _rows_within(groups):
    """What the judge has to permit: buffers of one group at the same offset."""
    pairs = [(i, j) for j, group in enumerate(groups) for i in range(j) if groups[i] == group]
    return [(i, j, 0) for i, j in pairs] + [(j, i, 0) for i, j in pairs]
