"""Which stages to compute tile by tile, and in which grids: the least head, or the least head and tail together.

    found = search(model, Wanted(extra_macs=10, optimize="total"))
    found.best.stages, found.best.head, found.best.total

Three steps. Every run of operators that can be a stage gets the costs of its grids (`costs`), of which those are kept
that no other one beats. For every limit of the head a shortest path over the operators finds the chain of stages with the
least tail. The most promising chains are then rewritten and planned exactly, and the best of them changed: a grid, an
end, a stage more or less.

The work is counted (operators of chains that were planned), not timed, so the same model gives the same result
everywhere; `seconds` sets a limit in time as well, and gives this up.
"""

import time
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import zip_longest

from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.graph_view import GraphView
from tflm_cy.micro.patchwise.candidates import Candidate, Evaluator
from tflm_cy.micro.patchwise.costs import Costs
from tflm_cy.micro.patchwise.operators import IMAGE
from tflm_cy.micro.patchwise.stage import Segments, Stage
from tflm_cy.schema.model import Model

MOST_OPERATORS = 24  # of a stage
MOST_TILES = 40
MOST_PARTS = 16  # along one axis
HEADS = 160  # limits that a path is looked for under
WORK = 12_000  # operators of the chains that are planned
_STEPS = (
    (0, 0, 1, 0),
    (0, 0, -1, 0),
    (0, 0, 0, 1),
    (0, 0, 0, -1),
    (1, 0, 0, 0),
    (-1, 0, 0, 0),
    (0, 1, 0, 0),
    (0, -1, 0, 0),
)


@dataclass(frozen=True)
class Wanted:
    """What is looked for.

    Parameters
    ----------
    target : str
        Whose tail counts, of `device.NAMES`.
    optimize : str
        "total" (head and tail) or "head".
    extra_macs : float
        At most so many per cent more multiplications.
    strict : bool
        No kernel is relied on: outputs and inputs of an operator are apart.
    work : int
        The budget.
    seconds : float
        A limit in time; 0 for none.
    """

    target: str = "arm32"
    optimize: str = "total"
    extra_macs: float = 10.0
    strict: bool = False
    work: int = WORK
    seconds: float = 0.0


@dataclass
class Found:
    """The result: the best candidate, the model as it is, and how many chains were planned."""

    best: Candidate
    untouched: Candidate
    wanted: Wanted
    planned: int
    macs: int  # of the model as it is
    model: Model = field(repr=False)
    graph: GraphView = field(repr=False)
    late: bool = False  # the time ended before the work

    @property
    def bound(self):
        """No plan of the best candidate's operators has a lower head."""
        return self.best.bound

    @property
    def extra_macs(self):
        """In per cent of the model's."""
        return 100 * self.best.macs / self.macs if self.macs else 0.0


def search(model, wanted=None, graph=None, progress=None):
    """The Found of a schema.model.Model.

    Parameters
    ----------
    model : schema.model.Model
    wanted : Wanted, optional
    graph : graph_view.GraphView, optional
    progress : function of (str, float), optional
        Is called with what is done and the share of the work.

    Raises
    ------
    ValueError
        TFLM would refuse the model.
    """
    return _Search(model, wanted or Wanted(), graph, progress or (lambda what, share: None)).run()


