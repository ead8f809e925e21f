"""Generated cases: one file per operator family, found by existing; `graphs` has those of several operators (GRAPH).

A family file decorates functions with the operators, type labels and variants that they can make; each function takes a
`Draw` (seeded random material, see `draw`) and returns one case:

    @cases("HARD_SWISH", dtypes=("float32", "int8", "uint8"), variants=("random", "special"))
    def hard_swish(d):
        x, y = d.tensor([2, 9]), d.tensor([2, 9])
        return d.case(Model.single(d.op, [x], [y]), lambda: [d.values(x)])

Each (operator, type, variant) is a kind; a kind and a seed always make the same case.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import special_values
from .draw import Draw

_KINDS = []


@dataclass(frozen=True)
class Kind:
    op: str
    dtype: str
    variant: str
    function: Any

    def case(self, seed, invokes):
        return self.function(Draw(self.op, self.dtype, self.variant, seed, invokes))


@dataclass(frozen=True)
class SpecialKind(Kind):
    """One of several kinds, `function`, by the seed, with special values (see `special_values`)."""

    def case(self, seed, invokes):
        kind = self.function[seed % len(self.function)]
        found = kind.function(special_values.SpecialDraw(kind.op, kind.dtype, kind.variant, seed, invokes))
        return found


def _special_kinds():
    groups = {}
    for kind in filter(special_values.fits, _KINDS):
        groups.setdefault((kind.op, kind.dtype), []).append(kind)
    return [SpecialKind(*names, special_values.VARIANT, tuple(group)) for names, group in groups.items()]


def cases(*ops, dtypes, variants=("random",)):
    """Register a function for every combination of operators, type labels and variants."""

    def register(function):
        _KINDS.extend(Kind(op, dtype, variant, function) for op in ops for dtype in dtypes for variant in variants)
        return function

    return register


@cache
def _all_kinds():
    """Every kind, sorted. The modules register theirs when they are imported; some may have been imported before, by themselves."""
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return sorted([*_KINDS, *_special_kinds()], key=lambda k: (k.op, k.dtype, k.variant))


def kinds(ops=None, dtype=None, variant=None):
    """The kinds that fit; a type label fits exactly, a variant by a part of it."""
    return [
        kind
        for kind in _all_kinds()
        if (not ops or kind.op in ops) and dtype in (None, kind.dtype) and (variant or "") in kind.variant
    ]


def operators():
    """The operators that have cases."""
    return sorted({kind.op for kind in kinds()})


def count_cases(seeds, **selection):
    return len(kinds(**selection)) * len(seeds)


def generated_cases(seeds, invokes=3, **selection):
    """The selected cases, seed by seed."""
    for seed in seeds:
        for kind in kinds(**selection):
            yield kind.case(seed, invokes)
