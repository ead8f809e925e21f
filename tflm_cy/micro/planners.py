"""The planners by name, for a model's memory as TFLM asks for it.

    >>> from tflm_cy.micro.planners import planners
    >>> "greedy" in planners()
    True

`greedy` is TFLM's own; `optimal` searches for the least head; `overlap` also lays outputs over inputs that die, as far
as the kernels read ahead of what they write; `linear` gives every buffer its own place. A planner is a function of a
`memory.Problem` in the module of `memory` that has its name; one that is not installed is left out.
"""

from importlib import import_module
from importlib.util import find_spec

from tflm_cy.micro.distances import relaxed_rows

NAMES = ("greedy", "optimal", "overlap", "linear")


def planners():
    """The names of the planners that are there, best known first."""
    return [name for name in NAMES if find_spec(f"tflm_cy.memory.{name}")]


def plan_with(name, demand, relaxed=None):
    """(plan, the relaxed rows that it may use) of a `figures.Demand`.

    Raises
    ------
    ValueError
        No such planner.
    """
    if name not in planners():
        raise ValueError(f"no planner {name!r}; there are {', '.join(planners())}")
    if name == "overlap":
        rows = relaxed_rows(demand) if relaxed is None else relaxed
    else:
        rows = ()
    planner = getattr(import_module(f"tflm_cy.memory.{name}"), name)
    return planner(demand.problem(rows)), rows
