"""Patch-wise plans: stages of a model computed tile by tile, by operators that every TensorFlow Lite Micro has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tflm_cy.memory.problem import Plan
from tflm_cy.schema.model import Model

__all__ = ["Candidate", "Found", "Patched", "Stage", "Wanted", "export", "rewrite", "search"]

class Stage(NamedTuple):
    first: int
    last: int
    rows: int
    columns: int
    early: bool = False

@dataclass(frozen=True)
class Wanted:
    target: str = "arm32"
    optimize: str = "total"
    extra_macs: float = 10.0
    strict: bool = False
    work: int = ...
    seconds: float = 0.0

@dataclass(frozen=True)
class Patched:
    source: Model
    stages: tuple[Stage, ...]
    view: Any
    draft: Any
    @property
    def operators(self) -> int: ...
    def content(self, metadata: Mapping[str, bytes] | None = None) -> bytes: ...
    def model(self, metadata: Mapping[str, bytes] | None = None) -> Model: ...

@dataclass(frozen=True)
class Candidate:
    stages: tuple[Stage, ...]
    head: int
    tail: int
    macs: int
    operators: int
    bound: int = 0
    patched: Patched | None = None
    demand: Any = None
    plan: Plan | None = None
    relaxed: Any = ...
    @property
    def total(self) -> int: ...

@dataclass
class Found:
    best: Candidate
    untouched: Candidate
    wanted: Wanted
    planned: int
    macs: int
    model: Model
    graph: Any
    late: bool = False
    @property
    def bound(self) -> int: ...
    @property
    def extra_macs(self) -> float: ...

def search(
    model: Model,
    wanted: Wanted | None = None,
    graph: Any = None,
    progress: Callable[[str, float], None] | None = None,
) -> Found: ...
def rewrite(model: Model, stages: Sequence[Stage], graph: Any = None, segments: Any = None) -> Patched: ...
def export(found: Found) -> bytes: ...
