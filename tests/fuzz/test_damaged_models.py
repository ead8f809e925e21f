"""compat.fuzz for a few seconds: generated models, damaged in every way, in a process of their own.

The same mutations every time. What this finds is one line to repeat; it is printed.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compat.cases import kinds
from compat.fuzz.damage import flipped, structure, truncated
from compat.fuzz.mutation import Source, mutations

ROOT = Path(__file__).resolve().parents[2]
MODELS = (
    "CONV_2D/int8/random",
    "GATHER/float32/random",
    "SVDF",
    "IF/float32/random",  # a damaged WHILE may rightly run for ever
    "CONCATENATION/uint8",
    "SPLIT_V/float32/random",
)


def fuzz(tmp_path, *arguments):
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "compat.fuzz", "--cases", "--jobs", "2", "--json", str(report), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    return done, json.loads(report.read_text()) if report.exists() else None


@pytest.mark.parametrize("name", MODELS)
def test_damage_ends_in_a_result_or_an_exception(tmp_path, name):
    done, report = fuzz(tmp_path, "--model", name, "--truncations", "10", "--flips", "20", "--edits", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(report["counts"]) == {"none", "truncate", "flip", "edit"}
    assert "ok" in report["counts"]["none"]


def source():
    case = next(kind for kind in kinds(ops=["ADD"], dtype="int8")).case(0, 1)
    return Source(case.id, case.model)


@pytest.mark.parametrize("mutation", mutations(4, 4, 4))
def test_a_mutation_is_the_same_every_time(mutation):
    assert source().mutant(mutation, 3) == source().mutant(mutation, 3)


def test_seeds_differ():
    assert source().mutant("flip:1", 0) != source().mutant("flip:1", 1)


def test_truncations_are_spread_over_the_file():
    assert [len(truncated(bytes(1000), i, 4)) for i in range(4)] == [0, 250, 500, 750]


def test_the_structure_leaves_out_what_buffers_hold():
    content = source().content
    blank = bytearray(content)
    for start, end in structure(content):
        blank[start:end] = bytes(end - start)
    assert 0 < sum(end - start for start, end in structure(content)) <= len(content)
    damaged = flipped(content, structure(content), np.random.default_rng(1), in_structure=True)
    changed = [i for i, (a, b) in enumerate(zip(content, damaged, strict=True)) if a != b]
    assert changed
    assert all(any(start <= i < end for start, end in structure(content)) for i in changed)
