"""The room's example runs."""

import doctest

import tflm_cy.schema


def test_example():
    outcome = doctest.testmod(tflm_cy.schema)
    assert outcome.attempted == 2 and outcome.failed == 0
