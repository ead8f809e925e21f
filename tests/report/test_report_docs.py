"""The examples in the docstrings of report/ and cli/."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "report",
        "report.table",
        "report.picture",
        "report.bits",
        "report.rules",
        "report.page",
        "report.arena_page",
        "report.arena_picture",
        "cli.errors",
        "cli.model",
    ],
)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"tflm_cy.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
