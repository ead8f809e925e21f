"""Whether a firmware will run a model in an arena, what stops it first, and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from typing_extensions import Buffer

from tflm_cy.micro.figures import Figures
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model

@dataclass(frozen=True)
class First:
    call: str
    stage: str
    node: Any
    words: str
    plain: str
    def as_json(self) -> dict[str, Any]: ...

@dataclass(frozen=True)
class OperatorRow:
    op: str
    nodes: int
    macs: int
    weights: int
    persistent: int
    scratch: int

class Diagnosis:
    survey: Survey
    graph: Any
    build: Any
    arena_size: int | None
    figures: Figures
    def __init__(
        self,
        path: str | PathLike[str] | Buffer | Model,
        target: str,
        arena_size: int | None = None,
        macs_of: Callable[[Any], int] | None = None,
    ) -> None: ...
    @property
    def needed(self) -> int: ...
    @property
    def shortage(self) -> Any: ...
    @property
    def runs(self) -> bool: ...
    @property
    def first(self) -> First | None: ...
    @property
    def reasons(self) -> list[str]: ...
    @property
    def changes(self) -> list[str]: ...
    @property
    def peak(self) -> tuple[Any, int]: ...
    @property
    def peak_buffers(self) -> list[Any]: ...
    @property
    def operators(self) -> list[OperatorRow]: ...
    @property
    def weights(self) -> int: ...
    @property
    def macs(self) -> int: ...
    @property
    def resolver(self) -> str: ...
    @property
    def other_bytes(self) -> dict[str, str]: ...
    def as_json(self) -> dict[str, Any]: ...
