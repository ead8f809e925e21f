"""No function has more than 60 lines, and no file more than 500: the longest that one can read at once."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FUNCTION = 60
LONGEST_FILE = 500

# function -> why it is longer
LONG_FUNCTIONS = {
    "tflm_cy/arithmetic/depthwise.pxd:depthwise_sums_f32": "a kernel: one loop over taps for sixteen, four and single channels",
}
# file -> why it is longer
LONG_FILES = {}

HEAD = re.compile(
    r"( *)(?:async )?(?:def|cdef|cpdef)\b(?! *(?:extern|struct|class|enum|union|packed|fused)\b)[^=(]*?(\w+) *\("
)
SUFFIXES = (".py", ".pyx", ".pxd", ".pxi")


def source_files():
    """What git knows; a copy without git: all files of the folders that it would know."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return [ROOT / line for line in listed.stdout.splitlines()]
    return [
        path for folder in ("tflm_cy", "tests", "compat", "benchmarks", "tools") for path in (ROOT / folder).rglob("*")
    ]


def files(*suffixes):
    return [path for path in source_files() if path.suffix in suffixes and path.is_file()]


def end_of_head(lines, first):
    """The line of a signature's colon; None for a declaration, which has none."""
    depth = 0
    for i in range(first, len(lines)):
        line = lines[i].split("#")[0].rstrip()
        depth += sum(line.count(c) for c in "([") - sum(line.count(c) for c in ")]")
        if depth <= 0:
            return i if line.endswith(":") else None
    return None


def functions(text):
    """(name, number of lines, signature and docstring included) of each function; nested ones count for both."""
    lines = text.split("\n")
    for first, line in enumerate(lines):
        head = HEAD.match(line)
        last = end_of_head(lines, first) if head else None
        if last is None:
            continue
        in_text = False
        for i in range(last + 1, len(lines)):
            outside = lines[i].strip() and not in_text and not lines[i].lstrip().startswith("#")
            if outside and len(lines[i]) - len(lines[i].lstrip()) <= len(head[1]):
                break
            in_text ^= lines[i].count('"""') % 2 == 1
            if lines[i].strip():
                last = i
        yield head[2], last - first + 1


def test_functions_are_short():
    found = {}
    for path in files(*SUFFIXES):
        for name, length in functions(path.read_text()):
            if length > LONGEST_FUNCTION:
                found[f"{path.relative_to(ROOT).as_posix()}:{name}"] = length
    unexpected = {key: length for key, length in found.items() if key not in LONG_FUNCTIONS}
    assert not unexpected, f"functions of more than {LONGEST_FUNCTION} lines: {unexpected}"
    assert set(LONG_FUNCTIONS) <= set(found), "a function of the table is short by now, or has another name"


def test_files_are_short():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in files(*SUFFIXES, ".h")}
    long = {name: length for name, length in lengths.items() if length > LONGEST_FILE}
    assert set(long) == set(LONG_FILES), f"files of more than {LONGEST_FILE} lines: {long}"
    assert len(lengths) > 400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    pass\n", [("f", 2)]),
        ("def f(\n    a,\n):\n    pass\n\n\nx = 1\n", [("f", 4)]),
        ('cdef int f(int a) except -1:\n    """One.\n\nTwo.\n"""\n    return 0\n', [("f", 6)]),
        (
            "cdef int f(int a) noexcept nogil\ncdef int x = g(1)\ncdef class A:\n    cdef int h(self):\n        return 0\n",
            [("h", 2)],
        ),
        ("def f():\n    def g():\n        pass\n    return g\n", [("f", 4), ("g", 2)]),
    ],
)
def test_lengths(text, expected):
    assert list(functions(text)) == expected
