"""`python -m tflm_cy bench`: figures of a model, and of one that is faster than the clock tells."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tflm_cy.demo
from tflm_cy.cli import bench, main
from tflm_cy.profile import Profile

INT8 = str(Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite")
KEYS = "model mode threads kernels load allocate first_invoke invoke allocated_bytes macs peaks nodes"


def files(folder):
    return {kind: folder / f"t.{kind}" for kind in ("csv", "trace", "html", "json")}


def arguments(paths):
    return [word for kind, path in paths.items() for word in (f"--{kind}", str(path))]


def test_all_figures(tmp_path, capsys):
    paths = files(tmp_path)
    assert main(["bench", INT8, "--seconds", "0.01", "--per-op", *arguments(paths)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("digits_int8.tflite, AUTO, 1 thread, kernels: ") and "Latency\n" in out and "Nodes\n" in out
    document = json.loads(paths["json"].read_text())
    assert list(document) == KEYS.split()
    assert set(document["invoke"]) == {"median", "quartiles", "fastest", "runs"}
    assert list(document["nodes"][0]) == list(bench._COLUMNS)
    assert document["macs"] == sum(node["macs"] for node in document["nodes"]) > 0
    with paths["csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert [row["op_name"] for row in rows] == [node["op_name"] for node in document["nodes"]]
    assert json.loads(paths["trace"].read_text())["traceEvents"]


def test_nodes_that_take_less_time_than_the_clock_tells(tmp_path, capsys, monkeypatch):
    def runs(self, subgraph=0):
        count = len(self._steps[subgraph])
        return np.full((3, count, 2), 1000, np.int64)

    monkeypatch.setattr(Profile, "runs", runs)
    paths = files(tmp_path)
    assert main(["bench", INT8, "--seconds", "0.01", "--per-op", *arguments(paths)]) == 0
    assert capsys.readouterr().err == ""
    for node in json.loads(paths["json"].read_text())["nodes"]:
        assert node["median_seconds"] == 0 and (node["gmacs_per_second"] is None) == (node["macs"] > 0)
    page = paths["html"].read_text()
    ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])


@pytest.mark.parametrize("wrong", [["--threads", "0"], ["--seconds", "0"], ["--seconds", "nan"]])
def test_wrong_figures(capsys, wrong):
    assert main(["bench", INT8, *wrong]) == 2
    assert "must be positive" in capsys.readouterr().err
