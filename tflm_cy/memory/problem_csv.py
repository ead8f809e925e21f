"""Planning problems as CSV text, in the format of google/minimalloc: `id,lower,upper,size` and optionally `offset`.

    >>> problem = read("id,lower,upper,size\\nx,0,2,100\\ny,1,3,80\\n")
    >>> problem.first_use, problem.last_use
    ((0, 1), (1, 2))
    >>> print(write(problem), end="")
    id,lower,upper,size
    0,0,2,100
    1,1,3,80

Lifetimes are half-open there ([lower, upper)) and closed here: `last_use = upper - 1`. Columns are found by name,
rows keep their order, ids are not kept. A value in the column `offset` is a fixed offset; written with a plan, the
text holds the plan's offsets, so that it reads as a problem with nothing left to choose. The format has no alignment:
give it when reading.
"""

import csv

from tflm_cy.memory.problem import Plan, Problem

_KNOWN = {"id", "lower", "upper", "size", "offset"}


def read(text: str, alignment: int = 1) -> Problem:
    """Return the problem of a CSV text; ValueError names the line that cannot be read."""
    rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
    names = set(rows.fieldnames or ())
    if missing := {"lower", "upper", "size"} - names:
        raise ValueError(f"line 1: the columns {sorted(missing)} are missing")
    if unknown := names - _KNOWN:
        raise ValueError(f"line 1: the columns {sorted(map(str, unknown))} are not known")
    sizes, first_use, last_use, fixed_offsets = [], [], [], []
    for row in rows:
        try:
            sizes.append(int(row["size"]))
            first_use.append(int(row["lower"]))
            last_use.append(int(row["upper"]) - 1)
            fixed_offsets.append(int(row.get("offset") or -1))
        except (TypeError, ValueError) as error:
            raise ValueError(f"line {rows.line_num}: {error}") from None
    return Problem(sizes, first_use, last_use, fixed_offsets, alignment)


def write(problem: Problem, plan: Plan | None = None) -> str:
    """Return a problem as CSV text; with a plan's offsets if there is one, else with those that are fixed."""
    offsets = problem.fixed_offsets if plan is None else plan.offsets
    if offsets is not None and len(offsets) != len(problem):
        raise ValueError(f"the plan has {len(offsets)} offsets for {len(problem)} buffers")
    lines = ["id,lower,upper,size" + (",offset" if offsets else "")]
    for i, (size, first, last) in enumerate(zip(problem.sizes, problem.first_use, problem.last_use, strict=True)):
        line = f"{i},{first},{last + 1},{size}"
        if offsets:
            line += "," if offsets[i] == -1 else f",{offsets[i]}"
        lines.append(line)
    return "\n".join(lines) + "\n"
