"""`python -m tflm_cy diff`: finds the node that differs, on the values of the other side."""

import csv
import json

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import delegated
from tflm_cy.cli import main
from tflm_cy.cli.diff import compared


def store(tmp_path, model):
    path = tmp_path / "model.tflite"
    path.write_bytes(model.to_bytes())
    return str(path)


@pytest.fixture
def scaled(tmp_path):
    """int8 MUL, whose rounding differs between the modes, between two RESHAPEs, which do not."""
    x = Tensor([1, 4096], "int8", scale=0.02, zero_point=3)
    a = Tensor([64, 64], "int8", scale=0.02, zero_point=3)
    b = Tensor([64, 64], "int8", scale=0.037, zero_point=-5)
    y = Tensor([4096], "int8", scale=0.037, zero_point=-5)
    factor = Tensor.constant(np.int8([77]), scale=0.011, zero_point=1)
    model = Model()
    main = model.subgraph("main")
    main.op("RESHAPE", [x, Tensor.constant(np.int32([64, 64]))], [a])
    main.op("MUL", [a, factor], [b])
    main.op("RESHAPE", [b, Tensor.constant(np.int32([4096]))], [y])
    main.outputs = [y]
    return store(tmp_path, model)


def test_equal_sides(scaled, capsys):
    assert main(["diff", scaled, "--a", "BUILTIN_REF", "--b", "BUILTIN_REF"]) == 0
    out = capsys.readouterr().out
    assert "all 3 nodes give equal bytes" in out and "whole runs: equal bytes" in out


@delegated
def test_denormals_differ_in_one_node(tmp_path, capsys):
    """MUL by 1 keeps denormals outside of the delegate only; the NEG before it is told apart."""
    x, a, y = (Tensor([1, 4], "float32") for _ in range(3))
    model = Model()
    graph = model.subgraph("main")
    graph.op("RESHAPE", [x, Tensor.constant(np.int32([1, 4]))], [a])
    graph.op("MUL", [a, Tensor.constant(np.float32([1]))], [y])
    graph.outputs = [y]
    path = store(tmp_path, model)
    np.save(tmp_path / "x.npy", np.float32([[1, 1e-40, -1e-40, 2]]))
    table, page = tmp_path / "d.csv", tmp_path / "d.html"
    arguments = ["--input", str(tmp_path / "x.npy"), "--csv", str(table), "--html", str(page)]
    assert main(["diff", path, "--a", "AUTO", "--b", "BUILTIN_REF", *arguments]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 nodes differ; the first is node 1 (MUL)" in out
    assert "2 of 4" in out
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["operator"], r["differing"], r["first"]) for r in rows] == [("RESHAPE", "0", ""), ("MUL", "2", "0 1")]
    assert "2 of 4" in page.read_text() and "MUL" in page.read_text()


@delegated
def test_the_keys_of_json(scaled, capsys):
    assert main(["diff", scaled, "--json", "-"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["model", "a", "b", "equal", "nodes", "not_compared", "outputs", "quirks"]
    distances = ["elements", "differing", "largest", "unit", "first", "histogram"]
    assert list(document["nodes"][1]) == ["node", "op", "tensor", "name", *distances, "reason"]
    assert list(document["outputs"][0]) == ["name", *distances]
    assert [node["differing"] > 0 for node in document["nodes"]] == [False, True, False] and not document["equal"]


def test_a_state_is_what_it_was_before_a_has_run(tmp_path, capsys):
    """Both sides begin with zeros; a variable's new value is no difference."""
    x, state, y = Tensor([1, 2], "float32"), Tensor([1, 6], "float32", variable=True), Tensor([1, 2], "float32")
    features, times = Tensor.constant(np.ones((2, 2), np.float32)), Tensor.constant(np.ones((2, 3), np.float32))
    model = Model()
    graph = model.subgraph("main")
    graph.op("SVDF", [x, features, times, None, state], [y], rank=1)
    graph.inputs, graph.outputs = [x], [y]
    path = store(tmp_path, model)
    assert main(["diff", path, "--a", "BUILTIN_REF", "--b", "BUILTIN_REF"]) == 0
    assert "all 1 nodes give equal bytes" in capsys.readouterr().out


@delegated
def test_quirks_are_named(tmp_path, capsys):
    x, y = Tensor([1, 4], "float32"), Tensor([1, 4], "float32")
    path = store(tmp_path, Model.single("EXP", [x], [y]))
    assert main(["diff", path]) == 1
    assert "special values" in capsys.readouterr().out


@pytest.mark.parametrize("sides", [("MICRO", "BUILTIN_REF"), ("BUILTIN_REF", "MICRO"), ("micro", "micro")])
def test_tflm_s_rules_are_a_side(scaled, capsys, sides):
    """TFLM multiplies int8 as the reference does."""
    assert main(["diff", scaled, "--a", sides[0], "--b", sides[1]]) == 0
    assert "all 3 nodes give equal bytes" in capsys.readouterr().out


@delegated
def test_tflm_s_rules_differ_from_the_default_s(scaled, capsys):
    assert main(["diff", scaled, "--a", "MICRO", "--b", "AUTO"]) == 1
    assert "1 of 3 nodes differ; the first is node 1 (MUL)" in capsys.readouterr().out


def test_what_tflm_refuses_cannot_be_a_side(tmp_path, capsys):
    x, y = Tensor([4], "float32"), Tensor([8], "float32")
    path = store(tmp_path, Model.single("TILE", [x, Tensor.constant(np.int32([2]))], [y]))
    assert main(["diff", path, "--a", "MICRO"]) == 2
    assert "TFLM has no operator TILE" in capsys.readouterr().err


def test_values_without_a_distance_are_compared_too():
    one, other = np.array([b"a", b"b"], object), np.array([b"a", b"c"], object)
    assert compared(one, one).differing == 0
    found = compared(one, other)
    assert (found.differing, found.elements, found.first) == (1, 2, (1,))
    assert compared(np.zeros((2, 3), np.int8), np.zeros((3, 2), np.int8)).differing == 6
    assert compared(np.zeros(2, np.int8), np.zeros(2, np.float32)).differing == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--a", "NONSENSE"], "no such side"),
        (["--b", "tensorflow:AUTO"], "side b|not installed"),
        (["--input", "nothing.npy"], "no such file"),
        (["--csv", "/no/such/folder/x.csv"], "No such file"),
    ],
)
def test_what_users_get_wrong(scaled, capsys, arguments, text):
    assert main(["diff", scaled, *arguments]) == 2
    error = capsys.readouterr().err
    assert any(part in error for part in text.split("|"))


def test_no_such_model(capsys):
    assert main(["diff", "nothing.tflite"]) == 2
    assert "no such file" in capsys.readouterr().err
