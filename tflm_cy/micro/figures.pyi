"""TFLM's memory of a model, without running TFLM."""

from dataclasses import dataclass
from typing import Any

from tflm_cy.memory.problem import Plan
from tflm_cy.schema.model import Model

RUNTIME_ARENA_FACTOR: int

@dataclass
class Record:
    used: int = 0
    requested: int = 0
    count: int = 0

@dataclass(frozen=True)
class Figures:
    head: int
    tail: int
    kinds: dict[str, Record]
    smallest_arena: int
    arena_size: int
    objects: list[tuple[Any, int]]
    demand: Any
    plan: Plan
    @property
    def total(self) -> int: ...
    @property
    def fits(self) -> bool: ...
    def text(self) -> str: ...

def figures(
    model: Model | Any,
    target_name: str = "host64",
    arena_size: int | None = None,
    *,
    plan: Plan | None = None,
    preserve_all: bool = False,
    recording: bool | None = None,
    refuse: bool = True,
) -> Figures: ...
def place_objects(allocations: Any, arena_size: int) -> list[tuple[Any, int]]: ...
def peaks(demand: Any, head: int) -> list[tuple[int, int]]: ...
def planning_bytes(demand: Any) -> int: ...
def smallest_arena(objects: Any, needs: Any) -> int: ...
