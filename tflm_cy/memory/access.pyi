from collections.abc import Iterable, Mapping
from typing import Any

from tflm_cy.memory.problem import Plan, Problem

NOTHING: int

def distance(lowest: Iterable[int] | Any, output_element: int, input_element: int) -> int: ...
def check_accesses(
    problem: Problem, plan: Plan, accesses: Mapping[tuple[int, int], tuple[Iterable[int] | Any, int, int]]
) -> None: ...
