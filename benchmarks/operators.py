"""Latency of single operators: compat's generators with everyday sizes, each kind at sizes drawn for a seed.

    for sized in operator_cases(seeds=(0,), ops=("CONV_2D",)):
        case = sized.case()  # None: the kind has no such size

`python -m benchmarks --only operators` measures them like whole models (`latency`) against `tf.lite`; the slowest stand first.
"""

from dataclasses import dataclass

import numpy as np

from compat.cases import Kind, kinds
from compat.deviations import deviation_for
from compat.outcome import Array, Outcome, difference

from .alternation import alternate
from .sides import Session, same_bytes
from .sized import SizedDraw, UnevenDraw, is_everyday, sized_case

SIZES = (1_000, 100_000, 2_000_000)  # elements of the largest tensor, about
PAIRS, SECONDS = 24, 0.4  # of one row, if the user does not say


@dataclass(frozen=True)
class SizedKind:
    """A case before it is made: models of millions of elements are not kept."""

    kind: Kind
    seed: int
    size: int
    uneven: bool = False

    @property
    def name(self):
        shapes = " uneven" if self.uneven else ""
        return f"{self.kind.op}/{self.kind.dtype}/{self.kind.variant}#{self.seed} {brief(self.size)}{shapes}"

    def case(self):
        drawn = self.size * np.random.default_rng([self.seed, self.size]).uniform(0.6, 1.6)
        return sized_case(self.kind, self.seed, drawn, UnevenDraw if self.uneven else SizedDraw)


def operator_cases(seeds=(0,), sizes=SIZES, ops=None, part="", quick=False, uneven=False):
    """The everyday kinds of these operators whose names hold a text; quick: one variant of each type; uneven: see `UnevenDraw`."""
    seen = set()
    for kind in sorted(kinds(ops), key=lambda kind: (kind.op, kind.dtype, kind.variant != "random", kind.variant)):
        named = part in f"{kind.op}/{kind.dtype}/{kind.variant}"
        if named and is_everyday(kind) and not (quick and (kind.op, kind.dtype) in seen):
            seen.add((kind.op, kind.dtype))
            yield from (SizedKind(kind, seed, size, uneven) for seed in seeds for size in sizes)


def brief(elements):
    """
    >>> brief(2_100_000), brief(99_000), brief(870)
    ('2.1M', '99k', '870')
    """
    if elements >= 1e6:
        return f"{elements / 1e6:.1f}M"
    return f"{elements / 1e3:.0f}k" if elements >= 1e3 else str(elements)


def measure(ours, theirs, case, mode, settings, stage):
    """As `latency.measure`, without the comparison of threads; `deviation`: why compat expects the difference in bytes."""
    sessions = [Session(*side, case, mode, settings.threads, stage) for side in (ours, theirs)]
    equal = same_bytes(*sessions)
    expected = {} if equal else expected_deviation(case, mode, *sessions)
    stage(f"{ours[0].name} or {theirs[0].name} in repeated invokes")
    calls = [session.interpreter.invoke for session in sessions]
    return {
        **alternate(*calls, settings.pairs, settings.burst, settings.seconds).summary(),
        "same_bytes": equal,
        **expected,
    }


def expected_deviation(case, mode, ours, theirs):
    """{"deviation": reason} where compat's table has the difference between two sessions' first outputs."""
    a, b = (Outcome("ok", [[Array.of(value) for value in session.first]]) for session in (theirs, ours))
    found = deviation_for(case.id, difference(a, b) or "", mode, case)
    return {"deviation": found.reason} if found else {}
