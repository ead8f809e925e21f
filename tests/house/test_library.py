"""The library of the compiled modules and what finds them in it."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest

import tflm_cy
from tflm_cy import library
from tflm_cy.index import MODULES
from tools import flags

PACKAGE = Path(__file__).parents[2] / "tflm_cy"
OTHER_MACHINES = {f"tflm_cy.simd.{path.stem}" for path in PACKAGE.glob("simd/*.pyx") if "target" in flags.asked(path)}


def test_every_compiled_module_is_found():
    sources = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in PACKAGE.rglob("*.pyx")}
    assert sources - OTHER_MACHINES <= MODULES <= sources


def test_modules_name_the_library_as_their_file():
    assert sys.modules["tflm_cy.core"].__file__ == library.PATH
    assert sys.modules["tflm_cy.core"].__spec__.name == "tflm_cy.core"


@pytest.mark.parametrize("name", ["tflm_cy.nothing", "tflm_cy.ops.nothing", "tflm_cy.core.nothing"])
def test_other_names_are_not_found(name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_names_of_other_packages_are_passed_on():
    assert library.Finder.find_spec("core") is None
    assert library.Finder.find_spec("numpy.core") is None
    assert sum(finder is library.Finder for finder in sys.meta_path) == 1


def test_the_example():
    assert doctest.testmod(library).attempted
    assert tflm_cy.library is library
