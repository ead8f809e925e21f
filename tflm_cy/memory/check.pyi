from collections.abc import Iterable

from tflm_cy.memory.problem import Plan, Problem

def check(problem: Problem, plan: Plan, reads: Iterable[tuple[int, int, int, int]] = ()) -> None: ...
