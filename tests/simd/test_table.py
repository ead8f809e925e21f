"""The choice of the vector kernels."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine import WIDE
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


NEEDED = {
    "avx2": {"avx2", "fma", "bmi2", "f16c"},
    "neon": {"asimd"},
    "neondot": {"asimddp"},
    "i8mm": {"asimddp", "i8mm"},
}  # as /proc/cpuinfo names them


def test_what_the_cpu_has_is_available():
    path = Path("/proc/cpuinfo")
    found = re.search(r"^(?:flags|Features)\s*: (.*)$", path.read_text(), re.M) if path.exists() else None
    if found is None:
        pytest.skip("this system names no instruction sets in /proc/cpuinfo")
    flags = set(found[1].split())
    has = {name for name, needed in NEEDED.items() if WIDE and flags >= needed}
    assert set(table.available()) & set(NEEDED) == has
    assert table.available()[0] not in ("portable", "scalar") or not has


def test_only_the_chosen_module_is_imported():
    code = "import sys, tflm_cy.simd.table as t; t.name(); print(*sorted(m for m in sys.modules if '.isa_' in m))"
    environment = {**os.environ, "TFLM_CY_ISA": "portable"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.stdout.split() == ["tflm_cy.simd.isa_portable"]
