"""Where the time of an interpreter's runs goes, node by node."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt

from tflm_cy.core import Core

@dataclass(frozen=True)
class Operand:
    index: int
    name: str
    type: str
    shape: tuple[int, ...]
    nbytes: int
    constant: bool

@dataclass(frozen=True)
class NodeTime:
    subgraph: int
    node: int
    part_of: int
    op_name: str
    arithmetic: str
    calls: int
    seconds: float
    least: float
    total: float
    share: float
    macs: int
    nbytes: int
    kind: str = ""
    inputs: tuple[Operand | None, ...] = ...
    outputs: tuple[Operand | None, ...] = ...
    @property
    def macs_per_second(self) -> float: ...
    @property
    def bytes_per_second(self) -> float: ...

class Profile:
    def __init__(self, core: Core) -> None: ...
    def __enter__(self) -> Profile: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def stop(self) -> None: ...
    def runs(self, subgraph: int = 0) -> npt.NDArray[np.int64]: ...
    def nodes(self) -> list[NodeTime]: ...
    def seconds(self) -> npt.NDArray[np.float64]: ...

def multiply_adds(op_name: str, inputs: Sequence[Operand | None], outputs: Sequence[Operand | None]) -> int: ...
