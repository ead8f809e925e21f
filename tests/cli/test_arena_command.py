"""`python -m tflm_cy arena`: sections, files, what does not fit, what TFLM would refuse."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tflm_cy.demo
from compat.builder import Model, Tensor
from tests.micro.models import widening
from tflm_cy.cli import main
from tflm_cy.memory.problem import Problem
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.device import FIRMWARE
from tflm_cy.micro.figures import figures
from tflm_cy.micro.planners import planners
from tflm_cy.schema.model import Model as Loaded

INT8 = Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite"


def run(capsys, *arguments):
    code = main(["arena", *map(str, arguments)])
    return code, capsys.readouterr()


def test_the_sections(capsys):
    code, said = run(capsys, INT8)
    assert code == 0 and said.err == ""
    found = figures(Loaded.from_path(INT8), "host64")
    lines = said.out.split("\n")
    assert lines[0] == "digits_int8.tflite: 13.5 KiB, 8 operators, 9 planned buffers"
    rows = {line.split()[0]: line.split()[1] for line in lines if line.split()[:1] in (["head"], ["total"])}
    assert rows == {"head": str(found.head), "total": str(found.total)}
    for name in planners():
        assert any(line.startswith(f"{name} ") for line in lines)
    assert sum("<- peak" in line for line in lines) == 1
    assert "'" not in lines[1] and "TF_LITE_ENSURE_STATUS(resolver.AddDepthwiseConv2D());" in said.out
    least = -(-figures(Loaded.from_path(INT8), FIRMWARE).smallest_arena // 16) * 16
    assert f"constexpr int kTensorArenaSize = {least};" in said.out


def test_the_numbers(tmp_path, capsys):
    path = tmp_path / "a.json"
    assert run(capsys, INT8, "--json", path)[0] == 0
    data = json.loads(path.read_text())
    for target in ("host64", "arm32"):
        found = figures(Loaded.from_path(INT8), target)
        assert data["tflm"][target]["head"] == found.head and data["tflm"][target]["tail"] == found.tail
        assert data["tflm"][target]["total"] == found.total
        assert data["tflm"][target]["smallest_arena"] == found.smallest_arena
    assert data["planners"]["greedy"]["head"] == found.head and data["lower_bound"] <= found.head
    assert set(data["planners"]) == set(planners())
    assert len(data["live_bytes"]) == len(data["nodes"]) == 9 and max(data["live_bytes"]) == data["peak"]["live_bytes"]


@pytest.mark.parametrize("planner", planners())
def test_the_files(tmp_path, capsys, planner):
    files = {kind: tmp_path / f"plan.{kind}" for kind in ("svg", "html", "csv", "tflite")}
    arguments = [word for kind in ("svg", "html", "csv") for word in (f"--{kind}", files[kind])]
    code, said = run(capsys, INT8, "--planner", planner, *arguments, "--export-plan", files["tflite"])
    assert code == 0 and f"carries the {planner} plan" in said.out
    ElementTree.fromstring(files["svg"].read_text())
    page = files["html"].read_text()
    assert (
        "<svg" in page and "kTensorArenaSize" in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    )
    problem = Problem.from_csv(files["csv"].read_text(), alignment=16)
    assert len(problem) == 9 and None not in problem.fixed_offsets
    head = max(o + s for o, s in zip(problem.fixed_offsets, problem.sizes, strict=True))
    assert figures(Loaded.from_path(files["tflite"])).head <= head
    assert "carries an offline plan" in run(capsys, files["tflite"])[1].out


def test_another_order_of_operators(tmp_path, capsys):
    path, copy, numbers = (tmp_path / name for name in ("model.tflite", "copy.tflite", "a.json"))
    path.write_bytes(widening().to_bytes())
    code, said = run(
        capsys,
        path,
        "--reorder",
        "--planner",
        "optimal",
        "--export-plan",
        copy,
        "--json",
        numbers,
        "--svg",
        path.with_suffix(".svg"),
    )
    assert code == 0 and "proven least of any order" in said.out and "another order of its operators" in said.out
    data = json.loads(numbers.read_text())
    head = data["reorder"]["optimal"]["head"]
    assert head < data["planners"]["optimal"]["head"] and data["reorder"]["optimal"]["proven"]
    assert figures(Loaded.from_path(copy)).head == head
    code, said = run(capsys, path, "--reorder", "--budget", "0", "--planner", "optimal")
    assert code == 0 and "No other order" in said.out


def test_whether_it_fits(capsys):
    least = figures(Loaded.from_path(INT8), "arm32").smallest_arena
    code, said = run(capsys, INT8, "--target", "arm32", "--arena", least)
    assert code == 0 and "fits" in said.out
    code, said = run(capsys, INT8, "--target", "arm32", "--arena", least - 1)
    assert code == 1 and "too small" in said.out and f"the smallest is {least}" in said.err


def test_a_model_that_tflm_refuses_is_still_planned(tmp_path, capsys):
    x, y = Tensor([4], "float32"), Tensor([8], "float32")
    path = tmp_path / "tile.tflite"
    path.write_bytes(Model.single("TILE", [x, Tensor.constant(np.array([2], np.int32))], [y]).to_bytes())
    code, said = run(capsys, path)
    assert code == 1 and "TFLM will not allocate this model" in said.out
    assert "node 0 TILE (resolve): TFLM has no operator TILE" in said.out


def test_files_that_cannot_be_used(tmp_path, capsys):
    assert run(capsys, tmp_path / "none.tflite")[0] == 2
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(b"no model")
    code, said = run(capsys, broken)
    assert code == 2 and said.err.startswith("tflm_cy: ") and said.err.count("\n") == 1


def twelve_that_tflm_lacks():
    model = Model()
    main = model.subgraph("main")
    x = Tensor([2], "float32")
    main.inputs = [x]
    for _ in range(12):
        [x] = main.op("TILE", [x, Tensor.constant(np.array([1], np.int32))], [Tensor([2], "float32")])
    main.outputs = [x]
    return model


def test_every_reason_has_its_line_and_its_entry(tmp_path, capsys):
    path, said_here = tmp_path / "twelve.tflite", tmp_path / "twelve.json"
    path.write_bytes(twelve_that_tflm_lacks().to_bytes())
    code, said = run(capsys, path, "--json", said_here)
    assert code == 1 and "(12 reasons" in said.out and "What to change:" in said.out
    for k in range(12):
        assert f"node {k} TILE (resolve): TFLM has no operator TILE" in said.out
    data = json.loads(said_here.read_text())
    assert (data["allocates"], data["runs"], data["resource_variables"]) == (False, False, 0)
    assert [(r["node"], r["op"], r["stage"]) for r in data["refusals"]] == [(k, "TILE", "resolve") for k in range(12)]
    assert all(r["reason"] == "TFLM has no operator TILE" for r in data["refusals"])
    assert "AddTile" not in said.out


def test_a_model_that_is_allocated_and_fails(tmp_path, capsys):
    path, said_here = tmp_path / "abs.tflite", tmp_path / "abs.json"
    path.write_bytes(Model.single("ABS", [Tensor([4], "int32")], [Tensor([4], "int32")]).to_bytes())
    code, said = run(capsys, path, "--json", said_here)
    assert code == 1 and "TFLM will allocate this model, but not run it: it stops in invoke at node 0 ABS" in said.out
    data = json.loads(said_here.read_text())
    assert (data["allocates"], data["runs"]) == (True, False)
    assert [(r["node"], r["op"], r["stage"]) for r in data["refusals"]] == [(0, "ABS", "invoke")]


def test_a_model_that_tflm_runs(capsys):
    code, said = run(capsys, INT8)
    assert code == 0 and "TFLM will allocate this model and run it." in said.out and "What to change" not in said.out


def test_variables_are_counted(tmp_path, capsys):
    model = Model()
    main = model.subgraph("main")
    for name in ("a", "b"):
        [handle] = main.op("VAR_HANDLE", [], [Tensor([1], "resource")], container="", shared_name=name)
        main.op("ASSIGN_VARIABLE", [handle, Tensor([2], "float32")], [])
    path, said_here = tmp_path / "variables.tflite", tmp_path / "variables.json"
    path.write_bytes(model.to_bytes())
    code, said = run(capsys, path, "--json", said_here)
    assert code == 0 and said.out.count("MicroResourceVariables::Create(allocator, 2)") == 2
    assert json.loads(said_here.read_text())["resource_variables"] == 2


def test_targets_and_kernels(tmp_path, capsys):
    path = tmp_path / "a.json"
    code, said = run(capsys, INT8, "--target", "cortex-m55", "--json", path)
    assert code == 0 and "cortex-m55+cmsis-nn, greedy" in said.out and "//   cortex-m55+reference: " in said.out
    tflm = json.loads(path.read_text())["tflm"]
    for name in ("cortex-m55+cmsis-nn", "cortex-m4+cmsis-nn", "cortex-m3+reference", "esp32s3+esp-nn"):
        recorded, plain = (figures(demand(Loaded.from_path(INT8), name, recording=r)) for r in (True, False))
        said_here = tflm[name]
        assert (said_here["head"], said_here["tail"], said_here["total"]) == (
            recorded.head,
            recorded.tail,
            recorded.total,
        )
        assert (said_here["plain"], said_here["smallest"]) == (plain.total, plain.smallest_arena)
        assert said_here["kinds"]["Persistent buffer data"]["count"] == recorded.kinds["Persistent buffer data"].count
    assert tflm["cortex-m55+cmsis-nn"]["plain"] > tflm["cortex-m3+reference"]["plain"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--target", "cortex-m5"], "no target 'cortex-m5'"),
        (["--target", "esp32", "--kernels", "cmsis-nn"], "cmsis-nn has no kernels for esp32"),
        (["--target", "cortex-m3+nodsp"], "cortex-m3 has no dsp to leave out"),
    ],
)
def test_a_target_that_there_is_not(capsys, words, why):
    code, said = run(capsys, INT8, *words)
    assert code == 2 and why in said.err and said.err.count("\n") == 1


def test_the_kernels_choose_a_board(capsys):
    assert "cortex-m4+cmsis-nn, greedy" in run(capsys, INT8, "--kernels", "cmsis-nn")[1].out
    assert "esp32+esp-nn, greedy" in run(capsys, INT8, "--kernels", "esp-nn")[1].out
    assert "cortex-m33+nodsp+cmsis-nn, greedy" in run(capsys, INT8, "--target", "cortex-m33+nodsp")[1].out
