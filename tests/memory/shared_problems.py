"""The 11 published planning problems (A to K, capacity 1,048,576).

They are no part of the repository: tests skip without them.
"""

import os
from pathlib import Path

import pytest

from tflm_cy.memory import Problem

CAPACITY = 1_048_576
NAMES = "ABCDEFGHIJK"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "planner"
FOLDER = Path(os.environ.get("TFLM_CY_PROBLEMS", _BESIDE))


def shared_problem(name: str) -> Problem:
    """Return one of the problems, or skip the test."""
    path = FOLDER / f"{name}.{CAPACITY}.csv"
    if not path.exists():
        pytest.skip(f"no {path.name}: set TFLM_CY_PROBLEMS to the folder of minimalloc's benchmark problems")
    return Problem.from_csv(path.read_text())
