"""The fuzz target and its seeds: they load, they cover the operators, and a finding is one."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.fuzz import target
from tflm_cy import Interpreter, OpResolverType

ROOT = Path(__file__).resolve().parents[2]
SEEDS = sorted(target.CORPUS.glob("*.tflite"))


def test_the_seeds_are_models_of_many_operators():
    names = set()
    for path in SEEDS:
        assert path.stat().st_size <= 4096
        interpreter = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        names.update(op["op_name"] for op in interpreter._get_ops_details())
    assert len(SEEDS) > 200 and len(names) > 100


def test_seeds_run_without_a_finding():
    """A part of them, in a process of its own, since a finding may be its death."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "compat.fuzz.target", *map(str, SEEDS[::12])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, f"{len(SEEDS[::12])} inputs, no finding\n"), done.stderr


@pytest.mark.parametrize("seed", range(8))
def test_mutations_are_inputs_of_limited_size(seed):
    data = b"\1" + SEEDS[seed].read_bytes()
    changed = target.mutate(data, 5000, seed)
    assert changed == target.mutate(data, 5000, seed) and 0 < len(changed) <= 5000
    assert len(target.mutate(data, 50, seed)) <= 50
    assert target.mutate(b"", 100, seed)


def test_an_undocumented_exception_is_a_finding(monkeypatch):
    model = Model.single("NEG", [Tensor([2], "float32")], [Tensor([2], "float32")]).to_bytes()
    target.test_one_input(b"\0" + model)
    target.test_one_input(b"")
    monkeypatch.setattr(Interpreter, "invoke", lambda self: {}[3])
    with pytest.raises(Exception, match="KeyError"):
        target.test_one_input(b"\0" + model)


def test_what_would_take_too_long_is_left_out(monkeypatch):
    monkeypatch.setattr(target, "WORK", 0)
    monkeypatch.setattr(Interpreter, "invoke", lambda self: {}[3])
    target.test_one_input(b"\0" + SEEDS[0].read_bytes())


def test_the_names_say_operator_and_type():
    assert all(re.fullmatch(r"[a-z0-9_]+", path.stem) for path in SEEDS)
    assert np.unique([path.read_bytes() for path in SEEDS]).size == len(SEEDS)
