from collections.abc import Iterable

from tflm_cy.memory.problem import Plan, Problem

def offline_plan(problem: Problem, offsets: Iterable[int] | None = None) -> Plan: ...
