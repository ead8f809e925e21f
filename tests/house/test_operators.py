"""Operators register by existing, and each has a test and a compat case."""

import re
from pathlib import Path

import pytest

from tflm_cy.ops import find, find_micro
from tflm_cy.ops.index import CUSTOM_MODULES, MICRO_MODULES, MODULES
from tflm_cy.schema.names import BUILTIN_NAMES

ROOT = Path(__file__).parents[2]
OPS = ROOT / "tflm_cy" / "ops"


def declared(table):
    """Names in a table of the sources, read anew."""
    names = {}
    for source in OPS.glob("*.pyx"):
        for entries in re.findall(rf"^{table} = {{$(.*?)^}}", source.read_text(), re.M | re.S):
            names.update(dict.fromkeys(re.findall(r'^    "([\w.]+)":', entries, re.M), source.stem))
    return names


def test_the_index_is_what_the_sources_declare():
    assert declared("OPERATORS") == MODULES
    assert declared("CUSTOM_OPERATORS") == CUSTOM_MODULES
    assert declared("MICRO_OPERATORS") == MICRO_MODULES


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_declared_operator_is_found(name):
    registration = find(name)
    assert name in BUILTIN_NAMES
    assert 1 <= registration.lowest_version <= registration.version
    assert 0 <= registration.reference_version <= registration.version


def test_operators_of_tflm_alone_are_found_by_its_rules_only():
    for name in MICRO_MODULES:
        assert find_micro(name, custom=True) is not None
        assert find(name, custom=True) is None
    assert find_micro("ADD") is find("ADD")


def test_an_unknown_operator_is_none():
    assert find("NO_SUCH_OPERATOR") is None
    assert find("ADD", custom=True) is None


@pytest.fixture(scope="module")
def words():
    """Folder -> all words of its Python files."""
    found = {}
    for folder in ("tests", "compat/cases"):
        files = [path for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
        found[folder] = set(re.findall(r"\w+", " ".join(path.read_text() for path in files)))
    return found


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_operator_has_a_test_and_a_compat_case(name, words):
    for folder, known in words.items():
        assert name in known, f"{name} is named nowhere in {folder}/"
