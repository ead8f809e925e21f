"""compat.fuzz.faults on a few operators: each request for memory, and each node's prepare and invoke, fails once."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor, read_model
from compat.fuzz.faults import places, with_failing_node
from tests.machine import compiler_for

ROOT = Path(__file__).resolve().parents[2]
CASES = (
    *("CONV_2D --case random --mode AUTO", "FULLY_CONNECTED --case bias --mode BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    *("WHILE --case growing --mode BUILTIN_REF", "SVDF --mode BUILTIN_REF", "IF --mode AUTO", "WHERE --mode AUTO"),
)


@pytest.mark.parametrize("chosen", CASES)
def test_what_fails_leaves_a_defined_state(chosen):
    compiler_for("the library that fails allocations")
    command = [sys.executable, "-m", "compat.fuzz.faults", "--op", *chosen.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " 0 faults" in done.stdout and not done.stdout.startswith("0 cases")


def test_places():
    assert list(places(5)) == [1, 2, 3, 4, 5]
    found = list(places(500))
    assert found[-1] > 350 and len(found) < 60 and found == sorted(set(found))


def test_a_node_in_front_of_each():
    x, y, z = (Tensor([2, 3], "float32") for _ in range(3))
    model = Model()
    graph = model.subgraph("main")
    graph.op("ABS", [x], [y])
    graph.op("ADD", [y, Tensor.constant(np.float32([1]))], [z])
    graph.inputs, graph.outputs = [x], [z]
    for k in range(2):
        nodes = read_model(with_failing_node(model.to_bytes(), k))["subgraphs"][0]["operators"]
        assert len(nodes) == 3 and nodes[k + 1]["inputs"][0] == nodes[k]["outputs"][0]
