"""The examples in the docstrings of the room, and its public names."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tflm_cy.memory

ROOM = Path(tflm_cy.memory.__file__).parent
MODULES = sorted({path.stem for suffix in ("*.pyx", "*.py") for path in ROOM.glob(suffix)})


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = tflm_cy.memory if name == "__init__" else importlib.import_module(f"tflm_cy.memory.{name}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0, f"{name} opens without an example"
    assert result.failed == 0


def test_public_names_exist():
    for name in tflm_cy.memory.__all__:
        assert getattr(tflm_cy.memory, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tflm_cy.memory.nothing  # noqa: B018


def test_the_interpreter_does_not_pay_for_planners_and_judges_that_it_does_not_use():
    code = "import sys, tflm_cy; print(*[name for name in sys.modules if name.startswith('tflm_cy.memory.')])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    unused = {"check", "linear", "problem_csv", "recording"}
    assert not {f"tflm_cy.memory.{name}" for name in unused} & set(output.split())
