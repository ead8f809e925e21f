from collections.abc import Iterable

from tflm_cy.memory.problem import Plan, Problem

def overlap(
    problem: Problem, keep_inputs: Iterable[int] = (), budget: int = 200_000, seconds: float = 0
) -> Plan: ...
def kept(problem: Problem, keep_inputs: Iterable[int]) -> Problem: ...
