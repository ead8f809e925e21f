"""The choice of the vector kernels."""

import os
import subprocess
import sys

import pytest

from tflm_cy.simd import table


def ask(isa):
    code = "import tflm_cy; print(tflm_cy.show_config()['kernels'])"
    environment = {**os.environ, "TFLM_CY_ISA": isa}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("isa", table.available())
def test_the_variable_chooses_and_the_configuration_says_so(isa):
    assert ask(isa).stdout.splitlines()[-1] == f"{isa} (TFLM_CY_ISA={isa})"


def test_an_unknown_name_is_refused():
    result = ask("sse9")
    assert result.returncode != 0
    assert "not 'sse9'" in result.stderr


def test_portable_and_scalar_run_everywhere():
    assert table.available()[-2:] == ["portable", "scalar"]


def test_only_the_chosen_module_is_imported():
    code = "import sys, tflm_cy.simd.table as t; t.name(); print(*sorted(m for m in sys.modules if '.isa_' in m))"
    environment = {**os.environ, "TFLM_CY_ISA": "portable"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.stdout.split() == ["tflm_cy.simd.isa_portable"]
