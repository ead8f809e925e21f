"""A chain of stages with its exact figures: the model is rewritten, TFLM's demand asked, the head planned.

evaluate = Evaluator(model, demand, segments, costs, wanted)
evaluate((Stage(0, 3, 3, 1),)).total
"""

from dataclasses import dataclass, field

from tflm_cy.memory.problem import Plan
from tflm_cy.micro.arena_usage import Demand, demand
from tflm_cy.micro.figures import figures
from tflm_cy.micro.patchwise.rewrite import Patched, rewrite
from tflm_cy.micro.patchwise.stage import Stage
from tflm_cy.micro.planners import plan_overlaps

QUICK, THOROUGH = 3_000, 150_000  # search nodes of a plan
FINALISTS = 4
IMPOSSIBLE = 1 << 62


@dataclass(frozen=True)
class Candidate:
    """A chain of stages and what it needs on the target."""

    stages: tuple[Stage, ...]
    head: int
    tail: int
    macs: int  # that are added
    operators: int
    bound: int = 0  # no plan has a lower head
    patched: Patched | None = field(default=None, repr=False)
    demand: Demand | None = field(default=None, repr=False)
    plan: Plan | None = field(default=None, repr=False)
    relaxed: list = field(default_factory=list, repr=False)

    @property
    def total(self):
        """Head and tail."""
        return self.head + self.tail


class Evaluator:
    """Candidates by their stages; `known` holds those that were asked for."""

    def __init__(self, model, asked, segments, costs, wanted):
        self._model, self._asked, self._segments, self._costs = model, asked, segments, costs
        self._wanted = wanted
        self.known = {}

    def __call__(self, stages):
        """The Candidate of a chain, planned quickly."""
        stages = tuple(sorted(stages))
        if stages not in self.known:
            self.known[stages] = self._planned(stages, QUICK)
        return self.known[stages]

    def order(self, candidate):
        """What is better comes first."""
        what = candidate.total if self._wanted.optimize == "total" else candidate.head
        return what, candidate.head + candidate.tail, candidate.macs, candidate.stages

    def final(self, candidate, others):
        """The best of some candidates, planned thoroughly."""
        chosen = [candidate, *(other for other in others if other.stages != candidate.stages)][:FINALISTS]
        least = self.order(candidate)[0]
        chosen = [
            c for c in chosen if c is candidate or c.bound + (c.tail if self._wanted.optimize == "total" else 0) < least
        ]
        return min((self._planned(c.stages, THOROUGH) for c in chosen), key=self.order)

    def _planned(self, stages, budget):
        try:
            patched = rewrite(self._model, stages, self._asked.graph, self._segments) if stages else None
        except ValueError:
            return Candidate(stages, IMPOSSIBLE, 0, 0, 1)
        asked = demand(patched.view, self._asked.target.name, refuse=False) if patched else self._asked
        if len(asked.objections) > len(self._asked.objections) or len(asked.faults) > len(self._asked.faults):
            return Candidate(stages, IMPOSSIBLE, 0, 0, 1)
        plan, relaxed = plan_overlaps(asked, strict=self._wanted.strict, budget=budget)
        found = figures(asked, plan=plan)
        macs = sum(self._costs.extra_macs(self._segments(s.first, s.last, s.axis), s.rows, s.columns) for s in stages)
        return Candidate(
            stages,
            plan.high_water_mark,
            found.tail,
            macs,
            len(asked.graph.subgraphs[0].nodes),
            plan.proven_lower_bound,
            patched,
            asked,
            plan,
            relaxed,
        )