class _Search:
    def __init__(self, model, wanted, graph, progress):
        self.wanted, self.progress = wanted, progress
        self.deadline = time.monotonic() + wanted.seconds if wanted.seconds else None
        asked = demand(graph or model, wanted.target)
        self.model, self.graph, self.asked = model, asked.graph, asked
        self.main = asked.graph.subgraphs[0]
        self.segments = Segments(self.main)
        self.costs = Costs(asked, self.segments, wanted.strict)
        self.limit = wanted.extra_macs / 100 * self.costs.macs
        self.evaluator = Evaluator(model, asked, self.segments, self.costs, wanted)
        self.worked = 0

    def run(self):
        untouched = self.evaluator(())
        best, chains = untouched, self._all_chains(untouched.head) if untouched.head else []
        if chains:
            best = self._improved(self._planned(chains, untouched))
        best, untouched = self.evaluator.final(best, self._values()), self.evaluator.final(untouched, [])
        self.progress("plans", 1.0)
        return Found(
            best=best,
            untouched=untouched,
            wanted=self.wanted,
            planned=len(self.evaluator.known),
            macs=self.costs.macs,
            model=self.model,
            graph=self.graph,
            late=self._late(),
        )

    def _late(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def _values(self):
        return sorted(self.evaluator.known.values(), key=self.evaluator.order)

    # ---------------------------------------------------------------- stages and chains

    def _all_chains(self, head):
        """Chains by the estimate without gaps; where the plan as it is has a higher `head` than that, by the one without
        overlaps too, in turn: plans lie between the two."""
        estimates, found = [self.costs], []
        if not self.wanted.strict and head > max(self.costs.untouched, default=0):
            estimates.append(Costs(self.asked, self.segments, strict=True))
        for costs in estimates:
            stages = self._stages(costs)
            found.append(self._chains(stages, costs) if stages else [])
        return list(dict.fromkeys(chain for pair in zip_longest(*found) for chain in pair if chain))

    def _stages(self, costs):
        """[(Stage, Cost)] that are lower than their operators as they are, and that no other one of them beats."""
        found, count = [], len(self.main.nodes)
        grids = [(r, c) for r in range(1, MOST_PARTS + 1) for c in range(1, MOST_PARTS + 1) if 1 < r * c <= MOST_TILES]
        for first in range(count):
            if self._late():
                break
            self.progress("stages", first / count)
            for last in range(first, min(first + MOST_OPERATORS, count)):
                segments = self._segments(first, last)
                if segments is None:
                    break
                for segment in segments:
                    found += self._grids(segment, costs, max(costs.untouched[first : last + 1]), grids)
        return found

    def _segments(self, first, last):
        """The segments of some operators, along the axes that differ; None when no longer one can begin there."""
        shape = self.main.nodes[last].outputs and self.main.nodes[last].output(0).shape
        found, possible, covered = [], False, -1
        for axis in range(len(shape or ())):
            if self.segments.operators(axis)[last] is None or (shape[axis] == 1 and axis != IMAGE):
                continue
            possible = True
            segment = self.segments(first, last, axis) if axis > covered else None
            if segment is not None:
                found.append(segment)
                covered = axis + (segment.limits[1] > 1)
        return found if possible else None

    def _grids(self, segment, estimate, highest, grids):
        height, width = segment.limits
        costs, spent = [], set()
        for rows, columns in grids:
            if rows > height or columns > width or any(rows >= r and columns >= c for r, c in spent):
                continue
            macs = estimate.extra_macs(segment, rows, columns)
            if macs is None or macs > self.limit:
                spent.add((rows, columns))
                continue
            for early in (False, True) if segment.has_choice else (False,):
                stage = Stage(segment.first, segment.last, rows, columns, early, segment.axis)
                cost = estimate.stage(segment, stage)
                if cost.head < highest:
                    costs.append((stage, cost))
        costs.sort(key=lambda entry: (entry[1].tail, entry[1].head, entry[0]))
        kept, least = [], None
        for stage, cost in costs:
            if least is None or cost.head < least:
                kept.append((stage, cost))
                least = cost.head
        return kept

    def _chains(self, stages, costs):
        """Chains in the order of what they promise: per limit of the head the one with the least tail."""
        untouched = costs.untouched
        heights = sorted({*untouched, *(cost.head for _, cost in stages)})
        heights = heights[: bisect_right(heights, max(untouched))]
        least = self._least_head(stages, costs)
        heights = [h for h in heights if h >= least]
        heights = (
            [heights[k * (len(heights) - 1) // max(HEADS - 1, 1)] for k in range(HEADS)]
            if len(heights) > HEADS
            else heights
        )
        found = {}
        for height in heights:
            for weight in (0, 1):
                chain = self._path(stages, costs, height, weight)
                if chain is not None and chain not in found:
                    found[chain] = self._promise(chain, height)
        return sorted((chain for chain in found if chain), key=lambda chain: (found[chain], chain))

    def _least_head(self, stages, costs):
        """The least height under which there is a path."""
        best = [0] * (len(self.main.nodes) + 1)
        ends = _by_end(stages)
        for end in range(1, len(best)):
            ways = [max(best[end - 1], costs.untouched[end - 1])]
            ways += [max(best[stage.first], cost.head) for stage, cost in ends.get(end - 1, ())]
            best[end] = min(ways)
        return best[-1]

    def _path(self, stages, costs, height, weight):
        """The chain under a height with the least tail, or with the least tail and multiplications (`weight`)."""
        price = 8 * weight * self._tail_of_all(stages) / max(self.limit, 1)
        best = [(0.0, None, None)]
        ends = _by_end(stages)
        for end in range(1, len(self.main.nodes) + 1):
            ways = []
            if costs.untouched[end - 1] <= height and best[end - 1] is not None:
                ways.append((best[end - 1][0], end - 1, None))
            for stage, cost in ends.get(end - 1, ()):
                if cost.head <= height and best[stage.first] is not None:
                    ways.append((best[stage.first][0] + cost.tail + price * cost.macs, stage.first, stage))
            best.append(min(ways, key=lambda way: (way[0], way[2] or ())) if ways else None)
        if best[-1] is None:
            return None
        chain, end = [], len(best) - 1
        while end:
            _, before, stage = best[end]
            if stage is not None:
                chain.append(stage)
            end = before
        chain = tuple(sorted(chain))
        return chain if self._macs(chain) <= self.limit else None

    @staticmethod
    def _tail_of_all(stages):
        return max((cost.tail for _, cost in stages), default=0) / 8

    def _cost(self, stage):
        return self.costs.stage(self.segments(stage.first, stage.last, stage.axis), stage)

    def _macs(self, chain):
        return sum(self._cost(stage).macs for stage in chain)

    def _promise(self, chain, height):
        tail = sum(self._cost(stage).tail for stage in chain)
        return height + tail if self.wanted.optimize == "total" else (height + tail / 1000)

    # ---------------------------------------------------------------- exact plans

    def _planned(self, chains, untouched):
        """The best of the most promising chains, planned with half of the work."""
        best = untouched
        for chain in chains:
            if self._spent(0.5):
                break
            best = min(best, self._evaluate(chain), key=self.evaluator.order)
        return best

    def _improved(self, best):
        """The best candidate after changes of single stages, as long as they help."""
        improved = True
        while improved and not self._spent(1.0):
            improved = False
            for chain in self._neighbours(best.stages):
                if self._spent(1.0):
                    break
                if chain in self.evaluator.known:
                    continue
                found = self._evaluate(chain)
                if self.evaluator.order(found) < self.evaluator.order(best):
                    best, improved = found, True
                    break
        return best

    def _neighbours(self, stages):
        """Chains in which one stage is another one, or left out."""
        for k, stage in enumerate(stages):
            others = stages[:k] + stages[k + 1 :]
            yield others
            for change in _STEPS:
                new = Stage(*(a + b for a, b in zip(stage, change, strict=False)), stage.early, stage.axis)
                if self._possible(new, others):
                    yield tuple(sorted((*others, new)))
            if self.segments(stage.first, stage.last, stage.axis).has_choice:
                yield tuple(sorted((*others, stage._replace(early=not stage.early))))

    def _possible(self, stage, others):
        if not (0 <= stage.first <= stage.last < len(self.main.nodes)) or min(stage.rows, stage.columns) < 1:
            return False
        if stage.rows * stage.columns == 1 or any(o.first <= stage.last and stage.first <= o.last for o in others):
            return False
        segment = self.segments(stage.first, stage.last, stage.axis)
        if segment is None or stage.rows > segment.limits[0] or stage.columns > segment.limits[1]:
            return False
        cost = self._cost(stage)
        return cost is not None and cost.macs + self._macs(others) <= self.limit

    def _evaluate(self, chain):
        found = self.evaluator(chain)
        self.worked += found.operators
        self.progress("plans", min(self.worked / max(self.wanted.work, 1), 0.99))
        return found

    def _spent(self, share):
        return self.worked >= share * self.wanted.work or self._late()


def _by_end(stages):
    ends = {}
    for stage, cost in stages:
        ends.setdefault(stage.last, []).append((stage, cost))
    return ends
