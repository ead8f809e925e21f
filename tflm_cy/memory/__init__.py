"""Memory: arenas, the planning problem, planners, the judge, recording. Knows sizes and lifetimes, never models.

    >>> from tflm_cy.memory import Problem
    >>> from tflm_cy.memory.check import check
    >>> from tflm_cy.memory.greedy import greedy
    >>> problem = Problem(sizes=[100, 80, 50], first_use=[0, 1, 2], last_use=[1, 2, 3])
    >>> plan = greedy(problem)
    >>> check(problem, plan)
    >>> plan.high_water_mark
    192

Arenas: `SingleArena` (TFLM's, over one buffer), `ArenaPair` (two memories), `SharedArena` (several models),
`GrowingArena` (the desktop's), `RecordingArena` (counts). Planners, each a function of its module: `greedy` and
`linear` (TFLM's), `given` (an offline plan), `tflite` (TensorFlow Lite's; with lifetimes: `ArenaPlanner`), `optimal`
and `overlap` (searching). Beside them `reorder` (the operators' order), `access` (distances of overlaps), `check` (the
judge) and `problem_csv`.

Classes are imported when they are first used, so that the interpreter pays only for the modules that it takes itself.
Functions (planners, the judge) are imported from their modules, which have the same names.
"""

_MODULES = {
    "Arena": "arena",
    "ArenaExhausted": "arena",
    "ArenaPair": "arena_pair",
    "ArenaPlanner": "arena_planner",
    "Block": "block",
    "GrowingArena": "growing_arena",
    "Plan": "problem",
    "PlannedNode": "arena_planner",
    "Problem": "problem",
    "RecordingArena": "recording",
    "SharedArena": "shared_arena",
    "SimpleMemoryArena": "simple_memory_arena",
    "SingleArena": "single_arena",
    "Tenant": "shared_arena",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
