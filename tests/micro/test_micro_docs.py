"""The examples in the docstrings of the room."""

import doctest
import importlib
from pathlib import Path

import pytest

import tflm_cy.micro

MODULES = sorted(path.stem for path in Path(tflm_cy.micro.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = tflm_cy.micro if name == "__init__" else importlib.import_module(f"tflm_cy.micro.{name}")
    assert doctest.testmod(module).failed == 0
