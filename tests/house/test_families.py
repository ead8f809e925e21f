"""The families of kernels that one module includes share its names: no name may be an enum in one and something else in another.

Cython takes the later one without a word: a family once cimported LANES, and LSTM's kernel of that module counted eight cells for sixteen.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

SIMD = Path(__file__).parents[2] / "tflm_cy" / "simd"
MODULES = sorted(path for pattern in ("isa_*.pyx", "rows_*.pyx", "amx.pyx") for path in SIMD.glob(pattern))


def included(path):
    """A source and what it includes, each once."""
    text = path.read_text()
    files = {path.name: text}
    for name in re.findall(r'^include "(\w+\.pxi)"', text, re.M):
        files |= included(path.parent / name)
    return files


def constants(text):
    """The names of a file's enums: `NAME = value` lines of `cdef enum:` blocks."""
    blocks = re.findall(r"^cdef enum:\n((?:[ \t]+.*\n|\n)+)", text, re.M)
    return {name for block in blocks for name in re.findall(r"^\s+(\w+) =", block, re.M)}


def cimported(text):
    """The names by which a file knows what it cimports."""
    found = set()
    for plain, bracketed in re.findall(r"^from [\w.]+ cimport (?:([^(\n]+)|\(([^)]+)\))", text, re.M):
        for part in re.sub(r"#.*", "", plain or bracketed).replace("\\", " ").split(","):
            if part.strip():
                found.add(part.split()[-1])
    return found - {"*"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_constant_has_one_meaning_in_a_module(module):
    files = included(module)
    counts = Counter(name for text in files.values() for name in constants(text))
    imported = {name for text in files.values() for name in cimported(text)}
    assert len(files) > 1 or module.stem == "amx"
    assert [name for name, count in counts.items() if count > 1] == []
    assert sorted(counts.keys() & imported) == []


def test_the_check_sees_a_name_that_is_taken_twice():
    text = "from a.b cimport LANES as X, f32x8\nfrom c cimport (\n    d, LANES,  # why\n)\ncdef enum:\n    LANES = 16\n    TAPS = 4\n"
    assert constants(text) & cimported(text) == {"LANES"}
    assert cimported(text) == {"X", "f32x8", "d", "LANES"}
