"""Another order of operators in which less is alive."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

class Ordering(NamedTuple):
    order: tuple[int, ...]
    peak: int
    proven: bool
    states: int

def reorder(
    sizes: Sequence[int],
    reads: Sequence[Iterable[int]],
    writes: Sequence[Iterable[int]],
    inputs: Iterable[int] = (),
    outputs: Iterable[int] = (),
    scratch: Sequence[int] | None = None,
    before: Iterable[tuple[int, int]] = (),
    keep_inputs: bool = False,
    overlaps: Mapping[tuple[int, int], int] | None = None,
    states: int = 4000,
) -> Ordering: ...
def peak_of(
    order: Iterable[int],
    sizes: Sequence[int],
    reads: Sequence[Iterable[int]],
    writes: Sequence[Iterable[int]],
    inputs: Iterable[int] = (),
    outputs: Iterable[int] = (),
    scratch: Sequence[int] | None = None,
    before: Iterable[tuple[int, int]] = (),
    keep_inputs: bool = False,
    overlaps: Mapping[tuple[int, int], int] | None = None,
) -> int: ...
