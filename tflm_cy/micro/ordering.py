"""Another order of a model's operators, if it needs a smaller head.

    >>> from tflm_cy.micro.ordering import better_order          # doctest: +SKIP
    >>> better_order(demand, "overlap").order                    # doctest: +SKIP
    (0, 2, 1, 3)

The search is `memory.reorder`, over the main graph; what lies here is what it may not exchange (operators that keep
state or draw random numbers stay in their order among each other) and what is tried. For `overlap` the search is led by
the bytes that outputs share with dying inputs, which is a guide and no bound: both this order and the one with the
fewest bytes alive are planned, and the best plan wins, the file's own order among equals.
"""

from dataclasses import dataclass
from itertools import pairwise

from tflm_cy.memory.problem import Plan
from tflm_cy.memory.reorder import reorder
from tflm_cy.micro.arena_usage import Demand, demand
from tflm_cy.micro.export import is_stateful, reordered
from tflm_cy.micro.planners import plan_with
from tflm_cy.micro.safe_overlaps import distance
from tflm_cy.schema.model import Model

STATES = 4000  # sets of executed operators that a search looks at before it gives up


@dataclass(frozen=True)
class Ordered:
    """The best that was found; `model` and `demand` are those of the new order, or of the given one."""

    model: Model
    demand: Demand
    order: tuple[int, ...]
    plan: Plan
    relaxed: list
    states: int  # sets that the searches looked at
    proven: bool  # no other order has fewer bytes alive, so that no order has a lower head (without overlaps)

    @property
    def changed(self):
        return self.order != tuple(sorted(self.order))


def better_order(model, asked, planner, states=STATES):
    """The `Ordered` whose plan by `planner` has the least head.

    Parameters
    ----------
    model : schema.model.Model
    asked : demand.Demand
        Of this model; buffers with fixed offsets (an offline plan in the file) keep them and the order is not changed.
    planner : str
        Of `planners.NAMES`.
    states : int
        The budget of each search, in sets of executed operators; the same budget gives the same order everywhere.
    """
    plan, relaxed = plan_with(planner, asked)
    count = len(asked.graph.subgraphs[0].nodes)
    best = Ordered(model, asked, tuple(range(count)), plan, relaxed, 0, False)
    if asked.offline is not None:
        return best
    problem = _problem(asked)
    found = [reorder(**problem, states=states)]
    if planner == "overlap":
        found.append(reorder(**problem, overlaps=_overlaps(asked, problem), states=states))
    for order in dict.fromkeys(ordering.order for ordering in found):
        if order == tuple(range(count)):
            continue
        copy = reordered(model, order, asked)
        new = demand(copy, asked.target.name, refuse=False)
        new = new.keeping_inputs() if asked.keeps_inputs else new
        plan, relaxed = plan_with(planner, new)
        if plan.high_water_mark < best.plan.high_water_mark:
            best = Ordered(copy, new, order, plan, relaxed, 0, False)
    peak = found[0].peak
    proven = planner != "overlap" and found[0].proven and peak == best.plan.high_water_mark and not _child_bytes(asked)
    searched = sum(ordering.states for ordering in found)
    return Ordered(best.model, best.demand, best.order, best.plan, best.relaxed, searched, proven)


def _problem(asked):
    """The arguments of `reorder`: sizes per tensor of the main graph, 0 for what is not planned."""
    main = asked.graph.subgraphs[0]
    sizes, scratch = [0] * len(main.tensors), [0] * len(main.nodes)
    for buffer in asked.buffers:
        if buffer.place[0]:
            continue
        if buffer.scratch:
            scratch[buffer.place[1]] += buffer.size
        else:
            sizes[buffer.place[1]] = buffer.size
    stateful = [node.index for node in main.nodes if is_stateful(node)]
    return {
        "sizes": sizes,
        "reads": [node.inputs for node in main.nodes],
        "writes": [node.outputs for node in main.nodes],
        "inputs": main.inputs,
        "outputs": main.outputs,
        "scratch": scratch,
        "before": list(pairwise(stateful)),
        "keep_inputs": asked.keeps_inputs,
    }


def _child_bytes(asked):
    return any(buffer.place[0] for buffer in asked.buffers)


def _overlaps(asked, problem):
    """{(output tensor, input tensor): d}: whichever reader of an input were its last."""
    found = {}
    for node in asked.graph.subgraphs[0].nodes:
        if node.children:
            continue
        for k, output in enumerate(node.outputs):
            for i, source in enumerate(node.inputs):
                if source < 0 or source == output or not (problem["sizes"][source] and problem["sizes"][output]):
                    continue
                d = distance(node, i, k)
                known = found.get((output, source), d)
                found[output, source] = None if d is None or known is None else max(d, known)
    return {pair: d for pair, d in found.items() if d is not None}
